//! `bir scenario executions`: what became of each, step by step, what it cost, and what all of a scenario saved.

use super::args::ExecutionsArgs;
use super::values::line;
use super::{api, find, refusal};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use crate::runs::api as runs;
use crate::say;
use bir_model::scenario::{ExecutionReport, Measure, Outcome, Saving, StepVerdict};
use bir_model::{ScenarioId, TicketId, Usd};
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// Columns of an error.
const ERROR: usize = 100;

/// An execution, as it was told.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    execution_id: TicketId,
    scenario_id: ScenarioId,
    claimed_at: u64,
    #[serde(flatten)]
    report: ExecutionReport,
}

/// Shows executions.
pub(super) async fn run(home: &Home, args: &ExecutionsArgs) -> Result<(), CommandError> {
    let written = args.id.as_deref().map(find::written).transpose()?;
    let mut client = home.swept().await?;
    let id = match &written {
        Some(written) => Some(find::scenario(home, &mut client, written).await?),
        None => None,
    };
    let route = match id {
        Some(id) => format!("/scenarios/{id}/executions"),
        None => "/scenarios/executions".into(),
    };
    let all = runs::list(&mut client, &route, "executions", &[], args.most.limit, |_| true).await;
    let all = all.map_err(|e| match id {
        Some(id) => refusal::again(e, id),
        None => e,
    })?;
    // The saving is that of all executions, and stands beside each part of the list.
    let saving = match id {
        Some(id) => {
            let answer = client.get(&runs::path(&route, &[("limit", "1".into())])).await;
            let answer = answer.map_err(|e| refusal::of_scenario(e, id, None))?;
            Some(api::read::<Value>(&answer)?["saving"].take())
        }
        None => None,
    };
    if args.json {
        let mut object = json!({ "executions": all });
        if let Some(saving) = saving {
            object["saving"] = saving;
        }
        return Ok(out::json(&object)?);
    }
    let all = all.iter().map(crate::runs::wire::read::<Told>).collect::<Result<Vec<_>, _>>()?;
    let saving = saving.as_ref().map(crate::runs::wire::read::<Saving>).transpose()?;
    if let Some(saving) = &saving {
        out::print(&ledger(saving))?;
    }
    if all.is_empty() {
        say(
            "no execution was told yet; a prompt that matches makes a ticket, and what becomes of it is told under that",
        );
        return Ok(());
    }
    let zone = TimeZone::system();
    let page: String = all.iter().map(|one| block(one, id.is_none(), &zone)).collect();
    Ok(out::print(&page)?)
}

/// What executions saved, against what the model costs.
fn ledger(saving: &Saving) -> String {
    let mut page = String::new();
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<9}")));
    };
    match &saving.baseline {
        Some(baseline) => field(
            "baseline",
            format!(
                "a run of the model costs at least {}, of {} measured",
                measure(baseline),
                saving.baseline_runs
            ),
        ),
        None => field(
            "baseline",
            format!(
                "not yet measured: {} of the {} measured runs of the model that it takes",
                saving.baseline_runs, saving.baseline_needed
            ),
        ),
    }
    match &saving.saved {
        Some(saved) => {
            field("saved", format!("at least {}, in {}", measure(saved), counted(saving.executions)))
        }
        None => field("saved", "not yet measured".into()),
    }
    if saving.unmeasured > 0 {
        field(
            "",
            format!("{} not in it, since something of them was not measured", counted(saving.unmeasured)),
        );
    }
    field("prices", safe::line(&saving.pricing_version).into_owned());
    page
}

fn counted(many: u32) -> String {
    size::count(many.into(), "execution")
}

fn measure(of: &Measure) -> String {
    format!("{}, {} tokens, {:.1} s", usd(of.usd), of.tokens, of.duration_ms as f64 / 1_000.0)
}

fn usd(usd: Usd) -> String {
    format!("{usd} USD")
}

