//! ComplexFuncBench: recorded tool calls of travel tasks whose arguments carry references to the results that they come from.
//!
//! Groups are tasks with the same sequence of tools, sorted by it. Measured are, on each group: whether the references are found again from
//! one run; whether every leaf is explained, from one run and from three; and what a scenario does on a task that it was not calculated from.

use crate::Groups;
use crate::sets::{Options, Prompt};
use crate::table::Table;
use crate::wheel::{self, WheelError};
use bir_entity::Clock;
use bir_infer::{Calculation, Source, Unread, calculate};
use bir_plan::expr::At;
use bir_plan::template::{Confidence, Origin};
use bir_plan::trace::{Call, Output, Trace};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use thiserror::Error;

const SET: &str = "ComplexFuncBench";
const MEMBER: &str = "data_v1/complexfuncbench/complexfuncbench-data.json";
/// So many other tasks are the pattern of a scenario, the most alike first.
const MOST_PATTERNS: usize = 6;
/// A scenario of fewer runs is not carried out.
const FEWEST_RUNS: usize = 3;
/// So many runs go into one scenario.
const MOST_RUNS: usize = 12;

/// Why the set cannot be measured.
#[derive(Debug, Error)]
pub(crate) enum SetError {
    /// It cannot be read.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// It is something else.
    #[error("it is not the set: {0}")]
    Form(String),
}

struct Task {
    trace: Trace,
    /// Of each reference: the call, the way to the argument, the call that it refers to, and the keys there.
    gold: Vec<Gold>,
}

struct Gold {
    step: usize,
    path: Vec<At>,
    from: usize,
    keys: Vec<String>,
}

/// Measures the set.
pub(crate) fn measure(
    path: &Path,
    groups: Groups,
    every: usize,
    verbose: bool,
    table: &mut Table,
) -> Result<(), SetError> {
    let groups = load(path, groups, every)?;
    let mut times = Vec::new();
    one_run(&groups, verbose, &mut times, table);
    three_runs(&groups, verbose, table);
    replay(&groups, verbose, table);
    table.times(SET, "calculation from one run, on the processor", times, "p50 5 ms, p99 50 ms");
    Ok(())
}

/// The prompts of the development groups, with the words that calculation from their one run proves to be parameters.
pub(crate) fn prompts(options: &Options) -> Result<Vec<Prompt>, String> {
    let path = options.wheel()?;
    let groups = load(&path, Groups::Dev, 1).map_err(|why| why.to_string())?;
    let mut prompts = Vec::new();
    for task in groups.iter().flatten() {
        let trace = &task.trace;
        let intent: Vec<&str> = trace.calls.iter().map(|call| call.tool.as_str()).collect();
        let params = calculate(&[trace]).map(|c| c.scenario.params).unwrap_or_default();
        let mut slots: Vec<(std::ops::Range<usize>, String)> = params
            .iter()
            .flat_map(|p| p.spans.iter().map(|span| (span.clone(), p.name.clone())))
            .filter(|(span, _)| !span.is_empty() && trace.prompt.get(span.clone()).is_some())
            .collect();
        slots.sort_by_key(|(span, _)| (span.start, span.end));
        let mut end = 0;
        slots.retain(|(span, _)| {
            span.start >= end && {
                end = span.end;
                true
            }
        });
        prompts.push(Prompt { text: trace.prompt.clone(), intent: intent.join(" "), slots });
    }
    Ok(prompts)
}

fn load(path: &Path, take: Groups, every: usize) -> Result<Vec<Vec<Task>>, SetError> {
    let bytes = wheel::read(path, MEMBER)?;
    let read: Value = serde_json::from_slice(&bytes).map_err(|error| SetError::Form(error.to_string()))?;
    let Value::Array(tasks) = read else { return Err(SetError::Form("no list of tasks".into())) };
    let mut groups: BTreeMap<Vec<String>, Vec<Task>> = BTreeMap::new();
    for task in tasks {
        let (sequence, task) =
            read_task(task).ok_or_else(|| SetError::Form("a task has not the members".into()))?;
        groups.entry(sequence).or_default().push(task);
    }
    Ok(groups
        .into_values()
        .enumerate()
        .filter(|(n, _)| take.take(*n))
        .map(|(_, group)| group)
        .step_by(every)
        .collect())
}

