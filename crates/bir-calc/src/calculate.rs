//! From recorded runs to what is stored, or the reason why nothing can be had.
//!
//! ```text
//!  runs ─ fit? ─▶ bir-infer, in a thread of its own ─▶ replayed dry ─▶ emitted, evaluated, compared ─▶ Stored
//!          no │                 too long │                 no │                 they differ │
//!             └──────────────────────────┴────────────────────┴─────────────────────────────┴─▶ Unusable, with its reason
//! ```

use crate::agree::agrees;
use crate::intent;
use crate::level::Standing;
use crate::logic::Logic;
use crate::stored::{Example, Slot, Stored, StoredStep, Wording};
use crate::trace::{Recorded, Why, Zone};
use bir_infer::Calculation;
use bir_model::RunId;
use bir_model::scenario::{Mark, StepEdits};
use bir_plan::effect::{Effect, Judged, Reason};
use bir_plan::result;
use bir_plan::sandbox::Sandbox;
use bir_plan::scenario::Scenario;
use bir_plan::template::{Confidence, Origin, Template};
use bir_plan::trace::{Output, Trace};
use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long a calculation may take.
pub const BUDGET: Duration = Duration::from_secs(2);
/// A run of more calls is no task that is done again.
pub const MOST_CALLS: usize = 200;
/// So many runs are looked at; the first is the pattern.
pub const MOST_RUNS: usize = 12;
/// So many calculations that outlasted their budget may still be ending; a further one is not begun.
const MOST_ABANDONED: usize = 4;
/// Longest reasoning that is kept, characters.
const REASONING: usize = 500;

/// What was calculated.
#[derive(Debug, Clone)]
pub struct Calculated {
    /// What is stored.
    pub stored: Stored,
    /// The runs that it explains, the first one first.
    pub agreeing: Vec<RunId>,
    /// The runs that it does not explain.
    pub others: Vec<RunId>,
    /// How far it runs by itself.
    pub standing: Standing,
}

/// Why nothing can be had of runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unusable {
    /// Which reason.
    pub code: Code,
    /// In words, for its owner.
    pub why: String,
}

/// Reasons, by a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// It called nothing that gave a result.
    NoCalls,
    /// Nobody asked for it: a run without a prompt.
    NoPrompt,
    /// The prompt is too long to be kept whole.
    PromptCut,
    /// It has more calls than [`MOST_CALLS`].
    TooLong,
    /// Nobody knows whether one of its writes was carried out.
    UnfinishedWrite,
    /// Its first call has a value that nothing explains.
    UnexplainedStart,
    /// What was calculated does not give what was recorded.
    DoesNotReproduce,
    /// The emitted bodies do not give what the plan gives.
    EmissionDiffers,
    /// It took too long.
    Budget,
    /// There is no sandbox. It says nothing of the run: it may be tried again.
    SandboxUnavailable,
    /// Too many calculations are still ending. It says nothing of the run: it may be tried again.
    Busy,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::NoCalls,
        Self::NoPrompt,
        Self::PromptCut,
        Self::TooLong,
        Self::UnfinishedWrite,
        Self::UnexplainedStart,
        Self::DoesNotReproduce,
        Self::EmissionDiffers,
        Self::Budget,
        Self::SandboxUnavailable,
        Self::Busy,
    ];

    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoCalls => "no_calls",
            Self::NoPrompt => "no_prompt",
            Self::PromptCut => "prompt_cut",
            Self::TooLong => "too_long",
            Self::UnfinishedWrite => "unfinished_write",
            Self::UnexplainedStart => "unexplained_start",
            Self::DoesNotReproduce => "does_not_reproduce",
            Self::EmissionDiffers => "emission_differs",
            Self::Budget => "budget",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::Busy => "busy",
        }
    }

    /// Whether it says something of the machine and nothing of the run.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(self, Self::SandboxUnavailable | Self::Busy)
    }
}

pub(crate) fn unusable(code: Code, why: impl Into<String>) -> Unusable {
    Unusable { code, why: why.into() }
}

impl Borrow<Trace> for Recorded {
    fn borrow(&self) -> &Trace {
        &self.trace
    }
}

