//! One run: its calls, its rows in their order, and what is known of its end.

use super::call::{Call, HALF};
use super::join::{same_tool, short};
use super::{Effect, ids};
use bir_model::control::{Compared, HookCall};
use bir_model::record::EndReason;
use bir_model::{Outcome, RunId, StepId};
use bir_record::{RedactedText, SafeRecord, SafeTold};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// Calls of one run that are open at the same time; of more it only says that they were lost.
pub(super) const OPEN_CALLS: usize = 10_000;
/// Calls whose ids are remembered, so that what is told late is not taken for a new call.
const KNOWN_CALLS: usize = 20_000;
/// Calls whose hooks may still come after their end.
const LATE_HOOKS: usize = 256;
/// An end that names no call is sought for so long among those that proxies have ended, before it is one of an open call, ms.
const LATE_END: u64 = HALF;
/// Sub-agents, transcripts and turns of one run that are remembered, each.
const PARTS: usize = 1000;
/// A run is over so long after `Stop` if nothing happens in it, ms.
pub(super) const LINGER: u64 = 2000;
/// Background work that has ended tells so within so long, ms.
pub(super) const NOTIFIES: u64 = 10_000;
/// A run that goes on in the background, or without a session, is over after so long without a word, ms.
pub(super) const IDLE: u64 = 30 * 60 * 1000;
/// A turn in which nothing is heard for so long is over, ms: the process that could tell is not watched.
pub(super) const LONGEST_SILENCE: u64 = 24 * 60 * 60 * 1000;

/// A run without a prompt is not written before it is so old, ms: the prompt may be on another way.
pub(super) const PROMPT_COMES: u64 = 2000;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It takes calls.
    Open,
    /// Its transcript has been asked for, and is waited for until then.
    Asked { until: u64 },
    /// It is over. A late record opens it again.
    Ended,
}

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// The session that it is a turn of; none for a standalone run.
    pub(super) session: Option<String>,
    /// Its record, which begins each of its files.
    pub(super) start: SafeRecord,
    pub(super) started_at: u64,
    pub(super) phase: Phase,
    /// Whether somebody writes it.
    begun: bool,
    held: Option<Held>,
    next_index: u32,
    pub(super) open: BTreeMap<u32, Call>,
    by_id: BTreeMap<String, u32>,
    known: VecDeque<String>,
    late_hooks: VecDeque<LateHook>,
    /// Calls beyond [`OPEN_CALLS`].
    refused: u64,
    /// Its turn, and those that go on with it.
    pub(super) turns: Vec<String>,
    /// Sub-agents that have begun and not ended.
    pub(super) agents: BTreeSet<String>,
    pub(super) transcripts: BTreeSet<PathBuf>,
    /// The model has answered.
    pub(super) stopped: bool,
    /// Tasks that go on after the answer.
    pub(super) background: u32,
    /// One of them will tell that it has ended, by a prompt.
    pub(super) notifies: bool,
    /// The names of the tools that are said of it, by server.
    pub(super) tools: BTreeMap<String, String>,
    pub(super) answer: Option<RedactedText>,
    pub(super) error: Option<String>,
    /// Latest time that an event names, ms.
    pub(super) last_at: u64,
    /// When something was heard of it, ms.
    pub(super) heard: u64,
    /// It ends then.
    pub(super) ends_at: Option<u64>,
    /// Why it is ending, while halves of calls are outstanding.
    pub(super) over: Option<EndReason>,
    /// It does not wait for outstanding halves beyond that.
    pub(super) give_up_at: Option<u64>,
    /// Its session or turn is over: what comes late is taken, and it ends again soon.
    pub(super) wrap_up: bool,
    /// How it ended, when it has.
    pub(super) finished: Option<EndReason>,
    /// Its final answer is written.
    pub(super) answered: bool,
    /// The earliest timer that is set for it.
    pub(super) wakes_at: Option<u64>,
}

/// What is to be written of a run whose prompt is waited for.
#[derive(Debug)]
struct Held {
    until: u64,
    rows: Vec<SafeRecord>,
}

/// A call whose end was written before its hooks had told all of it.
#[derive(Debug)]
struct LateHook {
    index: u32,
    closed_at: u64,
    has_id: bool,
    agent: Option<String>,
    rendered: Option<String>,
    wire: Option<(String, String)>,
    fingerprints: [Option<Compared>; 2],
    pre: bool,
    post: bool,
}

impl LateHook {
    fn of(call: &Call, now: u64) -> Self {
        Self {
            index: call.index,
            closed_at: now,
            has_id: call.call_id.is_some(),
            agent: call.agent_id.clone(),
            rendered: call.hooked.then(|| call.tool_name.clone()),
            wire: call.wire.as_ref().map(|wire| (wire.server.clone(), wire.tool.clone())),
            fingerprints: [
                call.fingerprint.clone(),
                call.wire.as_ref().and_then(|wire| wire.fingerprint.clone()),
            ],
            pre: call.hooked,
            post: false,
        }
    }

