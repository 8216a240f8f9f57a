//! The engine: one message in, what the script or the default says out. It knows no transport.
//!
//! ```text
//!   transport ── line, outlet ──▶ Engine::receive ──▶ rule's steps, or the default ──▶ outlet
//!                                   │ replies of the host wake the call that asked
//!                                   └ counts, notifications seen, tools: one state for the process
//! ```
//!
//! Requests are answered in the order they came, on the thread that read them, unless their steps can
//! wait (`sleep`, `ask`, …): those run beside it. So answers of one session come in a repeatable order.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use crate::log::{Log, exact};
use crate::raw::{self, Kind};
use crate::script::{Moment, On, Script};
use crate::serve::call::Call;
use crate::serve::outlet::{Body, Outlet};
use crate::serve::process::Process;
use crate::serve::tasks::Tasks;
use crate::step::{Chunking, Step};
use crate::sync::{lock, wait_until};

/// The modern revision.
pub(crate) const MODERN: &str = "2026-07-28";

/// Key of the revision in a modern request's `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A listener of `subscriptions/listen`.
pub(crate) struct Listen {
    pub(crate) id: Vec<u8>,
    pub(crate) filter: Vec<u8>,
    pub(crate) outlet: Arc<dyn Outlet>,
}

#[derive(Default)]
pub(crate) struct State {
    messages: usize,
    /// Calls on threads of their own.
    running: usize,
    methods: HashMap<String, usize>,
    hits: Vec<usize>,
    pub(crate) tools: Vec<Vec<u8>>,
    pub(crate) listens: Vec<Listen>,
    sessions: Vec<Weak<Session>>,
}

/// One connection of a host (stdio), or one session (HTTP).
pub(crate) struct Session {
    pub(crate) id: String,
    /// Where messages go that belong to no request.
    pub(crate) common: Arc<dyn Outlet>,
    pub(crate) inner: Mutex<SessionState>,
    pub(crate) tasks: Tasks,
    /// Over HTTP: its id is not known any more.
    pub(crate) forgotten: AtomicBool,
}

#[derive(Default)]
pub(crate) struct SessionState {
    pub(crate) seen: Vec<Vec<u8>>,
    pending: HashMap<Vec<u8>, Sender<Vec<u8>>>,
    asks: u64,
    pub(crate) requests: usize,
}

impl Session {
    pub(crate) fn new(id: &str, common: Arc<dyn Outlet>) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            common,
            inner: Mutex::default(),
            tasks: Tasks::default(),
            forgotten: AtomicBool::new(false),
        })
    }

    /// Sends a request to the host and waits for its whole reply.
    pub(crate) fn ask(
        &self,
        outlet: &dyn Outlet,
        method: &[u8],
        params: Option<&[u8]>,
        id: Option<Vec<u8>>,
        budget: Duration,
        cut: &Chunking,
    ) -> io::Result<Option<Vec<u8>>> {
        let (sender, reply) = channel();
        let id = {
            let mut inner = lock(&self.inner);
            inner.asks += 1;
            let id = id.unwrap_or_else(|| format!("\"ask-{}\"", inner.asks).into_bytes());
            inner.pending.insert(id.clone(), sender);
            id
        };
        let mut line = [b"{\"jsonrpc\":\"2.0\",\"id\":", &id[..], b",\"method\":", method].concat();
        if let Some(params) = params {
            line.extend_from_slice(b",\"params\":");
            line.extend_from_slice(params);
        }
        line.push(b'}');
        outlet.message(Body::Whole(&line), false, cut)?;
        Ok(reply.recv_timeout(budget).ok())
    }
}

/// What a test upstream does with messages.
pub(crate) struct Engine {
    pub(crate) script: Script,
    pub(crate) log: Log,
    pub(crate) process: Arc<dyn Process>,
    pub(crate) state: Mutex<State>,
    changed: Condvar,
}

impl Engine {
    pub(crate) fn new(script: Script, log: Log, process: Arc<dyn Process>) -> Arc<Self> {
        let hits = vec![0; script.rules.len()];
        let tools = script.server.tools.iter().map(|tool| tool.0.clone()).collect();
        let state = Mutex::new(State { hits, tools, ..State::default() });
        Arc::new(Self { script, log, process, state, changed: Condvar::new() })
    }

