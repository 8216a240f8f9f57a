//! Changing a step by hand (seed 02 §16.5): what a change would do, when it is saved, and how it is taken back.
//!
//! ```text
//!  EditAsk ─ check ─▶ EditReport ─ save ─▶ before, after, forced     (check writes nothing; save runs the same check)
//!  history ─ undo ──▶ what a step becomes ─ check_undo ─▶ EditReport
//! ```
//!
//! A check runs in a worker of its own, which nobody else waits for, and a body that is costly is run once more before
//! it is blamed.

mod copy;
mod examine;
mod history;

pub use history::{Pick, Undo, undo};

use crate::logic::Logic;
use crate::stored::Stored;
use bir_model::scenario::{EditAsk, EditReport, Mark, ProblemKind, StepEdits, UndoAsk};
use bir_plan::sandbox::Sandbox;
use bir_plan::template::Origin;
use examine::{Changed, examine};
use std::path::Path;
use std::time::{Duration, Instant};

/// `EDIT_CHECK_BUDGET_MS` where nothing is said.
pub const BUDGET: Duration = Duration::from_millis(5_000);
/// The longest body that is taken, bytes.
pub const LONGEST: usize = 64 * 1024;

/// Where and how long a check may evaluate.
#[derive(Debug, Clone, Copy)]
pub struct Checker<'a> {
    /// The absolute path of `bir-sandbox`.
    pub program: &'a Path,
    /// How long one body may take, ms (`BIR_LOGIC_TIMEOUT_MS`).
    pub body_ms: u64,
    /// How long all of it may take (`EDIT_CHECK_BUDGET_MS`).
    pub budget: Duration,
}

/// A change that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What it would do.
    pub report: EditReport,
    /// What is changed by hand in the step now.
    pub before: StepEdits,
    /// And would be.
    pub after: StepEdits,
}

/// A change that is to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// What was changed by hand in the step.
    pub before: StepEdits,
    /// And is.
    pub after: StepEdits,
    /// It is saved in spite of the report.
    pub forced: bool,
    /// Why.
    pub note: Option<String>,
}

/// Why a change is not checked, saved or taken back.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// There is no such step.
    #[error("there is no step {step}; the scenario has {steps}, counted from 0")]
    NoStep {
        /// That was asked for.
        step: usize,
        /// That there are.
        steps: usize,
    },
    /// Somebody else has changed the scenario.
    #[error("the scenario is at revision {now}, and {expected} was expected; look at it again")]
    Conflict {
        /// That was expected.
        expected: u64,
        /// That it is at.
        now: u64,
    },
    /// Code and mark are the step's already.
    #[error("the step is like that already")]
    NothingToChange,
    /// A step cannot be frozen and unfrozen at once.
    #[error("either freeze or unfreeze, not both")]
    Contradiction,
    /// A body is too long.
    #[error("a body is {0} bytes long, and at most {LONGEST} are taken")]
    TooLarge(usize),
    /// To force takes a reason.
    #[error("to save in spite of the report, say why in a note")]
    NoteNeeded,
    /// The report has problems.
    #[error("the change does not hold; see the report, or force it with a note")]
    Problems(Box<EditReport>),
    /// The report of an undo has problems.
    #[error("taking this back breaks what comes after it; see the report, or force it with a note")]
    UndoProblems(Box<EditReport>),
    /// There is no such edit, or none that can be taken back.
    #[error("{0}")]
    NoEdit(String),
    /// It was taken back already, or a later edit stands on it.
    #[error("{0}")]
    NotUndoable(String),
    /// The plan has edits, and nobody said that they may go.
    #[error("the scenario has steps changed by hand; calculate it again only with discardEdits")]
    HasEdits,
    /// Nothing can be evaluated.
    #[error("{0}")]
    SandboxUnavailable(String),
}

