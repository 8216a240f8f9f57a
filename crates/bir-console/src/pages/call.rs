//! One entry of a run's timeline: a call with its payloads, or a loss.

use super::runs::NAME_SHOWN;
use crate::json::{self, Block};
use crate::text::{Html, plain, text, text_up_to};
use crate::timeline::{Call, State, run_path};
use crate::units::{bytes, count, duration, grouped, offset};
use crate::view::Run;
use bir_model::record::{Leg, Lost, Source, Step, StepType};
use bir_model::{CallRows, Outcome, RunId, Tier};

/// So much of payloads stands in one page; the payloads of further calls are one click away.
const PAYLOADS_IN_A_PAGE: usize = 128 * 1024;

/// A payload's first words stand in the folded row, up to here.
const GIST: usize = 140;

/// A size below that is nothing to look at.
const NOTABLE_SIZE: u64 = 4 * 1024;

/// A sub-agent's id is shown up to here where a line is short.
const AGENT_SHOWN: usize = 12;

/// The reason of a run that a proxy began because the control server was gone.
pub(super) const DOWNGRADE: &str = "downgrade";

/// How an outcome is called.
pub(super) fn outcome_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::ToolError => "tool error",
        Outcome::RpcError => "protocol error",
        Outcome::Timeout => "timeout",
        Outcome::Cancelled => "cancelled",
        Outcome::Denied => "denied",
        Outcome::Unknown => "unknown",
    }
}

/// Its colour and its sign: what a server said went wrong, and what nobody knows the whole of, look different.
fn outcome_mark(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Ok => ("ok", "ok"),
        Outcome::ToolError | Outcome::RpcError => ("bad", "bad"),
        Outcome::Timeout => ("odd", "late"),
        Outcome::Cancelled => ("odd", "stop"),
        Outcome::Denied => ("odd", "deny"),
        Outcome::Unknown => ("odd", "what"),
    }
}

/// What an outcome means, where its name does not say it all.
fn outcome_about(outcome: Outcome) -> Option<&'static str> {
    Some(match outcome {
        Outcome::Ok | Outcome::ToolError => return None,
        Outcome::RpcError => {
            "The server, or the proxy in its place, answered with a JSON-RPC error: the tool did not run to its end."
        }
        Outcome::Timeout => {
            "Nobody answered within the host's limit. The tool may have done its work all the same."
        }
        Outcome::Cancelled => {
            "The host withdrew the call before its answer. The tool may have done its work all the same."
        }
        Outcome::Denied => "The host's user or policy refused the call: the tool did not run.",
        Outcome::Unknown => {
            "The call began, and nothing says how it ended: the host, the server or the recorder was gone before the answer. \
             The tool may have done its work."
        }
    })
}

/// How much of the page's room for payloads is left.
pub(super) struct Payloads {
    run: RunId,
    left: usize,
    any: bool,
}

impl Payloads {
    pub(super) fn new(run: RunId) -> Self {
        Self { run, left: PAYLOADS_IN_A_PAGE, any: false }
    }

    /// Takes room for one call. The first call of a page always has it, so that every payload is seen on some page.
    fn take(&mut self, size: usize) -> bool {
        let fits = size <= self.left || !self.any;
        if fits {
            self.any = true;
            self.left = self.left.saturating_sub(size);
        }
        fits
    }
}

/// A payload with its heading.
pub(super) struct Payload {
    pub(super) title: &'static str,
    pub(super) note: Option<String>,
    pub(super) parts: Vec<Part>,
    /// The whole as JSON, where the parts are a reading of it.
    pub(super) json: Option<Html>,
    /// Names the boxes for those who cannot see where they stand.
    pub(super) label: String,
    pub(super) is_error: bool,
}

/// A part of a payload.
pub(super) enum Part {
    /// JSON or text.
    Pre(Html),
    /// Something that is named, not shown.
    Named(String),
}

/// One round in which the server asked for input.
pub(super) struct Round {
    pub(super) title: String,
    pub(super) asked: Html,
    pub(super) answered: Option<Html>,
}

