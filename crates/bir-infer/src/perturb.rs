//! Changing one thing of a recording at a time, and looking which leaves of the inputs move.

use crate::leaves::{Tree, at, is_witness};
use crate::verify::Verification;
use crate::walk::each;
use bir_plan::expr::{At, Expr, Path, Scope, Unit, eval, view};
use bir_plan::scenario::Scenario;
use bir_plan::template::Leaf;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// So many leaves of one result are changed.
const MOST_OF_A_RESULT: usize = 32;
/// So many changes are made for one scenario.
const MOST_CHANGES: usize = 1_000;

/// A leaf of an input: step, number in the step.
type Number = (usize, usize);

struct Bench<'s> {
    scenario: &'s Scenario,
    leaves: Vec<(Number, &'s Leaf)>,
    params: Map<String, Value>,
    results: Vec<Option<&'s Value>>,
    now: &'s str,
    /// What was kept in the recording.
    kept: Map<String, Value>,
    /// What the leaves were.
    before: Vec<Option<Value>>,
}

/// Changes each parameter, each leaf of a result that is read, and one of each result that is not.
pub(crate) fn perturb<'s>(
    scenario: &'s Scenario,
    params: &Map<String, Value>,
    results: Vec<Option<&'s Value>>,
    now: &'s str,
    out: &mut Verification,
) {
    let leaves: Vec<(Number, &Leaf)> = scenario
        .steps
        .iter()
        .enumerate()
        .flat_map(|(step, made)| {
            let leaves = made.input.leaves().into_iter().enumerate();
            leaves.map(move |(n, (_, leaf))| ((step, n), leaf))
        })
        .collect();
    let (params, kept) = (params.clone(), Map::new());
    let mut bench = Bench { scenario, leaves, params, results, now, kept, before: Vec::new() };
    bench.kept = bench.keep(&bench.params, None, &HashSet::new(), true);
    bench.before = bench.values(&bench.params, &bench.kept);
    let names: Vec<String> = bench.params.keys().cloned().collect();
    for name in names.into_iter().take(MOST_CHANGES) {
        bench.change_param(name, out);
    }
    for step in 0..scenario.steps.len() {
        bench.change_result(step, out);
    }
}

