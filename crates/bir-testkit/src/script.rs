//! The script of a test upstream: what it is, and what it does instead of the default.
//!
//! A script is a JSON file (`--script F`) or built in Rust; both are the same type. Everything is
//! optional, unknown keys are refused. See the crate's `README.md` for the tables of keys and steps.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::step::Step;
use crate::text::Text;

/// Which lifecycle the upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Eras {
    /// `initialize`, sessions, GET stream (revisions up to 2025-11-25).
    #[default]
    Legacy,
    /// `server/discover` and per-request `_meta` (2026-07-28).
    Modern,
    /// Both; on stdio the first request decides, over HTTP each request by itself.
    Dual,
}

impl Eras {
    /// Whether `initialize` is understood.
    pub fn legacy(self) -> bool {
        self != Self::Modern
    }

    /// Whether `server/discover` is understood.
    pub fn modern(self) -> bool {
        self != Self::Legacy
    }
}

/// Everything a test upstream is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Which lifecycle it speaks. `--era` on the command line wins.
    pub era: Eras,
    /// What it says about itself.
    pub server: Server,
    /// How frames look on stdio.
    pub framing: Framing,
    /// How it behaves as an HTTP server.
    pub http: Http,
    /// What it does instead of the default; of several rules that match, the first counts.
    pub rules: Vec<Rule>,
}

/// What the upstream says about itself. Absent fields have defaults; present ones go out verbatim.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// `serverInfo`.
    pub info: Option<Text>,
    /// `capabilities`.
    pub capabilities: Option<Text>,
    /// `instructions`, as a raw JSON string.
    pub instructions: Option<Text>,
    /// Legacy revisions it accepts; it answers the host's if listed, else the first.
    pub versions: Vec<String>,
    /// The whole `initialize` result; overrides the fields above.
    pub initialize: Option<Text>,
    /// The whole `server/discover` result; overrides the fields above.
    pub discover: Option<Text>,
    /// Tool definitions listed (after the default ones).
    pub tools: Vec<Text>,
    /// Leave the default tools out of the list (they can still be called).
    pub hide_default_tools: bool,
    /// The elements of `resources/list`.
    pub resources: Vec<Text>,
    /// The elements of `prompts/list`.
    pub prompts: Vec<Text>,
    /// Core tasks of 2025-11-25: `params.task` on a tool call is honoured.
    pub tasks: bool,
    /// At the end of stdin waits for calls that still run, then exits. Without: exits at once.
    pub finish_calls: bool,
}

/// How frames look on stdio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Framing {
    /// Frames go out with a `Content-Length` header instead of a newline.
    pub content_length_out: bool,
    /// Frames are expected with a `Content-Length` header; other lines are logged as `noise` and ignored.
    pub content_length_in: bool,
    /// What ends a frame.
    pub line_end: String,
    /// A byte order mark in front of the first frame.
    pub bom: bool,
    /// Put in front of every frame as it stands (a blank line is `"\n"`, a log line `"npm notice\n"`).
    pub before_each: String,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            content_length_out: false,
            content_length_in: false,
            line_end: "\n".into(),
            bom: false,
            before_each: String::new(),
        }
    }
}

/// How answers to POSTs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON when the answer is the first message, an event stream when something precedes it.
    #[default]
    Auto,
    /// JSON; messages that precede the answer go to the GET stream.
    Json,
    /// Always an event stream.
    Sse,
}

/// The shape of one HTTP answer; the script has a default, a rule's `answer` step overrides it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// JSON or event stream.
    pub format: Format,
    /// `Content-Encoding: gzip`, whatever the client accepts.
    pub gzip: bool,
    /// Puts line breaks into JSON: a JSON body is spread over lines, an event over several `data:` lines.
    pub multiline: bool,
    /// Begins a stream with an event that has an id and empty data (implies event ids).
    pub prime: bool,
    /// `retry:` in milliseconds, sent with the first event.
    pub retry_ms: Option<u64>,
    /// Events have ids and can be replayed with `Last-Event-ID`.
    pub event_ids: bool,
    /// Line ends of the event stream are CRLF.
    pub crlf: bool,
    /// An event has an `event: message` line.
    pub event_name: bool,
    /// Wait before the status line, in milliseconds.
    pub delay_headers_ms: u64,
    /// The `Content-Type` instead of the right one.
    pub content_type: Option<String>,
    /// Further response headers.
    pub headers: Vec<(String, String)>,
}

/// What GET on the endpoint does in the legacy era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// It works.
    #[default]
    Yes,
    /// 405.
    No,
}

