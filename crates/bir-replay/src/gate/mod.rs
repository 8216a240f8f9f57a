//! The gate ladder: one decision for each prompt, with its reason as data (seed 02 §4; DESIGN.md §§9–11 say what is otherwise).
//!
//! The rungs, in order; the first that does not hold declines:
//!
//! | rung | code |
//! |---|---|
//! | the host does not only plan | `planning` |
//! | replay is switched on here | `off` |
//! | the hub is not cooling down after a failure | `service_unhealthy` |
//! | the match gate does not hold | `match_slow` |
//! | a match came, in time, before the prompt was answered | `nothing`, `match_timeout`, `match_late` |
//! | the hub did not decline it, and its scenario is ready and can be read | `declined`, `not_ready`, `unreadable` |
//! | no operator's least similarity vetoes it | `similarity` |
//! | it is of this project, and names no place of another directory | `other_directory` |
//! | its tools are those of this session | `other_tools` |
//! | the prompt says every target, and what goes into a command is a plain value | `missing_target`, `unsafe_value` |
//! | its first step is not frozen, unexplained or tainted | `nothing_to_run` |
//! | where a call of `run_scenario` delivers: somebody serves that | `no_delivery_tool` |
//!
//! A scenario that its owner has not approved is not declined: the host asks ([`Consent::Ask`]).

mod fits;
#[cfg(test)]
mod tests;

use crate::coverage::{Bar, Coverage};
use crate::expect::Expected;
use crate::guard;
use crate::outcome::{Account, Standing};
use crate::policy::Policy;
use crate::script::{Now, Script, ScriptError};
use bir_model::scenario::{Decision as HubDecision, ExecutionReport, Matched, Mode, Outcome};
use bir_model::{ScenarioId, TicketId};
use bir_plan::param::Role;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What came of asking for a match.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nobody was asked, or nothing matched.
    Nothing,
    /// No answer within the prompt's budget.
    TimedOut,
    /// An answer after the prompt was answered.
    Late,
    /// A match.
    Match(Box<Matched>),
}

/// What is asked: everything that is known when a prompt is to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// The time, ms since the Unix epoch.
    pub at: u64,
    /// The same as expressions and bodies see it.
    pub now: Now,
    /// What came of asking for a match.
    pub found: Found,
    /// The host only plans.
    pub planning: bool,
    /// Replay is switched on here: not `BIR_REPLAY=0`, not `bir replay off`, installed with it.
    pub on: bool,
    /// The hub is cooling down after a failure.
    pub cooling: bool,
    /// The match gate holds.
    pub held: bool,
    /// What was allowed.
    pub policy: &'a Policy,
    /// The servers that have a proxy of this session.
    pub wrapped: &'a BTreeSet<String>,
    /// The session's tools.
    pub tools: Tools<'a>,
    /// The session's project and working directory.
    pub here: Place<'a>,
    /// The scenario's; none of what is not known.
    pub there: Place<'a>,
    /// Its owner has approved that it runs.
    pub approved: bool,
    /// A live `bir-scenario` serves `run_scenario` to this session.
    pub delivers: bool,
    /// What the recorded results looked like, where that is known.
    pub expected: Expected,
}

/// Where something happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The project.
    pub project: Option<&'a str>,
    /// The working directory.
    pub cwd: Option<&'a str>,
}

/// What is known of a session's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tools<'a> {
    /// The servers of the session, wrapped or not; none: nobody knows.
    pub servers: Option<&'a BTreeSet<String>>,
    /// Tools by server and name, of those servers that have told theirs.
    pub named: Option<&'a BTreeSet<(String, String)>>,
}

/// Why a prompt is the model's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is a rung of the ladder above, under its code")]
pub enum Code {
    Planning,
    Off,
    ServiceUnhealthy,
    MatchSlow,
    Nothing,
    MatchTimeout,
    MatchLate,
    Declined,
    NotReady,
    Unreadable,
    Similarity,
    OtherDirectory,
    OtherTools,
    MissingTarget,
    UnsafeValue,
    NothingToRun,
    NoDeliveryTool,
}

