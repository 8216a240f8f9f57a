//! Export and import: records as JSON Lines, streamed both ways.

use super::run_id;
use crate::body;
use crate::guard::Caller;
use crate::ingest::{Lines, Refusal, Tally, book_lines};
use crate::json;
use crate::problem::{Code, Problem};
use crate::query::Params;
use crate::state::State;
use axum::body::Body;
use axum::response::Response;
use bir_model::RunId;
use bir_model::record::Record;
use bir_store::model::{Page, RunFilter, View};
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Uri, header};
use tokio::sync::mpsc;

/// Runs that are listed at once while exporting.
const RUNS: u32 = 100;
/// Records that are read at once.
const RECORDS: u32 = 500;
/// Pieces that wait for the socket.
const WAITING: usize = 4;
/// Records of an import that are booked in one transaction.
const BOOK: usize = 1_000;
/// Or so many bytes of them.
const BOOK_BYTES: usize = 4 << 20;
/// Refusals that are told one by one.
const TOLD: usize = 1_000;

type Piece = Result<Bytes, std::io::Error>;

struct Export {
    state: State,
    view: View,
    out: mpsc::Sender<Piece>,
}

/// How many rows a part of a run's records has, and the index of the last.
fn rows(records: &[Record]) -> (usize, Option<u32>) {
    let index = |record: &Record| match record {
        Record::Step(step) => Some(step.step_index),
        Record::Final(answer) => Some(answer.step_index),
        _ => None,
    };
    (records.iter().filter_map(index).count(), records.iter().filter_map(index).max())
}

impl Export {
    /// False: nobody reads any more.
    async fn run(&self, run: RunId) -> Result<bool, Problem> {
        let mut after = None;
        loop {
            let records = self.state.store.records(&self.view, run, after, RECORDS).await?;
            let mut piece = Vec::new();
            for record in &records {
                if serde_json::to_writer(&mut piece, record).is_err() {
                    return Err(Problem::new(Code::Internal, "a record cannot be written as JSON"));
                }
                piece.push(b'\n');
            }
            if !piece.is_empty() && self.out.send(Ok(piece.into())).await.is_err() {
                return Ok(false);
            }
            match rows(&records) {
                // An index that does not move would go on for ever.
                (count, Some(index)) if count >= RECORDS as usize && after.is_none_or(|a| index > a) => {
                    after = Some(index);
                }
                _ => return Ok(true),
            }
        }
    }

    async fn filtered(&self, filter: &RunFilter) -> Result<(), Problem> {
        let mut page = Page { cursor: None, limit: RUNS };
        loop {
            let found = self.state.store.runs(&self.view, filter, &page).await?;
            for run in found.runs {
                if !self.run(run.id).await? {
                    return Ok(());
                }
            }
            match found.next {
                Some(cursor) => page.cursor = Some(cursor),
                None => return Ok(()),
            }
        }
    }

    async fn all(self, run: Option<RunId>, filter: RunFilter) {
        let done = match run {
            Some(run) => self.run(run).await.map(|_| ()),
            None => self.filtered(&filter).await,
        };
        if let Err(problem) = done {
            // The head is sent already: breaking off is the only way to say that this is not all.
            let _ = self.out.send(Err(std::io::Error::other(problem.detail.into_owned()))).await;
        }
    }
}

/// `GET /recordings/export`.
pub(crate) async fn export(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let run = params.text("run").map(|text| run_id(&text)).transpose()?;
    let filter = params.filter()?;
    params.end()?;
    let view = caller.view();
    if let Some(run) = run
        && state.store.run(&view, run).await?.is_none()
    {
        return Err(Problem::not_found("run"));
    }
    let place = state.streams.clone().try_acquire_owned().map_err(|_| {
        Problem::new(Code::RateLimited, "too many streams are open; try again later").after(15)
    })?;
    let (out, mut waiting) = mpsc::channel::<Piece>(WAITING);
    tokio::spawn(async move {
        Export { state, view, out }.all(run, filter).await;
        drop(place);
    });
    let body = Body::from_stream(futures_util::stream::poll_fn(move |cx| waiting.poll_recv(cx)));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"runs.ndjson\""),
    );
    Ok(response)
}

struct Import {
    state: State,
    view: View,
    lines: Lines,
    bytes: usize,
    number: u64,
    tally: Tally,
    refused: u64,
}

impl Import {
    async fn line(&mut self, line: &[u8]) -> Result<(), Problem> {
        self.number += 1;
        let limit = self.state.settings.limits.line_bytes;
        if line.len() > limit {
            let detail = format!("expected a line of at most {limit} bytes");
            self.lines.refused.push(Refusal { line: self.number, code: "too_large".to_owned(), detail });
        } else {
            self.lines.push(self.number, line);
        }
        self.bytes += line.len();
        if self.lines.records.len() >= BOOK || self.bytes >= BOOK_BYTES || self.lines.refused.len() >= BOOK {
            self.book().await?;
        }
        Ok(())
    }

    async fn book(&mut self) -> Result<(), Problem> {
        self.bytes = 0;
        let lines = std::mem::take(&mut self.lines);
        let done = book_lines(&self.state, &self.view, lines).await.map_err(|mut problem| {
            let so_far = self.tally.booked + self.tally.duplicates;
            problem.detail = format!(
                "{}; {so_far} records before line {} are kept, and sending all again is harmless",
                problem.detail, self.number
            )
            .into();
            problem
        })?;
        self.tally.booked += done.booked;
        self.tally.duplicates += done.duplicates;
        self.refused += done.refused.len() as u64;
        let room = TOLD.saturating_sub(self.tally.refused.len());
        self.tally.refused.extend(done.refused.into_iter().take(room));
        Ok(())
    }
}

/// `POST /recordings/import`.
pub(crate) async fn import(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    mut body: Body,
) -> Result<Response, Problem> {
    let limits = state.settings.limits.clone();
    let view = caller.view();
    let mut import = Import {
        state,
        view,
        lines: Lines::default(),
        bytes: 0,
        number: 0,
        tally: Tally::default(),
        refused: 0,
    };
    let mut held = BytesMut::new();
    let mut too_long = false;
    while let Some(data) = body::next(&mut body, limits.body_idle).await? {
        let mut rest = &data[..];
        while let Some(at) = rest.iter().position(|b| *b == b'\n') {
            let (line, after) = (&rest[..at], &rest[at + 1..]);
            rest = after;
            if held.is_empty() && !too_long {
                import.line(line).await?;
                continue;
            }
            if !too_long {
                held.extend_from_slice(line);
            }
            too_long = false;
            let whole = held.split();
            import.line(&whole).await?;
        }
        // Of a line that is too long only so much is kept that it is seen to be.
        if !too_long {
            held.extend_from_slice(rest);
            too_long = held.len() > limits.line_bytes;
        }
    }
    if !held.is_empty() {
        let whole = held.split();
        import.line(&whole).await?;
    }
    import.book().await?;
    let mut tally = import.tally;
    tally.refused_total = (import.refused > tally.refused.len() as u64).then_some(import.refused);
    json::ok(&tally)
}
