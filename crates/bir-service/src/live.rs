//! Who looks on: booked rows go to the subscribers after they are in the store.
//!
//! One bounded channel for all. A subscriber that falls behind loses the oldest events and is told so ([`Heard::Behind`]);
//! it then reads from the store what it missed. Nobody waits for a subscriber.

use bir_model::record::{Record, Step};
use bir_model::{RunId, TenantId};
use bir_store::Store;
use bir_store::model::{Appended, RunSummary, View};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Events that a subscriber may be behind.
const BEHIND: usize = 256;
/// Characters of a prompt in a list.
const PROMPT_SHOWN: usize = 500;

/// Something of a run changed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) tenant: TenantId,
    pub(crate) run: RunId,
    pub(crate) summary: Arc<RunSummary>,
    /// Rows that were booked or amended.
    pub(crate) steps: Arc<[Step]>,
}

impl Change {
    /// Whether `who` may see it.
    pub(crate) fn is_for(&self, who: &View) -> bool {
        self.tenant == who.tenant && (who.whole_tenant || self.summary.user == who.user)
    }
}

/// What a subscriber hears.
#[derive(Debug)]
pub(crate) enum Heard {
    Changed(Change),
    Behind,
    Over,
}

/// The channel.
#[derive(Debug)]
pub(crate) struct Live(broadcast::Sender<Change>);

impl Default for Live {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Live {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }

    /// Tells what was booked. Costs nothing while nobody looks on.
    pub(crate) async fn tell(
        &self,
        store: &dyn Store,
        who: &View,
        records: &[Record],
        verdicts: &[Appended],
    ) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let mut runs: Vec<(RunId, Vec<Step>)> = Vec::new();
        for (record, verdict) in records.iter().zip(verdicts) {
            if *verdict != Appended::Booked {
                continue;
            }
            let id = record.run_id();
            let at = runs.iter().rposition(|(run, _)| *run == id).unwrap_or_else(|| {
                runs.push((id, Vec::new()));
                runs.len() - 1
            });
            if let Record::Step(step) = record {
                runs[at].1.push(step.clone());
            }
        }
        for (run, steps) in runs {
            self.tell_run(store, who, run, steps).await;
        }
    }

    /// Tells that one run changed.
    pub(crate) async fn tell_run(&self, store: &dyn Store, who: &View, run: RunId, steps: Vec<Step>) {
        if self.0.receiver_count() == 0 {
            return;
        }
        match store.run(who, run).await {
            Ok(Some(detail)) => {
                let summary = Arc::new(shorten(detail.summary));
                // An error says that nobody listens any more.
                let _ = self.0.send(Change { tenant: who.tenant, run, summary, steps: steps.into() });
            }
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "a change was not told to who looks on"),
        }
    }
}

/// With the prompt as lists show it.
pub(crate) fn shorten(mut summary: RunSummary) -> RunSummary {
    if let Some(input) = &mut summary.input
        && let Some((at, _)) = input.char_indices().nth(PROMPT_SHOWN)
    {
        input.truncate(at);
    }
    summary
}

/// Waits for the next change.
pub(crate) async fn hear(receiver: &mut broadcast::Receiver<Change>) -> Heard {
    match receiver.recv().await {
        Ok(change) => Heard::Changed(change),
        Err(broadcast::error::RecvError::Lagged(_)) => Heard::Behind,
        Err(broadcast::error::RecvError::Closed) => Heard::Over,
    }
}
