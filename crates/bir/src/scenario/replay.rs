//! `bir scenario replay --dry`: the scenario against what was recorded. No tool is called.

use super::args::ReplayArgs;
use super::values::{at, line, short};
use super::{api, find, refusal};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use bir_model::scenario::{Act, Derived, HandOver, MadeFrom, ReplayAsk, Replayed, ReplayedStep, Source};
use jiff::tz::TimeZone;
use std::fmt::Write;

/// Columns of a value.
const VALUE: usize = 60;
/// Columns of the way to a value.
const PATH: usize = 32;

/// Replays.
pub(super) async fn run(home: &Home, args: &ReplayArgs) -> Result<(), CommandError> {
    let written = find::written(&args.of.id)?;
    if !args.dry {
        return Err(CommandError::usage(
            "give --dry: it runs the scenario against what was recorded; against the servers themselves nothing is run yet",
        ));
    }
    if args.prompt.as_deref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(CommandError::usage(
            "the prompt is empty; leave `--prompt` out to run it with the values of the recording",
        ));
    }
    // Days and hours in a prompt are the person's, not the hub's; with the values of the recording its clock is the
    // recording's.
    let ask = match &args.prompt {
        None => ReplayAsk::default(),
        Some(prompt) => ReplayAsk {
            prompt: Some(prompt.clone()),
            now: Some(time::now_ms()),
            time_zone: TimeZone::system().iana_name().map(str::to_owned),
        },
    };
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let answer = client.post(&format!("/scenarios/{id}/replay"), &ask).await;
    let answer = api::settled(answer, args.json, |e| refusal::of_scenario(e, id, None))?;
    let replayed: Replayed = api::read(&answer)?;
    if args.json {
        api::print(&answer.body)?;
    } else {
        out::print(&page(&replayed, args.prompt.is_none(), out::fold()))?;
    }
    if replayed.whole { Ok(()) } else { Err(CommandError::Nothing) }
}

/// `recorded`: it ran with the values of the recording.
fn page(replayed: &Replayed, recorded: bool, width: usize) -> String {
    let mut page = parameters(&replayed.derived, width);
    for step in &replayed.steps {
        page.push_str(&block(step, recorded));
    }
    let recorded = |step: &ReplayedStep| {
        step.from.iter().any(|of| {
            matches!(
                of.origin,
                MadeFrom::RecordedResult | MadeFrom::Mixed | MadeFrom::Proposed | MadeFrom::ByHand
            )
        })
    };
    if replayed.steps.iter().any(recorded) {
        let _ = writeln!(
            page,
            "{}",
            paint::dim("values from a recorded result are the recording's; live, each call gives its own")
        );
    }
    let last = match &replayed.hand_over {
        None if replayed.whole => paint::good(&counted(&replayed.steps)),
        None => paint::warn("it does not run whole"),
        Some(over) => paint::warn(&handed(over)),
    };
    let _ = writeln!(page, "{last}");
    if let Some(params) = &replayed.response_params {
        let _ = writeln!(page, "  the answer is made of {}", short(params, width));
    }
    page
}

/// The values that it runs with.
pub(super) fn parameters(derived: &Derived, width: usize) -> String {
    let mut page = String::new();
    for (name, value) in &derived.params {
        let from = if derived.sampled.contains(name) { "  as recorded" } else { "" };
        let _ = writeln!(page, "  {} = {}{from}", paint::name(&safe::line(name)), short(value, VALUE));
    }
    for name in &derived.missing {
        let _ = writeln!(
            page,
            "  {} {}",
            paint::name(&safe::line(name)),
            paint::bad("is missing: the prompt does not say it")
        );
    }
    if let Some(why) = &derived.reason {
        let _ = writeln!(page, "  {}", line(why, width));
    }
    page
}

fn block(step: &ReplayedStep, recorded: bool) -> String {
    let by = if step.by == Source::Sandbox { "  edited by hand" } else { "" };
    let same = match (step.equal, recorded) {
        (true, _) => paint::dim("as recorded"),
        // With the values of the recording another input is a fault; with those of a prompt it is what was asked for.
        (false, true) => paint::bad("not as recorded"),
        (false, false) => "other than recorded".into(),
    };
    let mut page = format!(
        "  {} {}  {}  {same}{by}\n",
        paint::dim(&format!("{:>3}", step.step_index)),
        paint::bold(&safe::line(&step.tool_name)),
        done(step.act)
    );
    if let Some(input) = &step.input {
        let _ = writeln!(page, "      {} {}", paint::dim("→"), short(input, 2 * VALUE));
    }
    page.push_str(&made(step));
    for differs in &step.differs {
        let value = |value: &Option<serde_json::Value>| {
            value.as_ref().map_or("nothing".into(), |value| short(value, VALUE))
        };
        let _ = writeln!(
            page,
            "      {}: recorded {}, now {}",
            safe::line(&differs.path),
            value(&differs.recorded),
            value(&differs.made)
        );
    }
    if let Some(over) = &step.hand_over {
        let _ = writeln!(page, "      {}", paint::warn(&handed(over)));
    }
    page
}

