use std::fmt;

/// Longest accepted name in bytes; hosts cut or drop tools long before that.
const MAX_LEN: usize = 256;

/// The key under which a host knows a server, as its configuration writes it. Never split out of a rendered tool
/// name, since hosts change characters there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerName(Box<str>);

/// Why a server name was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerNameError {
    /// Nothing but white space.
    Empty,
    /// Longer than 256 bytes.
    TooLong,
    /// Holds a control character, which would break the log lines that carry the name.
    ControlCharacter,
}

impl fmt::Display for ServerNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a server name cannot be empty"),
            Self::TooLong => write!(f, "a server name has at most {MAX_LEN} bytes"),
            Self::ControlCharacter => f.write_str("a server name cannot hold control characters"),
        }
    }
}

impl std::error::Error for ServerNameError {}

impl ServerName {
    /// Accepts any printable text: hosts allow spaces, dots and letters of every script in their keys.
    pub fn new(name: &str) -> Result<Self, ServerNameError> {
        if name.trim().is_empty() {
            Err(ServerNameError::Empty)
        } else if name.len() > MAX_LEN {
            Err(ServerNameError::TooLong)
        } else if name.chars().any(char::is_control) {
            Err(ServerNameError::ControlCharacter)
        } else {
            Ok(Self(name.into()))
        }
    }

    /// The name as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_written_or_refused_with_a_reason() {
        assert_eq!(ServerName::new("my server.x").unwrap().as_str(), "my server.x");
        assert_eq!(ServerName::new("  "), Err(ServerNameError::Empty));
        assert_eq!(ServerName::new("a\nb"), Err(ServerNameError::ControlCharacter));
        assert_eq!(ServerName::new(&"x".repeat(257)), Err(ServerNameError::TooLong));
    }
}
