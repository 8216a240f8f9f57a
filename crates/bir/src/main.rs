//! `bir`, the program that a person starts.
//!
//! ```text
//! main ── cli (arguments, one line per mistake) ── wrap (an entry for a host's configuration)
//!                                                    └── trial (starts the entry once, as a host would)
//! ```
//!
//! Exit status: 0 done, 1 it could not be done, 2 the command line is wrong. On stdout is only what was asked for; hints,
//! reports and errors go to stderr.

mod cli;
mod trial;
mod wrap;

use clap::Parser;
use clap::error::ErrorKind;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The command line is wrong.
const USAGE: u8 = 2;
/// It could not be done.
const FAILED: u8 = 1;

/// Says something to the person on stderr. If nobody reads it, nothing is lost that anybody would read.
fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn main() -> ExitCode {
    let parsed = match cli::Cli::try_parse() {
        Ok(c) => c,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let _ = e.print();
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            say(format_args!("bir: {}", cli::one_line(&e)));
            return ExitCode::from(USAGE);
        }
    };
    match parsed.command {
        cli::Command::Wrap(args) => match wrap::run(*args) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(FAILED),
            Err(e) => {
                say(format_args!("bir wrap: {e}"));
                ExitCode::from(if e.is_usage() { USAGE } else { FAILED })
            }
        },
    }
}
