//! `bir match`: which scenario a prompt asks for, why or why not, and what would run. Nothing is written, and nothing
//! runs.

use super::args::MatchArgs;
use super::differences::{Differs, bare, differences};
use super::values::{line, short};
use super::{api, body, refusal, replay, show};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use crate::runs::args::project_of;
use bir_model::scenario::{Act, Decision, MatchAsk, MatchSaid, Nearest};
use jiff::tz::TimeZone;
use std::fmt::Write;
use std::path::Path;

/// Columns of a value.
const VALUE: usize = 60;
/// The hub tells so many characters of a recorded prompt.
const TOLD: usize = 500;

/// Asks.
pub(super) async fn run(home: &Home, args: &MatchArgs) -> Result<(), CommandError> {
    let prompt = match args.prompt.as_str() {
        "-" => body::read(Path::new("-"))?,
        prompt => prompt.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty; give what would be asked, in quotes"));
    }
    // Days and hours in a prompt are the person's, not the hub's.
    let ask = MatchAsk {
        prompt: prompt.clone(),
        project: Some(project_of(args.project.as_deref().unwrap_or(Path::new(".")))),
        now: Some(time::now_ms()),
        time_zone: TimeZone::system().iana_name().map(str::to_owned),
    };
    let mut client = home.swept().await?;
    let answer = client.post("/scenarios/match", &ask).await;
    let answer = api::settled(answer, args.json, refusal::said)?;
    let said: MatchSaid = api::read(&answer)?;
    if args.json {
        api::print(&answer.body)?;
    } else {
        out::print(&page(&said, &prompt, out::fold()))?;
    }
    if said.decision == Decision::Decline { Err(CommandError::Nothing) } else { Ok(()) }
}

/// What the hub made of a prompt.
fn page(said: &MatchSaid, prompt: &str, width: usize) -> String {
    let head = head(said);
    let mut page = format!("{head}\n");
    let room = width.saturating_sub(12).max(20);
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<9}")));
    };
    field("because", format!("{} ({})", safe::line(&said.why), safe::line(&said.code)));
    let matched = said.matched.as_ref();
    if let Some(matched) = matched {
        match (matched.scenario_id, &matched.scenario) {
            (Some(id), Some(scenario)) => {
                field(
                    "scenario",
                    format!("{}  {}", paint::name(&id.to_string()), line(&scenario.intent, room)),
                );
                field("level", format!("{}, {}", scenario.level, show::means(scenario.level)));
            }
            _ => field("run", format!("{}; `bir scenario calc {0}` calculates its scenario", matched.run_id)),
        }
    }
    if let Some(nearest) = &said.nearest {
        field("nearest", line(&nearest.prompt, room));
        let named = match (nearest.scenario_id, nearest.run_id) {
            _ if matched.is_some() => None,
            (Some(id), _) => Some(id.to_string()),
            (None, run) => run.map(|run| run.to_string()),
        };
        if let Some(named) = named {
            field("", format!("of {}", paint::name(&named)));
        }
    }
    if let Some(nearest) = &said.nearest {
        page.push_str(&differs(said, nearest, prompt));
    }
    let derived = matched.and_then(|matched| matched.derived.as_ref());
    if let Some(derived) = derived.filter(|derived| !derived.params.is_empty() || !derived.missing.is_empty())
    {
        let _ = writeln!(page, "  {}", paint::dim("parameters"));
        for (name, value) in &derived.params {
            let from = match (said.words.get(name), derived.sampled.contains(name)) {
                (_, true) => "  as recorded, since the prompt does not say it".into(),
                (Some(words), _) => format!("  from {}", paint::name(&line(words, VALUE))),
                _ => String::new(),
            };
            let _ = writeln!(page, "    {} = {}{from}", paint::name(&safe::line(name)), short(value, VALUE));
        }
        for name in &derived.missing {
            let why = paint::bad("is missing: the prompt does not say it, or not clearly");
            let _ = writeln!(page, "    {} {why}", paint::name(&safe::line(name)));
        }
    }
    if !said.steps.is_empty() {
        let _ = writeln!(
            page,
            "  {}",
            paint::dim("at its level; inputs that read a result are made of the recorded one")
        );
        said.steps.iter().for_each(|step| page.push_str(&replay::call(step)));
    }
    page
}

