//! The input of a step, and what is kept of its result: native expressions by the plan, edited bodies by whoever evaluates them.

use crate::budget::Budgets;
use crate::expect::Expected;
use crate::fit::unfit;
use crate::policy::Policy;
use crate::reads::kept_keys;
use crate::script::{Now, Script};
use crate::taint;
use bir_model::scenario::Stage;
use bir_plan::emit::NOW;
use bir_plan::expr::Scope;
use bir_plan::result;
use bir_plan::sandbox::{Job, Kind, Limits, LogicError, Sandbox, Why};
use bir_plan::template::LeafError;
use serde_json::{Map, Value};

/// Where edited bodies are evaluated.
pub trait Bodies {
    /// The plain object that a body returns.
    ///
    /// # Errors
    ///
    /// [`LogicError`]: why it gave none.
    fn evaluate(&mut self, job: &Job) -> Result<Value, LogicError>;
}

impl Bodies for &Sandbox {
    fn evaluate(&mut self, job: &Job) -> Result<Value, LogicError> {
        Sandbox::evaluate(self, job)
    }
}

/// Nobody evaluates bodies: a step with an edited one hands over.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBodies;

impl Bodies for NoBodies {
    fn evaluate(&mut self, _: &Job) -> Result<Value, LogicError> {
        Err(LogicError::new(Why::Unavailable, "there is no sandbox; nothing was evaluated"))
    }
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable word: `unexplained`, `disagree`, `absent`, `changed`, `redacted`, `tainted`, `logic`, `unavailable`.
    pub code: &'static str,
    /// In which body.
    pub stage: Stage,
    /// In words of ours, without a value.
    pub why: String,
    /// What a body said.
    pub said: Option<String>,
}

/// What a step's values are made from.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The scenario.
    pub script: &'a Script,
    /// The parameters for this prompt.
    pub params: &'a Map<String, Value>,
    /// What earlier steps kept.
    pub kept: &'a Map<String, Value>,
    /// When the plan was armed.
    pub now: &'a Now,
    /// What was allowed.
    pub policy: &'a Policy,
    /// What the recording's results looked like.
    pub expected: &'a Expected,
    /// What a body may take.
    pub budgets: &'a Budgets,
}

