//! A scenario, step by step, against recorded results: the one engine behind dry replays and the checks of edits.
//!
//! ```text
//!  params ─▶ input of step 1 ─▶ next recorded result of its tool ─▶ what it keeps ─▶ input of step 2 …
//!            native, or sandbox where the body is an edited one        native or sandbox
//! ```

use crate::logic::{Failure, Logic, source};
use crate::stored::Stored;
use bir_entity::Clock;
use bir_model::scenario::{HandOver, Mark, Source, Stage, StepEdits};
use bir_plan::emit::NOW;
use bir_plan::expr::Scope;
use bir_plan::sandbox::Kind;
use bir_plan::template::LeafError;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// The time of a run, as expressions and as bodies see it.
#[derive(Debug, Clone)]
pub(crate) struct Now {
    /// `2026-11-30T08:00`, in the user's zone.
    pub(crate) text: String,
    /// Milliseconds since the Unix epoch.
    pub(crate) ms: i64,
}

impl Now {
    pub(crate) fn of(clock: &Clock) -> Self {
        Self {
            text: clock.now.strftime("%Y-%m-%dT%H:%M").to_string(),
            ms: clock.now.timestamp().as_millisecond(),
        }
    }
}

/// A scenario that is being played.
pub(crate) struct Player<'a> {
    pub(crate) stored: &'a Stored,
    /// For each step what is changed by hand in it: what is stored, or what is being tried.
    pub(crate) edits: Cow<'a, [StepEdits]>,
    /// Where edited bodies are evaluated; none: a step with one hands over.
    pub(crate) logic: Option<Logic<'a>>,
    pub(crate) now: Now,
}

/// A step that was played.
#[derive(Debug, Clone)]
pub(crate) struct Played {
    pub(crate) input: Result<Value, HandOver>,
    pub(crate) by: Source,
    /// What was kept before it.
    pub(crate) kept: Map<String, Value>,
    /// Where its result could not be had, or what is needed of it.
    pub(crate) output: Result<(), HandOver>,
}

impl<'a> Player<'a> {
    /// As it is stored.
    pub(crate) fn new(stored: &'a Stored, logic: Option<Logic<'a>>, clock: &Clock) -> Self {
        let edits = stored.steps.iter().map(|step| step.edits.clone()).collect();
        Self { stored, edits, logic, now: Now::of(clock) }
    }

    /// Plays it. `through`: a step that hands over does not end it; what is recorded stands in, and its mark counts for
    /// nothing.
    pub(crate) fn play(
        &self,
        params: &Map<String, Value>,
        through: bool,
    ) -> (Vec<Played>, Map<String, Value>) {
        let mut queue = Queue::new(self.stored);
        let mut kept = Map::new();
        let mut out = Vec::new();
        for step in 0..self.stored.plan.steps.len() {
            let input = match self.mark(step).filter(|_| !through) {
                Some(why) => Err(why),
                None => self.input(step, params, &kept),
            };
            let by = source(self.edit(step).is_some_and(|edit| edit.input_logic.is_some()));
            let stops = input.is_err() && !through;
            let before = kept.clone();
            let recorded = queue.next(self.stored, step);
            let output = match recorded {
                _ if stops => Ok(()),
                None => Err(hand_over(
                    step,
                    Stage::Call,
                    "no_output",
                    "no recorded result of this tool is left".into(),
                )),
                Some(result) => self.output(step, result, params, &kept).map(|more| kept.extend(more)),
            };
            let ended = stops || (output.is_err() && !through);
            out.push(Played { input, by, kept: before, output });
            if ended {
                break;
            }
        }
        (out, kept)
    }

    fn edit(&self, step: usize) -> Option<&StepEdits> {
        self.edits.get(step)
    }

    /// Why a frozen step is not carried out.
    pub(crate) fn mark(&self, step: usize) -> Option<HandOver> {
        match self.edit(step)?.mark? {
            Mark::ByHand => {
                Some(hand_over(step, Stage::Input, "frozen", "its owner has frozen this step".into()))
            }
            // What the calculation could not explain says better why by itself.
            Mark::Calculation if self.edit(step)?.input_logic.is_none() => None,
            Mark::Calculation => {
                Some(hand_over(step, Stage::Input, "frozen", "the calculation has frozen this step".into()))
            }
        }
    }

    /// The input of a step.
    pub(crate) fn input(
        &self,
        step: usize,
        params: &Map<String, Value>,
        kept: &Map<String, Value>,
    ) -> Result<Value, HandOver> {
        let made = match self.edit(step).and_then(|edit| edit.input_logic.as_deref()) {
            Some(body) => self
                .run(Kind::ToolInput, body, vec![self.with_now(params), Value::Object(kept.clone())])
                .map_err(|failure| failed(step, Stage::Input, &failure))?,
            None => self.native(step, params, kept)?,
        };
        match unfit(&made) {
            Some(why) => Err(hand_over(step, Stage::Input, "redacted", why.into())),
            None => Ok(made),
        }
    }

