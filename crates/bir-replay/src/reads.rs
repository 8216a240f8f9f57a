//! Which earlier results an input is made of: what the order of steps and the taint of their inputs follow from.
//!
//! Expressions are data: as JSON, each part of one stands in the whole under the name of what it is. A form of expression that does not
//! exist yet is read as well; a constant that looks like one counts as one, which only makes a step wait.

use bir_plan::expr::Expr;
use bir_plan::scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeSet;

/// Deeper than that no expression is.
const DEEPEST: usize = 128;

/// The keys of kept values that an expression reads.
#[must_use]
pub fn kept_keys(expr: &Expr) -> BTreeSet<String> {
    fn look(value: &Value, depth: usize, keys: &mut BTreeSet<String>) {
        match value {
            _ if depth > DEEPEST => {}
            Value::Object(members) => {
                for (name, part) in members {
                    match (name.as_str(), part) {
                        ("kept", Value::String(key)) => {
                            keys.insert(key.clone());
                        }
                        ("const", _) => {}
                        _ => look(part, depth + 1, keys),
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| look(element, depth + 1, keys)),
            _ => {}
        }
    }
    let mut keys = BTreeSet::new();
    if let Ok(whole) = serde_json::to_value(expr) {
        look(&whole, 0, &mut keys);
    }
    keys
}

/// For each step the steps whose results its input or what it keeps is made of, by way of what others kept as well.
#[must_use]
pub fn dependencies(plan: &Scenario) -> Vec<BTreeSet<usize>> {
    let mut out: Vec<BTreeSet<usize>> = Vec::with_capacity(plan.steps.len());
    for (n, step) in plan.steps.iter().enumerate() {
        let leaves = step.input.leaves();
        let exprs = leaves.iter().flat_map(|(_, leaf)| std::iter::once(&leaf.expr).chain(&leaf.also));
        let exprs = exprs.chain(step.keeps.iter().map(|keep| &keep.expr));
        let mut on = BTreeSet::new();
        for key in exprs.flat_map(kept_keys) {
            on.extend(makers(plan, n, &key));
        }
        on.remove(&n);
        let far: BTreeSet<usize> = on.iter().filter_map(|step| out.get(*step)).flatten().copied().collect();
        on.extend(far);
        out.push(on);
    }
    out
}

/// The steps up to this one that keep a value under a key. Nothing else may: an unknown key depends on all of them.
pub(crate) fn makers(plan: &Scenario, step: usize, key: &str) -> BTreeSet<usize> {
    let before = || plan.steps.iter().enumerate().take(step + 1);
    let found: BTreeSet<usize> =
        before().filter(|(_, step)| step.keeps.iter().any(|keep| keep.key == key)).map(|(n, _)| n).collect();
    if found.is_empty() { (0..step).collect() } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::plan;
    use serde_json::json;

    #[test]
    fn what_is_read_is_found_wherever_it_stands() {
        let keys = |expr: Value| {
            let expr: Expr = serde_json::from_value(expr).unwrap();
            kept_keys(&expr).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(keys(json!({"param": "kept"})), [""; 0]);
        assert_eq!(keys(json!({"const": {"kept": "x"}})), [""; 0]);
        assert_eq!(
            keys(json!({"concat": [{"kept": "a"}, {"pick": {"from": {"kept": "b"}, "path": [],
                "by": {"only": {"path": [], "op": "equal", "with": {"kept": "c"}}}}}]})),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn dependencies_go_by_way_of_what_was_kept() {
        let plan = plan(json!([
            {"tool": "a", "keeps": [{"key": "x", "expr": {"result": ["x"]}}]},
            {"tool": "b", "keeps": [{"key": "y", "expr": {"concat": [{"kept": "x"}, {"result": []}]}}]},
            {"tool": "c", "input": {"v": {"kept": "y"}}},
            {"tool": "d", "input": {"v": {"const": 1}}},
            {"tool": "e", "input": {"v": {"kept": "nobody"}}},
        ]));
        let on = dependencies(&plan);
        let on: Vec<Vec<usize>> = on.into_iter().map(|on| on.into_iter().collect()).collect();
        assert_eq!(on, [vec![], vec![0], vec![0, 1], vec![], vec![0, 1, 2, 3]]);
    }
}
