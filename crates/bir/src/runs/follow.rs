//! `bir runs follow`: calls as they happen.
//!
//! ```text
//!  one run    stream of the run ── step ─▶ row ─▶ shown, once each
//!  all runs   stream of changes ── run ──▶ rows from the first that was not shown ─▶ shown, once each
//!  lost       pause of 1 s, doubling to 15 s, and again from the last mark
//! ```
//!
//! Rows of calls that overlap come in another order than their indexes, and some come twice after a break. [`Seen`] keeps which
//! were shown.

use super::args::FollowArgs;
use super::call::{Call, calls};
use super::wire::{Summary, read};
use super::{api, find, payload, show};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use crate::say;
use bir_model::record::{Step, StepType};
use bir_model::{RunId, Tier};
use bir_record::hub::{EventStream, HubClient, HubError, HubEvent};
use console::truncate_str;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Exit status of a program that was interrupted: 128 and the number of SIGINT.
#[cfg(unix)]
const INTERRUPTED: i32 = 130;
/// The first pause after a break, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// A stream without even a heartbeat for so long is lost.
const SILENCE: Duration = Duration::from_secs(60);
/// Runs that are kept in mind; the oldest are forgotten.
const REMEMBERED: usize = 1_000;
/// Newest runs that are looked at after a break.
const RECENT: u32 = 100;
/// So much before a break is looked at again: clocks differ, and what was on its way was not shown.
const OVERLAP_MS: u64 = 60_000;
/// Pages of rows that one change may bring.
const PAGES: usize = 100;

/// Which rows of a run were shown.
#[derive(Debug, Default)]
struct Seen {
    /// Every row below.
    below: u64,
    /// And these.
    beyond: BTreeSet<u64>,
}

impl Seen {
    /// False: it was shown already.
    fn first_time(&mut self, index: u64) -> bool {
        if index < self.below || !self.beyond.insert(index) {
            return false;
        }
        while self.beyond.remove(&self.below) {
            self.below += 1;
        }
        true
    }
}

/// Follows until the run is over or a person has seen enough.
pub(crate) async fn run(home: &Home, args: &FollowArgs) -> Result<(), CommandError> {
    interruptible()?;
    let mut client = home.swept().await?;
    match &args.id {
        Some(text) => {
            let id = find::find(home, &mut client, text).await?;
            one(home, client, id, args.json).await
        }
        None => all(home, client, args.json).await,
    }
}

/// Ctrl-C ends the program at once; nothing is left to be tidied.
#[cfg(unix)]
fn interruptible() -> Result<(), CommandError> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])
        .map_err(|e| CommandError::failed(format!("cannot wait for Ctrl-C: {e}")))?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(INTERRUPTED);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is something that can fail")]
fn interruptible() -> Result<(), CommandError> {
    // The system ends a program at Ctrl-C by itself.
    Ok(())
}

/// Whether trying again may help: the hub is away, restarts, or has no room for another stream.
fn passes(e: &HubError) -> bool {
    match e {
        HubError::Unreachable { .. } | HubError::Timeout { .. } => true,
        HubError::Refused { status, .. } => matches!(status, 429 | 500..),
        _ => false,
    }
}

/// Says once that the hub is away, and waits a little longer each time.
struct Patience {
    pause: Duration,
}

impl Patience {
    fn new() -> Self {
        Self { pause: PAUSE.0 }
    }

    async fn wait(&mut self, why: &str) {
        if self.pause == PAUSE.0 {
            say(format_args!("{why}; trying again until it is back"));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE.1);
    }

    fn back(&mut self) {
        if self.pause > PAUSE.0 {
            say("the hub is back");
        }
        self.pause = PAUSE.0;
    }
}

async fn next(stream: &mut EventStream) -> Result<Option<HubEvent>, HubError> {
    match tokio::time::timeout(SILENCE, stream.next()).await {
        Ok(event) => event,
        // Heartbeats are no events, so a quiet run looks the same as a lost connection; opening it again costs little.
        Err(_) => Ok(None),
    }
}

