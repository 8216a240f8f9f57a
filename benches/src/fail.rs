use std::fmt;
use std::io::{Error, ErrorKind};

/// Longest text of a foreign error that a result keeps, in characters.
const SHOWN: usize = 120;

/// Why an exchange with a proxy did not end as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fail {
    /// No answer within the time limit.
    Timeout,
    /// The other end closed, or its process ended.
    Closed,
    /// Anything else, in the words of who reported it.
    Other(String),
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("hang"),
            Self::Closed => f.write_str("died"),
            Self::Other(s) => s.chars().take(SHOWN).try_for_each(|c| write!(f, "{c}")),
        }
    }
}

impl From<Error> for Fail {
    fn from(e: Error) -> Self {
        match e.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Other(e.to_string()),
        }
    }
}
