//! From calls to the rows of a standalone run. Pure: what is kept goes to a [`Keep`], secrets are taken out by a [`Scrub`],
//! the time comes with each event.
//!
//! ```text
//!   first call ─▶ run ─▶ tool_selected 0 · tool_selected 2 · tool_response 3 · tool_response 1 · … ─▶ finish
//!                         call n takes the rows 2n and 2n+1, in whichever order the calls end
//! ```
//!
//! A run ends with the connection, when the recorder is switched off, or after [`IDLE`] without a call; a call that is open
//! then ends as `unknown`. Where a control server takes over, the run ends with the last of its calls. The next call begins another run. A call whose beginning was not seen is not recorded.

use super::keep::{Keep, Scrub};
use super::rows::{Call, MOST_LEGS, name, parties};
use super::told::{Opening, Told, Value, What};
use crate::tools::SafeTools;
use crate::{RunFacts, SafeLeg, SafePayload, SafeRecord, Zone};
use bir_model::record::{EndReason, Finish, HostInfo, Lost, RunStart, ServerInfo, StepType};
use bir_model::{Outcome, RunId, StepId, Tier};
use bir_tap::{CallKey, Moment};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run without a call for so long is over.
pub(super) const IDLE: Duration = Duration::from_secs(30 * 60);

/// What records, as the seeds name it.
const FRAMEWORK: &str = "baseinstrunner";

/// Why something was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Backlog,
    Disk,
    /// Nothing that is known of: the control server is gone, and what it was told stands in another run.
    Downgrade,
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Disk => "disk",
            Self::Downgrade => "downgrade",
        }
    }
}

pub(super) struct Runs {
    server: String,
    project: Option<String>,
    opening: Option<Opening>,
    /// Which tools the server declares, where the host has asked.
    tools: Option<Arc<SafeTools>>,
    /// The hash of those that were last written whole.
    written_tools: Option<String>,
    run: Option<Run>,
    /// Lost while there was no run to say it in.
    unsaid: BTreeMap<Why, u64>,
}

struct Run {
    id: RunId,
    next_call: u32,
    open: BTreeMap<CallKey, Open>,
    /// When the last call began or ended.
    last: Instant,
    /// The hash of the tools that are said of it.
    tools: Option<String>,
    /// It takes no new calls, and is over with the last that is open.
    closing: bool,
}

struct Open {
    call: Call,
    began: Moment,
    legs: Vec<SafeLeg>,
}

/// Bytes of a path that a hub takes.
const LONGEST_PROJECT: usize = 4096;

impl Runs {
    pub(super) fn new(server: String, project: Option<String>) -> Self {
        let project = project.map(|mut path| {
            path.truncate(path.floor_char_boundary(LONGEST_PROJECT));
            path
        });
        Self {
            server,
            project,
            opening: None,
            tools: None,
            written_tools: None,
            run: None,
            unsaid: BTreeMap::new(),
        }
    }

