//! Any JSON with comments, odd spaces, line ends of both kinds, a mark, and commas behind the last: what is put in and taken out
//! again leaves the bytes that were there.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write as _;

use bir_edit::Document;
use bir_model::{Edit, Format, Place, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A generated value; what it is written like is chosen by the bytes of a [`Writer`].
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop_oneof![Just("x"), Just("// no, \"comment\""), Just("}é\\"), Just("a\nb")].prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[a-e]", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    proptest::collection::vec(("[a-f]", value()), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Writes a value with what may stand between its parts, as its choices say.
struct Writer<'c> {
    choices: std::iter::Cycle<std::slice::Iter<'c, u8>>,
    comments: bool,
    /// Whether empty braces have nothing inside.
    tidy: bool,
    out: String,
}

impl Writer<'_> {
    fn choose(&mut self, of: u8) -> u8 {
        self.choices.next().copied().unwrap_or_default() % of
    }

    fn gap(&mut self) {
        for _ in 0..self.choose(3) {
            let comments = if self.comments { 9 } else { 6 };
            let piece = match self.choose(comments) {
                0 | 1 => " ",
                2 => "\n  ",
                3 => "\r\n\t",
                4 => "\n",
                5 => "",
                6 => "/* , } */",
                7 => "// , \"\n",
                _ => "/* a\n b */",
            };
            self.out.push_str(piece);
        }
    }

    fn write(&mut self, value: &Value) {
        let items: Vec<(Option<&String>, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(key, value)| (Some(key), value)).collect(),
            Value::Array(elements) => elements.iter().map(|element| (None, element)).collect(),
            scalar => {
                write!(self.out, "{scalar}").unwrap();
                return;
            }
        };
        self.out.push(if value.is_object() { '{' } else { '[' });
        if items.is_empty() && self.tidy {
            self.out.push(if value.is_object() { '}' } else { ']' });
            return;
        }
        for (index, (key, item)) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.gap();
            if let Some(key) = key {
                write!(self.out, "{}", json!(key)).unwrap();
                self.gap();
                self.out.push(':');
                self.gap();
            }
            self.write(item);
            self.gap();
        }
        if self.comments && !items.is_empty() && self.choose(3) == 0 {
            self.out.push(',');
            self.gap();
        }
        if items.is_empty() {
            self.gap();
        }
        self.out.push(if value.is_object() { '}' } else { ']' });
    }
}

fn written(value: &Value, choices: &[u8], comments: bool, tidy: bool) -> String {
    let mut writer = Writer { choices: choices.iter().cycle(), comments, tidy, out: String::new() };
    if writer.choose(5) == 0 {
        writer.out.push('\u{feff}');
    }
    writer.gap();
    writer.write(value);
    writer.gap();
    writer.out
}

/// All places of objects, or of arrays.
fn holders(value: &Value, at: &Place, objects: bool, found: &mut Vec<Place>) {
    if (objects && value.is_object()) || (!objects && value.is_array()) {
        found.push(at.clone());
    }
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| holders(value, &at.key(key), objects, found))
        }
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(index, value)| holders(value, &at.index(index), objects, found));
        }
        _ => {}
    }
}

/// All places but that of the document.
fn places(value: &Value, at: &Place, found: &mut Vec<Place>) {
    if !at.0.is_empty() {
        found.push(at.clone());
    }
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| places(value, &at.key(key), found)),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, value)| places(value, &at.index(index), found));
        }
        _ => {}
    }
}

fn pick(places: &[Place], choice: usize) -> Option<&Place> {
    places.get(choice.checked_rem(places.len())?)
}

