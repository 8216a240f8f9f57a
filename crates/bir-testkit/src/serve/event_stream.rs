//! An event stream that can lose its connection and be taken up again with `Last-Event-ID`.
//!
//! Every stream of a session has a number; an event's id is `<stream>-<n>`, so that an id names stream and
//! place. Events are kept when they have ids, or while no connection is there to take them.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::http1::{self, Chunked};
use crate::script::Answer;
use crate::serve::outlet::{Body, CutWriter, Outlet, write_fill};
use crate::step::Chunking;
use crate::sync::{lock, wait_until};

struct Live {
    socket: TcpStream,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Live {
    fn write(&mut self, body: Body<'_>, cut: &Chunking) -> io::Result<()> {
        match &mut self.gzip {
            None => body.write(&mut CutWriter::new(Chunked(&mut self.socket), cut)),
            Some(gzip) => {
                body.write(gzip)?;
                gzip.flush()?;
                let coded = std::mem::take(gzip.get_mut());
                CutWriter::new(Chunked(&mut self.socket), cut).write_all(&coded)
            }
        }
    }

    fn end(mut self) -> io::Result<()> {
        if let Some(gzip) = self.gzip.take() {
            let rest = gzip.finish()?;
            Chunked(&mut self.socket).write_all(&rest)?;
        }
        Chunked(&mut self.socket).end()
    }
}

#[derive(Default)]
struct Inner {
    /// Number of the last event.
    last: usize,
    kept: Vec<(usize, Vec<u8>)>,
    live: Option<Live>,
    /// How often a connection was attached; names the one at hand.
    attached: usize,
    done: bool,
    told_retry: bool,
}

/// One event stream.
pub(crate) struct EventStream {
    number: usize,
    shape: Mutex<Answer>,
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl EventStream {
    pub(crate) fn new(number: usize, shape: Answer) -> Self {
        Self { number, shape: Mutex::new(shape), inner: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn reshape(&self, shape: &Answer) {
        *lock(&self.shape) = shape.clone();
    }

    /// The place after an event id of this stream.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        let (stream, event) = id.split_once('-')?;
        (stream.parse() == Ok(self.number)).then(|| event.parse().ok()).flatten()
    }

    pub(crate) fn is_live(&self) -> bool {
        lock(&self.inner).live.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        lock(&self.inner).done
    }

    /// Writes the head of an answer and what is kept after `from`; from then on events go to this socket. Takes over from a
    /// connection that is still there: its client has lost it before we could know. The answer names this one to `hold`.
    pub(crate) fn attach(
        &self,
        mut socket: TcpStream,
        headers: &[(String, String)],
        from: Option<usize>,
    ) -> io::Result<usize> {
        let shape = lock(&self.shape).clone();
        let kind = shape.content_type.clone().unwrap_or_else(|| "text/event-stream".into());
        let mut all = vec![
            ("Content-Type".to_owned(), kind),
            ("Cache-Control".to_owned(), "no-cache".to_owned()),
            ("Transfer-Encoding".to_owned(), "chunked".to_owned()),
        ];
        if shape.gzip {
            all.push(("Content-Encoding".into(), "gzip".into()));
        }
        all.extend(headers.iter().cloned());
        all.extend(shape.headers.iter().cloned());
        // Taken before the client can know that the stream is open, so that it never finds it closed.
        let mut inner = lock(&self.inner);
        inner.attached += 1;
        let attached = inner.attached;
        if let Some(lost) = inner.live.take() {
            http1::close(&lost.socket);
        }
        socket.write_all(&http1::head(200, &all))?;
        let gzip = shape.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        let mut live = Live { socket, gzip };
        let ids = has_ids(&shape);
        for (number, frame) in &inner.kept {
            if from.is_none_or(|from| *number > from) {
                live.write(Body::Whole(frame), &Chunking::default())?;
            }
        }
        if !ids {
            inner.kept.clear();
        }
        if inner.done {
            drop(inner);
            live.end()?;
            return Ok(attached);
        }
        inner.live = Some(live);
        drop(inner);
        if shape.prime && from.is_none() {
            self.event(None, &Chunking::default())?;
        }
        Ok(attached)
    }

    /// Sends one event; without a body one that has an id and empty data.
    pub(crate) fn event(&self, body: Option<Body<'_>>, cut: &Chunking) -> io::Result<()> {
        let shape = lock(&self.shape).clone();
        let end = if shape.crlf { "\r\n" } else { "\n" };
        let mut inner = lock(&self.inner);
        inner.last += 1;
        let number = inner.last;
        let mut head = Vec::new();
        if shape.event_name {
            head.extend_from_slice(format!("event: message{end}").as_bytes());
        }
        if has_ids(&shape) {
            head.extend_from_slice(format!("id: {}-{number}{end}", self.number).as_bytes());
        }
        if let Some(ms) = shape.retry_ms.filter(|_| !inner.told_retry) {
            head.extend_from_slice(format!("retry: {ms}{end}").as_bytes());
            inner.told_retry = true;
        }
        head.extend_from_slice(b"data: ");
        let tail = format!("{end}{end}");
        let keep = has_ids(&shape) || inner.live.is_none();
        match body {
            Some(Body::Filled { head: first, fill, tail: last }) => {
                // Made while it is written, so it is never kept for a replay.
                head.extend_from_slice(first);
                let tail = [last, tail.as_bytes()].concat();
                self.put(&mut inner, Body::Filled { head: &head, fill, tail: &tail }, cut)
            }
            other => {
                if let Some(Body::Whole(message)) = other {
                    if shape.multiline {
                        let lines = spread(message);
                        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
                        head.extend_from_slice(&lines.join(format!("{end}data: ").as_bytes()));
                    } else {
                        head.extend_from_slice(message);
                    }
                }
                head.extend_from_slice(tail.as_bytes());
                if keep {
                    inner.kept.push((number, head.clone()));
                }
                self.put(&mut inner, Body::Whole(&head), cut)
            }
        }
    }

    /// Bytes in the stream that are no event of ours.
    pub(crate) fn bytes(&self, bytes: Body<'_>, cut: &Chunking) -> io::Result<()> {
        self.put(&mut lock(&self.inner), bytes, cut)
    }

    fn put(&self, inner: &mut Inner, body: Body<'_>, cut: &Chunking) -> io::Result<()> {
        let Some(live) = &mut inner.live else { return Ok(()) };
        let done = live.write(body, cut);
        if done.is_err() {
            // The client is gone. Events with ids wait for it to come back.
            inner.live = None;
            self.changed.notify_all();
        }
        Ok(())
    }

    /// No more events: ends the stream properly.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut inner = lock(&self.inner);
        inner.done = true;
        let live = inner.live.take();
        drop(inner);
        self.changed.notify_all();
        live.map_or(Ok(()), Live::end)
    }

    /// Ends the connection but not the stream.
    pub(crate) fn cut(&self, properly: bool) -> io::Result<()> {
        let live = lock(&self.inner).live.take();
        self.changed.notify_all();
        match live {
            Some(live) if properly => live.end(),
            Some(live) => {
                http1::close(&live.socket);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits until this connection of the stream is no more, in one way or another.
    pub(crate) fn hold(&self, attached: usize, socket: &TcpStream, stop: &dyn Fn() -> bool) {
        let over = |inner: &mut Inner| inner.live.is_none() || inner.attached != attached;
        while !wait_until(&self.inner, &self.changed, Duration::from_millis(20), over) {
            if http1::is_gone(socket) || stop() {
                let mut inner = lock(&self.inner);
                if inner.attached == attached {
                    inner.live = None;
                }
                return;
            }
        }
    }
}

fn has_ids(shape: &Answer) -> bool {
    shape.event_ids || shape.prime
}

/// The JSON text with a line break after every `,`, `{` and `[` outside of strings.
pub(crate) fn spread(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut inside, mut escaped) = (false, false);
    for byte in json {
        out.push(*byte);
        if inside {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => inside = false,
                _ => {}
            }
        } else if *byte == b'"' {
            inside = true;
        } else if matches!(byte, b',' | b'{' | b'[') {
            out.push(b'\n');
        }
    }
    out
}

/// A stream as the outlet for messages that belong to no request.
pub(crate) struct StreamOutlet(pub(crate) std::sync::Arc<EventStream>);

impl Outlet for StreamOutlet {
    fn message(&self, body: Body<'_>, _: bool, cut: &Chunking) -> io::Result<()> {
        self.0.event(Some(body), cut)
    }

    fn bytes(&self, bytes: Body<'_>, cut: &Chunking) -> io::Result<()> {
        self.0.bytes(bytes, cut)
    }

    fn close(&self) {
        // Nothing to tell if it fails: the connection is gone then.
        let _ = self.0.cut(false);
    }

    fn cut(&self, properly: bool) -> io::Result<()> {
        self.0.cut(properly)
    }

    fn gone(&self) -> bool {
        self.0.is_done()
    }
}

/// Compresses a whole body.
pub(crate) fn gzip(body: Body<'_>) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    match body {
        Body::Filled { head, fill, tail } => {
            encoder.write_all(head)?;
            write_fill(&mut encoder, fill)?;
            encoder.write_all(tail)?;
        }
        Body::Whole(bytes) => encoder.write_all(bytes)?,
    }
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_leaves_strings_alone_and_the_value_equal() {
        let json = br#"{"a,b":"{\",\\","c":[1,2]}"#;
        let text = spread(json);
        assert_eq!(text, b"{\n\"a,b\":\"{\\\",\\\\\",\n\"c\":[\n1,\n2]}");
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value, serde_json::from_slice::<serde_json::Value>(json).unwrap());
    }

    #[test]
    fn event_ids_name_stream_and_place() {
        let stream = EventStream::new(3, Answer::default());
        assert_eq!(stream.place("3-7"), Some(7));
        assert_eq!(stream.place("4-7"), None);
        assert_eq!(stream.place("x"), None);
    }
}