/// What the template prints for a call.
pub(super) struct CallEntry {
    pub(super) index: u32,
    pub(super) number: String,
    pub(super) offset: String,
    pub(super) tool: Html,
    pub(super) server: Option<Html>,
    /// The beginning of the arguments, and of what went wrong.
    pub(super) gist: Option<Html>,
    pub(super) trouble: Option<Html>,
    pub(super) mark: &'static str,
    pub(super) icon: &'static str,
    pub(super) label: &'static str,
    pub(super) duration: Option<String>,
    pub(super) x: String,
    pub(super) width: String,
    pub(super) failed: bool,
    pub(super) version: String,
    pub(super) notes: Vec<Html>,
    pub(super) facts: Vec<(&'static str, Html)>,
    /// What led to the call: reasoning, arguments.
    pub(super) before: Vec<Payload>,
    /// What came of it: result, error.
    pub(super) after: Vec<Payload>,
    pub(super) rounds: Vec<Round>,
    /// Where the payloads are, and how large, when this page has no room for them.
    pub(super) elsewhere: Option<(String, String)>,
    pub(super) ambiguous: bool,
    pub(super) bypassed: bool,
    /// The sub-agent that asked.
    pub(super) agent: Option<Html>,
}

/// What the template prints for a loss.
pub(super) struct LossEntry {
    pub(super) id: String,
    pub(super) follows: u32,
    pub(super) what: String,
    pub(super) why: Html,
}

/// One entry.
pub(super) enum Entry {
    /// A call.
    Call(Box<CallEntry>),
    /// A loss.
    Loss(LossEntry),
}

/// Microseconds as milliseconds, for the coordinates of a bar.
pub(super) fn ms(us: u64) -> String {
    format!("{}.{:03}", us / 1_000, us % 1_000)
}

impl Entry {
    pub(super) fn loss(lost: &Lost, follows: u32) -> Self {
        let what = match (lost.calls, lost.records) {
            (0, 0) if lost.reason == DOWNGRADE => "Recorded without the control server".to_owned(),
            (0, 0) => "Something was lost here".to_owned(),
            (0, n) => format!("{} lost here", count(n, "record was", "records were")),
            (n, _) => format!("{} lost here", count(n, "call was", "calls were")),
        };
        let why = match lost.reason.as_str() {
            "backlog" => text(
                "More calls came in than could be written down in time. The calls themselves were not held up.",
            ),
            "spool_full" => text(
                "The spool on the machine was at its bound, and the oldest went first: the hub was not reached for too long.",
            ),
            "disk" => text("The machine's disk could not be written to."),
            "damaged" => text("What had been written down was damaged when it was read again."),
            "refused" => text("The hub refused what it was sent."),
            DOWNGRADE => text(
                "It was gone, so the proxy went on in a run of its own. The prompt, built-in tools and other servers stand in another run.",
            ),
            other => text(&format!("The recorder's reason: {other}.")),
        };
        Self::Loss(LossEntry { id: lost.id.to_string(), follows, what, why })
    }

