//! Over all parts of an expression.

use bir_plan::expr::{Expr, Selector};

/// A function that gives the parts which an expression has directly, to look at or to change.
macro_rules! parts {
    ($name:ident $(, $change:tt)?) => {
        fn $name(expr: &$($change)? Expr) -> Vec<&$($change)? Expr> {
            match expr {
                Expr::Const(_)
                | Expr::Param(_)
                | Expr::Kept(_)
                | Expr::Result(_)
                | Expr::Item(_)
                | Expr::Clock(_) => Vec::new(),
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
                | Expr::Len(of) => vec![of],
                Expr::Pick { from, by: Selector::Only(test) | Selector::FirstThat(test), .. } => {
                    vec![from, &$($change)? test.with]
                }
                Expr::Pick { from, .. } => vec![from],
                Expr::Concat(parts) => parts.into_iter().collect(),
                Expr::Add { of, amount, .. } => vec![of, amount],
            }
        }
    };
}

parts!(parts);
parts!(parts_mut, mut);

/// Calls a function for an expression and everything in it.
pub(crate) fn each(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    for part in parts(expr) {
        each(part, visit);
    }
}

/// An expression in which parts were replaced: `change` gives the new part, or None to look inside.
pub(crate) fn replaced(expr: &Expr, change: &mut impl FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(new) = change(expr) {
        return new;
    }
    let mut out = expr.clone();
    for part in parts_mut(&mut out) {
        *part = replaced(part, change);
    }
    out
}