    fn is(&self, call: &HookCall<SafeTold>) -> bool {
        let rendered = self.rendered.as_ref().is_some_and(|rendered| *rendered == short(&call.tool_name));
        let named = rendered
            || self.wire.as_ref().is_some_and(|(server, tool)| {
                same_tool(&call.tool_name, call.server.as_deref(), server, tool)
            });
        named && call.fingerprint.is_some() && self.fingerprints.contains(&call.fingerprint)
    }

    fn awaits_end(&self, call: &HookCall<SafeTold>, agent: Option<&str>) -> bool {
        self.pre && !self.post && self.agent.as_deref() == agent && self.is(call)
    }
}

impl Run {
    pub(super) fn new(
        id: RunId,
        session: Option<String>,
        start: SafeRecord,
        started_at: u64,
        now: u64,
    ) -> Self {
        Self {
            id,
            session,
            start,
            started_at,
            phase: Phase::Open,
            begun: false,
            held: None,
            next_index: 0,
            open: BTreeMap::new(),
            by_id: BTreeMap::new(),
            known: VecDeque::new(),
            late_hooks: VecDeque::new(),
            refused: 0,
            turns: Vec::new(),
            agents: BTreeSet::new(),
            transcripts: BTreeSet::new(),
            stopped: false,
            background: 0,
            notifies: false,
            tools: BTreeMap::new(),
            answer: None,
            error: None,
            last_at: started_at,
            heard: now,
            ends_at: None,
            over: None,
            give_up_at: None,
            wrap_up: false,
            finished: None,
            answered: false,
            wakes_at: None,
        }
    }

    /// Writes a record, and the run's own before it if nobody writes the run.
    pub(super) fn append(&mut self, record: SafeRecord, out: &mut Vec<Effect>) {
        if let Some(held) = &mut self.held {
            return held.rows.push(record);
        }
        self.begin(out);
        out.push(Effect::Append(record));
    }

    /// Begins the run for whoever writes it.
    pub(super) fn begin(&mut self, out: &mut Vec<Effect>) {
        if !self.begun && self.held.is_none() {
            self.begun = true;
            out.push(Effect::Begin(self.start.clone()));
        }
    }

    /// Writes nothing of the run for a while: its prompt may come.
    pub(super) fn hold(&mut self, now: u64) {
        self.held = Some(Held { until: now.saturating_add(PROMPT_COMES), rows: Vec::new() });
    }

    /// Writes what was held back.
    pub(super) fn release(&mut self, out: &mut Vec<Effect>) {
        if let Some(Held { rows, .. }) = self.held.take() {
            self.begin(out);
            out.extend(rows.into_iter().map(Effect::Append));
        }
    }

    /// Until when it is held back.
    pub(super) fn held_until(&self) -> Option<u64> {
        self.held.as_ref().map(|held| held.until)
    }

    /// Its prompt has come: this is its record, and it began then.
    pub(super) fn prompted(&mut self, start: SafeRecord, at: u64, out: &mut Vec<Effect>) {
        self.start = start;
        self.started_at = at;
        self.release(out);
    }

    /// Nobody writes it any more.
    pub(super) fn end(&mut self, out: &mut Vec<Effect>) {
        self.release(out);
        if std::mem::take(&mut self.begun) {
            out.push(Effect::End(self.id));
        }
        self.phase = Phase::Ended;
        self.over = None;
        self.ends_at = None;
        self.give_up_at = None;
        self.wrap_up = true;
    }

    /// Something new happens in it: it is not over, or not any more.
    pub(super) fn goes_on(&mut self, at: u64, now: u64) {
        self.heard_of(at, now);
        self.phase = Phase::Open;
        self.over = None;
        self.ends_at = None;
        self.give_up_at = None;
    }

    /// Something is written into it that is no call: if it was over, it ends again.
    pub(super) fn touched(&mut self, at: u64, now: u64) {
        self.heard_of(at, now);
        if self.phase == Phase::Ended {
            self.phase = Phase::Open;
        }
    }

    /// Why it ends.
    pub(super) fn reason(&self) -> EndReason {
        self.over.unwrap_or(EndReason::Closed)
    }

    /// Whether an end for this reason is one: the first is, and one that was told after an abandoned one.
    pub(super) fn finishes(&self, reason: EndReason) -> bool {
        match self.finished {
            None => true,
            Some(before) => before == EndReason::Abandoned && reason != EndReason::Abandoned,
        }
    }

    /// Something is told of it.
    pub(super) fn heard_of(&mut self, at: u64, now: u64) {
        self.last_at = self.last_at.max(at);
        self.heard = self.heard.max(now);
    }

    /// A sub-agent began.
    pub(super) fn agent_began(&mut self, agent: &str) {
        if self.agents.len() < PARTS {
            self.agents.insert(agent.to_owned());
        }
    }

    /// What happened in it stands there too.
    pub(super) fn transcribed(&mut self, path: Option<PathBuf>) {
        if self.transcripts.len() < PARTS {
            self.transcripts.extend(path);
        }
    }

    /// A turn is part of it.
    pub(super) fn has_turn(&mut self, turn: &str) {
        if self.turns.len() < PARTS {
            self.turns.push(turn.to_owned());
        }
    }

