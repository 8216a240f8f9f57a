//! What is kept of a calculated scenario: everything that a match, a derivation, a dry replay and an edit need, also
//! when its runs are gone.

use crate::parts::any_part;
use crate::trace::Recorded;
use bir_entity::Clock;
use bir_match::Known;
use bir_model::scenario::{self as model, Level, Mark, StepEdits};
use bir_plan::effect::Effect;
use bir_plan::emit::{self, Shape};
use bir_plan::expr::Expr;
use bir_plan::param::Role;
use bir_plan::scenario::Scenario;
use bir_plan::template::{Confidence, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::Range;

/// A stored scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// The plan, as it was calculated; edits stand beside it, in the steps.
    pub plan: Scenario,
    /// How the task is worded.
    pub wording: Wording,
    /// What it does, in one sentence, with its parameters named.
    pub intent: String,
    /// What it calls, in order, as one text: scenarios of one family learn from each other's words.
    pub family: String,
    /// Its steps; as many as the plan has.
    pub steps: Vec<StoredStep>,
    /// How far it runs by itself.
    pub level: Level,
    /// Why not further.
    pub level_reason: String,
}

/// How a task is worded, and when that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wording {
    /// When and where the first run began, `2026-11-30T10:00:00+01:00[Europe/Berlin]`.
    pub recorded_at: String,
    /// The record named no time zone: it is UTC for want of a better one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zone_assumed: bool,
    /// Its prompts, that of the first run first.
    pub examples: Vec<Example>,
}

/// A prompt that asks for the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// As it was said.
    pub text: String,
    /// The words that are parameters.
    pub slots: Vec<Slot>,
}

/// Words of an [`Example`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Their bytes.
    pub span: Range<usize>,
    /// Which parameter of the plan, by its number.
    pub param: usize,
}

/// A step as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredStep {
    /// The tool as the host renders it.
    pub tool_name: String,
    /// What it was given in the first run.
    pub recorded_input: Value,
    /// What it gave there: a text where it was no value.
    pub recorded_output: Value,
    /// Something of that was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_truncated: bool,
    /// What is changed by hand, and whether the scenario stops before it.
    #[serde(default)]
    pub edits: StepEdits,
    /// The model's words before the call, cut to 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Why it has its effect, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_why: Option<String>,
    /// Its effect is what its server says, because that was trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_trust: bool,
    /// Names the schema of its tool's input, where that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

/// Why a stored scenario cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// Plan and steps do not fit.
    #[error("the plan has {plan} steps and {steps} are stored")]
    Steps {
        /// Of the plan.
        plan: usize,
        /// That are stored.
        steps: usize,
    },
    /// A word of a prompt that is said to be a parameter is none.
    #[error("the words of parameter {param} do not stand in the prompt that they are said to stand in")]
    Words {
        /// By its number.
        param: usize,
    },
    /// The time of its recording is none.
    #[error("`{0}` is no time with a zone")]
    Time(String),
}

impl Stored {
    /// Checks what was read from a store.
    ///
    /// # Errors
    ///
    /// [`StoredError`]: parts of it do not fit each other.
    pub fn checked(self) -> Result<Self, StoredError> {
        if self.plan.steps.len() != self.steps.len() {
            return Err(StoredError::Steps { plan: self.plan.steps.len(), steps: self.steps.len() });
        }
        let (own, prompt) = (self.plan.params.iter().enumerate(), &self.plan.prompt);
        let own = own.flat_map(|(param, p)| p.spans.iter().map(move |span| (param, prompt, span)));
        let said = self.wording.examples.iter();
        let said = said.flat_map(|example| {
            example.slots.iter().map(move |slot| (slot.param, &example.text, &slot.span))
        });
        for (param, text, span) in own.chain(said) {
            if param >= self.plan.params.len() || text.get(span.clone()).is_none() {
                return Err(StoredError::Words { param });
            }
        }
        self.clock().map(|_| ()).ok_or_else(|| StoredError::Time(self.wording.recorded_at.clone()))?;
        Ok(self)
    }

    /// When and where the first run began.
    #[must_use]
    pub fn clock(&self) -> Option<Clock> {
        self.wording.recorded_at.parse().ok().map(|now| Clock { now })
    }

    /// The values of its parameters in the recording.
    #[must_use]
    pub fn samples(&self) -> Map<String, Value> {
        self.plan.params.iter().map(|param| (param.name.clone(), param.sample.clone())).collect()
    }

