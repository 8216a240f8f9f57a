//! `bir-eval`: measures calculation and matching on public sets and prints a table, with an interval for every share.
//!
//! ```text
//! cargo run --release -p bir-eval -- --set complexfuncbench PATH [--groups dev|judge|all] [--json]
//! ```

#![forbid(unsafe_code)]

mod complexfunc;
mod interval;
mod table;
mod wheel;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Table;

const USAGE: &str = "bir-eval --set complexfuncbench PATH [--groups dev|judge|all] [--json]";

/// Which groups of a set are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// Those that rules may be written with.
    Dev,
    /// Those that nobody looks at.
    Judge,
    /// All.
    All,
}

impl Groups {
    /// Whether a group belongs, by its place among all of them.
    fn take(self, index: usize) -> bool {
        match self {
            Self::Dev => !index.is_multiple_of(3),
            Self::Judge => index.is_multiple_of(3),
            Self::All => true,
        }
    }
}

struct Args {
    sets: Vec<(String, PathBuf)>,
    groups: Groups,
    json: bool,
    verbose: bool,
    /// Of the groups only every so many, for a quick look.
    every: usize,
}

fn main() -> ExitCode {
    let args = match args(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(why) => return fail(&format!("{why}; usage: {USAGE}")),
    };
    let mut table = Table::default();
    for (set, path) in &args.sets {
        let done = match set.as_str() {
            "complexfuncbench" => {
                complexfunc::measure(path, args.groups, args.every, args.verbose, &mut table)
            }
            other => return fail(&format!("the set `{other}` is not known; usage: {USAGE}")),
        };
        if let Err(why) = done {
            return fail(&format!("the set `{set}` could not be measured: {why}"));
        }
    }
    let text = if args.json { table.json() } else { table.text() };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn args(mut given: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { sets: Vec::new(), groups: Groups::Dev, json: false, verbose: false, every: 1 };
    while let Some(arg) = given.next() {
        let mut value = |what: &str| given.next().ok_or_else(|| format!("`{arg}` needs {what}"));
        match arg.as_str() {
            "--set" => {
                let name = value("the name of a set")?;
                let path = value("the path of the set")?;
                args.sets.push((name, path.into()));
            }
            "--groups" => {
                args.groups = match value("dev, judge or all")?.as_str() {
                    "dev" => Groups::Dev,
                    "judge" => Groups::Judge,
                    "all" => Groups::All,
                    other => return Err(format!("`{other}` is not one of dev, judge, all")),
                };
            }
            "--json" => args.json = true,
            "--every" => {
                let every = value("a number")?.parse().ok().filter(|every| *every > 0);
                args.every = every.ok_or("`--every` needs a number above 0")?;
            }
            "--verbose" => args.verbose = true,
            other => return Err(format!("`{other}` is not known")),
        }
    }
    if args.sets.is_empty() { Err("no set is given".into()) } else { Ok(args) }
}

fn fail(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "bir-eval: {why}");
    ExitCode::from(2)
}
