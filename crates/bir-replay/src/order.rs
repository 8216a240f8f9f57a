//! Which steps may begin (DESIGN.md §11): the steps of one server keep their order, nothing begins before what its input is made of,
//! a write begins when everything before it is done, and nothing but a stateless read begins before an earlier write is done.

use crate::policy::Policy;
use crate::reads::dependencies;
use crate::script::Script;
use std::collections::BTreeSet;

/// What has to be done before a step may begin, for each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    before: Vec<BTreeSet<usize>>,
}

impl Order {
    /// Of a scenario. `policy` says which tools are stateless.
    #[must_use]
    pub fn of(script: &Script, policy: &Policy) -> Self {
        let data = dependencies(&script.plan);
        let stateless =
            |n: usize| script.steps.get(n).is_some_and(|step| !step.writes() && policy.is_stateless(step));
        let before = script.steps.iter().enumerate().map(|(n, step)| {
            let waits_for = |earlier: &usize| {
                let Some(before) = script.steps.get(*earlier) else { return false };
                // An edited body may read whatever was kept.
                step.writes()
                    || step.input_body.is_some()
                    || data.get(n).is_some_and(|on| on.contains(earlier))
                    || if before.writes() {
                        !stateless(n)
                    } else {
                        before.server == step.server && !(stateless(n) && stateless(*earlier))
                    }
            };
            (0..n).filter(waits_for).collect()
        });
        Self { before: before.collect() }
    }

    /// Whether a step may begin when these are done.
    #[must_use]
    pub fn may_begin(&self, step: usize, is_done: impl Fn(usize) -> bool) -> bool {
        self.before.get(step).is_some_and(|before| before.iter().all(|step| is_done(*step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script;
    use serde_json::json;

    fn waits(steps: serde_json::Value, stateless: &[&str]) -> Vec<Vec<usize>> {
        let policy = Policy {
            stateless: stateless.iter().map(|tool| ("s".to_owned(), (*tool).to_owned())).collect(),
            ..Policy::default()
        };
        Order::of(&script(steps), &policy).before.into_iter().map(|b| b.into_iter().collect()).collect()
    }

    #[test]
    fn order_is_a_table() {
        let read = |server: &str, tool: &str| json!({"server": server, "tool": tool, "effect": "read"});
        let write = |server: &str| json!({"server": server, "tool": "put", "effect": "write"});
        for (name, steps, stateless, expected) in [
            (
                "one server keeps its order",
                json!([read("s", "a"), read("s", "b")]),
                &[][..],
                vec![vec![], vec![0]],
            ),
            ("two servers need not wait", json!([read("s", "a"), read("t", "b")]), &[], vec![vec![], vec![]]),
            (
                "two stateless reads",
                json!([read("s", "a"), read("s", "b")]),
                &["a", "b"],
                vec![vec![], vec![]],
            ),
            ("one of them is not", json!([read("s", "a"), read("s", "b")]), &["a"], vec![vec![], vec![0]]),
            (
                "a write waits for all",
                json!([read("s", "a"), read("t", "b"), write("u")]),
                &[],
                vec![vec![], vec![], vec![0, 1]],
            ),
            ("nothing crosses a write", json!([write("u"), read("s", "a")]), &[], vec![vec![], vec![0]]),
            ("but a stateless read", json!([write("u"), read("s", "a")]), &["a"], vec![vec![], vec![]]),
            ("no write is stateless", json!([write("s"), write("s")]), &["put"], vec![vec![], vec![0]]),
        ] {
            assert_eq!(waits(steps, stateless), expected, "{name}");
        }
    }

    #[test]
    fn data_decides_before_everything() {
        let steps = json!([
            {"server": "s", "tool": "a", "effect": "read", "keeps": [{"key": "k", "expr": {"result": ["k"]}}]},
            {"server": "t", "tool": "b", "effect": "read", "input": {"v": {"kept": "k"}}},
            {"server": "v", "tool": "c", "effect": "read", "edited": true},
        ]);
        assert_eq!(waits(steps, &[]), [vec![], vec![0], vec![0, 1]]);
    }
}