    pub(super) fn call(call: &Call<'_>, run: &Run, axis_us: u64, room: &mut Payloads) -> Option<Self> {
        let rows = call.rows();
        let row = rows.named()?;
        let name = rows.name()?;
        let tool = name.tool;
        let (mark, icon, label) = match call.state {
            State::Ended(outcome) => {
                let (mark, icon) = outcome_mark(outcome);
                (mark, icon, outcome_label(outcome))
            }
            State::Running => ("run", "run", "running"),
            State::NoEnd => ("odd", "what", "no end"),
        };
        // One server is named in the header already; in a bound run it is told from built-in tools.
        let server = name.server.filter(|_| run.servers.len() != 1 || run.tier == Tier::Bound);
        let size = payload_size(call);
        let here = room.take(size);
        let (before, after) = if here { payloads(call, tool) } else { (Vec::new(), Vec::new()) };
        // What runs is drawn longer each time; everything else changes when its state does.
        let grows = if call.state == State::Running { call.duration_us } else { 0 };
        Some(Self::Call(Box::new(CallEntry {
            index: call.index,
            number: grouped(u64::from(call.index / 2) + 1),
            offset: offset(call.start_us / 1_000),
            tool: text_up_to(tool, 2 * NAME_SHOWN),
            server: server.map(|s| text_up_to(s, NAME_SHOWN)),
            gist: rows.input().and_then(|p| line(&json::gist(p))),
            trouble: if call.failed() { call.end.and_then(trouble) } else { None },
            mark,
            icon,
            label,
            duration: measured(call).then(|| duration(call.duration_us)),
            x: ms(call.start_us.min(axis_us)),
            width: ms(call.duration_us.min(axis_us)),
            failed: call.failed(),
            version: format!("{}-{label}-{grows}-{}", u8::from(call.begin.is_some()), u8::from(here)),
            notes: notes(call),
            facts: facts(rows, row, tool),
            before,
            after,
            rounds: if here { rounds(call) } else { Vec::new() },
            elsewhere: (!here).then(|| (run_path(room.run, call.index), bytes(size as u64))),
            ambiguous: rows.ambiguous(),
            bypassed: rows.bypassed(),
            agent: rows.agent_id().map(|id| text_up_to(id, AGENT_SHOWN)),
        })))
    }
}

/// Foreign text as one short line.
fn line(raw: &str) -> Option<Html> {
    (!raw.is_empty()).then(|| text_up_to(raw, GIST))
}

/// What went wrong, in its own first words.
fn trouble(end: &Step) -> Option<Html> {
    if let Some(error) = &end.tool_error {
        let value: Option<serde_json::Value> = serde_json::from_str(error).ok();
        let message = value.as_ref().and_then(|v| v.get("message")).and_then(|m| m.as_str());
        return line(&json::gist(message.unwrap_or(error)));
    }
    let said = json::blocks(end.tool_output.as_deref()?)?.into_iter().find_map(|block| match block {
        Block::Text(said) => Some(said),
        Block::Named { .. } => None,
    });
    line(&json::gist(&said?))
}

/// Whether anything says how long it took. Nothing does when the end was only made out later.
fn measured(call: &Call<'_>) -> bool {
    match call.state {
        State::Running => true,
        State::NoEnd => false,
        State::Ended(Outcome::Unknown) => call.end.is_some_and(|e| e.duration_us.is_some()),
        State::Ended(_) => true,
    }
}

fn payload_size(call: &Call<'_>) -> usize {
    let len = |text: &Option<String>| text.as_deref().map_or(0, str::len);
    let rows = [call.begin, call.end].into_iter().flatten();
    rows.map(|s| {
        let legs: usize = s.legs.iter().map(|l| l.asked.len() + len(&l.answered)).sum();
        len(&s.tool_input)
            + len(&s.model_input)
            + len(&s.context)
            + len(&s.tool_output)
            + len(&s.tool_error)
            + legs
    })
    .sum()
}

fn notes(call: &Call<'_>) -> Vec<Html> {
    let mut notes = Vec::new();
    match call.state {
        State::Ended(outcome) => notes.extend(outcome_about(outcome).map(text)),
        State::NoEnd => notes.push(text("The run is over, and the row that ends this call was not recorded. The tool may have done its work.")),
        State::Running => notes.push(text("No answer so far.")),
    }
    let rows = call.rows();
    if rows.ambiguous() {
        notes.push(text(if rows.sources().contains(&Source::Hook) {
            "Ambiguous: equal calls ran side by side, so which of them hook and proxy saw is a guess."
        } else {
            "Ambiguous: the host used the same request id for several calls at once, so which answer belongs to which call is a guess."
        }));
    }
    if rows.bypassed() {
        notes.push(text(
            "Bypassed: the host's hooks saw this call and no proxy did. Its server is not behind one, or the proxy was gone; bir wrap puts it there.",
        ));
    }
    if call.begin.is_none() {
        notes.push(text(
            "The row that begins this call is not here: it was lost, or stands on the page before.",
        ));
    }
    notes
}

fn facts(rows: CallRows<'_>, row: &Step, tool: &str) -> Vec<(&'static str, Html)> {
    let mut facts = Vec::new();
    if tool.chars().nth(2 * NAME_SHOWN).is_some() {
        facts.push(("Tool", text(tool)));
    }
    if row.tool_name != tool {
        facts.push(("Named by the host", text(&row.tool_name)));
    }
    let sources = rows.sources();
    match &row.server {
        Some(server) => facts.push(("Server", text(server))),
        // A host's name for a tool over MCP has the server in it.
        None if sources == [Source::Hook] && !rows.bypassed() && !tool.starts_with("mcp__") => {
            facts.push(("Server", text("none: a tool of the host itself")))
        }
        None => {}
    }
    if let Some(id) = rows.call_id() {
        facts.push(("Call id", text(id)));
    }
    if let Some(id) = rows.agent_id() {
        facts.push(("Sub-agent", text(id)));
    }
    let seen: Vec<&str> = sources
        .iter()
        .map(|s| match s {
            Source::Hook => "hook",
            Source::Proxy => "proxy",
        })
        .collect();
    if !seen.is_empty() {
        facts.push(("Seen by", text(&seen.join(" and "))));
    }
    facts
}

/// Payloads before and after, in the order in which they are read.
fn payloads(call: &Call<'_>, tool: &str) -> (Vec<Payload>, Vec<Payload>) {
    let plain_payload = |title, payload: &str, note| Payload {
        title,
        note,
        parts: vec![Part::Pre(json::html(payload))],
        json: None,
        label: plain(&format!("{title} of {tool}")),
        is_error: false,
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let rows = call.rows();
    before.extend(rows.context().map(|p| plain_payload("What the model said before it", p, None)));
    let written = rows.model_input();
    before.extend(written.map(|p| plain_payload("Arguments as the model wrote them", p, None)));
    if let Some(row) = rows.input_row() {
        // The size of a row that ends is its result's.
        let note = if row.step_type == StepType::ToolSelected { size_note(row) } else { None };
        let title = if written.is_some() { "Arguments as they ran" } else { "Arguments" };
        before.extend(rows.input().map(|p| plain_payload(title, p, note)));
    }
    if let Some(row) = call.end {
        let error_note = if row.tool_output.is_none() { size_note(row) } else { None };
        let error = row.tool_error.as_ref().map(|p| plain_payload("Error", p, error_note));
        after.extend(error.map(|p| Payload { is_error: true, ..p }));
        after.extend(row.tool_output.as_ref().map(|payload| {
            let (parts, json) = read(payload);
            let is_error = row.outcome == Some(Outcome::ToolError);
            Payload { parts, json, is_error, ..plain_payload("Result", payload, size_note(row)) }
        }));
    }
    (before, after)
}

/// `1.2 MiB on the wire, cut to fit`; nothing where the size is nothing to look at.
fn size_note(row: &Step) -> Option<String> {
    let notable = |n: &u64| row.truncated || *n >= NOTABLE_SIZE;
    let size = row.original_bytes.filter(notable).map(|n| format!("{} on the wire", bytes(n)));
    let cut = row.truncated.then(|| "cut to fit".to_owned());
    let parts: Vec<String> = [size, cut].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A result: its content blocks where it has some, else its JSON.
fn read(payload: &str) -> (Vec<Part>, Option<Html>) {
    let Some(blocks) = json::blocks(payload) else { return (vec![Part::Pre(json::html(payload))], None) };
    let parts = blocks.into_iter().map(|block| match block {
        Block::Text(inner) if json::is_structured(&inner) => Part::Pre(json::html(&inner)),
        Block::Text(inner) => Part::Pre(text(&inner)),
        Block::Named { kind, what, size } => {
            let size = size.map(|n| format!(", {} as base64", bytes(n))).unwrap_or_default();
            Part::Named(plain(&format!("{}: {what}{size}", kind.replace('_', " "))))
        }
    });
    (parts.collect(), Some(json::html(payload)))
}

fn rounds(call: &Call<'_>) -> Vec<Round> {
    let legs = call.end.map(|e| e.legs.as_slice()).unwrap_or_default();
    legs.iter().map(round).collect()
}

fn round(leg: &Leg) -> Round {
    let waited = leg.answered_at.map(|at| at.saturating_sub(leg.asked_at));
    let title = match waited {
        Some(ms) => format!(
            "Round {}: the server asked, the host answered after {}",
            leg.leg,
            duration(ms.saturating_mul(1_000))
        ),
        None => format!("Round {}: the server asked, and the host never answered", leg.leg),
    };
    Round { title, asked: json::html(&leg.asked), answered: leg.answered.as_deref().map(json::html) }
}
