//! Events of a host, in the words that all hosts share.

use crate::record::HostInfo;
use crate::{Outcome, RunId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A redacted payload on its way between two of our programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// The text; JSON where the payload is JSON.
    pub text: String,
    /// Bytes of it as it was seen, before anything was cut.
    pub original_bytes: u64,
    /// Whether something was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadKind {
    /// One JSON value.
    Json,
    /// Plain text.
    Text,
}

/// How two views of one call are recognised as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// By the host's own id of the call, which hook and request both carry: exact.
    CallId,
    /// By an id that we put into the request: exact.
    Injected,
    /// By server, tool and arguments within ten minutes: a guess where equal calls run side by side.
    Fingerprint,
}

impl Join {
    /// The name on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallId => "call_id",
            Self::Injected => "injected",
            Self::Fingerprint => "fingerprint",
        }
    }

    /// What that means for a reader of the run.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::CallId => "exact, by the host's id of a call",
            Self::Injected => "exact, by an id of ours in the request",
            Self::Fingerprint => "by server, tool and arguments: a guess where equal calls run side by side",
        }
    }

    /// What the metadata of a run say of it.
    #[must_use]
    pub fn of_run(metadata: &serde_json::Value) -> Option<Self> {
        Self::deserialize(metadata.get("join")?).ok()
    }
}

/// One event of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct HookEvent<P = Told> {
    /// Made by the hook process; the same event sent twice has it twice.
    pub id: String,
    /// The host as it is recognised: by its environment or payload, not by the file that held the hook.
    pub host: HostInfo,
    /// The host for which the hook was installed (`--host`). Hosts load each other's files: one event may come twice.
    pub via: String,
    /// The host's session.
    pub session_id: String,
    /// The turn: Claude Code's `prompt_id`, Codex's `turn_id`; absent where the host tells none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The sub-agent in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Where the session works.
    pub cwd: PathBuf,
    /// The host's own record of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<PathBuf>,
    /// The host's process as far as it can be told, nearest first: `CLAUDE_PID`, else the hook's parent and those above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_pids: Vec<u32>,
    /// How the host's calls are joined with a proxy's.
    pub join: Join,
    /// `default`, `plan`, `bypassPermissions` …, as the host says; in `plan` nothing is decided for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// When the hook began, ms since the Unix epoch.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: HookWhat<P>,
}

/// What happened in a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub enum HookWhat<P = Told> {
    /// A session began, or goes on under this id.
    SessionStart {
        /// `startup`, `resume`, `clear`, `compact`, `fork`, as the host says.
        source: String,
    },
    /// A turn begins.
    Prompt {
        /// The prompt.
        prompt: P,
        /// It is not the user's: a background task tells that it is done, and the turn that began it goes on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        notification: bool,
    },
    /// A call is about to be made.
    Pre {
        /// The call.
        call: HookCall<P>,
    },
    /// A call has ended.
    Post {
        /// The call, with the arguments as they ran.
        call: HookCall<P>,
        /// How: `ok`, `tool_error`, `timeout` or `cancelled`.
        outcome: Outcome,
        /// The result as the host tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<P>,
        /// The error as the host tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<P>,
        /// How long it took, ms, as the host measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// All calls of one message of the model are over. Those that were not seen to end were refused, or never began.
    Batch {
        /// The calls with what the model is shown.
        calls: Vec<BatchCall<P>>,
    },
    /// The user is asked whether a call may be made. Hosts give no call id here.
    PermissionRequest {
        /// The call.
        call: HookCall<P>,
    },
    /// A call was refused.
    PermissionDenied {
        /// The call.
        call: HookCall<P>,
        /// Why, where the host says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<P>,
    },
    /// A sub-agent began.
    AgentStart,
    /// A sub-agent ended, for now.
    AgentStop {
        /// Its own record. The session's stands beside it on the wire.
        #[serde(rename = "agentTranscript", default, skip_serializing_if = "Option::is_none")]
        transcript: Option<PathBuf>,
    },
    /// The model has answered; work in the background may go on.
    Stop {
        /// The final answer, where the host tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<P>,
        /// The turn ended by an error of the model's interface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Tasks in the background that go on.
        #[serde(default)]
        background: u32,
    },
    /// The session is over.
    SessionEnd {
        /// Why, as the host says.
        reason: String,
    },
    /// Anything else that shows that the session lives: an elicitation, a compaction. Its name, and nothing of it.
    Note {
        /// The host's name of the event.
        name: String,
    },
}

impl<P> HookWhat<P> {
    /// The route that takes it.
    #[must_use]
    pub fn route(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "/session/start",
            Self::Prompt { .. } => "/session/prompt",
            Self::Pre { .. } => "/tool/pre",
            Self::Post { .. } => "/tool/post",
            Self::Batch { .. } => "/tool/batch",
            Self::PermissionRequest { .. } | Self::PermissionDenied { .. } => "/tool/permission",
            Self::AgentStart | Self::AgentStop { .. } => "/session/agent",
            Self::Stop { .. } => "/session/stop",
            Self::SessionEnd { .. } => "/session/end",
            Self::Note { .. } => "/session/note",
        }
    }
}

