//! The steps of a rule: the small verbs a script is made of.

use serde::{Deserialize, Serialize};

use crate::script::Answer;
use crate::text::Text;

/// How bytes are cut into separate writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chunking {
    /// Byte offsets (within one frame) at which a new write begins.
    pub at: Vec<usize>,
    /// Otherwise every so many bytes; 0 means no further cuts.
    pub every: usize,
    /// Pause between two writes, in milliseconds.
    pub pause_ms: u64,
}

/// A complete HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Headers in order. `${origin}` (`http://127.0.0.1:PORT`) and `${path}` are filled in.
    pub headers: Vec<(String, String)>,
    /// The body; `Content-Length` is added.
    pub body: Option<Text>,
}

/// One step. In a script file: `{"result": {…}}`, or the bare name for those without a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Waits so many milliseconds.
    SleepMs(u64),
    /// Waits until `count` messages with this method have been received (in the process).
    WaitFor {
        /// The method.
        method: String,
        /// How many, from the start of the process.
        #[serde(default = "one")]
        count: usize,
        /// Budget in milliseconds; when it is over, the answer is an error that says so.
        #[serde(default = "ten_seconds")]
        timeout_ms: u64,
    },
    /// What would happen without the rule.
    Default,
    /// Answers with this result text.
    Result(Text),
    /// Answers with this error text.
    Error(Text),
    /// Answers with this whole message; nothing is added but the frame.
    Answer(Text),
    /// Sends this whole message ahead of the answer.
    Message(Text),
    /// Puts bytes on the wire (stdout, or the open HTTP answer) without any frame.
    Bytes(Text),
    /// Writes so many bytes `x` without a newline to the wire.
    Fill(u64),
    /// Answers a tool call with so many bytes of text, made while they are written.
    Size(u64),
    /// Cuts everything that this rule writes from here on.
    Chunk(Chunking),
    /// Progress notifications 1 to n with the call's own token; none when the call has no token.
    Progress(u64),
    /// A notification that belongs to the call.
    Notify {
        /// The method.
        method: String,
        /// Raw params.
        #[serde(default)]
        params: Option<Text>,
    },
    /// `notifications/{tools,prompts,resources}/list_changed` to every session or subscription.
    Changed(String),
    /// Adds a tool to the list.
    AddTool(Text),
    /// Removes a tool from the list.
    RemoveTool(String),
    /// Asks the host, waits for the reply and keeps it: `${reply}` is its raw result or error,
    /// `${reply_line}` the whole message.
    Ask {
        /// The method.
        method: String,
        /// Raw params.
        #[serde(default)]
        params: Option<Text>,
        /// The raw id; without it `"ask-1"`, `"ask-2"` and so on.
        #[serde(default)]
        id: Option<Text>,
        /// Budget in milliseconds; when it is over, the reply is `"no reply"`.
        #[serde(default = "ten_seconds")]
        timeout_ms: u64,
    },
    /// Modern era: asks for input. A call without `inputResponses` is answered `input_required` and the
    /// rule ends; the retry goes on after checking that `requestState` came back unchanged (else -32602).
    /// `${responses}` is what came.
    InputRequired {
        /// Raw `inputRequests`.
        requests: Text,
        /// `requestState`.
        #[serde(default)]
        state: Option<String>,
    },
    /// Text to stderr, as it stands.
    Stderr(String),
    /// So many bytes to stderr; a newline after every `line` bytes, none when 0.
    StderrFill {
        /// How many bytes.
        bytes: u64,
        /// Line length.
        #[serde(default)]
        line: usize,
    },
    /// Ends the process with this status. Inside a test process: the server stops and drops its connections.
    Exit(i32),
    /// Ends the process by this signal (`SIGKILL`, `SIGSEGV`, …).
    Signal(String),
    /// From now on ignores `eof`, `SIGTERM`, `SIGINT` or `SIGHUP`.
    Ignore(Vec<String>),
    /// Starts a process that holds stdin, stdout and stderr open for so many seconds.
    Grandchild {
        /// Seconds it lives.
        seconds: u64,
        /// It ignores SIGTERM and SIGINT.
        #[serde(default)]
        stubborn: bool,
        /// It leaves the process group.
        #[serde(default)]
        own_group: bool,
    },
    /// Closes stdout and goes on.
    CloseStdout,
    /// Over HTTP: the shape of this rule's answer.
    Shape(Box<Answer>),
    /// Over HTTP: this complete answer.
    Http(Reply),
    /// Over HTTP: bytes on the connection as they stand, instead of an answer; then it is closed.
    Connection(Text),
    /// Over HTTP: closes the connection without a word.
    Drop,
    /// Over HTTP: ends the open event stream. What this rule sends from here on can be replayed when events have
    /// ids. `true` ends it properly, `false` in the middle (no last chunk).
    Cut(bool),
    /// Over HTTP: forgets the session.
    Forget,
    /// Holds the request open until the client closes or the process ends.
    Hang,
}

