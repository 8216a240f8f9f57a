//! One message being handled: taking the steps of a rule in order.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::raw;
use crate::serve::engine::{Engine, Session};
use crate::serve::outlet::{Body, Outlet};
use crate::step::{Chunking, Step};
use crate::sync::lock;
use crate::text::Text;

/// Milliseconds between two looks at whether the client of a waiting request is gone.
const LOOK_MS: u64 = 20;

/// A message, where its answer goes, and what earlier steps have left.
pub(crate) struct Call<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) line: &'a [u8],
    pub(crate) id: &'a [u8],
    pub(crate) modern: bool,
    pub(crate) outlet: Arc<dyn Outlet>,
    cut: Chunking,
    reply: Vec<u8>,
    reply_line: Vec<u8>,
}

/// Whether the next step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Next,
    Stop,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        engine: &'a Arc<Engine>,
        session: &'a Arc<Session>,
        line: &'a [u8],
        id: &'a [u8],
        modern: bool,
        outlet: Arc<dyn Outlet>,
    ) -> Self {
        Self {
            engine,
            session,
            line,
            id,
            modern,
            outlet,
            cut: Chunking::default(),
            reply: b"null".to_vec(),
            reply_line: b"null".to_vec(),
        }
    }

    /// Takes the steps until one ends the rule or the other side is gone.
    pub(crate) fn run(mut self, steps: &[Step]) {
        for step in steps {
            match self.step(step) {
                Ok(Then::Next) => {}
                Ok(Then::Stop) | Err(_) => return,
            }
        }
    }

    /// The raw value of an argument of the tool call.
    pub(crate) fn argument(&self, name: &str) -> Option<&'a [u8]> {
        raw::path(self.line, &["params", "arguments", name])
    }

    /// The call's own progress token, raw.
    pub(crate) fn token(&self) -> Option<&'a [u8]> {
        raw::path(self.line, &["params", "_meta", "progressToken"])
    }

    /// The text with this call's placeholders filled in.
    fn fill(&self, text: &Text) -> Vec<u8> {
        let line_text = raw::quote(self.line);
        let arguments = raw::path(self.line, &["params", "arguments"]).unwrap_or(b"null");
        let arguments_text = raw::quote(arguments);
        text.fill(&[
            ("id", self.id),
            ("token", self.token().unwrap_or(b"null")),
            ("line", self.line),
            ("line_text", line_text.as_bytes()),
            ("arguments", arguments),
            ("arguments_text", arguments_text.as_bytes()),
            ("reply", &self.reply),
            ("reply_line", &self.reply_line),
            ("responses", raw::path(self.line, &["params", "inputResponses"]).unwrap_or(b"null")),
            ("session", self.session.id.as_bytes()),
        ])
    }

    pub(crate) fn send(&self, message: &[u8], last: bool) -> io::Result<()> {
        self.outlet.message(Body::Whole(message), last, &self.cut)
    }

    /// Answers with a member (`result` or `error`) and its raw value.
    fn answer(&self, member: &str, value: &[u8]) -> io::Result<()> {
        let head = [b"{\"jsonrpc\":\"2.0\",\"id\":", self.id, b",\"", member.as_bytes(), b"\":"].concat();
        self.send(&[&head[..], value, b"}"].concat(), true)
    }

    /// Answers with a raw result, as it stands.
    pub(crate) fn result(&self, value: &[u8]) {
        // Failing to write means that the host is gone; there is nobody to tell.
        let _ = self.answer("result", value);
    }

    /// Answers with a raw error, as it stands.
    pub(crate) fn error(&self, value: &[u8]) {
        let _ = self.answer("error", value);
    }

    /// Answers a tool call with `size` letters, made while they are written.
    pub(crate) fn sized(&self, size: u64) -> io::Result<()> {
        let kind = if self.modern { "\"resultType\":\"complete\"," } else { "" };
        let head = [
            b"{\"jsonrpc\":\"2.0\",\"id\":",
            self.id,
            b",\"result\":{",
            kind.as_bytes(),
            b"\"content\":[{\"type\":\"text\",\"text\":\"",
        ]
        .concat();
        self.outlet.message(Body::Filled { head: &head, fill: size, tail: b"\"}]}}" }, true, &self.cut)
    }

    /// Progress 1 to n with the call's token; nothing without one.
    pub(crate) fn progress(&self, n: u64) -> io::Result<()> {
        let Some(token) = self.token() else { return Ok(()) };
        for step in 1..=n {
            let rest = format!(",\"progress\":{step},\"total\":{n}}}}}");
            let head =
                b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":";
            self.send(&[&head[..], token, rest.as_bytes()].concat(), false)?;
        }
        Ok(())
    }

    /// Asks the host and keeps the reply. The answer is the raw result or error, and the whole line.
    pub(crate) fn ask(
        &mut self,
        method: &[u8],
        params: Option<&[u8]>,
        id: Option<Vec<u8>>,
        budget_ms: u64,
    ) -> io::Result<()> {
        let budget = Duration::from_millis(budget_ms);
        let line = self.session.ask(&*self.outlet, method, params, id, budget, &self.cut)?;
        match line {
            Some(line) => {
                let value = raw::get(&line, "result").or_else(|| raw::get(&line, "error"));
                self.reply = value.unwrap_or(b"null").to_vec();
                self.reply_line = line;
            }
            None => {
                self.reply = b"\"no reply\"".to_vec();
                self.reply_line = b"\"no reply\"".to_vec();
            }
        }
        Ok(())
    }

    /// The whole reply of the last `ask`.
    pub(crate) fn reply_line(&self) -> &[u8] {
        &self.reply_line
    }

    /// Modern: answers `input_required` on the first call; on the retry checks the state and goes on.
    pub(crate) fn input_required(&self, requests: &[u8], state: Option<&str>) -> Then {
        let state_text = state.map(|text| raw::quote(text.as_bytes()));
        if raw::path(self.line, &["params", "inputResponses"]).is_none() {
            let state = state_text.map_or(String::new(), |text| format!(",\"requestState\":{text}"));
            let head = b"{\"resultType\":\"input_required\",\"inputRequests\":";
            self.result(&[&head[..], requests, state.as_bytes(), b"}"].concat());
            return Then::Stop;
        }
        let came = raw::path(self.line, &["params", "requestState"]);
        if came != state_text.as_deref().map(str::as_bytes) {
            let came = raw::quote(came.unwrap_or(b"nothing"));
            self.error(
                format!(
                    "{{\"code\":-32602,\"message\":\"requestState did not come back unchanged\",\"data\":{came}}}"
                )
                .as_bytes(),
            );
            return Then::Stop;
        }
        Then::Next
    }

    fn step(&mut self, step: &Step) -> io::Result<Then> {
        match step {
            Step::SleepMs(ms) => self.pause(*ms)?,
            Step::WaitFor { method, count, timeout_ms } => {
                if !self.engine.wait_for(method, *count, Duration::from_millis(*timeout_ms)) {
                    let what = raw::quote(format!("waited in vain for {count} of {method}").as_bytes());
                    self.error(format!("{{\"code\":-32603,\"message\":{what}}}").as_bytes());
                    return Ok(Then::Stop);
                }
            }
            Step::Default => crate::serve::defaults::handle(self),
            Step::Result(text) => self.answer("result", &self.fill(text))?,
            Step::Error(text) => self.answer("error", &self.fill(text))?,
            Step::Answer(text) => self.send(&self.fill(text), true)?,
            Step::Message(text) => self.send(&self.fill(text), false)?,
            Step::Bytes(text) => self.outlet.bytes(Body::Whole(&self.fill(text)), &self.cut)?,
            Step::Fill(n) => {
                self.outlet.bytes(Body::Filled { head: b"", fill: *n, tail: b"" }, &self.cut)?;
            }
            Step::Size(n) => self.sized(*n)?,
            Step::Chunk(cut) => self.cut = cut.clone(),
            Step::Progress(n) => self.progress(*n)?,
            Step::Notify { method, params } => {
                let method = raw::quote(method.as_bytes());
                let mut line = format!("{{\"jsonrpc\":\"2.0\",\"method\":{method}").into_bytes();
                if let Some(params) = params {
                    line.extend_from_slice(b",\"params\":");
                    line.extend_from_slice(&self.fill(params));
                }
                line.push(b'}');
                self.send(&line, false)?;
            }
            Step::Changed(what) => self.changed(what),
            Step::AddTool(tool) => {
                let tool = self.fill(tool);
                lock(&self.engine.state).tools.push(tool);
            }
            Step::RemoveTool(name) => lock(&self.engine.state)
                .tools
                .retain(|tool| raw::get(tool, "name").and_then(raw::string).as_deref() != Some(name)),
            Step::Ask { method, params, id, timeout_ms } => {
                let method = raw::quote(method.as_bytes());
                let params = params.as_ref().map(|params| self.fill(params));
                let id = id.as_ref().map(|id| id.0.clone());
                self.ask(method.as_bytes(), params.as_deref(), id, *timeout_ms)?;
            }
            Step::InputRequired { requests, state } => {
                return Ok(self.input_required(&self.fill(requests), state.as_deref()));
            }
            Step::Stderr(text) => self.engine.process.stderr(text.as_bytes())?,
            Step::StderrFill { bytes, line } => self.stderr_fill(*bytes, *line)?,
            Step::Exit(code) => {
                self.engine.process.exit(*code);
                return Ok(Then::Stop);
            }
            Step::Signal(name) => {
                self.engine.process.signal(name);
                return Ok(Then::Stop);
            }
            Step::Ignore(what) => self.engine.process.ignore(what),
            Step::Grandchild { seconds, stubborn, own_group } => {
                self.engine.process.grandchild(*seconds, *stubborn, *own_group)?;
            }
            Step::CloseStdout | Step::Drop => self.outlet.close(),
            Step::Shape(answer) => self.outlet.shape(answer),
            Step::Http(reply) => self.outlet.reply(reply)?,
            Step::Connection(text) => self.outlet.connection(&self.fill(text), &self.cut)?,
            Step::Cut(properly) => self.outlet.cut(*properly)?,
            Step::Forget => crate::serve::http_server::forget(self.session),
            Step::Hang => self.hang(),
        }
        Ok(Then::Next)
    }

    /// Waits so long. In the modern era a client that closes has cancelled: then this is an error.
    pub(crate) fn pause(&self, ms: u64) -> io::Result<()> {
        let until = Instant::now() + Duration::from_millis(ms);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.modern && self.outlet.gone() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            std::thread::sleep(left.min(Duration::from_millis(LOOK_MS)));
        }
    }

    fn hang(&self) {
        while !self.outlet.gone() {
            std::thread::sleep(Duration::from_millis(LOOK_MS));
        }
    }

    fn stderr_fill(&self, bytes: u64, line: usize) -> io::Result<()> {
        let mut block = Vec::new();
        if line > 0 {
            let mut one = vec![b'e'; line - 1];
            one.push(b'\n');
            while block.len() < 64 * 1024 {
                block.extend_from_slice(&one);
            }
        } else {
            block.resize(64 * 1024, b'e');
        }
        let mut left = bytes;
        while left > 0 {
            let n = left.min(block.len() as u64) as usize;
            self.engine.process.stderr(&block[..n])?;
            left -= n as u64;
        }
        Ok(())
    }

    /// Tells every session (legacy) and every listener that wants it (modern) that a list has changed.
    pub(crate) fn changed(&self, what: &str) {
        let method = format!("notifications/{what}/list_changed");
        if self.engine.script.era.legacy() && !self.modern {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}");
            for session in self.engine.sessions() {
                // A session whose stream is gone misses it, as with any server.
                let _ = session.common.message(Body::Whole(line.as_bytes()), false, &self.cut);
            }
        }
        let key = format!("{what}ListChanged");
        let listens: Vec<(Vec<u8>, Arc<dyn Outlet>)> = lock(&self.engine.state)
            .listens
            .iter()
            .filter(|listen| raw::get(&listen.filter, &key) == Some(b"true"))
            .map(|listen| (listen.id.clone(), listen.outlet.clone()))
            .collect();
        for (id, outlet) in listens {
            let head = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"_meta\":{{\
                 \"io.modelcontextprotocol/subscriptionId\":"
            );
            let line = [head.as_bytes(), &id, b"}}}"].concat();
            let _ = outlet.message(Body::Whole(&line), false, &self.cut);
        }
    }
}
