//! `bir-sandbox`: evaluates bodies of logic, one JSON object a line, until its input ends.
//!
//! ```text
//!  stdin ── JobLine ──▶ engine (a new QuickJS runtime for each) ── Reply ──▶ stdout
//! ```
//!
//! It is started by the hub or the control server with an empty environment, and may be killed at any moment. A body has the
//! language and its arguments, and nothing else: no I/O, no timers, no other clock than the one that it was given, no randomness, no
//! local time zone, no promise that anybody waits for.

mod engine;
#[cfg(unix)]
mod limits;

use bir_plan::sandbox::JobLine;
use std::io::{BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--version") {
        let _ = writeln!(std::io::stdout(), "bir-sandbox {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    #[cfg(unix)]
    limits::set();
    let (mut lines, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return ExitCode::SUCCESS,
            Ok(_) => {}
        }
        // Whoever sends something else is not who started this.
        let Ok(job) = serde_json::from_slice::<JobLine>(&line) else { return ExitCode::from(2) };
        let reply = engine::answer(&job);
        let said = serde_json::to_vec(&reply).map_err(std::io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            out.write_all(&text)?;
            out.flush()
        });
        if said.is_err() {
            return ExitCode::SUCCESS;
        }
    }
}
