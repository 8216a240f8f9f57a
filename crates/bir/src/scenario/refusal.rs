//! What a hub's refusal means for the one who asked: its stable code in words, and the report of a check that it holds.

use super::report;
use crate::error::CommandError;
use crate::runs::api;
use bir_model::scenario::EditReport;
use bir_model::{RunId, ScenarioId};
use bir_record::hub::{HubClient, HubError, Problem};
use serde::Deserialize;

/// The member of a problem that holds a report.
#[derive(Deserialize)]
struct Holds {
    report: EditReport,
}

/// The report of a check because of which it was refused.
fn report_of(problem: &Problem) -> Option<EditReport> {
    serde_json::from_slice::<Holds>(&problem.body).ok().map(|holds| holds.report)
}

/// What to do about a code; with what the hub says where that is of use.
fn words(code: &str) -> Option<&'static str> {
    Some(match code {
        "nothing_to_change" => "the step has these bodies and this mark already, so nothing was changed",
        "scenario_has_edits" => {
            "it has changes that were made by hand, and calculating anew would lose them; `bir scenario edits` lists them, \
             `--force --discard-edits` gives them up"
        }
        "logic_sandbox_unavailable" => {
            "the hub cannot evaluate logic at the moment, so nothing was checked, saved or undone; try again, and look into the \
             hub's log if it stays so"
        }
        "payload_too_large" | "too_large" => {
            "the body is larger than the hub takes, so nothing was saved; make it smaller"
        }
        _ => return None,
    })
}

/// A refusal in words.
pub(super) fn said(e: HubError) -> CommandError {
    let Some(problem) = e.problem() else { return e.into() };
    if let Some(report) = report_of(problem) {
        let what = match problem.code.as_str() {
            "undo_refused" => "the change was not taken back",
            _ => "nothing was saved",
        };
        return CommandError::failed(format!("{what}: {}", report::plain(&report)));
    }
    match (words(&problem.code), e.status()) {
        (Some(words), _) => CommandError::failed(words),
        (None, Some(409)) => {
            let detail = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
            CommandError::failed(format!("{detail}; `bir scenario show` has it as it is now"))
        }
        _ => e.into(),
    }
}

/// The same, where `404` means that a run has no scenario: one without a prompt never gets one.
pub(super) async fn of_run(client: &mut HubClient, e: HubError, run: RunId) -> CommandError {
    if e.status() != Some(404) {
        return said(e);
    }
    let asked = |run: &serde_json::Value| run["input"].as_str().is_some_and(|input| !input.trim().is_empty());
    if api::head(client, run).await.is_ok_and(|run| !asked(&run)) {
        return CommandError::failed(format!(
            "{run} has no prompt, as every run that a proxy saw alone (`bir demo` makes such a one), and a scenario needs one; `bir scenario \
             list` shows those that are there, and `bir install` sets up what records prompts"
        ));
    }
    CommandError::failed(format!(
        "the hub has no scenario of {run}; `bir scenario calc {run}` calculates one, and `bir runs list` shows the runs that are there"
    ))
}

/// The same, where `404` means that there is no such run.
pub(super) fn of_missing_run(e: HubError, run: RunId) -> CommandError {
    if e.status() != Some(404) {
        return said(e);
    }
    CommandError::failed(format!("the hub has no run {run}; `bir runs list` shows those that are there"))
}

/// The same of an error that is one of this program's already.
pub(super) fn again(e: CommandError, id: ScenarioId) -> CommandError {
    match e {
        CommandError::Hub(e) => of_scenario(e, id, None),
        e => e,
    }
}

/// The same, where `404` means that there is no such scenario, or that one has no such part.
pub(super) fn of_scenario(e: HubError, id: ScenarioId, part: Option<&str>) -> CommandError {
    match (e.status(), part) {
        (Some(404), None) => CommandError::failed(format!(
            "the hub has no scenario {id}; `bir scenario list` shows those that are there"
        )),
        (Some(404), Some(part)) => CommandError::failed(format!(
            "the hub has no scenario {id}, or it has no {part}; `bir scenario show {id}` shows it"
        )),
        _ => said(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(status: u16, body: serde_json::Value) -> HubError {
        let problem: Problem = serde_json::from_value(body.clone()).unwrap();
        let problem = Problem { body: body.to_string().into_bytes(), ..problem };
        HubError::Refused { status, problem: Box::new(problem), retry_after: None }
    }

    #[test]
    fn codes_are_put_in_words() {
        for (status, code, part) in [
            (400, "nothing_to_change", "nothing was changed"),
            (409, "scenario_has_edits", "--discard-edits"),
            (413, "payload_too_large", "make it smaller"),
            (503, "logic_sandbox_unavailable", "nothing was checked, saved or undone"),
        ] {
            let said = said(refused(status, json!({"code": code, "detail": "d"}))).to_string();
            assert!(said.contains(part), "{said}");
        }
        let other = said(refused(409, json!({"code": "conflict", "detail": "the revision is 4, not 3"})));
        assert_eq!(other.to_string(), "the revision is 4, not 3; `bir scenario show` has it as it is now");
        let other = said(refused(500, json!({"code": "internal", "detail": "it failed"}))).to_string();
        assert_eq!(other, "the hub refused (HTTP 500): it failed");
    }

    #[test]
    fn a_report_comes_with_what_was_not_done() {
        let report = json!({"ok": false, "problems": [{"kind": "copy", "stepIndex": 1, "part": "input", "message": "it is a copy"}]});
        for (code, part) in [("undo_refused", "not taken back: "), ("invalid", "nothing was saved: ")] {
            let said = said(refused(422, json!({"code": code, "report": report}))).to_string();
            assert!(said.contains(part) && said.contains("it is a copy"), "{said}");
        }
    }
}
