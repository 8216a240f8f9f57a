//! The arguments of `bir runs`.

use crate::error::CommandError;
use crate::out::time;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: RunsCommand,
}

#[derive(Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first.
    List(ListArgs),
    /// Show one run as a timeline of its calls.
    Show(ShowArgs),
    /// Show calls as they happen: of one run, or of all. Ctrl-C ends it.
    Follow(FollowArgs),
    /// Find calls by a text in their names, arguments and results.
    Grep(GrepArgs),
    /// Compare two runs, call by call.
    Diff(DiffArgs),
    /// Write runs as JSON Lines.
    Export(ExportArgs),
    /// Take in runs as `bir runs export` wrote them.
    Import(ImportArgs),
    /// Delete runs.
    Rm(RmArgs),
}

/// Which runs.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct FilterArgs {
    /// A server that took part.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// A tool that was called.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// How some call of it ended.
    #[arg(long, value_name = "OUTCOME", value_parser = PossibleValuesParser::new(["ok", "tool_error", "rpc_error", "timeout", "cancelled", "denied", "unknown"]))]
    pub(crate) outcome: Option<String>,
    /// A directory of the project.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The host, `claude-code` for one.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// How it was seen.
    #[arg(long, value_name = "TIER", value_parser = PossibleValuesParser::new(["bound", "standalone"]))]
    pub(crate) tier: Option<String>,
    /// Begun since: `2h`, `7d`, `today`, `2026-11-30`, `2026-11-30T14:05`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Begun until; a date includes that day.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only runs of which something was lost.
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Only runs that go on.
    #[arg(long)]
    pub(crate) running: bool,
}

impl FilterArgs {
    /// Whether it lets everything through.
    pub(crate) fn is_empty(&self) -> bool {
        self.query().is_ok_and(|query| query.is_empty())
    }

    /// As parameters of the hub.
    pub(crate) fn query(&self) -> Result<Vec<(&'static str, String)>, CommandError> {
        let mut query = Vec::new();
        for (name, value) in [
            ("server", &self.server),
            ("tool", &self.tool),
            ("outcome", &self.outcome),
            ("host", &self.host),
            ("tier", &self.tier),
        ] {
            query.extend(value.clone().map(|value| (name, value)));
        }
        query.extend(self.project.as_deref().map(|dir| ("project", project_of(dir))));
        let now = time::now();
        for (name, text, end) in [("since", &self.since, false), ("until", &self.until, true)] {
            if let Some(text) = text {
                let ms = time::parse(text, &now, end)
                    .map_err(|e| CommandError::usage(format!("--{name}: {e}")))?;
                query.push((name, ms.to_string()));
            }
        }
        if self.lossy {
            query.push(("lossy", "true".into()));
        }
        if self.running {
            query.push(("finished", "false".into()));
        }
        Ok(query)
    }
}

/// The project of a directory as a recorder names it: its git root, else itself, absolute and without symbolic links.
pub(crate) fn project_of(dir: &Path) -> String {
    let dir = dir.canonicalize().or_else(|_| std::path::absolute(dir)).unwrap_or_else(|_| dir.into());
    let root = dir.ancestors().find(|above| above.join(".git").exists());
    root.unwrap_or(&dir).to_string_lossy().into_owned()
}

/// How much of a list.
#[derive(Args)]
pub(crate) struct LimitArgs {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) most: LimitArgs,
    /// Print an array of runs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The run: its id, the beginning of it, or `last`.
    #[arg(value_name = "ID", default_value = "last")]
    pub(crate) id: String,
    /// Print arguments and results whole.
    #[arg(long)]
    pub(crate) full: bool,
    /// Print an object: the run with its rows.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct FollowArgs {
    /// The run: its id, the beginning of it, or `last`; without it, every run.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print one object a line for each row.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct GrepArgs {
    /// What is looked for.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Upper and lower case differ.
    #[arg(long)]
    pub(crate) case: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// At most so many rows.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Print an array of rows.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// The one run.
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// The other.
    #[arg(value_name = "B")]
    pub(crate) b: String,
    /// Print an array: one object for each pair of calls.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Runs: ids, beginnings of ids, or `last`.
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// Every run.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The file to write, readable by you alone; without it, stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print an array of records; with -o an object that says what was written.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// The file, or `-` for stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print an object that says what became of the records.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct RmArgs {
    /// Runs: ids, beginnings of ids, or `last`.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Every run of a project.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["ids", "all_mine"])]
    pub(crate) project: Option<PathBuf>,
    /// Every run that you recorded.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all_mine: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print an object that says how much was deleted.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_become_parameters() {
        assert!(FilterArgs::default().is_empty());
        let filter = FilterArgs { server: Some("a b".into()), lossy: true, ..FilterArgs::default() };
        assert_eq!(filter.query().unwrap(), [("server", "a b".to_owned()), ("lossy", "true".to_owned())]);
        let wrong = FilterArgs { since: Some("soon".into()), ..FilterArgs::default() };
        assert!(wrong.query().unwrap_err().to_string().starts_with("--since: `soon`"));
    }

    #[test]
    fn a_project_is_the_git_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("p/.git")).unwrap();
        std::fs::create_dir_all(root.join("p/sub")).unwrap();
        assert_eq!(project_of(&root.join("p/sub")), root.join("p").to_string_lossy());
    }
}