fn read_task(mut task: Value) -> Option<(Vec<String>, Task)> {
    // The set does not say when it was asked; its days are in late 2024.
    let clock = Clock { now: "2024-09-01T09:00[UTC]".parse().ok()? };
    let prompt = task.get("input")?.as_str()?.trim().to_owned();
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    let (mut calls, mut gold, mut sequence) = (Vec::<Call>::new(), Vec::new(), Vec::new());
    let outputs = match task.get_mut("output")?.take() {
        Value::Array(list) => list,
        _ => return None,
    };
    for (step, mut made) in outputs.into_iter().enumerate() {
        let tool = made.get("name")?.as_str()?.to_owned();
        let mut input = made.get_mut("arguments")?.take();
        for (path, reference) in references(&input) {
            let (label, keys) = reference.trim_matches('$').split_once('.')?;
            let from = *labels.get(label)?;
            let Output::Value { value, .. } = &calls[from].output else { return None };
            let keys: Vec<String> = keys.split('.').map(str::to_owned).collect();
            if let Some(value) = resolved(value, &keys) {
                let value = value.clone();
                *input.pointer_mut(&pointer(&path))? = value;
                gold.push(Gold { step, path, from, keys });
            }
        }
        labels.insert(made.get("label")?.as_str()?.to_owned(), step);
        let output = Output::Value { value: made.get_mut("response")?.take(), truncated: false };
        sequence.push(tool.clone());
        calls.push(Call { server: Some("api".into()), tool, schema: None, annotations: None, input, output });
    }
    Some((sequence, Task { trace: Trace { prompt, clock, calls, answer: None }, gold }))
}

fn references(input: &Value) -> Vec<(Vec<At>, String)> {
    let Value::Object(members) = input else { return Vec::new() };
    let found = members.iter().filter_map(|(key, value)| {
        let text = value
            .as_str()
            .filter(|text| text.len() > 2 && text.starts_with("$var") && text.ends_with('$'))?;
        Some((vec![At::Key(key.clone())], text.to_owned()))
    });
    found.collect()
}

fn pointer(path: &[At]) -> String {
    path.iter()
        .map(|at| match at {
            At::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            At::Index(index) => format!("/{index}"),
        })
        .collect()
}

/// What a reference means; it leaves out the indexes of lists, which have one element wherever it goes.
fn resolved<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    let first = |mut value: &'v Value| {
        while let Value::Array(list) = value
            && let Some(only) = list.first()
        {
            value = only;
        }
        value
    };
    keys.iter().try_fold(first(value), |value, key| value.get(key).map(first))
}

fn note(verbose: bool, line: &str) {
    if verbose {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

#[derive(Default)]
struct Kinds(BTreeMap<String, usize>);

impl Kinds {
    fn add(&mut self, kind: impl Into<String>) {
        *self.0.entry(kind.into()).or_default() += 1;
    }

    fn print(self, table: &mut Table, what: &str, most: usize) {
        let mut kinds: Vec<_> = self.0.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (kind, count) in kinds.into_iter().take(most) {
            table.count(SET, format!("{what}: {kind}"), count);
        }
    }
}

fn key_of(path: &[At]) -> String {
    path.iter()
        .map(|at| match at {
            At::Key(key) => key.clone(),
            At::Index(index) => index.to_string(),
        })
        .collect::<Vec<_>>()
        .join(".")
}

/// How long this thread has been on a processor, in milliseconds; None where the system does not say.
fn on_processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e6)
}