fn one() -> usize {
    1
}

fn ten_seconds() -> u64 {
    10_000
}

impl Step {
    /// Waits so many milliseconds.
    pub fn sleep(ms: u64) -> Self {
        Self::SleepMs(ms)
    }

    /// Waits for the first message with this method, ten seconds at most.
    pub fn wait_for(method: &str) -> Self {
        Self::wait_for_nth(method, 1)
    }

    /// Waits until `count` messages with this method have come, ten seconds at most.
    pub fn wait_for_nth(method: &str, count: usize) -> Self {
        Self::WaitFor { method: method.into(), count, timeout_ms: ten_seconds() }
    }

    /// Answers with this result text.
    pub fn result(text: impl Into<Text>) -> Self {
        Self::Result(text.into())
    }

    /// Answers with this error text.
    pub fn error(text: impl Into<Text>) -> Self {
        Self::Error(text.into())
    }

    /// Answers with this whole message.
    pub fn answer(text: impl Into<Text>) -> Self {
        Self::Answer(text.into())
    }

    /// Sends this whole message ahead of the answer.
    pub fn message(text: impl Into<Text>) -> Self {
        Self::Message(text.into())
    }

    /// Puts bytes on the wire without any frame.
    pub fn bytes(text: impl Into<Text>) -> Self {
        Self::Bytes(text.into())
    }

    /// Cuts what follows at these offsets.
    pub fn chunk_at(at: &[usize]) -> Self {
        Self::Chunk(Chunking { at: at.to_vec(), ..Chunking::default() })
    }

    /// Cuts what follows every so many bytes.
    pub fn chunk_every(every: usize) -> Self {
        Self::Chunk(Chunking { every, ..Chunking::default() })
    }

    /// A notification that belongs to the call.
    pub fn notify(method: &str, params: &str) -> Self {
        Self::Notify { method: method.into(), params: Some(params.into()) }
    }

    /// Asks the host and keeps the reply.
    pub fn ask(method: &str, params: &str) -> Self {
        Self::Ask { method: method.into(), params: Some(params.into()), id: None, timeout_ms: ten_seconds() }
    }

    /// Asks for input, modern era.
    pub fn input_required(requests: &str, state: &str) -> Self {
        Self::InputRequired { requests: requests.into(), state: Some(state.into()) }
    }

    /// Text to stderr, as it stands.
    pub fn stderr(text: &str) -> Self {
        Self::Stderr(text.into())
    }

    /// A complete HTTP answer.
    pub fn http(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self::Http(Reply {
            status,
            headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            body: Some(body.into()),
        })
    }

    /// Changes the shape of this rule's HTTP answer.
    pub fn shape(change: impl FnOnce(&mut Answer)) -> Self {
        let mut answer = Answer::default();
        change(&mut answer);
        Self::Shape(Box::new(answer))
    }

    /// Whether taking the step can wait for something, so that other messages must not wait behind it.
    pub(crate) fn waits(&self) -> bool {
        matches!(
            self,
            Self::SleepMs(_)
                | Self::WaitFor { .. }
                | Self::Ask { .. }
                | Self::Hang
                | Self::Size(_)
                | Self::Fill(_)
                | Self::Chunk(Chunking { pause_ms: 1.., .. })
        )
    }
}
