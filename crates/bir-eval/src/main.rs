//! Measures calculation and matching on public data sets.
//!
//! ```text
//! bir-eval --set snips|slurp|clinc150|banking77|atis|contrast|speed [PATH] [--part a|b|all] [--most N] [--show N] [--limit RATE]
//! ```
//!
//! A set is cut in two by a hash of its texts: part `a` is to look at, part `b` is not. In each, half of the prompts are the memory and
//! half ask. What is missing is said.

mod contrast;
mod matching;
mod sets;
mod speed;

use std::process::ExitCode;

/// What was asked for on the command line.
#[derive(Debug, Default, Clone)]
struct Options {
    sets: Vec<String>,
    path: Option<String>,
    part: String,
    most: Option<usize>,
    show: usize,
    limit: f64,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { part: "all".to_owned(), limit: bir_match::decide::READS, ..Options::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--set" => options.sets.push(value()?),
            "--part" => options.part = value()?,
            "--most" => {
                options.most = Some(value()?.parse().map_err(|_| "--most needs a number".to_owned())?)
            }
            "--limit" => options.limit = value()?.parse().map_err(|_| "--limit needs a number".to_owned())?,
            "--show" => options.show = value()?.parse().map_err(|_| "--show needs a number".to_owned())?,
            flag if flag.starts_with('-') => return Err(format!("{flag} is not known")),
            path => options.path = Some(path.to_owned()),
        }
    }
    if options.sets.is_empty() {
        options.sets =
            ["snips", "slurp", "clinc150", "banking77", "contrast", "speed"].map(str::to_owned).to_vec();
    }
    Ok(options)
}

#[expect(clippy::print_stdout, reason = "the report of a command")]
fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(wrong) => {
            println!("bir-eval: {wrong}");
            return ExitCode::FAILURE;
        }
    };
    let mut code = ExitCode::SUCCESS;
    for set in &options.sets {
        let report = match set.as_str() {
            "snips" | "slurp" | "atis" => matching::slots(set, &options),
            "clinc150" | "banking77" => matching::intents(set, &options),
            "contrast" => contrast::run(&options),
            "speed" => speed::run(&options),
            other => Err(format!("there is no set {other}")),
        };
        match report {
            Ok(text) => println!("{text}"),
            Err(why) => {
                println!("## {set}\n\nnot measured: {why}\n");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
