//! The JSON in what a model says: bare, in a fence, or with prose around it.

use serde_json::Value;

/// Places at which JSON may begin that are tried.
const TRIES: usize = 64;

/// The first object that can be read and that is looked for.
pub(crate) fn object(text: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
    let starts = text.match_indices('{').map(|(at, _)| at).take(TRIES);
    starts
        .filter_map(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok())
        .find(|value| value.is_object() && fits(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn json_is_found_however_it_is_wrapped() {
        let said = json!({"values": {"city": "Rome"}});
        for text in [
            r#"{"values": {"city": "Rome"}}"#,
            "```json\n{\"values\": {\"city\": \"Rome\"}}\n```",
            "```\n{\"values\": {\"city\": \"Rome\"}}\n``` Done.",
            "Sure! The city {as asked} is here: {\"values\": {\"city\": \"Rome\"}} — anything else?",
            "{\"note\": 1} {\"values\": {\"city\": \"Rome\"}}",
        ] {
            assert_eq!(object(text, |value| value.get("values").is_some()), Some(said.clone()), "{text}");
        }
        for text in ["", "no", "{", "[1]", "{\"values\": ", "{'values': 1}", &"{".repeat(100_000)] {
            assert_eq!(object(text, |_| true), None);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "(\\PC|[{}\"\\[\\]:,]){0,200}") {
            let _ = object(&text, |_| true);
        }
    }
}
