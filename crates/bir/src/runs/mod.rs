//! `bir runs`: what was recorded, as people read it.
//!
//! ```text
//!  args ── find (prefix → id) ── api (pages, JSON as the hub gives it) ──┬─ --json ─▶ as it came
//!                                                                        └─ wire ── timeline ── list, show, follow, grep, diff
//! ```
//!
//! With `--json` stdout holds what the hub answered, unchanged: an array or an object. What people read goes through
//! [`crate::out::safe`], because it is the text of others.

pub(crate) mod api;
pub(crate) mod args;
pub(crate) mod call;
mod diff;
mod export;
pub(crate) mod find;
mod follow;
mod grep;
mod import;
mod json_diff;
mod list;
mod payload;
mod remove;
pub(crate) mod show;
pub(crate) mod wire;

use crate::error::CommandError;
use crate::home::{Home, block_on};
use args::{RunsArgs, RunsCommand};

pub(crate) use find::short_one as short_id;

/// Does it.
pub(crate) fn run(args: RunsArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    block_on(async {
        match args.command {
            RunsCommand::List(args) => list::run(&home, &args).await,
            RunsCommand::Show(args) => show::run(&home, &args).await,
            RunsCommand::Follow(args) => follow::run(&home, &args).await,
            RunsCommand::Grep(args) => grep::run(&home, &args).await,
            RunsCommand::Diff(args) => diff::run(&home, &args).await,
            RunsCommand::Export(args) => export::run(&home, &args).await,
            RunsCommand::Import(args) => import::run(&home, &args).await,
            RunsCommand::Rm(args) => remove::run(&home, &args).await,
        }
    })
}
