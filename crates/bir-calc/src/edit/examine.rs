//! What is wrong with a change: the scenario is played with the values of the recording as it is and as it would be.

use super::copy::{copied_input, copied_output};
use crate::compare::differences;
use crate::logic::{Failure, Logic};
use crate::play::{Played, Player, unfit};
use crate::stored::Stored;
use bir_model::scenario::{Divergence, Part, Problem, ProblemKind, StepEdits};
use bir_plan::sandbox::{Kind, LogicError, Why};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Which bodies are others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changed {
    pub(super) input: bool,
    pub(super) output: bool,
}

/// Why an examination ends early.
#[derive(Debug)]
pub(super) enum End {
    /// The budget is over.
    Costly,
    /// Nothing can be evaluated.
    Unavailable(String),
}

/// A body that was evaluated: what it gave, or what is wrong with it.
pub(super) type Made = Result<Map<String, Value>, LogicError>;

/// The problems of a change of a step, those of its input first; an error: there is no sandbox.
pub(super) fn examine(
    stored: &Stored,
    step: usize,
    before: &StepEdits,
    after: &StepEdits,
    changed: Changed,
    logic: Logic<'_>,
) -> Result<Vec<Problem>, String> {
    let Some(clock) = stored.clock() else {
        return Ok(vec![problem(
            ProblemKind::Fails,
            Some(step),
            None,
            "the time of the recording cannot be read",
        )]);
    };
    let with = |edits: &StepEdits| {
        let mut player = Player::new(stored, Some(logic), &clock);
        if let Some(own) = player.edits.to_mut().get_mut(step) {
            *own = edits.clone();
        }
        player
    };
    let mut out = Vec::new();
    let examined =
        Examined { stored, step, before: with(before), after: with(after), params: stored.samples() };
    match examined.run(changed, &mut out) {
        Ok(()) => {}
        Err(End::Costly) => out.push(problem(
            ProblemKind::TooCostly,
            Some(step),
            None,
            "too costly to check: its budget is over",
        )),
        Err(End::Unavailable(why)) => return Err(why),
    }
    Ok(out)
}

pub(super) fn problem(
    kind: ProblemKind,
    step: Option<usize>,
    part: Option<Part>,
    message: impl Into<String>,
) -> Problem {
    Problem {
        kind,
        step_index: step.and_then(|step| u32::try_from(step).ok()),
        part,
        message: message.into(),
        line: None,
        column: None,
        differs: Vec::new(),
    }
}

struct Examined<'a> {
    stored: &'a Stored,
    step: usize,
    before: Player<'a>,
    after: Player<'a>,
    params: Map<String, Value>,
}

