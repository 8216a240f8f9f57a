//! MCP as far as this server speaks it, in both eras. Pure: lines come in, lines and actions go out.
//!
//! A request with a protocol version in its `_meta`, or `server/discover`, is modern; everything else is legacy. Ids go back as
//! they were written.

use bir_wire::splice::member;
use bir_wire::{Envelope, Field, Kind, Message, Scanner, text};

/// Revisions with a handshake, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The revision without.
const MODERN: &str = "2026-07-28";
/// The tool.
const TOOL: &str = "run_scenario";
const DEFINITION: &str = r#"{"name":"run_scenario","description":"Returns the results BaseInstRunner prepared for the current request. Call it only when a BaseInstRunner note in this turn (text beginning \"[BaseInstRunner calculated replay]\", in a system note or a tool result) tells you to; never otherwise.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}"#;
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true}}"#;
const SERVER: &str =
    concat!(r#"{"name":"bir","title":"BaseInstRunner","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);
const CAPABILITIES_MEMBER: &str = "io.modelcontextprotocol/clientCapabilities";
/// Subscriptions that are open at a time.
const MOST_SUBSCRIPTIONS: usize = 16;

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const BAD_VERSION: i32 = -32022;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// This line goes to the host.
    Say(String),
    /// The plan's results are wanted.
    Run(Call),
    /// The host withdraws a call, by its id as written.
    Cancel(Vec<u8>),
    /// The host has shown that it is connected.
    Hello,
}

/// A call of `run_scenario`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// As it is written.
    pub(crate) id: Vec<u8>,
    /// The host's own id of the call, where it tells.
    pub(crate) tool_use_id: Option<String>,
    pub(crate) modern: bool,
}

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The host has opened it by the handshake.
    initialized: bool,
    /// Ids of subscriptions to changes of the list.
    subscriptions: Vec<Vec<u8>>,
    off: bool,
}

impl Session {
    pub(crate) fn new(off: bool) -> Self {
        Self { off, ..Self::default() }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
    }

    /// How many tools are listed.
    pub(crate) fn tools(&self) -> u32 {
        u32::from(!self.off)
    }

    /// The off switch is so now. Tells the host where that is news.
    pub(crate) fn switch(&mut self, off: bool) -> Vec<Act> {
        if self.off == off {
            return Vec::new();
        }
        self.off = off;
        let changed = r#""method":"notifications/tools/list_changed""#;
        let legacy = self.initialized.then(|| format!(r#"{{"jsonrpc":"2.0",{changed}}}"#));
        let modern = self.subscriptions.iter().map(|id| {
            let id = String::from_utf8_lossy(id);
            format!(
                r#"{{"jsonrpc":"2.0",{changed},"params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )
        });
        legacy.into_iter().chain(modern).map(Act::Say).chain([Act::Hello]).collect()
    }

    /// A line of the host.
    pub(crate) fn hear(&mut self, line: &[u8]) -> Vec<Act> {
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(line);
        let envelope = message.envelope();
        match message.kind() {
            Kind::Request => self.request(&message, envelope),
            Kind::Notification => self.notification(envelope),
            Kind::NotJson(_) => vec![Act::Say(error(b"null", PARSE, "it is no JSON", None))],
            Kind::Batch => vec![Act::Say(error(b"null", INVALID, "batches are not taken", None))],
            Kind::Blank | Kind::Other | Kind::Response | Kind::ErrorResponse => Vec::new(),
        }
    }

    fn request(&mut self, message: &Message<'_>, envelope: &Envelope) -> Vec<Act> {
        let id = envelope.raw(Field::Id).unwrap_or(b"null").to_vec();
        let method = envelope.text(Field::Method).unwrap_or_default();
        let is_modern = envelope.has(Field::ProtocolVersion) || method == "server/discover";
        if is_modern && let Some(refusal) = refused(&id, message, envelope) {
            return vec![Act::Say(refusal)];
        }
        let say = |body: &str| Act::Say(result(&id, body, is_modern));
        match &*method {
            "initialize" if !is_modern => {
                self.initialized = true;
                let asked = envelope.text(Field::InitProtocolVersion).unwrap_or_default();
                let version = LEGACY.iter().find(|known| **known == asked).unwrap_or(&LEGACY[0]);
                let body = format!(
                    r#""protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{SERVER}"#
                );
                vec![say(&body), Act::Hello]
            }
            "ping" if !is_modern => vec![say("")],
            "server/discover" => {
                let body = format!(
                    r#""supportedVersions":["{MODERN}"],"capabilities":{CAPABILITIES},"serverInfo":{SERVER},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}"#
                );
                vec![say(&body), Act::Hello]
            }
            "tools/list" => {
                let tools = if self.off { "" } else { DEFINITION };
                let cache = if is_modern { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
                vec![say(&format!(r#""tools":[{tools}]{cache}"#)), Act::Hello]
            }
            "tools/call" if envelope.text_is(Field::ToolName, TOOL) => {
                let tool_use_id = envelope.text(Field::ToolUseId).filter(|id| !id.is_empty());
                let tool_use_id = tool_use_id.map(|id| id.into_owned());
                vec![Act::Run(Call { id, tool_use_id, modern: is_modern })]
            }
            "tools/call" => vec![Act::Say(error(&id, BAD_PARAMS, "there is no such tool", None))],
            "subscriptions/listen" if is_modern => self.listens(id),
            _ => vec![Act::Say(error(&id, UNKNOWN_METHOD, "there is no such method", None))],
        }
    }

    fn listens(&mut self, id: Vec<u8>) -> Vec<Act> {
        if self.subscriptions.len() >= MOST_SUBSCRIPTIONS {
            self.subscriptions.remove(0);
        }
        let text = String::from_utf8_lossy(&id).into_owned();
        self.subscriptions.push(id);
        vec![Act::Say(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{text}}}}}}}"#
        ))]
    }

