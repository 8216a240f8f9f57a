//! A response whose body is read piece by piece.
//!
//! Dropping a [`Response`] before its end closes the connection, which is how a modern MCP call is cancelled.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use flate2::bufread::GzDecoder;
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use hyper::body::Incoming;

use crate::dial::Connection;
use crate::pool::{self, Pool};
use crate::{Error, Target};

/// Most bytes that one piece of a decompressed body has.
const INFLATE_PIECE: usize = 32 * 1024;
/// How long a connection whose response ended may take to be ready for the next request before it is dropped.
const SETTLE: Duration = Duration::from_secs(1);

/// Status, headers and body of an answer.
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    target: Target,
    body: Option<Incoming>,
    gzip: Option<Box<Gzip>>,
    home: Option<(Connection, Arc<Pool>)>,
}

impl Response {
    pub(crate) fn new(
        response: http::Response<Incoming>,
        target: Target,
        connection: Connection,
        pool: Arc<Pool>,
    ) -> Result<Self, Error> {
        let (parts, body) = response.into_parts();
        let gzip = match parts.headers.get(header::CONTENT_ENCODING) {
            None => false,
            Some(value) => {
                let name = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
                match name.as_str() {
                    "" | "identity" => false,
                    "gzip" | "x-gzip" => true,
                    name => return Err(Error::UnknownEncoding { encoding: encoding(name) }),
                }
            }
        };
        let gzip = gzip.then(|| Box::new(Gzip::default()));
        let mut response = Self {
            status: parts.status,
            headers: parts.headers,
            target,
            body: Some(body),
            gzip,
            home: Some((connection, pool)),
        };
        response.release_if_done();
        Ok(response)
    }

    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Where the answer came from, after redirects.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The type and subtype of the body as written, without parameters.
    pub fn media_type(&self) -> Option<&str> {
        let value = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Some(value.split(';').next().unwrap_or_default().trim())
    }

    /// Whether the body is exactly of this type, whatever its parameters.
    pub fn is_of_type(&self, media_type: &str) -> bool {
        self.media_type().is_some_and(|found| found.eq_ignore_ascii_case(media_type))
    }

    /// The next piece of the (decompressed) body, `None` at its end.
    ///
    /// # Errors
    ///
    /// [`Error::BodyLost`] when the connection ends before the body, [`Error::BadGzip`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(mut gzip) = self.gzip.take() else { return self.raw_chunk().await };
        let outcome = loop {
            if let Some(outcome) = gzip.step() {
                break outcome;
            }
            match self.raw_chunk().await? {
                Some(bytes) => gzip.feed().bytes = bytes,
                None => gzip.feed().ended = true,
            }
        };
        if !matches!(outcome, Ok(None)) {
            self.gzip = Some(gzip);
        }
        outcome
    }

    async fn raw_chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let Some(body) = &mut self.body else { return Ok(None) };
            let frame =
                std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await;
            match frame {
                None => {
                    self.release();
                    return Ok(None);
                }
                Some(Err(_)) => {
                    self.body = None;
                    self.home = None;
                    return Err(Error::BodyLost);
                }
                Some(Ok(frame)) => {
                    self.release_if_done();
                    if let Ok(bytes) = frame.into_data()
                        && !bytes.is_empty()
                    {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Reads at most `limit` bytes of the body and drops the rest.
    ///
    /// # Errors
    ///
    /// As [`Response::chunk`].
    pub async fn head_of_body(mut self, limit: usize) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            let room = limit.saturating_sub(all.len());
            all.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
            if all.len() >= limit {
                break;
            }
        }
        Ok(all)
    }

    /// Reads and forgets a short rest of the body so that the connection can be used again; a long or slow
    /// rest closes it.
    pub async fn discard(mut self) {
        const ENOUGH: usize = 64 * 1024;
        let mut seen = 0;
        let drain = async {
            while let Ok(Some(bytes)) = self.raw_chunk().await {
                seen += bytes.len();
                if seen > ENOUGH {
                    break;
                }
            }
        };
        drop(tokio::time::timeout(SETTLE, drain).await);
    }

    fn release_if_done(&mut self) {
        if self.body.as_ref().is_some_and(Body::is_end_stream) {
            self.release();
        }
    }

    fn release(&mut self) {
        self.body = None;
        let Some((mut connection, pool)) = self.home.take() else { return };
        let limit = pool::idle_limit(&self.headers);
        if connection.sender.is_ready() {
            pool.put(&self.target, connection, limit, Instant::now());
        } else if !connection.sender.is_closed() {
            let target = self.target.clone();
            tokio::spawn(async move {
                if let Ok(Ok(())) = tokio::time::timeout(SETTLE, connection.sender.ready()).await {
                    pool.put(&target, connection, limit, Instant::now());
                }
            });
        }
    }
}

/// A content encoding as an error may name it.
fn encoding(name: &str) -> &'static str {
    match name {
        "br" => "the content encoding br",
        "zstd" => "the content encoding zstd",
        "deflate" => "the content encoding deflate",
        "compress" | "x-compress" => "the content encoding compress",
        _ => "an unknown content encoding",
    }
}

/// Gzip data: members one after the other (RFC 1952, section 2.2), and zero bytes that pad the last one.
enum Gzip {
    Member(GzDecoder<Feed>),
    /// Before the first member or behind one. A body without any is empty.
    Between(Feed),
}

impl Default for Gzip {
    fn default() -> Self {
        Self::Between(Feed::default())
    }
}

impl Gzip {
    fn feed(&mut self) -> &mut Feed {
        match self {
            Self::Member(decoder) => decoder.get_mut(),
            Self::Between(feed) => feed,
        }
    }

    /// One step of decompression: `None` asks for more input.
    fn step(&mut self) -> Option<Result<Option<Bytes>, Error>> {
        loop {
            match self {
                Self::Member(decoder) => match inflate(decoder) {
                    Some(Ok(None)) => {
                        let feed = std::mem::take(decoder.get_mut());
                        *self = Self::Between(feed);
                    }
                    outcome => return outcome,
                },
                Self::Between(feed) => {
                    let padding = feed.bytes.iter().take_while(|byte| **byte == 0).count();
                    feed.bytes.advance(padding);
                    if feed.bytes.is_empty() {
                        return feed.ended.then_some(Ok(None));
                    }
                    *self = Self::Member(GzDecoder::new(std::mem::take(feed)));
                }
            }
        }
    }
}

/// One step within a member, with `Ok(None)` at its end: `None` asks for more input.
fn inflate(gzip: &mut GzDecoder<Feed>) -> Option<Result<Option<Bytes>, Error>> {
    let mut piece = vec![0; INFLATE_PIECE];
    match gzip.read(&mut piece) {
        Ok(0) => Some(Ok(None)),
        Ok(length) => {
            piece.truncate(length);
            Some(Ok(Some(piece.into())))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Some(Err(Error::BodyLost)),
        Err(_) => Some(Err(Error::BadGzip)),
    }
}

/// Compressed bytes on their way into the decoder.
#[derive(Default)]
struct Feed {
    bytes: Bytes,
    ended: bool,
}

impl Read for Feed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.len().min(into.len());
        self.bytes.copy_to_slice(into.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}

impl BufRead for Feed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes.is_empty() && !self.ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(&self.bytes)
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.advance(amount.min(self.bytes.len()));
    }
}
