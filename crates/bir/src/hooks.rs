//! `bir hooks`: what a host's configuration has to hold so that the host tells of its prompts, its built-in tools and its
//! answers.

use crate::error::CommandError;
use crate::out;
use crate::programs;
use crate::say;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct HooksArgs {
    /// The host.
    #[arg(value_name = "HOST")]
    host: String,
    /// The program that the hooks start [default: bir-hooks beside bir, else on PATH].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// What a host is to be told.
struct Snippet {
    text: String,
    place: String,
}

fn snippet(_host: &str, _program: &Path) -> Option<Snippet> {
    None
}

/// Prints them.
pub(crate) fn run(args: &HooksArgs) -> Result<(), CommandError> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => programs::program(programs::HOOKS).map_err(|e| CommandError::failed(e.to_string()))?,
    };
    let found = snippet(&args.host, &program)
        .ok_or_else(|| CommandError::usage(format!("`{}` is no host that is known", args.host)))?;
    out::raw(found.text.as_bytes())?;
    say(found.place);
    Ok(())
}