/// References found again, and tasks explained, from one run.
fn one_run(groups: &[Vec<Task>], verbose: bool, times: &mut Vec<f64>, table: &mut Table) {
    let (mut all, mut right, mut wrong_call, mut tasks, mut explained, mut sure) = (0, 0, 0, 0, 0, 0);
    let (mut kept, mut alone) = (0, 0);
    let (mut failing, mut missing) = (Kinds::default(), Kinds::default());
    for task in groups.iter().flatten() {
        let (start, before) = (Instant::now(), on_processor());
        let Some(found) = calculate(std::slice::from_ref(&task.trace)) else { continue };
        let took = start.elapsed().as_secs_f64() * 1000.0;
        // On a machine that does other things besides, what counts is the time on the processor.
        let took = before.zip(on_processor()).map_or(took, |(before, after)| after - before);
        times.push(took);
        if took > 25.0 {
            note(
                verbose,
                &format!("slow: {took:.1} ms, {} leaves: {}", found.leaves.len(), task.trace.prompt),
            );
        }
        for gold in &task.gold {
            all += 1;
            let leaf = found.leaves.iter().find(|leaf| leaf.step == gold.step && leaf.path == gold.path);
            let source = leaf.and_then(|leaf| leaf.source.as_ref());
            let is_gold = |source: &Source| source.step == gold.from && source.keys == gold.keys;
            kept += usize::from(leaf.is_some_and(|leaf| leaf.source.iter().chain(&leaf.also).any(is_gold)));
            // Without a rival from the right call nothing would have stopped it.
            let rival = leaf.is_some_and(|leaf| leaf.also.iter().any(|other| other.step == gold.from));
            alone += usize::from(!rival && source.is_some_and(|source| source.step != gold.from));
            match source {
                Some(source) if source.step == gold.from && source.keys == gold.keys => right += 1,
                Some(source) => {
                    let other = source.step != gold.from;
                    wrong_call += usize::from(other);
                    let kind = if other { "another call" } else { "another member" };
                    failing.add(kind);
                    note(
                        verbose,
                        &format!(
                            "reference {kind}: {}.{} is {}:{} not {}:{}",
                            task.trace.calls[gold.step].tool,
                            key_of(&gold.path),
                            source.step,
                            source.keys.join("."),
                            gold.from,
                            gold.keys.join(".")
                        ),
                    );
                }
                None => {
                    let origin = leaf.map_or(Origin::Unexplained, |leaf| leaf.origin);
                    failing.add(format!("{origin:?}").to_lowercase());
                    note(
                        verbose,
                        &format!(
                            "reference {origin:?}: {}.{} not {}:{}",
                            task.trace.calls[gold.step].tool,
                            key_of(&gold.path),
                            gold.from,
                            gold.keys.join(".")
                        ),
                    );
                }
            }
        }
        tasks += 1;
        let passed = found.verification.passed(1);
        let whole = found.unexplained().next().is_none() && passed;
        explained += usize::from(whole);
        sure += usize::from(whole && found.scenario.confidence() >= Confidence::Medium);
        for leaf in found.unexplained() {
            missing.add(key_of(&leaf.path));
            note(
                verbose,
                &format!(
                    "unexplained: {}.{} = {}",
                    task.trace.calls[leaf.step].tool,
                    key_of(&leaf.path),
                    task.trace.calls[leaf.step].input.pointer(&pointer(&leaf.path)).unwrap_or(&Value::Null)
                ),
            );
        }
        if !passed {
            missing.add("verification failed");
            note(verbose, &format!("verification failed: {:?} {}", found.verification, task.trace.prompt));
        }
    }
    table.share(SET, "references recovered from one run", right, all, ">= 97 %");
    table.share(SET, "references linked to a wrong call", wrong_call, all, "<= 0.5 %");
    table.share(SET, "references recovered, or kept beside what was chosen", kept, all, "");
    table.share(SET, "wrong call, and the right one not kept beside it", alone, all, "");
    failing.print(table, "references not recovered", 6);
    table.share(SET, "tasks explained and tested, one run", explained, tasks, ">= 80 %");
    table.share(SET, "of these without a leaf of low confidence", sure, tasks, "");
    missing.print(table, "leaves not explained, one run", 10);
}

/// Tasks explained from a run and two further ones of its group.
fn three_runs(groups: &[Vec<Task>], verbose: bool, table: &mut Table) {
    let (mut tasks, mut explained, mut fully, mut borne_out) = (0, 0, 0, 0);
    let mut missing = Kinds::default();
    for group in groups {
        for n in 0..group.len() {
            let traces: Vec<&Trace> = [vec![n], nearest(group, n, n)]
                .concat()
                .into_iter()
                .take(3)
                .map(|n| &group[n].trace)
                .collect();
            let Some(found) = calculate(&traces) else { continue };
            tasks += 1;
            let whole =
                found.unexplained().next().is_none() && found.verification.passed(found.agreeing.len());
            explained += usize::from(whole);
            fully += usize::from(whole && found.agreeing.len() == 3);
            borne_out += usize::from(whole && found.contradicted == 0);
            for leaf in found.unexplained() {
                missing.add(format!("{}.{}", found.scenario.steps[leaf.step].tool, key_of(&leaf.path)));
                let values: Vec<String> = found
                    .agreeing
                    .iter()
                    .filter_map(|n| traces[*n].calls[leaf.step].input.pointer(&pointer(&leaf.path)))
                    .map(Value::to_string)
                    .collect();
                note(
                    verbose,
                    &format!(
                        "three: {}.{} {}\n      {}",
                        found.scenario.steps[leaf.step].tool,
                        key_of(&leaf.path),
                        values.join(" | "),
                        traces.iter().map(|trace| trace.prompt.as_str()).collect::<Vec<_>>().join("\n      ")
                    ),
                );
            }
            if !found.verification.passed(found.agreeing.len()) {
                missing.add("verification failed");
                note(
                    verbose,
                    &format!("verification of three failed: {:?} {:?}", found.verification, found.agreeing),
                );
            }
        }
    }
    table.share(SET, "tasks explained and tested, three runs", explained, tasks, ">= 92 %");
    table.share(SET, "of these where all three agree", fully, tasks, "");
    table.share(SET, "of these where no run contradicts another", borne_out, tasks, "");
    missing.print(table, "leaves not explained, three runs", 10);
}

