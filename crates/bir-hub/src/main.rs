//! The hub: the service that keeps runs, as a program.
//!
//! ```text
//! args ─▶ config (flag, environment, file, default) ─▶ serve ─┬─ embedded   state directory, loopback, own token
//!                                                             └─ team       a store that is named
//!        migrate, user add | list | set-password ─▶ store
//! ```
//!
//! What it answers is in `bir-service`, what it keeps in `bir-store`; here is what makes a process of them: configuration, the
//! state directory, logs, signals, exit statuses. 0: ended as asked; 1: it could not; 2: the command line is wrong;
//! 3: another hub has the state directory.

mod args;
mod config;
mod embedded;
mod fault;
mod jobs;
mod log;
mod people;
mod scenarios;
mod serve;
mod store;

use args::{Args, Command};
use clap::Parser as _;
use fault::Fault;
use std::io::Write as _;
use std::process::ExitCode;

fn run(args: Args) -> Result<(), Fault> {
    #[cfg(unix)]
    // What the hub writes is its user's alone, whatever the shell's umask: database, its journals, tokens.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Fault::new(format!("the runtime cannot begin: {e}")))?;
    let done = match args.command {
        Command::Serve(serve) => runtime.block_on(serve::serve(&serve)),
        Command::Migrate(migrate) => runtime.block_on(store::migrate(&migrate)),
        Command::User(user) => runtime.block_on(people::user(user)),
    };
    // Threads that still hash a password or write a row are not waited for without end.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

/// Help and version, which were asked for; else what is wrong with the command line, as one line.
fn not_run(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print() {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::from(1),
            _ => ExitCode::SUCCESS,
        };
    }
    let path = args::path(std::env::args_os().skip(1));
    let _ = writeln!(std::io::stderr(), "bir-hub: {}", Fault::usage(args::one_line(error, &path)));
    ExitCode::from(2)
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            return not_run(&error);
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Where stderr is gone there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "bir-hub: {fault}");
            ExitCode::from(fault.status())
        }
    }
}
