//! What a prompt asks for: the match of a run that begins, `POST /scenarios/match`, `…/derive` and `…/replay`.
//!
//! ```text
//!  prompt ─▶ matcher of (tenant, person), project ─▶ judged: execute, steer, decline ─▶ scenario from the store, as it is now
//!            within the budget                       by the bound on the error            ticket (a run that begins alone)
//! ```

use super::load::{self, Whole};
use super::matchers::{Asked, Question, Told, until};
use super::{help, logic, scenario_id, when};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_calc::rehearse::{Values, rehearse};
use bir_calc::{Stored, derive, payload};
use bir_match::decide::{READS, WRITES};
use bir_match::{Answer, Decision as Judged, Difference, Evidence, Given, Lack, Veto};
use bir_model::RunId;
use bir_model::record::RunStart;
use bir_model::scenario::{
    Decision, DeriveAsk, Derived, Effect, MatchAsk, MatchSaid, Matched, Outcome, ReplayAsk, StepVerdict,
};
use bir_store::model::{Match, Page, View};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Executions that tell how often a scenario was the wrong one.
const EVIDENCE: u32 = 100;
/// A question of its own, that no run waits for, may take longer than the match of a run.
const ASKED: Duration = Duration::from_secs(5);

/// What became of a question.
pub(crate) struct Said {
    pub(crate) decision: Decision,
    pub(crate) code: &'static str,
    pub(crate) why: String,
    /// The scenario, with the values for the prompt.
    pub(crate) found: Option<(Whole, Derived)>,
    /// A run without a scenario.
    pub(crate) plain: Option<RunId>,
    pub(crate) told: Option<Box<Told>>,
    pub(crate) took: Duration,
}

impl Said {
    fn declined(code: &'static str, why: impl Into<String>) -> Self {
        debug_assert!(MatchSaid::CODES.contains(&code), "`{code}` is no code of a match");
        Self {
            decision: Decision::Decline,
            code,
            why: why.into(),
            found: None,
            plain: None,
            told: None,
            took: Duration::ZERO,
        }
    }
}

/// What stands against a value, in words.
fn against(veto: Veto) -> String {
    match veto {
        Veto::Word(class) => format!(
            "a value of the prompt holds a word ({class:?}) that makes the request another one than the recorded, or may"
        ),
        Veto::Typed => {
            "a value of the prompt mentions a date, number or address in a way that no recorded value does"
                .into()
        }
        Veto::Fixed => {
            "a value of the prompt holds words that the recorded prompts use for something else".into()
        }
        Veto::Closed => "a parameter always had one of a few values, and this is none of them".into(),
        Veto::First => {
            "the prompt begins with words that may be a verb, and no recorded prompt does so".into()
        }
        Veto::Written => "a value is written in small letters, as no recorded one is".into(),
        Veto::Empty => "a value has no word of its own".into(),
        Veto::Divided => "a sign divides a value, so that it may be two".into(),
        Veto::Function => {
            "a value holds a word that names nothing (several, hers), as no recorded one does".into()
        }
        Veto::Unit => "a value holds a unit or a number in words, as no recorded one does".into(),
        Veto::Extends => "a value is a recorded one and something more".into(),
        Veto::Edge => "a sign stands at the edge of a value, as at that of no recorded one".into(),
        Veto::Several => "a value names more things than any recorded one".into(),
        Veto::Twice => "a word stands twice in a row, as in no recorded prompt".into(),
        Veto::Beside => "nothing marks where a value ends and the one beside it begins".into(),
        Veto::Roles => "recorded prompts have two of the values the other way round".into(),
    }
}

