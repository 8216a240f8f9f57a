//! `bir wrap --test`: starts the entry once, as a host of both eras would, and says what answers.
//!
//! ```text
//! spawn ── server/discover ──┬─ result ─────────────── modern
//!                            ├─ error, or silence ──── initialize on the same process ── legacy
//!                            └─ the process died ───── spawn again, initialize ───────── legacy
//!                               (not with the status of a command that cannot be run)
//! then tools/list, page by page; then the process tree is ended
//! ```
//!
//! Every wait ends at one deadline for the whole test; the end of the tree has short budgets of its own.

mod client;
mod process;
mod report;
mod tail;
mod tree;

use crate::wrap::Entry;
use client::{Client, Handshake, Trouble};
use std::time::{Duration, Instant};

pub(crate) use process::{NoLine, Process};
pub(crate) use report::{Answer, Failure};

/// Starts the entry once; `limit` is for everything until the last answer.
pub(crate) fn run(entry: &Entry, limit: Duration) -> Result<Answer, Failure> {
    let started = Instant::now();
    let deadline = started + limit;
    let mut process = start(entry)?;
    let mut greeted = Client::new(&mut process, deadline).shake_hands();
    if let Err(Trouble::Ended) = greeted {
        // Some servers die of a first message that they do not know. A host starts them again.
        let first = process.end();
        if Instant::now() >= deadline || first.never_ran() {
            return Err(Failure::new(Trouble::Ended, limit, first));
        }
        process = start(entry)?;
        greeted = Client::new(&mut process, deadline).initialize();
    }
    let outcome = greeted.and_then(|h| tools(&mut process, h, deadline, started));
    let ended = process.end();
    outcome.map_err(|trouble| Failure::new(trouble, limit, ended))
}

fn start(entry: &Entry) -> Result<Process, Failure> {
    Process::start(entry).map_err(|e| Failure::not_started(&entry.command, &e))
}

fn tools(
    process: &mut Process,
    h: Handshake,
    deadline: Instant,
    started: Instant,
) -> Result<Answer, Trouble> {
    let answered = started.elapsed();
    let tools = Client::new(process, deadline).count_tools(&h)?;
    Ok(Answer { handshake: h, tools, answered })
}
