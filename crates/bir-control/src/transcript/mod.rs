//! What a host writes down of its own sessions, read beside what hooks and proxies tell.
//!
//! ```text
//!   transcript ── Tail, in steps ──▶ what the model said before a call; how a call ended that nobody told of
//!        └────── facts, at the end of a turn ──▶ RawFacts: tokens by model, the final answer, open calls' outcomes
//! ```
//!
//! Claude Code writes `<session>.jsonl`, and `<session>/subagents/agent-<id>.jsonl` for each sub-agent (facts/claude-code.md §4);
//! Codex writes `sessions/**/rollout-*.jsonl`. Both append one JSON object a line. Lines that are not understood are passed over:
//! hosts add kinds of rows with every version. Whatever is returned is as the host wrote it; who asks redacts it.

mod claude;
mod codex;
mod facts;
mod lines;
mod many;
mod tail;
mod usage;

pub use facts::{RawFacts, facts};
pub use many::Transcripts;
pub use tail::Tail;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Whose rows a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Claude,
    Codex,
}

impl Format {
    /// As one of its lines tells; nothing where that is no JSON object.
    fn of(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Probe {
            // Every row of Codex is `{timestamp, type, payload}`; no row of Claude Code has a payload.
            payload: Option<IgnoredAny>,
        }
        let probe: Probe = serde_json::from_slice(line).ok()?;
        Some(if probe.payload.is_some() { Self::Codex } else { Self::Claude })
    }
}
