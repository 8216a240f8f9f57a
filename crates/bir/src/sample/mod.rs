//! `bir sample-server`: a small MCP server on stdio, for trying things out where no other is at hand.
//!
//! ```text
//!  stdin ── one message a line ── answer (pure) ──┬── result or error ──▶ stdout
//!                                                 └── progress first, where a call asked for it
//! ```
//!
//! It speaks both eras: `initialize` and what follows, and requests that stand alone with their version in `_meta`
//! (`server/discover`). No runtime, no threads: one request after another.

mod protocol;
mod tools;

use crate::error::CommandError;
use protocol::Answer;
use std::io::{self, BufRead, Write};

/// The longest message in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Serves until stdin ends.
///
/// # Errors
///
/// stdin cannot be read or a message is too long; that nobody reads stdout any more is an end like the other.
pub(crate) fn serve() -> Result<(), CommandError> {
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    let failed = |e: io::Error| CommandError::failed(format!("the sample server cannot go on: {e}"));
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LONGEST {
            return Err(CommandError::failed(format!("a message of more than {LONGEST} bytes")));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        for answer in protocol::answer(&line) {
            match answer {
                Answer::Line(value) => {
                    let written = writeln!(out, "{value}").and_then(|()| out.flush());
                    if written.is_err() {
                        return Ok(());
                    }
                }
                Answer::Pause(pause) => std::thread::sleep(pause),
            }
        }
    }
}
