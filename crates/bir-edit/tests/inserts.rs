//! Elements put in front of those that an array has, and cut again: the bytes that were there are the bytes that are left, in every
//! format, however the array is written and wherever comments stand in it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use bir_edit::Document;
use bir_model::{Edit, Format, Place};
use proptest::prelude::*;
use serde_json::{Value, json};

fn list() -> Place {
    Place::keys(["a", "list"])
}

fn insert(at: usize, values: &[Value]) -> Edit {
    Edit::Insert { into: list(), at, values: values.to_vec() }
}

fn cut(at: usize, count: usize) -> Edit {
    Edit::Cut { from: list(), at, count }
}

fn edited(text: &str, format: Format, edit: &Edit) -> String {
    let mut document = Document::parse(text.as_bytes(), format).unwrap();
    let outcome = document.edit(edit);
    assert!(outcome.is_ok(), "{outcome:?}: {edit:?}\n{text}");
    String::from_utf8(document.bytes()).unwrap()
}

#[test]
fn each_stands_as_its_neighbours_stand() {
    let new = [json!("-x"), json!("y")];
    for (format, before, at, after) in [
        (Format::Json, r#"{"a": {"list": ["-u"]}}"#, 0, r#"{"a": {"list": ["-x", "y", "-u"]}}"#),
        (Format::Json, r#"{"a":{"list":["1","2"]}}"#, 1, r#"{"a":{"list":["1","-x","y","2"]}}"#),
        (
            Format::Jsonc,
            "{\"a\": {\r\n\t\"list\": [ // in\r\n\t\t\"-\\u0075\", // first\r\n\t\t// second\r\n\t\t\"x\", // tail\r\n\t]}}",
            0,
            "{\"a\": {\r\n\t\"list\": [ // in\r\n\t\t\"-x\",\r\n\t\t\"y\",\r\n\t\t\"-\\u0075\", // first\r\n\t\t// second\r\n\t\t\"x\", // tail\r\n\t]}}",
        ),
        (
            Format::Jsonc,
            r#"{"a": {"list": [/* b */ "-u"]}}"#,
            0,
            r#"{"a": {"list": [/* b */ "-x", "y", "-u"]}}"#,
        ),
        (
            Format::Toml,
            "[a]\nlist = [ # in\n  '-u', # first\n  '''x''' # tail\n]\n",
            0,
            "[a]\nlist = [ # in\n  \"-x\",\n  \"y\",\n  '-u', # first\n  '''x''' # tail\n]\n",
        ),
        (
            Format::Toml,
            "a.list=['-u', # one\n 'x'] # two\n",
            0,
            "a.list=[\"-x\", \"y\", '-u', # one\n 'x'] # two\n",
        ),
        (Format::Toml, "a={list=[\"\\u0041\"]}\n", 0, "a={list=[\"-x\", \"y\", \"\\u0041\"]}\n"),
        (
            Format::Yaml,
            "a:\n  list: # in\n    # of it\n    - -u # first\n    - 'x'\n",
            0,
            "a:\n  list: # in\n    # of it\n    - \"-x\"\n    - \"y\"\n    - -u # first\n    - 'x'\n",
        ),
        (
            Format::Yaml,
            "a:\n  list:\n  - |\n    x\n\n  - z\n",
            1,
            "a:\n  list:\n  - |\n    x\n\n  - \"-x\"\n  - \"y\"\n  - z\n",
        ),
        (Format::Yaml, "a: {list: [-u, 'x']} # c\n", 0, "a: {list: [\"-x\", \"y\", -u, 'x']} # c\n"),
    ] {
        let made = edited(before, format, &insert(at, &new));
        assert_eq!(made, after);
        assert_eq!(edited(&made, format, &cut(at, 2)), before);
    }
}

#[test]
fn an_array_that_is_empty_or_absent_is_made() {
    let new = [json!("-x"), json!("y")];
    for (format, before, after) in [
        (
            Format::Json,
            "{\n  \"a\": {}\n}",
            "{\n  \"a\": {\n    \"list\": [\n      \"-x\",\n      \"y\"\n    ]\n  }\n}",
        ),
        (Format::Json, r#"{"a": {"list": []}}"#, r#"{"a": {"list": ["-x", "y"]}}"#),
        (Format::Json, r#"{"a": {"list": null}}"#, r#"{"a": {"list": ["-x", "y"]}}"#),
        (Format::Json, "", "{\n  \"a\": {\n    \"list\": [\n      \"-x\",\n      \"y\"\n    ]\n  }\n}\n"),
        (Format::Toml, "[a]\n", "[a]\nlist = [\"-x\", \"y\"]\n"),
        (Format::Toml, "[a]\nlist = []\n", "[a]\nlist = [\"-x\", \"y\"]\n"),
        (Format::Yaml, "a:\n  b: 1\n", "a:\n  b: 1\n  list:\n    - \"-x\"\n    - \"y\"\n"),
        (Format::Yaml, "a:\n  list: []\n", "a:\n  list:\n    - \"-x\"\n    - \"y\"\n"),
        (Format::Yaml, "a:\n  list:\n", "a:\n  list:\n    - \"-x\"\n    - \"y\"\n"),
    ] {
        let made = edited(before, format, &insert(0, &new));
        assert_eq!(made, after);
        if before.contains("[]") {
            assert_eq!(edited(&made, format, &cut(0, 2)), before);
        }
    }
}

#[test]
fn what_is_not_there_is_neither_cut_nor_gone_behind() {
    for (format, text) in [
        (Format::Json, r#"{"a": {"list": ["b"]}, "c": 1}"#),
        (Format::Toml, "c = 1\n[a]\nlist = [\"b\"]\n"),
        (Format::Yaml, "c: 1\na:\n  list:\n    - b\n"),
    ] {
        let c = Place::keys(["c"]);
        for edit in [
            insert(2, &[json!("x")]),
            cut(0, 2),
            cut(1, 1),
            cut(1, usize::MAX),
            Edit::Insert { into: c.clone(), at: 0, values: vec![json!("x")] },
            Edit::Cut { from: c.clone(), at: 0, count: 1 },
            Edit::Cut { from: Place::keys(["d"]), at: 0, count: 1 },
            Edit::Insert { into: Place::keys(["d"]), at: 1, values: vec![json!("x")] },
        ] {
            let mut document = Document::parse(text.as_bytes(), format).unwrap();
            assert!(document.edit(&edit).is_err(), "{edit:?}\n{text}");
            assert_eq!(document.bytes(), text.as_bytes());
        }
    }
}

/// A comment that somebody has put between what was inserted stays.
#[test]
fn comments_between_what_is_cut_stay() {
    for (format, before, after) in [
        (
            Format::Jsonc,
            "{\"a\": {\"list\": [\n  1,\n  // why\n  2,\n  3\n]}}",
            "{\"a\": {\"list\": [\n  // why\n  3\n]}}",
        ),
        (Format::Toml, "[a]\nlist = [\n  1,\n  # why\n  2,\n  3\n]\n", "[a]\nlist = [\n  # why\n  3\n]\n"),
        (
            Format::Yaml,
            "a:\n  list:\n    - 1\n    # why\n    - 2\n    - 3\n",
            "a:\n  list:\n    # why\n    - 3\n",
        ),
    ] {
        assert_eq!(edited(before, format, &cut(0, 2)), after);
    }
}

/// A list as a format may have it: elements with their spelling, and what stands before and behind each.
fn written(format: Format, elements: &[(u8, u8, u8)], tall: bool, end: &str, last_comma: bool) -> String {
    let comment = match format {
        Format::Jsonc => "// c, \"]",
        _ => "# c, \"]",
    };
    let yaml_block = format == Format::Yaml && tall;
    let mut list = String::new();
    for (n, (spelling, before, behind)) in elements.iter().enumerate() {
        let spellings: &[&str] = match format {
            Format::Jsonc | Format::Json => &[r#""-u""#, r#""\u0041\/b""#, r#""{\"t\":1}""#, "1.50"],
            Format::Toml => &["'-u'", "'''x'''", r#""{\"t\":1}""#, "1.50"],
            Format::Yaml => &["-u", "'x # y'", r#""{\"t\":1}""#, "npx"],
        };
        let spelling = spellings[usize::from(*spelling) % spellings.len()];
        let comma = if yaml_block || (n + 1 == elements.len() && !last_comma) { "" } else { "," };
        let comments = format != Format::Json;
        if tall {
            list.push_str(end);
            if comments && before % 3 == 0 {
                list.push_str(&format!("    {comment}{end}"));
            }
            list.push_str(if yaml_block { "    - " } else { "    " });
        } else if n > 0 {
            list.push_str(if before % 2 == 0 { " " } else { "" });
        }
        list.push_str(&format!("{spelling}{comma}"));
        if tall && comments && behind % 2 == 0 {
            list.push_str(&format!("  {comment}"));
        }
        if format == Format::Jsonc && behind % 5 == 0 {
            list.push_str(" /* b */");
        }
        if !tall && !yaml_block && n + 1 < elements.len() && comma.is_empty() {
            list.push(',');
        }
    }
    if tall && !yaml_block {
        list.push_str(end);
    }
    match format {
        Format::Json | Format::Jsonc => format!("{{\"a\": {{{end}  \"list\": [{list}]{end}}}}}{end}"),
        Format::Toml => format!("[a]{end}list = [{list}] {comment}{end}"),
        Format::Yaml if tall => format!("a:{end}  list: {comment}{list}{end}  z: 1{end}"),
        Format::Yaml => format!("a:{end}  list: [{list}] {comment}{end}"),
    }
}

proptest! {
    #[test]
    fn what_is_put_in_leaves_no_trace(
        format in prop::sample::select(vec![Format::Json, Format::Jsonc, Format::Toml, Format::Yaml]),
        elements in prop::collection::vec(any::<(u8, u8, u8)>(), 1..5),
        tall: bool, last_comma: bool,
        end in prop::sample::select(vec!["\n", "\r\n"]),
        new in prop::collection::vec("[ -~é]{0,9}", 1..6),
        at: prop::sample::Index,
    ) {
        let last_comma = last_comma && format != Format::Json;
        let before = written(format, &elements, tall, end, last_comma);
        let at = at.index(elements.len());
        let new: Vec<Value> = new.into_iter().map(Value::from).collect();
        let made = edited(&before, format, &insert(at, &new));
        let document = Document::parse(made.as_bytes(), format).unwrap();
        let list = list().of(document.value()).unwrap().as_array().unwrap();
        prop_assert_eq!(&list[at..at + new.len()], &new[..]);
        prop_assert_eq!(edited(&made, format, &cut(at, new.len())), before);
    }
}
