//! The same session against two commands, and what each side of it saw, byte for byte.
//!
//! ```text
//!   acts ─▶ StdioHost ─▶ [proxy] ─▶ TestUpstream
//!              │ stdout bytes           │ lines of its log
//!              └──────── Transcript ────┘
//! ```
//!
//! Run the acts once against the upstream itself and once against the proxy in front of a second upstream
//! with the same script, then compare with [`Transcript::difference`]. For an HTTP or SSE upstream the first run
//! is the same script on stdio: what host and upstream see must not depend on the transport.

use std::time::Duration;

use crate::host::{HostCommand, HostError, StdioHost};
use crate::upstream::TestUpstream;

/// One thing that a host does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Writes these bytes as they stand.
    Write(Vec<u8>),
    /// Waits until so many more lines have come on stdout.
    Lines(usize),
    /// Waits until stdout has so many bytes in total.
    Bytes(u64),
    /// Closes stdin.
    Close,
}

impl Act {
    /// Writes a line and its newline.
    pub fn line(line: impl AsRef<[u8]>) -> Self {
        Self::Write([line.as_ref(), b"\n"].concat())
    }

    /// Writes a line, waits for so many lines.
    pub fn exchange(line: impl AsRef<[u8]>, lines: usize) -> [Self; 2] {
        [Self::line(line), Self::Lines(lines)]
    }
}

/// What both sides of a session saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Every byte that the host read.
    pub host: Vec<u8>,
    /// Every message that the upstream read, without line ends.
    pub upstream: Vec<Vec<u8>>,
    /// Exit status as a shell gives it.
    pub status: i32,
    /// Everything on stderr.
    pub stderr: Vec<u8>,
}

/// Bytes shown around a difference.
const AROUND: usize = 60;

fn show(bytes: &[u8], at: usize) -> String {
    let from = at.saturating_sub(AROUND);
    let to = (at + AROUND).min(bytes.len());
    format!("…{}…", bytes[from..to].escape_ascii())
}

fn first_difference(what: &str, one: &[u8], other: &[u8]) -> Option<String> {
    if one == other {
        return None;
    }
    let at = one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len()));
    let (length, other_length) = (one.len(), other.len());
    Some(format!(
        "{what} differs at byte {at} ({length} and {other_length} bytes):\n  first:  {}\n  second: {}",
        show(one, at),
        show(other, at)
    ))
}

impl Transcript {
    /// Runs the acts against a command whose upstream logs to `upstream`, then closes stdin and waits for the end.
    ///
    /// # Errors
    /// The command cannot be started, does not give the lines, or does not end within the budget (of each act).
    pub fn run(
        command: &HostCommand,
        upstream: &TestUpstream,
        acts: &[Act],
        budget: Duration,
    ) -> Result<Self, HostError> {
        let mut host = command.start()?;
        for act in acts {
            take(&mut host, act, budget)?;
        }
        let status = host.finish(budget)?;
        let (stdout, stderr) = (host.stdout(), host.stderr());
        Ok(Self { host: stdout, upstream: upstream.lines()?, status, stderr })
    }

    /// The first difference in what host or upstream saw, to be read by a person; stderr and status are not compared.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if let Some(difference) = first_difference("what the host read", &self.host, &other.host) {
            return Some(difference);
        }
        for (n, (one, two)) in self.upstream.iter().zip(&other.upstream).enumerate() {
            if let Some(difference) = first_difference(&format!("message {n} to the upstream"), one, two) {
                return Some(difference);
            }
        }
        let (one, two) = (self.upstream.len(), other.upstream.len());
        let more = if one > two { self.upstream.get(two) } else { other.upstream.get(one) };
        more.map(|line| {
            format!("the upstream read {one} and {two} messages; the first more is {}", show(line, 0))
        })
    }
}

fn take(host: &mut StdioHost, act: &Act, budget: Duration) -> Result<(), HostError> {
    match act {
        Act::Write(bytes) => host.write(bytes),
        Act::Lines(n) => (0..*n).try_for_each(|_| host.line(budget).map(drop)),
        Act::Bytes(n) => match host.wait_stdout_len(*n, budget) >= *n {
            true => Ok(()),
            false => Err(HostError::Timeout(budget, host.stderr_text())),
        },
        Act::Close => {
            host.close_stdin();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(host: &str, upstream: &[&str]) -> Transcript {
        Transcript {
            host: host.into(),
            upstream: upstream.iter().map(|line| line.as_bytes().to_vec()).collect(),
            status: 0,
            stderr: Vec::new(),
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let one = transcript("abc", &["x", "y"]);
        assert_eq!(one.difference(&one), None);
        let told = one.difference(&transcript("abd", &["x", "y"])).unwrap();
        assert!(told.contains("host read differs at byte 2 (3 and 3 bytes)"), "{told}");
        assert!(one.difference(&transcript("ab", &["x", "y"])).unwrap().contains("at byte 2"));
        assert!(one.difference(&transcript("abc", &["x", "z"])).unwrap().contains("message 1"));
        assert!(one.difference(&transcript("abc", &["x"])).unwrap().contains("the first more is …y…"));
        assert!(transcript("", &[]).difference(&transcript("", &["q"])).unwrap().contains("…q…"));
    }
}