    /// Whether a run's calls had the input schemas that its steps know. What is not known does not contradict.
    #[must_use]
    pub fn fits(&self, run: &Recorded) -> bool {
        let pairs = self.steps.iter().zip(&run.calls);
        pairs.filter_map(|(a, b)| Some((a.schema.as_ref()?, b.fingerprint.as_ref()?))).all(|(a, b)| a == b)
    }

    /// The first step whose tool has another input schema than it knows. `schema`: what names the one of a tool now; none where
    /// that is not known.
    #[must_use]
    pub fn contradicted(
        &self,
        schema: impl Fn(&str, &str) -> Option<String>,
    ) -> Option<&bir_plan::scenario::Step> {
        let steps = self.plan.steps.iter().zip(&self.steps);
        let differs = |(plan, step): &(&bir_plan::scenario::Step, &StoredStep)| {
            let now = plan.server.as_deref().and_then(|server| schema(server, &plan.tool));
            now.zip(step.schema.as_ref()).is_some_and(|(now, then)| now != *then)
        };
        steps.into_iter().find(differs).map(|(plan, _)| plan)
    }

    /// Takes back what is believed of servers that are not trusted any more.
    pub fn distrust(&mut self, is_trusted: impl Fn(&str) -> bool) {
        for (plan, step) in self.plan.steps.iter_mut().zip(&mut self.steps) {
            if step.by_trust && !plan.server.as_deref().is_some_and(&is_trusted) {
                plan.effect = Effect::Destructive;
                step.effect_why = Some("its server is not trusted any more".into());
            }
        }
    }

    /// As matching knows it.
    #[must_use]
    pub fn known(&self, id: &str) -> Known {
        let mut known = Known::new(id, self.family.clone(), &self.plan.prompt, &self.plan.params);
        known.examples = self.wording.examples.iter().map(Example::known).collect();
        known
    }

    /// The least trust of its values.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.plan.confidence()
    }

    /// The body `(params)`: the parameters as the steps read them. One that is missing is an error.
    #[must_use]
    pub fn params_logic(&self) -> String {
        let exprs: Vec<(&str, Expr)> = self
            .plan
            .params
            .iter()
            .map(|param| param.name.as_str())
            .chain(self.reads_clock().then_some(emit::NOW))
            .map(|name| (name, Expr::Param(name.to_owned())))
            .collect();
        let members: Vec<_> = exprs.iter().map(|(name, expr)| (*name, Shape::Expr(expr))).collect();
        emit::body(&members, None)
    }

    /// The body `(params, respParams)`: what the answer is made of, all that the steps kept.
    #[must_use]
    pub fn response_params_logic(&self) -> String {
        let exprs: Vec<(&str, Expr)> =
            self.kept_keys().map(|key| (key, Expr::Kept(key.to_owned()))).collect();
        let members: Vec<_> = exprs.iter().map(|(name, expr)| (*name, Shape::Expr(expr))).collect();
        emit::body(&members, None)
    }

    /// The keys of what its steps keep, in order.
    pub(crate) fn kept_keys(&self) -> impl Iterator<Item = &str> {
        self.plan.steps.iter().flat_map(|step| &step.keeps).map(|keep| keep.key.as_str())
    }

    /// The body that makes the input of a step: the edited one, else the calculated one. Empty: there is no such step.
    #[must_use]
    pub fn input_logic(&self, step: usize) -> String {
        let edited = self.steps.get(step).and_then(|stored| stored.edits.input_logic.clone());
        edited.unwrap_or_else(|| self.calculated(step).0)
    }

    /// The body that makes what later steps need: the edited one, else the calculated one. Empty: there is no such
    /// step.
    #[must_use]
    pub fn output_logic(&self, step: usize) -> String {
        let edited = self.steps.get(step).and_then(|stored| stored.edits.output_logic.clone());
        edited.unwrap_or_else(|| self.calculated(step).1)
    }

    /// With other edits of a step.
    #[must_use]
    pub fn with_edits(mut self, step: usize, edits: StepEdits) -> Self {
        if let Some(stored) = self.steps.get_mut(step) {
            stored.edits = edits;
        }
        self
    }

    /// The calculated bodies of a step.
    #[must_use]
    pub fn calculated(&self, step: usize) -> (String, String) {
        let step = self.plan.steps.get(step);
        step.map(|step| (step.input_logic(), step.output_logic())).unwrap_or_default()
    }

    /// Whether some step was changed by hand.
    #[must_use]
    pub fn has_edits(&self) -> bool {
        self.steps.iter().any(|step| {
            step.edits.input_logic.is_some()
                || step.edits.output_logic.is_some()
                || step.edits.mark == Some(Mark::ByHand)
        })
    }

    /// Whether some expression reads the clock.
    fn reads_clock(&self) -> bool {
        let clock = |expr: &Expr| any_part(expr, &|name, _| name == "clock");
        self.plan.steps.iter().any(|step| {
            step.input.leaves().iter().any(|(_, leaf)| clock(&leaf.expr))
                || step.keeps.iter().any(|keep| clock(&keep.expr))
        })
    }
}

