//! An edit carried out on a value: what the file says afterwards.

use bir_model::{Edit, Place, Step};
use serde_json::{Map, Value};

/// Carries an edit out. False: the place is not there to be changed, and nothing has changed.
pub fn carry_out(document: &mut Value, edit: &Edit) -> bool {
    match edit {
        Edit::Set { at, value } => {
            holder(document, at, true).is_some_and(|(holder, step)| match (holder, step) {
                (Value::Object(members), Step::Key(key)) => {
                    members.insert(key.clone(), value.clone());
                    true
                }
                (Value::Array(elements), Step::Index(index)) => match elements.get_mut(*index) {
                    Some(element) => {
                        *element = value.clone();
                        true
                    }
                    None => false,
                },
                _ => false,
            })
        }
        Edit::Append { to, value } => {
            if to.of(document).is_none()
                && !carry_out(document, &Edit::Set { at: to.clone(), value: Value::Array(Vec::new()) })
            {
                return false;
            }
            match of_mut(document, &to.0, false) {
                Some(Value::Array(elements)) => {
                    elements.push(value.clone());
                    true
                }
                _ => false,
            }
        }
        Edit::Insert { into, at, values } => {
            // As the editors have it, a null is where an array may come.
            let empty = matches!(into.of(document), None | Some(Value::Null));
            if empty {
                let whole = Edit::Set { at: into.clone(), value: values.clone().into() };
                return *at == 0 && carry_out(document, &whole);
            }
            match of_mut(document, &into.0, false) {
                Some(Value::Array(elements)) if *at <= elements.len() => {
                    drop(elements.splice(*at..*at, values.iter().cloned()));
                    true
                }
                _ => false,
            }
        }
        Edit::Cut { from, at, count } => match (of_mut(document, &from.0, false), at.checked_add(*count)) {
            (Some(Value::Array(elements)), Some(end)) if end <= elements.len() => {
                drop(elements.drain(*at..end));
                true
            }
            _ => false,
        },
        Edit::Remove { at } => {
            holder(document, at, false).is_some_and(|(holder, step)| match (holder, step) {
                // What stands behind it keeps its order.
                (Value::Object(members), Step::Key(key)) => members.shift_remove(key).is_some(),
                (Value::Array(elements), Step::Index(index)) if *index < elements.len() => {
                    elements.remove(*index);
                    true
                }
                _ => false,
            })
        }
    }
}

/// What holds a place, and the last step to it.
fn holder<'v, 'p>(document: &'v mut Value, at: &'p Place, make: bool) -> Option<(&'v mut Value, &'p Step)> {
    let (last, above) = at.0.split_last()?;
    Some((of_mut(document, above, make)?, last))
}

fn of_mut<'v>(document: &'v mut Value, steps: &[Step], make: bool) -> Option<&'v mut Value> {
    steps.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => {
            let members = value.as_object_mut()?;
            if make && !members.contains_key(key) {
                members.insert(key.clone(), Value::Object(Map::new()));
            }
            members.get_mut(key)
        }
        Step::Index(index) => value.get_mut(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_keep_their_places() {
        let set = |at: &Place, value| Edit::Set { at: at.clone(), value };
        let insert =
            |into: &Place, at| Edit::Insert { into: into.clone(), at, values: vec![json!(3), json!(4)] };
        let cut = |from: &Place, at, count| Edit::Cut { from: from.clone(), at, count };
        let (a, list) = (Place::keys(["a"]), Place::keys(["list"]));
        for (edit, after) in [
            (set(&a, json!(2)), r#"{"a":2,"list":[1,{"x":0}]}"#),
            (set(&a.key("b"), json!(2)), ""),
            (set(&Place::keys(["n", "m"]), json!(2)), r#"{"a":1,"list":[1,{"x":0}],"n":{"m":2}}"#),
            (set(&list.index(1).key("x"), json!(2)), r#"{"a":1,"list":[1,{"x":2}]}"#),
            (set(&list.index(0), json!(2)), r#"{"a":1,"list":[2,{"x":0}]}"#),
            (set(&list.index(2), json!(2)), ""),
            (Edit::Remove { at: a.clone() }, r#"{"list":[1,{"x":0}]}"#),
            (Edit::Remove { at: list.index(0) }, r#"{"a":1,"list":[{"x":0}]}"#),
            (Edit::Remove { at: list.index(2) }, ""),
            (Edit::Remove { at: Place::keys(["z"]) }, ""),
            (Edit::Remove { at: Place::default() }, ""),
            (Edit::Append { to: list.clone(), value: json!(3) }, r#"{"a":1,"list":[1,{"x":0},3]}"#),
            (
                Edit::Append { to: Place::keys(["n"]), value: json!(3) },
                r#"{"a":1,"list":[1,{"x":0}],"n":[3]}"#,
            ),
            (Edit::Append { to: a.clone(), value: json!(3) }, ""),
            (insert(&list, 1), r#"{"a":1,"list":[1,3,4,{"x":0}]}"#),
            (insert(&list, 2), r#"{"a":1,"list":[1,{"x":0},3,4]}"#),
            (insert(&list, 3), ""),
            (insert(&a, 0), ""),
            (insert(&Place::keys(["n"]), 0), r#"{"a":1,"list":[1,{"x":0}],"n":[3,4]}"#),
            (insert(&Place::keys(["n"]), 1), ""),
            (cut(&list, 0, 1), r#"{"a":1,"list":[{"x":0}]}"#),
            (cut(&list, 0, 2), r#"{"a":1,"list":[]}"#),
            (cut(&list, 1, 2), ""),
            (cut(&list, 1, usize::MAX), ""),
            (cut(&a, 0, 1), ""),
        ] {
            let before = json!({"a": 1, "list": [1, {"x": 0}]});
            let mut document = before.clone();
            assert_eq!(carry_out(&mut document, &edit), !after.is_empty(), "{edit:?}");
            let expected = if after.is_empty() { before.to_string() } else { after.to_owned() };
            assert_eq!(document.to_string(), expected, "{edit:?}");
        }
    }
}
