//! Why the program ends early: one line for a person, and an exit status.

use bir_store::StoreError;
use std::fmt;

/// Ends the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    message: String,
    status: u8,
}

impl Fault {
    /// It could not: status 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// It was asked for wrongly: status 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 2 }
    }

    /// Another hub has the state directory: status 3, for whoever started both and needs one.
    pub(crate) fn held(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 3 }
    }

    pub(crate) fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever the parts said.
        f.write_str(&self.message.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}