impl Code {
    /// Its stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Off => "off",
            Self::ServiceUnhealthy => "service_unhealthy",
            Self::MatchSlow => "match_slow",
            Self::Nothing => "nothing",
            Self::MatchTimeout => "match_timeout",
            Self::MatchLate => "match_late",
            Self::Declined => "declined",
            Self::NotReady => "not_ready",
            Self::Unreadable => "unreadable",
            Self::Similarity => "similarity",
            Self::OtherDirectory => "other_directory",
            Self::OtherTools => "other_tools",
            Self::MissingTarget => "missing_target",
            Self::UnsafeValue => "unsafe_value",
            Self::NothingToRun => "nothing_to_run",
            Self::NoDeliveryTool => "no_delivery_tool",
        }
    }
}

/// Who has to agree before something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consent {
    /// Nobody: its owner has approved it.
    Given,
    /// The host asks, and nothing runs unasked.
    Ask,
}

/// A plan that may be armed.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// Under which its execution is booked.
    pub ticket: Option<TicketId>,
    /// The scenario.
    pub script: Script,
    /// The values for this prompt.
    pub params: Map<String, Value>,
    /// The time of the prompt.
    pub now: Now,
    /// What is done with each step.
    pub coverage: Coverage,
    /// Whether it may run unasked.
    pub consent: Consent,
    /// `run_scenario` is announced: the steps at the beginning run by themselves.
    pub delivers: bool,
    /// What the recorded results looked like.
    pub expected: Expected,
}

/// A prompt that is the model's alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Declined {
    /// Why.
    pub code: Code,
    /// In words, without a value.
    pub why: String,
    /// Of which scenario, where there is one.
    pub scenario: Option<ScenarioId>,
    account: Option<Account>,
}

/// What is done with a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// A plan is armed.
    Arm(Box<Ready>),
    /// It is the model's.
    Decline(Declined),
}

impl Declined {
    /// What is told the hub at the end of the turn, once: a sample of what the task costs. Nothing where nothing matched.
    pub fn report(&mut self, seal: &crate::event::Seal, now: u64) -> Option<ExecutionReport> {
        let standing = Standing { tools: &[], states: &[], stop: None, tried: false };
        self.account.as_mut()?.report(&standing, seal, now)
    }

    /// The floor of its outcome; none: nothing matched, and nothing is reported.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.account.as_ref().map(|_| Outcome::NotSteered)
    }
}

/// A rung that does not hold.
type Fallen = (Code, String);

/// The decision.
#[must_use]
pub fn decide(question: Question<'_>) -> Decision {
    let (scenario, ticket, steps) = match &question.found {
        Found::Match(matched) => (
            matched.scenario_id,
            matched.execution_ticket,
            matched.scenario.as_ref().map_or(0, |scenario| scenario.steps.len()),
        ),
        _ => (None, None, 0),
    };
    let (at, matched) = (question.at, scenario.is_some());
    let level = match &question.found {
        Found::Match(matched) => matched.scenario.as_ref().map(|scenario| scenario.level),
        _ => None,
    };
    match climb(question) {
        Ok(ready) => Decision::Arm(Box::new(ready)),
        Err((code, why)) => Decision::Decline(Declined {
            code,
            why,
            scenario,
            account: matched.then(|| Account::new(ticket, Mode::None, level, steps, at)),
        }),
    }
}