/// Calculates a scenario. The first run is its pattern, further ones confirm it; those that cannot be used are left out. `body_ms`: how long one
/// emitted body may take (`BIR_LOGIC_TIMEOUT_MS`). Without a sandbox the emitted bodies are not compared with the plan: only edited ones are ever
/// evaluated, and nothing can be edited where there is none.
///
/// # Errors
///
/// [`Unusable`], also when `budget` is over.
pub fn calculate<'s>(
    runs: Vec<Recorded>,
    sandbox: impl Into<Option<&'s Sandbox>>,
    body_ms: u64,
    budget: Duration,
) -> Result<Calculated, Unusable> {
    let until = Instant::now().checked_add(budget).unwrap_or_else(Instant::now);
    let mut runs = runs.into_iter();
    let first = runs.next().ok_or_else(|| unusable(Code::NoCalls, "there is no run"))?;
    fit(&first)?;
    // With another schema the same tool is another one.
    let (fit_too, unfit): (Vec<Recorded>, Vec<Recorded>) =
        runs.partition(|run| fit(run).is_ok() && run.fits(&first));
    let mut others: Vec<RunId> = unfit.iter().map(|run| run.run).collect();
    let mut fit_too = fit_too;
    others.extend(fit_too.iter().skip(MOST_RUNS - 1).map(|run| run.run));
    fit_too.truncate(MOST_RUNS - 1);
    let runs: Arc<Vec<Recorded>> = Arc::new(std::iter::once(first).chain(fit_too).collect());

    let found = infer(&runs, until)?;
    let agreeing: Vec<usize> =
        found.agreeing.iter().copied().filter(|run| found.verification.replayed.contains(run)).collect();
    if agreeing.first() != Some(&0) {
        let step = found.verification.failed.iter().find(|(run, _)| *run == 0).map_or(0, |(_, step)| *step);
        let why = format!("what was calculated does not give the recorded input of step {step}");
        return Err(unusable(Code::DoesNotReproduce, why));
    }
    others.extend(runs.iter().enumerate().filter(|(n, _)| !agreeing.contains(n)).map(|(_, run)| run.run));
    let stored = stored(&runs, &found, &agreeing)?;
    if let Some(sandbox) = sandbox.into() {
        let logic = Logic::new(sandbox, body_ms, until.saturating_duration_since(Instant::now()));
        agrees(&stored, logic)?;
    }
    let standing = Standing::new(u32::try_from(agreeing.len()).unwrap_or(u32::MAX));
    let agreeing = agreeing.iter().filter_map(|n| runs.get(*n)).map(|run| run.run).collect();
    Ok(Calculated { stored, agreeing, others, standing })
}

/// Whether anything can be had of a run at all.
fn fit(run: &Recorded) -> Result<(), Unusable> {
    let prompt = run.trace.prompt.trim();
    if prompt.is_empty() {
        return Err(unusable(
            Code::NoPrompt,
            "the run has no prompt, so no other prompt can ask for the same",
        ));
    }
    if prompt.ends_with(" bytes originally]") && prompt.contains("\n[truncated: ") {
        return Err(unusable(Code::PromptCut, "the prompt is too long to be kept whole"));
    }
    if let Some(call) =
        run.apart.iter().find(|call| call.why == Why::Abandoned && call.effect != Effect::Read)
    {
        let why = format!("nothing says whether `{}` was carried out", call.tool);
        return Err(unusable(Code::UnfinishedWrite, why));
    }
    match run.trace.calls.len() {
        0 => Err(unusable(Code::NoCalls, "the run has no call with a result")),
        many if many > MOST_CALLS => {
            Err(unusable(Code::TooLong, format!("the run has {many} calls; {MOST_CALLS} are the most")))
        }
        _ => Ok(()),
    }
}

static ABANDONED: AtomicUsize = AtomicUsize::new(0);

