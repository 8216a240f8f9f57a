//! One module per host: how its hook payloads read in the words that all hosts share, and how it is told to call us.
//!
//! ```text
//!  stdin ── Payload ── recognise ──▶ Host ── event ──▶ RawEvent ── (redacted elsewhere) ──▶ control server
//!                                      └── answer ──▶ what the host reads on stdout; nearly always nothing
//!  hooks ──▶ where a host's hooks are set up, and the text that does it
//! ```
//!
//! Everything here is a function of values: no clock, no process, no file. What a host says stays as it came: payloads are the
//! bytes of the host's own JSON.
//!
//! | host | join of its calls with a proxy's | why |
//! |---|---|---|
//! | Claude Code, Codex | by the call's id | hook and request both carry it |
//! | Copilot CLI | by an id that we put into the request | its hook before a call over MCP says which `_meta` to send |
//! | Gemini CLI, opencode, Cursor | by server, tool and arguments | nothing of the hook is in the request |

#![forbid(unsafe_code)]

mod answer;
pub mod claude_code;
pub mod codex;
pub mod config;
pub mod copilot;
pub mod gemini;
mod host;
pub mod opencode;
mod our_hook;
mod payload;
mod recognise;
mod refusal;
mod register;
mod rendered;
mod shape;

pub use answer::{CALL_ID_META, answer};
pub use host::{Host, OwnFile};
pub use our_hook::{OurHook, our_file, our_hook};
pub use payload::Payload;
pub use recognise::recognise;
pub use refusal::verdict;
pub use register::{Hooks, hook_elements, hooks};
pub use rendered::by_server;
pub use shape::{Context, RawEvent, RawPayload, cwd};

/// The member that carries an id of ours in the arguments of a call, where an operator asks for it (seed 01 phase 6).
pub const CALL_ID_ARGUMENT: &str = "__bir_call_id__";

/// The event that a payload names itself, else the one for which the hook was installed.
#[must_use]
pub fn event_name(named: &str, payload: &Payload<'_>) -> String {
    payload.text(&["hook_event_name", "hookEventName"]).unwrap_or_else(|| named.to_owned())
}

/// What a host's hook says of an event, by its [`event_name`]. None: nothing that could be told of, for want of a session or a tool, or
/// something that another hook tells.
#[must_use]
pub fn event<'a>(host: Host, named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    match host {
        Host::ClaudeCode | Host::Cursor => claude_code::event(host, named, payload, context),
        Host::Codex => codex::event(named, payload, context),
        Host::CopilotCli => copilot::event(named, payload, context),
        Host::GeminiCli => gemini::event(named, payload, context),
        Host::OpenCode => opencode::event(named, payload, context),
        // Their hooks are not understood, and none are installed.
        _ => None,
    }
}