/// What became of an execution.
fn block(one: &Told, with_scenario: bool, zone: &TimeZone) -> String {
    let report = &one.report;
    let outcome = match report.outcome {
        Outcome::SteeredFull => paint::good("every step ran as planned"),
        Outcome::Diverged => paint::warn("it went another way"),
        Outcome::FellBack => paint::warn("it handed over after some steps"),
        Outcome::Failed => paint::bad("it gave up before any step"),
        Outcome::NotSteered => "the model did the task".into(),
    };
    let mut page =
        format!("\n{}  {outcome} ({})\n", paint::name(&time::instant(one.claimed_at, zone)), report.outcome);
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<9}")));
    };
    if with_scenario {
        field("scenario", one.scenario_id.to_string());
    }
    field("ticket", one.execution_id.to_string());
    let mode = report.mode.map(|mode| mode.to_string());
    let level = report.level.map(|level| level.to_string());
    let ran: Vec<String> = mode.into_iter().chain(level).collect();
    if !ran.is_empty() {
        field("ran", ran.join(", "));
    }
    if report.steps_planned > 0 {
        field("steps", format!("{} of {} as planned", report.steps_pinned, report.steps_planned));
    }
    let spent = report.session_cost_usd + report.derive_cost_usd + report.fallback_cost_usd;
    let cost = match report.measured {
        true => {
            let took = time::span(report.duration_ms.saturating_mul(1_000));
            format!("{}, {} tokens, {took}", usd(spent), report.tokens)
        }
        false => "not measured".into(),
    };
    field("cost", cost);
    for step in &report.steps {
        let verdict = match step.status {
            StepVerdict::Ok => paint::good("ran"),
            StepVerdict::Recorded => "a recorded result stood in".into(),
            StepVerdict::Skipped => paint::warn("no result"),
            StepVerdict::Failed => paint::bad("failed"),
        };
        let stage = step.stage.map(|stage| format!(" at {stage}")).unwrap_or_default();
        let error = step.error.as_deref().map(|why| format!(": {}", line(why, ERROR))).unwrap_or_default();
        let name = safe::line(&step.tool_name);
        let _ = writeln!(page, "    {:>3} {name}  {verdict}{stage}{error}", step.step_index);
    }
    let told = report.steps.iter().any(|step| step.error.is_some());
    if let Some(error) = report.error.as_deref().filter(|_| !told) {
        let _ = writeln!(page, "  {}", paint::bad(&line(error, ERROR)));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_says_what_each_step_did_and_what_it_cost() {
        let told: Told = serde_json::from_value(json!({"executionId": "tkt_01970000-0000-7000-8000-000000000001",
            "scenarioId": "scn_01970000-0000-7000-8000-000000000002", "runId": null, "issuedAt": 0, "claimedAt": 60_000,
            "outcome": "fell_back", "mode": "direct", "level": "L1", "stepsPlanned": 2, "stepsPinned": 1, "measured": true,
            "sessionCostUsd": "0.02", "deriveCostUsd": "0.01", "tokens": 900, "durationMs": 1500, "steps": [
                {"stepIndex": 0, "toolName": "find\u{1b}", "status": "ok"},
                {"stepIndex": 1, "toolName": "book", "status": "failed", "stage": "input_logic", "error": "boom"}]}))
        .unwrap();
        let shown = block(&told, true, &TimeZone::UTC);
        let expected = "
1970-01-01 00:01:00  it handed over after some steps (fell_back)
  scenario  scn_01970000-0000-7000-8000-000000000002
  ticket    tkt_01970000-0000-7000-8000-000000000001
  ran       direct, L1
  steps     1 of 2 as planned
  cost      0.03 USD, 900 tokens, 1.50 s
      0 find␛  ran
      1 book  failed at input_logic: boom
";
        assert_eq!(console::strip_ansi_codes(&shown), expected);
    }

    #[test]
    fn a_saving_is_not_yet_measured_before_five_runs() {
        let none: Saving =
            serde_json::from_value(json!({"baselineRuns": 3, "baselineNeeded": 5, "executions": 0,
            "unmeasured": 0, "pricingVersion": "v", "method": "m"}))
            .unwrap();
        let shown = ledger(&none);
        let shown = console::strip_ansi_codes(&shown);
        assert!(shown.contains("not yet measured: 3 of the 5 measured runs"), "{shown}");
        let some: Saving =
            serde_json::from_value(json!({"baselineRuns": 5, "baselineNeeded": 5, "executions": 1,
            "unmeasured": 2, "pricingVersion": "v", "method": "m",
            "baseline": {"usd": "0.5", "tokens": 1000, "durationMs": 60_000},
            "saved": {"usd": "0.4", "tokens": 100, "durationMs": -500}}))
            .unwrap();
        let shown = ledger(&some);
        let shown = console::strip_ansi_codes(&shown);
        for part in [
            "at least 0.5 USD, 1000 tokens, 60.0 s, of 5 measured",
            "at least 0.4 USD, 100 tokens, -0.5 s, in 1 execution",
            "2 executions not in it",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
