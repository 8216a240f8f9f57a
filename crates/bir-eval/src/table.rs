//! What was measured, as lines for people and as JSON.

use crate::interval::share;
use serde_json::{Value, json};
use std::fmt::Write;

/// Lines of measurements.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    set: &'static str,
    what: String,
    value: Measured,
    goal: &'static str,
}

#[derive(Debug)]
enum Measured {
    Share { hits: usize, of: usize },
    Time { p50_ms: f64, p99_ms: f64 },
    Count(usize),
}

impl Table {
    /// A share of a count.
    pub(crate) fn share(
        &mut self,
        set: &'static str,
        what: impl Into<String>,
        hits: usize,
        of: usize,
        goal: &'static str,
    ) {
        self.rows.push(Row { set, what: what.into(), value: Measured::Share { hits, of }, goal });
    }

    /// A number of cases.
    pub(crate) fn count(&mut self, set: &'static str, what: impl Into<String>, count: usize) {
        self.rows.push(Row { set, what: what.into(), value: Measured::Count(count), goal: "" });
    }

    /// Times in ms; they are sorted here.
    pub(crate) fn times(
        &mut self,
        set: &'static str,
        what: impl Into<String>,
        mut ms: Vec<f64>,
        goal: &'static str,
    ) {
        ms.sort_by(f64::total_cmp);
        let at = |share: usize| {
            ms.get((ms.len() * share / 100).min(ms.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        self.rows.push(Row {
            set,
            what: what.into(),
            value: Measured::Time { p50_ms: at(50), p99_ms: at(99) },
            goal,
        });
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for Row { set, what, value, goal } in &self.rows {
            let value = match value {
                Measured::Share { hits, of } => match share(*hits, *of) {
                    Some((p, low, high)) => format!("{p:.2} % [{low:.2}, {high:.2}] ({hits} of {of})"),
                    None => "none".into(),
                },
                Measured::Time { p50_ms, p99_ms } => format!("p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms"),
                Measured::Count(count) => count.to_string(),
            };
            let goal = if goal.is_empty() { String::new() } else { format!("  goal {goal}") };
            let _ = writeln!(out, "{set} | {what} | {value}{goal}");
        }
        out
    }

    /// For programs.
    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|Row { set, what, value, goal }| {
                let mut row = json!({"set": set, "what": what, "goal": goal});
                match value {
                    Measured::Share { hits, of } => {
                        row["hits"] = (*hits).into();
                        row["of"] = (*of).into();
                        if let Some((p, low, high)) = share(*hits, *of) {
                            row["percent"] = json!([p, low, high]);
                        }
                    }
                    Measured::Time { p50_ms, p99_ms } => row["ms"] = json!({"p50": p50_ms, "p99": p99_ms}),
                    Measured::Count(count) => row["count"] = (*count).into(),
                }
                row
            })
            .collect();
        format!("{}\n", Value::from(rows))
    }
}
