//! One call: what each side has told of it, when that is enough, and the two rows that it becomes.
//!
//! | told | row of the end |
//! |---|---|
//! | proxy: ok, tool error, RPC error | with the hook's word of it, which brings the model's text before the call; without one after [`WORD`] |
//! | proxy: unknown, cancelled | with the hook's view, or after [`HALF`] without |
//! | hook ended, proxy began | after [`HALF`], or with the proxy's view |
//! | hook ended, a proxy serves the server and said nothing | after [`HALF`], `bypassed` |
//! | hook ended, over MCP, no proxy has introduced itself | after [`HALF`], `bypassed`; at once where an earlier call to that server was |
//! | hook ended, a built-in tool | at once; where the host writes down the model's text, with the end of the message, at most [`WORD`] later |
//! | refused, in the host's own words | at once |
//! | the batch is over, and no hook saw an end | after [`GUESS`]: `denied` |

use super::join::{same_tool, short};
use bir_model::control::{Compared, HookCall};
use bir_model::record::{Source, Step, StepType};
use bir_model::{Outcome, RunId, StepId};
use bir_record::{Redacted, RedactedText, SafeLeg, SafePayload, SafeRecord, SafeTold, response_id};

/// One half of a call waits so long for the other, ms.
pub(super) const HALF: u64 = 10_000;
/// The hook's word of an end that the proxy has told comes within so long, ms. Some hosts tell none of an error.
const WORD: u64 = 1000;
/// A batch that is over waits so long for an end that is still on its way, ms.
pub(super) const GUESS: u64 = 2000;

/// A call that has begun and whose end is not written.
#[derive(Debug)]
pub(super) struct Call {
    /// Of its first row; the other one has the next.
    pub(super) index: u32,
    pub(super) selected: StepId,
    pub(super) tool_name: String,
    pub(super) server: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) call_id: Option<String>,
    /// The id that was put into its arguments.
    pub(super) injected: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) began_at: u64,
    /// A hook has told of it.
    pub(super) hooked: bool,
    /// Of the arguments as the model wrote them.
    pub(super) fingerprint: Option<Compared>,
    /// The arguments as the model wrote them.
    pub(super) input: Option<Redacted>,
    /// The first row holds the model's arguments, not those on the wire.
    pub(super) shows_model: bool,
    /// The reasoning before it, until a row holds it.
    pub(super) context: Option<RedactedText>,
    /// The host writes down what the model said before it.
    pub(super) spoken: bool,
    /// The message of the model that asked for it is done with.
    pub(super) message_over: bool,
    /// A proxy that has not spoken yet serves its server, or may do so.
    pub(super) expects_proxy: bool,
    pub(super) wire: Option<Wire>,
    pub(super) shown: Option<Shown>,
    /// When it is written with what is there.
    pub(super) due: Option<u64>,
}

/// A call as a proxy sees it.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) proxy: String,
    pub(super) call: u64,
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) at: u64,
    pub(super) fingerprint: Option<Compared>,
    pub(super) input: Option<Redacted>,
    /// Several calls might have been this one.
    pub(super) ambiguous: bool,
    /// Its proxy made it for a plan.
    pub(super) replayed: bool,
    pub(super) ended: Option<WireEnd>,
}

/// Its end.
#[derive(Debug, Clone)]
pub(super) struct WireEnd {
    pub(super) outcome: Outcome,
    pub(super) output: Option<Redacted>,
    pub(super) error: Option<Redacted>,
    pub(super) duration_us: Option<u64>,
    pub(super) at: u64,
    pub(super) ambiguous: bool,
    pub(super) legs: Vec<SafeLeg>,
}

/// How sure a hook's view of an end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// Nobody saw it end, and the others of its message are over.
    Guessed,
    /// The host says that it was not made.
    Refused,
    /// It was made, and ended so.
    Ran,
}

/// The end of a call as hooks see it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) certainty: Certainty,
    pub(super) outcome: Outcome,
    pub(super) output: Option<Redacted>,
    pub(super) error: Option<Redacted>,
    pub(super) duration_us: Option<u64>,
    pub(super) at: u64,
    pub(super) fingerprint: Option<Compared>,
    pub(super) input: Option<Redacted>,
}

/// What is to be done with a call after somebody told something of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The row of its end can be written.
    Write,
    /// Whatever else is told within so many ms belongs to it.
    Within(u64),
    /// It goes on.
    Open,
}

