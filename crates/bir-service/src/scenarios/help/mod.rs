//! Model help (docs/model-help.md): off unless the operator configured an endpoint with a key, and the tenant does not forbid it.
//!
//! ```text
//!  derivation names a parameter as missing ─▶ fill ─▶ endpoint ─▶ words of the prompt, checked ─▶ steers, never runs unasked
//!  a calculation leaves a value unexplained ─▶ calculate/propose ─▶ endpoint ─▶ expression, tested ─▶ proposed, low
//!                                                           └ what it spent ─▶ a row of the scenario's ledger, at once
//! ```
//!
//! A question that was sent goes on when nobody waits for it any more: what it spends has to be booked.

mod fill;
mod routes;

pub(crate) use fill::{fill, in_answer};
pub(crate) use routes::{set, show};

use crate::settings::Settings;
use crate::state::State;
use bir_calc::book::Bound;
use bir_derive::{Answer, Config, Endpoint, Setting};
use bir_model::scenario::{ExecutionReport, Mode, Outcome};
use bir_model::{ScenarioId, TenantId, TurnTokens, Usd};
use bir_net::Proxies;
use bir_plan::proposal::Proposal;
use bir_record::redact::{RedactionKey, Redactor};
use bir_store::model::{Redeemed, View};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Scenarios of which it is remembered what was asked, and that wait to be asked about.
const REMEMBERED: usize = 1_000;
const WAITING: usize = 64;
/// What an execution's row says where nobody knows what a question cost.
const UNKNOWN: &str = "a model endpoint was asked, and what that cost is not known";

/// What was asked about a scenario.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The values that were unexplained then, and from how many runs it was calculated.
    pub(crate) about: (Vec<(usize, String)>, u32),
    /// What stood the tests.
    pub(crate) accepted: Vec<Proposal>,
}

#[derive(Debug, Default)]
struct Memory {
    asked: HashMap<ScenarioId, Asked>,
    waiting: HashSet<ScenarioId>,
}

/// The endpoint, and what was asked.
#[derive(Debug)]
pub(crate) struct Help {
    endpoint: Result<Arc<Endpoint>, &'static str>,
    pub(crate) redactor: Redactor,
    memory: Mutex<Memory>,
    /// One scenario at a time: nobody waits for it.
    pub(crate) turn: Semaphore,
}

impl Help {
    pub(crate) fn new(settings: &Settings) -> Self {
        let endpoint = match &settings.derive {
            Setting::On(config) => Ok(Arc::new(Endpoint::new((**config).clone(), Proxies::from_env()))),
            Setting::Off(why) => Err(*why),
        };
        // Placeholders go to an endpoint and nowhere else: a key of their own keeps them from being compared with recorded ones there.
        let redactor = Redactor::new(RedactionKey::ephemeral(), settings.redact.clone()).0;
        Self { endpoint, redactor, memory: Mutex::default(), turn: Semaphore::new(1) }
    }

    pub(crate) fn config(&self) -> Option<&Config> {
        self.endpoint.as_ref().ok().map(|endpoint| endpoint.config())
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a scenario in that is to be asked about; false: it waits already, or there is no room.
    pub(crate) fn enter(&self, id: ScenarioId) -> bool {
        let mut memory = self.memory();
        memory.waiting.len() < WAITING && memory.waiting.insert(id)
    }

    pub(crate) fn leave(&self, id: ScenarioId) {
        self.memory().waiting.remove(&id);
    }

    pub(crate) fn asked(&self, id: ScenarioId) -> Option<Asked> {
        self.memory().asked.get(&id).cloned()
    }

    pub(crate) fn remember(&self, id: ScenarioId, asked: Asked) {
        let mut memory = self.memory();
        if memory.asked.len() >= REMEMBERED && !memory.asked.contains_key(&id) {
            memory.asked.clear();
        }
        memory.asked.insert(id, asked);
    }
}

/// The endpoint, where it may be asked for this tenant. A store that does not answer allows nothing.
pub(crate) async fn allowed(state: &State, tenant: TenantId) -> Option<Arc<Endpoint>> {
    let endpoint = state.help.endpoint.as_ref().ok()?;
    match state.store.tenant_settings(tenant).await {
        Ok(settings) if !settings.forbid_model_help => Some(endpoint.clone()),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "whether a tenant allows model help cannot be read; nothing is asked");
            None
        }
    }
}

/// What a question cost, at most. None: nobody knows.
fn cost(state: &State, tokens: Option<&TurnTokens>) -> Option<Usd> {
    state.prices.cost(tokens?, Bound::Most)
}

/// Books what a question spent, at once and beside every execution: it counts against the saving whatever becomes of the answer.
pub(crate) async fn book(state: &State, who: &View, id: ScenarioId, purpose: &'static str, answer: &Answer) {
    let result = match &answer.text {
        Ok(_) => "answered",
        Err(fault) => {
            tracing::info!(target: "help", scenario = %id, purpose, why = %fault, "a model endpoint gave no answer");
            "failed"
        }
    };
    state.metrics.helped(purpose, result);
    if answer.tokens.is_none() && !answer.is_unknown() {
        return;
    }
    let cost = cost(state, answer.tokens.as_ref());
    let totals = answer.tokens.as_ref().map(|tokens| tokens.totals).unwrap_or_default();
    let report = ExecutionReport {
        ticket: None,
        outcome: Outcome::NotSteered,
        mode: Some(Mode::None),
        level: None,
        derive_cost_usd: cost.unwrap_or_default(),
        session_cost_usd: Usd::ZERO,
        fallback_cost_usd: Usd::ZERO,
        tokens: totals.all_input().saturating_add(totals.output_tokens),
        // No session's: no sample of a baseline is made of it.
        model: None,
        duration_ms: 0,
        steps_planned: 0,
        steps_pinned: 0,
        measured: cost.is_some(),
        pricing_version: state.prices.version.clone(),
        prompt: None,
        steps: Vec::new(),
        error: cost.is_none().then(|| UNKNOWN.to_owned()),
        error_stage: None,
        error_step_index: None,
        error_tool_name: None,
    };
    match state.store.redeem(who, id, &report).await {
        Ok(Redeemed::Booked { .. }) => {}
        // The scenario was deleted meanwhile: there is nothing to book it against.
        Ok(_) => tracing::debug!(target: "help", scenario = %id, "a cost is of a scenario that is gone"),
        Err(error) => {
            tracing::warn!(%error, scenario = %id, cost = ?cost, "what a model endpoint cost cannot be booked");
        }
    }
}

/// Whether a row of the ledger is a question of which nobody knows what it cost.
pub(crate) fn is_unknown(report: &ExecutionReport) -> bool {
    report.outcome == Outcome::NotSteered && !report.measured && report.error.as_deref() == Some(UNKNOWN)
}