/// Other tasks of a group, those with the most words in common first.
fn nearest(group: &[Task], to: usize, without: usize) -> Vec<usize> {
    let words = |task: &Task| -> std::collections::BTreeSet<String> {
        task.trace.prompt.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
    };
    let own = words(&group[to]);
    let mut others: Vec<(usize, usize)> = (0..group.len())
        .filter(|n| *n != to && *n != without)
        .map(|n| (own.symmetric_difference(&words(&group[n])).count(), n))
        .collect();
    others.sort_unstable();
    others.into_iter().map(|(_, n)| n).collect()
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Right,
    Wrong(String),
    Abstains(String),
}

/// Each task by scenarios that were calculated from the others of its group.
fn replay(groups: &[Vec<Task>], verbose: bool, table: &mut Table) {
    let (mut all, mut right, mut wrong, mut said) = (0, 0, 0, 0);
    let (mut wrongs, mut abstains) = (Kinds::default(), Kinds::default());
    for (g, group) in groups.iter().enumerate() {
        for n in 0..group.len() {
            if group.len() < 2 {
                continue;
            }
            all += 1;
            match by_others(group, n, verbose) {
                Outcome::Right => right += 1,
                Outcome::Wrong(why) => {
                    wrong += 1;
                    said += usize::from(why.starts_with("(recorded"));
                    note(verbose, &format!("WRONG group {g} {why}\n      {}", group[n].trace.prompt));
                    wrongs.add(why.split('=').next().unwrap_or_default().trim());
                }
                Outcome::Abstains(why) => {
                    note(verbose, &format!("abstains group {g} {why}"));
                    abstains.add(why);
                }
            }
        }
    }
    table.share(SET, "replay of a right match: all right", right, all, ">= 60 %");
    table.share(SET, "replay of a right match: wrong", wrong, all, "<= 0.5 %");
    table.share(
        SET,
        "of these the recorded value stands neither in the prompt nor in an earlier result",
        said,
        all,
        "",
    );
    table.share(SET, "replay of a right match: abstains", all - right - wrong, all, "the rest");
    wrongs.print(table, "replay wrong", 12);
    abstains.print(table, "replay abstains", 16);
}

fn by_others(group: &[Task], n: usize, verbose: bool) -> Outcome {
    let task = &group[n];
    let mut reasons = Vec::new();
    let mut outcomes = Vec::new();
    for pattern in nearest(group, n, n).into_iter().take(MOST_PATTERNS) {
        let traces: Vec<&Trace> = [vec![pattern], nearest(group, pattern, n)]
            .concat()
            .into_iter()
            .take(MOST_RUNS)
            .map(|n| &group[n].trace)
            .collect();
        let Some(found) = calculate(&traces) else { continue };
        let params = match found.reader.read(&task.trace.prompt, &task.trace.clock) {
            Ok(params) => params,
            Err(why) => {
                let what = match &why {
                    Unread::Missing(name) => found.scenario.params.iter().find(|param| param.name == *name),
                    _ => None,
                };
                let what =
                    what.map(|param| format!(" {:?} {} {:?}", param.reading, param.sample, param.spans));
                note(verbose, &format!("unread: {why}{}", what.unwrap_or_default()));
                let kind = match why {
                    Unread::TooLong => "is too long",
                    Unread::Words(_) => "has other words",
                    Unread::Unused(_) => "says something else in a place that goes nowhere",
                    Unread::Missing(_) => "has a parameter that cannot be told",
                };
                reasons.push(format!("the prompt {kind}"));
                continue;
            }
        };
        let outcome = run(&found, &task.trace, &params);
        if let Outcome::Wrong(why) = &outcome {
            note(verbose, &format!("wrong by a pattern: {why}\n      {}", found.scenario.prompt));
            let key = why.split([' ', '=']).find(|word| word.contains('.')).unwrap_or_default();
            for (n, step) in found.scenario.steps.iter().enumerate() {
                for (at, leaf) in step.input.leaves() {
                    if format!("{}.{at}", step.tool) == key {
                        note(verbose, &format!("      step {n}: {:?} also {:?}", leaf.expr, leaf.also));
                    }
                }
            }
        }
        outcomes.push(outcome);
    }
    // One that goes wrong counts, whatever the others do.
    if let Some(at) = outcomes.iter().position(|outcome| matches!(outcome, Outcome::Wrong(_))) {
        return outcomes.swap_remove(at);
    }
    if outcomes.contains(&Outcome::Right) {
        return Outcome::Right;
    }
    outcomes.into_iter().next().unwrap_or_else(|| {
        Outcome::Abstains(reasons.into_iter().next().unwrap_or_else(|| "there is no scenario".into()))
    })
}

