//! What every command that speaks to a hub begins with: the state directory, its configuration, a client, a runtime.

use crate::error::CommandError;
use crate::say;
use bir_hosts::config::Role;
use bir_install::ledger::Layer;
use bir_install::operation::read_ledger;
use bir_record::config::{Config, Loaded};
use bir_record::hub::{Destination, HubClient, HubError};
use bir_record::ship;
use bir_record::spool::Spool;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Budget for shipping what others left in the spool before runs are shown.
const SWEEP: Duration = Duration::from_secs(2);

/// What to do about a hub of this machine that was ended.
pub(crate) const NOT_RUNNING: &str =
    "the hub of this machine is not running; `bir up` starts it (your runs are kept)";

/// The state directory and what is decided in it.
pub(crate) struct Home {
    /// Absolute.
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    /// Why nothing is recorded: the configuration is not understood.
    pub(crate) unclear: Option<String>,
}

impl Home {
    /// Finds it; makes nothing. Warnings about the configuration go to stderr.
    ///
    /// # Errors
    ///
    /// The environment does not say where it is.
    pub(crate) fn find() -> Result<Self, CommandError> {
        let dir = bir_home::state_dir().and_then(|dir| std::path::absolute(dir).ok()).ok_or_else(|| {
            CommandError::failed(
                "it is not known where your files are; set HOME, or BIR_HOME to a directory for bir",
            )
        })?;
        let Loaded { config, warnings, unclear } = Config::load(&dir);
        for warning in warnings {
            say(format_args!("warning: {warning}"));
        }
        if let Some(why) = &unclear {
            say(format_args!("warning: nothing is recorded: {why}; mend the file in {}", dir.display()));
        }
        Ok(Self { dir, config, unclear })
    }

    /// Makes the directory, for this user alone.
    ///
    /// # Errors
    ///
    /// The system does not let it.
    pub(crate) fn ensure(&self) -> Result<(), CommandError> {
        bir_home::ensure(&self.dir).map_err(|e| {
            CommandError::failed(format!(
                "cannot make {}: {e}; set BIR_HOME to a directory that you may write",
                self.dir.display()
            ))
        })
    }

    /// Where the hub is that is in use, if one is known.
    ///
    /// # Errors
    ///
    /// `credentials.json` cannot be used.
    pub(crate) fn destination(&self) -> Result<Option<Destination>, CommandError> {
        Ok(Destination::find(&self.dir, self.config.hub.as_deref())?)
    }

    /// A client for the hub that is in use.
    ///
    /// # Errors
    ///
    /// None is known, or `credentials.json` cannot be used.
    pub(crate) fn client(&self) -> Result<HubClient, CommandError> {
        HubClient::find(&self.dir, self.config.hub.as_deref()).map_err(|e| match e {
            HubError::NoHub if self.has_runs() => CommandError::failed(NOT_RUNNING),
            e => e.into(),
        })
    }

    /// Whether the hub of this machine has run here before; its store is kept then.
    pub(crate) fn has_runs(&self) -> bool {
        self.dir.join("hub.db").exists()
    }

    /// The spool.
    pub(crate) fn spool(&self) -> Spool {
        Spool::new(&self.dir, self.config.record.spool_limit)
    }

    /// What to say where the hub has no run at all, and runs wait in the spool.
    pub(crate) fn none_but_waiting(&self) -> Option<String> {
        match self.spool().stats().runs {
            0 => None,
            1 => {
                Some("no run has reached the hub yet; 1 waits in the spool and is sent within seconds".into())
            }
            n => Some(format!(
                "no run has reached the hub yet; {n} wait in the spool and are sent within seconds"
            )),
        }
    }

    /// What a person does who has no run yet: where the recorder is installed already, the host has only to be used.
    pub(crate) fn how_to_begin(&self) -> &'static str {
        // A ledger that cannot be read was written by an install.
        let installed = read_ledger(&self.dir).map_or(true, |ledger| {
            let ours = |layer: &Layer| !layer.entries.is_empty() || !layer.hooks.is_empty();
            ledger.files.iter().any(|file| file.role == Role::Own || file.layers.iter().any(ours))
        });
        if installed {
            "restart your host, and use one of its servers"
        } else {
            "put your servers behind the recorder with `bir install`, or try `bir demo`"
        }
    }

    /// A client, after what was left in the spool has been shipped as far as the budget allows: a person who looks for a run
    /// looks for all of it.
    ///
    /// # Errors
    ///
    /// As [`Home::client`].
    pub(crate) async fn swept(&self) -> Result<HubClient, CommandError> {
        let mut client = self.client()?;
        self.sweep(&mut client).await;
        Ok(client)
    }

    /// Ships what was left. What the hub does not take now stays; the command that follows meets the same hub and says so.
    pub(crate) async fn sweep(&self, client: &mut HubClient) {
        let spool = self.spool();
        if !spool.is_empty() {
            let log: ship::Log = Arc::new(|_: ship::Level, _: &str| {});
            let _ = ship::sweep(client, &spool, SWEEP, &log).await;
        }
    }
}

/// Runs a future to its end.
///
/// # Errors
///
/// Its own, and that the system gives no runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::failed(format!("cannot start: {e}")))?;
    let result = runtime.block_on(future);
    // A name that is being looked up on another thread is not worth waiting for.
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_installed_is_not_told_to_install() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home { dir: dir.path().into(), config: Config::default(), unclear: None };
        assert!(home.how_to_begin().contains("`bir install`"));
        let own = |role: &str| {
            serde_json::json!({"version": bir_install::ledger::VERSION, "program": "0.1.0", "files": [{"path": "/f",
                "host": "copilot-cli", "scope": "user", "format": "json", "role": role, "madeDirs": [], "layers": []}]})
        };
        for (role, begin) in [("servers", "`bir install`"), ("own", "restart your host")] {
            std::fs::write(dir.path().join("installed.json"), own(role).to_string()).unwrap();
            assert!(read_ledger(dir.path()).is_ok(), "{:?}", read_ledger(dir.path()));
            assert!(home.how_to_begin().contains(begin), "{role}");
        }
    }

    #[test]
    fn what_waits_is_told_where_no_run_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home { dir: dir.path().into(), config: Config::default(), unclear: None };
        assert_eq!(home.none_but_waiting(), None);
        let spool = dir.path().join("spool");
        std::fs::create_dir(&spool).unwrap();
        for (n, wait) in [(1, "1 waits in the spool and is sent"), (2, "2 wait in the spool and are sent")] {
            let name = format!("run_01970000-0000-7000-8000-00000000000{n}-000001.spool");
            std::fs::write(spool.join(name), "").unwrap();
            assert_eq!(
                home.none_but_waiting().unwrap(),
                format!("no run has reached the hub yet; {wait} within seconds")
            );
        }
    }
}
