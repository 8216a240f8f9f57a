//! `bir scenario list`.

use super::args::ListArgs;
use super::{api, find, values};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::table::{Column, Table};
use crate::out::{self, paint, time};
use crate::runs::args::project_of;
use crate::runs::wire::read;
use crate::say;
use bir_model::ScenarioId;
use bir_model::scenario::{Level, ScenarioState};
use jiff::tz::TimeZone;
use serde::Deserialize;

/// Letters of an intent that are shown where no terminal says how many there is room for.
const INTENT: usize = 120;

/// A scenario in a list, as far as it is shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    id: ScenarioId,
    state: ScenarioState,
    level: Level,
    /// From so many runs it was calculated.
    #[serde(default)]
    calculated_from: u32,
    #[serde(default)]
    last_used_at: Option<u64>,
    #[serde(default)]
    intent: Option<String>,
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    reason: Option<String>,
}

/// Lists scenarios.
pub(super) async fn run(home: &Home, args: &ListArgs) -> Result<(), CommandError> {
    let mut query: Vec<(&'static str, String)> = Vec::new();
    query.extend(args.state.clone().map(|state| ("state", state)));
    query.extend(args.project.as_deref().map(|dir| ("project", project_of(dir))));
    let mut client = home.swept().await?;
    let all = api::list(&mut client, &query, args.most.limit).await?;
    if args.json {
        return Ok(out::json(&all)?);
    }
    let all = all.iter().map(read::<Listed>).collect::<Result<Vec<_>, _>>()?;
    if all.is_empty() {
        say(if query.is_empty() {
            "no scenario is there yet; one is calculated when a recorded run with calls ends, or with `bir scenario calc last`"
        } else {
            "no scenario matches"
        });
        return Ok(());
    }
    Ok(out::print(&table(&all, &TimeZone::system()).render(out::columns()))?)
}

fn table(all: &[Listed], zone: &TimeZone) -> Table {
    let mut table = Table::new(&[
        ("SCENARIO", Column::Left),
        ("STATE", Column::Left),
        ("LEVEL", Column::Left),
        ("RUNS", Column::Right),
        ("LAST USED", Column::Left),
        ("WHAT", Column::Flexible),
    ]);
    let ids: Vec<_> = all.iter().map(|listed| listed.id).collect();
    for (listed, id) in all.iter().zip(find::short(&ids)) {
        table.row(vec![
            paint::name(&id),
            state(listed.state),
            listed.level.to_string(),
            listed.calculated_from.to_string(),
            listed.last_used_at.map_or_else(|| paint::dim("never"), |at| time::minute(at, zone)),
            what(listed),
        ]);
    }
    table
}

/// The state in its colour.
pub(super) fn state(state: ScenarioState) -> String {
    match state {
        ScenarioState::Ready => paint::good(state.as_str()),
        ScenarioState::Pending => paint::warn(state.as_str()),
        ScenarioState::Unusable => paint::bad(state.as_str()),
    }
}

/// What it does, else what was asked; of one that nothing could be had of, the reason.
fn what(listed: &Listed) -> String {
    let said = listed.intent.as_deref().filter(|intent| !intent.trim().is_empty()).unwrap_or(&listed.prompt);
    let said = values::line(said, INTENT);
    match listed.reason.as_deref().filter(|_| listed.state == ScenarioState::Unusable) {
        Some(reason) => format!("{said} {}", paint::dim(&format!("({})", values::line(reason, INTENT)))),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_scenario_is_one_line_whatever_is_in_it() {
        let all = [
            json!({"id": "scn_01970000-0000-7000-8000-000000000001", "state": "ready", "level": "L1", "calculatedFrom": 2, "lastUsedAt": 0,
                "intent": "Book a\nroom in {city}\u{1b}[2J", "prompt": "x"}),
            json!({"id": "scn_01970001-0000-7000-8000-000000000001", "state": "unusable", "level": "L0", "calculatedFrom": 1,
                "lastUsedAt": null, "intent": null, "prompt": "count", "reason": "it calls nothing"}),
        ];
        let all: Vec<Listed> = all.iter().map(|item| read(item).unwrap()).collect();
        let text = table(&all, &TimeZone::UTC).render(None);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = console::strip_ansi_codes(&text).lines().map(words).collect();
        assert_eq!(
            lines,
            [
                "SCENARIO STATE LEVEL RUNS LAST USED WHAT",
                "019700000000 ready L1 2 1970-01-01 00:00 Book a room in {city}␛[2J",
                "019700010000 unusable L0 1 never count (it calls nothing)",
            ]
        );
    }
}