/// Replays against the recorded results of the task.
fn run(found: &Calculation, trace: &Trace, params: &Map<String, Value>) -> Outcome {
    let now = trace.clock.now.strftime("%Y-%m-%dT%H:%M").to_string();
    if found.scenario.runs < FEWEST_RUNS {
        return Outcome::Abstains("too few runs agree".into());
    }
    if !found.scenario.is_sure(|_| false) {
        let unexplained = found.unexplained().next();
        let what = unexplained.map(|leaf| {
            format!("nothing explains {}.{}", found.scenario.steps[leaf.step].tool, key_of(&leaf.path))
        });
        return Outcome::Abstains(what.unwrap_or_else(|| "a leaf of low confidence".into()));
    }
    let mut kept = Map::new();
    let mut made = vec![false; trace.calls.len()];
    for (n, step) in found.scenario.steps.iter().enumerate() {
        let input = match found.scenario.input(n, params, &kept, &now) {
            Ok(input) => input,
            Err(why) => {
                let leaf = found.unexplained().find(|leaf| leaf.step == n);
                let at =
                    leaf.map_or_else(String::new, |leaf| format!(" ({}.{})", step.tool, key_of(&leaf.path)));
                return Outcome::Abstains(format!("{why}{at}"));
            }
        };
        // Calls of one tool may have been made in another order.
        let same = (0..made.len()).find(|m| {
            !made[*m] && trace.calls[*m].tool == step.tool && alike(&input, &trace.calls[*m].input)
        });
        let Some(m) = same.or_else(|| (n < made.len()).then_some(n)) else {
            return Outcome::Wrong("a call too many".into());
        };
        made[m] = true;
        let call = &trace.calls[m];
        if !alike(&input, &call.input) {
            let Value::Object(members) = &input else { return Outcome::Wrong("no object".into()) };
            let differs = members
                .iter()
                .find(|(key, value)| !call.input.get(*key).is_some_and(|other| alike(value, other)));
            let why = differs.map_or_else(
                || "an argument is not given".to_owned(),
                |(key, value)| {
                    format!(
                        "{}.{key} = {value}, not {}",
                        step.tool,
                        call.input.get(key).unwrap_or(&Value::Null)
                    )
                },
            );
            let made_up = differs.is_some_and(|(key, _)| {
                call.input.get(key).is_some_and(|recorded| stands_nowhere(recorded, trace, m))
            });
            return Outcome::Wrong(if made_up {
                format!("(recorded is what stands nowhere) {why}")
            } else {
                why
            });
        }
        if let Output::Value { value, .. } = &call.output
            && let Err(why) = step.keep(value, params, &mut kept, &now)
        {
            return Outcome::Abstains(format!("the result: {why}"));
        }
    }
    Outcome::Right
}

/// Whether a recorded value stands neither in the prompt nor in an earlier result: a slip of the pen, or what a model knew. Nothing that
/// reads both could have said it.
fn stands_nowhere(recorded: &Value, trace: &Trace, before: usize) -> bool {
    let shown = match recorded {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        // Of lists and objects nobody knows which part it is.
        _ => return false,
    };
    let prompt = &trace.prompt;
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let in_prompt = prompt.match_indices(&shown).any(|(at, _)| {
        is_edge(prompt[..at].chars().next_back()) && is_edge(prompt[at + shown.len()..].chars().next())
    });
    let read = bir_entity::find(prompt, &trace.clock, &bir_entity::Vocabulary::default());
    let said = read.iter().any(|entity| alike(&entity.normal, recorded));
    let in_results = trace.calls[..before].iter().any(|call| match &call.output {
        Output::Value { value, .. } => value.to_string().contains(&shown),
        _ => false,
    });
    !in_prompt && !said && !in_results
}

fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // What printing a double and reading it again may lose is no difference.
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 2.0 * f64::EPSILON * a.abs().max(b.abs()),
            _ => a == b,
        },
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| alike(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        _ => a == b,
    }
}