    /// The run under way.
    pub(super) fn current(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id)
    }

    /// How the connection was opened; counts for the next run.
    pub(super) fn opened(&mut self, opening: Opening) {
        self.opening = Some(opening);
    }

    /// Which tools the server declares; counts from the next call on.
    pub(super) fn declared(&mut self, tools: Arc<SafeTools>) {
        self.tools = Some(tools);
    }

    /// Who speaks with whom.
    pub(super) fn parties(&self, scrub: &impl Scrub) -> (Option<HostInfo>, ServerInfo) {
        let (host, server) = parties(scrub, &self.server, self.opening.as_ref());
        (host, ServerInfo { tools: self.tools.as_ref().map(|tools| tools.hash().to_owned()), ..server })
    }

    /// Whether this call is open in the run.
    pub(super) fn has(&self, call: CallKey) -> bool {
        self.run.as_ref().is_some_and(|run| run.open.contains_key(&call))
    }

    /// What begins from now on is told to a control server; what is open ends here.
    pub(super) fn leaves(&mut self, at: Moment, keep: &mut impl Keep) {
        if let Some(run) = &mut self.run {
            run.closing = true;
            self.end_if_left(at, keep);
        }
    }

    /// The control server is gone, and what begins from now on stands in a run of its own, which says so.
    pub(super) fn downgraded(&mut self) {
        self.unsaid.entry(Why::Downgrade).or_default();
        if let Some(run) = &mut self.run {
            run.closing = false;
        }
    }

    /// One event of a call.
    pub(super) fn told(&mut self, told: Told, scrub: &impl Scrub, keep: &mut impl Keep) {
        let Told { call, at, what } = told;
        match what {
            What::Began { tool, host_call_id, arguments, replayed } => {
                self.end_if_idle(at, keep);
                if !scrub.excludes(&tool, arguments.as_ref().map(Value::raw)) {
                    let (id, arguments) = (host_call_id.as_deref(), arguments.as_ref());
                    self.began(call, at, &tool, id, arguments, replayed, scrub, keep);
                }
            }
            What::LegEnded { leg, result } => {
                let Some(open) = self.open(call, at) else { return };
                let asked = scrub.payload(result.raw());
                let leg = SafeLeg { leg, asked, asked_at: at.epoch_ms, answered: None, answered_at: None };
                if open.legs.len() == MOST_LEGS {
                    open.legs.pop();
                }
                open.legs.push(leg);
            }
            What::LegBegan { input } => {
                let Some(open) = self.open(call, at) else { return };
                if let Some(leg) = open.legs.last_mut() {
                    leg.answered = input.map(|input| scrub.payload(input.raw()));
                    leg.answered_at = Some(at.epoch_ms);
                }
            }
            What::Ended { outcome, answer, ambiguous } => {
                if self.run.as_ref().is_none_or(|run| !run.open.contains_key(&call)) {
                    return;
                }
                let answer = Some(scrub.payload(answer.raw()));
                let payload = match outcome {
                    Outcome::RpcError => SafePayload { error: answer, ..SafePayload::default() },
                    _ => SafePayload { output: answer, ..SafePayload::default() },
                };
                self.ended(call, at, outcome, ambiguous, payload, keep);
            }
            What::Cancelled => {
                self.ended(call, at, Outcome::Cancelled, false, SafePayload::default(), keep);
            }
            What::Lost => self.ended(call, at, Outcome::Unknown, false, SafePayload::default(), keep),
        }
    }

    /// Calls of which something did not fit, and those that were open: how they ended is not known.
    pub(super) fn lost(&mut self, calls: u64, cut: &[CallKey], at: Moment, keep: &mut impl Keep) {
        for &call in cut {
            self.ended(call, at, Outcome::Unknown, false, SafePayload::default(), keep);
        }
        if calls > 0 {
            *self.unsaid.entry(Why::Backlog).or_default() += calls;
            self.say_losses(at, keep);
        }
    }

    /// A call that nothing could keep.
    pub(super) fn unkept(&mut self, calls: u64) {
        if calls > 0 {
            *self.unsaid.entry(Why::Disk).or_default() += calls;
        }
    }

    /// Calls that were lost and stand in no run, because none could begin since.
    pub(super) fn unsaid(&self) -> u64 {
        self.unsaid.values().sum()
    }

    /// When the run is over if nothing happens before.
    pub(super) fn idle_at(&self) -> Option<Instant> {
        self.run.as_ref().filter(|run| run.open.is_empty()).map(|run| run.last + IDLE)
    }

    /// Ends the run if its time is over.
    pub(super) fn end_if_idle(&mut self, now: Moment, keep: &mut impl Keep) {
        if self.idle_at().is_some_and(|at| now.instant >= at) {
            self.finish(EndReason::Idle, now, keep);
        }
    }

    /// Ends the run; calls that are open end as `unknown`.
    pub(super) fn finish(&mut self, reason: EndReason, at: Moment, keep: &mut impl Keep) {
        let Some(mut run) = self.run.take() else { return };
        for open in std::mem::take(&mut run.open).into_values() {
            let mut row = open.call.row(run.id, &self.server, StepType::ToolResponse, at.epoch_ms);
            row.outcome = Some(Outcome::Unknown);
            keep.append(SafeRecord::step(row, SafePayload { legs: open.legs, ..SafePayload::default() }));
        }
        let finish = Finish { run_id: run.id, at: at.epoch_ms, reason, final_output: None, metrics: None };
        keep.append(SafeRecord::finish(finish, None));
        keep.end();
    }

    #[expect(clippy::too_many_arguments, reason = "one call's parts, as they were told")]
    fn began(
        &mut self,
        key: CallKey,
        at: Moment,
        tool: &str,
        host_call_id: Option<&str>,
        arguments: Option<&Value>,
        replayed: bool,
        scrub: &impl Scrub,
        keep: &mut impl Keep,
    ) {
        if self.run.is_none() && !self.begin_run(at, scrub, keep) {
            return self.unkept(1);
        }
        self.say_losses(at, keep);
        self.say_tools(at, keep);
        let Some(run) = &mut self.run else { return };
        let call = Call {
            selected: StepId::new(),
            number: run.next_call,
            tool: name(scrub, tool),
            call_id: host_call_id.map(|id| name(scrub, id)),
            replayed,
        };
        run.next_call = run.next_call.saturating_add(1);
        run.last = at.instant;
        let row = call.row(run.id, &self.server, StepType::ToolSelected, at.epoch_ms);
        let input = arguments.map(|arguments| scrub.payload(arguments.raw()));
        keep.append(SafeRecord::step(row, SafePayload { input, ..SafePayload::default() }));
        run.open.insert(key, Open { call, began: at, legs: Vec::new() });
    }

    fn begin_run(&mut self, at: Moment, scrub: &impl Scrub, keep: &mut impl Keep) -> bool {
        let id = RunId::new();
        let (host, server) = self.parties(scrub);
        let start = RunStart {
            id,
            tier: Tier::Standalone,
            framework: Some(FRAMEWORK.into()),
            input: None,
            started_at: at.epoch_ms,
            project: self.project.clone(),
            host,
            servers: vec![server],
            session_id: None,
            metadata: BTreeMap::new(),
        };
        let facts = RunFacts { zone: Zone::system(), ..RunFacts::default() };
        if !keep.begin(SafeRecord::run_with(start, None, facts)) {
            return false;
        }
        self.run = Some(Run {
            id,
            next_call: 0,
            open: BTreeMap::new(),
            last: at.instant,
            tools: None,
            closing: false,
        });
        true
    }

    fn ended(
        &mut self,
        key: CallKey,
        at: Moment,
        outcome: Outcome,
        ambiguous: bool,
        payload: SafePayload,
        keep: &mut impl Keep,
    ) {
        let Some(run) = &mut self.run else { return };
        let Some(open) = run.open.remove(&key) else { return };
        run.last = at.instant;
        let mut row = open.call.row(run.id, &self.server, StepType::ToolResponse, at.epoch_ms);
        row.outcome = Some(outcome);
        row.duration_us = Some(u64::try_from(at.since(&open.began).as_micros()).unwrap_or(u64::MAX));
        row.ambiguous = ambiguous;
        keep.append(SafeRecord::step(row, SafePayload { legs: open.legs, ..payload }));
        self.end_if_left(at, keep);
    }

    fn end_if_left(&mut self, at: Moment, keep: &mut impl Keep) {
        if self.run.as_ref().is_some_and(|run| run.closing && run.open.is_empty()) {
            self.finish(EndReason::Closed, at, keep);
        }
    }

    fn open(&mut self, call: CallKey, at: Moment) -> Option<&mut Open> {
        let run = self.run.as_mut()?;
        let open = run.open.get_mut(&call)?;
        run.last = at.instant;
        Some(open)
    }

    /// Writes which tools there are, before the first call that was made with them. The set itself is written once for each
    /// content, and again where the server has gone back to it.
    fn say_tools(&mut self, at: Moment, keep: &mut impl Keep) {
        let (Some(run), Some(tools)) = (&mut self.run, &self.tools) else { return };
        if run.tools.as_deref() == Some(tools.hash()) {
            return;
        }
        run.tools = Some(tools.hash().to_owned());
        let whole = self.written_tools.as_deref() != Some(tools.hash());
        self.written_tools.clone_from(&run.tools);
        let (server, at) = (self.server.clone(), at.epoch_ms);
        keep.append(if whole {
            SafeRecord::tools(run.id, server, (**tools).clone(), at)
        } else {
            SafeRecord::tools_named(run.id, server, tools.hash().to_owned(), at)
        });
    }

    /// Writes what was lost into the run, once there is one.
    fn say_losses(&mut self, at: Moment, keep: &mut impl Keep) {
        let Some(run) = &self.run else { return };
        for (why, calls) in std::mem::take(&mut self.unsaid) {
            let (id, reason) = (StepId::new(), why.as_str().to_owned());
            let lost = Lost { run_id: run.id, id, calls, records: 0, reason, at: at.epoch_ms };
            keep.append(SafeRecord::lost(lost));
        }
    }
}