impl Call {
    /// A call that a hook announces.
    pub(super) fn hooked(index: u32, selected: StepId, call: &HookCall<SafeTold>, at: u64) -> Self {
        Self {
            index,
            selected,
            tool_name: short(&call.tool_name),
            server: call.server.as_deref().map(short),
            tool: call.tool.as_deref().map(short),
            call_id: call.call_id.as_deref().map(short),
            injected: None,
            agent_id: None,
            began_at: at,
            hooked: true,
            fingerprint: call.fingerprint.clone(),
            input: call.input.as_ref().map(SafeTold::json),
            shows_model: true,
            context: None,
            spoken: false,
            message_over: false,
            expects_proxy: false,
            wire: None,
            shown: None,
            due: None,
        }
    }

    /// A call that a proxy alone has told of.
    pub(super) fn alone(index: u32, selected: StepId, call_id: Option<&str>, wire: Wire) -> Self {
        Self {
            index,
            selected,
            tool_name: wire.tool.clone(),
            server: Some(wire.server.clone()),
            tool: Some(wire.tool.clone()),
            call_id: call_id.map(short),
            injected: None,
            agent_id: None,
            began_at: wire.at,
            hooked: false,
            fingerprint: None,
            input: None,
            shows_model: false,
            context: None,
            spoken: false,
            message_over: false,
            expects_proxy: false,
            wire: Some(wire),
            shown: None,
            due: None,
        }
    }

    /// A hook tells of a call that only its proxy had told of.
    pub(super) fn announced(&mut self, call: &HookCall<SafeTold>, agent: Option<&str>) {
        self.hooked = true;
        self.tool_name = short(&call.tool_name);
        self.call_id = self.call_id.take().or_else(|| call.call_id.as_deref().map(short));
        self.agent_id = agent.map(short);
        self.fingerprint.clone_from(&call.fingerprint);
        self.input = call.input.as_ref().map(SafeTold::json);
    }

    /// Whether it goes over MCP, as far as its name tells.
    pub(super) fn over_mcp(&self) -> bool {
        over_mcp(self.server.as_deref(), &self.tool_name)
    }

    /// Whether a proxy may still tell how it ended.
    pub(super) fn outstanding(&self) -> bool {
        match &self.wire {
            Some(wire) => wire.ended.is_none(),
            None => self.expects_proxy && self.shown.as_ref().is_some_and(|s| s.certainty == Certainty::Ran),
        }
    }

    /// Whether an end that names no call may be that of this one, as far as its tool tells.
    pub(super) fn awaits_end(&self, call: &HookCall<SafeTold>, agent: Option<&str>) -> bool {
        let named = || match (&self.server, &self.tool) {
            (Some(server), Some(tool)) => same_tool(&call.tool_name, call.server.as_deref(), server, tool),
            _ => false,
        };
        self.hooked
            && self.shown.is_none()
            && self.agent_id.as_deref() == agent
            && (self.tool_name == short(&call.tool_name) || named())
    }

