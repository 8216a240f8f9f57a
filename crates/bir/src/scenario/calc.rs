//! `bir scenario calc`: calculates a scenario from a run, or again in its place.

use super::args::CalcArgs;
use super::find::{self, Named};
use super::{api, refusal};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{safe, size};
use crate::say;
use bir_model::scenario::{CalculateAsk, ScenarioState, View};

/// Calculates.
pub(super) async fn run(home: &Home, args: &CalcArgs) -> Result<(), CommandError> {
    let written = find::written(&args.id)?;
    let of_scenario = |text: &str| {
        CommandError::usage(format!(
            "{text} is a scenario, which is there already; `--force` calculates it again in its place"
        ))
    };
    // What has the prefix of a scenario is known for one before anything is sent.
    if !args.force && args.id.starts_with(bir_model::ScenarioId::PREFIX) {
        return Err(of_scenario(&args.id));
    }
    let mut client = home.swept().await?;
    let ask = CalculateAsk { force: args.force, discard_edits: args.discard_edits };
    let answer = match find::named(home, &mut client, &written).await? {
        Named::Scenario(id) if !args.force => return Err(of_scenario(&id.to_string())),
        Named::Scenario(id) => {
            let answer = client.post(&format!("/scenarios/{id}/recalculate"), &ask).await;
            api::settled(answer, args.json, |e| refusal::of_scenario(e, id, None))?
        }
        Named::Run(run) => {
            let answer = client.post(&format!("/recordings/runs/{run}/calculate"), &ask).await;
            api::settled(answer, args.json, |e| refusal::of_missing_run(e, run))?
        }
    };
    if args.json {
        return api::print(&answer.body);
    }
    let view: View = api::read(&answer)?;
    let id = view.scenario_id;
    let why = view.reason.as_deref().map(|why| format!(": {}", safe::line(why))).unwrap_or_default();
    match view.state {
        ScenarioState::Ready => say(format_args!(
            "{id} is ready: {}, {}, calculated from {}; `bir scenario show {id}` shows it",
            size::count(view.steps.len() as u64, "step"),
            view.level,
            size::count(view.runs.into(), "run")
        )),
        ScenarioState::Pending => {
            say(format_args!("{id} waits to be calculated; `bir scenario show {id}` says when it is"))
        }
        ScenarioState::Unusable => return Err(CommandError::failed(format!("{id} cannot be used{why}"))),
    }
    Ok(())
}
