//! The modern era through the pipe: clients share a child, so ids and progress tokens are rewritten.
//!
//! ```text
//!   POST id "a"  ─▶ id 1 ─▶ child ─▶ id 1 ─▶ "a"        the same for params._meta.progressToken and
//!   POST id "a"  ─▶ id 2 ─▶ child ─▶ id 2 ─▶ "a"        _meta["io.modelcontextprotocol/subscriptionId"]
//!   client closes ─▶ notifications/cancelled with the child's id
//! ```
//!
//! The restored id is the client's own text, byte for byte.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::child::Child;
use super::guard::Refusal;
use super::params::{self, Declared};
use super::{Next, Waited, one_line, wait_for_answer};
use crate::http1::{self, Request};
use crate::raw::{self, Kind};
use crate::script::Answer;
use crate::serve::event_stream::EventStream;
use crate::serve::headers;
use crate::serve::outlet::{Body, Nowhere, Outlet};
use crate::serve::post_outlet::PostOutlet;
use crate::step::Chunking;
use crate::sync::lock;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Budget for the pipe's own `tools/list`.
const LIST_BUDGET: Duration = Duration::from_secs(10);

/// Most pages of the pipe's own `tools/list`.
const MOST_PAGES: usize = 20;

enum Waiting {
    Client {
        id: Vec<u8>,
        token: Option<Vec<u8>>,
        listens: bool,
        outlet: Arc<PostOutlet>,
    },
    /// A request of the pipe itself.
    Own(Sender<Vec<u8>>),
}

struct Shared {
    child: Child,
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Waiting>>,
    tools: Mutex<HashMap<String, Vec<Declared>>>,
    dead: AtomicBool,
}

/// The message with the span of `value` (a slice of it) replaced.
fn splice(message: &[u8], value: &[u8], by: &[u8]) -> Vec<u8> {
    let at = value.as_ptr() as usize - message.as_ptr() as usize;
    [&message[..at], by, &message[at + value.len()..]].concat()
}

fn number(value: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(value?).ok()?.parse().ok()
}

/// Where a message of the child names one of our numbers, by kind.
fn named(line: &[u8]) -> Option<&[u8]> {
    match raw::method(line).as_str() {
        "notifications/progress" => raw::path(line, &["params", "progressToken"]),
        "notifications/cancelled" => raw::path(line, &["params", "requestId"]),
        _ => raw::path(line, &["params", "_meta", SUBSCRIPTION]),
    }
}

impl Shared {
    fn route(&self, line: &[u8]) {
        let cut = Chunking::default();
        // Errors of writing are a client that left; its thread sees that and cancels.
        let _ = match raw::kind(line) {
            Kind::Response(value) => {
                let waiting = number(Some(value)).and_then(|n| lock(&self.calls).remove(&n));
                match waiting {
                    Some(Waiting::Own(sender)) => {
                        let _ = sender.send(line.to_vec());
                        Ok(())
                    }
                    Some(Waiting::Client { id, outlet, .. }) => {
                        let mut restored = splice(line, value, &id);
                        // The result of a subscription may name it as well.
                        if let Some(named) = raw::path(&restored, &["result", "_meta", SUBSCRIPTION]) {
                            restored = splice(&restored, named, &id);
                        }
                        outlet.message(Body::Whole(&restored), true, &cut)
                    }
                    None => Ok(()),
                }
            }
            Kind::Notification => self.notification(line, &cut),
            Kind::Request(_) | Kind::Other => {
                eprintln!(
                    "bir-test-pipe: dropped a message that this era does not have: {}",
                    String::from_utf8_lossy(line)
                );
                Ok(())
            }
        };
    }