fn climb(q: Question<'_>) -> Result<Ready, Fallen> {
    let rung = |holds: bool, code: Code, why: &str| if holds { Ok(()) } else { Err((code, why.to_owned())) };
    rung(!q.planning, Code::Planning, "the host only plans")?;
    rung(q.on, Code::Off, "replay is switched off here")?;
    rung(!q.cooling, Code::ServiceUnhealthy, "the hub failed a short while ago")?;
    // What came in spite of it was not waited for, and is too late to be said.
    rung(!q.held, Code::MatchSlow, "matches came slowly, and prompts do not wait for them")?;
    let matched = match q.found {
        Found::Match(matched) => *matched,
        Found::Nothing => return Err((Code::Nothing, "nothing matched".into())),
        Found::TimedOut => return Err((Code::MatchTimeout, "no match came in the prompt's time".into())),
        Found::Late => return Err((Code::MatchLate, "the match came after the prompt was answered".into())),
    };
    let declined = matched.decision == Some(HubDecision::Decline);
    rung(!declined, Code::Declined, matched.why.as_deref().unwrap_or("the hub declined it"))?;
    let (Some(scenario), Some(payload)) = (matched.scenario_id, matched.scenario.as_ref()) else {
        return Err((Code::NotReady, "the run that matched has no scenario yet".into()));
    };
    let script = Script::read(payload).map_err(|error| match error {
        ScriptError::NotReady | ScriptError::Empty => (Code::NotReady, error.to_string()),
        ScriptError::TooLong | ScriptError::Unreadable => (Code::Unreadable, error.to_string()),
    })?;
    let vetoed = q.policy.vetoes(matched.similarity);
    rung(!vetoed, Code::Similarity, "it is less similar than the operator asks for")?;
    fits::directory(&script, q.there, q.here)?;
    fits::tools(&script, q.wrapped, q.tools)?;
    let params = values(&script, &matched)?;
    guard::check(&script, &params)
        .map_err(|no| (Code::UnsafeValue, format!("`{}` goes into what is run: {}", no.param, no.why)))?;
    let mut coverage = Coverage::of(&script, q.wrapped, q.policy);
    if coverage.mode == Mode::None {
        let why = match coverage.steps.first().and_then(|step| step.bar.as_ref()) {
            Some(Bar::Frozen) => "its first step is frozen".to_owned(),
            Some(Bar::Tainted(place)) => crate::inputs::tainted(place),
            _ => "nothing explains a value of its first step".to_owned(),
        };
        return Err((Code::NothingToRun, why));
    }
    // The hub lets it steer and no more: nothing runs by itself.
    if matched.decision == Some(HubDecision::Steer) {
        for step in &mut coverage.steps {
            step.executes = false;
            if step.act == bir_model::scenario::Act::Run {
                step.act = bir_model::scenario::Act::Steer;
                step.bar.get_or_insert(Bar::Level);
            }
        }
        (coverage.lead, coverage.mode) = (0, Mode::Steer);
    }
    let direct = coverage.mode == Mode::Direct;
    rung(q.delivers || !direct, Code::NoDeliveryTool, "nobody serves `run_scenario` to this session")?;
    let approved = q.approved || q.policy.trust_all;
    Ok(Ready {
        scenario,
        ticket: matched.execution_ticket,
        script,
        params,
        now: q.now,
        // One call of `run_scenario` for one step saves nothing.
        delivers: q.delivers && (direct || coverage.lead > 1),
        coverage,
        consent: if approved { Consent::Given } else { Consent::Ask },
        expected: q.expected,
    })
}

/// The values for this prompt. A setting that nobody has read is what it was; a target is missing.
fn values(script: &Script, matched: &Matched) -> Result<Map<String, Value>, Fallen> {
    let missing = |name: &str| Err((Code::MissingTarget, format!("the request does not say `{name}`")));
    let Some(derived) = &matched.derived else {
        return match script.plan.params.iter().find(|param| param.role == Role::Target) {
            Some(param) => missing(&param.name),
            None => Ok(script.samples()),
        };
    };
    if let Some(name) = derived.missing.first() {
        return missing(name);
    }
    let mut params = Map::new();
    for param in &script.plan.params {
        let value = derived.params.get(&param.name).filter(|value| !value.is_null());
        match (value, param.role) {
            (Some(value), _) => params.insert(param.name.clone(), value.clone()),
            (None, Role::Setting) => params.insert(param.name.clone(), param.sample.clone()),
            (None, Role::Target) => return missing(&param.name),
        };
    }
    if !derived.derived {
        return Err((Code::MissingTarget, "the request was not read".into()));
    }
    Ok(params)
}