async fn one(home: &Home, mut client: HubClient, id: RunId, json: bool) -> Result<(), CommandError> {
    let (mut seen, mut shown) = (Seen::default(), Shown::new(json, false));
    let (mut mark, mut patience) = (None::<String>, Patience::new());
    let route = format!("/recordings/runs/{id}/stream");
    loop {
        let mut stream = match client.events(&route, mark.as_deref()).await {
            Ok(stream) => stream,
            Err(e) if passes(&e) => {
                patience.wait(&e.to_string()).await;
                client = home.client().unwrap_or(client);
                continue;
            }
            Err(e) => return Err(show::missing(e.into(), id)),
        };
        patience.back();
        loop {
            match next(&mut stream).await {
                Ok(Some(event)) => {
                    if event.id.is_some() {
                        mark.clone_from(&event.id);
                    }
                    let Ok(data) = serde_json::from_str::<Value>(&event.data) else { continue };
                    match event.name.as_str() {
                        "step" if seen.first_time(data["stepIndex"].as_u64().unwrap_or_default()) => {
                            shown.row(&data)?;
                        }
                        "run" => shown.run(&data)?,
                        "end" => {
                            // The answer comes with the end, and the event does not hold it.
                            return over(&mut client, &read(&data)?, &mut shown).await;
                        }
                        _ => {}
                    }
                }
                Ok(None) => break,
                Err(e) if passes(&e) => {
                    patience.wait(&e.to_string()).await;
                    break;
                }
                Err(e) => return Err(e.into()),
            }
        }
        // Opened again at once only where it had lasted; a hub that ends every stream is not asked without a pause.
        tokio::time::sleep(PAUSE.0).await;
    }
}

