//! Bodies in, within a size and a time.

use crate::problem::{Code, Problem};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use std::time::Duration;

/// Of a body that is refused for its size, so much is read and thrown away, so that the caller gets to read why.
const DRAIN_BYTES: usize = 32 << 20;
/// And for so long.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Waits for the next piece of a body; None at its end.
pub(crate) async fn next(body: &mut Body, idle: Duration) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = tokio::time::timeout(idle, body.frame()).await.map_err(|_| {
            Problem::new(Code::Timeout, format!("no bytes of the body came for {} s", idle.as_secs()))
        })?;
        match frame {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(_)) => return Err(Problem::new(Code::BadJson, "the body broke off")),
        }
    }
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(mut body: Body, limit: usize, idle: Duration) -> Result<Bytes, Problem> {
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(refuse(body, limit).await);
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    while let Some(data) = next(&mut body, idle).await? {
        let so_far = all.len() + first.as_ref().map_or(0, Bytes::len);
        if so_far + data.len() > limit {
            return Err(refuse(body, limit).await);
        }
        match first.take() {
            None if all.is_empty() => first = Some(data),
            None => all.extend_from_slice(&data),
            Some(held) => {
                all.reserve(usize::try_from(announced).unwrap_or(0).min(limit).max(held.len() + data.len()));
                all.extend_from_slice(&held);
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

async fn refuse(mut body: Body, limit: usize) -> Problem {
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > DRAIN_BYTES {
                break;
            }
        }
    };
    // Whether it could be read to its end makes no difference to the answer.
    let _ = tokio::time::timeout(DRAIN_TIME, drain).await;
    Problem::new(Code::TooLarge, format!("the body has more than {limit} bytes, which is what is taken here"))
}
