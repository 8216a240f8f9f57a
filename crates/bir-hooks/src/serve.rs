//! `bir-hooks serve`: the control server as a program.
//!
//! In the background (`--detached`) it has a session of its own, so that no terminal and no host takes it along, and its log is
//! `logs/control.log`. In the foreground the log is stderr.

use bir_control::book::{self, Book, Decision, Injection};
use bir_control::daemon::{self, End, IDLE, Options, ServeError};
use bir_control::log::{Level, Log};
use bir_control::transcript::Transcripts;
use bir_control_client::Replay;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn run(detached: bool, force: bool) -> u8 {
    let Some(state_dir) = bir_home::state_dir() else {
        return failed("neither BIR_HOME nor HOME names a directory for the state");
    };
    let most = Level::of(std::env::var("BIR_LOG").ok().as_deref());
    let log = if detached {
        detach();
        Log::to_file(&state_dir, most)
    } else {
        Ok(Log::to_stderr(most))
    };
    let log = match log {
        Ok(log) => log,
        Err(e) => return failed(&format!("there can be no log in {}: {e}", state_dir.display())),
    };
    quiet_panics(log.clone());
    let book = Book::new(book::Options {
        version: env!("CARGO_PKG_VERSION").into(),
        project_of: bir_control_client::project_of,
        zone: bir_record::Zone::system,
        injection: injection(&log),
    });
    match daemon::serve(options(&state_dir, force, log.clone()), book, Transcripts::new()) {
        Ok(End::Elsewhere) => {
            log.info("another control server serves");
            0
        }
        Ok(_) => 0,
        Err(e @ ServeError::Stopped) => {
            log.warn(&e.to_string());
            1
        }
        Err(e) => {
            log.error(&e.to_string());
            1
        }
    }
}

fn options(state_dir: &Path, force: bool, log: Log) -> Options {
    let idle = std::env::var("BIR_CONTROL_IDLE_S").ok().filter(|text| !text.is_empty());
    let seconds = idle.as_deref().map(str::parse::<u64>);
    if let Some(Err(_)) = seconds {
        log.warn("BIR_CONTROL_IDLE_S takes a number of seconds");
    }
    let idle = seconds.and_then(Result::ok).map_or(IDLE, Duration::from_secs);
    let version = env!("CARGO_PKG_VERSION").into();
    Options {
        state_dir: state_dir.to_path_buf(),
        version,
        force,
        idle,
        log,
        stop: Arc::default(),
        replay: Replay::of_environment(),
        works: None,
    }
}

/// What the operator chose: ids in arguments, and with which decision (seed 01 phase 6).
fn injection(log: &Log) -> Option<Injection> {
    if bir_home::off::switch("BIR_NO_CORRELATION") {
        return None;
    }
    let chosen = std::env::var("BIR_CORRELATION_DECISION").ok().filter(|chosen| !chosen.is_empty())?;
    let decision = match chosen.as_str() {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        _ => {
            log.warn(
                "BIR_CORRELATION_DECISION is neither `allow` nor `ask`, so no ids are put into arguments",
            );
            return None;
        }
    };
    Some(Injection { decision, even_where_exact: false })
}

/// A session of its own. Where it leads one already, it has it.
fn detach() {
    #[cfg(unix)]
    let _ = rustix::process::setsid();
}

/// What a panic says may hold something that was told: only its place goes to the log.
fn quiet_panics(log: Log) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        log.error(&format!("a fault of our own{place}"));
    }));
}

fn failed(why: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "bir-hooks: {why}");
    1
}
