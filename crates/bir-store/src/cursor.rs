//! Where a part of a list ended: the position of its last row, so that rows that come or go meanwhile do not move others.
//! People see hexadecimal digits and need not understand them; what was not made here is refused.

use crate::StoreError;
use std::fmt::Write as _;
use uuid::Uuid;

/// Which list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Runs = 1,
    Search = 2,
    Scenarios = 3,
    ScenarioRuns = 4,
    Edits = 5,
    Executions = 6,
}

/// A position: a row by its time (an entry of a history by its revision) and id, and in a search the first index that was not
/// looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) started_at: u64,
    pub(crate) id: Uuid,
    pub(crate) index: u32,
}

/// List, beginning, id, index.
const BODY: usize = 1 + 8 + 16 + 4;
const SUM: usize = 4;

impl Cursor {
    pub(crate) fn write(self, list: List) -> String {
        let mut bytes = Vec::with_capacity(BODY + SUM);
        bytes.push(list as u8);
        bytes.extend(self.started_at.to_be_bytes());
        bytes.extend(self.id.as_bytes());
        bytes.extend(self.index.to_be_bytes());
        bytes.extend(sum(&bytes).to_be_bytes());
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    pub(crate) fn read(text: &str, list: List) -> Result<Self, StoreError> {
        let bytes = unhex(text).filter(|bytes| bytes.len() == BODY + SUM).ok_or(StoreError::Cursor)?;
        let (body, end) = bytes.split_at(BODY);
        if end != sum(body).to_be_bytes() || body[0] != list as u8 {
            return Err(StoreError::Cursor);
        }
        let started_at: [u8; 8] = body[1..9].try_into().map_err(|_| StoreError::Cursor)?;
        let id = Uuid::from_slice(&body[9..25]).map_err(|_| StoreError::Cursor)?;
        let index: [u8; 4] = body[25..].try_into().map_err(|_| StoreError::Cursor)?;
        Ok(Self { started_at: u64::from_be_bytes(started_at), id, index: u32::from_be_bytes(index) })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// Against cut and mistyped cursors, not against anybody: a position tells nothing that the list does not.
fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let cursor = Cursor { started_at: u64::MAX >> 11, id: Uuid::now_v7(), index: 7 };
        let text = cursor.write(List::Runs);
        assert_eq!(Cursor::read(&text, List::Runs).unwrap(), cursor);
        assert!(Cursor::read(&text, List::Search).is_err());
        for wrong in ["", "x", "00", "ää", &text[2..], &text.to_uppercase(), &format!("{text}00")] {
            assert!(matches!(Cursor::read(wrong, List::Runs), Err(StoreError::Cursor)), "{wrong}");
        }
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            assert!(Cursor::read(std::str::from_utf8(&other).unwrap(), List::Runs).is_err(), "{at}");
        }
    }
}