impl Refused {
    /// The stable word for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoStep { .. } => "step_not_found",
            Self::Conflict { .. } => "revision_conflict",
            Self::NothingToChange => "nothing_to_change",
            Self::Contradiction => "freeze_and_unfreeze",
            Self::TooLarge(_) => "payload_too_large",
            Self::NoteNeeded => "note_needed",
            Self::Problems(_) => "edit_refused",
            Self::UndoProblems(_) => "undo_refused",
            Self::NoEdit(_) => "edit_not_found",
            Self::NotUndoable(_) => "edit_not_undoable",
            Self::HasEdits => "scenario_has_edits",
            Self::SandboxUnavailable(_) => "logic_sandbox_unavailable",
        }
    }

    /// The status of HTTP that says it.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NoStep { .. } | Self::NoEdit(_) => 404,
            Self::Conflict { .. } | Self::NotUndoable(_) | Self::HasEdits => 409,
            Self::NothingToChange | Self::Contradiction | Self::NoteNeeded => 400,
            Self::TooLarge(_) => 413,
            Self::Problems(_) | Self::UndoProblems(_) => 422,
            Self::SandboxUnavailable(_) => 503,
        }
    }
}

/// What a change would do. `revision`: that the scenario is at.
///
/// # Errors
///
/// [`Refused`]: nothing was checked.
pub fn check(
    stored: &Stored,
    revision: u64,
    step: usize,
    ask: &EditAsk,
    checker: &Checker<'_>,
) -> Result<Checked, Refused> {
    is_at(revision, ask.expected_revision)?;
    let begun = Instant::now();
    let (before, after) = becomes(stored, step, ask)?;
    let mut report = EditReport { mark: after.mark, ..EditReport::default() };
    if before == after {
        (report.ok, report.no_change) = (true, true);
        return Ok(Checked { report, before, after });
    }
    report.problems = problems(stored, step, &before, &after, checker)?;
    report.ok = report.problems.is_empty();
    report.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Checked { report, before, after })
}

/// Whether a checked change is saved.
///
/// # Errors
///
/// [`Refused`]: nothing changes, or it has problems and is not forced, or is forced without a note.
pub fn save(checked: Checked, ask: &EditAsk) -> Result<Saved, Refused> {
    if checked.report.no_change {
        return Err(Refused::NothingToChange);
    }
    let (forced, note) = forced(&checked.report, ask.force, ask.note.as_deref(), Refused::Problems)?;
    Ok(Saved { before: checked.before, after: checked.after, forced, note })
}

