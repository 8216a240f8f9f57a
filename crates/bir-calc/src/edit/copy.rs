//! Whether a body is a copy of recorded values: what it is made of is changed, one after the other, and what should
//! move does not.
//!
//! A value of an input has to move with some parameter, kept value or the clock, unless the recordings have shown that
//! it is always the
//! same. Something that is kept has to move with the result.

use super::examine::{End, made};
use crate::compare::same;
use crate::parts::mentions;
use crate::play::{Now, Player};
use bir_plan::expr::{At, Expr, Scope, Unit, eval};
use bir_plan::sandbox::Kind;
use bir_plan::template::{Leaf, Origin, Template};
use serde_json::{Map, Value};

/// So many changes are tried; where there is more to change, several are changed at once.
const MOST: usize = 48;
/// A text of so many characters, or a number of so many digits, does not stand in a result by coincidence.
const TELLING: usize = 4;

/// What can be changed for a step.
enum Change<'k> {
    Params(Vec<&'k String>),
    Kept(Vec<&'k String>),
    Clock,
}

/// The leaves of an input that are copies, by the way to each.
pub(super) fn copied_input(
    player: &Player<'_>,
    step: usize,
    body: &str,
    params: &Map<String, Value>,
    kept: &Map<String, Value>,
    given: &Value,
) -> Result<Vec<String>, End> {
    let Some(plan) = player.stored.plan.steps.get(step) else { return Ok(Vec::new()) };
    let mut fixed: Vec<(Vec<At>, &Leaf)> = leaves(&plan.input);
    fixed.retain(|(_, leaf)| leaf.origin != Origin::Constant);
    for change in changes(params, kept) {
        if fixed.is_empty() {
            break;
        }
        let (mut params, mut kept, mut now) = (params.clone(), kept.clone(), None);
        let mut names: Vec<Expr> = Vec::new();
        match change {
            Change::Params(changed) => {
                for name in changed {
                    params.entry(name.clone()).and_modify(|value| *value = other(value));
                    names.push(Expr::Param(name.clone()));
                }
            }
            Change::Kept(changed) => {
                for key in changed {
                    kept.entry(key.clone()).and_modify(|value| *value = other(value));
                    names.push(Expr::Kept(key.clone()));
                }
            }
            Change::Clock => now = Some(later(&player.now)),
        }
        let clock = now.is_some();
        let player = Player {
            stored: player.stored,
            edits: player.edits.clone(),
            logic: player.logic,
            now: now.unwrap_or_else(|| player.now.clone()),
        };
        let arguments = vec![player.with_now(&params), Value::Object(kept)];
        match made(&player, Kind::ToolInput, body, arguments)? {
            Ok(made) => {
                let made = Value::Object(made);
                fixed.retain(|(path, _)| match (at(given, path), at(&made, path)) {
                    (Some(was), Some(now)) => same(was, now),
                    _ => false,
                });
            }
            // It cannot do without what was changed. Whose value that is, only the plan says.
            Err(_) => fixed.retain(|(_, leaf)| {
                let depends = names.iter().any(|name| mentions(&leaf.expr, name))
                    || (clock && leaf.origin == Origin::Clock);
                leaf.origin != Origin::Unexplained && !depends
            }),
        }
    }
    Ok(fixed.into_iter().map(|(path, _)| format!("`{}`", shown(&path))).collect())
}

/// The keys of what is kept that are copies.
pub(super) fn copied_output(
    player: &Player<'_>,
    step: usize,
    body: &str,
    params: &Map<String, Value>,
    kept: &Map<String, Value>,
    result: &Value,
    given: &Map<String, Value>,
) -> Result<Vec<String>, End> {
    let Some(plan) = player.stored.plan.steps.get(step) else { return Ok(Vec::new()) };
    let calculated =
        |key: &String| plan.keeps.iter().any(|keep| keep.key == *key && !matches!(keep.expr, Expr::Const(_)));
    let mut fixed: Vec<&String> = given
        .iter()
        .filter(|(key, value)| calculated(key) || stands_in(value, result))
        .map(|(key, _)| key)
        .collect();
    if fixed.is_empty() {
        return Ok(Vec::new());
    }
    let arguments = vec![other(result), player.with_now(params), Value::Object(kept.clone())];
    match made(player, Kind::ToolOutput, body, arguments)? {
        Ok(made) => {
            fixed.retain(|key| match (given.get(*key), made.get(*key)) {
                (Some(was), Some(now)) => same(was, now),
                _ => false,
            });
        }
        // It cannot do without the recorded result: it reads it.
        Err(_) => fixed.clear(),
    }
    Ok(fixed.into_iter().map(|key| format!("`{key}`")).collect())
}

fn changes<'k>(params: &'k Map<String, Value>, kept: &'k Map<String, Value>) -> Vec<Change<'k>> {
    let size = (params.len() + kept.len()).div_ceil(MOST - 3).max(1);
    let groups = |names: Vec<&'k String>| names.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>();
    let params = groups(params.keys().collect()).into_iter().map(Change::Params);
    let kept = groups(kept.keys().collect()).into_iter().map(Change::Kept);
    params.chain(kept).chain([Change::Clock]).collect()
}

fn leaves(template: &Template) -> Vec<(Vec<At>, &Leaf)> {
    fn walk<'t>(template: &'t Template, path: &mut Vec<At>, out: &mut Vec<(Vec<At>, &'t Leaf)>) {
        match template {
            Template::Leaf(leaf) => out.push((path.clone(), leaf)),
            Template::Object(members) => {
                for (name, member) in members {
                    path.push(At::Key(name.clone()));
                    walk(member, path, out);
                    path.pop();
                }
            }
            Template::List(elements) => {
                for (n, element) in elements.iter().enumerate() {
                    path.push(At::Index(n));
                    walk(element, path, out);
                    path.pop();
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(template, &mut Vec::new(), &mut out);
    out
}

fn at<'v>(value: &'v Value, path: &[At]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        At::Key(key) => value.get(key),
        At::Index(index) => value.get(*index),
    })
}

fn shown(path: &[At]) -> String {
    let steps = path.iter().map(|step| match step {
        At::Key(key) => key.clone(),
        At::Index(index) => index.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// Whether a value that says something stands in a result.
fn stands_in(value: &Value, result: &Value) -> bool {
    let telling = match value {
        Value::String(text) => text.chars().count() >= TELLING,
        Value::Number(number) => number.to_string().len() >= TELLING,
        _ => false,
    };
    fn has(whole: &Value, part: &Value) -> bool {
        match whole {
            Value::Object(members) => members.values().any(|member| has(member, part)),
            Value::Array(elements) => elements.iter().any(|element| has(element, part)),
            leaf => same(leaf, part),
        }
    }
    telling && has(result, value)
}

fn later(now: &Now) -> Now {
    const MINUTES: i64 = 400 * 24 * 60 + 61;
    let text = added(&now.text, MINUTES, Unit::Minutes).unwrap_or_else(|| now.text.clone());
    Now { text, ms: now.ms.saturating_add(MINUTES * 60_000) }
}

/// Another value of the same type and form.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => "other".into(),
        Value::Bool(yes) => (!yes).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.checked_add(1).unwrap_or(0).into(),
            None => (number.as_f64().unwrap_or(0.0) + 1.0).into(),
        },
        Value::String(text) => other_text(text).into(),
        Value::Array(elements) => elements.iter().rev().map(other).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), other(member))).collect::<Map<_, _>>().into()
        }
    }
}