/// What would happen, at the level that the scenario has and as its steps are.
fn head(said: &MatchSaid) -> String {
    if said.decision == Decision::Decline {
        return paint::bad("nothing would run");
    }
    let steps = &said.steps;
    let stop = steps.iter().position(|step| step.hand_over.is_some() || step.act == Act::HandOver);
    let reached = &steps[..stop.unwrap_or(steps.len())];
    let runs = reached.iter().filter(|step| step.act == Act::Run).count();
    let (runs, shown) = match said.decision {
        Decision::Execute => (runs, reached.len() - runs),
        // What is not sure enough to run is shown, whatever the level.
        _ => (0, reached.len()),
    };
    let count = |n: usize| size::count(n as u64, "step");
    let does = match (runs, shown) {
        (0, 0) => String::new(),
        (runs, 0) => format!("{} would run", count(runs)),
        (0, shown) => format!("nothing runs by itself: the model would be told of {}", count(shown)),
        (runs, shown) => {
            format!("{} would run, and the model would be told of {}", count(runs), count(shown))
        }
    };
    let missing = said.matched.as_ref().and_then(|matched| matched.derived.as_ref());
    let missing = missing.is_some_and(|derived| !derived.missing.is_empty());
    match stop {
        Some(0) => paint::warn("it matches, and the model would do the task: its first step hands over"),
        Some(at) => paint::warn(&format!("it matches: {does}; at step {at} it hands over to the model")),
        None if missing || does.is_empty() => paint::warn(
            "it matches, and the model would do the task: the prompt does not say all that it needs",
        ),
        None if runs > 0 => paint::good(&format!("it matches: {does}")),
        None => paint::warn(&format!("it matches, and {does}")),
    }
}

/// Each difference from the nearest recorded prompt, and what it is.
fn differs(said: &MatchSaid, nearest: &Nearest, prompt: &str) -> String {
    let cut = nearest.prompt.chars().count() >= TOLD;
    let all = differences(&nearest.prompt, prompt, cut);
    if all.is_empty() {
        return String::new();
    }
    let mut page = format!("  {}\n", paint::dim("differs in"));
    for differs in &all {
        let quoted = |text: &str| if text.is_empty() { "(nothing)".into() } else { line(text, VALUE) };
        let what = explained(said, differs);
        let _ = writeln!(page, "    {} → {}  {what}", quoted(&differs.recorded), quoted(&differs.asked));
    }
    page
}

