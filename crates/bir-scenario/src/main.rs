//! `bir-scenario`: the MCP server that delivers what a plan has brought. A host starts it once a session, over stdio.
//!
//! ```text
//!   host ── tools/call run_scenario ──▶ protocol (pure) ──▶ serve ── POST /scenario/run ──▶ control server
//!        ◀── a genuine tool result ─── words (pure) ◀─────────┘
//! ```
//!
//! It holds no state of a plan, no credentials and no connection to any server. Which session's plan runs is the control
//! server's to say: it is told the host's id of this very call. stdout carries frames and nothing else.

#![forbid(unsafe_code)]

mod protocol;
mod recorder;
mod serve;
mod words;

use std::io::Write as _;

const USAGE: &str = "\
bir-scenario: an MCP server over stdio with one tool, run_scenario (`bir` puts it into the hosts' configurations)

    bir-scenario [--help | --version]

BIR_SCENARIO_RUN_TIMEOUT_MS   how long a call waits for the results at most; default and upper bound 290000
BIR_SCENARIO_DEBUG=1          answers with the reason, as an error, where there are no results
";

fn main() {
    let mut args = std::env::args_os().skip(1);
    let code = match (args.next(), args.next()) {
        (None, _) => serve::run(),
        (Some(arg), None) if arg == "--help" || arg == "-h" => print(USAGE),
        (Some(arg), None) if arg == "--version" || arg == "-V" => {
            print(concat!("bir-scenario ", env!("CARGO_PKG_VERSION"), "\n"))
        }
        _ => {
            log("the command line is not understood (`bir-scenario --help` shows the usage)");
            2
        }
    };
    // A read of stdin that never returns may be under way.
    std::process::exit(code);
}

/// What a person asked for goes to stdout; no protocol is spoken then.
fn print(text: &str) -> i32 {
    i32::from(std::io::stdout().write_all(text.as_bytes()).is_err())
}

/// One line for whoever reads the log of the host.
fn log(text: &str) {
    let _ = writeln!(std::io::stderr(), "bir-scenario: {text}");
}
