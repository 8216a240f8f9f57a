//! What a document has to say after an edit, told without its text.

use bir_model::{Edit, Place, Step};
use serde_json::{Map, Value};

/// The value with the edit carried out; nothing where the edit does not fit.
pub(crate) fn after(mut value: Value, edit: &Edit) -> Option<Value> {
    match edit {
        Edit::Set { at, value: new } => *slot(&mut value, at)? = new.clone(),
        Edit::Append { to, value: new } => {
            let array = slot(&mut value, to)?;
            if array.is_null() {
                *array = Value::Array(Vec::new());
            }
            array.as_array_mut()?.push(new.clone());
        }
        Edit::Remove { at } => {
            let (last, above) = at.0.split_last()?;
            let mut holder = &mut value;
            for step in above {
                holder = match step {
                    Step::Key(key) => holder.get_mut(key)?,
                    Step::Index(index) => holder.get_mut(*index)?,
                };
            }
            match (holder, last) {
                (Value::Object(members), Step::Key(key)) => {
                    members.shift_remove(key)?;
                }
                (Value::Array(values), Step::Index(index)) if *index < values.len() => {
                    values.remove(*index);
                }
                _ => return None,
            }
        }
    }
    Some(value)
}

/// What stands at a place, made where it is not there: null in objects that are made as well.
fn slot<'v>(value: &'v mut Value, place: &Place) -> Option<&'v mut Value> {
    let mut value = value;
    for step in &place.0 {
        value = match step {
            Step::Key(key) => {
                if value.is_null() {
                    *value = Value::Object(Map::new());
                }
                value.as_object_mut()?.entry(key.clone()).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if value.is_null() {
                    *value = Value::Array(Vec::new());
                }
                let values = value.as_array_mut()?;
                if values.len() == *index {
                    values.push(Value::Null);
                }
                values.get_mut(*index)?
            }
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn edits_are_told_in_values() {
        let old = json!({"a": {"b": [1, 2]}, "n": null});
        let set = |at: Place, value| after(old.clone(), &Edit::Set { at, value });
        assert_eq!(set(Place::keys(["a", "b"]).index(1), json!(3)).unwrap()["a"]["b"], json!([1, 3]));
        assert_eq!(set(Place::keys(["n", "m"]), json!(3)).unwrap()["n"], json!({"m": 3}));
        assert_eq!(set(Place::keys(["x", "y"]), json!(3)).unwrap()["x"], json!({"y": 3}));
        assert_eq!(set(Place::keys(["a", "b", "c"]), json!(3)), None);
        let append = |to, value| after(old.clone(), &Edit::Append { to, value });
        assert_eq!(append(Place::keys(["a", "b"]), json!(3)).unwrap()["a"]["b"], json!([1, 2, 3]));
        assert_eq!(append(Place::keys(["x"]), json!(3)).unwrap()["x"], json!([3]));
        assert_eq!(append(Place::keys(["a"]), json!(3)), None);
        let remove = |at| after(old.clone(), &Edit::Remove { at });
        assert_eq!(remove(Place::keys(["a", "b"]).index(0)).unwrap()["a"]["b"], json!([2]));
        assert_eq!(remove(Place::keys(["a", "b"]).index(2)), None);
        assert_eq!(remove(Place::default()), None);
    }
}
