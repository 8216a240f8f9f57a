//! From what a person writes to a scenario: its id or the beginning of it, or a run that it belongs to.

use super::{api, refusal};
use crate::error::CommandError;
use crate::home::Home;
use crate::runs::find as runs;
use bir_model::{RunId, ScenarioId};
use bir_record::hub::HubClient;
use serde::Deserialize;
use serde_json::Value;

/// Scenarios that are looked through for the beginning of an id.
const LOOKED: u32 = 5_000;
/// Candidates that are named where a beginning is not enough.
const NAMED: usize = 4;

/// What was written, looked at before anything is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    Scenario(ScenarioId),
    /// The beginning of a scenario's id, in digits.
    ScenarioFrom(String),
    /// A run, for [`runs::find`].
    Run(String),
    /// Digits alone: a scenario's, else a run's.
    Either(String),
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Scenario(ScenarioId),
    Run(RunId),
}

/// Ids of other things, and what those are.
const OTHERS: [(&str, &str); 4] = [
    ("step_", "a step's row"),
    ("sedit_", "a change's"),
    ("tkt_", "an execution's"),
    ("user_", "a person's"),
];

/// Reads what was written.
///
/// # Errors
///
/// It can be neither a scenario nor a run.
pub(super) fn written(text: &str) -> Result<Written, CommandError> {
    let usage = |why: &str| {
        CommandError::usage(format!(
            "`{text}` {why}; give `scn_…` as `bir scenario list` shows it, `run_…` as `bir runs list` does, at least 4 digits of \
             the beginning of either, or `last` for the last run"
        ))
    };
    if let Ok(id) = text.parse() {
        return Ok(Written::Scenario(id));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        return Err(usage(&format!("is {what} id, not a scenario's")));
    }
    let start = |text: &str| runs::beginning(text).ok_or_else(|| usage("is no scenario and no run"));
    if text == "last" {
        Ok(Written::Run(text.into()))
    } else if let Some(rest) = text.strip_prefix(ScenarioId::PREFIX) {
        Ok(Written::ScenarioFrom(start(rest)?))
    } else if text.starts_with(RunId::PREFIX) {
        start(text).map(|_| Written::Run(text.into()))
    } else {
        Ok(Written::Either(start(text)?))
    }
}

/// Finds it.
///
/// # Errors
///
/// There is none, or more than one.
pub(super) async fn named(
    home: &Home,
    client: &mut HubClient,
    written: &Written,
) -> Result<Named, CommandError> {
    match written {
        Written::Scenario(id) => Ok(Named::Scenario(*id)),
        Written::Run(text) => Ok(Named::Run(runs::find(home, client, text).await?)),
        Written::ScenarioFrom(digits) => {
            starting(client, digits).await?.map(Named::Scenario).ok_or_else(|| none(digits))
        }
        Written::Either(digits) => match starting(client, digits).await? {
            Some(id) => Ok(Named::Scenario(id)),
            None => match runs::find(home, client, digits).await {
                Ok(id) => Ok(Named::Run(id)),
                Err(CommandError::Failed(why)) if why.starts_with("no run begins") => Err(none(digits)),
                Err(e) => Err(e),
            },
        },
    }
}

/// The scenario, which for a run is the one that it belongs to.
///
/// # Errors
///
/// As [`named`], and that the run has none.
pub(super) async fn scenario(
    home: &Home,
    client: &mut HubClient,
    written: &Written,
) -> Result<ScenarioId, CommandError> {
    match named(home, client, written).await? {
        Named::Scenario(id) => Ok(id),
        Named::Run(run) => match api::of_run(client, run).await {
            Ok(answer) => Ok(api::read::<OfRun>(&answer)?.scenario_id),
            Err(e) => Err(refusal::of_run(client, e, run).await),
        },
    }
}

/// As much of `GET /recordings/runs/{id}/scenario` as it takes to go on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRun {
    scenario_id: ScenarioId,
}

fn none(digits: &str) -> CommandError {
    CommandError::failed(format!(
        "no scenario begins with `{digits}`; `bir scenario list` shows those that are there"
    ))
}

/// The digits of an id without the prefix and hyphens.
fn digits(id: ScenarioId) -> String {
    id.uuid().simple().to_string()
}

/// The one scenario whose id begins so.
async fn starting(client: &mut HubClient, beginning: &str) -> Result<Option<ScenarioId>, CommandError> {
    let all = api::list(client, &[], LOOKED).await?;
    let fits = |item: &Value| api::id(item).filter(|id| digits(*id).starts_with(beginning));
    let found: Vec<ScenarioId> = all.iter().filter_map(fits).collect();
    match found.as_slice() {
        [] => Ok(None),
        [id] => Ok(Some(*id)),
        several => {
            let named = short(several).into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
            let more = if several.len() > NAMED { " …" } else { "" };
            Err(CommandError::failed(format!(
                "{} scenarios begin with `{beginning}`: {named}{more}; give more digits",
                several.len()
            )))
        }
    }
}

/// A short form of each id, long enough to tell each from the others.
pub(super) fn short(ids: &[ScenarioId]) -> Vec<String> {
    runs::short_digits(&ids.iter().map(|id| digits(*id)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_says_what_is_meant_before_anything_is_sent() {
        let scn = "scn_01970000-0000-7000-8000-000000000001";
        for (text, meant) in [
            (scn, Written::Scenario(scn.parse().unwrap())),
            ("scn_01970000-00aB", Written::ScenarioFrom("0197000000ab".into())),
            ("run_0197", Written::Run("run_0197".into())),
            ("last", Written::Run("last".into())),
            ("01970000", Written::Either("01970000".into())),
        ] {
            assert_eq!(written(text).unwrap(), meant, "{text}");
        }
        for (text, why) in [
            ("", "is no scenario and no run"),
            ("scn_", "is no scenario and no run"),
            ("run_xyz0", "is no scenario and no run"),
            ("sedit_01970000-0000-7000-8000-000000000001", "is a change's id"),
            ("tkt_0197", "is an execution's id"),
        ] {
            let said = written(text).unwrap_err();
            assert!(matches!(&said, CommandError::Usage(text) if text.contains(why)), "{text}: {said}");
        }
    }
}
