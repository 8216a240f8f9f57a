//! Where a value comes from, as a person reads it: `hotels.0.id of the result of step 0`. Steps have the numbers that
//! they have everywhere, from 0.

use crate::expr::{At, Case, Clock, Expr, Op, Path, Selector, Test, TimeForm, Type, Unit, UrlPart};
use crate::scenario::Scenario;
use serde_json::Value;

/// A text is cut to so many characters.
const LONGEST: usize = 300;
/// A constant is.
const CONSTANT: usize = 60;
/// Deeper than that nothing is told; no calculation makes anything as deep.
const DEEPEST: usize = 16;

/// Where a value of a step's input comes from.
#[must_use]
pub fn source(scenario: &Scenario, step: usize, expr: &Expr) -> String {
    match expr {
        // Its value stands beside it wherever it is shown.
        Expr::Const(_) => "a constant".into(),
        _ => cut(&Teller { scenario, step, depth: 0 }.tell(expr), LONGEST),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A way into a value, `a.b.0`.
fn way(path: &Path) -> String {
    let one = |at: &At| match at {
        At::Key(key) => key.clone(),
        At::Index(index) => index.to_string(),
    };
    path.iter().map(one).collect::<Vec<_>>().join(".")
}

/// `a.b of it`, or it itself.
fn of(path: &Path, it: &str) -> String {
    if path.is_empty() { it.to_owned() } else { format!("{} of {it}", way(path)) }
}

fn constant(value: &Value) -> String {
    cut(&value.to_string(), CONSTANT)
}

/// Tells what an expression is, where it stands.
#[derive(Clone, Copy)]
struct Teller<'s> {
    scenario: &'s Scenario,
    /// What was kept was kept before this step.
    step: usize,
    depth: usize,
}

impl Teller<'_> {
    fn tell(self, expr: &Expr) -> String {
        if self.depth > DEEPEST {
            return "…".into();
        }
        let inner = Self { depth: self.depth + 1, ..self };
        let tell = |expr: &Expr| inner.tell(expr);
        match expr {
            Expr::Const(value) => format!("the constant {}", constant(value)),
            Expr::Param(name) => format!("parameter {name}"),
            Expr::Kept(key) => inner.kept(key),
            Expr::Result(path) => of(path, &format!("the result of step {}", self.step)),
            Expr::Item(path) => of(path, "the element"),
            Expr::Clock(Clock::Date) => "today's date".into(),
            Expr::Clock(Clock::Time) => "the time of day".into(),
            Expr::Clock(Clock::DateTime) => "the date and time".into(),
            Expr::Get { of: it, path } => of(path, &tell(it)),
            Expr::Pick { from, by, path } => of(path, &format!("{} {}", inner.which(by), tell(from))),
            Expr::Concat(parts) => parts.iter().map(part_of(tell)).collect::<Vec<_>>().join(" + "),
            Expr::Cut { of: it, after, before } => {
                let from = if after.is_empty() { String::new() } else { format!(" behind {after:?}") };
                let to = if before.is_empty() { String::new() } else { format!(" before {before:?}") };
                format!("the part{from}{to} of {}", tell(it))
            }
            Expr::Case { of: it, to } => {
                let how = match to {
                    Case::Lower => "in small letters",
                    Case::Upper => "in capitals",
                    Case::Title => "with a capital in each word",
                    Case::Slug => "as words with hyphens",
                    Case::Trimmed => "without white space around it",
                };
                format!("{}, {how}", tell(it))
            }
            Expr::To { of: it, to: Type::Text } => format!("{}, as a text", tell(it)),
            Expr::To { of: it, to: Type::Number } => format!("{}, as a number", tell(it)),
            Expr::Time { of: it, form } => format!("{}, written as {}", tell(it), written(*form)),
            Expr::Add { of: it, amount, unit } => {
                let amount = part_of(tell)(amount);
                format!("{} plus {amount}{}", tell(it), unit_of(*unit))
            }
            Expr::Round { of: it, digits } => format!("{}, rounded to {digits} digits", tell(it)),
            Expr::Url { of: it, part } => {
                let part = match part {
                    UrlPart::Scheme => "the scheme",
                    UrlPart::Host => "the host",
                    UrlPart::Path => "the path",
                    UrlPart::LastSegment => "the last part of the path",
                };
                format!("{part} of {}", tell(it))
            }
            Expr::Json { of: it, path } => of(path, &format!("the JSON in {}", tell(it))),
            Expr::Map { of: it, cases } => {
                let cases: Vec<_> =
                    cases.iter().map(|(from, to)| format!("{} → {}", constant(from), constant(to))).collect();
                format!("{}, as {}", tell(it), cases.join(", "))
            }
            Expr::Amount { of: it, unit } => format!("how many{} {} is", unit_of(*unit), tell(it)),
            Expr::Len(it) => format!("how many elements {} has", tell(it)),
        }
    }

    /// What was kept, as what it is of the step that kept it.
    fn kept(self, key: &str) -> String {
        let before = self.scenario.steps.iter().enumerate().take(self.step).rev();
        let found = before.into_iter().find_map(|(step, it)| {
            it.keeps.iter().find(|keep| keep.key == key).map(|keep| (step, &keep.expr))
        });
        match found {
            Some((step, expr)) => Self { step, ..self }.tell(expr),
            None => format!("{key}, which an earlier step kept"),
        }
    }

    fn which(self, by: &Selector) -> String {
        match by {
            Selector::First => "the first of".into(),
            Selector::Last => "the last of".into(),
            Selector::Nth(n) => format!("number {n} of"),
            Selector::Min(path) => format!("the one with the least {} of", or_value(path)),
            Selector::Max(path) => format!("the one with the most {} of", or_value(path)),
            Selector::Only(test) => format!("the one {} of", self.test(test)),
            Selector::FirstThat(test) => format!("the first {} of", self.test(test)),
        }
    }

    fn test(self, test: &Test) -> String {
        let op = match test.op {
            Op::Equal => "is",
            Op::NotEqual => "is not",
            Op::SameText => "reads",
            Op::Less => "is less than",
            Op::AtMost => "is at most",
            Op::Greater => "is more than",
            Op::AtLeast => "is at least",
        };
        let with = part_of(|expr: &Expr| self.tell(expr))(&test.with);
        format!("whose {} {op} {with}", or_value(&test.path))
    }
}

