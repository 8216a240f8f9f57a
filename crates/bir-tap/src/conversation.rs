use crate::in_flight::{Asked, InFlight, OpenCall};
use crate::parked::Parked;
use crate::{CallKey, Clock, Event, Moment, Payload, Tap};
use bir_model::{Direction, Era, Outcome};
use bir_wire::{Envelope, FaultKind, Field, Kind, Message};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most requests of the upstream that are followed at once.
const MOST_ASKED: usize = 1024;

/// Longest id that is followed, in bytes. Nobody's ids are longer, and what is followed stays in memory.
const LONGEST_ID: usize = 4 * 1024;

/// Longest `clientInfo` that is kept until the opening is answered, in bytes.
const LONGEST_CLIENT: usize = 16 * 1024;

/// A host request without an answer, as the wire wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The raw JSON id.
    pub id: Vec<u8>,
    /// What it asks for.
    pub asked: Asked,
}

/// Longest `params` of a `tools/list` that are kept until it is answered, in bytes.
const LONGEST_LIST_PARAMS: usize = 16 * 1024;

/// One connection between a host and an upstream, seen from the relay. Owns what is in flight and tells the tap.
pub struct Conversation<C> {
    clock: C,
    tap: Option<Box<dyn Tap>>,
    in_flight: InFlight,
    parked: Parked,
    /// Ids of the upstream's requests that the host has not answered.
    asked_host: VecDeque<Vec<u8>>,
    /// Ids of such requests whose upstream is gone: their answers are nobody's any more.
    orphans: VecDeque<Vec<u8>>,
    pub(crate) next_call: u64,
    lost_tap: bool,
    /// A request that is no opening has passed.
    asked_more: bool,
    era: Option<Era>,
    /// How the host named itself in the opening that is in flight; kept for a tap alone.
    client: Option<Vec<u8>>,
    /// Ids of the calls of the next message.
    names: VecDeque<Option<String>>,
}

impl<C: Clock> Conversation<C> {
    /// A conversation that nobody listens to; it follows requests and nothing else.
    pub fn new(clock: C) -> Self {
        Self {
            clock,
            tap: None,
            in_flight: InFlight::new(),
            parked: Parked::default(),
            asked_host: VecDeque::new(),
            orphans: VecDeque::new(),
            next_call: 0,
            lost_tap: false,
            asked_more: false,
            era: None,
            client: None,
            names: VecDeque::new(),
        }
    }

    /// The calls of the next message that is shown have these ids, in the order of its `tools/call` requests; they count
    /// before those that the message itself holds.
    pub fn name_calls(&mut self, ids: impl IntoIterator<Item = Option<String>>) {
        self.names = ids.into_iter().collect();
    }

