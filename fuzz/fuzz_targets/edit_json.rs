//! Any bytes as a JSON file and a small edit of it: read or refused, and what comes out reads as meant.

#![no_main]

use bir_edit::Document;
use bir_model::{Edit, Format, Place, Step};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Where a value stands that the bytes choose, or a little beside one.
fn place(value: &Value, mut choices: &[u8]) -> Place {
    let mut at = Place::default();
    while let Some((&choice, rest)) = choices.split_first() {
        choices = rest;
        let step = match at.of(value) {
            Some(Value::Object(members)) if choice < 200 && !members.is_empty() => {
                members.keys().nth(usize::from(choice) % members.len()).cloned().map(Step::Key)
            }
            Some(Value::Array(elements)) if choice < 200 => {
                Some(Step::Index(usize::from(choice) % elements.len().max(1)))
            }
            _ if choice < 250 => Some(Step::Key("new".to_owned())),
            _ => Some(Step::Index(usize::from(choice) - 250)),
        };
        at.0.extend(step);
    }
    at
}

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_at_checked(5) else { return };
    let format = if head[0] & 1 == 0 { Format::Json } else { Format::Jsonc };
    let Ok(mut document) = Document::parse(bytes, format) else { return };
    assert_eq!(document.bytes(), bytes, "not edited");
    let before = document.value().clone();
    let at = place(&before, &head[2..2 + usize::from(head[1] % 4)]);
    let value = match head[0] >> 1 & 3 {
        0 => json!("\u{1}é\""),
        1 => json!({"x": [1, {"y": null}]}),
        2 => json!(-1.5),
        _ => json!([]),
    };
    let edit = match head[0] >> 3 & 3 {
        0 => Edit::Append { to: at.clone(), value: value.clone() },
        1 => Edit::Remove { at: at.clone() },
        2 => Edit::Insert { into: at.clone(), at: 0, values: vec![value.clone()] },
        _ => Edit::Set { at: at.clone(), value: value.clone() },
    };
    let Ok(()) = document.edit(&edit) else {
        assert_eq!(document.bytes(), bytes, "refused");
        assert_eq!(*document.value(), before, "refused");
        return;
    };
    let out = document.bytes();
    let again = Document::parse(&out, format).expect("what came out is read");
    assert_eq!(again.value(), document.value());
    assert_eq!(again.bytes(), out);
    match &edit {
        Edit::Set { at, .. } => assert_eq!(at.of(document.value()), Some(&value)),
        Edit::Append { to, .. } => {
            let array = to.of(document.value()).and_then(Value::as_array).expect("an array");
            assert_eq!(array.last(), Some(&value));
            let undo = Edit::Remove { at: to.index(array.len() - 1) };
            document.edit(&undo).expect("what was put in can be taken out");
        }
        Edit::Insert { into, .. } => {
            let array = into.of(document.value()).and_then(Value::as_array).expect("an array");
            assert_eq!(array.first(), Some(&value));
            let undo = Edit::Cut { from: into.clone(), at: 0, count: 1 };
            document.edit(&undo).expect("what was put in can be taken out");
        }
        Edit::Remove { .. } | Edit::Cut { .. } => assert!(out.len() < bytes.len()),
    }
});
