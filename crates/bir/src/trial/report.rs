//! The outcome of a test for people.

use super::client::{Handshake, Trouble};
use super::process::{Ended, NOT_EXECUTABLE, NOT_FOUND};
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
        let mut stderr = ended.stderr;
        stderr.retain(|l| !repeats(l, &trouble));
        let what = match trouble {
            Trouble::Late(what) => {
                format!(
                    "no answer to {what} within {} s; give a slow server more with --timeout (one that expects \
                     `Content-Length` framing never answers)",
                    limit.as_secs()
                )
            }
            Trouble::Ended => match ended.status {
                Some(s) if s.code() == Some(NOT_FOUND) => format!("the server's command was not found ({s})"),
                Some(s) if s.code() == Some(NOT_EXECUTABLE) => {
                    format!("the server's command cannot be run ({s})")
                }
                Some(s) => format!("the server ended before it answered ({s})"),
                None => "the server closed its output before it answered".into(),
            },
            Trouble::Unreachable(why) => {
                format!("the server could not be reached: {why}; check its address, and that it runs")
            }
            Trouble::Echo => {
                "the command sends back what it is sent, as `cat` does; it is no MCP server".into()
            }
            Trouble::Refused(what, message) => format!("the server refused {what}: {message}"),
            Trouble::Strange(what, got) => format!("the answer to {what} is none that MCP knows: {got}"),
        };
        Self { what, stderr }
    }
}

/// Is it a line of the proxy's own about what the report says already, with the limit that counts here?
fn repeats(line: &str, trouble: &Trouble) -> bool {
    line.starts_with("bir-proxy[")
        && match trouble {
            Trouble::Late(_) => line.contains("]: the server has not answered for "),
            Trouble::Unreachable(why) => line.contains(why.as_str()),
            _ => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_proxys_own_lines_about_the_same_are_dropped() {
        let waiting = "bir-proxy[x]: the server has not answered for 5 s; a slow start looks like this";
        let ended = || Ended {
            status: None,
            stderr: vec![waiting.into(), "the server has not answered for 5 s".into()],
        };
        let late = Failure::new(Trouble::Late("initialize"), Duration::from_secs(3), ended());
        assert_eq!(late.stderr, ["the server has not answered for 5 s"]);
        let strange =
            Failure::new(Trouble::Strange("initialize", "1".into()), Duration::from_secs(3), ended());
        assert_eq!(strange.stderr.len(), 2);
    }
}
