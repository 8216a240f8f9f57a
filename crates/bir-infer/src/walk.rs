//! Over all parts of an expression.

use bir_plan::expr::{Expr, Selector};

/// Calls a function for an expression and everything in it.
pub(crate) fn each(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    children(expr, &mut |child| each(child, visit));
}

fn children(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    match expr {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Kept(_)
        | Expr::Result(_)
        | Expr::Item(_)
        | Expr::Clock(_) => {}
        Expr::Get { of, .. }
        | Expr::Cut { of, .. }
        | Expr::Case { of, .. }
        | Expr::To { of, .. }
        | Expr::Time { of, .. }
        | Expr::Round { of, .. }
        | Expr::Url { of, .. }
        | Expr::Json { of, .. }
        | Expr::Map { of, .. }
        | Expr::Amount { of, .. }
        | Expr::Len(of) => visit(of),
        Expr::Pick { from, by, .. } => {
            visit(from);
            if let Selector::Only(test) | Selector::FirstThat(test) = by {
                visit(&test.with);
            }
        }
        Expr::Concat(parts) => parts.iter().for_each(visit),
        Expr::Add { of, amount, .. } => {
            visit(of);
            visit(amount);
        }
    }
}

/// An expression in which parts were replaced: `change` gives the new part, or None to look inside.
pub(crate) fn replaced(expr: &Expr, change: &mut impl FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(new) = change(expr) {
        return new;
    }
    let mut out = expr.clone();
    let mut inner = |part: &mut Expr| *part = replaced(part, change);
    match &mut out {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Kept(_)
        | Expr::Result(_)
        | Expr::Item(_)
        | Expr::Clock(_) => {}
        Expr::Get { of, .. }
        | Expr::Cut { of, .. }
        | Expr::Case { of, .. }
        | Expr::To { of, .. }
        | Expr::Time { of, .. }
        | Expr::Round { of, .. }
        | Expr::Url { of, .. }
        | Expr::Json { of, .. }
        | Expr::Map { of, .. }
        | Expr::Amount { of, .. }
        | Expr::Len(of) => inner(of),
        Expr::Pick { from, by, .. } => {
            inner(from);
            if let Selector::Only(test) | Selector::FirstThat(test) = by {
                inner(&mut test.with);
            }
        }
        Expr::Concat(parts) => parts.iter_mut().for_each(inner),
        Expr::Add { of, amount, .. } => {
            inner(of);
            inner(amount);
        }
    }
    out
}
