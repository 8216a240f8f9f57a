//! `bir wrap`: from a server's command or URL to the entry that puts `bir-proxy` in front of it.
//!
//! ```text
//! arguments ── request (checked) ── entry (name, program, args, env) ── format (JSON, TOML, YAML) ── stdout
//!                 └ name (derived)      └ programs (where bir-proxy is)
//! ```
//!
//! Secrets: headers go into the entry's environment as one JSON object, because arguments are visible to every user of a
//! machine. The entry then holds them, and a hint says so.

mod entry;
mod format;
mod header;
mod name;
mod next;
mod request;

use crate::cli::{Format, WrapArgs};
use crate::programs::{self, LocateError};
use crate::{say, trial};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

pub(crate) use entry::Entry;
pub(crate) use next::{quoted, warning as in_a_build_folder};

/// Why there is no entry.
#[derive(Debug, Error)]
pub(crate) enum WrapError {
    #[error(transparent)]
    Request(#[from] request::RequestError),
    #[error(transparent)]
    Locate(#[from] LocateError),
    #[error("failed to write the entry: {0}")]
    Write(#[from] std::io::Error),
}

impl WrapError {
    /// Is it a mistake on the command line?
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Request(_))
    }
}

/// Prints the entry, and tests it if asked to; false if the test failed.
pub(crate) fn run(args: WrapArgs) -> Result<bool, WrapError> {
    let (format, test, limit) = (args.format, args.test, Duration::from_secs(args.timeout));
    let request = request::Request::new(args)?;
    let entry = Entry::new(&request, programs::program(programs::PROXY)?);
    let text = format::render(&entry, format);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    drop(out);
    hints(&request, &entry, format);
    if test {
        match trial::run(&entry, limit) {
            Ok(answer) => say(answer),
            Err(failure) => {
                say(failure);
                return Ok(false);
            }
        }
    }
    next::steps(&entry, format).iter().for_each(say);
    Ok(true)
}

fn hints(request: &request::Request, entry: &Entry, format: Format) {
    if let Some(warning) = next::warning(Path::new(&entry.command)) {
        say(warning);
    }
    if entry.holds_secrets() {
        say("note: this entry holds the headers' values; keep the file that you paste it into private");
    }
    if request.url_has_query() {
        say(
            "note: the URL has a query, and arguments are visible to other users; pass a secret with --header instead",
        );
    }
    if format == Format::Yaml {
        format::OTHER_YAML.iter().for_each(say);
    }
}
