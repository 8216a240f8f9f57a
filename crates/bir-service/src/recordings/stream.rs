//! Live streams as server-sent events.
//!
//! ```text
//! run stream:  subscribe ─▶ read what is there from the store ─▶ events as they are booked ─▶ `end` when the run is over
//!                                      ▲                                   │
//!                                      └────────── `resync` ◀── fell behind ┘
//! ```
//!
//! The id of a `step` event is not its index but a mark: every row up to it was sent. Rows of overlapping calls are not booked
//! in the order of their indexes, and a client that comes back with the last *index* would miss the earlier rows that came in
//! between; with the mark it may see a row twice, and never misses one.

use super::run_id;
use crate::access::Action;
use crate::guard::{Caller, recheck};
use crate::live::{Heard, hear, shorten};
use crate::problem::{Code, Problem};
use crate::state::{State, told};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_model::RunId;
use bir_model::record::Step;
use bir_store::model::{RunSummary, View};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Events that wait for the socket.
const WAITING: usize = 16;
/// A client that takes nothing for so long is let go.
const STUCK: Duration = Duration::from_secs(60);
/// A heartbeat comes at every so many looks at the token: 3 × 5 s.
const HEARTBEAT: u32 = 3;
/// Rows that are read from the store at once.
const ROWS: u32 = 500;

/// The stream is over: the client is gone, the run is over, the token does not hold any more, the hub stops.
struct Over;

struct Events {
    out: mpsc::Sender<Bytes>,
}

impl Events {
    async fn raw(&self, text: String) -> Result<(), Over> {
        let sent = tokio::time::timeout(STUCK, self.out.send(text.into())).await;
        sent.map_err(|_| Over)?.map_err(|_| Over)
    }

    async fn event(&self, name: &str, id: Option<i64>, data: &impl Serialize) -> Result<(), Over> {
        // JSON has no line feeds of its own, so one line of data it is.
        let data = serde_json::to_string(data).map_err(|_| Over)?;
        let id = id.filter(|id| *id >= 0).map(|id| format!("id: {id}\n")).unwrap_or_default();
        self.raw(format!("event: {name}\n{id}data: {data}\n\n")).await
    }
}

/// Up to which index everything was sent.
#[derive(Debug)]
struct Mark {
    all_up_to: i64,
    beyond: BTreeSet<u32>,
}

impl Mark {
    fn new(last: Option<u32>) -> Self {
        Self { all_up_to: last.map_or(-1, i64::from), beyond: BTreeSet::new() }
    }

    fn sent(&mut self, index: u32) -> i64 {
        if i64::from(index) > self.all_up_to {
            self.beyond.insert(index);
        }
        while let Some(first) = self.beyond.first().copied().filter(|f| i64::from(*f) == self.all_up_to + 1) {
            self.beyond.remove(&first);
            self.all_up_to += 1;
        }
        self.all_up_to
    }

    fn from(&self) -> u32 {
        u32::try_from(self.all_up_to + 1).unwrap_or(u32::MAX)
    }
}

struct Stream {
    state: State,
    caller: Caller,
    view: View,
    events: Events,
    _place: OwnedSemaphorePermit,
}

