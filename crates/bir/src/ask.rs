//! Asking a person, on a terminal.

use crate::error::CommandError;
use std::io::{self, BufRead, IsTerminal, Write};

/// Whether there is somebody to ask.
pub(crate) fn can() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for one line. None: the input ended.
///
/// # Errors
///
/// The terminal cannot be read.
pub(crate) fn line(question: &str) -> Result<Option<String>, CommandError> {
    let failed = |e: io::Error| CommandError::failed(format!("cannot ask on the terminal: {e}"));
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes()).and_then(|()| err.flush()).map_err(failed)?;
    drop(err);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok((read > 0).then(|| answer.trim().to_owned()))
}

/// Asks a question whose answer is no unless it says yes.
///
/// # Errors
///
/// The terminal cannot be read.
pub(crate) fn yes(question: &str) -> Result<bool, CommandError> {
    let answer = line(&format!("{question} [y/N] "))?.unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
