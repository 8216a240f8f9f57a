//! Environments and headers, of which nothing but the names is shown, whatever a member is named.

use crate::plan::secrets::{ENTRY_MEMBERS, HIDDEN, Kind, is_server, kind_of};
use bir_model::{Place, Step};
use serde_json::Value;

/// A value that stands at a place, without what environments and headers in it say.
pub(in crate::plan) fn masked(place: &Place, value: &Value) -> Value {
    let keys = place.0.iter().map(|step| match step {
        Step::Key(key) => key.as_str(),
        Step::Index(_) => "",
    });
    let (mut kind, mut above) = (Kind::Plain, "");
    let last = place.0.len().saturating_sub(1);
    for (at, key) in keys.enumerate() {
        kind = kind_below(kind, above, key, (at == last).then_some(value));
        above = key;
    }
    mask(value, kind, above)
}

/// What the members of `value`, the member `key` of `above`, are.
fn kind_below(kind: Kind, above: &str, key: &str, value: Option<&Value>) -> Kind {
    let is_name = ENTRY_MEMBERS.contains(&above) && value.is_some_and(is_server);
    if kind == Kind::Secret || is_name { kind } else { kind_of(key) }
}

fn mask(value: &Value, kind: Kind, above: &str) -> Value {
    match value {
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                let inner = kind_below(kind, above, key, Some(value));
                (key.clone(), mask(value, inner, key))
            };
            Value::Object(members.iter().map(one).collect())
        }
        Value::Array(items) => items.iter().map(|item| mask(item, kind, "")).collect(),
        Value::String(_) | Value::Number(_) if kind == Kind::Secret => HIDDEN.into(),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_an_environment_a_person_sees_names_and_no_values() {
        let entry = json!({"command": "npx", "env": {"command": "x", "B": 7, "C": true}});
        let shown = json!({"command": "npx", "env": {"command": HIDDEN, "B": HIDDEN, "C": true}});
        for name in ["a", "env", "headers"] {
            assert_eq!(masked(&Place::keys(["mcpServers", name]), &entry), shown, "{name}");
        }
        let all = json!({"env": entry, "headers": entry});
        assert_eq!(
            masked(&Place::keys(["mcpServers"]), &all),
            json!({"env": shown, "headers": shown}),
            "names of servers"
        );
        let at = Place::keys(["mcpServers", "a", "env", "command"]);
        assert_eq!(masked(&at, &json!("x")), json!(HIDDEN));
        let at = Place::keys(["hooks", "env"]);
        assert_eq!(masked(&at, &json!({"A": "x"})), json!({"A": HIDDEN}), "no server");
    }
}