    /// Attaches the recorder.
    pub fn attach(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// Whether the tap panicked since this was last asked. It is gone then; the relay goes on without it.
    pub fn lost_tap(&mut self) -> bool {
        std::mem::take(&mut self.lost_tap)
    }

    /// By which handshake the host opened, once the upstream accepted it.
    pub fn era(&self) -> Option<Era> {
        self.era
    }

    /// Whether the host is past its opening: the upstream accepted one, or the host asked for something else and has none
    /// in flight. Before that nothing may be answered in the upstream's name, so that the host's own retry works.
    pub fn is_established(&self) -> bool {
        let opening = || self.in_flight.iter().any(|s| s.asked.is_opening());
        self.era.is_some() || (self.asked_more && !opening())
    }

    /// How many of the host's requests await an answer. Subscriptions are open without one.
    pub fn open_requests(&self) -> usize {
        self.in_flight.expected()
    }

    /// Shows one complete message, before its bytes go on. Returns which request of the host it answers, when it answers
    /// one.
    pub fn observe(&mut self, direction: Direction, message: &Message<'_>) -> Option<Asked> {
        let asked = self.observe_all(direction, message);
        self.names.clear();
        asked
    }

    fn observe_all(&mut self, direction: Direction, message: &Message<'_>) -> Option<Asked> {
        match message.kind() {
            Kind::Batch => {
                for envelope in message.batch() {
                    self.observe_one(direction, message, envelope);
                }
                None
            }
            Kind::Request | Kind::Notification | Kind::Response | Kind::ErrorResponse => {
                self.observe_one(direction, message, message.envelope())
            }
            // What is not quite JSON (a byte that is not UTF-8, deep nesting) passes too, and the other side may take it;
            // half a message is none.
            Kind::NotJson(fault) if fault.what != FaultKind::Truncated => {
                self.observe_one(direction, message, message.envelope())
            }
            Kind::Blank | Kind::Other | Kind::NotJson(_) => None,
        }
    }

    /// Takes everything that awaits an answer, because the upstream is gone. The tap hears that those calls are lost.
    pub fn take_unanswered(&mut self) -> Vec<Unanswered> {
        let unanswered =
            self.in_flight.iter().map(|s| Unanswered { id: s.id.clone(), asked: s.asked }).collect();
        self.orphans.append(&mut self.asked_host);
        let lost: Vec<CallKey> = self.in_flight.iter().filter_map(|s| s.call.map(|c| c.key)).collect();
        self.in_flight.clear();
        let parked: Vec<CallKey> = self.parked.drain().collect();
        for call in lost.into_iter().chain(parked) {
            self.lose(call);
        }
        unanswered
    }

    /// Whether this answer of the host is for a request of an upstream that is gone. An id that the next one uses again is
    /// first answered for the first.
    pub fn is_orphan(&mut self, message: &Message<'_>) -> bool {
        let is_answer = matches!(message.kind(), Kind::Response | Kind::ErrorResponse);
        let id = message.envelope().raw(Field::Id).filter(|_| is_answer && !self.orphans.is_empty());
        let at = id.and_then(|id| self.orphans.iter().position(|orphan| orphan == id));
        at.and_then(|at| self.orphans.remove(at)).is_some()
    }

    /// Takes one request that will be answered in the upstream's place. The tap hears that its call is lost.
    pub fn take_answered(&mut self, id: &[u8]) -> Option<Unanswered> {
        let (slot, _) = self.in_flight.take(id)?;
        let (asked, call) = (slot.asked, slot.call);
        if let Some(call) = call {
            self.lose(call.key);
        }
        Some(Unanswered { id: id.to_vec(), asked })
    }

    fn observe_one(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        envelope: &Envelope,
    ) -> Option<Asked> {
        match (direction, envelope.has(Field::Method), envelope.raw(Field::Id)) {
            (Direction::HostToUpstream, true, Some(id)) if id.len() <= LONGEST_ID => {
                self.request(message, envelope, id);
            }
            (Direction::HostToUpstream, true, None) => self.notification(envelope),
            (Direction::UpstreamToHost, false, Some(id)) => return self.response(message, envelope, id),
            (Direction::UpstreamToHost, true, Some(id)) if id.len() <= LONGEST_ID => {
                if self.asked_host.len() == MOST_ASKED {
                    self.asked_host.pop_front();
                }
                self.asked_host.push_back(id.to_vec());
            }
            (Direction::HostToUpstream, false, Some(id)) => {
                let at = self.asked_host.iter().position(|asked| asked == id);
                at.and_then(|at| self.asked_host.remove(at));
            }
            _ => {}
        }
        None
    }

    fn request(&mut self, message: &Message<'_>, envelope: &Envelope, id: &[u8]) {
        let asked = asked(envelope);
        self.asked_more |= !asked.is_opening();
        if asked.is_opening() && self.tap.is_some() {
            let field = if asked == Asked::Initialize { Field::InitClientInfo } else { Field::ClientInfo };
            let client = envelope.span(field).and_then(|span| message.slice(span));
            let client = client.filter(|client| client.len() <= LONGEST_CLIENT);
            self.client = client.map(<[u8]>::to_vec);
            let era = era_of(asked);
            self.tell(|at| Event::Opening { era, client, at });
        }
        let mut params = None;
        if asked == Asked::ToolsList && self.tap.is_some() {
            let span = envelope.span(Field::Params).filter(|span| span.len() <= LONGEST_LIST_PARAMS as u64);
            params = span.and_then(|span| message.slice(span)).map(Box::from);
            self.tell(|at| Event::ToolsAsked { at });
        }
        let call = (asked == Asked::ToolsCall).then(|| self.open_call(message, envelope));
        if let Some(evicted) = self.in_flight.insert(id, asked, call, params) {
            self.lose(evicted.key);
        }
    }

    fn open_call(&mut self, message: &Message<'_>, envelope: &Envelope) -> OpenCall {
        let named = self.names.pop_front().flatten();
        let tool = envelope.text(Field::ToolName).unwrap_or_default();
        let tool_hash = self.in_flight.hash(tool.as_bytes());
        if envelope.has(Field::InputResponses) || envelope.has(Field::ParamsRequestState) {
            let state = self.state_hash(envelope, Field::ParamsRequestState);
            if let Some(parked) = self.parked.resume(tool_hash, state) {
                let call = OpenCall { leg: parked.leg + 1, ..parked };
                let input = envelope.span(Field::InputResponses).map(|s| Payload::of(message, s));
                self.tell(|at| Event::LegBegan { call: call.key, leg: call.leg, input, at });
                return call;
            }
        }
        let key = CallKey(self.next_call);
        self.next_call += 1;
        if self.tap.is_some() {
            const IDS: [Field; 3] = [Field::ToolUseId, Field::CallId, Field::BirCallId];
            let told = || IDS.into_iter().find_map(|field| envelope.text(field));
            let host_call_id = named.map(Into::into).or_else(told);
            let arguments = envelope.span(Field::Arguments).map(|s| Payload::of(message, s));
            let client = envelope.span(Field::ClientInfo).and_then(|span| message.slice(span));
            self.tell(|at| Event::Began {
                call: key,
                tool,
                host_call_id,
                arguments,
                client,
                replayed: false,
                at,
            });
        }
        OpenCall { key, leg: 1, tool_hash }
    }

    fn notification(&mut self, envelope: &Envelope) {
        if !envelope.text_is(Field::Method, "notifications/cancelled") {
            return;
        }
        let Some(id) = envelope.raw(Field::RequestId) else { return };
        let call = self.in_flight.take(id).and_then(|(slot, _)| slot.call.map(|c| c.key));
        if let Some(call) = call {
            self.tell(|at| Event::Cancelled { call, at });
        }
    }

    fn response(&mut self, message: &Message<'_>, envelope: &Envelope, id: &[u8]) -> Option<Asked> {
        let (slot, ambiguous) = self.in_flight.take(id)?;
        let (asked, call) = (slot.asked, slot.call);
        let params = slot.params.take();
        let failed = envelope.has(Field::Error) && !envelope.has(Field::Result);
        let answer = envelope.span(if failed { Field::Error } else { Field::Result });
        match (asked, call, answer) {
            (Asked::Initialize | Asked::Discover, _, Some(span)) if !failed => {
                let era = era_of(asked);
                self.era = Some(era);
                let client = self.client.take();
                let (result, client) = (Payload::of(message, span), client.as_deref());
                self.tell(|at| Event::Connected { era, client, result, at });
            }
            (Asked::ToolsList, _, Some(span)) if !failed => {
                let (params, result) = (params.as_deref(), Payload::of(message, span));
                self.tell(|at| Event::ToolsListed { params, result, at });
            }
            (Asked::ToolsCall, Some(call), Some(span)) => {
                self.close_call(envelope, &call, Payload::of(message, span), failed, ambiguous);
            }
            _ => {}
        }
        Some(asked)
    }

    fn close_call(
        &mut self,
        envelope: &Envelope,
        call: &OpenCall,
        answer: Payload<'_>,
        failed: bool,
        ambiguous: bool,
    ) {
        if !failed && envelope.text_is(Field::ResultType, "input_required") {
            self.tell(|at| Event::LegEnded { call: call.key, leg: call.leg, result: answer, at });
            let state = self.state_hash(envelope, Field::ResultRequestState);
            if let Some(evicted) = self.parked.park(*call, state) {
                self.lose(evicted);
            }
            return;
        }
        let outcome = outcome(envelope, failed);
        self.tell(|at| Event::Ended { call: call.key, outcome, answer, ambiguous, at });
    }

    fn state_hash(&self, envelope: &Envelope, field: Field) -> Option<u64> {
        envelope.text(field).map(|state| self.in_flight.hash(state.as_bytes()))
    }

    fn lose(&mut self, call: CallKey) {
        self.tell(|at| Event::Lost { call, at });
    }

    /// Without a tap no clock is read and no event is made. A tap that panics is let go.
    pub(crate) fn tell<'a>(&mut self, event: impl FnOnce(Moment) -> Event<'a>) {
        let Some(tap) = &mut self.tap else { return };
        let at = self.clock.now();
        if catch_unwind(AssertUnwindSafe(|| tap.observe(event(at)))).is_err() {
            self.lost_tap = true;
            // Its end may fail as well.
            let tap = self.tap.take();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(tap)));
        }
    }
}

/// How a call ended by its answer.
pub(crate) fn outcome(envelope: &Envelope, failed: bool) -> Outcome {
    match (failed, envelope.raw(Field::IsError)) {
        (true, _) => Outcome::RpcError,
        (false, Some(b"true")) => Outcome::ToolError,
        (false, _) => Outcome::Ok,
    }
}

/// The era of an opening.
fn era_of(asked: Asked) -> Era {
    if asked == Asked::Initialize { Era::Legacy } else { Era::Modern }
}

fn asked(envelope: &Envelope) -> Asked {
    const NAMED: [(&str, Asked); 5] = [
        ("tools/call", Asked::ToolsCall),
        ("tools/list", Asked::ToolsList),
        ("initialize", Asked::Initialize),
        ("server/discover", Asked::Discover),
        ("subscriptions/listen", Asked::Listen),
    ];
    NAMED
        .iter()
        .find(|(name, _)| envelope.text_is(Field::Method, name))
        .map_or(Asked::Other, |&(_, asked)| asked)
}