impl Stream {
    fn open(state: State, caller: Caller) -> Result<(Self, Response), Problem> {
        let place = state.streams.clone().try_acquire_owned().map_err(|_| {
            Problem::new(Code::RateLimited, "too many live streams are open; close one, or try again later")
                .after(15)
        })?;
        let (out, mut waiting) = mpsc::channel::<Bytes>(WAITING);
        let body = futures_util::stream::poll_fn(move |cx| {
            waiting.poll_recv(cx).map(|b| b.map(Ok::<_, Infallible>))
        });
        let mut response = Response::new(Body::from_stream(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        state.metrics.subscribed(1);
        let view = caller.view();
        Ok((Self { state, caller, view, events: Events { out }, _place: place }, response))
    }

    /// Whether the token still holds, and now and then a sign of life.
    async fn look(&self, looks: &mut u32) -> Result<(), Over> {
        *looks += 1;
        recheck(&self.state, self.caller.shown.clone(), Action::ReadRuns).await.map_err(|_| Over)?;
        if looks.is_multiple_of(HEARTBEAT) {
            self.events.raw(": still here\n\n".to_owned()).await?;
        }
        Ok(())
    }

    async fn summary(&self, run: RunId) -> Result<RunSummary, Over> {
        let found = self.state.store.run(&self.view, run).await;
        Ok(shorten(found.ok().flatten().ok_or(Over)?.summary))
    }

    async fn steps(&self, mark: &mut Mark, steps: &[Step]) -> Result<(), Over> {
        for step in steps {
            let id = mark.sent(step.step_index);
            self.events.event("step", Some(id), step).await?;
        }
        Ok(())
    }

    /// What the store has from the mark on.
    async fn catch_up(&self, run: RunId, mark: &mut Mark) -> Result<(), Over> {
        let mut from = Some(mark.from());
        while let Some(index) = from {
            let page = self.state.store.steps(&self.view, run, index, ROWS).await.map_err(|_| Over)?;
            self.steps(mark, &page.steps).await?;
            from = page.next;
        }
        Ok(())
    }

    async fn end(&self, summary: &RunSummary) -> Result<(), Over> {
        self.events.event("end", None, summary).await?;
        Err(Over)
    }

    async fn follow_run(&self, run: RunId, last: Option<u32>) -> Result<(), Over> {
        let mut changes = self.state.live.subscribe();
        let mut ending = self.state.ending();
        let mut mark = Mark::new(last);
        let mut ticks = tokio::time::interval(self.state.settings.limits.stream_check);
        ticks.tick().await;
        let mut looks = 0;
        // The state first: a run that ends in between is seen as a change later.
        let summary = self.summary(run).await?;
        self.events.event("run", None, &summary).await?;
        self.catch_up(run, &mut mark).await?;
        if summary.ended_at.is_some() {
            return self.end(&summary).await;
        }
        loop {
            tokio::select! {
                () = told(&mut ending) => return Err(Over),
                () = self.events.out.closed() => return Err(Over),
                _ = ticks.tick() => self.look(&mut looks).await?,
                heard = hear(&mut changes) => match heard {
                    Heard::Over => return Err(Over),
                    Heard::Behind => {
                        self.events.event("resync", None, &serde_json::json!({"from": mark.from()})).await?;
                        self.catch_up(run, &mut mark).await?;
                        let summary = self.summary(run).await?;
                        self.events.event("run", None, &summary).await?;
                        if summary.ended_at.is_some() {
                            return self.end(&summary).await;
                        }
                    }
                    Heard::Changed(change) if change.run == run && change.is_for(&self.view) => {
                        self.steps(&mut mark, &change.steps).await?;
                        self.events.event("run", None, &*change.summary).await?;
                        if change.summary.ended_at.is_some() {
                            return self.end(&change.summary).await;
                        }
                    }
                    Heard::Changed(_) => {}
                },
            }
        }
    }

    async fn follow_all(&self) -> Result<(), Over> {
        let mut changes = self.state.live.subscribe();
        let mut ending = self.state.ending();
        let mut ticks = tokio::time::interval(self.state.settings.limits.stream_check);
        ticks.tick().await;
        let mut looks = 0;
        // So that a client sees that it is connected before the first run changes.
        self.events.raw(": connected\n\n".to_owned()).await?;
        loop {
            tokio::select! {
                () = told(&mut ending) => return Err(Over),
                () = self.events.out.closed() => return Err(Over),
                _ = ticks.tick() => self.look(&mut looks).await?,
                heard = hear(&mut changes) => match heard {
                    Heard::Over => return Err(Over),
                    // What was missed is in the list of runs; the client reads it again.
                    Heard::Behind => self.events.event("resync", None, &serde_json::json!({})).await?,
                    Heard::Changed(change) if change.is_for(&self.view) => {
                        self.events.event("run", None, &*change.summary).await?;
                    }
                    Heard::Changed(_) => {}
                },
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.metrics.subscribed(-1);
    }
}

/// `GET /recordings/runs/:id/stream`.
pub(crate) async fn run(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = run_id(&id)?;
    if state.store.run(&caller.view(), id).await?.is_none() {
        return Err(Problem::not_found("run"));
    }
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()).filter(|text| !text.is_empty());
    let last = last.map(str::parse::<u32>).transpose().map_err(|_| {
        Problem::new(Code::BadType, "`Last-Event-ID`: expected the id of the last event of this stream")
    })?;
    let (stream, response) = Stream::open(state, caller)?;
    tokio::spawn(async move { stream.follow_run(id, last).await });
    Ok(response)
}

/// `GET /recordings/stream`.
pub(crate) async fn all(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let (stream, response) = Stream::open(state, caller)?;
    tokio::spawn(async move { stream.follow_all().await });
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_waits_for_rows_that_come_late() {
        let mut mark = Mark::new(None);
        let ids: Vec<i64> = [0, 2, 3, 1, 1, 5, 4, 7].into_iter().map(|i| mark.sent(i)).collect();
        assert_eq!(ids, [0, 0, 0, 3, 3, 3, 5, 5]);
        assert_eq!(mark.from(), 6);
        assert_eq!(Mark::new(Some(4)).from(), 5);
        assert_eq!(Mark::new(Some(u32::MAX)).from(), u32::MAX);
    }
}