/// Infers in a thread of its own, which is left alone when the time is over: it cannot be stopped, and it ends by
/// itself.
fn infer(runs: &Arc<Vec<Recorded>>, until: Instant) -> Result<Calculation, Unusable> {
    let over = || unusable(Code::Budget, "the calculation took longer than it may");
    if ABANDONED.load(Ordering::Acquire) >= MOST_ABANDONED {
        return Err(unusable(Code::Busy, "earlier calculations have not ended yet; try again later"));
    }
    if until <= Instant::now() {
        return Err(over());
    }
    let (tell, told) = sync_channel(1);
    // 0 running, 1 left alone, 2 ended: whoever comes second settles the count.
    let state = Arc::new(AtomicUsize::new(0));
    let (own, runs) = (Arc::clone(&state), Arc::clone(runs));
    let begun = std::thread::Builder::new().name("calculation".into()).spawn(move || {
        let found = bir_infer::calculate(&runs);
        let _ = tell.send(found);
        if own.swap(2, Ordering::AcqRel) == 1 {
            ABANDONED.fetch_sub(1, Ordering::AcqRel);
        }
    });
    if let Err(error) = begun {
        return Err(unusable(Code::Busy, format!("no thread can be started: {error}")));
    }
    match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(unusable(Code::NoCalls, "the run has no call with a result")),
        Err(RecvTimeoutError::Timeout) => {
            ABANDONED.fetch_add(1, Ordering::AcqRel);
            if state.swap(1, Ordering::AcqRel) == 2 {
                ABANDONED.fetch_sub(1, Ordering::AcqRel);
            }
            Err(over())
        }
        // It ended without an answer: it has panicked.
        Err(RecvTimeoutError::Disconnected) => Err(unusable(
            Code::DoesNotReproduce,
            "the calculation failed; the run has a shape that it does not know",
        )),
    }
}

/// What is stored of a calculation.
fn stored(runs: &[Recorded], found: &Calculation, agreeing: &[usize]) -> Result<Stored, Unusable> {
    let first = runs.first().ok_or_else(|| unusable(Code::NoCalls, "there is no run"))?;
    let mut plan = found.scenario.clone();
    plan.runs = agreeing.len();
    let judged: Vec<Judged> = (0..plan.steps.len()).filter_map(|n| worst(runs, agreeing, n)).collect();
    for (step, judged) in plan.steps.iter_mut().zip(&judged) {
        step.effect = judged.effect;
    }
    // A leaf that moved when it should not, or the other way round, depends on something else than it is said to.
    for (step, leaf) in &found.verification.wrong {
        if let Some(step) = plan.steps.get_mut(*step) {
            doubt(&mut step.input, &mut leaf.clone());
        }
    }
    if let Some(path) = plan.steps.first().and_then(|step| unexplained(&step.input)) {
        let what = if path.is_empty() { "the input".to_owned() } else { format!("`{path}`") };
        let why = format!("nothing explains {what} of the first call, `{}`", plan.steps[0].tool);
        return Err(unusable(Code::UnexplainedStart, why));
    }
    let steps = plan.steps.iter().zip(&first.trace.calls).zip(first.calls.iter().zip(&judged)).map(
        |((step, call), (facts, judged))| StoredStep {
            tool_name: facts.tool_name.clone(),
            recorded_input: call.input.clone(),
            recorded_output: result::as_value(&call.output).unwrap_or_default(),
            output_truncated: matches!(
                &call.output,
                Output::Value { truncated: true, .. } | Output::Text { truncated: true, .. }
            ),
            edits: StepEdits {
                mark: unexplained(&step.input).map(|_| Mark::Calculation),
                ..StepEdits::default()
            },
            reasoning: facts.context.as_deref().map(|text| text.chars().take(REASONING).collect()),
            effect_why: Some(judged.why.to_string()),
            by_trust: judged.why == Reason::Trusted,
            schema: facts.fingerprint.clone(),
        },
    );
    let mut steps: Vec<StoredStep> = steps.collect();
    note_left_out(first, &mut steps);
    let standing = Standing::new(u32::try_from(agreeing.len()).unwrap_or(u32::MAX));
    let examples = agreeing.iter().filter_map(|n| example(&plan, found, runs.get(*n)?, *n)).collect();
    Ok(Stored {
        intent: intent::intent(&plan),
        family: family(&plan),
        wording: Wording {
            recorded_at: first.trace.clock.now.to_string(),
            zone_assumed: first.zone == Zone::Assumed,
            examples,
        },
        steps,
        level: standing.level,
        level_reason: standing.reason().to_owned(),
        plan,
    })
}

