//! Missing parameters of a matched prompt.

use super::{allowed, book, cost};
use crate::scenarios::load::Whole;
use crate::state::State;
use bir_derive::fill::{MAX_TOKENS, accepted, question};
use bir_entity::Clock;
use bir_model::Usd;
use bir_model::scenario::Derived;
use bir_plan::param::Param;
use bir_store::model::View;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The same for the answer to a run that begins: within what is left of its budget, and within what the operator gives it of that. By
/// default that is nothing, and whoever executes asks by `…/derive`.
pub(crate) async fn in_answer(
    state: &State,
    who: &View,
    whole: &Whole,
    derived: Derived,
    (prompt, clock): (&str, &Clock),
    left: Duration,
) -> Derived {
    let own = state.help.config().map_or(Duration::ZERO, |config| config.match_budget);
    fill(state, who, whole, derived, (prompt, clock), left.min(own)).await
}

/// Asks for the parameters that are missing, and waits for it no longer than that. What does not come in time, or is not in the prompt,
/// stays missing. A prompt that was not read, since a guard refused it or nothing explains it, is asked nothing of.
pub(crate) async fn fill(
    state: &State,
    who: &View,
    whole: &Whole,
    derived: Derived,
    (prompt, clock): (&str, &Clock),
    wait: Duration,
) -> Derived {
    if !derived.derived || derived.missing.is_empty() || wait.is_zero() || state.help.config().is_none() {
        return derived;
    }
    let Ok(stored) = whole.ready() else { return derived };
    let params = &stored.plan.params;
    let missing: Vec<&Param> = params.iter().filter(|param| derived.missing.contains(&param.name)).collect();
    let said =
        match timeout(wait, ask(state, who, whole, (&missing, &derived), (&stored.intent, prompt))).await {
            Ok(Some(said)) => said,
            Ok(None) | Err(_) => return derived,
        };
    let known: Vec<_> = params
        .iter()
        .filter(|param| !derived.sampled.contains(&param.name))
        .filter_map(|param| Some((param, derived.params.get(&param.name)?)))
        .collect();
    let found = accepted(&said.0, prompt, clock, &missing, &known);
    with(derived, found, said.1)
}

/// The values with those that were found.
fn with(mut derived: Derived, found: serde_json::Map<String, serde_json::Value>, cost: Usd) -> Derived {
    derived.booked_usd = cost;
    for (name, value) in found {
        derived.missing.retain(|missing| *missing != name);
        derived.params.insert(name.clone(), value);
        derived.filled.push(name);
    }
    derived.reason = match derived.missing.as_slice() {
        [] => None,
        names => Some(format!("the prompt does not say, or not clearly: {}", names.join(", "))),
    };
    derived
}

/// What the model said, and what that cost. The question goes on by itself where nobody waits any more, and is booked.
async fn ask(
    state: &State,
    who: &View,
    whole: &Whole,
    (missing, derived): (&[&Param], &Derived),
    (task, prompt): (&str, &str),
) -> Option<(String, Usd)> {
    let brief = question(task, prompt, missing, &derived.params, &state.help.redactor)?;
    let endpoint = allowed(state, who.tenant).await?;
    let (tell, told) = oneshot::channel();
    let (state, who, id) = (state.clone(), *who, whole.id());
    tokio::spawn(async move {
        let most = MAX_TOKENS.min(endpoint.config().max_tokens);
        let answer = endpoint.ask(&brief, most).await;
        let spent = cost(&state, answer.tokens.as_ref()).unwrap_or_default();
        // Nobody may be waiting.
        let _ = tell.send(answer.text.as_ref().ok().map(|text| (text.clone(), spent)));
        book(&state, &who, id, "fill", &answer).await;
    });
    told.await.ok().flatten()
}
