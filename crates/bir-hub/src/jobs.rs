//! What the hub does on its own: retention, expired tokens, and in the embedded hub the spool of its state directory and whether
//! that directory is still its own.

use crate::embedded::StateDir;
use bir_service::clock::{Clock as _, SystemClock};
use bir_store::Store;
use std::sync::Arc;
use std::time::Duration;

/// The first look at what is too old comes this long after the start, so that a start is not slow.
const FIRST: Duration = Duration::from_secs(60);
/// Then every day.
const DAY: Duration = Duration::from_secs(86_400);
/// Runs that are deleted in one transaction.
const AT_ONCE: u32 = 200;
/// Between two of them others get their turn.
const PAUSE: Duration = Duration::from_millis(50);

/// Deletes what ended more than so many days ago; gives how many runs.
pub(crate) async fn expire(store: &dyn Store, days: u32) -> Result<u64, bir_store::StoreError> {
    let before = SystemClock.now().saturating_sub(u64::from(days) * 86_400_000);
    let mut runs = 0;
    loop {
        let deleted = store.expire(before, AT_ONCE).await?;
        runs += deleted.runs;
        if deleted.runs < u64::from(AT_ONCE) {
            return Ok(runs);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Keeps to the retention; ends when its task is dropped.
pub(crate) async fn retention(store: Arc<dyn Store>, days: u32) {
    if days == 0 {
        return;
    }
    tokio::time::sleep(FIRST).await;
    loop {
        match expire(&*store, days).await {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, days, "runs that were too old are deleted"),
            Err(error) => tracing::warn!(%error, "runs that are too old stay until tomorrow"),
        }
        tokio::time::sleep(DAY).await;
    }
}

/// Expired tokens and sessions are looked for this often.
const HOUR: Duration = Duration::from_secs(3_600);
/// They stay so long after their end, so that who still has one is told that it expired, not that it is unknown.
const KEPT: u64 = 7 * 86_400_000;

/// Removes tokens and sessions that ended long ago; ends when its task is dropped.
pub(crate) async fn purge(store: Arc<dyn Store>) {
    tokio::time::sleep(FIRST).await;
    loop {
        let before = SystemClock.now().saturating_sub(KEPT);
        // A full part says that there may be more; others get their turn in between.
        let pause = match store.purge(before, AT_ONCE).await {
            Ok(gone) if gone >= u64::from(AT_ONCE) => PAUSE,
            Ok(_) => HOUR,
            Err(error) => {
                tracing::warn!(%error, "expired tokens and sessions stay for another hour");
                HOUR
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// The spool of the state directory is looked at this often.
const SWEEP: Duration = Duration::from_secs(5);
/// One look may take so long; what is left has its turn at the next.
const SWEEP_BUDGET: Duration = Duration::from_secs(60);

/// Ships what no living process holds: runs whose recorder was killed, or ended before the hub began.
pub(crate) fn sweep(
    jobs: &mut tokio::task::JoinSet<()>,
    state_dir: &std::path::Path,
    url: &str,
    token: &str,
) {
    use bir_record::hub::{Destination, HubClient, Origin, Token};
    use bir_record::ship::{Level, Log};
    let loaded = bir_record::config::Config::load(state_dir);
    // What is spooled was kept while the file was understood; that it is not now stops recorders, and no shipping.
    let config = loaded.config;
    for warning in loaded.warnings.into_iter().chain(loaded.unclear) {
        tracing::warn!("{warning}");
    }
    let spool = bir_record::spool::Spool::new(state_dir, config.record.spool_limit);
    let destination = Destination::new(url, Some(Token::new(token)), Origin::Embedded);
    let mut client = HubClient::new(state_dir, destination);
    let log: Log = Arc::new(|level, text: &str| match level {
        Level::Warn => tracing::warn!(target: "sweep", "{text}"),
        Level::Info => tracing::info!(target: "sweep", "{text}"),
    });
    jobs.spawn(async move {
        let mut told = String::new();
        loop {
            tokio::time::sleep(SWEEP).await;
            if spool.is_empty() {
                continue;
            }
            match bir_record::ship::sweep(&mut client, &spool, SWEEP_BUDGET, &log).await {
                Ok(()) => told.clear(),
                Err(error) => {
                    // The same reason every five seconds is said once.
                    let why = error.to_string();
                    if why != told {
                        tracing::warn!(target: "sweep", why, "what is spooled stays there for now");
                        told = why;
                    }
                }
            }
        }
    });
}

/// The state directory is looked at this often.
const LOOK: Duration = Duration::from_secs(5);
/// So many looks in a row have to find it lost: one may fall between two steps of whoever moves a directory.
const LOOKS: u32 = 2;

/// Ends when the state directory is this hub's no more: clients would never find it again, and `bir down` neither.
pub(crate) async fn lost(dir: &StateDir, instance: &str) -> &'static str {
    let mut found = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        match dir.lost(instance) {
            None => found = 0,
            Some(why) if found + 1 >= LOOKS => return why,
            Some(_) => found += 1,
        }
    }
}
