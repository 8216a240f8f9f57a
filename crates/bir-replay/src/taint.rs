//! No result names a recipient, an address, a path, an amount or a command, unless its source is trusted (facts of replay, §4.5).
//!
//! Control flow is fixed before any result arrives; this is the rest: where data of one call go in another. Of a calculated input it is
//! known from the plan, before anything runs. Of an edited body only its values can be looked at.

use crate::policy::Policy;
use crate::reads::{dependencies, kept_keys, makers};
use crate::script::Script;
use crate::sink::{Sink, sink};
use bir_plan::template::{Leaf, Origin};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Values are looked at down to this depth.
const DEEPEST: usize = 64;
/// A shorter text is in everything by chance.
const SHORTEST: usize = 3;

/// The first place of a step's calculated input that decides where it acts and that an untrusted result reaches.
#[must_use]
pub fn of_step(script: &Script, n: usize, policy: &Policy) -> Option<String> {
    let (step, of_plan) = (script.steps.get(n)?, script.plan.steps.get(n)?);
    if step.input_body.is_some() {
        return None;
    }
    let tainted = |path: &str, leaf: &Leaf| {
        let sink = sink(step, path)?;
        if !matches!(leaf.origin, Origin::Result | Origin::Mixed) && keys(leaf).is_empty() {
            return None;
        }
        let sources = sources(script, n, leaf);
        let trusted = |source: &usize| {
            let server = script.steps.get(*source).and_then(|source| source.server.as_ref());
            server.is_some_and(|server| {
                policy.trusted_sources.contains(server)
                    // A server that names one of its own files learns and loses nothing by being asked for it.
                    || (sink == Sink::Path && !step.writes() && step.server.as_ref() == Some(server))
            })
        };
        // Where nobody knows the source, it is none that is trusted.
        (sources.is_empty() || !sources.iter().all(trusted)).then(|| path.to_owned())
    };
    of_plan.input.leaves().iter().find_map(|(path, leaf)| tainted(path, leaf))
}

/// The same of an input that an edited body has made: a text that stands in a result, or in which one stands, and that no parameter
/// says.
#[must_use]
pub fn of_value(
    script: &Script,
    n: usize,
    input: &Value,
    params: &Map<String, Value>,
    kept: &Map<String, Value>,
    policy: &Policy,
) -> Option<String> {
    let step = script.steps.get(n)?;
    let untrusted = kept.iter().filter(|(key, _)| {
        // The makers of a key that an edited body has kept are not known.
        let known = script.plan.steps.iter().any(|step| step.keeps.iter().any(|keep| keep.key == **key));
        let makers = if known { makers(&script.plan, n, key) } else { BTreeSet::new() };
        let trusted = |maker: &usize| {
            let server = script.steps.get(*maker).and_then(|maker| maker.server.as_ref());
            server.is_some_and(|server| policy.trusted_sources.contains(server))
        };
        makers.is_empty() || !makers.iter().all(trusted)
    });
    let mut from = BTreeSet::new();
    untrusted.for_each(|(_, value)| {
        texts(value, "", 0, &mut |_, text| {
            from.insert(text);
        })
    });
    let mut own = BTreeSet::new();
    texts(&Value::Object(params.clone()), "", 0, &mut |_, text| {
        own.insert(text);
    });
    let mut found = None;
    texts(input, "", 0, &mut |path, text| {
        let tainted = || {
            !own.contains(&text)
                && from.iter().any(|result| {
                    *result == text
                        || (result.len() >= SHORTEST && text.contains(result.as_str()))
                        || (text.len() >= SHORTEST && result.contains(text.as_str()))
                })
        };
        if found.is_none() && sink(step, path).is_some() && tainted() {
            found = Some(path.to_owned());
        }
    });
    found
}

fn keys(leaf: &Leaf) -> BTreeSet<String> {
    std::iter::once(&leaf.expr).chain(&leaf.also).flat_map(kept_keys).collect()
}

