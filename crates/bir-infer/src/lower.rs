//! From expressions over whole results to what each step keeps and what later steps read of it.

use crate::walk::{each, replaced};
use crate::witness::reads;
use bir_plan::expr::{At, Expr};
use bir_plan::scenario::Keep;
use std::collections::HashSet;

/// What the steps keep.
pub(crate) struct Keeps {
    by_step: Vec<Vec<Keep>>,
    names: HashSet<String>,
}

impl Keeps {
    pub(crate) fn new(steps: usize) -> Self {
        Self { by_step: vec![Vec::new(); steps], names: HashSet::new() }
    }

    pub(crate) fn into_steps(self) -> Vec<Vec<Keep>> {
        self.by_step
    }

    /// An expression that reads what was kept instead of whole results.
    pub(crate) fn lower(&mut self, expr: &Expr) -> Expr {
        replaced(expr, &mut |part| self.kept(part))
    }

    /// A part that reads one result and nothing else that comes later.
    fn kept(&mut self, part: &Expr) -> Option<Expr> {
        if !matches!(part, Expr::Get { .. } | Expr::Pick { .. } | Expr::Kept(_)) {
            return None;
        }
        let [step] = reads(part)[..] else { return None };
        if !self.is_reachable(part, step) {
            return None;
        }
        let expr = replaced(part, &mut |inner| match inner {
            Expr::Get { of, path } if is_result(of, step) => Some(Expr::Result(path.clone())),
            inner if is_result(inner, step) => Some(Expr::Result(Vec::new())),
            _ => None,
        });
        let keeps = self.by_step.get(step)?;
        let key = match keeps.iter().find(|keep| keep.expr == expr) {
            Some(keep) => keep.key.clone(),
            None => {
                let key = self.name(step, &expr);
                self.by_step[step].push(Keep { key: key.clone(), expr });
                key
            }
        };
        Some(Expr::Kept(key))
    }

    /// Everything else that it reads is there when the step ends: parameters, the clock, the element.
    fn is_reachable(&self, part: &Expr, step: usize) -> bool {
        let mut all = true;
        each(part, &mut |inner| {
            if let Expr::Kept(key) = inner {
                all &= *key == crate::witness::result_key(step);
            }
        });
        all
    }

    /// `step2_hotel_id`
    fn name(&mut self, step: usize, expr: &Expr) -> String {
        let path = match expr {
            Expr::Result(path) | Expr::Pick { path, .. } | Expr::Get { path, .. } => path.as_slice(),
            _ => &[],
        };
        let last = path.iter().rev().find_map(|at| match at {
            At::Key(key) => Some(key.as_str()),
            At::Index(_) => None,
        });
        let plain: String = last
            .unwrap_or("result")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(40)
            .collect();
        let base = format!("step{}_{plain}", step + 1);
        let mut name = base.clone();
        let mut n = 1;
        while !self.names.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        name
    }
}

fn is_result(expr: &Expr, step: usize) -> bool {
    matches!(expr, Expr::Kept(key) if *key == crate::witness::result_key(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_later_steps_read_is_kept_once_and_by_name() {
        let mut keeps = Keeps::new(2);
        let id = || Expr::Get {
            of: Box::new(Expr::Kept("#1".into())),
            path: vec![At::Index(0), At::Key("hotel-id".into())],
        };
        let lowered = keeps.lower(&Expr::Concat(vec![id(), Expr::Const("x".into()), id()]));
        let kept = || Expr::Kept("step2_hotel_id".into());
        assert_eq!(lowered, Expr::Concat(vec![kept(), Expr::Const("x".into()), kept()]));
        let other =
            Expr::Get { of: Box::new(Expr::Kept("#1".into())), path: vec![At::Key("hotel_id".into())] };
        assert_eq!(keeps.lower(&other), Expr::Kept("step2_hotel_id_2".into()));
        let steps = keeps.into_steps();
        assert_eq!((steps[0].len(), steps[1].len()), (0, 2));
        assert_eq!(steps[1][0].expr, Expr::Result(vec![At::Index(0), At::Key("hotel-id".into())]));
    }
}
