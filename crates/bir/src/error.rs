//! Why a command could not be done: what, why, and what to do, in one line.

use bir_record::hub::HubError;
use std::io;
use thiserror::Error;

/// Why a command ended without what was asked for.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// The hub did not answer, or refused.
    #[error("{0}{hint}", hint = hint(.0))]
    Hub(#[from] HubError),
    /// Anything else, as a whole sentence.
    #[error("{0}")]
    Failed(String),
    /// Whoever read the output has gone; they have seen enough.
    #[error("nobody reads the output any more")]
    Closed,
}

impl CommandError {
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }
}

impl From<io::Error> for CommandError {
    /// Of writing to stdout.
    fn from(e: io::Error) -> Self {
        if e.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Failed(format!("cannot write the output: {e}"))
        }
    }
}

/// What to do, where the error does not say it itself.
fn hint(e: &HubError) -> &'static str {
    match e {
        HubError::Unreachable { url, .. } | HubError::Timeout { url, .. } if is_local(url) => {
            "; start it with `bir up`"
        }
        HubError::Unreachable { .. } | HubError::Timeout { .. } => {
            "; check the network and the address, or use the embedded hub with `bir logout` and `bir up`"
        }
        _ => "",
    }
}

fn is_local(url: &str) -> bool {
    ["http://127.", "http://localhost", "http://[::1]"].iter().any(|start| url.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_that_does_not_answer_comes_with_a_way_out() {
        let error = |url: &str| {
            CommandError::from(HubError::Unreachable { url: url.into(), why: "refused".into() }).to_string()
        };
        assert!(error("http://127.0.0.1:7411").ends_with("; start it with `bir up`"));
        assert!(error("https://hub.example.com").contains("bir logout"));
        assert!(matches!(
            CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe)),
            CommandError::Closed
        ));
    }
}
