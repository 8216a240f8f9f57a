//! `bir scenario show`: what a scenario is told, and its chain: each step with the values of its input and where they
//! come from.

use super::args::ShowArgs;
use super::find::{self, Named};
use super::list::state;
use super::{api, refusal, report, values};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use bir_model::scenario::{
    Derivation, Effect, LeafView, Level, ParamRole, ScenarioState, StepView, Trust, View,
};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use std::fmt::Write;

/// How it is shown.
struct Look {
    logic: bool,
    width: usize,
    zone: TimeZone,
}

/// Columns of a value in a line.
const VALUE: usize = 40;
/// Columns of the way to a value, at most.
const PATH: usize = 32;

/// Shows a scenario.
pub(super) async fn run(home: &Home, args: &ShowArgs) -> Result<(), CommandError> {
    let written = find::written(&args.id)?;
    let mut client = home.swept().await?;
    let answer = match find::named(home, &mut client, &written).await? {
        Named::Scenario(id) => {
            let answer = api::scenario(&mut client, id).await;
            answer.map_err(|e| refusal::of_scenario(e, id, None))?
        }
        Named::Run(run) => match api::of_run(&mut client, run).await {
            Ok(answer) => answer,
            Err(e) => return Err(refusal::of_run(&mut client, e, run).await),
        },
    };
    if args.json && args.step.is_none() {
        return api::print(&answer.body);
    }
    let view: View = api::read(&answer)?;
    let Some(number) = args.step else {
        let look = Look { logic: args.logic, width: out::fold(), zone: TimeZone::system() };
        let derivation = crate::derivation::of(&mut client).await;
        return Ok(out::print(&page(&view, derivation.as_ref(), &look))?);
    };
    let step = view.steps.iter().find(|step| step.step_index == number);
    let step = step.ok_or_else(|| {
        let steps = match view.steps.len() {
            0 => "it has no steps".into(),
            n => format!("its steps are 0 to {}", n - 1),
        };
        CommandError::failed(format!("{} has no step {number}; {steps}", view.scenario_id))
    })?;
    if args.json {
        return Ok(out::json(&one_step(&api::read(&answer)?, number))?);
    }
    let look = Look { logic: true, width: out::fold(), zone: TimeZone::system() };
    let head = format!(
        "{} {}, revision {}\n",
        paint::bold("scenario"),
        paint::name(&view.scenario_id.to_string()),
        view.revision
    );
    let mut page = head + &block(step, &look);
    page.push_str(&recorded(step));
    Ok(out::print(&page)?)
}

/// A step as it came, with the scenario's id and revision before it.
fn one_step(whole: &Value, number: u32) -> Value {
    let mut out = Map::new();
    for (name, from) in [("scenarioId", "scenarioId"), ("chainRevision", "revision")] {
        out.insert(name.into(), whole[from].clone());
    }
    let steps = whole["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let step = steps.iter().find(|step| step["stepIndex"].as_u64() == Some(number.into()));
    if let Some(Value::Object(step)) = step {
        out.extend(step.clone());
    }
    out.into()
}

/// What a level means.
pub(super) fn means(level: Level) -> &'static str {
    match level {
        Level::L0 => "it steers the model and runs nothing",
        Level::L1 => "reads run, writes steer the model",
        Level::L2 => "reads run, and writes that are as once when done twice",
        Level::L3 => "everything runs",
    }
}

fn page(view: &View, derivation: Option<&Derivation>, look: &Look) -> String {
    let mut page = head(view, derivation, look);
    if !view.params.is_empty() {
        let _ = writeln!(page, "\n  {}", paint::dim("parameters"));
        page.push_str(&params(view, look));
    }
    if look.logic {
        logic(&mut page, "paramsLogic (params)", &view.params_logic, "");
    }
    for step in &view.steps {
        page.push('\n');
        page.push_str(&block(step, look));
    }
    if look.logic {
        page.push('\n');
        logic(&mut page, "responseParamsLogic (params, respParams)", &view.response_params_logic, "");
    }
    page
}

fn head(view: &View, derivation: Option<&Derivation>, look: &Look) -> String {
    let mut page = format!("{} {}\n", paint::bold("scenario"), paint::name(&view.scenario_id.to_string()));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<9}")));
    };
    let room = look.width.saturating_sub(12).max(20);
    if !view.intent.trim().is_empty() {
        field("does", values::line(&view.intent, room));
    }
    field("prompt", values::line(&view.prompt, room));
    let why = view.reason.as_deref().filter(|_| view.state != ScenarioState::Ready);
    field(
        "state",
        why.map_or_else(|| state(view.state), |why| format!("{}: {}", state(view.state), safe::line(why))),
    );
    field("level", format!("{}, {}", view.level, means(view.level)));
    if let Some(why) = &view.level_reason {
        field("", format!("({})", safe::line(why)));
    }
    field(
        "trust",
        format!("{}, calculated from {}", trust(view.confidence), size::count(view.runs.into(), "run")),
    );
    field("approved", if view.approved { "by its owner".into() } else { "no".into() });
    if let Some(derivation) = derivation {
        field("derives", safe::line(&crate::derivation::line(derivation)).into_owned());
    }
    if let Some(project) = &view.project {
        field("project", safe::line(project).into_owned());
    }
    if let Some(run) = view.source_run_id {
        field("run", run.to_string());
    }
    field("revision", format!("{}, {}", view.revision, time::instant(view.updated_at, &look.zone)));
    page
}

fn trust(trust: Trust) -> String {
    match trust {
        Trust::None => paint::bad("nothing explains it"),
        Trust::Low => paint::warn("low"),
        Trust::Medium => "medium".into(),
        Trust::High => paint::good("high"),
    }
}