    fn notification(&self, line: &[u8], cut: &Chunking) -> io::Result<()> {
        let calls = lock(&self.calls);
        if let Some(value) = named(line) {
            let Some(n) = number(Some(value)) else { return Ok(()) };
            let Some(Waiting::Client { id, token, outlet, .. }) = calls.get(&n) else { return Ok(()) };
            let progress = raw::method(line) == "notifications/progress";
            let own = if progress { token.as_deref().unwrap_or(id) } else { id };
            let (restored, outlet) = (splice(line, value, own), outlet.clone());
            drop(calls);
            return outlet.message(Body::Whole(&restored), false, cut);
        }
        let mut running = calls.values().filter_map(|waiting| match waiting {
            Waiting::Client { outlet, listens: false, .. } => Some(outlet.clone()),
            _ => None,
        });
        match (running.next(), running.next()) {
            (Some(outlet), None) => {
                drop(running);
                drop(calls);
                outlet.message(Body::Whole(line), false, cut)
            }
            _ => {
                eprintln!(
                    "bir-test-pipe: dropped, belongs to no single call: {}",
                    String::from_utf8_lossy(line)
                );
                Ok(())
            }
        }
    }

    fn hang_up(&self) {
        self.dead.store(true, SeqCst);
        for (_, waiting) in lock(&self.calls).drain() {
            if let Waiting::Client { outlet, .. } = waiting {
                outlet.close();
            }
        }
    }

    /// What the tool wants to see in headers; asks the child for its tools when it is not known yet.
    fn declared(&self, tool: &str, meta: &[u8]) -> Vec<Declared> {
        if let Some(known) = lock(&self.tools).get(tool) {
            return known.clone();
        }
        let mut cursor = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(page) = self.list(meta, &cursor) else { break };
            let mut tools = lock(&self.tools);
            for definition in raw::path(&page, &["result", "tools"]).map(raw::elements).unwrap_or_default() {
                let name = raw::get(definition, "name").and_then(raw::string).unwrap_or_default();
                let schema = raw::get(definition, "inputSchema").unwrap_or(b"{}");
                tools.insert(name, params::declared(schema));
            }
            drop(tools);
            match raw::path(&page, &["result", "nextCursor"]) {
                Some(next) => cursor = [b",\"cursor\":", next].concat(),
                None => break,
            }
        }
        lock(&self.tools).get(tool).cloned().unwrap_or_default()
    }

    fn list(&self, meta: &[u8], cursor: &[u8]) -> Option<Vec<u8>> {
        let n = self.next.fetch_add(1, SeqCst);
        let (sender, answer) = channel();
        lock(&self.calls).insert(n, Waiting::Own(sender));
        let head =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"tools/list\",\"params\":{{\"_meta\":");
        self.child.write(&[head.as_bytes(), meta, cursor, b"}}"].concat()).ok()?;
        answer.recv_timeout(LIST_BUDGET).ok()
    }
}

/// The children, one for each value of `Authorization` and each revision.
pub(super) struct Children {
    command: Vec<String>,
    known: Mutex<HashMap<String, Arc<Shared>>>,
}

impl Children {
    pub(super) fn new(command: Vec<String>) -> Self {
        Self { command, known: Mutex::default() }
    }

    pub(super) fn end_all(&self) {
        for (_, shared) in lock(&self.known).drain() {
            shared.child.end();
        }
    }

