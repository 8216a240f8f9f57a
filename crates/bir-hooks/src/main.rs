//! `bir-hooks`: what a host's hooks start, and the control server.
//!
//! `bir-hooks hook EVENT` is one short process for each event. It says nothing but what the host needs to hear, and it exits 0
//! whatever happens: a session never fails because of it.

mod args;
mod hook;
mod input;
mod processes;
mod revive;
mod send;
mod serve;
mod tell;

use args::Parsed;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Exit status for a command line that is not understood.
const USAGE: u8 = 2;

fn main() {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let at = u64::try_from(at).unwrap_or(u64::MAX);
    let code = match args::parse(std::env::args_os().skip(1)) {
        Ok(Parsed::Hook(asked)) => {
            hook::run(&asked, at);
            0
        }
        Ok(Parsed::Serve { detached, force }) => serve::run(detached, force),
        Ok(Parsed::Revive) => revive::run(),
        Ok(Parsed::Help) => print(args::USAGE),
        Ok(Parsed::Version) => print(concat!("bir-hooks ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "bir-hooks: {e} (`bir-hooks --help` shows the usage)");
            USAGE
        }
    };
    std::process::exit(i32::from(code));
}

fn print(text: &str) -> u8 {
    // Whoever closed it does not want it.
    let _ = std::io::stdout().write_all(text.as_bytes());
    0
}