/// A call as a hook sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct HookCall<P = Told> {
    /// The host's id of the call; some hosts have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The server's key, for a call over MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool as the server names it, where the host tells; never made by splitting a rendered name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<P>,
    /// Of the arguments before redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Compared>,
}

/// A keyed hash of arguments: equal for equal values, whatever the order of members, and of no use without the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Compared(pub String);

/// A call as the end of a message of the model shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct BatchCall<P = Told> {
    /// The call.
    #[serde(flatten)]
    pub call: HookCall<P>,
    /// What the model is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<P>,
    /// What that text says of a call that was not made, where it is one of the host's own sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Outcome>,
    /// The model's text before it: added by the control server, since a transcript may have it no sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<P>,
}

/// What a hook is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookReply {
    /// The run to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the call's first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// Put an id into the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// The version of the control server's program.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// An id for a call whose host gives none, at the price of a permission decision (seed 01 phase 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inject {
    /// The id.
    pub call_id: String,
    /// `allow` or `ask`, as the operator chose.
    pub decision: String,
}

/// Changes every payload of a message, and nothing else.
type Each<'a, P, Q> = &'a mut dyn FnMut(PayloadKind, P) -> Q;

impl<P> HookEvent<P> {
    /// The same event with other payloads.
    pub fn map<Q>(self, each: Each<'_, P, Q>) -> HookEvent<Q> {
        HookEvent {
            id: self.id,
            host: self.host,
            via: self.via,
            session_id: self.session_id,
            turn_id: self.turn_id,
            agent_id: self.agent_id,
            cwd: self.cwd,
            transcript: self.transcript,
            host_pids: self.host_pids,
            join: self.join,
            permission_mode: self.permission_mode,
            at: self.at,
            what: self.what.map(each),
        }
    }
}

impl<P> HookWhat<P> {
    fn map<Q>(self, each: Each<'_, P, Q>) -> HookWhat<Q> {
        match self {
            Self::SessionStart { source } => HookWhat::SessionStart { source },
            Self::Prompt { prompt, notification } => {
                HookWhat::Prompt { prompt: each(PayloadKind::Text, prompt), notification }
            }
            Self::Pre { call } => HookWhat::Pre { call: call.map(each) },
            Self::Post { call, outcome, output, error, duration_ms } => HookWhat::Post {
                call: call.map(each),
                outcome,
                output: output.map(|output| each(PayloadKind::Json, output)),
                error: error.map(|error| each(PayloadKind::Json, error)),
                duration_ms,
            },
            Self::Batch { calls } => HookWhat::Batch {
                calls: calls
                    .into_iter()
                    .map(|one| BatchCall {
                        call: one.call.map(each),
                        shown: one.shown.map(|shown| each(PayloadKind::Json, shown)),
                        verdict: one.verdict,
                        context: one.context.map(|context| each(PayloadKind::Text, context)),
                    })
                    .collect(),
            },
            Self::PermissionRequest { call } => HookWhat::PermissionRequest { call: call.map(each) },
            Self::PermissionDenied { call, reason } => HookWhat::PermissionDenied {
                call: call.map(each),
                reason: reason.map(|reason| each(PayloadKind::Json, reason)),
            },
            Self::AgentStart => HookWhat::AgentStart,
            Self::AgentStop { transcript } => HookWhat::AgentStop { transcript },
            Self::Stop { answer, error, background } => HookWhat::Stop {
                answer: answer.map(|answer| each(PayloadKind::Text, answer)),
                error,
                background,
            },
            Self::SessionEnd { reason } => HookWhat::SessionEnd { reason },
            Self::Note { name } => HookWhat::Note { name },
        }
    }
}

impl<P> HookCall<P> {
    fn map<Q>(self, each: Each<'_, P, Q>) -> HookCall<Q> {
        HookCall {
            call_id: self.call_id,
            tool_name: self.tool_name,
            server: self.server,
            tool: self.tool,
            input: self.input.map(|input| each(PayloadKind::Json, input)),
            fingerprint: self.fingerprint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_of_a_session_and_of_its_agent_keep_apart() {
        let event: HookEvent = HookEvent {
            id: "e".into(),
            host: HostInfo::default(),
            via: "claude-code".into(),
            session_id: "s".into(),
            turn_id: None,
            agent_id: Some("a".into()),
            cwd: "/w".into(),
            transcript: Some("/t/s.jsonl".into()),
            host_pids: Vec::new(),
            join: Join::CallId,
            permission_mode: Some("plan".into()),
            at: 1,
            what: HookWhat::AgentStop { transcript: Some("/t/a.jsonl".into()) },
        };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<HookEvent>(&json).unwrap(), event);
    }
}