    /// The indexes of a further call; none when too many are open.
    pub(super) fn place(&mut self) -> Option<u32> {
        if self.open.len() >= OPEN_CALLS {
            self.refused += 1;
            return None;
        }
        let index = self.next_index;
        self.next_index = index.checked_add(2)?;
        Some(index)
    }

    /// The index of a row that is no call's.
    pub(super) fn place_row(&mut self) -> u32 {
        let index = self.next_index;
        self.next_index = index.saturating_add(1);
        index
    }

    /// The id of a call's first row.
    pub(super) fn row_id(&self, call_id: Option<&str>, index: u32) -> StepId {
        match call_id {
            Some(id) => ids::step(self.id, &["id", id]),
            None => ids::step(self.id, &["index", &index.to_string()]),
        }
    }

    /// How many calls found no room.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// The call is known under this id, even when it has ended.
    pub(super) fn know(&mut self, id: &str, index: u32) {
        if self.by_id.insert(id.to_owned(), index).is_none() {
            self.known.push_back(id.to_owned());
        }
        if self.known.len() > KNOWN_CALLS
            && let Some(oldest) = self.known.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    /// The call with this id.
    pub(super) fn by_id(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// Takes a call out; whoever takes it writes its end.
    pub(super) fn close(&mut self, index: u32, now: u64) -> Option<Call> {
        let call = self.open.remove(&index)?;
        // With an id too: some hosts give one to the beginning alone, others send none to the proxy.
        if call.shown.is_none() {
            if self.late_hooks.len() == LATE_HOOKS {
                self.late_hooks.pop_front();
            }
            self.late_hooks.push_back(LateHook::of(&call, now));
        }
        Some(call)
    }

    /// The call whose end is told without an id: of those with this tool and these arguments the oldest, one that its proxy has
    /// ended before one that is open, and that before one which its proxy knows to go on.
    pub(super) fn ended_call(
        &mut self,
        call: &HookCall<SafeTold>,
        agent: Option<&str>,
        now: u64,
    ) -> Option<u32> {
        let open = self.open.values().filter(|open| {
            open.awaits_end(call, agent) && open.fingerprint == call.fingerprint && call.fingerprint.is_some()
        });
        let open = open.map(|open| (1 + u8::from(open.is_on_the_wire()), open.index));
        let late = self.late_hooks.iter().filter(|late| late.awaits_end(call, agent));
        let late = late.map(|late| {
            let rank = if now.saturating_sub(late.closed_at) <= LATE_END { 0 } else { 3 };
            (rank, late.index)
        });
        let (_, index) = open.chain(late).min()?;
        self.has_been_shown(index);
        Some(index)
    }

    /// A hook has told how this call ended.
    pub(super) fn has_been_shown(&mut self, index: u32) {
        if let Some(late) = self.late_hooks.iter_mut().find(|late| late.index == index) {
            late.post = true;
        }
    }

    /// The call of which a hook tells for the first time when its end is written already.
    pub(super) fn late_beginning(&mut self, call: &HookCall<SafeTold>, ended: bool) -> Option<u32> {
        let may_be = |late: &LateHook| !(late.pre || late.has_id && call.call_id.is_some()) && late.is(call);
        let late = self.late_hooks.iter_mut().find(|late| may_be(late))?;
        late.pre = true;
        late.post = ended;
        Some(late.index)
    }

    /// Whether a proxy may still tell the end of one of its calls.
    pub(super) fn outstanding(&self) -> bool {
        self.open.values().any(Call::outstanding)
    }

    /// Calls whose end nobody told, as the transcript names them.
    pub(super) fn open_calls(&self) -> Vec<String> {
        self.open.values().filter_map(|call| call.call_id.clone()).collect()
    }

    /// When it is to be looked at.
    pub(super) fn due(&self) -> Option<u64> {
        let ends = match self.phase {
            Phase::Open if self.over.is_some() => self.give_up_at,
            Phase::Open => Some(self.ends_at.unwrap_or(u64::MAX).min(self.silent_until())),
            Phase::Asked { until } => Some(until),
            Phase::Ended => None,
        };
        ends.into_iter().chain(self.held_until()).min()
    }

    /// When it is over if nothing is heard of it.
    pub(super) fn silent_until(&self) -> u64 {
        let alone = self.session.is_none() && self.open.is_empty();
        let silence = if self.stopped || self.wrap_up || alone { IDLE } else { LONGEST_SILENCE };
        self.heard.saturating_add(silence)
    }

    /// Whether nothing but a further word of somebody keeps it open: then it ends soon.
    pub(super) fn may_end(&self) -> bool {
        self.open.is_empty() && (self.wrap_up || self.stopped && self.background == 0)
    }

    /// The outcome that the transcript tells of a call.
    pub(super) fn told(outcomes: &[(String, Outcome)], call: &Call) -> Option<Outcome> {
        let id = call.call_id.as_deref()?;
        outcomes.iter().find(|(named, _)| named == id).map(|(_, outcome)| *outcome)
    }
}
