//! The host's side of the session, as small as a real one would allow.

use crate::out::safe;
use crate::trial::{NoLine, Process};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is spoken. Servers that speak less say so.
const PROTOCOL: &str = "2025-11-25";
/// How long a request may take.
const REQUEST: Duration = Duration::from_secs(60);
/// Messages that may come before the answer to a request.
const BETWEEN: usize = 10_000;
const METHOD_NOT_FOUND: i64 = -32601;

/// A session.
pub(super) struct Client {
    process: Process,
    id: u64,
}

/// An answer: result or error.
pub(super) type Response = Result<Value, Value>;

/// Lines of stderr that are repeated when something went wrong.
const LAST_WORDS: usize = 2;

impl Client {
    /// Starts the server and shakes hands.
    pub(super) fn open(command: Command, budget: Duration) -> Result<Self, String> {
        let process = Process::open(command).map_err(|e| e.to_string())?;
        let mut client = Self { process, id: 0 };
        let params = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": { "name": "bir-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        let greeted = client.within("initialize", params, budget);
        match greeted {
            Ok(Ok(_)) => {
                client.notify("notifications/initialized");
                Ok(client)
            }
            Ok(Err(error)) => {
                client.close();
                Err(safe::line(error["message"].as_str().unwrap_or("it refuses")).into_owned())
            }
            Err(why) => {
                let ended = client.process.leave();
                // Its last words say more than that it ended.
                let last = ended.stderr.iter().rev().find(|line| !line.trim().is_empty());
                Err(last.map_or(why.clone(), |line| format!("{why}: {}", safe::line(line.trim()))))
            }
        }
    }

    pub(super) fn request(&mut self, method: &'static str, params: Value) -> Result<Response, String> {
        self.within(method, params, REQUEST)
    }

    /// Ends the session as a host does: by closing the server's input. The last words on stderr: the recorder's cause, and
    /// what it cost.
    pub(super) fn close(self) -> Option<String> {
        let ended = self.process.leave();
        let mut last: Vec<_> = ended
            .stderr
            .iter()
            .rev()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .take(LAST_WORDS)
            .collect();
        last.reverse();
        (!last.is_empty()).then(|| safe::line(&last.join("; ")).into_owned())
    }

    fn notify(&mut self, method: &str) {
        self.process.send(&json!({ "jsonrpc": "2.0", "method": method }).to_string());
    }

    fn within(&mut self, method: &'static str, params: Value, budget: Duration) -> Result<Response, String> {
        self.id += 1;
        let id = self.id;
        self.process
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let until = Instant::now() + budget;
        for _ in 0..BETWEEN {
            let line = self.process.line(until).map_err(|e| match e {
                NoLine::Late => format!("it did not answer {method} within {} s", budget.as_secs()),
                NoLine::Closed => format!("it ended before it answered {method}"),
            })?;
            let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { continue };
            if let Some(answer) = answer(&message) {
                self.process.send(&answer.to_string());
                continue;
            }
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            let error = message.get("error").is_some_and(|error| !error.is_null());
            return Ok(if error { Err(message["error"].take()) } else { Ok(message["result"].take()) });
        }
        Err(format!("it says much and does not answer {method}"))
    }
}

/// The answer to a request of the server; None: it is none.
fn answer(message: &Value) -> Option<Value> {
    let method = message["method"].as_str()?;
    let id = message.get("id")?;
    Some(if method == "ping" {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} })
    } else {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": "not offered by this client" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    })
}