/// Where each value of an input is from.
fn made(step: &ReplayedStep) -> String {
    let mut page = String::new();
    let Some(input) = &step.input else { return page };
    let widest = step.from.iter().map(|of| console::measure_text_width(&safe::line(&of.path))).max();
    let widest = widest.unwrap_or_default().min(PATH);
    for of in &step.from {
        let from = match of.origin {
            MadeFrom::Prompt => "the prompt",
            MadeFrom::RecordedPrompt => "as recorded, the prompt does not say it",
            MadeFrom::RecordedResult => "a recorded result",
            MadeFrom::Constant => "a constant",
            MadeFrom::Clock => "the clock",
            MadeFrom::Mixed => "several, a recorded result may be among them",
            MadeFrom::Proposed => "proposed by a model, a recorded result may be among it",
            MadeFrom::ByHand => "a body that was changed by hand, given recorded results",
        };
        // What says no more than the first words is left out.
        let more =
            of.source.as_deref().filter(|source| of.origin != MadeFrom::Constant && !source.is_empty());
        let more = more.map(|source| format!(": {}", line(source, VALUE))).unwrap_or_default();
        let path = if of.path.is_empty() { "the whole".into() } else { safe::line(&of.path).into_owned() };
        let path = console::pad_str(&path, widest, console::Alignment::Left, Some("…"));
        let value = at(input, &of.path).filter(|_| !of.path.is_empty());
        let value = value.map(|value| format!(" = {}", short(value, VALUE))).unwrap_or_default();
        let _ = writeln!(page, "      {path}{value}  {} {from}{more}", paint::dim("←"));
    }
    page
}

/// What would be done with a step.
fn done(act: Act) -> String {
    match act {
        Act::Run => paint::good("runs"),
        Act::Steer => paint::warn("is shown to the model"),
        Act::HandOver => paint::bad("hands over"),
    }
}

/// How many steps would run, and how many the model would be shown.
fn counted(steps: &[ReplayedStep]) -> String {
    let steered = steps.iter().filter(|step| step.act == Act::Steer).count();
    let all = size::count(steps.len() as u64, "step");
    match (steps.len() - steered, steered) {
        (_, 0) => format!("{all} would run"),
        (0, _) => format!("{all} would be shown to the model"),
        (run, shown) => format!("{all}: {run} would run, {shown} would be shown to the model"),
    }
}

/// A call that would be made, with its input.
pub(super) fn call(step: &ReplayedStep) -> String {
    let number = paint::dim(&format!("{:>3}", step.step_index));
    let mut page =
        format!("    {number} {}  {}\n", paint::bold(&safe::line(&step.tool_name)), done(step.act));
    if let Some(input) = &step.input {
        let _ = writeln!(page, "        {} {}", paint::dim("→"), short(input, 2 * VALUE));
    }
    if let Some(over) = &step.hand_over {
        let _ = writeln!(page, "        {}", paint::warn(&handed(over)));
    }
    page
}

/// Where and why it gives the task to the model.
pub(super) fn handed(over: &HandOver) -> String {
    let at = over.step_index.map_or_else(|| "before its first step".into(), |step| format!("at step {step}"));
    format!("it hands over to the model {at}: {} ({})", safe::line(&over.why), safe::line(&over.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(replayed: Value, recorded: bool) -> String {
        let page = page(&serde_json::from_value(replayed).unwrap(), recorded, 100);
        console::strip_ansi_codes(&page).into_owned()
    }

    #[test]
    fn what_would_run_is_shown_with_its_inputs_and_where_it_stops() {
        let replayed = json!({"derived": {"params": {"city": "Oslo\u{1b}", "n": 2}, "missing": ["day"], "sampled": ["n"], "derived": true,
                "costUsd": "0"}, "whole": false, "steps": [
            {"stepIndex": 0, "toolName": "mcp__h__search", "input": {"city": "Oslo", "id": 7}, "equal": false, "by": "native", "act": "run",
                "from": [{"path": "city", "origin": "prompt", "source": "parameter city"},
                    {"path": "id", "origin": "recorded_result", "source": "`id` of the result of step 0"}],
                "differs": [{"path": "city", "recorded": "Rome", "made": "Oslo"}]},
            {"stepIndex": 1, "toolName": "mcp__h__book", "equal": true, "by": "sandbox", "act": "hand_over",
                "handOver": {"stepIndex": 1, "stage": "input_logic", "code": "frozen", "why": "it is frozen"}}],
            "handOver": {"stage": "derive", "code": "missing_target", "why": "the day is missing"}});
        let expected = "  city = \"Oslo\\u001b\"
  n = 2  as recorded
  day is missing: the prompt does not say it
    0 mcp__h__search  runs  other than recorded
      → {\"city\":\"Oslo\",\"id\":7}
      city = \"Oslo\"  ← the prompt: parameter city
      id   = 7  ← a recorded result: `id` of the result of step 0
      city: recorded \"Rome\", now \"Oslo\"
    1 mcp__h__book  hands over  as recorded  edited by hand
      it hands over to the model at step 1: it is frozen (frozen)
values from a recorded result are the recording's; live, each call gives its own
it hands over to the model before its first step: the day is missing (missing_target)
";
        assert_eq!(shown(replayed.clone(), false), expected);
        assert!(shown(replayed, true).contains("not as recorded"));
        let whole = json!({"derived": {"params": {}, "missing": [], "sampled": [], "derived": false, "costUsd": "0"}, "whole": true,
            "steps": [], "responseParams": {"price": 3}});
        assert_eq!(shown(whole, true), "0 steps would run\n  the answer is made of {\"price\":3}\n");
    }
}