    /// Makes a session known, so that `changed` reaches it.
    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        let mut state = lock(&self.state);
        state.sessions.retain(|known| known.strong_count() > 0);
        state.sessions.push(Arc::downgrade(session));
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.state).sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// The steps of the first rule that matches, counting occurrences for every rule that could.
    fn rule(&self, matches: impl Fn(&On) -> bool) -> Option<&[Step]> {
        let mut state = lock(&self.state);
        let mut found = None;
        for (rule, hits) in self.script.rules.iter().zip(&mut state.hits) {
            if !matches(&rule.on) {
                continue;
            }
            *hits += 1;
            let fits = rule.on.nth.is_none_or(|nth| nth == *hits)
                && rule.on.times.is_none_or(|times| *hits <= times);
            if fits && found.is_none() {
                found = Some(&rule.steps[..]);
            }
        }
        found
    }

    fn message_rule(&self, method: &str, tool: Option<&str>) -> Option<&[Step]> {
        self.rule(|on| {
            let by_method = on.method.as_deref().is_none_or(|wanted| wanted == method || wanted == "*");
            let by_tool = on.tool.as_deref().is_none_or(|wanted| tool == Some(wanted));
            let stands = on.method.is_some() || on.tool.is_some();
            stands && by_method && by_tool && on.message.is_none() && on.event.is_none() && on.http.is_none()
        })
    }

    /// The steps for an HTTP request.
    pub(crate) fn http_rule(&self, method: &str) -> Option<&[Step]> {
        self.rule(|on| on.http.as_deref().is_some_and(|wanted| wanted == method || wanted == "*"))
    }

    /// Takes the steps of a moment.
    pub(crate) fn moment(self: &Arc<Self>, moment: Moment, session: &Arc<Session>) {
        if let Some(steps) = self.rule(|on| on.event == Some(moment)) {
            self.call(session, b"", b"null", false, session.common.clone()).run(steps);
        }
    }

    pub(crate) fn call<'a>(
        self: &'a Arc<Self>,
        session: &'a Arc<Session>,
        line: &'a [u8],
        id: &'a [u8],
        modern: bool,
        outlet: Arc<dyn Outlet>,
    ) -> Call<'a> {
        Call::new(self, session, line, id, modern, outlet)
    }

    /// Waits until `count` messages with this method have come.
    pub(crate) fn wait_for(&self, method: &str, count: usize, budget: Duration) -> bool {
        wait_until(&self.state, &self.changed, budget, |state| {
            state.methods.get(method).copied().unwrap_or(0) >= count
        })
    }

    /// Waits until no call runs beside.
    pub(crate) fn wait_idle(&self, budget: Duration) -> bool {
        wait_until(&self.state, &self.changed, budget, |state| state.running == 0)
    }

    /// Whether a message is of the modern era, for an upstream that knows it.
    pub(crate) fn is_modern(&self, line: &[u8]) -> bool {
        let era = self.script.era;
        era.modern() && (!era.legacy() || raw::path(line, &["params", "_meta", META_VERSION]).is_some())
    }

    /// Handles one message. `beside` lets calls that wait run on a thread of their own.
    pub(crate) fn receive(
        self: &Arc<Self>,
        session: &Arc<Session>,
        line: Vec<u8>,
        outlet: Arc<dyn Outlet>,
        beside: bool,
    ) {
        let mut fields = exact(&line);
        if !session.id.is_empty() {
            fields.push(("session", session.id.clone().into()));
        }
        self.log.put("line", fields);
        let method = raw::method(&line);
        let number = {
            let mut state = lock(&self.state);
            state.messages += 1;
            if !method.is_empty() {
                *state.methods.entry(method.clone()).or_default() += 1;
            }
            state.messages
        };
        self.changed.notify_all();
        if let Some(steps) = self.rule(|on| on.message == Some(number)) {
            self.call(session, &line, b"null", false, outlet.clone()).run(steps);
        }
        match raw::kind(&line) {
            Kind::Response(id) => {
                let waiting = lock(&session.inner).pending.remove(id);
                if let Some(waiting) = waiting {
                    // The call may have given up meanwhile.
                    let _ = waiting.send(line.clone());
                }
            }
            Kind::Notification => {
                lock(&session.inner).seen.push(line.clone());
                if let Some(steps) = self.message_rule(&method, None) {
                    self.run_beside(
                        session,
                        line.clone(),
                        b"null".to_vec(),
                        session.common.clone(),
                        steps,
                        beside,
                    );
                }
            }
            Kind::Request(id) => {
                let tool = (method == "tools/call")
                    .then(|| raw::path(&line, &["params", "name"]).and_then(raw::string))
                    .flatten();
                let id = id.to_vec();
                lock(&session.inner).requests += 1;
                match self.message_rule(&method, tool.as_deref()) {
                    Some(steps) => self.run_beside(session, line, id, outlet, steps, beside),
                    None => self.run_beside(session, line, id, outlet, &[Step::Default], beside),
                }
            }
            Kind::Other => {
                let valid = serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
                let error = match valid {
                    true => "{\"code\":-32600,\"message\":\"Invalid Request\"}",
                    false => "{\"code\":-32700,\"message\":\"Parse error\"}",
                };
                self.call(session, &line, b"null", false, outlet).error(error.as_bytes());
            }
        }
    }

    fn run_beside(
        self: &Arc<Self>,
        session: &Arc<Session>,
        line: Vec<u8>,
        id: Vec<u8>,
        outlet: Arc<dyn Outlet>,
        steps: &[Step],
        beside: bool,
    ) {
        let modern = self.is_modern(&line);
        let as_task = self.script.server.tasks
            && !modern
            && raw::method(&line) == "tools/call"
            && raw::path(&line, &["params", "task"]).is_some();
        if as_task {
            let outlet = session.tasks.begin(&self.call(session, &line, &id, false, outlet));
            let (engine, session, steps) = (self.clone(), session.clone(), steps.to_vec());
            std::thread::spawn(move || engine.call(&session, &line, &id, false, outlet).run(&steps));
            return;
        }
        let waits = steps.iter().any(Step::waits)
            || (steps.contains(&Step::Default) && crate::serve::defaults::default_waits(&line));
        if beside && waits {
            let (engine, session, steps) = (self.clone(), session.clone(), steps.to_vec());
            lock(&self.state).running += 1;
            std::thread::spawn(move || {
                engine.call(&session, &line, &id, modern, outlet).run(&steps);
                lock(&engine.state).running -= 1;
                engine.changed.notify_all();
            });
        } else {
            self.call(session, &line, &id, modern, outlet).run(steps);
        }
    }
}