fn params(view: &View, look: &Look) -> String {
    let widest = view.params.keys().map(|name| console::measure_text_width(name)).max().unwrap_or_default();
    let widest = widest.min(PATH);
    let mut page = String::new();
    for name in view.params.keys() {
        let pad =
            |text: &str| console::pad_str(text, widest, console::Alignment::Left, Some("…")).into_owned();
        let label = paint::name(&pad(&safe::line(name)));
        let Some(param) = view.param(name) else {
            let _ = writeln!(page, "    {label}");
            continue;
        };
        let role = match param.role {
            ParamRole::Target => "a prompt has to say it",
            ParamRole::Setting => "as recorded unless a prompt says it",
        };
        let about = values::line(&param.description, look.width);
        let about = if about.is_empty() { String::new() } else { format!("  {}", paint::dim(&about)) };
        let _ = writeln!(page, "    {label}  {}  {role}{about}", values::short(&param.sample_value, VALUE));
    }
    page
}

/// A step with the values of its input.
fn block(step: &StepView, look: &Look) -> String {
    let effect = match step.effect {
        Effect::Read => "reads",
        Effect::Idempotent => "writes; twice is as once",
        Effect::Write => "writes",
        Effect::Destructive => "may take away",
    };
    let effect = if step.effect == Effect::Read { paint::good(effect) } else { paint::warn(effect) };
    let mut page = format!(
        "  {} {}  {effect}  {}\n",
        paint::dim(&format!("{:>3}", step.step_index)),
        paint::bold(&safe::line(&step.tool_name)),
        trust(step.confidence)
    );
    if let Some(why) = &step.effect_why {
        let _ = writeln!(page, "{INDENT}{}", paint::dim(&values::line(why, look.width)));
    }
    if let Some(why) = &step.reasoning {
        let _ = writeln!(page, "{INDENT}{}", paint::dim(&values::line(why, look.width)));
    }
    if let Some(mark) = step.mark {
        let _ = writeln!(page, "{INDENT}{}", paint::warn(report::frozen_by(mark)));
    }
    let edited = match (step.input_edited, step.output_edited) {
        (true, true) => "input logic and output logic were edited by hand",
        (true, false) => "the input logic was edited by hand",
        (false, true) => "the output logic was edited by hand",
        (false, false) => "",
    };
    if !edited.is_empty() {
        let _ = writeln!(page, "{INDENT}{}", paint::warn(edited));
    }
    page.push_str(&leaves(step));
    if look.logic {
        logic(&mut page, "toolInputLogic (params, respParams)", &step.tool_input_logic, INDENT);
        logic(&mut page, "toolOutputLogic (toolOutput, params, respParams)", &step.tool_output_logic, INDENT);
    }
    page
}

/// Under a step.
const INDENT: &str = "      ";

fn leaves(step: &StepView) -> String {
    let name = |leaf: &LeafView| {
        if leaf.path.is_empty() { "the whole".into() } else { safe::line(&leaf.path).into_owned() }
    };
    let widest =
        step.leaves.iter().map(|leaf| console::measure_text_width(&name(leaf))).max().unwrap_or_default();
    let mut page = String::new();
    for leaf in &step.leaves {
        let label = name(leaf);
        let label = console::pad_str(&label, widest.min(PATH), console::Alignment::Left, Some("…"));
        let value = step.recorded_input.as_ref().and_then(|input| values::at(input, &leaf.path));
        let value = value.map(|value| format!(" = {}", values::short(value, VALUE))).unwrap_or_default();
        let others = match leaf.others {
            0 => String::new(),
            1 => ", another explanation has to agree".into(),
            n => format!(", {n} other explanations have to agree"),
        };
        // What nothing explains is trusted as little.
        let how = if leaf.confidence == Trust::None {
            String::new()
        } else {
            format!(", {}", trust(leaf.confidence))
        };
        let proposed = if leaf.origin == "proposed" { ", proposed by a model" } else { "" };
        let from = origin(leaf);
        let _ = writeln!(page, "{INDENT}{label}{value}  {} {from}{proposed}{how}{others}", paint::dim("←"));
    }
    page
}

/// Where a value comes from.
fn origin(leaf: &LeafView) -> String {
    if let Some(source) = leaf.source.as_deref().filter(|source| !source.is_empty()) {
        return safe::line(source).into_owned();
    }
    match leaf.origin.as_str() {
        "constant" => "a constant".into(),
        "prompt" => "what the prompt says".into(),
        "result" => "an earlier result".into(),
        "clock" => "the clock".into(),
        "mixed" => "several of prompt, results and clock".into(),
        "unexplained" => paint::bad("nothing explains it"),
        other => safe::line(other).into_owned(),
    }
}

/// A body under its name.
fn logic(page: &mut String, name: &str, body: &str, indent: &str) {
    let indent = if indent.is_empty() { "    " } else { indent };
    let _ = writeln!(page, "{indent}{}", paint::dim(name));
    let body = safe::block(body.trim_end());
    let body = if body.is_empty() { paint::dim("(nothing)") } else { body };
    let _ = writeln!(page, "{indent}  {}", body.replace('\n', &format!("\n{indent}  ")));
}

/// What a step was given and gave, whole.
fn recorded(step: &StepView) -> String {
    let mut page = String::new();
    for (name, value) in
        [("recorded input", &step.recorded_input), ("recorded output", &step.recorded_output)]
    {
        if let Some(value) = value {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            logic(&mut page, name, &text, INDENT);
        }
    }
    page
}
