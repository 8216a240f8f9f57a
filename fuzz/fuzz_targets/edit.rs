//! Edits of any text: refused without a change, or what is added and taken away leaves the old values.

use bir_edit::Document;
use bir_model::{Edit, Format, Place};
use serde_json::{Value, json};

/// The first byte says which place is taken and what is put there, the others are the file.
pub fn edit(data: &[u8], format: Format) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let Ok(old) = Document::parse(bytes, format) else { return };
    assert_eq!(old.bytes(), bytes);
    let mut places = vec![Place::default()];
    collect(old.value(), &Place::default(), &mut places);
    let place = places[usize::from(choice >> 3) % places.len()].clone();
    let value = match choice & 3 {
        0 => json!("no: # x\n"),
        1 => json!({"command": "x", "args": ["--"], "env": {"K": "1"}}),
        2 => json!([{"hooks": [{"type": "command"}]}]),
        _ => json!(["a", "b"]),
    };
    let first = match (choice & 4, place.of(old.value())) {
        (0, Some(Value::Object(_))) => Edit::Set { at: place.key("a new one"), value },
        (0, Some(Value::Array(_))) => Edit::Append { to: place.clone(), value },
        (0, _) => Edit::Set { at: place.clone(), value },
        _ => Edit::Remove { at: place.clone() },
    };
    let mut new = old.clone();
    match new.edit(&first) {
        Err(_) => assert_eq!(new.bytes(), bytes),
        Ok(()) => {
            let again = Document::parse(&new.bytes(), format).expect("what was written is read");
            assert_eq!(again.value(), new.value());
            let back = match (&first, place.of(old.value())) {
                (Edit::Set { at, .. }, _) if *at != place => Edit::Remove { at: at.clone() },
                (Edit::Append { .. }, Some(Value::Array(values))) => Edit::Remove { at: place.index(values.len()) },
                _ => return,
            };
            new.edit(&back).expect("what was added is taken away");
            assert_eq!(new.value(), old.value());
        }
    }
}

fn collect(value: &Value, at: &Place, places: &mut Vec<Place>) {
    let steps: Vec<(Place, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (at.key(key), value)).collect(),
        Value::Array(values) => values.iter().enumerate().map(|(i, value)| (at.index(i), value)).collect(),
        _ => return,
    };
    for (place, value) in steps {
        places.push(place.clone());
        collect(value, &place, places);
    }
}