/// The steps whose results reach a value.
fn sources(script: &Script, n: usize, leaf: &Leaf) -> BTreeSet<usize> {
    let far = dependencies(&script.plan);
    let mut out = BTreeSet::new();
    for key in keys(leaf) {
        for maker in makers(&script.plan, n, &key) {
            out.insert(maker);
            out.extend(far.get(maker).into_iter().flatten());
        }
    }
    if out.is_empty() {
        out.extend(0..n);
    }
    out
}

/// Every text and number of a value, with the way to it.
fn texts(value: &Value, path: &str, depth: usize, each: &mut dyn FnMut(&str, String)) {
    let under = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        _ if depth > DEEPEST => {}
        Value::String(text) => each(path, text.clone()),
        Value::Number(number) => each(path, number.to_string()),
        Value::Array(elements) => {
            for (n, element) in elements.iter().enumerate() {
                texts(element, &under(&n.to_string()), depth + 1, each);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                texts(member, &under(name), depth + 1, each);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script;
    use serde_json::json;

    fn steps(server: &str, effect: &str, input: Value) -> Value {
        json!([
            {"server": "web", "tool": "search", "effect": "read", "keeps": [{"key": "hit", "expr": {"result": ["hit"]}}]},
            {"server": server, "tool": "use", "effect": effect, "input": input},
        ])
    }

    #[test]
    fn a_result_reaches_no_sink() {
        let kept = json!({"kept": "hit"});
        let mixed = json!({"concat": [{"param": "p"}, {"kept": "hit"}]});
        let none = Policy::default();
        let trusts = Policy { trusted_sources: ["web".to_owned()].into(), ..Policy::default() };
        for (name, steps, policy, expected) in [
            ("a recipient", steps("mail", "write", json!({"to": kept})), &none, Some("to")),
            ("a mixed one", steps("mail", "write", json!({"to": mixed})), &none, Some("to")),
            ("a trusted source", steps("mail", "write", json!({"to": kept})), &trusts, None),
            ("a body", steps("mail", "write", json!({"body": kept})), &none, None),
            ("from the prompt", steps("mail", "write", json!({"to": {"param": "p"}})), &none, None),
            ("an address that is read", steps("web", "read", json!({"url": kept})), &none, Some("url")),
            ("a file of another server", steps("fs", "read", json!({"path": kept})), &none, Some("path")),
            ("its own file", steps("web", "read", json!({"path": kept})), &none, None),
            ("its own file, written", steps("web", "write", json!({"path": kept})), &none, Some("path")),
            ("a statement", steps("sql", "read", json!({"query": kept})), &none, Some("query")),
            ("a filter", steps("mail", "read", json!({"to": kept})), &none, None),
        ] {
            assert_eq!(of_step(&script(steps), 1, policy).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn of_an_edited_body_the_values_are_looked_at() {
        let script = script(steps("mail", "write", json!({})));
        let object = |value: Value| value.as_object().cloned().unwrap();
        let (params, kept) =
            (object(json!({"who": "eve@x"})), object(json!({"hit": {"a": "mallory@y", "b": "eve@x"}})));
        for (input, policy, expected) in [
            (json!({"to": "mallory@y"}), Policy::default(), Some("to")),
            (json!({"to": "x mallory@y"}), Policy::default(), Some("to")),
            (json!({"to": "eve@x"}), Policy::default(), None),
            (json!({"to": "ann@z"}), Policy::default(), None),
            (json!({"body": "mallory@y"}), Policy::default(), None),
            (
                json!({"to": ["mallory@y"]}),
                Policy { trusted_sources: ["web".to_owned()].into(), ..Policy::default() },
                None,
            ),
        ] {
            assert_eq!(of_value(&script, 1, &input, &params, &kept, &policy).as_deref(), expected, "{input}");
        }
    }
}
