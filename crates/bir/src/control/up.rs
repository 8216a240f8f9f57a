//! The control server, started where it is of use.

use super::look::{Health, Project, look, servers};
use crate::error::CommandError;
use crate::home::block_on;
use crate::out::safe;
use bir_control_client::{ReviveError, revive, stopped_file};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it may take until it answers.
const START: Duration = Duration::from_secs(3);
/// Between two looks.
const POLL: Duration = Duration::from_millis(50);

/// What became of it.
#[derive(Debug)]
pub(crate) enum Up {
    /// No project is set up, so none was started.
    NoProject,
    /// One answers, which was there already.
    Runs(Health),
    /// One answers, which was not there before.
    Started(Health),
    /// None answers, and why.
    Failed(String),
}

/// Lets control servers start again, and starts one where a project is set up and none answers.
pub(crate) fn ensure(state_dir: &Path) -> Result<Up, CommandError> {
    let stopped = stopped_file(state_dir);
    if let Err(e) = std::fs::remove_file(&stopped)
        && e.kind() != std::io::ErrorKind::NotFound
    {
        return Ok(Up::Failed(format!("cannot remove {}: {e}", stopped.display())));
    }
    let until = Instant::now() + START;
    let mut started = false;
    loop {
        let projects = projects(state_dir)?;
        if projects.is_empty() {
            return Ok(Up::NoProject);
        }
        if let Some((_, health)) = servers(&projects).first() {
            let health = Health::clone(health);
            return Ok(if started { Up::Started(health) } else { Up::Runs(health) });
        }
        if Instant::now() >= until {
            let seconds = START.as_secs();
            return Ok(Up::Failed(format!(
                "it does not answer after {seconds} s; run `bir-hooks serve` to see what it says"
            )));
        }
        // Limited by itself: who tries again too soon starts none.
        match revive(state_dir) {
            Ok(()) => started = true,
            Err(ReviveError::TooSoon) => {}
            Err(e @ ReviveError::NoProgram(_)) => {
                return Ok(Up::Failed(format!("{e}; `cargo build --release` makes both")));
            }
            Err(e) => return Ok(Up::Failed(e.to_string())),
        }
        std::thread::sleep(POLL);
    }
}

fn projects(state_dir: &Path) -> Result<Vec<Project>, CommandError> {
    block_on(async { Ok(look(state_dir).await) })
}

impl Up {
    /// As a line.
    pub(crate) fn line(&self) -> String {
        let which = |health: &Health| {
            let version =
                health.version.as_deref().map(|v| format!(" {}", safe::line(v))).unwrap_or_default();
            let pid = health.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            format!("control server{version}{pid}")
        };
        match self {
            Self::NoProject => {
                "no control server was started, since no project is set up for bound recording; `bir project add` sets one up"
                    .into()
            }
            Self::Runs(health) => format!("the {} runs already", which(health)),
            Self::Started(health) => format!("the {} is up", which(health)),
            Self::Failed(why) => format!("the control server did not start: {}", safe::line(why)),
        }
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        let (health, trouble) = match self {
            Self::Runs(health) | Self::Started(health) => (Some(health), None),
            Self::Failed(why) => (None, Some(why)),
            Self::NoProject => (None, None),
        };
        json!({
            "running": health.is_some(), "started": matches!(self, Self::Started(_)), "pid": health.and_then(|h| h.pid),
            "version": health.and_then(|h| h.version.as_ref()), "trouble": trouble,
        })
    }

    /// Why it is not as it was asked for.
    pub(crate) fn result(&self) -> Result<(), CommandError> {
        match self {
            Self::Failed(_) => Err(CommandError::Failed(self.line())),
            _ => Ok(()),
        }
    }
}
