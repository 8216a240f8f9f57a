//! Why a command could not be done: what, why, and what to do, in one line.

use bir_record::hub::{EmbeddedHub, HubError};
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
    /// Some of it was done, and the rest could not be; as a whole sentence.
    #[error("{0}")]
    Partly(String),
    /// Nothing was found, which has been said already, or is an empty array.
    #[error("nothing was found")]
    Nothing,
    /// Whoever read the output has gone; they have seen enough.
    #[error("nobody reads the output any more")]
    Closed,
}

impl CommandError {
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// The exit status that says it.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Usage(_) => 2,
            Self::Partly(_) => 3,
            _ => 1,
        }
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
        HubError::Unreachable { url, .. } | HubError::Timeout { url, .. } => unanswered(is_embedded(url)),
        _ => "",
    }
}

fn unanswered(embedded: bool) -> &'static str {
    if embedded {
        "; start it with `bir up`"
    } else {
        "; check the network and the address, or use the hub of this machine: `bir logout`, then `bir up`"
    }
}

/// Whether it is the hub that `bir up` starts. A hub on this machine may be a team's all the same.
fn is_embedded(url: &str) -> bool {
    let hub = bir_home::state_dir().and_then(|dir| EmbeddedHub::load(&dir));
    hub.is_some_and(|hub| hub.url == url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_that_does_not_answer_comes_with_a_way_out() {
        let gone = HubError::Unreachable { url: "https://hub.example.com".into(), why: "refused".into() };
        assert!(CommandError::from(gone).to_string().contains("bir logout"));
        assert!(unanswered(true).contains("bir up") && !unanswered(true).contains("logout"));
        assert!(matches!(
            CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe)),
            CommandError::Closed
        ));
    }
}
