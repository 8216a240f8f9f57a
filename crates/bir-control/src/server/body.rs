//! Reading a body within bounds: so many bytes, so much time, and so much memory for all bodies together.

use super::Problem;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Longest body, in bytes.
pub(super) const LONGEST: usize = 4 * 1024 * 1024;
/// How long one may take to come.
const BUDGET: Duration = Duration::from_secs(5);
/// Bytes of all bodies that are held at a time.
pub(super) const HELD: usize = 2 * LONGEST;
/// Longest result of a call, in bytes: JSON that is the text of a member, so that each of its bytes may take two.
pub(super) const LONGEST_RESULT: usize = 2 * bir_model::control::LONGEST_RESULT + LONGEST;
/// What a permit stands for, in bytes.
const UNIT: usize = 1024;

/// The memory for bodies.
pub(super) struct Room {
    free: Semaphore,
    longest: usize,
}

/// A body, and the memory that is taken for it.
pub(super) struct Held<'a> {
    pub(super) bytes: Vec<u8>,
    _permit: SemaphorePermit<'a>,
}

impl Room {
    /// Bodies of `longest` bytes at most, `held` bytes of them at a time.
    pub(super) fn new(longest: usize, held: usize) -> Self {
        Self { free: Semaphore::new(held / UNIT + 1), longest }
    }

    /// Reads a body of JSON. What is too long by its own account is not read at all.
    pub(super) async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<Held<'_>, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Problem::MediaType);
        }
        let hint = body.size_hint();
        if hint.lower() > self.longest as u64 {
            return Err(Problem::TooLarge);
        }
        let most = hint
            .upper()
            .and_then(|upper| usize::try_from(upper).ok())
            .unwrap_or(self.longest)
            .min(self.longest);
        let units = u32::try_from(most / UNIT + 1).unwrap_or(u32::MAX);
        let reading = async {
            let permit = self.free.acquire_many(units).await.map_err(|_| Problem::Unavailable)?;
            Ok(Held { bytes: collect(body, self.longest).await?, _permit: permit })
        };
        tokio::time::timeout(BUDGET, reading).await.unwrap_or(Err(Problem::TooSlow))
    }
}

async fn collect(mut body: Incoming, longest: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let data: Bytes = match frame.map_err(|_| Problem::TooSlow)?.into_data() {
            Ok(data) => data,
            Err(_) => continue,
        };
        if bytes.len() + data.len() > longest {
            return Err(Problem::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}
