//! The outcome of a test for people.

use super::client::{Handshake, Trouble};
use super::process::Ended;
use super::tail::printable;
use std::fmt;
use std::time::Duration;

/// What answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) handshake: Handshake,
    /// Nothing where the server offers no tools at all.
    pub(super) tools: Option<usize>,
    /// From the start to the answered handshake.
    pub(super) answered: Duration,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let h = &self.handshake;
        writeln!(f, "test passed")?;
        writeln!(f, "  server    {}", h.name)?;
        writeln!(f, "  version   {}", h.version)?;
        writeln!(f, "  era       {}", h.era)?;
        writeln!(f, "  protocol  {}", h.protocol)?;
        match self.tools {
            Some(n) => writeln!(f, "  tools     {n}")?,
            None => writeln!(f, "  tools     0 (the server offers none)")?,
        }
        write!(f, "  answered  in {} ms", self.answered.as_millis())
    }
}

/// What went wrong, and the last words of the process.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    stderr: Vec<String>,
}

impl Failure {
    pub(super) fn not_started(program: &str, e: &std::io::Error) -> Self {
        Self { what: format!("failed to start {program}: {e}"), stderr: vec![] }
    }

    pub(super) fn new(trouble: Trouble, limit: Duration, ended: Ended) -> Self {
        let what = match trouble {
            Trouble::Late(what) => {
                format!(
                    "no answer to {what} within {} s; give a slow server more with --timeout",
                    limit.as_secs()
                )
            }
            Trouble::Ended => match ended.status {
                Some(s) => format!("the server ended before it answered ({s})"),
                None => "the server closed its output before it answered".into(),
            },
            Trouble::Refused(what, message) => format!("the server refused {what}: {message}"),
            Trouble::Strange(what, got) => format!("the answer to {what} is none that MCP knows: {got}"),
        };
        Self { what, stderr: ended.stderr }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "test failed: {}", self.what)?;
        if !self.stderr.is_empty() {
            write!(f, "\nlast words on stderr:")?;
        }
        self.stderr.iter().try_for_each(|l| write!(f, "\n  {}", printable(l)))
    }
}
