//! The transcripts of all sessions that go on.

use super::Tail;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Most steps of one tail for one question: what a host writes between two events is far below.
const MOST_STEPS: usize = 4;
/// Most transcripts that are followed at once; more are not followed.
const MOST_TAILS: usize = 256;
/// Sub-agents' files beside a session's that are looked into for one call, the newest ones.
const MOST_AGENTS: usize = 16;

/// Follows every transcript that it is asked about, until it is told to forget it.
#[derive(Debug, Default)]
pub struct Transcripts {
    tails: HashMap<PathBuf, Tail>,
}

impl Transcripts {
    /// Follows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The model's text and reasoning before a call, in the session's transcript or in those of its sub-agents. Nothing where it
    /// is not written down: Claude Code writes a call down between its beginning and its end.
    pub fn context_before(&mut self, transcript: &Path, call_id: &str) -> Option<String> {
        if let Some(context) = self.tail(transcript)?.context_before(call_id) {
            return Some(context);
        }
        let agents = newest_agents(transcript);
        agents.iter().find_map(|agent| self.tail(agent)?.context_before(call_id))
    }

    /// A session is over.
    pub fn forget(&mut self, transcripts: &[PathBuf]) {
        for session in transcripts {
            let beside = session.with_extension("").join("subagents");
            self.tails.retain(|path, _| path != session && !path.starts_with(&beside));
        }
    }

    /// The tail of a file, read on.
    fn tail(&mut self, path: &Path) -> Option<&mut Tail> {
        if !self.tails.contains_key(path) {
            if self.tails.len() >= MOST_TAILS {
                return None;
            }
            self.tails.insert(path.to_path_buf(), Tail::new(path.to_path_buf()));
        }
        let tail = self.tails.get_mut(path)?;
        for _ in 0..MOST_STEPS {
            // A file that cannot be read tells nothing, now.
            if !tail.step().unwrap_or(false) {
                break;
            }
        }
        Some(tail)
    }
}

/// The files of a session's sub-agents that were written to last.
fn newest_agents(session: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(session.with_extension("").join("subagents"));
    let files = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let dated = files
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)));
    let mut found: Vec<_> = dated.collect();
    found.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
    found.into_iter().take(MOST_AGENTS).map(|(_, path)| path).collect()
}
