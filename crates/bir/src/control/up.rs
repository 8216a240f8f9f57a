//! The control server, started where it is of use.

use super::look::{Health, Project, look, servers};
use crate::error::CommandError;
use crate::home::block_on;
use crate::out::safe;
use crate::programs;
use bir_control_client::{ReviveError, revive, stopped_file};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it may take until it answers.
const START: Duration = Duration::from_secs(10);
/// Between two looks.
const POLL: Duration = Duration::from_millis(50);

/// The release of this program, and of the `bir-hooks` beside it.
const OURS: &str = env!("CARGO_PKG_VERSION");

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

/// Lets control servers start again, and starts one where a project is set up and none answers, or one of an older release: that
/// gives way to the new one by itself.
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
        let over = Instant::now() >= until;
        if let Some((_, health)) = servers(&projects).first() {
            let older = health.version.as_deref().is_some_and(|theirs| is_older(theirs, OURS));
            if !older || over {
                let health = Health::clone(health);
                return Ok(if started && !older { Up::Started(health) } else { Up::Runs(health) });
            }
        }
        if over {
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
                let beside = programs::beside();
                return Ok(Up::Failed(format!("{e}; {}", programs::way_out(&beside, programs::HOOKS))));
            }
            Err(e) => return Ok(Up::Failed(e.to_string())),
        }
        std::thread::sleep(POLL);
    }
}

/// Whether a release is older than another. Of one that tells no number nothing is known.
fn is_older(theirs: &str, ours: &str) -> bool {
    numbers(theirs).zip(numbers(ours)).is_some_and(|(theirs, ours)| theirs < ours)
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split(['-', '+']).next()?.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        for (theirs, ours, older) in [
            ("0.1.0", "0.1.0", false),
            ("0.9.1", "0.10.0", true),
            ("1.0.0-beta", "1.0.1", true),
            ("2.0.0", "1.9.9", false),
            ("unknown", "1.0.0", false),
        ] {
            assert_eq!(is_older(theirs, ours), older, "{theirs} {ours}");
        }
    }

    #[test]
    fn what_became_of_it_is_told_and_a_failure_is_one() {
        let health = Health { version: Some("0.1\u{1b}".into()), pid: Some(7), ..Health::default() };
        assert_eq!(Up::Started(health.clone()).line(), "the control server 0.1␛ (process 7) is up");
        assert_eq!(Up::Runs(Health::default()).line(), "the control server runs already");
        assert!(Up::Runs(health).result().is_ok() && Up::NoProject.result().is_ok());
        let failed = Up::Failed("why".into());
        assert_eq!(failed.result().unwrap_err().to_string(), "the control server did not start: why");
        assert_eq!((&failed.json()["running"], &failed.json()["trouble"]), (&false.into(), &"why".into()));
    }
}