    /// The input that the plan makes, and which value of it has none.
    fn native(
        &self,
        step: usize,
        params: &Map<String, Value>,
        kept: &Map<String, Value>,
    ) -> Result<Value, HandOver> {
        self.stored.plan.input(step, params, kept, &self.now.text).map_err(|error| {
            let scope = Scope { params, kept, result: None, item: None, now: &self.now.text };
            let leaves = self.stored.plan.steps.get(step).map(|step| step.input.leaves()).unwrap_or_default();
            let at = leaves.iter().find(|(_, leaf)| leaf.value(&scope).is_err());
            let at = at.map(|(path, _)| format!("`{path}`: ")).unwrap_or_default();
            let code = match error {
                LeafError::Unexplained => "unexplained",
                LeafError::Disagree => "disagree",
                LeafError::Eval(_) => "absent",
            };
            hand_over(step, Stage::Input, code, format!("{at}{error}"))
        })
    }

    /// What a step adds to what is kept.
    pub(crate) fn output(
        &self,
        step: usize,
        result: &Value,
        params: &Map<String, Value>,
        kept: &Map<String, Value>,
    ) -> Result<Map<String, Value>, HandOver> {
        if let Some(body) = self.edit(step).and_then(|edit| edit.output_logic.as_deref()) {
            let arguments = vec![result.clone(), self.with_now(params), Value::Object(kept.clone())];
            return match self.run(Kind::ToolOutput, body, arguments) {
                Ok(Value::Object(more)) => Ok(more),
                Ok(_) => {
                    Err(hand_over(step, Stage::Output, "logic", "it has to return a plain object".into()))
                }
                Err(failure) => Err(failed(step, Stage::Output, &failure)),
            };
        }
        let mut more = kept.clone();
        let Some(plan) = self.stored.plan.steps.get(step) else { return Ok(Map::new()) };
        plan.keep(result, params, &mut more, &self.now.text)
            .map_err(|error| hand_over(step, Stage::Output, "absent", error.to_string()))?;
        Ok(more)
    }

    /// What the answer is made of.
    pub(crate) fn response(&self, kept: &Map<String, Value>) -> Result<Value, HandOver> {
        let mut out = Map::new();
        for key in self.stored.kept_keys() {
            let value = kept.get(key).ok_or_else(|| {
                HandOver::new(None, Stage::Response, "absent", format!("there is no kept value `{key}`"))
            })?;
            out.insert(key.to_owned(), value.clone());
        }
        Ok(out.into())
    }

    pub(crate) fn run(&self, kind: Kind, body: &str, arguments: Vec<Value>) -> Result<Value, Failure> {
        match &self.logic {
            Some(logic) => logic.run(kind, body, arguments, self.now.ms),
            None => Err(Failure::Body(bir_plan::sandbox::LogicError::new(
                bir_plan::sandbox::Why::Unavailable,
                "there is no sandbox; nothing was evaluated",
            ))),
        }
    }

    /// The parameters as a body sees them.
    pub(crate) fn with_now(&self, params: &Map<String, Value>) -> Value {
        let mut params = params.clone();
        params.insert(NOW.to_owned(), self.now.text.clone().into());
        params.into()
    }
}

/// Recorded results by tool, drawn in order.
struct Queue<'a> {
    by_tool: HashMap<(Option<&'a str>, &'a str), Vec<&'a Value>>,
}

impl<'a> Queue<'a> {
    fn new(stored: &'a Stored) -> Self {
        let mut by_tool: HashMap<_, Vec<&Value>> = HashMap::new();
        for (plan, step) in stored.plan.steps.iter().zip(&stored.steps).rev() {
            by_tool
                .entry((plan.server.as_deref(), plan.tool.as_str()))
                .or_default()
                .push(&step.recorded_output);
        }
        Self { by_tool }
    }

    fn next(&mut self, stored: &'a Stored, step: usize) -> Option<&'a Value> {
        let plan = stored.plan.steps.get(step)?;
        self.by_tool.get_mut(&(plan.server.as_deref(), plan.tool.as_str()))?.pop()
    }
}

pub(crate) fn hand_over(step: usize, stage: Stage, code: &'static str, why: String) -> HandOver {
    HandOver::new(Some(step), stage, code, why)
}

fn failed(step: usize, stage: Stage, failure: &Failure) -> HandOver {
    let (code, why) = failure.told();
    hand_over(step, stage, code, why)
}

/// Levels of a value that are looked at.
const DEEPEST: usize = 64;

/// Why a value may not be sent: what redaction or truncation has put in a place is not what belongs there.
pub(crate) fn unfit(value: &Value) -> Option<&'static str> {
    fn look(value: &Value, depth: usize) -> Option<&'static str> {
        match value {
            Value::String(text) if text.contains("[redacted:") || text.contains("[REDACTED") => {
                Some("it would hold the placeholder of a secret")
            }
            Value::Object(members)
                if members.get("truncated") == Some(&Value::Bool(true))
                    && members.contains_key("originalBytes") =>
            {
                Some("it would hold the mark of something that was cut off")
            }
            Value::Object(members) if depth < DEEPEST => {
                members.values().find_map(|value| look(value, depth + 1))
            }
            Value::Array(elements) if depth < DEEPEST => {
                elements.iter().find_map(|value| look(value, depth + 1))
            }
            Value::Object(_) | Value::Array(_) => Some("it is nested too deeply"),
            _ => None,
        }
    }
    look(value, 0)
}