/// How the upstream behaves as an HTTP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// The endpoint's path.
    pub path: String,
    /// `initialize` makes a session with an id. Without: one nameless session for all.
    pub sessions: bool,
    /// Status for a session id it does not know (404 by the specification, 400 in the field).
    pub unknown_session: u16,
    /// A session is forgotten after this many requests in it.
    pub expire_after: Option<usize>,
    /// GET opens the session's stream.
    pub get: Allow,
    /// DELETE ends the session.
    pub delete: Allow,
    /// Default shape of answers.
    pub answer: Answer,
    /// Modern era: compare `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` with the body.
    pub check_headers: bool,
    /// Legacy SSE: what the `endpoint` event says instead of the right path. `${session}` is filled in.
    pub endpoint: Option<String>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            sessions: true,
            unknown_session: 404,
            expire_after: None,
            get: Allow::Yes,
            delete: Allow::Yes,
            answer: Answer::default(),
            check_headers: true,
            endpoint: None,
        }
    }
}

/// Moments in the life of the process that a rule can stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// Before the first byte is read.
    Start,
    /// When stdin has ended (stdio only).
    Eof,
}

/// What a rule stands on. All given conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct On {
    /// A request or notification with this method; `*` is any message with a method.
    pub method: Option<String>,
    /// A `tools/call` of this tool.
    pub tool: Option<String>,
    /// The n-th message of the process (from 1), whatever it is. The steps run *before* its normal handling.
    pub message: Option<usize>,
    /// A moment of the process.
    pub event: Option<Moment>,
    /// An HTTP request with this method (`*`: any), before its body is looked at. The step `default` goes on.
    pub http: Option<String>,
    /// Only for this occurrence of what matches otherwise (from 1).
    pub nth: Option<usize>,
    /// Only for the first so many occurrences.
    pub times: Option<usize>,
}

impl On {
    /// A request or notification with this method.
    pub fn method(method: &str) -> Self {
        Self { method: Some(method.into()), ..Self::default() }
    }

    /// A call of this tool.
    pub fn tool(tool: &str) -> Self {
        Self { tool: Some(tool.into()), ..Self::default() }
    }

    /// Process start.
    pub fn start() -> Self {
        Self { event: Some(Moment::Start), ..Self::default() }
    }

    /// End of stdin.
    pub fn eof() -> Self {
        Self { event: Some(Moment::Eof), ..Self::default() }
    }

    /// The n-th message (from 1).
    pub fn message(n: usize) -> Self {
        Self { message: Some(n), ..Self::default() }
    }

    /// An HTTP request with this method.
    pub fn http(method: &str) -> Self {
        Self { http: Some(method.into()), ..Self::default() }
    }

    /// Only the n-th occurrence.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        self.nth = Some(n);
        self
    }

    /// Only the first `n` occurrences.
    #[must_use]
    pub fn times(mut self, n: usize) -> Self {
        self.times = Some(n);
        self
    }
}

/// One rule: when it matches, its steps are taken in order instead of the default.
///
/// A request whose steps end without an answer is never answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it stands on.
    pub on: On,
    /// What is done.
    #[serde(rename = "do", default)]
    pub steps: Vec<Step>,
}

impl Script {
    /// The default script: a well-behaved legacy upstream with the default tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// A well-behaved upstream of the given era.
    pub fn era(era: Eras) -> Self {
        Self { era, ..Self::default() }
    }

    /// Adds a rule.
    #[must_use]
    pub fn on(mut self, on: On, steps: impl IntoIterator<Item = Step>) -> Self {
        self.rules.push(Rule { on, steps: steps.into_iter().collect() });
        self
    }

    /// Changes what it says about itself.
    #[must_use]
    pub fn server(mut self, change: impl FnOnce(&mut Server)) -> Self {
        change(&mut self.server);
        self
    }

    /// Changes the framing on stdio.
    #[must_use]
    pub fn framing(mut self, change: impl FnOnce(&mut Framing)) -> Self {
        change(&mut self.framing);
        self
    }

    /// Changes the behaviour as HTTP server.
    #[must_use]
    pub fn http(mut self, change: impl FnOnce(&mut Http)) -> Self {
        change(&mut self.http);
        self
    }

    /// Reads a script file.
    ///
    /// # Errors
    /// The file cannot be read, or is no script (the message has line and column).
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Writes the script to a file that [`Script::load`] reads back as the same script.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_survives_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script.json");
        let script = Script::era(Eras::Dual)
            .server(|s| s.tools.push(r#"{"name":"x", "odd" : 1.0}"#.into()))
            .http(|h| h.answer.prime = true)
            .on(On::tool("x").nth(2), [Step::sleep(5), Step::result("{\"a\": 1e400}"), Step::Hang])
            .on(On::start(), [Step::bytes("banner\n"), Step::stderr("hello")]);
        script.save(&path).unwrap();
        assert_eq!(Script::load(&path).unwrap(), script);
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        assert!(serde_json::from_str::<Script>(r#"{"rulez": []}"#).is_err());
        assert!(serde_json::from_str::<Script>(r#"{"rules":[{"on":{"methd":"x"}}]}"#).is_err());
        assert!(serde_json::from_str::<Script>(r#"{"rules":[{"on":{},"do":[{"nap":1}]}]}"#).is_err());
    }
}
