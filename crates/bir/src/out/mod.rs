//! What reaches the terminal.
//!
//! ```text
//!  text of others ── safe::line / safe::block ──┐
//!  our own words ── paint ──────────────────────┴─▶ page (String) ── print (last look) ── anstream ──▶ stdout
//! ```
//!
//! What was recorded is untrusted: a tool's result may hold sequences that move the cursor, change the title or turn the
//! direction of text. Those are shown, never sent. Colours are kept only where a terminal is and `NO_COLOR` is unset.

pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod safe;
pub(crate) mod size;
pub(crate) mod table;
pub(crate) mod time;

use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// Columns where nothing says how many there are.
const COLUMNS: usize = 100;

/// Prints a page on stdout.
///
/// # Errors
///
/// Nobody reads it, or the system does not take it.
pub(crate) fn print(page: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(safe::last_look(page).as_bytes())?;
    out.flush()
}

/// Prints a value as JSON on stdout.
///
/// # Errors
///
/// As [`print()`].
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    raw(&text)
}

/// Writes bytes to stdout as they are: for what programs read.
///
/// # Errors
///
/// As [`print()`].
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The columns of the terminal. None: stdout is no terminal, and nothing need be cut.
pub(crate) fn columns() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    Some(console::Term::stdout().size_checked().map_or(COLUMNS, |(_, columns)| usize::from(columns).max(40)))
}

/// The columns that one folded line may take: those of the terminal, else a usual number.
pub(crate) fn fold() -> usize {
    columns().unwrap_or(COLUMNS)
}
