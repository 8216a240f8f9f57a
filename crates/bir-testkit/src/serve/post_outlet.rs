//! The answer to one POST: JSON, an event stream, or whatever a script puts there instead.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::http1;
use crate::raw;
use crate::script::{Answer, Format};
use crate::serve::event_stream::{EventStream, gzip, spread};
use crate::serve::outlet::{Body, CutWriter, Outlet};
use crate::step::{Chunking, Reply};
use crate::sync::lock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing was written.
    Fresh,
    /// The event stream has begun.
    Streaming,
    /// The answer is complete, or the stream goes on without this connection.
    Done,
    /// The connection is closed.
    Closed,
}

struct State {
    phase: Phase,
    shape: Answer,
}

/// The outlet for the request that a POST carries.
pub(crate) struct PostOutlet {
    socket: TcpStream,
    state: Mutex<State>,
    pub(crate) stream: Arc<EventStream>,
    /// Headers of every answer (the session id).
    headers: Vec<(String, String)>,
    /// The session's own stream, for what a JSON answer cannot carry.
    common: Arc<dyn Outlet>,
    /// Modern era: errors have HTTP statuses; whether the request's `_meta` was complete.
    modern: Option<bool>,
}

impl PostOutlet {
    pub(crate) fn new(
        socket: TcpStream,
        shape: Answer,
        stream: Arc<EventStream>,
        headers: Vec<(String, String)>,
        common: Arc<dyn Outlet>,
        modern: Option<bool>,
    ) -> Self {
        Self {
            socket,
            state: Mutex::new(State { phase: Phase::Fresh, shape }),
            stream,
            headers,
            common,
            modern,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        lock(&self.state).phase
    }

    /// Begins the event stream before there is a message, so that a client can take it up if it is lost.
    pub(crate) fn open(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.phase == Phase::Fresh { self.begin(&mut state) } else { Ok(()) }
    }

    fn status(&self, message: Body<'_>) -> u16 {
        let (Some(meta_complete), Body::Whole(message)) = (self.modern, message) else { return 200 };
        let code = raw::path(message, &["error", "code"]).and_then(|code| std::str::from_utf8(code).ok());
        match code {
            Some("-32601") => 404,
            Some("-32020" | "-32021" | "-32022") => 400,
            Some("-32602") if !meta_complete => 400,
            _ => 200,
        }
    }

    fn json(&self, shape: &Answer, body: Body<'_>, cut: &Chunking) -> io::Result<()> {
        let status = self.status(body);
        let spread_body = match body {
            Body::Whole(bytes) if shape.multiline => Some(spread(bytes)),
            _ => None,
        };
        let body = spread_body.as_deref().map_or(body, Body::Whole);
        let coded = if shape.gzip { Some(gzip(body)?) } else { None };
        let body = coded.as_deref().map_or(body, Body::Whole);
        let kind = shape.content_type.clone().unwrap_or_else(|| "application/json".into());
        let mut headers =
            vec![("Content-Type".to_owned(), kind), ("Content-Length".to_owned(), body.len().to_string())];
        if shape.gzip {
            headers.push(("Content-Encoding".into(), "gzip".into()));
        }
        headers.extend(self.headers.iter().cloned());
        headers.extend(shape.headers.iter().cloned());
        let mut socket = self.socket.try_clone()?;
        socket.write_all(&http1::head(status, &headers))?;
        body.write(&mut CutWriter::new(socket, cut))
    }

    fn begin(&self, state: &mut State) -> io::Result<()> {
        self.stream.reshape(&state.shape);
        state.phase = Phase::Streaming;
        let shape = &state.shape;
        std::thread::sleep(Duration::from_millis(shape.delay_headers_ms));
        self.stream.attach(self.socket.try_clone()?, &self.headers, None).map(drop)
    }
}

impl Outlet for PostOutlet {
    fn message(&self, body: Body<'_>, last: bool, cut: &Chunking) -> io::Result<()> {
        let mut state = lock(&self.state);
        let format = state.shape.format;
        if !last && format == Format::Json && state.phase == Phase::Fresh {
            return self.common.message(body, false, cut);
        }
        if state.phase == Phase::Fresh && last && format != Format::Sse {
            state.phase = Phase::Done;
            let shape = state.shape.clone();
            drop(state);
            std::thread::sleep(Duration::from_millis(shape.delay_headers_ms));
            return self.json(&shape, body, cut);
        }
        if state.phase == Phase::Fresh {
            self.begin(&mut state)?;
        }
        if last && state.phase == Phase::Streaming {
            state.phase = Phase::Done;
        }
        drop(state);
        self.stream.event(Some(body), cut)?;
        if last { self.stream.finish() } else { Ok(()) }
    }

    fn bytes(&self, bytes: Body<'_>, cut: &Chunking) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.phase == Phase::Fresh {
            self.begin(&mut state)?;
        }
        drop(state);
        self.stream.bytes(bytes, cut)
    }

    fn shape(&self, answer: &Answer) {
        lock(&self.state).shape = answer.clone();
    }

    fn reply(&self, reply: &Reply) -> io::Result<()> {
        lock(&self.state).phase = Phase::Done;
        let mut socket = self.socket.try_clone()?;
        let origin = format!("http://{}", socket.local_addr()?);
        let headers: Vec<(String, String)> = reply
            .headers
            .iter()
            .map(|(key, value)| (key.clone(), value.replace("${origin}", &origin)))
            .collect();
        let body = reply.body.as_ref().map_or(&b""[..], |body| &body.0);
        http1::answer(&mut socket, reply.status, &headers, body)
    }

    fn connection(&self, bytes: &[u8], cut: &Chunking) -> io::Result<()> {
        lock(&self.state).phase = Phase::Closed;
        let done = CutWriter::new(self.socket.try_clone()?, cut).write_all(bytes);
        http1::close(&self.socket);
        done
    }

    fn close(&self) {
        lock(&self.state).phase = Phase::Closed;
        http1::close(&self.socket);
    }

    fn cut(&self, properly: bool) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.phase == Phase::Fresh {
            self.begin(&mut state)?;
        }
        state.phase = if properly { Phase::Done } else { Phase::Closed };
        drop(state);
        self.stream.cut(properly)
    }

    fn gone(&self) -> bool {
        self.phase() == Phase::Closed || http1::is_gone(&self.socket)
    }
}
