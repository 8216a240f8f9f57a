//! From the host's bytes to messages for the upstream.
//!
//! A line up to [`MAX_HELD`] is held and sent whole. A longer one is streamed as soon as its beginning tells
//! what the headers need.

use bir_model::Direction;
use bir_upstream::http::{HttpUpstream, Upload, error_answer};
use bir_wire::{Field, Kind, Limits, Scanner};
use bytes::Bytes;

use super::desk::Desk;
use crate::log;

/// Bytes of a line that are held before it is streamed: 1 MiB.
const MAX_HELD: usize = 1024 * 1024;

/// Bytes of a line that are held at most, when its beginning does not tell what the headers need: 64 MiB. A
/// longer one is refused.
const MAX_UNDECIDED: usize = 64 * 1024 * 1024;

const REFUSED: &str = "the message is too large: what its headers need comes after the first 64 MiB";

/// The line in progress.
pub(crate) struct Lines {
    scanner: Scanner,
    held: Vec<u8>,
    upload: Option<Upload>,
    /// The rest of the line is read and dropped.
    refused: bool,
    /// Length at which the held part is looked at again.
    next_look: usize,
}

impl Lines {
    /// `keep`: bytes of the head of a message that streams that are kept for the observer.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            scanner: Scanner::new(Limits { keep, ..Limits::default() }),
            held: Vec::new(),
            upload: None,
            refused: false,
            next_look: MAX_HELD,
        }
    }

    /// Takes what the host wrote.
    pub(crate) async fn feed(&mut self, chunk: &[u8], upstream: &HttpUpstream<Desk>, desk: &Desk) {
        for piece in bir_wire::split(chunk) {
            if piece.end && self.is_between_lines() {
                self.whole(Bytes::copy_from_slice(piece.bytes), upstream, desk).await;
            } else {
                self.part(piece.bytes, upstream).await;
                if piece.end {
                    self.finish(upstream, desk).await;
                }
            }
        }
    }

    /// The host will send no more. A last line without a line end is a message too, if it is complete; the beginning
    /// of one is not sent, and a request that it began is broken off.
    pub(crate) async fn end(&mut self, upstream: &HttpUpstream<Desk>, desk: &Desk) {
        if self.is_between_lines() {
            return;
        }
        if self.upload.is_none() && !self.refused {
            self.scanner.reset();
            self.scanner.push(&self.held);
        }
        let cut = matches!(self.scanner.finish().kind(), Kind::NotJson(_));
        if cut {
            log::warn!("host→upstream: the last message was cut off and is not sent");
            self.upload = None;
            self.held = Vec::new();
        } else {
            self.finish(upstream, desk).await;
        }
    }

    fn is_between_lines(&self) -> bool {
        self.held.is_empty() && self.upload.is_none() && !self.refused
    }

    async fn part(&mut self, bytes: &[u8], upstream: &HttpUpstream<Desk>) {
        if let Some(upload) = &mut self.upload {
            let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            self.scanner.push(bytes);
            if !content.is_empty() {
                upload.push(Bytes::copy_from_slice(content)).await;
            }
            return;
        }
        if self.refused {
            self.scanner.push(bytes);
            return;
        }
        self.held.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") || self.held.len() < self.next_look {
            return;
        }
        let new = self.held.get(usize::try_from(self.scanner.len()).unwrap_or_default()..);
        self.scanner.push(new.unwrap_or_default());
        match upstream.begin(self.scanner.so_far()) {
            Some(mut upload) => {
                upload.push(Bytes::from(std::mem::take(&mut self.held))).await;
                self.upload = Some(upload);
            }
            None if self.held.len() > MAX_UNDECIDED => {
                self.held = Vec::new();
                self.refused = true;
            }
            None => self.next_look = self.held.len() + MAX_HELD,
        }
    }

    async fn finish(&mut self, upstream: &HttpUpstream<Desk>, desk: &Desk) {
        if let Some(upload) = self.upload.take() {
            let message = self.scanner.finish();
            desk.observe(Direction::HostToUpstream, &message);
            upload.end(&message).await;
        } else if std::mem::take(&mut self.refused) {
            let message = self.scanner.finish();
            desk.observe(Direction::HostToUpstream, &message);
            log::warn!("host→upstream: a message of {} bytes was refused", message.len());
            if message.kind() == Kind::Request
                && let Some(id) = message.envelope().raw(Field::Id)
            {
                refuse(id, REFUSED, desk).await;
            }
        } else {
            let bytes = Bytes::from(std::mem::take(&mut self.held));
            self.scanner.reset();
            self.whole(bytes, upstream, desk).await;
        }
        self.scanner.reset();
        self.next_look = MAX_HELD;
    }

    /// One message that is held as a whole.
    async fn whole(&mut self, bytes: Bytes, upstream: &HttpUpstream<Desk>, desk: &Desk) {
        let message = self.scanner.finish_whole(&bytes);
        if let Some(stripped) = desk.strip(&message) {
            let mut scanner = Scanner::default();
            let message = scanner.finish_whole(&stripped);
            desk.observe(Direction::HostToUpstream, &message);
            upstream.send(stripped.clone(), &message).await;
        } else if message.kind() != Kind::Blank {
            desk.observe(Direction::HostToUpstream, &message);
            upstream.send(bytes.clone(), &message).await;
        }
        self.scanner.reset();
    }

    /// Answers the requests in `chunk` with an error. Returns whether there was one.
    pub(crate) async fn refuse(&mut self, chunk: &[u8], desk: &Desk, why: &str) -> bool {
        let mut refused = false;
        for piece in bir_wire::split(chunk) {
            if self.held.len() > MAX_HELD {
                return refused;
            }
            self.held.extend_from_slice(piece.bytes);
            if !piece.end {
                continue;
            }
            let line = std::mem::take(&mut self.held);
            let message = self.scanner.finish_whole(&line);
            desk.observe(Direction::HostToUpstream, &message);
            let id = match message.kind() {
                Kind::Request => message.envelope().raw(Field::Id).map(<[u8]>::to_vec),
                _ => None,
            };
            self.scanner.reset();
            if let Some(id) = id {
                refuse(&id, why, desk).await;
                refused = true;
            }
        }
        refused
    }
}

/// Answers a request with an error of ours.
async fn refuse(id: &[u8], why: &str, desk: &Desk) {
    let answer = error_answer(id, why);
    let mut scanner = Scanner::default();
    desk.observe(Direction::UpstreamToHost, &scanner.finish_whole(&answer));
    desk.pen().line(&answer).await;
}
