//! `bir scenario` and `bir match`: what recorded runs became, and what a prompt would run. Thin clients of the hub's
//! routes (docs/decisions/0009).
//!
//! ```text
//!  args ── find (prefix → id, run → scenario) ── api (one request) ──┬─ --json ─▶ the body as it came
//!                                                                    └─ bir_model::scenario ─▶ page ─▶ stdout
//!                                                 a refusal ── refusal (its code, in words; its report) ─▶ stderr, 1
//! ```
//!
//! Bodies of logic come from a file or from stdin, never from an argument: shells change what stands in quotes. Steps
//! have the numbers that they have everywhere, from 0.

pub(crate) mod api;
mod approve;
pub(crate) mod args;
mod body;
mod calc;
mod carry;
mod change;
mod differences;
mod edits;
mod executions;
mod find;
mod list;
mod matching;
mod refusal;
mod remove;
mod replay;
mod report;
mod show;
mod undo;
mod values;

use crate::error::CommandError;
use crate::home::{Home, block_on};
use args::{MatchArgs, ScenarioArgs, ScenarioCommand};

/// Does `bir scenario`.
pub(crate) fn run(args: ScenarioArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    block_on(async {
        match args.command {
            ScenarioCommand::List(args) => list::run(&home, &args).await,
            ScenarioCommand::Show(args) => show::run(&home, &args).await,
            ScenarioCommand::Calc(args) => calc::run(&home, &args).await,
            ScenarioCommand::Check(args) => change::check(&home, &args).await,
            ScenarioCommand::Edit(args) => change::edit(&home, &args).await,
            ScenarioCommand::Export(args) => carry::export(&home, &args).await,
            ScenarioCommand::Import(args) => carry::import(&home, &args).await,
            ScenarioCommand::Executions(args) => executions::run(&home, &args).await,
            ScenarioCommand::Edits(args) => edits::run(&home, &args).await,
            ScenarioCommand::Undo(args) => undo::run(&home, &args).await,
            ScenarioCommand::Approve(args) => approve::run(&home, &args).await,
            ScenarioCommand::Replay(args) => replay::run(&home, &args).await,
            ScenarioCommand::Rm(args) => remove::run(&home, &args).await,
        }
    })
}

/// Does `bir match`.
pub(crate) fn match_prompt(args: &MatchArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    block_on(matching::run(&home, args))
}
