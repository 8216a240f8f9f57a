//! The few colours, by what they mean. They are taken out again where no terminal reads.

use bir_model::Outcome;
use owo_colors::OwoColorize;

/// Beside the point.
pub(crate) fn dim(text: &str) -> String {
    text.dimmed().to_string()
}

/// The point.
pub(crate) fn bold(text: &str) -> String {
    text.bold().to_string()
}

/// As it should be; added.
pub(crate) fn good(text: &str) -> String {
    text.green().to_string()
}

/// Not as it should be; missing.
pub(crate) fn bad(text: &str) -> String {
    text.red().to_string()
}

/// To be looked at; changed.
pub(crate) fn warn(text: &str) -> String {
    text.yellow().to_string()
}

/// A name.
pub(crate) fn name(text: &str) -> String {
    text.cyan().to_string()
}

/// What was searched for.
pub(crate) fn hit(text: &str) -> String {
    text.black().on_yellow().to_string()
}

/// How a call ended; None: it has not.
pub(crate) fn outcome(outcome: Option<Outcome>, text: &str) -> String {
    match outcome {
        Some(Outcome::Ok) => good(text),
        Some(Outcome::Unknown | Outcome::Cancelled | Outcome::Denied) | None => warn(text),
        Some(_) => bad(text),
    }
}