/// Words of a prompt, as they are told: in backticks, none twice.
fn quoted(prompt: &str, spans: &[Range<usize>]) -> String {
    let words = spans.iter().filter_map(|span| prompt.get(span.clone()));
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Why nothing explains a prompt, with the words that the nearest recorded one does not have or has besides.
fn unexplained(answer: &Answer, prompt: &str) -> String {
    const WHY: &str = "it says something that no recorded prompt has shown to be a value or without effect";
    let lacking = answer.lacking.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match (answer.against.is_empty(), lacking.is_empty()) {
        (true, true) => WHY.to_owned(),
        (false, true) => format!("{WHY}: {}", quoted(prompt, &answer.against)),
        (true, false) => format!("it lacks words of the nearest recorded prompt: {lacking}"),
        (false, false) => {
            format!("{WHY}: {}; the nearest one has {lacking} instead", quoted(prompt, &answer.against))
        }
    }
}

/// What a match lacks to be run unasked, with the bar that it does not reach.
fn lacking(lacks: &[Lack]) -> String {
    let one = |lack: &Lack| match lack {
        Lack::Confidence { is, bar } => format!(
            "this reading is {:.3} % likely among all that the words allow, and has to be more than {:.2} %",
            is * 100.0,
            bar * 100.0
        ),
        Lack::Shown { times, least } => format!(
            "{times} recorded prompts show its rarest stretch of words in that place, and {least} have to"
        ),
        Lack::Telling => {
            "prompts of other tasks begin alike, and its other words are too usual to tell them apart"
                .to_owned()
        }
        Lack::Bound { is, limit } => format!(
            "of such matches up to {:.1} % are wrong (95 %), and at most {:.1} % may be",
            is * 100.0,
            limit * 100.0
        ),
    };
    lacks.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn difference(difference: Difference) -> (&'static str, &'static str) {
    match difference {
        Difference::Verbatim => ("same", "it was recorded word for word"),
        Difference::Same => ("same", "it differs from a recorded prompt in nothing that counts"),
        Difference::Known => {
            ("values", "it differs from a recorded prompt in values that were recorded before")
        }
        Difference::Values => ("values", "it differs from a recorded prompt in values alone"),
        Difference::Joined => {
            ("joined", "its words come from several recorded prompts, and its values were recorded before")
        }
        Difference::Loose => ("joined", "its words come from several recorded prompts"),
    }
}

/// Asks, until then. Nothing of it fails: whatever goes wrong, nothing matches.
pub(crate) async fn question(state: &State, who: &View, question: Question, budget: Duration) -> Said {
    let (began, end) = (Instant::now(), until(budget));
    let mut said = match timeout_at(end, answer(state, who, question, end)).await {
        // What is there at once is there in time, but where there is none.
        Ok(said) if !budget.is_zero() => said,
        _ => not_in_time(budget),
    };
    said.took = began.elapsed();
    state.metrics.asked(said.decision, said.code, said.took);
    said
}

fn not_in_time(budget: Duration) -> Said {
    let why = format!("there was no answer within {} ms", budget.as_millis());
    Said::declined("not_in_time", why)
}

async fn answer(state: &State, who: &View, question: Question, end: Instant) -> Said {
    let (prompt, clock) = (question.prompt.clone(), question.clock.clone());
    if prompt.trim().is_empty() {
        return Said::declined("nothing_alike", "the prompt is empty");
    }
    let told = match state.matchers.ask(state, who, question, end).await {
        Asked::Told(told) => told,
        Asked::NotInTime => return not_in_time(end.saturating_duration_since(Instant::now())),
        Asked::TooLong => {
            return Said::declined("too_long", "the prompt is longer than what is compared, 32 KiB");
        }
        Asked::Nothing => {
            return Said::declined("nothing_recorded", "no scenario of this project is ready");
        }
    };
    let Some(id) = told.scenario else {
        if let Some(run) = told.plain {
            let mut said =
                Said::declined("same", "the same was asked before, and that run has no scenario yet");
            (said.plain, said.told) = (Some(run), Some(told));
            return said;
        }
        let mut said = Said::declined("nothing_alike", unexplained(&told.answer, &prompt));
        said.told = Some(told);
        return said;
    };
    let whole = match load::find(state, who, id).await {
        Ok(Some(whole)) => whole,
        Ok(None) => {
            state.matchers.forget(state, who, id);
            return Said::declined("gone", "the scenario was deleted");
        }
        Err(error) => {
            tracing::warn!(%error, "a matched scenario cannot be read");
            return Said::declined("unreadable", "the scenario cannot be read now");
        }
    };
    let Ok(stored) = whole.ready() else {
        state.matchers.changed(state, who);
        return Said::declined("gone", "the scenario is not ready any more");
    };
    let evidence = evidence(state, who, &whole).await;
    let reads = stored.steps.len() == stored.plan.steps.len()
        && stored.plan.steps.iter().all(|step| bir_calc::stored::effect(step.effect) == Effect::Read);
    let limit = if reads { READS } else { WRITES };
    let judged = told.answer.decide(limit, evidence);
    let (code, words) = told.answer.difference.map_or(("unlikely", "nothing explains it"), difference);
    if let Some(veto) = told.answer.veto {
        let words = quoted(&prompt, &told.answer.against);
        let why = against(veto);
        let why = if words.is_empty() { why } else { format!("{why}: {words}") };
        let mut said = Said::declined("veto", why);
        said.told = Some(told);
        return said;
    }
    let mut said = match judged {
        Judged::Decline => {
            let percent = told.answer.confidence * 100.0;
            let why = format!(
                "the prompt may as well ask for something else: this reading is {percent:.1} % likely, and below 50 % none is told"
            );
            Said::declined("unlikely", why)
        }
        Judged::Steer | Judged::Execute => {
            // The values that were read are those of the matcher's revision; of another one they are read again.
            let derived = match told.revision == whole.row().revision {
                true => derive::of_answer(stored, &told.answer),
                false => derive::derive(stored, &prompt, &clock),
            };
            // Nothing begins unattended that would be handed over half done.
            let by_hand = |n: usize| stored.steps.get(n).is_some_and(|step| step.edits.input_logic.is_some());
            let sure = stored.plan.is_sure(by_hand);
            let execute = judged == Judged::Execute && derived.missing.is_empty() && sure;
            let bound = told.answer.bound(evidence) * 100.0;
            let why = match (&derived.reason, execute) {
                (_, true) => format!("{words}; of such matches fewer than {bound:.1} % are wrong (95 %)"),
                (Some(reason), _) if !derived.missing.is_empty() => format!("{words}, but {reason}"),
                _ if judged == Judged::Execute => {
                    format!(
                        "{words}; but not every input is known well enough to begin it unasked: record the task once more"
                    )
                }
                _ => {
                    let lacks = lacking(&told.answer.lacks(limit, evidence));
                    format!("{words}; that is not sure enough to run it unasked: {lacks}")
                }
            };
            Said {
                decision: if execute { Decision::Execute } else { Decision::Steer },
                code: if derived.missing.is_empty() { code } else { "missing_target" },
                why,
                found: Some((whole, derived)),
                plain: None,
                told: None,
                took: Duration::ZERO,
            }
        }
    };
    said.told = Some(told);
    said
}

/// How often the scenario was the wrong one, of what was told of it. An execution in which its own logic failed, or the model went its own
/// way, counts as wrong; a decline says nothing.
async fn evidence(state: &State, who: &View, whole: &Whole) -> Evidence {
    let page = Page { limit: EVIDENCE, cursor: None };
    let told = match state.store.executions(who, Some(whole.id()), &page).await {
        Ok(told) => told.executions,
        Err(error) => {
            tracing::debug!(%error, "past executions cannot be read");
            return Evidence::default();
        }
    };
    let mut evidence = Evidence::default();
    for execution in told {
        let failed = execution.report.steps.iter().any(|step| step.status == StepVerdict::Failed);
        match execution.report.outcome {
            Outcome::SteeredFull => evidence.of += 1,
            Outcome::Diverged => evidence = evidence.and(Evidence { wrong: 1, of: 1 }),
            Outcome::FellBack | Outcome::Failed if failed => {
                evidence = evidence.and(Evidence { wrong: 1, of: 1 })
            }
            Outcome::FellBack | Outcome::Failed | Outcome::NotSteered => {}
        }
    }
    evidence
}

/// What a run that begins is answered. The run is in the store already; whatever fails here, nothing matched.
pub(crate) async fn of_run(state: &State, who: &View, run: &RunStart) -> Option<Matched> {
    let prompt = run.input.clone().filter(|prompt| !prompt.trim().is_empty())?;
    let clock = when::of_run(run);
    let question = Question { prompt: prompt.clone(), project: run.project.clone(), clock: clock.clone() };
    let began = Instant::now();
    let budget = state.settings.match_budget;
    let said = self::question(state, who, question, budget).await;
    tracing::debug!(target: "match", run = %run.id, code = said.code, decision = %said.decision, took_us = said.took.as_micros() as u64, "a prompt was matched");
    if let Some(earlier) = said.plain {
        let mut matched = payload::matched(earlier, None, None, None, 1);
        matched.why = Some(said.why);
        return Some(matched);
    }
    let (whole, derived) = said.found?;
    // Where the tools cannot be read, they do not contradict: a runner looks at them again.
    if let Ok(stored) = whole.ready()
        && let Ok(Some(tool)) = super::tools::contradicts(state, who, run, stored).await
    {
        tracing::info!(target: "match", run = %run.id, scenario = %whole.id(), tool, "a match has other tools");
        return None;
    }
    let left = budget.saturating_sub(began.elapsed());
    let derived = help::in_answer(state, who, &whole, derived, (&prompt, &clock), left).await;
    let ask = Match { run: Some(run.id), prompt: Some(prompt) };
    let left = budget.saturating_sub(began.elapsed());
    // A ticket is made even where the budget is nearly over, since the match is known: at least so long it may take.
    let ticket =
        tokio::time::timeout(left.max(TICKET), state.store.issue_ticket(who, whole.id(), &ask)).await;
    let ticket = match ticket {
        Ok(Ok(Some(ticket))) => ticket,
        Ok(Ok(None)) => return None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "no ticket can be made for a match");
            return None;
        }
        Err(_) => return None,
    };
    tracing::info!(
        target: "match",
        run = %run.id,
        scenario = %whole.id(),
        ticket = %ticket.id,
        decision = %said.decision,
        code = said.code,
        "a prompt matches"
    );
    let stored = whole.ready().ok()?;
    let row = whole.row();
    let mut matched = payload::matched(
        row.source_run.unwrap_or(run.id),
        Some((whole.id(), stored, row.revision)),
        None,
        Some(ticket.id),
        // The run that it was calculated from asked for it, too.
        ticket.matches.saturating_add(1),
    );
    let mut why = said.why;
    if !derived.filled.is_empty() {
        // The decision is what it was without them: to steer.
        why.push_str("; a model endpoint pointed at the words for: ");
        why.push_str(&derived.filled.join(", "));
    }
    (matched.decision, matched.why, matched.derived) = (Some(said.decision), Some(why), Some(derived));
    Some(matched)
}