fn other_text(text: &str) -> String {
    // Both ends of a stretch of days.
    if let Some((from, to)) = text.split_once('/')
        && let (Some(from), Some(to)) = (added(from, 400, Unit::Days), added(to, 400, Unit::Days))
    {
        return format!("{from}/{to}");
    }
    // Date and time both move where both are there.
    if let Some(moved) = added(text, 400, Unit::Days) {
        return added(&moved, 61, Unit::Minutes).unwrap_or(moved);
    }
    if let Some(moved) = added(text, 61, Unit::Minutes) {
        return moved;
    }
    // Every part of it: a body may read one alone.
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = |c: char| if c.is_ascii_digit() { 1 } else { 2 * i32::from(c.is_alphabetic()) };
        let end = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        match (kind(first), run.parse::<u64>()) {
            (1, Ok(number)) => {
                out.push_str(&format!("{:0width$}", number.wrapping_add(1), width = run.len()))
            }
            (1, Err(_)) => out.extend(run.chars().map(|c| if c == '9' { '0' } else { '9' })),
            (2, _) => {
                out.push_str(run);
                out.push('x');
            }
            _ => out.push_str(run),
        }
        rest = behind;
    }
    if out == text { format!("{text} x") } else { out }
}

fn added(text: &str, amount: i64, unit: Unit) -> Option<String> {
    let expr = Expr::Add {
        of: Box::new(Expr::Const(text.into())),
        amount: Box::new(Expr::Const(amount.into())),
        unit,
    };
    let nothing = Map::new();
    match eval(&expr, &Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" }) {
        Ok(Value::String(later)) => Some(later),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_value_is_another_one_of_its_kind() {
        for (value, expected) in [
            (json!(1), json!(2)),
            (json!(i64::MAX), json!(0)),
            (json!(0.5), json!(1.5)),
            (json!("Rome"), json!("Romex")),
            (json!("/room/0712/a-b"), json!("/roomx/0713/ax-bx")),
            (json!("99999999999999999999999"), json!("00000000000000000000000")),
            (json!(""), json!(" x")),
            (json!("?"), json!("? x")),
            (json!("41"), json!("42")),
            (json!("2026-11-30"), json!("2028-01-04")),
            (json!("08:00"), json!("09:01")),
            (json!("2026-11-30T08:00"), json!("2028-01-04T09:01")),
            (json!("2026-11-30/2026-12-02"), json!("2028-01-04/2028-01-06")),
            (json!([1, {"a": true}]), json!([{"a": false}, 2])),
            (json!(null), json!("other")),
        ] {
            assert_eq!(other(&value), expected, "{value}");
        }
    }

    #[test]
    fn only_a_value_that_says_something_is_a_copy() {
        let result = json!({"rooms": [{"id": 712_345, "name": "Rome", "n": 3}]});
        assert!(stands_in(&json!(712_345), &result) && stands_in(&json!("Rome"), &result));
        assert!(!stands_in(&json!(3), &result) && !stands_in(&json!("Oslo"), &result));
    }

    #[test]
    fn many_names_are_changed_in_few_groups() {
        let many: Map<String, Value> = (0..500).map(|n| (n.to_string(), n.into())).collect();
        assert!(changes(&many, &many).len() <= MOST);
        let few: Map<String, Value> = (0..3).map(|n| (n.to_string(), n.into())).collect();
        assert_eq!(changes(&few, &Map::new()).len(), 4);
    }
}
