//! What the hub does on its own: retention, and in the embedded hub the spool of its state directory.

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
