//! The one writer of an SQLite file: appends that come at the same time are booked in one transaction.
//!
//! ```text
//!  append ─▶ ┐
//!  append ─▶ ├ queue (bounded) ─▶ writer task ─ BEGIN, all that waits, COMMIT ─▶ verdicts back to each
//!  append ─▶ ┘
//! ```
//!
//! Nobody waits for company: what is there is taken, and what arrives meanwhile is the next transaction.

use crate::append::{Undone, within};
use crate::model::{Appended, View};
use crate::sql::Db;
use crate::{Options, StoreError};
use bir_model::record::Record;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Appends that may wait; more wait at the queue's door.
const QUEUE: usize = 64;
/// Records of one transaction at most, unless one append has more.
const GROUP: usize = 8_000;

type Verdicts = Result<Vec<Appended>, StoreError>;

#[derive(Debug)]
struct Job {
    who: View,
    records: Vec<Record>,
    reply: oneshot::Sender<Verdicts>,
}

/// The way to the writer task.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    patience: Duration,
}

impl Writer {
    pub(crate) fn start(db: Db, options: &Options) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let task = tokio::spawn(work(db, jobs));
        Self {
            queue: Mutex::new(Some(queue)),
            task: Mutex::new(Some(task)),
            // The append itself takes as long as it takes; a turn is waited for no longer than a connection.
            patience: options.patience,
        }
    }

    pub(crate) async fn append(&self, who: &View, records: &[Record]) -> Verdicts {
        let gone = || StoreError::Unavailable("the store is closed".into());
        let queue = self.queue.lock().await.clone().ok_or_else(gone)?;
        let turn = tokio::time::timeout(self.patience, queue.reserve_owned()).await;
        let turn = turn.map_err(|_| StoreError::Unavailable("too much waits to be written".into()))?;
        let (reply, verdicts) = oneshot::channel();
        turn.map_err(|_| gone())?.send(Job { who: *who, records: records.to_vec(), reply });
        verdicts.await.map_err(|_| gone())?
    }

    /// Waits for what is under way; later appends are refused.
    pub(crate) async fn close(&self) {
        self.queue.lock().await.take();
        if let Some(task) = self.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer of the store ended early");
        }
    }
}

async fn work(db: Db, mut jobs: mpsc::Receiver<Job>) {
    while let Some(first) = jobs.recv().await {
        let mut records = first.records.len();
        let mut group = vec![first];
        while records < GROUP {
            let Ok(job) = jobs.try_recv() else { break };
            records += job.records.len();
            group.push(job);
        }
        let (inputs, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| ((job.who, job.records), job.reply)).unzip();
        let verdicts = book(&db, inputs).await;
        match verdicts {
            Ok(all) => {
                for (reply, verdicts) in replies.into_iter().zip(all) {
                    // Whoever asked may be gone; it is booked all the same.
                    let _ = reply.send(Ok(verdicts));
                }
            }
            Err(error) => {
                let again = |text: String| match &error {
                    StoreError::Unavailable(_) => StoreError::Unavailable(text),
                    _ => StoreError::Failed(text),
                };
                let text = match &error {
                    StoreError::Unavailable(why) | StoreError::Failed(why) => why.clone(),
                    other => other.to_string(),
                };
                for reply in replies {
                    let _ = reply.send(Err(again(text.clone())));
                }
            }
        }
    }
}

/// Books all of it, or nothing.
async fn book(db: &Db, inputs: Vec<(View, Vec<Record>)>) -> Result<Vec<Vec<Appended>>, StoreError> {
    let Some((first, _)) = inputs.first() else { return Ok(Vec::new()) };
    let mut tx = db.write(first.tenant).await?;
    let mut all = Vec::with_capacity(inputs.len());
    let mut inputs = inputs.into_iter().peekable();
    while let Some((who, mut records)) = inputs.next() {
        // Neighbours with the same view are booked as one.
        let mut lengths = vec![records.len()];
        while let Some((_, more)) = inputs.next_if(|(next, _)| *next == who) {
            lengths.push(more.len());
            records.extend(more);
        }
        tx.enter(who.tenant)?;
        let verdicts = within(&mut tx, &who, &records).await.map_err(|undone| match undone {
            Undone::Failed(error) => error,
            Undone::Again => StoreError::Failed("the file was written by somebody else meanwhile".into()),
        })?;
        let mut verdicts = verdicts.into_iter();
        all.extend(lengths.into_iter().map(|length| verdicts.by_ref().take(length).collect::<Vec<_>>()));
    }
    tx.commit().await?;
    Ok(all)
}