async fn all(home: &Home, mut client: HubClient, json: bool) -> Result<(), CommandError> {
    let mut runs: HashMap<RunId, Seen> = HashMap::new();
    let (mut shown, mut patience) = (Shown::new(json, true), Patience::new());
    // None: the first time.
    let mut away_since = None::<u64>;
    loop {
        let mut stream = match client.events("/recordings/stream", None).await {
            Ok(stream) => stream,
            Err(e) if passes(&e) => {
                patience.wait(&e.to_string()).await;
                client = home.client().unwrap_or(client);
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        patience.back();
        // What is there when a person begins to look on is not news; what came during a break is.
        for run in api::runs(&mut client, &[], RECENT).await? {
            let run: Summary = read(&run)?;
            match away_since {
                None if run.ended_at.is_none() => {
                    let old = rows(&mut client, run.id, 0).await?;
                    let seen = runs.entry(run.id).or_default();
                    for row in &old {
                        seen.first_time(row["stepIndex"].as_u64().unwrap_or_default());
                    }
                }
                Some(since) if run.last_at >= since => {
                    shown.began(&run);
                    news(&mut client, &run, &mut runs, &mut shown).await?;
                    over(&mut client, &run, &mut shown).await?;
                }
                _ => {}
            }
        }
        if away_since.is_none() && !json {
            say("waiting for calls; Ctrl-C ends this");
        }
        loop {
            match next(&mut stream).await {
                Ok(Some(event)) if event.name == "run" => {
                    let Ok(data) = serde_json::from_str::<Value>(&event.data) else { continue };
                    shown.run(&data)?;
                    let run = read(&data)?;
                    let told = match news(&mut client, &run, &mut runs, &mut shown).await {
                        Ok(()) => over(&mut client, &run, &mut shown).await,
                        failed => failed,
                    };
                    match told {
                        Err(CommandError::Hub(e)) if passes(&e) || e.status() == Some(404) => break,
                        other => other?,
                    }
                }
                Ok(Some(event)) if event.name == "resync" => break,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(e) if passes(&e) => {
                    patience.wait(&e.to_string()).await;
                    break;
                }
                Err(e) => return Err(e.into()),
            }
        }
        away_since = Some(time::now_ms().saturating_sub(OVERLAP_MS));
        tokio::time::sleep(PAUSE.0).await;
    }
}

/// Shows once that a run is over, and its answer, which comes with the end and is in no event.
async fn over(client: &mut HubClient, run: &Summary, shown: &mut Shown) -> Result<(), CommandError> {
    if shown.json || run.ended_at.is_none() || !shown.over.insert(run.id) {
        return Ok(());
    }
    if shown.over.len() > REMEMBERED {
        // Ids sort by their age.
        shown.over.pop_first();
    }
    let head = api::head(client, run.id).await?;
    Ok(out::print(&shown.end(run, head["finalOutput"].as_str(), out::columns()))?)
}

/// Shows the rows of a run that were not shown.
async fn news(
    client: &mut HubClient,
    run: &Summary,
    runs: &mut HashMap<RunId, Seen>,
    shown: &mut Shown,
) -> Result<(), CommandError> {
    if runs.len() >= REMEMBERED && !runs.contains_key(&run.id) {
        // Ids sort by their age.
        if let Some(oldest) = runs.keys().min().copied() {
            runs.remove(&oldest);
        }
    }
    let from = runs.entry(run.id).or_default().below;
    for row in rows(client, run.id, from).await? {
        let index = row["stepIndex"].as_u64().unwrap_or_default();
        if runs.entry(run.id).or_default().first_time(index) {
            shown.row(&row)?;
        }
    }
    Ok(())
}

async fn rows(client: &mut HubClient, id: RunId, from: u64) -> Result<Vec<Value>, CommandError> {
    let (mut all, mut next) = (Vec::new(), Some(from));
    for _ in 0..PAGES {
        let Some(from) = next else { break };
        let (rows, after) = api::rows(client, id, from).await?;
        all.extend(rows);
        next = after.filter(|after| *after > from);
    }
    Ok(all)
}

/// What is on the screen.
struct Shown {
    json: bool,
    /// Rows of several runs, so each names its own.
    several: bool,
    /// When each run began, and how it is seen.
    began: HashMap<RunId, (u64, Tier)>,
    /// Calls that have not ended.
    open: HashMap<(RunId, u32), Call>,
    /// Runs whose end was shown.
    over: BTreeSet<RunId>,
}

impl Shown {
    fn new(json: bool, several: bool) -> Self {
        Self { json, several, began: HashMap::new(), open: HashMap::new(), over: BTreeSet::new() }
    }

    /// A run that was not seen before shows its prompt.
    fn run(&mut self, data: &Value) -> Result<(), CommandError> {
        let Ok(run) = read::<Summary>(data) else { return Ok(()) };
        let line = if self.began.contains_key(&run.id) { None } else { self.prompt(&run, out::columns()) };
        self.began(&run);
        match line {
            Some(line) if !self.json => Ok(out::print(&line)?),
            _ => Ok(()),
        }
    }

    fn prompt(&self, run: &Summary, width: Option<usize>) -> Option<String> {
        let text = run.input.as_deref()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let id = self.prefix(run.id);
        let line = format!("{id}{} {}", paint::dim("prompt"), safe::line(&text));
        Some(format!("{}\n", truncate_str(&line, width.unwrap_or(usize::MAX), "…")))
    }

    fn began(&mut self, run: &Summary) {
        if self.began.len() >= REMEMBERED {
            self.began.clear();
        }
        self.began.insert(run.id, (run.started_at, run.tier));
    }

    fn row(&mut self, row: &Value) -> Result<(), CommandError> {
        if self.json {
            return Ok(out::raw(format!("{row}\n").as_bytes())?);
        }
        let step: Step = read(row)?;
        let line = self.line(&step, row, out::columns())?;
        Ok(out::print(&line)?)
    }

    /// One line for the beginning of a call, and one for its end.
    fn line(&mut self, step: &Step, row: &Value, width: Option<usize>) -> Result<String, CommandError> {
        let (began, tier) = self.began.get(&step.run_id).copied().unwrap_or((step.at, Tier::Standalone));
        let place = (step.run_id, step.step_index / 2);
        let begin = self.open.remove(&place);
        let call = calls(std::slice::from_ref(row))?.into_iter().next().unwrap_or_default();
        let call = Call { begin: call.begin.or_else(|| begin.and_then(|b| b.begin)), end: call.end };
        let run = self.prefix(step.run_id);
        let (arrow, payload) = match step.step_type {
            StepType::ToolSelected => ("→", call.input()),
            StepType::ToolResponse => ("←", call.output()),
        };
        let payload = payload.map(payload::folded).unwrap_or_default();
        let line = format!("{run}{}  {} {payload}", show::line(&call, began, tier), paint::dim(arrow));
        if step.step_type == StepType::ToolSelected && self.open.len() < REMEMBERED {
            self.open.insert(place, call);
        }
        Ok(format!("{}\n", truncate_str(&line, width.unwrap_or(usize::MAX), "…")))
    }

    /// The answer, where there is one, and that the run is over.
    fn end(&self, run: &Summary, answer: Option<&str>, width: Option<usize>) -> String {
        let id = self.prefix(run.id);
        let mut lines = String::new();
        if let Some(answer) = answer {
            let folded = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = format!("{id}{} {}", paint::dim("answer"), safe::line(&folded));
            lines = format!("{}\n", truncate_str(&line, width.unwrap_or(usize::MAX), "…"));
        }
        let calls = size::count(run.calls.into(), "call");
        let over = format!("the run is over: {calls} in {}", run.took(run.last_at));
        format!("{lines}{id}{}\n", paint::dim(&over))
    }

    /// The run, where several are shown.
    fn prefix(&self, id: RunId) -> String {
        if self.several { format!("{}  ", paint::name(&find::short_one(id))) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::samples;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_row_is_shown_once_in_whatever_order_it_comes() {
        let mut seen = Seen::default();
        let fresh: Vec<bool> = [0, 2, 0, 1, 2, 3, 1].into_iter().map(|i| seen.first_time(i)).collect();
        assert_eq!(fresh, [true, true, false, true, false, true, false]);
        assert_eq!((seen.below, seen.beyond.len()), (4, 0));
    }

    #[test]
    fn a_call_is_a_line_when_it_begins_and_one_when_it_ends() {
        let mut shown = Shown::new(false, true);
        let run = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "bound", "startedAt": 1_000,
            "input": "do\n it\u{1b}"});
        let prompt = shown.prompt(&read(&run).unwrap(), None).unwrap();
        assert_eq!(console::strip_ansi_codes(&prompt), "019700000000  prompt do it␛\n");
        shown.began(&read(&run).unwrap());
        let rows = samples::rows(1, "echo\u{9b}", json!({"m": 1}), samples::text("one\ntwo"), "ok");
        let lines: Vec<String> = rows
            .iter()
            .map(|row| {
                console::strip_ansi_codes(&shown.line(&read(row).unwrap(), row, None).unwrap()).into_owned()
            })
            .collect();
        assert_eq!(
            lines,
            [
                "019700000000     +0.100          …  running     s/echo\\u{9b}  → {\"m\":1}\n",
                "019700000000     +0.100     5.2 ms  ok          s/echo\\u{9b}  ← one two\n",
            ]
        );
        assert!(shown.open.is_empty());
        let ended = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "bound", "startedAt": 1_000,
            "endedAt": 2_000, "lastAt": 2_000, "calls": 1});
        let end = shown.end(&read(&ended).unwrap(), Some("do\nne\u{1b}"), None);
        assert_eq!(
            console::strip_ansi_codes(&end),
            "019700000000  answer do ne␛\n019700000000  the run is over: 1 call in 1.00 s\n"
        );
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        let url = String::from("http://127.0.0.1:1");
        assert!(passes(&HubError::Unreachable { url: url.clone(), why: String::new() }));
        for (status, again) in [(401, false), (404, false), (429, true), (503, true)] {
            let e = HubError::Refused { status, problem: Box::default(), retry_after: None };
            assert_eq!(passes(&e), again, "{status}");
        }
    }
}
