//! How an element of a list may have been chosen: by its place, by a number, by what it says. All ways that choose this element are
//! proposed; further runs, or the rule that explanations have to agree, sort them out.

use crate::leaves::at;
use bir_plan::expr::{At, Expr, Op, Path, Selector, Test, as_number};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// So many ways to choose from one list.
const MOST_SELECTORS: usize = 16;
/// So many ways to one leaf.
const MOST_WAYS: usize = 32;
/// Members of an element that are compared, and how deep.
const MOST_FIELDS: usize = 120;
/// Lists longer than this are not compared element by element.
const LONGEST: usize = 2_000;

/// What the element of a list with one element costs, in bits.
const ONLY_ONE: f64 = 5.5;

/// A way to a value, and how much it costs to say it, in bits.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub(crate) expr: Expr,
    pub(crate) cost: f64,
}

/// Texts that the prompt says, as expressions: what an element may have been chosen by.
pub(crate) type Said<'a> = &'a dyn Fn(&str) -> Option<Expr>;

/// How elements of lists may have been chosen, found once for each element. It is asked about lists of one run that stay where they are.
#[derive(Default)]
pub(crate) struct Memory(RefCell<HashMap<(usize, usize), Chosen>>);

/// Ways to choose one element, and what they cost.
type Chosen = Rc<Vec<(Selector, f64)>>;

impl Memory {
    fn selectors(&self, list: &Vec<Value>, index: usize, whole: bool, said: Said<'_>) -> Chosen {
        let key = (std::ptr::from_ref(list).addr(), index);
        if let Some(known) = self.0.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(selectors(list, index, whole, said));
        self.0.borrow_mut().insert(key, Rc::clone(&found));
        found
    }
}

/// All ways along a path. `whole`: nothing was cut off, so that "the last" and "the cheapest" mean something.
pub(crate) fn ways(
    value: &Value,
    base: &Expr,
    path: &[At],
    whole: bool,
    said: Said<'_>,
    memory: &Memory,
) -> Vec<Way> {
    let mut ways = vec![Way { expr: base.clone(), cost: 0.0 }];
    let (mut here, mut pending) = (value, Path::new());
    for step in path {
        if let (At::Index(index), Value::Array(list)) = (step, here)
            && list.len() > 1
        {
            let selectors = memory.selectors(list, *index, whole, said);
            ways = ways
                .iter()
                .flat_map(|way| {
                    let from = reached(&way.expr, &pending);
                    selectors.iter().map(move |(by, cost)| Way {
                        expr: Expr::Pick { from: Box::new(from.clone()), by: by.clone(), path: Path::new() },
                        cost: way.cost + cost,
                    })
                })
                .collect();
            ways.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            ways.truncate(MOST_WAYS);
            pending.clear();
        } else {
            // A list of one is a list all the same: the next time it may have more.
            if matches!(step, At::Index(_)) {
                ways.iter_mut().for_each(|way| way.cost += ONLY_ONE);
            }
            pending.push(step.clone());
        }
        match at(here, std::slice::from_ref(step)) {
            Some(next) => here = next,
            None => return Vec::new(),
        }
    }
    for way in &mut ways {
        way.expr = reached(&way.expr, &pending);
    }
    ways
}

/// An expression, and a path from there.
fn reached(expr: &Expr, path: &[At]) -> Expr {
    if path.is_empty() {
        return expr.clone();
    }
    match expr {
        Expr::Pick { from, by, path: before } => Expr::Pick {
            from: from.clone(),
            by: by.clone(),
            path: before.iter().chain(path).cloned().collect(),
        },
        Expr::Get { of, path: before } => {
            Expr::Get { of: of.clone(), path: before.iter().chain(path).cloned().collect() }
        }
        other => Expr::Get { of: Box::new(other.clone()), path: path.to_vec() },
    }
}

