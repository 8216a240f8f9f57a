//! Looking into expressions. They are data: as JSON, each part of one stands in the whole, under the name of what it
//! is.

use bir_plan::expr::Expr;
use serde_json::Value;

/// Whether an expression has another one as a part.
pub(crate) fn mentions(expr: &Expr, part: &Expr) -> bool {
    fn has(whole: &Value, part: &Value) -> bool {
        whole == part
            || match whole {
                Value::Object(members) => members.values().any(|member| has(member, part)),
                Value::Array(elements) => elements.iter().any(|element| has(element, part)),
                _ => false,
            }
    }
    match (serde_json::to_value(expr), serde_json::to_value(part)) {
        (Ok(whole), Ok(part)) => has(&whole, &part),
        _ => false,
    }
}

/// Whether some named part of an expression is such a one. Values that it holds are no parts.
pub(crate) fn any_part(expr: &Expr, is: &dyn Fn(&str, &Value) -> bool) -> bool {
    fn look(value: &Value, is: &dyn Fn(&str, &Value) -> bool) -> bool {
        match value {
            Value::Object(members) => {
                members.iter().any(|(name, part)| name != "const" && (is(name, part) || look(part, is)))
            }
            Value::Array(elements) => elements.iter().any(|element| look(element, is)),
            _ => false,
        }
    }
    serde_json::to_value(expr).is_ok_and(|whole| look(&whole, is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_plan::expr::{At, Clock, Selector};
    use serde_json::json;

    #[test]
    fn parts_are_found_and_values_are_none() {
        let list = || Box::new(Expr::Kept("rooms".into()));
        let pick = |by: Selector| Expr::Pick { from: list(), by, path: vec![At::Key("id".into())] };
        let whole =
            Expr::Concat(vec![Expr::Const(json!({"clock": "date", "kept": "x"})), pick(Selector::Last)]);
        assert!(
            mentions(&whole, &Expr::Kept("rooms".into())) && !mentions(&whole, &Expr::Kept("room".into()))
        );
        assert!(!any_part(&whole, &|name, _| name == "clock"));
        assert!(any_part(&Expr::Concat(vec![Expr::Clock(Clock::Date)]), &|name, _| name == "clock"));
        assert!(any_part(&whole, &|name, part| name == "by" && *part == json!("last")));
        assert!(any_part(&pick(Selector::Min(Vec::new())), &|name, part| name == "by"
            && part.get("min").is_some()));
        assert!(any_part(&Expr::Len(list()), &|name, _| name == "len"));
    }
}