fn text(document: &Document) -> String {
    String::from_utf8(document.bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_is_put_in_and_taken_out_leaves_the_bytes(
        old in object(), new in value(), choices in proptest::collection::vec(any::<u8>(), 1..60), choice in any::<usize>(),
        comments in any::<bool>(), objects in any::<bool>(),
    ) {
        let before = written(&old, &choices, comments, true);
        let format = if comments { Format::Jsonc } else { Format::Json };
        let mut document = Document::parse(before.as_bytes(), format).unwrap();
        prop_assert_eq!(document.value(), &old);
        prop_assert_eq!(&text(&document), &before);
        let mut found = Vec::new();
        holders(&old, &Place::default(), objects, &mut found);
        let Some(holder) = pick(&found, choice) else { return Ok(()) };
        let (edit, at) = if objects {
            let at = holder.key("new");
            (Edit::Set { at: at.clone(), value: new.clone() }, at)
        } else {
            let length = holder.of(&old).unwrap().as_array().unwrap().len();
            (Edit::Append { to: holder.clone(), value: new.clone() }, holder.index(length))
        };
        document.edit(&edit).unwrap();
        prop_assert_eq!(at.of(document.value()), Some(&new), "{}", text(&document));
        let between = text(&document);
        document.edit(&Edit::Remove { at }).unwrap();
        prop_assert_eq!(text(&document), before, "by way of {}", between);
    }

    #[test]
    fn with_spaces_in_empty_braces_only_they_may_go(
        old in object(), choices in proptest::collection::vec(any::<u8>(), 1..60), choice in any::<usize>(), objects in any::<bool>(),
    ) {
        let before = written(&old, &choices, true, false);
        let mut document = Document::parse(before.as_bytes(), Format::Jsonc).unwrap();
        let mut found = Vec::new();
        holders(&old, &Place::default(), objects, &mut found);
        let Some(holder) = pick(&found, choice) else { return Ok(()) };
        let (edit, at) = if objects {
            (Edit::Set { at: holder.key("new"), value: json!({"x": [1]}) }, holder.key("new"))
        } else {
            let length = holder.of(&old).unwrap().as_array().unwrap().len();
            (Edit::Append { to: holder.clone(), value: json!("x") }, holder.index(length))
        };
        document.edit(&edit).unwrap();
        document.edit(&Edit::Remove { at }).unwrap();
        let bare = |text: &str| text.replace(char::is_whitespace, "");
        prop_assert_eq!(bare(&text(&document)), bare(&before));
    }

    #[test]
    fn a_value_set_back_leaves_the_other_lines(
        old in object(), new in value(), choices in proptest::collection::vec(any::<u8>(), 1..60), choice in any::<usize>(),
    ) {
        let before = written(&old, &choices, true, false);
        let mut document = Document::parse(before.as_bytes(), Format::Jsonc).unwrap();
        let mut found = Vec::new();
        places(&old, &Place::default(), &mut found);
        let Some(at) = pick(&found, choice) else { return Ok(()) };
        let was = at.of(&old).unwrap().clone();
        document.edit(&Edit::Set { at: at.clone(), value: new.clone() }).unwrap();
        prop_assert_eq!(at.of(document.value()), Some(&new));
        document.edit(&Edit::Set { at: at.clone(), value: was.clone() }).unwrap();
        prop_assert_eq!(document.value(), &old);
        let after = text(&document);
        if !was.is_array() && !was.is_object() {
            prop_assert_eq!(after, before);
        } else {
            // What stands before and behind the value is what was there.
            let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
            let rest = before.bytes().rev().zip(after.bytes().rev()).take_while(|(one, other)| one == other).count();
            let gone = before.len().saturating_sub(same + rest);
            let value = written_at(&before, at).len();
            prop_assert!(gone <= value, "{} became {}", before, after);
        }
    }

    #[test]
    fn anything_can_be_taken_out(
        old in object(), choices in proptest::collection::vec(any::<u8>(), 1..60), choice in any::<usize>(), comments in any::<bool>(),
    ) {
        let before = written(&old, &choices, comments, false);
        let format = if comments { Format::Jsonc } else { Format::Json };
        let mut document = Document::parse(before.as_bytes(), format).unwrap();
        let mut found = Vec::new();
        places(&old, &Place::default(), &mut found);
        let Some(at) = pick(&found, choice) else { return Ok(()) };
        document.edit(&Edit::Remove { at: at.clone() }).unwrap();
        prop_assert!(text(&document).len() < before.len());
        // Comments that do not stand in the value or behind it stay.
        let count = |text: &str| text.matches("/* , } */").count();
        prop_assert!(count(&text(&document)) + 8 + count(written_at(&before, at)) >= count(&before));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(prop_oneof![
            proptest::sample::select(b"{}[]\":,/* \n\r\t\\u019dae-.".to_vec()), any::<u8>(),
        ], 0..60),
        key in "[ae]{0,2}", index in 0_usize..3, comments in any::<bool>(), kind in 0..3,
    ) {
        let format = if comments { Format::Jsonc } else { Format::Json };
        let Ok(mut document) = Document::parse(&bytes, format) else { return Ok(()) };
        prop_assert_eq!(document.bytes(), bytes.clone());
        let at = Place(vec![Step::Key(key), Step::Index(index)]);
        let edit = match kind {
            0 => Edit::Set { at: Place(at.0[..1].to_vec()), value: json!([1]) },
            1 => Edit::Append { to: Place(at.0[..1].to_vec()), value: json!({}) },
            _ => Edit::Remove { at },
        };
        match document.edit(&edit) {
            Ok(()) => { Document::parse(&document.bytes(), format).unwrap(); }
            Err(_) => prop_assert_eq!(document.bytes(), bytes),
        }
    }
}

/// How the value at a place is written: found by what differs when something else stands there.
fn written_at<'t>(text: &'t str, at: &Place) -> &'t str {
    let with = |value: Value| {
        let mut document = Document::parse(text.as_bytes(), Format::Jsonc).unwrap();
        document.edit(&Edit::Set { at: at.clone(), value }).unwrap();
        String::from_utf8(document.bytes()).unwrap()
    };
    // Two markers that share neither their first nor their last byte, so that what both leave is what stands around.
    let (one, other) = (with(json!(-12345)), with(json!("67890")));
    let start = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let rest = one.bytes().rev().zip(other.bytes().rev()).take_while(|(one, other)| one == other).count();
    &text[start..text.len() - rest]
}