/// What a difference is: a value, words that are known to make none, or both.
fn explained(said: &MatchSaid, differs: &Differs) -> String {
    let mut rest: Vec<&str> = differs.asked.split_whitespace().collect();
    let mut parts = Vec::new();
    for (name, words) in &said.words {
        let words: Vec<String> = words.split_whitespace().map(bare).collect();
        let before = rest.len();
        rest.retain(|word| !words.contains(&bare(word)));
        if rest.len() < before {
            parts.push(format!("parameter {}", paint::name(&safe::line(name))));
        }
    }
    if parts.is_empty() || !rest.is_empty() {
        let what = match said.decision {
            Decision::Decline => {
                paint::bad("no recorded prompt has shown that it is a value or makes no difference")
            }
            _ => "recorded prompts have shown that it makes no difference".into(),
        };
        let which =
            if parts.is_empty() { String::new() } else { format!("{}: ", line(&rest.join(" "), VALUE)) };
        parts.push(format!("{which}{what}"));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(said: Value, prompt: &str) -> String {
        let page = page(&serde_json::from_value(said).unwrap(), prompt, 100);
        console::strip_ansi_codes(&page).into_owned()
    }

    #[test]
    fn a_match_says_what_differs_where_values_come_from_and_what_would_run() {
        let run = "run_01970000-0000-7000-8000-000000000001";
        let scenario = "scn_01970000-0000-7000-8000-000000000002";
        let said = json!({"decision": "execute", "code": "values", "why": "it differs in values alone",
            "matched": {"runId": run, "scenarioId": scenario, "similarity": null, "executionTicket": null,
                "scenario": {"intent": "Book a room in {city}\u{1b}", "state": "ready", "level": "L1", "revision": 1, "paramsObject": {},
                    "paramsLogic": "", "responseParamsLogic": "", "steps": []},
                "derived": {"params": {"city": "Oslo", "n": 2}, "missing": ["day"], "sampled": ["n"], "derived": true, "costUsd": "0"}},
            "steps": [{"stepIndex": 0, "toolName": "mcp__h__search", "input": {"city": "Oslo"}, "equal": false, "by": "native", "act": "steer"}],
            "words": {"city": "Oslo"}, "nearest": {"runId": run, "scenarioId": scenario, "prompt": "Book a room in Rome"}, "tookUs": 3});
        let expected =
            "it matches, and the model would do the task: the prompt does not say all that it needs
  because   it differs in values alone (values)
  scenario  scn_01970000-0000-7000-8000-000000000002  Book a room in {city}␛
  level     L1, reads run, writes steer the model
  nearest   Book a room in Rome
  differs in
    Rome → Oslo, please  parameter city; please: recorded prompts have shown that it makes no difference
  parameters
    city = \"Oslo\"  from Oslo
    n = 2  as recorded, since the prompt does not say it
    day is missing: the prompt does not say it, or not clearly
  at its level; inputs that read a result are made of the recorded one
      0 mcp__h__search  is shown to the model
        → {\"city\":\"Oslo\"}
";
        assert_eq!(shown(said, "book a room in Oslo, please"), expected);
    }

    #[test]
    fn the_first_line_says_what_would_happen_at_the_level() {
        let step = |act: &str, over: bool| {
            let over = over.then(|| json!({"stage": "input_logic", "code": "frozen", "why": "w"}));
            json!({"stepIndex": 0, "toolName": "t", "equal": true, "by": "native", "act": act, "handOver": over})
        };
        let (run, steer) = (step("run", false), step("steer", false));
        let frozen = step("hand_over", true);
        for (decision, steps, head) in [
            ("execute", vec![run.clone(), run.clone()], "it matches: 2 steps would run"),
            (
                "execute",
                vec![run.clone(), steer.clone()],
                "it matches: 1 step would run, and the model would be told of 1 step",
            ),
            (
                "execute",
                vec![steer.clone(), steer],
                "it matches, and nothing runs by itself: the model would be told of 2 steps",
            ),
            (
                "steer",
                vec![run.clone()],
                "it matches, and nothing runs by itself: the model would be told of 1 step",
            ),
            (
                "execute",
                vec![frozen.clone()],
                "it matches, and the model would do the task: its first step hands over",
            ),
            (
                "execute",
                vec![run, frozen],
                "it matches: 1 step would run; at step 1 it hands over to the model",
            ),
            (
                "steer",
                vec![],
                "it matches, and the model would do the task: the prompt does not say all that it needs",
            ),
            ("decline", vec![], "nothing would run"),
        ] {
            let said = json!({"decision": decision, "code": "same", "why": "w", "steps": steps});
            let shown = shown(said, "p");
            assert_eq!(shown.lines().next(), Some(head));
        }
    }

    #[test]
    fn no_match_says_why_and_what_is_nearest() {
        let said = json!({"decision": "decline", "code": "nothing_alike", "why": "it says something else",
            "nearest": {"scenarioId": "scn_01970000-0000-7000-8000-000000000002", "prompt": "Book a room in Rome"}});
        let expected = "nothing would run
  because   it says something else (nothing_alike)
  nearest   Book a room in Rome
            of scn_01970000-0000-7000-8000-000000000002
  differs in
    Book → cancel  no recorded prompt has shown that it is a value or makes no difference
";
        assert_eq!(shown(said, "cancel a room in Rome"), expected);
    }
}
