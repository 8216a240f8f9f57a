//! `POST /recordings/batch`: many records in their order, in one transaction.

use crate::body;
use crate::guard::Caller;
use crate::ingest::{self, Lines};
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;

/// A larger body is parsed on a thread for blocking work, so that other requests are not kept waiting.
const PARSE_ASIDE: usize = 256 << 10;

fn lines(bytes: &[u8], most: usize) -> Result<Lines, Problem> {
    let mut lines = Lines::default();
    let mut count = 0;
    for (i, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            count += 1;
            if count > most {
                return Err(Problem::new(
                    Code::TooManyLines,
                    format!("a batch has at most {most} lines; nothing of it was kept, send it in parts"),
                ));
            }
            lines.push(i as u64 + 1, line);
        }
    }
    Ok(lines)
}

async fn read(bytes: Bytes, most: usize) -> Result<Lines, Problem> {
    if bytes.len() <= PARSE_ASIDE {
        return lines(&bytes, most);
    }
    let parsed = tokio::task::spawn_blocking(move || lines(&bytes, most)).await;
    parsed.map_err(|_| Problem::new(Code::Internal, "reading the batch failed"))?
}

pub(crate) async fn take(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.batch_bytes, limits.body_idle).await?;
    let lines = read(bytes, limits.batch_lines).await?;
    let tally = ingest::book_lines(&state, &caller.view(), lines).await?;
    json::ok(&tally)
}