impl Examined<'_> {
    fn run(&self, changed: Changed, out: &mut Vec<Problem>) -> Result<(), End> {
        let (played, kept_at_end) = self.before.play(&self.params, true);
        ended(&played)?;
        let (Some(recorded), Some(own)) = (self.stored.steps.get(self.step), played.get(self.step)) else {
            return Ok(());
        };
        if changed.input {
            let arguments = || vec![self.after.with_now(&self.params), Value::Object(own.kept.clone())];
            match self.made(Kind::ToolInput, &self.body(Part::Input), arguments())? {
                Err(error) => out.push(self.failed(Part::Input, &error)),
                Ok(made) => self.input(made.into(), &recorded.recorded_input, own, out)?,
            }
        }
        if changed.output {
            self.output(&recorded.recorded_output, own, &played, &kept_at_end, out)?;
        }
        Ok(())
    }

    /// The new body of a part.
    fn body(&self, part: Part) -> String {
        let edits = self.after.edits.get(self.step);
        let calculated = self.stored.calculated(self.step);
        match part {
            Part::Input => edits.and_then(|edits| edits.input_logic.clone()).unwrap_or(calculated.0),
            Part::Output => edits.and_then(|edits| edits.output_logic.clone()).unwrap_or(calculated.1),
        }
    }

    /// Evaluates a body in the sandbox.
    fn made(&self, kind: Kind, body: &str, arguments: Vec<Value>) -> Result<Made, End> {
        made(&self.after, kind, body, arguments)
    }

    fn input(&self, made: Value, recorded: &Value, own: &Played, out: &mut Vec<Problem>) -> Result<(), End> {
        let at = |kind, message: &str| problem(kind, Some(self.step), Some(Part::Input), message);
        let differs = differences(recorded, &made);
        if !differs.is_empty() {
            let message = format!("with the values of the recording {}", places(&differs));
            let mut found = at(ProblemKind::DoesNotReproduce, &message);
            found.differs = differs;
            out.push(found);
            return Ok(());
        }
        if let Some(why) = unfit(&made) {
            out.push(at(ProblemKind::Fails, why));
            return Ok(());
        }
        let copied =
            copied_input(&self.after, self.step, &self.body(Part::Input), &self.params, &own.kept, &made)?;
        if !copied.is_empty() {
            let message = format!("it gives the recorded value whatever it is given: {}", copied.join(", "));
            out.push(at(ProblemKind::Copy, &message));
        }
        Ok(())
    }

    fn output(
        &self,
        result: &Value,
        own: &Played,
        played: &[Played],
        kept_at_end: &Map<String, Value>,
        out: &mut Vec<Problem>,
    ) -> Result<(), End> {
        let body = self.body(Part::Output);
        let arguments =
            vec![result.clone(), self.after.with_now(&self.params), Value::Object(own.kept.clone())];
        let made = match self.made(Kind::ToolOutput, &body, arguments)? {
            Ok(made) => made,
            Err(error) => {
                out.push(self.failed(Part::Output, &error));
                return Ok(());
            }
        };
        let was = self.before.output(self.step, result, &self.params, &own.kept);
        // What the step itself has added, and what it had kept of that.
        let was: Map<String, Value> = was
            .map(|was| was.into_iter().filter(|(key, value)| own.kept.get(key) != Some(value)).collect())
            .unwrap_or_default();
        let now: Map<String, Value> =
            was.keys().filter_map(|key| Some((key.clone(), made.get(key)?.clone()))).collect();
        let differs = differences(&Value::Object(was), &now.into());
        let mut reproduces = true;
        if !differs.is_empty() {
            reproduces = false;
            let message = format!("with the recorded result {}", places(&differs));
            let mut found =
                problem(ProblemKind::DoesNotReproduce, Some(self.step), Some(Part::Output), message);
            found.differs = differs;
            out.push(found);
        }
        self.later(played, kept_at_end, out)?;
        if reproduces {
            let copied =
                copied_output(&self.after, self.step, &body, &self.params, &own.kept, result, &made)?;
            if !copied.is_empty() {
                let message =
                    format!("it keeps the recorded value whatever the result is: {}", copied.join(", "));
                out.push(problem(ProblemKind::Copy, Some(self.step), Some(Part::Output), message));
            }
        }
        Ok(())
    }

    /// What later steps and the answer get then.
    fn later(
        &self,
        was: &[Played],
        kept_was: &Map<String, Value>,
        out: &mut Vec<Problem>,
    ) -> Result<(), End> {
        let (played, kept) = self.after.play(&self.params, true);
        ended(&played)?;
        for (n, (was, now)) in was.iter().zip(&played).enumerate().skip(self.step + 1) {
            // What was broken before is not the fault of this change.
            let Ok(was) = &was.input else { continue };
            let mut found = match &now.input {
                Ok(now) => {
                    let differs = differences(was, now);
                    if differs.is_empty() {
                        continue;
                    }
                    let message = format!("step {n} then gets another input: {}", places(&differs));
                    Problem {
                        differs,
                        ..problem(ProblemKind::BreaksLater, Some(n), Some(Part::Input), message)
                    }
                }
                Err(why) => {
                    let message = format!("step {n} then gets no input: {}", why.why);
                    problem(ProblemKind::BreaksLater, Some(n), Some(Part::Input), message)
                }
            };
            found.differs.truncate(crate::compare::MOST);
            out.push(found);
        }
        let Ok(was) = self.before.response(kept_was) else { return Ok(()) };
        match self.after.response(&kept) {
            Ok(now) => {
                let differs = differences(&was, &now);
                if !differs.is_empty() {
                    let message = format!("what the answer is made of changes: {}", places(&differs));
                    out.push(Problem { differs, ..problem(ProblemKind::BreaksAnswer, None, None, message) });
                }
            }
            Err(why) => {
                let message = format!("what the answer is made of is missing: {}", why.why);
                out.push(problem(ProblemKind::BreaksAnswer, None, None, message));
            }
        }
        Ok(())
    }

    fn failed(&self, part: Part, error: &LogicError) -> Problem {
        let kind = if error.why == Why::Syntax { ProblemKind::DoesNotCompile } else { ProblemKind::Fails };
        let (line, column) = (error.line, error.column);
        Problem { line, column, ..problem(kind, Some(self.step), Some(part), error.message.clone()) }
    }
}

/// Evaluates a body; an end is no fault of it.
pub(super) fn made(player: &Player<'_>, kind: Kind, body: &str, arguments: Vec<Value>) -> Result<Made, End> {
    match player.run(kind, body, arguments) {
        Ok(Value::Object(made)) => Ok(Ok(made)),
        Ok(_) => Ok(Err(LogicError::new(Why::NotPlain, "it has to return a plain object"))),
        Err(Failure::Budget) => Err(End::Costly),
        Err(Failure::Body(error)) if error.why == Why::Unavailable => {
            Err(End::Unavailable(error.to_string()))
        }
        Err(Failure::Body(error)) => Ok(Err(error)),
    }
}

/// Whether a play ended for want of time or of a sandbox.
fn ended(played: &[Played]) -> Result<(), End> {
    let errors = played.iter().flat_map(|step| [step.input.as_ref().err(), step.output.as_ref().err()]);
    for error in errors.flatten() {
        match error.code.as_str() {
            "budget" => return Err(End::Costly),
            "unavailable" => return Err(End::Unavailable(error.why.clone())),
            _ => {}
        }
    }
    Ok(())
}

/// The places of differences, the first ones by name.
fn places(differs: &[Divergence]) -> String {
    const NAMED: usize = 5;
    let name = |differs: &Divergence| match (differs.path.as_str(), &differs.recorded, &differs.made) {
        ("", _, _) => Cow::Borrowed("the whole value is another one"),
        (path, _, None) => format!("`{path}` is missing").into(),
        (path, None, _) => format!("`{path}` is too much").into(),
        (path, _, _) => format!("`{path}` is another one").into(),
    };
    let named: Vec<_> = differs.iter().take(NAMED).map(name).collect();
    let more = differs.len().saturating_sub(NAMED);
    if more == 0 { named.join(", ") } else { format!("{}, and {more} more", named.join(", ")) }
}