/// What a call does at worst, in what the runs that agree say of it: hints may have changed.
fn worst(runs: &[Recorded], agreeing: &[usize], call: usize) -> Option<Judged> {
    let judged = agreeing.iter().filter_map(|n| Some(&runs.get(*n)?.calls.get(call)?.judged));
    judged.reduce(|a, b| if b.effect > a.effect { b } else { a }).cloned()
}

/// Says beside the steps which writes of the run are none of the scenario: what failed or was refused is not done
/// again, and that is not
/// kept quiet.
fn note_left_out(run: &Recorded, steps: &mut [StoredStep]) {
    for call in run.apart.iter().filter(|call| call.effect != Effect::Read) {
        let how = match call.why {
            Why::Own => continue,
            Why::Refused => "was refused",
            Why::Failed => "gave an error",
            Why::Abandoned => "has no end",
        };
        let next = run.calls.iter().position(|facts| facts.row > call.row);
        let place = if next.is_some() { "before" } else { "after" };
        let Some(step) = next.or(steps.len().checked_sub(1)).and_then(|n| steps.get_mut(n)) else { return };
        let note = format!("({place} it `{}` {how}, and is not done again)", call.tool);
        step.reasoning = Some(match step.reasoning.take() {
            Some(text) if text.len() < 4 * REASONING => format!("{text} {note}"),
            Some(text) => text,
            None => note,
        });
    }
}

/// What a scenario calls, in order.
#[must_use]
pub fn family(plan: &Scenario) -> String {
    joined(plan.steps.iter().map(|step| (step.server.as_deref(), step.tool.as_str())))
}

fn joined<'a>(tools: impl Iterator<Item = (Option<&'a str>, &'a str)>) -> String {
    let name = |(server, tool): (Option<&str>, &str)| match server {
        Some(server) => format!("{server}/{tool}"),
        None => tool.to_owned(),
    };
    tools.map(name).collect::<Vec<_>>().join(" > ")
}

impl Recorded {
    /// What the run called, in order: runs of one family may be runs of one scenario.
    #[must_use]
    pub fn family(&self) -> String {
        joined(self.trace.calls.iter().map(|call| (call.server.as_deref(), call.tool.as_str())))
    }
}

/// A prompt with its words that are parameters; none: which words they are is not known for sure.
fn example(plan: &Scenario, found: &Calculation, run: &Recorded, number: usize) -> Option<Example> {
    let prompt = run.trace.prompt.as_str();
    let mut slots: Vec<Slot> = Vec::new();
    if number == 0 {
        for (param, known) in plan.params.iter().enumerate() {
            slots.extend(known.spans.iter().map(|span| Slot { span: span.clone(), param }));
        }
    } else {
        let read = found.wording.read(prompt, &run.trace.clock)?;
        for (place, fill) in found.wording.places().iter().zip(&read.fills) {
            if let Some(param) = plan.params.iter().position(|param| param.spans.contains(&place.span)) {
                slots.push(Slot { span: fill.as_ref()?.span.clone(), param });
            }
        }
    }
    slots.retain(|slot| !slot.span.is_empty() && prompt.get(slot.span.clone()).is_some());
    slots.sort_by_key(|slot| (slot.span.start, slot.span.end));
    Some(Example { text: prompt.to_owned(), slots })
}

/// The way to the first leaf that nothing explains.
fn unexplained(input: &Template) -> Option<String> {
    input.leaves().into_iter().find(|(_, leaf)| leaf.origin == Origin::Unexplained).map(|(path, _)| path)
}

/// Takes trust from the leaf of that number; counts it down on the way.
fn doubt(template: &mut Template, number: &mut usize) -> bool {
    match template {
        Template::Leaf(leaf) if *number == 0 => {
            leaf.confidence = leaf.confidence.min(Confidence::Low);
            true
        }
        Template::Leaf(_) => {
            *number -= 1;
            false
        }
        Template::Object(members) => members.iter_mut().any(|(_, member)| doubt(member, number)),
        Template::List(elements) => elements.iter_mut().any(|element| doubt(element, number)),
    }
}