/// A ticket may take so long, whatever is left of the budget.
const TICKET: Duration = Duration::from_millis(50);

/// The words that the values of a match were read from, by the name of the parameter.
fn words(stored: &Stored, given: &[Given], derived: &Derived, prompt: &str) -> BTreeMap<String, String> {
    let one = |given: &Given| {
        // The answer's places are the parameters in order. Those of another revision may stand for something else.
        let param = stored.plan.params.get(given.place)?;
        let same = derived.params.get(&param.name) == Some(&given.value);
        Some((param.name.clone(), prompt.get(given.span.clone()).filter(|_| same)?.to_owned()))
    };
    given.iter().filter_map(one).collect()
}

/// `POST /scenarios/match`.
pub(crate) async fn ask(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let ask: MatchAsk = json::parse(&bytes)?;
    let who = caller.view();
    let clock = when::at(ask.now.unwrap_or_else(|| state.clock.now()), ask.time_zone.as_deref())?;
    let question = Question { prompt: ask.prompt.clone(), project: ask.project, clock: clock.clone() };
    let said = self::question(&state, &who, question, ASKED).await;
    let nearest = said.told.as_ref().and_then(|told| told.nearest.clone());
    let given = said.told.as_ref().map(|told| told.answer.values.clone()).unwrap_or_default();
    let took_us = u64::try_from(said.took.as_micros()).unwrap_or(u64::MAX);
    let mut answer = MatchSaid {
        decision: said.decision,
        code: said.code.to_owned(),
        why: said.why,
        matched: None,
        words: BTreeMap::new(),
        steps: vec![],
        nearest,
        took_us,
    };
    if let Some(run) = said.plain {
        answer.matched = Some(payload::matched(run, None, None, None, 1));
    }
    if let Some((whole, derived)) = said.found {
        let row = whole.row();
        let stored = whole.ready()?.clone();
        answer.words = words(&stored, &given, &derived, &ask.prompt);
        let played = logic::with(&state, stored, move |stored, logic| {
            rehearse(stored, Values::Prompt { prompt: &ask.prompt, clock: &clock }, logic)
        });
        answer.steps = played.await?.steps;
        let run = row.source_run.unwrap_or_else(RunId::new);
        let iterations = row.matches.saturating_add(1);
        let mut matched =
            payload::matched(run, Some((whole.id(), whole.ready()?, row.revision)), None, None, iterations);
        (matched.decision, matched.why, matched.derived) =
            (Some(answer.decision), Some(answer.why.clone()), Some(derived));
        answer.matched = Some(matched);
    }
    json::ok(&answer)
}