fn selectors(list: &[Value], index: usize, whole: bool, said: Said<'_>) -> Vec<(Selector, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
    let place = (index as f64 + 1.0).log2();
    let mut out = vec![(Selector::Nth(index), ONLY_ONE + 5.0 + place)];
    if index == 0 {
        out = vec![(Selector::First, ONLY_ONE + 1.0)];
    } else if whole && index + 1 == list.len() {
        out.push((Selector::Last, ONLY_ONE + 4.0));
    }
    if list.len() > LONGEST {
        return out;
    }
    for (path, value) in fields(&list[index]) {
        let others = || list.iter().enumerate().map(|(n, other)| (n, at(other, &path)));
        let test = |op, with| Test { path: path.clone(), op, with: Box::new(with) };
        match value {
            Value::Number(_) if whole => {
                let Some(size) = as_number(value) else { continue };
                let mut smallest = true;
                let mut largest = true;
                for (n, other) in others() {
                    let Some(other) = other.and_then(as_number) else {
                        (smallest, largest) = (false, false);
                        break;
                    };
                    // Of equals the first.
                    smallest &= other > size || (other >= size && n >= index);
                    largest &= other < size || (other <= size && n >= index);
                }
                // Where all are equal, it says nothing.
                match (smallest, largest) {
                    (true, false) => out.push((Selector::Min(path), ONLY_ONE + 3.0)),
                    (false, true) => out.push((Selector::Max(path), ONLY_ONE + 3.0)),
                    _ => {}
                }
            }
            Value::Bool(_) => {
                let first = others().find(|(_, other)| *other == Some(value)).map(|(n, _)| n);
                let all = list.iter().all(|other| at(other, &path) == Some(value));
                if first == Some(index) && !all {
                    out.push((
                        Selector::FirstThat(test(Op::Equal, Expr::Const(value.clone()))),
                        ONLY_ONE + 2.0,
                    ));
                }
            }
            Value::String(text) if text.len() <= 80 => {
                let same = others().filter(|(_, other)| *other == Some(value)).count();
                let only = whole && same == 1;
                let first = others().find(|(_, other)| *other == Some(value)).map(|(n, _)| n) == Some(index);
                if !first || same == list.len() {
                    continue;
                }
                let by = |test| if only { Selector::Only(test) } else { Selector::FirstThat(test) };
                if let Some(with) = said(text) {
                    out.push((by(test(Op::SameText, with)), ONLY_ONE + 1.0));
                } else if is_label(text) {
                    out.push((by(test(Op::Equal, Expr::Const(value.clone()))), ONLY_ONE + 5.5));
                }
            }
            _ => {}
        }
    }
    out.sort_by(|a, b| a.1.total_cmp(&b.1));
    out.truncate(MOST_SELECTORS);
    out
}

/// What an element says of itself.
fn fields(element: &Value) -> Vec<(Path, &Value)> {
    let mut out = Vec::new();
    let mut stack = vec![(Path::new(), element)];
    while let Some((path, value)) = stack.pop() {
        match value {
            Value::Object(members) if path.len() < 4 => {
                for (key, member) in members.iter().rev() {
                    let mut path = path.clone();
                    path.push(At::Key(key.clone()));
                    stack.push((path, member));
                }
            }
            Value::Object(_) | Value::Array(_) | Value::Null => {}
            leaf if !path.is_empty() => out.push((path, leaf)),
            _ => {}
        }
        if out.len() >= MOST_FIELDS {
            break;
        }
    }
    out
}

/// A word that classifies, not one that names: letters, at most a few words.
fn is_label(text: &str) -> bool {
    text.len() <= 40
        && text.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '_' | '-' | '(' | ')'))
        && text.split_whitespace().count() <= 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(value: &Value, path: &[At], whole: bool) -> Vec<Expr> {
        let said = |text: &str| (text == "Rome").then(|| Expr::Param("city".into()));
        ways(value, &Expr::Kept("0".into()), path, whole, &said, &Memory::default())
            .into_iter()
            .map(|way| way.expr)
            .collect()
    }

    #[test]
    fn every_way_to_an_element_is_proposed() {
        let list = json!({"l": [{"p": 3, "c": "Oslo", "id": 1}, {"p": 1, "c": "Rome", "id": 2, "ok": true}, {"p": 2, "c": "Bern", "id": 3, "ok": true}]});
        let path = [At::Key("l".into()), At::Index(1), At::Key("id".into())];
        let ways = found(&list, &path, true);
        let by = |wanted: &dyn Fn(&Selector) -> bool| {
            ways.iter().any(|way| matches!(way, Expr::Pick { by, path, .. } if wanted(by) && path.len() == 1))
        };
        assert!(by(&|s| *s == Selector::Nth(1)));
        assert!(by(&|s| *s == Selector::Min(vec![At::Key("p".into())])));
        assert!(by(&|s| matches!(s, Selector::Only(test) if *test.with == Expr::Param("city".into()))));
        assert!(by(&|s| matches!(s, Selector::FirstThat(test) if test.path == [At::Key("ok".into())])));
        assert!(!by(&|s| *s == Selector::Last));
    }

    #[test]
    fn nothing_is_said_of_all_elements_where_some_were_cut_off() {
        let list = json!([{"p": 3}, {"p": 1}]);
        let ways = found(&list, &[At::Index(1), At::Key("p".into())], false);
        assert!(ways.iter().all(|way| matches!(way, Expr::Pick { by: Selector::Nth(1), .. })), "{ways:?}");
    }

    #[test]
    fn a_list_of_one_needs_no_choice() {
        let ways = found(&json!([{"p": 3}]), &[At::Index(0), At::Key("p".into())], true);
        assert_eq!(ways.len(), 1);
        assert!(matches!(&ways[0], Expr::Get { path, .. } if path.len() == 2));
    }
}