    fn notification(&mut self, envelope: &Envelope) -> Vec<Act> {
        if !envelope.text_is(Field::Method, "notifications/cancelled") {
            return Vec::new();
        }
        let Some(id) = envelope.raw(Field::RequestId) else { return Vec::new() };
        self.subscriptions.retain(|open| open != id);
        vec![Act::Cancel(id.to_vec())]
    }
}

/// The answer to a call.
pub(crate) fn answer(call: &Call, words: &str, is_error: bool) -> String {
    let mut quoted = Vec::with_capacity(words.len() + 2);
    text::encode(words, &mut quoted);
    let quoted = String::from_utf8_lossy(&quoted);
    let body = format!(r#""content":[{{"type":"text","text":{quoted}}}],"isError":{is_error}"#);
    result(&call.id, &body, call.modern)
}

/// Why a modern request is not taken.
fn refused(id: &[u8], message: &Message<'_>, envelope: &Envelope) -> Option<String> {
    let version = envelope.text(Field::ProtocolVersion).unwrap_or_default();
    if version.is_empty() {
        return Some(error(id, BAD_PARAMS, "the request names no protocol version", None));
    }
    if version != MODERN {
        let mut requested = Vec::new();
        text::encode(&version, &mut requested);
        let requested = String::from_utf8_lossy(&requested);
        let data = format!(r#"{{"supported":["{MODERN}"],"requested":{requested}}}"#);
        return Some(error(id, BAD_VERSION, "the protocol version is not supported", Some(&data)));
    }
    let capabilities =
        envelope.span(Field::Meta).and_then(|meta| member(message.head(), meta, CAPABILITIES_MEMBER));
    capabilities
        .is_none()
        .then(|| error(id, BAD_PARAMS, "the request names no capabilities of the client", None))
}

fn result(id: &[u8], body: &str, modern: bool) -> String {
    let id = String::from_utf8_lossy(id);
    let kind = match (modern, body.is_empty()) {
        (false, _) => "",
        (true, true) => r#""resultType":"complete""#,
        (true, false) => r#","resultType":"complete""#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{body}{kind}}}}}"#)
}

fn error(id: &[u8], code: i32, words: &str, data: Option<&str>) -> String {
    let id = String::from_utf8_lossy(id);
    let data = data.map_or_else(String::new, |data| format!(r#","data":{data}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{words}"{data}}}}}"#)
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