/// `POST /scenarios/:id/derive`.
pub(crate) async fn derive(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let ask: DeriveAsk = json::parse(&bytes)?;
    let whole = load::whole(&state, &caller.view(), scenario_id(&id)?).await?;
    let stored = whole.ready()?.clone();
    let clock = when::at(ask.now.unwrap_or_else(|| state.clock.now()), ask.time_zone.as_deref())?;
    let reading = tokio::task::spawn_blocking(move || {
        let derived = derive::derive(&stored, &ask.prompt, &clock);
        (derived, ask.prompt, clock)
    });
    let (derived, prompt, clock) = reading.await.map_err(|error| {
        tracing::error!(%error, "a derivation failed");
        Problem::new(Code::Internal, "the parameters could not be read; the hub's log says why")
    })?;
    let wait = state.help.config().map_or(Duration::ZERO, |config| config.budget);
    json::ok(&help::fill(&state, &caller.view(), &whole, derived, (&prompt, &clock), wait).await)
}

/// `POST /scenarios/:id/replay`.
pub(crate) async fn replay(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let ask: ReplayAsk =
        if bytes.trim_ascii().is_empty() { ReplayAsk::default() } else { json::parse(&bytes)? };
    let whole = load::whole(&state, &caller.view(), scenario_id(&id)?).await?;
    let stored = whole.ready()?.clone();
    let clock = when::at(ask.now.unwrap_or_else(|| state.clock.now()), ask.time_zone.as_deref())?;
    let played = logic::with(&state, stored, move |stored, logic| {
        let values = match &ask.prompt {
            Some(prompt) => Values::Prompt { prompt, clock: &clock },
            None => Values::Recorded,
        };
        rehearse(stored, values, logic)
    });
    json::ok(&played.await?)
}