    /// Whether its proxy knows it to go on.
    pub(super) fn is_on_the_wire(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.ended.is_none())
    }

    /// What the two views allow. `ending`: the run ends, and no hook will tell anything of it.
    pub(super) fn next(&self, ending: bool) -> Next {
        let ended = self.wire.as_ref().map(|wire| wire.ended.as_ref().map(|ended| ended.outcome));
        let shown = self.shown.as_ref().map(|shown| shown.certainty);
        match (ended, shown) {
            (Some(Some(Outcome::Unknown | Outcome::Cancelled)), None) => Next::Within(HALF),
            (Some(Some(_)), None) if self.hooked && !ending => Next::Within(WORD),
            (Some(Some(_)), Some(_)) if self.is_spoken_of_later() && !ending => Next::Within(WORD),
            (Some(Some(_)), _) => Next::Write,
            (Some(None), Some(_)) => Next::Within(HALF),
            (None, Some(Certainty::Refused)) => Next::Write,
            (None, Some(Certainty::Guessed)) => Next::Within(GUESS),
            (None, Some(Certainty::Ran)) if self.expects_proxy => Next::Within(HALF),
            // The model's text may be written down later than its calls end.
            (None, Some(Certainty::Ran)) if self.is_spoken_of_later() && !ending => Next::Within(WORD),
            (None, Some(Certainty::Ran)) => Next::Write,
            (_, None) => Next::Open,
        }
    }

    /// Whether the end of its message may still bring the model's text before it.
    fn is_spoken_of_later(&self) -> bool {
        self.spoken && self.context.is_none() && !self.message_over
    }

    /// It was made, over MCP, and no proxy saw it.
    pub(super) fn bypassed(&self) -> bool {
        let ran = self.shown.as_ref().is_some_and(|shown| shown.certainty == Certainty::Ran);
        ran && self.wire.is_none() && self.over_mcp()
    }

    /// The row that begins it.
    pub(super) fn first_row(&mut self, run: RunId) -> SafeRecord {
        let row = self.row(run, StepType::ToolSelected, self.began_at);
        let ran = self.wire.as_ref().and_then(|wire| wire.input.clone());
        let input = if self.shows_model { self.input.clone() } else { ran };
        SafeRecord::step(row, SafePayload { input, context: self.context.take(), ..SafePayload::default() })
    }

    /// The row that ends it, of what has been told. `transcript` is what the host's own record says of it.
    pub(super) fn last_row(mut self, run: RunId, transcript: Option<Outcome>, now: u64) -> SafeRecord {
        let bypassed = self.bypassed();
        let (model_input, input) = self.changed_input();
        let wire = self.wire.as_ref().and_then(|wire| wire.ended.clone());
        let outcome = outcome(
            wire.as_ref().map(|end| end.outcome),
            self.shown.as_ref().map(|shown| shown.outcome).or(transcript),
        );
        let at = wire.as_ref().map(|end| end.at).or(self.shown.as_ref().map(|shown| shown.at));
        let mut row = self.row(run, StepType::ToolResponse, at.unwrap_or(now));
        row.outcome = Some(outcome);
        row.bypassed = bypassed;
        row.ambiguous = self.wire.as_ref().is_some_and(|wire| wire.ambiguous)
            || wire.as_ref().is_some_and(|end| end.ambiguous);
        let mut payload =
            SafePayload { input, model_input, context: self.context.take(), ..SafePayload::default() };
        if let Some(end) = wire {
            row.duration_us = end.duration_us;
            payload.output = end.output;
            payload.error = end.error;
            payload.legs = end.legs;
        }
        if let Some(shown) = self.shown.take()
            && payload.output.is_none()
            && payload.error.is_none()
        {
            row.duration_us = row.duration_us.or(shown.duration_us);
            payload.output = shown.output;
            payload.error = shown.error;
        }
        SafeRecord::step(row, payload)
    }

    /// The arguments as the model wrote them and as they ran, where they differ, as far as the first row does not hold them.
    fn changed_input(&mut self) -> (Option<Redacted>, Option<Redacted>) {
        let ran = match (&self.wire, &self.shown) {
            (Some(wire), _) => (wire.fingerprint.as_ref(), wire.input.clone()),
            (None, Some(shown)) => (shown.fingerprint.as_ref(), shown.input.clone()),
            (None, None) => return (None, None),
        };
        match (self.fingerprint.as_ref(), ran) {
            (Some(wrote), (Some(ran), input)) if wrote != ran => {
                (self.input.take(), input.filter(|_| self.shows_model))
            }
            _ => (None, None),
        }
    }

    fn row(&self, run: RunId, step_type: StepType, at: u64) -> Step {
        let (id, step_index) = match step_type {
            StepType::ToolSelected => (self.selected, self.index),
            StepType::ToolResponse => (response_id(self.selected), self.index.saturating_add(1)),
        };
        let wire = self.wire.as_ref();
        let seen = [self.hooked.then_some(Source::Hook), wire.map(|_| Source::Proxy)];
        Step {
            id,
            run_id: run,
            step_index,
            step_type,
            tool_name: self.tool_name.clone(),
            server: wire.map(|wire| wire.server.clone()).or_else(|| self.server.clone()),
            tool: wire.map(|wire| wire.tool.clone()).or_else(|| self.tool.clone()),
            call_id: self.call_id.clone(),
            agent_id: self.agent_id.clone(),
            sources: seen.into_iter().flatten().collect(),
            tool_input: None,
            model_input: None,
            context: None,
            tool_output: None,
            tool_error: None,
            outcome: None,
            at,
            duration_us: None,
            original_bytes: None,
            truncated: false,
            ambiguous: false,
            bypassed: false,
            replayed: wire.is_some_and(|wire| wire.replayed),
            legs: Vec::new(),
        }
    }
}

/// Whether a call goes over MCP, as far as its names tell.
pub(super) fn over_mcp(server: Option<&str>, rendered: &str) -> bool {
    server.is_some() || rendered.starts_with("mcp__")
}

/// How a call ended by what its proxy saw and what the host shows.
fn outcome(wire: Option<Outcome>, shown: Option<Outcome>) -> Outcome {
    match (wire, shown) {
        // The host withdrew the call. Whether for its limit or for its user, only the host knows; and some withdraw calls
        // whose result they have (facts/other-hosts.md §4).
        (Some(Outcome::Cancelled), Some(shown @ (Outcome::Ok | Outcome::Timeout))) => shown,
        (Some(Outcome::Cancelled), _) => Outcome::Cancelled,
        (Some(Outcome::Unknown) | None, shown) => shown.unwrap_or(Outcome::Unknown),
        (Some(certain), _) => certain,
    }
}