impl Example {
    fn known(&self) -> bir_match::Example {
        let slots = self.slots.iter();
        bir_match::Example {
            text: self.text.clone(),
            slots: slots.map(|slot| bir_match::Slot { span: slot.span.clone(), place: slot.param }).collect(),
        }
    }
}

/// An effect, as the routes name it.
#[must_use]
pub fn effect(effect: Effect) -> model::Effect {
    match effect {
        Effect::Read => model::Effect::Read,
        Effect::Idempotent => model::Effect::Idempotent,
        Effect::Write => model::Effect::Write,
        Effect::Destructive => model::Effect::Destructive,
    }
}

/// A confidence, as the routes name it.
#[must_use]
pub fn trust(confidence: Confidence) -> model::Trust {
    match confidence {
        Confidence::None => model::Trust::None,
        Confidence::Low => model::Trust::Low,
        Confidence::Medium => model::Trust::Medium,
        Confidence::High => model::Trust::High,
    }
}

/// A role, as the routes name it.
#[must_use]
pub fn role(role: Role) -> model::ParamRole {
    match role {
        Role::Target => model::ParamRole::Target,
        Role::Setting => model::ParamRole::Setting,
    }
}

/// An origin, as the routes name it.
#[must_use]
pub fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Constant => "constant",
        Origin::Prompt => "prompt",
        Origin::Result => "result",
        Origin::Clock => "clock",
        Origin::Mixed => "mixed",
        Origin::Proposed => "proposed",
        Origin::Unexplained => "unexplained",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stored() -> Value {
        json!({
            "plan": {
                "prompt": "Find Rome",
                "params": [{"name": "city", "spans": [{"start": 5, "end": 9}], "reading": "text", "role": "target",
                    "sample": "Rome"}],
                "steps": [{"server": null, "tool": "find", "effect": "read", "keeps": [], "input": {"object": [
                    ["day", {"leaf": {"expr": {"clock": "date"}, "origin": "clock", "confidence": "medium"}}]
                ]}}],
                "runs": 1
            },
            "wording": {
                "recordedAt": "2026-11-30T10:00:00+01:00[Europe/Berlin]",
                "examples": [{"text": "Find Rome", "slots": [{"span": {"start": 5, "end": 9}, "param": 0}]}]
            },
            "intent": "Find {city}", "family": "find", "level": "L0", "levelReason": "",
            "steps": [{"toolName": "find", "recordedInput": {}, "recordedOutput": {}}]
        })
    }

    fn read(change: impl FnOnce(&mut Value)) -> Result<Stored, StoredError> {
        let mut value = stored();
        change(&mut value);
        serde_json::from_value::<Stored>(value).unwrap().checked()
    }

    #[test]
    fn what_does_not_fit_is_not_taken_from_a_store() {
        assert!(read(|_| {}).is_ok());
        assert_eq!(read(|s| s["steps"] = json!([])), Err(StoredError::Steps { plan: 1, steps: 0 }));
        assert_eq!(read(|s| s["wording"]["recordedAt"] = json!("now")), Err(StoredError::Time("now".into())));
        let words = Err(StoredError::Words { param: 0 });
        assert_eq!(read(|s| s["plan"]["prompt"] = json!("Find")), words);
        assert_eq!(
            read(|s| s["wording"]["examples"][0]["text"] = json!("Find Zürich ü")).map(|_| ()),
            Ok(())
        );
        assert_eq!(read(|s| s["wording"]["examples"][0]["text"] = json!("Findü Rü")), words);
        assert_eq!(
            read(|s| s["wording"]["examples"][0]["slots"][0]["param"] = json!(7)),
            Err(StoredError::Words { param: 7 })
        );
    }

    #[test]
    fn the_clock_is_a_parameter_of_its_own_where_something_reads_it() {
        let with = read(|_| {}).unwrap();
        assert!(
            with.params_logic()
                .ends_with("return {\n  city: at(params, \"city\"),\n  $now: at(params, \"$now\"),\n};\n")
        );
        let leaf = "/plan/steps/0/input/object/0/1/leaf/expr";
        let without = read(|s| *s.pointer_mut(leaf).unwrap() = json!({"const": {"clock": "date"}})).unwrap();
        assert!(!without.params_logic().contains("$now"));
        assert!(!with.has_edits());
    }
}