impl Bench<'_> {
    /// What is kept: anew what reads one of the changed names or the changed result, the rest as in the recording.
    fn keep(
        &self,
        params: &Map<String, Value>,
        result: Option<(usize, &Value)>,
        changed: &HashSet<Name>,
        all: bool,
    ) -> Map<String, Value> {
        let mut kept = Map::new();
        let mut moved = changed.clone();
        for (n, step) in self.scenario.steps.iter().enumerate() {
            let own = result.filter(|(changed, _)| *changed == n).map(|(_, value)| value);
            let Some(value) = own.or(self.results.get(n).copied().flatten()) else { continue };
            for keep in &step.keeps {
                let again = all || own.is_some() || reads_any(&keep.expr, &moved);
                if !again {
                    kept.extend(self.kept.get(&keep.key).map(|value| (keep.key.clone(), value.clone())));
                    continue;
                }
                let scope = Scope { params, kept: &kept, result: Some(value), item: None, now: self.now };
                let new = eval(&keep.expr, &scope).ok();
                if !all && new.as_ref() != self.kept.get(&keep.key) {
                    moved.insert(Name::Kept(keep.key.clone()));
                }
                kept.extend(new.map(|value| (keep.key.clone(), value)));
            }
        }
        kept
    }

    fn values(&self, params: &Map<String, Value>, kept: &Map<String, Value>) -> Vec<Option<Value>> {
        let scope = Scope { params, kept, result: None, item: None, now: self.now };
        self.leaves.iter().map(|(_, leaf)| eval(&leaf.expr, &scope).ok()).collect()
    }

    /// Whether exactly those leaves move that have to; None: a leaf may move or not.
    fn compare(
        &self,
        after: &[Option<Value>],
        has_to: &dyn Fn(&Leaf) -> Option<bool>,
        out: &mut Verification,
    ) {
        out.changes += 1;
        let wrong = self.leaves.iter().zip(&self.before).zip(after).filter(|(((_, leaf), before), after)| {
            has_to(leaf).is_some_and(|has_to| has_to != (before != after))
        });
        let wrong: Vec<Number> = wrong.map(|((((step, n), _), _), _)| (*step, *n)).collect();
        out.exact += usize::from(wrong.is_empty());
        out.wrong.extend(wrong);
    }

    fn change_param(&self, name: String, out: &mut Verification) {
        let mut params = self.params.clone();
        let Some(value) = params.get_mut(&name) else { return };
        *value = other(value);
        // What reads it, and what reads what was kept by it.
        let mut depend = HashSet::from([Name::Param(name)]);
        for keep in self.scenario.steps.iter().flat_map(|step| &step.keeps) {
            if reads_any(&keep.expr, &depend) {
                depend.insert(Name::Kept(keep.key.clone()));
            }
        }
        if !self.leaves.iter().any(|(_, leaf)| reads_any(&leaf.expr, &depend)) {
            return;
        }
        let kept = self.keep(&params, None, &depend, false);
        let has_to = |leaf: &Leaf| match reads_any(&leaf.expr, &depend) {
            true if is_coarse(&leaf.expr) => None,
            reads => Some(reads),
        };
        self.compare(&self.values(&params, &kept), &has_to, out);
    }

    fn change_result(&self, step: usize, out: &mut Verification) {
        let Some(result) = self.results.get(step).copied().flatten() else { return };
        let keeps = &self.scenario.steps[step].keeps;
        let reads: Vec<(&str, Option<Read>)> =
            keeps.iter().map(|keep| (keep.key.as_str(), self.read(&keep.expr, result))).collect();
        let mut places: Vec<Path> = Vec::new();
        for read in reads.iter().filter_map(|(_, read)| read.as_ref()) {
            if !places.contains(&read.path) && places.len() < MOST_OF_A_RESULT {
                places.push(read.path.clone());
            }
        }
        // One that nothing reads.
        let tree = Tree::new(result);
        let unread = tree.leaves().filter(|(_, leaf)| is_witness(leaf)).take(MOST_OF_A_RESULT * 8);
        let mut unread = unread.map(|(node, _)| tree.steps(node).into_iter().map(At::from).collect::<Path>());
        let free = |path: &Path| {
            reads.iter().all(|(_, read)| {
                read.as_ref().is_some_and(|read| !read.may_be(path) && !path.starts_with(&read.path))
            })
        };
        places.extend(unread.find(free));
        if places.is_empty() {
            return;
        }
        let mut changed = result.clone();
        for place in places {
            let Some(value) = at_mut(&mut changed, &place) else { continue };
            let own = std::mem::replace(value, Value::Null);
            *value = other(&own);
            if out.changes >= MOST_CHANGES {
                return;
            }
            let kept = self.keep(&self.params, Some((step, &changed)), &HashSet::new(), false);
            let verdict = |key: &str| {
                let known = reads.iter().find(|(other, _)| *other == key)?.1.as_ref();
                Some(known.map_or(Moves::Perhaps, |read| {
                    if read.path == place || read.path.starts_with(&place) {
                        Moves::Surely
                    } else if read.may_be(&place) {
                        Moves::Perhaps
                    } else {
                        Moves::Never
                    }
                }))
            };
            let has_to = |leaf: &Leaf| {
                let mut found = Moves::Never;
                each(&leaf.expr, &mut |part| {
                    if let Expr::Kept(key) = part {
                        found = found.max(verdict(key).unwrap_or(Moves::Never));
                    }
                });
                match found {
                    Moves::Surely if is_coarse(&leaf.expr) => None,
                    Moves::Never => Some(false),
                    Moves::Perhaps => None,
                    Moves::Surely => Some(true),
                }
            };
            self.compare(&self.values(&self.params, &kept), &has_to, out);
            if let Some(value) = at_mut(&mut changed, &place) {
                *value = own;
            }
        }
    }

    /// Where in a result an expression reads.
    fn read(&self, expr: &Expr, result: &Value) -> Option<Read> {
        match expr {
            Expr::Result(path) => Some(Read { path: path.clone(), lists: Vec::new() }),
            Expr::Get { of, path } => {
                let mut read = self.read(of, result)?;
                read.path.extend(path.iter().cloned());
                Some(read)
            }
            Expr::Pick { from, by, path } => {
                let mut read = self.read(from, result)?;
                let list = at(result, &read.path)?.as_array()?;
                let scope = Scope {
                    params: &self.params,
                    kept: &self.kept,
                    result: Some(result),
                    item: None,
                    now: self.now,
                };
                let element = Expr::Pick { from: from.clone(), by: by.clone(), path: Path::new() };
                let chosen = view(&element, &scope).ok()?;
                let index = list.iter().position(|element| std::ptr::eq(element, &*chosen))?;
                read.lists.push(read.path.clone());
                read.path.push(At::Index(index));
                read.path.extend(path.iter().cloned());
                Some(read)
            }
            _ => None,
        }
    }
}