/// Beside others a constant needs no name.
fn part_of(tell: impl Fn(&Expr) -> String) -> impl Fn(&Expr) -> String {
    move |expr| match expr {
        Expr::Const(value) => constant(value),
        other => tell(other),
    }
}

fn or_value(path: &Path) -> String {
    if path.is_empty() { "value".into() } else { way(path) }
}

fn unit_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "",
        Unit::Days => " days",
        Unit::Months => " months",
        Unit::Minutes => " minutes",
    }
}

fn written(form: TimeForm) -> &'static str {
    match form {
        TimeForm::Date => "2026-11-30",
        TimeForm::Time => "08:00",
        TimeForm::TimeWithSeconds => "08:00:00",
        TimeForm::DateTime => "2026-11-30T08:00",
        TimeForm::DateTimeWithSeconds => "2026-11-30T08:00:00",
        TimeForm::DateSpaceTime => "2026-11-30 08:00",
        TimeForm::DotDate => "30.11.2026",
        TimeForm::SlashDateMonthFirst => "11/30/2026",
        TimeForm::SlashDateDayFirst => "30/11/2026",
        TimeForm::CompactDate => "20261130",
        TimeForm::Year => "a year",
        TimeForm::Month => "a month",
        TimeForm::Day => "a day",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_source_is_told_as_a_person_reads_it() {
        let scenario: Scenario = serde_json::from_value(json!({"prompt": "p", "params": [], "runs": 1, "steps": [
            {"server": "h", "tool": "search", "effect": "read", "input": {"object": []}, "keeps": [
                {"key": "s0_id", "expr": {"pick": {"from": {"result": ["hotels"]}, "by": {"min": ["price"]}, "path": ["id"]}}},
                {"key": "s0_day", "expr": {"result": ["day"]}}]},
            {"server": "h", "tool": "book", "effect": "write", "input": {"object": []}, "keeps": []}]}))
        .unwrap();
        let table = [
            (json!({"const": "EUR"}), "a constant"),
            (json!({"param": "city"}), "parameter city"),
            (
                json!({"kept": "s0_id"}),
                "id of the one with the least price of hotels of the result of step 0",
            ),
            (json!({"kept": "other"}), "other, which an earlier step kept"),
            (json!({"clock": "date"}), "today's date"),
            (
                json!({"get": {"of": {"param": "trip"}, "path": ["legs", 0, "from"]}}),
                "legs.0.from of parameter trip",
            ),
            (json!({"concat": [{"const": "x-"}, {"param": "n"}]}), "\"x-\" + parameter n"),
            (
                json!({"add": {"of": {"kept": "s0_day"}, "amount": {"const": 2}, "unit": "days"}}),
                "day of the result of step 0 plus 2 days",
            ),
            (
                json!({"pick": {"from": {"kept": "s0_day"}, "by": {"only": {"path": ["name"], "op": "sameText", "with": {"param": "name"}}},
                    "path": []}}),
                "the one whose name reads parameter name of day of the result of step 0",
            ),
            (
                json!({"time": {"of": {"param": "day"}, "form": "dotDate"}}),
                "parameter day, written as 30.11.2026",
            ),
        ];
        for (expr, told) in table {
            let read: Expr = serde_json::from_value(expr.clone()).unwrap_or_else(|e| panic!("{expr}: {e}"));
            assert_eq!(source(&scenario, 1, &read), told);
        }
    }

    #[test]
    fn what_is_deep_or_long_is_cut() {
        let scenario = Scenario { prompt: String::new(), params: Vec::new(), steps: Vec::new(), runs: 1 };
        let deep = (0..200).fold(Expr::Param("x".into()), |of, _| Expr::Len(Box::new(of)));
        assert!(source(&scenario, 0, &deep).contains('…'));
        let long = Expr::Concat(vec![Expr::Const("é".repeat(1_000).into()); 9]);
        assert_eq!(source(&scenario, 0, &long).chars().count(), LONGEST + 1);
    }
}
