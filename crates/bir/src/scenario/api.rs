//! The hub's routes about scenarios. The body stays the bytes that it came as, for `--json`.

use crate::error::CommandError;
use crate::out;
use crate::runs::api::{self, Pair};
use bir_model::{EditId, RunId, ScenarioId};
use bir_record::hub::{Answer, HubClient, HubError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A list of changes is not followed further.
const EDITS: u32 = 10_000;

/// Prints the body of an answer as it came.
///
/// # Errors
///
/// As [`out::raw`].
pub(super) fn print(body: &[u8]) -> Result<(), CommandError> {
    let mut text = body.to_vec();
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    Ok(out::raw(&text)?)
}

/// What was answered, or a refusal in words: with `--json` its body goes to stdout too, so that a program has the
/// report.
pub(super) fn settled(
    answer: Result<Answer, HubError>,
    json: bool,
    words: impl FnOnce(HubError) -> CommandError,
) -> Result<Answer, CommandError> {
    answer.map_err(|e| {
        let body = e.problem().map(|problem| problem.body.clone()).filter(|body| json && is_json(body));
        match body.map(|body| print(&body)) {
            Some(Err(failed)) => failed,
            // It stands on stdout; the words are for people all the same.
            _ => words(e),
        }
    })
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// The answer as a value of the API.
pub(super) fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, CommandError> {
    Ok(answer.json()?)
}

/// Scenarios, newest first.
pub(super) async fn list(
    client: &mut HubClient,
    query: &[Pair],
    want: u32,
) -> Result<Vec<Value>, CommandError> {
    api::list(client, "/scenarios", "scenarios", query, want, |_| true).await
}

/// The id of a scenario in a list.
pub(super) fn id(item: &Value) -> Option<ScenarioId> {
    item["id"].as_str()?.parse().ok()
}

/// One scenario.
pub(super) async fn scenario(client: &mut HubClient, id: ScenarioId) -> Result<Answer, HubError> {
    client.get(&format!("/scenarios/{id}")).await
}

/// The scenario of a run.
pub(super) async fn of_run(client: &mut HubClient, run: RunId) -> Result<Answer, HubError> {
    client.get(&format!("/recordings/runs/{run}/scenario")).await
}

/// Changes by hand, newest first.
pub(super) async fn edits(client: &mut HubClient, id: ScenarioId) -> Result<Vec<Value>, CommandError> {
    api::list(client, &format!("/scenarios/{id}/edits"), "edits", &[], EDITS, |_| true).await
}

/// Tries a change.
pub(super) async fn check(
    client: &mut HubClient,
    id: ScenarioId,
    step: u32,
    ask: &impl Serialize,
) -> Result<Answer, HubError> {
    client.post(&format!("/scenarios/{id}/steps/{step}/check"), ask).await
}

/// Saves a change.
pub(super) async fn edit(
    client: &mut HubClient,
    id: ScenarioId,
    step: u32,
    ask: &impl Serialize,
) -> Result<Answer, HubError> {
    client.patch(&format!("/scenarios/{id}/steps/{step}"), ask).await
}

/// Takes back a change.
pub(super) async fn undo(
    client: &mut HubClient,
    id: ScenarioId,
    edit: EditId,
    ask: &impl Serialize,
) -> Result<Answer, HubError> {
    client.post(&format!("/scenarios/{id}/edits/{edit}/revert"), ask).await
}
