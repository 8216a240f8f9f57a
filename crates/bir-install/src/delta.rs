//! How a file was, told by the file that it became: pieces of that one, and what is in neither.
//!
//! A file of a host may hold credentials, which are kept nowhere else. What they are made of stands in the new file as it stood in the old
//! one, so the delta copies it from there.

use serde::{Deserialize, Serialize};

/// A piece of the older text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Piece {
    /// Bytes of the newer text: where they begin, and how many.
    Copy(usize, usize),
    /// What the newer text does not hold.
    Text(String),
}

/// From the newer text to the older one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Delta(pub Vec<Piece>);

impl Delta {
    /// The way back from `new` to `old`. None: a piece of text would hold one of `secrets`.
    #[must_use]
    pub fn between(new: &[u8], old: &[u8], secrets: &[String]) -> Option<Self> {
        let _ = (new, old, secrets);
        None
    }

    /// The older text. None: it was made for another text.
    #[must_use]
    pub fn apply(&self, new: &[u8]) -> Option<Vec<u8>> {
        let _ = new;
        None
    }
}