/// What taking back would do: it is checked like a save for later steps and the final answer, so only where it changes
/// what is kept of a result.
///
/// # Errors
///
/// [`Refused`]: nothing was checked.
pub fn check_undo(stored: &Stored, undo: &Undo, checker: &Checker<'_>) -> Result<EditReport, Refused> {
    let begun = Instant::now();
    let step = step_of(stored, undo.step as usize)?;
    let mut report = EditReport { mark: undo.after.mark, ..EditReport::default() };
    if undo.before.output_logic != undo.after.output_logic {
        report.problems = problems(stored, step, &undo.before, &undo.after, checker)?;
        // It was saved like that once; that it is a copy, or gives something else than the recording, is known.
        report
            .problems
            .retain(|problem| !matches!(problem.kind, ProblemKind::Copy | ProblemKind::DoesNotReproduce));
    }
    report.ok = report.problems.is_empty();
    report.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Whether a checked undo is saved.
///
/// # Errors
///
/// [`Refused`]: it has problems and is not forced, or is forced without a note.
pub fn save_undo(undo: &Undo, report: &EditReport, ask: &UndoAsk) -> Result<Saved, Refused> {
    let (forced, note) = forced(report, ask.force, ask.note.as_deref(), Refused::UndoProblems)?;
    Ok(Saved { before: undo.before.clone(), after: undo.after.clone(), forced, note })
}

/// Whether a scenario may be calculated again in place.
///
/// # Errors
///
/// [`Refused::HasEdits`].
pub fn recalculable(stored: &Stored, discard_edits: bool) -> Result<(), Refused> {
    if stored.has_edits() && !discard_edits { Err(Refused::HasEdits) } else { Ok(()) }
}

/// Whether a scenario is at the revision that somebody has seen.
///
/// # Errors
///
/// [`Refused::Conflict`].
pub fn is_at(now: u64, expected: Option<u64>) -> Result<(), Refused> {
    match expected.filter(|expected| *expected != now) {
        Some(expected) => Err(Refused::Conflict { expected, now }),
        None => Ok(()),
    }
}

/// What is changed by hand in a step, and what would be.
fn becomes(stored: &Stored, step: usize, ask: &EditAsk) -> Result<(StepEdits, StepEdits), Refused> {
    if ask.freeze && ask.unfreeze {
        return Err(Refused::Contradiction);
    }
    for body in [&ask.input_logic, &ask.output_logic].into_iter().flatten() {
        if body.len() > LONGEST {
            return Err(Refused::TooLarge(body.len()));
        }
    }
    let step = step_of(stored, step)?;
    let before = stored.steps.get(step).map(|step| step.edits.clone()).unwrap_or_default();
    let calculated = stored.calculated(step);
    // The calculated body is no edit, whoever writes it.
    let body = |asked: &Option<String>, now: &Option<String>, own: &String| match asked {
        Some(asked) if asked == own => None,
        Some(asked) => Some(asked.clone()),
        None => now.clone(),
    };
    let input_logic = body(&ask.input_logic, &before.input_logic, &calculated.0);
    let output_logic = body(&ask.output_logic, &before.output_logic, &calculated.1);
    let by_hand = ask.freeze || (before.mark == Some(Mark::ByHand) && !ask.unfreeze);
    let mark = mark(by_hand, is_unexplained(stored, step), input_logic.is_some());
    Ok((before, StepEdits { input_logic, output_logic, mark }))
}

/// Who has frozen a step. A mark made by hand stays until it is lifted by hand; that of the calculation goes when
/// somebody has written the input.
#[must_use]
pub fn mark(by_hand: bool, unexplained: bool, input_edited: bool) -> Option<Mark> {
    match (by_hand, unexplained && !input_edited) {
        (true, _) => Some(Mark::ByHand),
        (false, true) => Some(Mark::Calculation),
        (false, false) => None,
    }
}

fn is_unexplained(stored: &Stored, step: usize) -> bool {
    let step = stored.plan.steps.get(step);
    step.is_some_and(|step| step.input.leaves().iter().any(|(_, leaf)| leaf.origin == Origin::Unexplained))
}

fn step_of(stored: &Stored, step: usize) -> Result<usize, Refused> {
    let steps = stored.steps.len();
    if step < steps { Ok(step) } else { Err(Refused::NoStep { step, steps }) }
}

/// Whether it is forced, and why.
fn forced(
    report: &EditReport,
    force: bool,
    note: Option<&str>,
    refuse: fn(Box<EditReport>) -> Refused,
) -> Result<(bool, Option<String>), Refused> {
    let note = note.map(str::trim).filter(|note| !note.is_empty());
    match (report.ok, force, note) {
        // What holds is not forced, whoever asks for it.
        (true, _, _) => Ok((false, note.map(str::to_owned))),
        (false, true, Some(note)) => Ok((true, Some(note.to_owned()))),
        (false, true, None) => Err(Refused::NoteNeeded),
        (false, false, _) => Err(refuse(Box::new(report.clone()))),
    }
}

/// The problems of a change, in a worker of its own.
fn problems(
    stored: &Stored,
    step: usize,
    before: &StepEdits,
    after: &StepEdits,
    checker: &Checker<'_>,
) -> Result<Vec<bir_model::scenario::Problem>, Refused> {
    let changed = Changed {
        input: before.input_logic != after.input_logic,
        output: before.output_logic != after.output_logic,
    };
    if !changed.input && !changed.output {
        return Ok(Vec::new());
    }
    let (own, again) = (Sandbox::new(checker.program.to_owned()), Sandbox::new(checker.program.to_owned()));
    let logic = Logic::new(&own, checker.body_ms, checker.budget).with_rerun(&again);
    examine(stored, step, before, after, changed, logic).map_err(Refused::SandboxUnavailable)
}
