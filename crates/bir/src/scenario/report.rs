//! The report of a check in words: each problem, what differs, and what to do about it.

use super::values::short;
use crate::out::{paint, safe, size};
use bir_model::scenario::{EditReport, Mark, Part, Problem, ProblemKind};
use serde_json::Value;
use std::fmt::Write;

/// Columns of a value that differs.
const VALUE: usize = 48;

/// The report as a page.
pub(super) fn page(report: &EditReport) -> String {
    if report.problems.is_empty() {
        let mut page = if report.no_change {
            "nothing would change: the step has these bodies and this mark already\n".to_owned()
        } else {
            format!("{}\n", paint::good("it reproduces the recording, and is no copy of it"))
        };
        page.push_str(&frozen(report.mark));
        return page;
    }
    let mut page = format!("{}\n", paint::bad(&size::count(report.problems.len() as u64, "problem")));
    for problem in &report.problems {
        page.push_str(&one(problem));
    }
    page.push_str(&frozen(report.mark));
    page
}

/// The report without colours, for stderr.
pub(super) fn plain(report: &EditReport) -> String {
    console::strip_ansi_codes(page(report).trim_end()).into_owned()
}

/// Who has frozen the step afterwards.
fn frozen(mark: Option<Mark>) -> String {
    match mark {
        None => String::new(),
        Some(mark) => format!("{}\n", paint::warn(&format!("the step is {}", frozen_by(mark)))),
    }
}

/// A mark in words.
pub(super) fn frozen_by(mark: Mark) -> &'static str {
    match mark {
        Mark::ByHand => "frozen by hand: the scenario stops before it; `--unfreeze` lifts that",
        Mark::Calculation => {
            "frozen, since nothing explains a value of its input: the scenario stops before it"
        }
    }
}

fn one(problem: &Problem) -> String {
    let place = match (problem.step_index, problem.part) {
        (Some(step), Some(part)) => format!("{} of step {step}", body(part)),
        (Some(step), None) => format!("step {step}"),
        (None, Some(part)) => body(part).into(),
        (None, None) => "the final answer".into(),
    };
    let at = match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!(" (line {line}, column {column})"),
        (Some(line), None) => format!(" (line {line})"),
        _ => String::new(),
    };
    let mut page = format!("  {} {}{at}\n", paint::bold(&place), what(problem.kind));
    let _ = writeln!(page, "    {}", safe::block(problem.message.trim_end()).replace('\n', "\n    "));
    for differs in &problem.differs {
        let name = if differs.path.is_empty() { "the whole".into() } else { safe::line(&differs.path) };
        let value =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), |value| short(value, VALUE));
        let _ = writeln!(
            page,
            "    {name}: recorded {}, made {}",
            paint::good(&value(&differs.recorded)),
            paint::bad(&value(&differs.made))
        );
    }
    let _ = writeln!(page, "    {} {}", paint::dim("→"), to_do(problem.kind));
    page
}

fn body(part: Part) -> &'static str {
    match part {
        Part::Input => "the input logic",
        Part::Output => "the output logic",
    }
}

fn what(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::DoesNotCompile => "is no function body",
        ProblemKind::Fails => "fails",
        ProblemKind::DoesNotReproduce => "does not give what was recorded",
        ProblemKind::Copy => "is a copy of what was recorded",
        ProblemKind::BreaksLater => "no longer gets what it needs",
        ProblemKind::BreaksAnswer => "no longer gets what it needs",
        ProblemKind::TooCostly => "takes longer than a check may",
    }
}

fn to_do(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::DoesNotCompile => {
            "write the inside of a function that returns an object, without `function` around it"
        }
        ProblemKind::Fails => {
            "return a plain object for the values of the recording; `bir scenario show --step N` has them"
        }
        ProblemKind::DoesNotReproduce => {
            "make it give the recorded values, or save it as it is with `--force --note \"why\"`"
        }
        ProblemKind::Copy => {
            "take the values from `params` or `respParams` in place of writing them down, or save it as it is with `--force --note \
             \"why\"`"
        }
        ProblemKind::BreaksLater => {
            "keep what that step reads, or change that step first; `bir scenario show --logic` has what it reads"
        }
        ProblemKind::BreaksAnswer => {
            "keep what the answer is made of; `bir scenario show --logic` has `responseParamsLogic`"
        }
        ProblemKind::TooCostly => "make it do less",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(report: Value) -> String {
        let report = serde_json::from_value(report).unwrap();
        assert!(!plain(&report).contains('\u{1b}'));
        console::strip_ansi_codes(&page(&report)).into_owned()
    }

    #[test]
    fn each_problem_says_where_what_and_what_to_do() {
        let report = json!({"ok": false, "mark": "by_hand", "problems": [
            {"kind": "does_not_compile", "stepIndex": 1, "part": "input", "message": "unexpected `}`\u{1b}[2J", "line": 3, "column": 7},
            {"kind": "does_not_reproduce", "stepIndex": 1, "part": "output", "message": "2 values differ",
                "differs": [{"path": "city", "recorded": "Rome", "made": "Roma"}, {"path": "", "recorded": {}}]},
            {"kind": "breaks_later", "stepIndex": 2, "message": "it reads `hotel`"},
            {"kind": "breaks_answer", "message": "it reads `price`"},
        ]});
        let expected = "\
4 problems
  the input logic of step 1 is no function body (line 3, column 7)
    unexpected `}`␛[2J
    → write the inside of a function that returns an object, without `function` around it
  the output logic of step 1 does not give what was recorded
    2 values differ
    city: recorded \"Rome\", made \"Roma\"
    the whole: recorded {}, made nothing
    → make it give the recorded values, or save it as it is with `--force --note \"why\"`
  step 2 no longer gets what it needs
    it reads `hotel`
    → keep what that step reads, or change that step first; `bir scenario show --logic` has what it reads
  the final answer no longer gets what it needs
    it reads `price`
    → keep what the answer is made of; `bir scenario show --logic` has `responseParamsLogic`
the step is frozen by hand: the scenario stops before it; `--unfreeze` lifts that
";
        assert_eq!(shown(report), expected);
    }

    #[test]
    fn what_is_well_is_one_line() {
        let well = json!({"ok": true, "problems": []});
        assert_eq!(shown(well), "it reproduces the recording, and is no copy of it\n");
        let same = json!({"ok": true, "noChange": true, "problems": []});
        assert_eq!(shown(same), "nothing would change: the step has these bodies and this mark already\n");
    }
}
