//! The arguments of `bir match` and `bir scenario`.

use crate::runs::args::LimitArgs;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct MatchArgs {
    /// What would be asked, in quotes; `-` for stdin.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// A directory of the project that it would be asked in [default: the one that you are in].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One scenario.
#[derive(Args)]
pub(crate) struct OneArgs {
    /// The scenario (`scn_UUID`) or its run (`run_UUID`): an id, the beginning of it, or `last` for the last run.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Args)]
pub(crate) struct ScenarioArgs {
    #[command(subcommand)]
    pub(crate) command: ScenarioCommand,
}

#[derive(Subcommand)]
pub(crate) enum ScenarioCommand {
    /// List scenarios, newest first.
    List(ListArgs),
    /// Show one: its parameters, its steps, where each value comes from.
    Show(ShowArgs),
    /// Calculate one from a run, or again.
    Calc(CalcArgs),
    /// Try a change of a step; nothing is saved.
    Check(CheckArgs),
    /// Try a change of a step, and save it where nothing is wrong with it.
    Edit(EditArgs),
    /// List the changes that were made by hand, newest first.
    Edits(EditsArgs),
    /// Take back the newest change, or a named one.
    Undo(UndoArgs),
    /// Say how far it may run by itself.
    Approve(ApproveArgs),
    /// Run it against what was recorded: no tool is called.
    Replay(ReplayArgs),
    /// Show what executions did and saved, against what the model costs by itself.
    Executions(ExecutionsArgs),
    /// Write scenarios as JSON Lines: plans, wording, recorded values, changes by hand.
    Export(ExportArgs),
    /// Take in scenarios as `bir scenario export` wrote them; they steer only, until runs here agree.
    Import(ImportArgs),
    /// Delete scenarios; the runs that they are calculated from stay.
    Rm(RmArgs),
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// How far its calculation is.
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(["pending", "ready", "unusable"]))]
    pub(crate) state: Option<String>,
    /// A directory of the project.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) most: LimitArgs,
    /// Print an array of scenarios.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The scenario (`scn_UUID`) or a run that it is calculated from (`run_UUID`): an id, the beginning of it, or `last`
    /// for the last run.
    #[arg(value_name = "ID", default_value = "last")]
    pub(crate) id: String,
    /// One step alone, by its number.
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u32>,
    /// Print the bodies of logic as well.
    #[arg(long)]
    pub(crate) logic: bool,
    /// Print what the hub answers; of one step that step, with the scenario's id and revision.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CalcArgs {
    /// The run (`run_UUID`), or a scenario (`scn_UUID`) with --force: an id, the beginning of it, or `last` for the last run.
    #[arg(value_name = "ID", default_value = "last")]
    pub(crate) id: String,
    /// Again, in its place.
    #[arg(long)]
    pub(crate) force: bool,
    /// Although steps were changed by hand: those changes go.
    #[arg(long, requires = "force")]
    pub(crate) discard_edits: bool,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A change of a step.
#[derive(Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) of: OneArgs,
    /// The step, by its number as `show` has it.
    #[arg(long, value_name = "N")]
    pub(crate) step: u32,
    /// A file with the body that makes its input, `(params, respParams)`; `-` for stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) input_logic: Option<PathBuf>,
    /// A file with the body that makes what later steps need, `(toolOutput, params, respParams)`; `-` for stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_logic: Option<PathBuf>,
    /// Let the scenario run it again.
    #[arg(long)]
    pub(crate) unfreeze: bool,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    /// Let the scenario stop before it.
    #[arg(long, conflicts_with = "unfreeze")]
    pub(crate) freeze: bool,
    /// Save in spite of what the check says; needs --note.
    #[arg(long)]
    pub(crate) force: bool,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Save only where the scenario still has this revision.
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u64>,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct EditsArgs {
    #[command(flatten)]
    pub(crate) of: OneArgs,
    /// Print an array of changes.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    pub(crate) of: OneArgs,
    /// This change (`sedit_UUID`); one that took another back is taken back itself, which redoes.
    #[arg(long, value_name = "EDIT", conflicts_with = "step")]
    pub(crate) edit: Option<String>,
    /// The newest change of this step.
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u32>,
    /// Undo in spite of what the check says; needs --note.
    #[arg(long)]
    pub(crate) force: bool,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) of: OneArgs,
    /// So far, in place of the level that it has: `L0` it steers, `L1` reads run, `L2` writes that are as once when
    /// done twice too, `L3` everything.
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["L0", "L1", "L2", "L3"]))]
    pub(crate) level: Option<String>,
    /// Take the approval back: it no longer runs unasked.
    #[arg(long, conflicts_with = "level")]
    pub(crate) revoke: bool,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) of: OneArgs,
    /// For what would be asked, in quotes; without it, with the values of the recording.
    #[arg(long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Against what was recorded; nothing else can be done yet.
    #[arg(long)]
    pub(crate) dry: bool,
    /// Print what the hub answers.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExecutionsArgs {
    /// The scenario (`scn_UUID`) or its run (`run_UUID`): an id, the beginning of it, or `last` for the last run. Without
    /// one, the executions of all.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) most: LimitArgs,
    /// Print an object with the executions, newest first, and of one scenario what they saved.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Scenarios (`scn_UUID`) or their runs (`run_UUID`): ids, beginnings of ids, or `last` for the last run.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All that are ready.
    #[arg(long)]
    pub(crate) all: bool,
    /// A file in place of stdout; it appears when it is whole.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// The file; `-` for stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A directory of the project that they are for [default: the one that they were exported from].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print an object with the scenarios' ids.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct RmArgs {
    /// Scenarios (`scn_UUID`), or runs (`run_UUID`) that they are calculated from: ids or beginnings of ids.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print an object that says how many were deleted.
    #[arg(long)]
    pub(crate) json: bool,
}