/// Whether a leaf moves with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moves {
    Never,
    /// The change may make another element the chosen one.
    Perhaps,
    Surely,
}

/// What is read of a result.
struct Read {
    path: Path,
    /// Lists of which an element was chosen.
    lists: Vec<Path>,
}

impl Read {
    /// Whether a place may have a part in what is chosen.
    fn may_be(&self, path: &Path) -> bool {
        self.lists.iter().any(|list| path.starts_with(list))
    }
}

/// What an expression may name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Param(String),
    Kept(String),
}

/// Whether it is the day or the time of a moment that was moved: an hour more may leave the day, and a day more leaves the time.
fn is_coarse(expr: &Expr) -> bool {
    let mut coarse = false;
    each(expr, &mut |part| {
        if let Expr::Time { of, .. } = part {
            each(of, &mut |inner| coarse |= matches!(inner, Expr::Add { unit: Unit::Minutes, .. }));
        }
    });
    coarse
}

fn reads_any(expr: &Expr, names: &HashSet<Name>) -> bool {
    let mut found = false;
    each(expr, &mut |part| {
        found |= match part {
            Expr::Param(name) => names.contains(&Name::Param(name.clone())),
            Expr::Kept(key) => names.contains(&Name::Kept(key.clone())),
            _ => false,
        };
    });
    found
}

fn at_mut<'v>(value: &'v mut Value, path: &[At]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        At::Key(key) => value.get_mut(key),
        At::Index(index) => value.get_mut(*index),
    })
}

/// Another value of the same type.
fn other(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => (!yes).into(),
        Value::Number(number) => number.as_i64().map_or_else(
            || Value::from(number.as_f64().unwrap_or(0.0) + 1.0),
            |n| n.saturating_add(1).into(),
        ),
        Value::String(text) => other_text(text).into(),
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(other).collect();
            list.reverse();
            list.into()
        }
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), other(value))).collect::<Map<_, _>>().into()
        }
        Value::Null => "other".into(),
    }
}

/// A time becomes a later one, a length of time a longer one, a number the next; of another text every letter and digit changes, so that
/// each part of it does.
fn other_text(text: &str) -> String {
    // Both ends of a stretch of days.
    if let Some((from, to)) = text.split_once('/')
        && from.len() == 10
        && to.len() == 10
    {
        return format!("{}/{}", other_text(from), other_text(to));
    }
    if let Some(later) = later(text, 400, Unit::Days) {
        // Date and time both move where both are there.
        return self::later(&later, 61, Unit::Minutes).unwrap_or(later);
    }
    if let Some(later) = later(text, 61, Unit::Minutes) {
        return later;
    }
    if text.starts_with('P') && text.contains(|c: char| c.is_ascii_digit()) {
        return text.chars().map(|c| if c.is_ascii_digit() { next(c) } else { c }).collect();
    }
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => number.saturating_add(1).to_string(),
        _ => text.chars().map(next).collect::<String>() + " x",
    }
}

fn later(text: &str, amount: i64, unit: Unit) -> Option<String> {
    let nothing = Map::new();
    let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
    let (of, amount) = (Box::new(Expr::Const(text.into())), Box::new(Expr::Const(amount.into())));
    match eval(&Expr::Add { of, amount, unit }, &scope) {
        Ok(Value::String(later)) => Some(later),
        _ => None,
    }
}

/// The next letter or digit, around the end.
fn next(c: char) -> char {
    match c {
        'z' => 'a',
        'Z' => 'A',
        '9' => '1',
        'a'..='y' | 'A'..='Y' | '0'..='8' => char::from_u32(u32::from(c) + 1).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_text_changes() {
        assert_eq!(other_text("2026-11-30"), "2028-01-04");
        assert_eq!(other_text("08:00"), "09:01");
        assert_eq!(other_text("41"), "42");
        assert_eq!(other_text("P3D"), "P4D");
        assert_eq!(other_text("ab-Z9"), "bc-A1 x");
    }
}
