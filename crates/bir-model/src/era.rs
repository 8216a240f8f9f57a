use serde::{Deserialize, Serialize};
use std::fmt;

/// The first protocol revision without `initialize` (MCP 2026-07-28).
const FIRST_MODERN: &str = "2026-07-28";

/// The two shapes of the protocol: with a handshake and sessions, or without either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Revision 2025-11-25 and older: `initialize`, sessions, requests from the server.
    Legacy,
    /// Revision 2026-07-28 and newer: `server/discover`, every request stands alone.
    Modern,
}

impl Era {
    /// The era of a protocol revision. Revisions are dates, so their text orders them; what is no date counts as
    /// legacy, because every implementation that predates the new revision answers to `initialize`.
    #[must_use]
    pub fn of_revision(revision: &str) -> Self {
        let is_date = revision.len() == FIRST_MODERN.len()
            && revision
                .bytes()
                .enumerate()
                .all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() });
        if is_date && revision >= FIRST_MODERN { Self::Modern } else { Self::Legacy }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_fall_into_their_era() {
        for (revision, era) in [
            ("2024-11-05", Era::Legacy),
            ("2025-11-25", Era::Legacy),
            ("2026-07-28", Era::Modern),
            ("2027-01-01", Era::Modern),
            ("draft", Era::Legacy),
            ("", Era::Legacy),
            ("9999-99", Era::Legacy),
        ] {
            assert_eq!(Era::of_revision(revision), era, "{revision}");
        }
    }
}