    fn child(&self, request: &Request, version: &str) -> io::Result<Arc<Shared>> {
        // A server settles on its era with the first request that it understands, and some stop looking at
        // the revision then. One that it has to refuse goes to a child that has not settled.
        let key = format!("{version} {}", request.header("authorization").unwrap_or_default());
        let mut known = lock(&self.known);
        if let Some(shared) = known.get(&key).filter(|shared| !shared.dead.load(SeqCst)) {
            return Ok(shared.clone());
        }
        let (child, lines) = Child::start(&self.command)?;
        let shared = Arc::new(Shared {
            child,
            next: AtomicU64::new(1),
            calls: Mutex::default(),
            tools: Mutex::default(),
            dead: AtomicBool::new(false),
        });
        known.insert(key, shared.clone());
        let routed: Weak<Shared> = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            lines.each(|line| {
                if let Some(shared) = routed.upgrade() {
                    shared.route(&line);
                }
            });
            if let Some(shared) = routed.upgrade() {
                shared.hang_up();
            }
        });
        Ok(shared)
    }

    pub(super) fn post(&self, request: &Request, socket: &mut TcpStream) -> Next {
        let line = one_line(&request.body);
        let Kind::Request(id) = raw::kind(&line) else {
            // The client cancels by closing, so a notification never names a request of another.
            if raw::method(&line) != "notifications/cancelled" && raw::kind(&line) == Kind::Notification {
                self.child(request, super::MODERN)?.child.write(&line)?;
            }
            http1::answer(socket, 202, &[] as &[(&str, &str)], b"")?;
            return Ok(true);
        };
        if !headers::meta_complete(&line) {
            return Refusal::new(400, -32602, "Missing required _meta keys").answer(socket, id);
        }
        let version =
            raw::path(&line, &["params", "_meta", crate::serve::engine::META_VERSION]).and_then(raw::string);
        let version = version.unwrap_or_default();
        let known = version == super::MODERN;
        // A revision that the child does not serve is for the child to refuse, with its list; but a header that
        // contradicts the body comes first.
        let says = request.header("mcp-protocol-version");
        let problem = match known {
            true => headers::mismatch(request),
            false => says.filter(|says| *says != version).map(|says| {
                format!("Header mismatch: MCP-Protocol-Version is '{says}', the body says '{version}'")
            }),
        };
        if let Some(problem) = problem {
            return Refusal::new(400, -32020, &problem).answer(socket, id);
        }
        let shared = self.child(request, &version)?;
        if raw::method(&line) == "tools/call" && known {
            let tool = raw::path(&line, &["params", "name"]).and_then(raw::string).unwrap_or_default();
            let meta = raw::path(&line, &["params", "_meta"]).unwrap_or(b"{}");
            if let Some(problem) = params::mismatch(&shared.declared(&tool, meta), request) {
                return Refusal::new(400, -32020, &problem).answer(socket, id);
            }
        }
        self.call(&shared, &line, id, socket)
    }

    fn call(&self, shared: &Arc<Shared>, line: &[u8], id: &[u8], socket: &mut TcpStream) -> Next {
        let n = shared.next.fetch_add(1, SeqCst);
        let ours = n.to_string();
        let shape =
            Answer { headers: vec![("X-Accel-Buffering".to_owned(), "no".to_owned())], ..Answer::default() };
        let stream = Arc::new(EventStream::new(0, shape.clone()));
        let outlet =
            PostOutlet::new(socket.try_clone()?, shape, stream, vec![], Arc::new(Nowhere), Some(true));
        let outlet = Arc::new(outlet);
        let mut rewritten = line.to_vec();
        let mut token = None;
        if let Some(value) = raw::path(line, &["params", "_meta", "progressToken"]) {
            token = Some(value.to_vec());
            rewritten = splice(line, value, ours.as_bytes());
        }
        // The id is found again in the text that was just changed.
        if let Some(value) = raw::get(&rewritten, "id") {
            rewritten = splice(&rewritten, value, ours.as_bytes());
        }
        let listens = raw::method(line) == "subscriptions/listen";
        let waiting = Waiting::Client { id: id.to_vec(), token, listens, outlet: outlet.clone() };
        lock(&shared.calls).insert(n, waiting);
        if shared.child.write(&rewritten).is_err() {
            lock(&shared.calls).remove(&n);
            return Refusal::new(502, -32603, "The server has ended").answer(socket, id);
        }
        if wait_for_answer(&outlet, socket, None) == Waited::Left {
            lock(&shared.calls).remove(&n);
            let cancel = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{n},\
                 \"reason\":\"The client closed the stream\"}}}}"
            );
            shared.child.write(cancel.as_bytes())?;
            return Ok(false);
        }
        Ok(!http1::is_gone(socket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_changes_the_span_alone() {
        let line = br#"{"a":1, "id" : "1" ,"b":"1"}"#;
        assert_eq!(splice(line, raw::get(line, "id").unwrap(), b"77"), br#"{"a":1, "id" : 77 ,"b":"1"}"#);
    }

    #[test]
    fn names_of_calls_are_found_by_kind() {
        let progress = br#"{"method":"notifications/progress","params":{"progressToken":5}}"#;
        assert_eq!(number(named(progress)), Some(5));
        let changed = br#"{"method":"x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":6}}}"#;
        assert_eq!(number(named(changed)), Some(6));
        assert_eq!(named(br#"{"method":"notifications/message","params":{}}"#), None);
    }
}