impl Values<'_> {
    /// The input of a step.
    ///
    /// # Errors
    ///
    /// [`Fault`]: the step is not carried out.
    pub fn input(&self, n: usize, bodies: &mut dyn Bodies) -> Result<Value, Fault> {
        let fault = |code: &'static str, why: String| Fault { code, stage: Stage::Input, why, said: None };
        let step =
            self.script.steps.get(n).ok_or_else(|| fault("unexplained", "there is no such step".into()))?;
        let input = match &step.input_body {
            None => self.native(n)?,
            Some(body) => {
                let arguments = vec![self.params_with_now(), self.kept.clone().into()];
                let made = self.run(Kind::ToolInput, Stage::Input, body, arguments, bodies)?;
                if let Some(place) =
                    taint::of_value(self.script, n, &made, self.params, self.kept, self.policy)
                {
                    return Err(fault("tainted", tainted(&place)));
                }
                made
            }
        };
        if !input.is_object() {
            return Err(fault("logic", "its input is no object".into()));
        }
        match unfit(&input) {
            Some(why) => Err(fault("redacted", why.into())),
            None => Ok(input),
        }
    }

    fn native(&self, n: usize) -> Result<Value, Fault> {
        self.script.plan.input(n, self.params, self.kept, &self.now.text).map_err(|error| {
            let scope = self.scope(None);
            let leaves = self.script.plan.steps.get(n).map(|step| step.input.leaves()).unwrap_or_default();
            let at = leaves.iter().find(|(_, leaf)| leaf.value(&scope).is_err());
            let at = at.map(|(path, _)| format!("`{path}`: ")).unwrap_or_default();
            let code = match error {
                LeafError::Unexplained => "unexplained",
                LeafError::Disagree => "disagree",
                LeafError::Eval(_) => "absent",
            };
            Fault { code, stage: Stage::Input, why: format!("{at}{error}"), said: None }
        })
    }

    /// What a result adds to what is kept.
    ///
    /// # Errors
    ///
    /// [`Fault`]: the result has not what was kept of the recorded one, or it is of another kind.
    pub fn keep(
        &self,
        n: usize,
        output: &Value,
        bodies: &mut dyn Bodies,
    ) -> Result<Map<String, Value>, Fault> {
        let fault = |code: &'static str, why: String| Fault { code, stage: Stage::Output, why, said: None };
        let Some((step, of_plan)) = self.script.steps.get(n).zip(self.script.plan.steps.get(n)) else {
            return Ok(Map::new());
        };
        let output = result::as_value(&result::of_value(output.clone(), false));
        let output =
            output.ok_or_else(|| fault("absent", "the result says of itself that it is an error".into()))?;
        let more = match &step.output_body {
            Some(body) => {
                let arguments = vec![output, self.params_with_now(), self.kept.clone().into()];
                match self.run(Kind::ToolOutput, Stage::Output, body, arguments, bodies)? {
                    Value::Object(more) => more,
                    _ => return Err(fault("logic", "it has to return a plain object".into())),
                }
            }
            None => {
                let mut kept = self.kept.clone();
                of_plan
                    .keep(&output, self.params, &mut kept, &self.now.text)
                    .map_err(|error| fault("absent", error.to_string()))?;
                let own = of_plan.keeps.iter().filter_map(|keep| kept.get_key_value(&keep.key));
                own.map(|(key, value)| (key.clone(), value.clone())).collect()
            }
        };
        self.expected.check(n, &more).map_err(|why| fault("changed", why))?;
        Ok(more)
    }

    /// The first later step that cannot be made of what is known already: nothing that writes begins before it. Edited bodies are not
    /// evaluated for that.
    #[must_use]
    pub fn ahead(&self, after: usize) -> Option<(usize, Fault)> {
        let later = self.script.steps.iter().zip(&self.script.plan.steps).enumerate().skip(after + 1);
        for (n, (step, of_plan)) in later {
            if step.mark.is_some() || step.input_body.is_some() {
                continue;
            }
            let scope = self.scope(None);
            for (path, leaf) in of_plan.input.leaves() {
                let mut reads = std::iter::once(&leaf.expr).chain(&leaf.also).flat_map(kept_keys);
                if leaf.origin == bir_plan::template::Origin::Unexplained
                    || !reads.all(|key| self.kept.contains_key(&key))
                {
                    continue;
                }
                if let Err(error) = leaf.value(&scope) {
                    let why = format!("`{path}`: {error}");
                    return Some((n, Fault { code: "absent", stage: Stage::Input, why, said: None }));
                }
            }
        }
        None
    }

    fn scope<'s>(&'s self, result: Option<&'s Value>) -> Scope<'s> {
        Scope { params: self.params, kept: self.kept, result, item: None, now: &self.now.text }
    }

    fn params_with_now(&self) -> Value {
        let mut params = self.params.clone();
        params.insert(NOW.to_owned(), self.now.text.clone().into());
        params.into()
    }

    fn run(
        &self,
        kind: Kind,
        stage: Stage,
        body: &str,
        arguments: Vec<Value>,
        bodies: &mut dyn Bodies,
    ) -> Result<Value, Fault> {
        let limits = Limits::of_ms(self.budgets.logic_ms);
        let job = Job { kind, body: body.to_owned(), arguments, now_ms: Some(self.now.ms), limits };
        bodies.evaluate(&job).map_err(|error| {
            let (code, why) = match error.why {
                Why::Unavailable => ("unavailable", "there is no sandbox for its edited logic".to_owned()),
                Why::Time => (
                    "logic",
                    format!("{} ran longer than {} ms and was stopped", kind.as_str(), limits.time_ms),
                ),
                _ => ("logic", format!("{} failed", kind.as_str())),
            };
            Fault { code, stage, why, said: Some(error.message) }
        })
    }
}

pub(crate) fn tainted(place: &str) -> String {
    format!("`{place}` decides where it acts, and would come from a result")
}
