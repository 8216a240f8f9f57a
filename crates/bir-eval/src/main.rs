//! `bir-eval`: measures calculation and matching on public sets and prints a table, with an interval for every share.
//!
//! ```text
//! cargo run --release -p bir-eval -- --set complexfuncbench PATH [--groups dev|judge|all] [--json]
//! cargo run --release -p bir-eval -- --set snips|slurp|atis|clinc150|banking77|contrast|structure|speed [PATH] [--part a|b|all] [--json]
//! ```
//!
//! `contrast` and `structure` ask prompts that look like a recorded one and mean something else, made by two generators.
//!
//! The sets of prompts are looked for in PATH, or in the folder that `BIR_EVAL_DATA` names. They are cut in two by a hash of their texts: part `a`
//! is to look at, part `b` is not; in each, half of the prompts are the memory and half ask.

#![forbid(unsafe_code)]

mod atis;
mod complexfunc;
mod contrast;
mod interval;
mod matching;
mod sets;
mod speed;
mod structured;
mod table;
mod wheel;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Table;

const USAGE: &str = "bir-eval --set complexfuncbench|snips|slurp|atis|clinc150|banking77|contrast|structure|speed [PATH] \
     [--groups dev|judge|all] [--part a|b|all] [--only SET] [--seed N] [--atis PATH] [--wheel PATH] [--json]";

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
    sets: Vec<(String, Option<PathBuf>)>,
    groups: Groups,
    json: bool,
    verbose: bool,
    /// Of the groups only every so many, for a quick look.
    every: usize,
    prompts: sets::Options,
}

/// Where the sets come from.
const SOURCES: &str = "
complexfuncbench   the wheel of nestful-wrapper 0.1.7: `pip download nestful-wrapper==0.1.7 --no-deps`
snips, slurp, clinc150, banking77   the file of the set, or the folder that holds it, in the form in which their authors publish them
atis               its training file, or the folder that holds it
contrast, structure   prompts that only look alike, made of the sets in the folder; --atis and --wheel add those two
speed              no path: matching over 100,000 prompts";

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == "--help" || arg == "-h") {
        return tell(&format!("usage: {USAGE}\n{SOURCES}\n"));
    }
    let args = match args(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(why) => return fail(&format!("{why}; usage: {USAGE}")),
    };
    let mut table = Table::default();
    for (set, path) in &args.sets {
        let done = match set.as_str() {
            "complexfuncbench" => match path {
                Some(path) => complexfunc::measure(path, args.groups, args.every, args.verbose, &mut table)
                    .map_err(|why| why.to_string()),
                None => Err("its path is not given".to_owned()),
            },
            "snips" | "slurp" | "atis" => matching::slots(set, &args.options(path), &mut table),
            "clinc150" | "banking77" => matching::intents(set, &args.options(path), &mut table),
            "contrast" => contrast::run(&args.options(path), &mut table),
            "structure" => structured::run(&args.options(path), &mut table),
            "speed" => speed::run(&args.options(path), &mut table),
            other => return fail(&format!("the set `{other}` is not known; usage: {USAGE}")),
        };
        if let Err(why) = done {
            return fail(&format!("the set `{set}` could not be measured: {why}"));
        }
    }
    let text = if args.json { table.json() } else { table.text() };
    tell(&text)
}

fn tell(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn args(given: impl Iterator<Item = String>) -> Result<Args, String> {
    let prompts = sets::Options::default();
    let mut args =
        Args { sets: Vec::new(), groups: Groups::Dev, json: false, verbose: false, every: 1, prompts };
    let mut given = given.peekable();
    while let Some(arg) = given.next() {
        let mut value = |what: &str| given.next().ok_or_else(|| format!("`{arg}` needs {what}"));
        match arg.as_str() {
            "--set" => {
                let name = value("the name of a set")?;
                let path = given.next_if(|next| !next.starts_with("--"));
                args.sets.push((name, path.map(PathBuf::from)));
            }
            "--groups" => {
                args.groups = match value("dev, judge or all")?.as_str() {
                    "dev" => Groups::Dev,
                    "judge" => Groups::Judge,
                    "all" => Groups::All,
                    other => return Err(format!("`{other}` is not one of dev, judge, all")),
                };
            }
            "--part" => args.prompts.part = value("a, b or all")?,
            "--most" => {
                args.prompts.most = Some(value("a number")?.parse().map_err(|_| "`--most` needs a number")?)
            }
            "--show" => {
                args.prompts.show = value("a number")?.parse().map_err(|_| "`--show` needs a number")?
            }
            "--limit" => {
                args.prompts.limit = value("a rate")?.parse().map_err(|_| "`--limit` needs a rate")?
            }
            "--only" => args.prompts.only = Some(value("the name of a set")?),
            "--atis" => args.prompts.atis = Some(value("a path")?.into()),
            "--wheel" => args.prompts.wheel = Some(value("a path")?.into()),
            "--seed" => {
                args.prompts.seed = value("a number")?.parse().map_err(|_| "`--seed` needs a number")?
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

impl Args {
    fn options(&self, path: &Option<PathBuf>) -> sets::Options {
        sets::Options { path: path.clone(), verbose: self.verbose, ..self.prompts.clone() }
    }
}

fn fail(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "bir-eval: {why}");
    ExitCode::from(2)
}
