//! `bir`, the program that a person starts.
//!
//! ```text
//! main ── cli (arguments, one line per mistake)
//!           ├── wrap (an entry for a host's configuration) ── trial (starts the entry once, as a host would)
//!           ├── hub (up, down, status) ── control (the control server's part in them)
//!           ├── doctor (what is wrong, and what mends it)
//!           ├── install (and uninstall, setup)
//!           ├── project (add, list, rm)   switch (off, on)   hooks (a host's)   login (and logout)
//!           ├── runs (list, show, follow, grep, diff, export, import, rm)
//!           ├── scenario (match; list, show, calc, check, edit, edits, undo, approve, replay, rm)
//!           ├── pages (completions, man)
//!           └── demo ── sample (a small MCP server)
//!         home (state directory, client of the hub)   programs (bir-proxy, bir-hub)
//!         out (what reaches the terminal)   ask (questions)   error
//! ```
//!
//! Exit status: 0 done, 1 it could not be done, 2 the command line is wrong, 3 some of it was done (`install`, `setup`). On stdout is only what was asked for; hints,
//! reports and errors go to stderr.

mod ask;
mod cli;
mod control;
mod demo;
mod derivation;
mod doctor;
#[cfg(test)]
mod documented;
mod error;
mod home;
mod hooks;
mod hub;
mod install;
mod login;
mod out;
mod pages;
mod programs;
mod project;
mod runs;
mod sample;
mod scenario;
mod switch;
mod trial;
mod wrap;

use clap::Parser;
use clap::error::ErrorKind;
use error::CommandError;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The command line is wrong.
const USAGE: u8 = 2;
/// It could not be done.
const FAILED: u8 = 1;

/// Says something to the person on stderr. If nobody reads it, nothing is lost that anybody would read. It may hold text of
/// others, so nothing that a terminal would obey is in it.
fn say(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(std::io::stderr().lock(), "{}", out::safe::block(&text));
}

fn main() -> ExitCode {
    let path = cli::path(std::env::args_os().skip(1));
    let parsed = match cli::Cli::try_parse() {
        Ok(c) => c,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // What was asked for is on stdout; that nobody reads on is no failure.
            return match e.print().map_err(CommandError::from) {
                Ok(()) | Err(CommandError::Closed) => ExitCode::SUCCESS,
                Err(e) => {
                    say(format_args!("{path}: {e}"));
                    ExitCode::from(FAILED)
                }
            };
        }
        Err(e) => {
            say(format_args!("{path}: {}", cli::one_line(&e, &path)));
            return ExitCode::from(USAGE);
        }
    };
    let done = match parsed.command {
        cli::Command::Wrap(args) => return wrap(*args),
        cli::Command::Up(args) => hub::up::run(&args),
        cli::Command::Setup(args) => install::setup(&args),
        cli::Command::Install(args) => install::run(&args),
        cli::Command::Uninstall(args) => install::uninstall(&args),
        cli::Command::Down(args) => hub::down(&args),
        cli::Command::Status(args) => hub::status::run(&args),
        cli::Command::Doctor(args) => doctor::run(&args),
        cli::Command::Hooks(args) => hooks::run(&args),
        cli::Command::Project(args) => project::run(&args),
        cli::Command::Off(args) => switch::off(&args),
        cli::Command::On(args) => switch::on(&args),
        cli::Command::Login(args) => login::run(&args),
        cli::Command::Logout(args) => login::logout(&args),
        cli::Command::Completions(args) => pages::completions(&args),
        cli::Command::Man(args) => pages::man(&args),
        cli::Command::Runs(args) => runs::run(*args),
        cli::Command::Match(args) => scenario::match_prompt(&args),
        cli::Command::Scenario(args) => scenario::run(*args),
        cli::Command::Demo(args) => demo::run(&args),
        cli::Command::SampleServer => sample::serve(),
        cli::Command::Detach { argv } => hub::detach(&argv),
    };
    match done {
        Ok(()) | Err(CommandError::Closed) => ExitCode::SUCCESS,
        Err(CommandError::Nothing) => ExitCode::from(FAILED),
        Err(e) => {
            say(format_args!("{path}: {e}"));
            ExitCode::from(e.status())
        }
    }
}

fn wrap(args: cli::WrapArgs) -> ExitCode {
    match wrap::run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(e) => {
            say(format_args!("bir wrap: {e}"));
            ExitCode::from(if e.is_usage() { USAGE } else { FAILED })
        }
    }
}
