//! What the reference upstream answers, apart from the transport. It answers with raw text only, so that every byte of
//! an answer is known to the driver.

use bir_bench::locked;
use bir_bench::raw::{get, path, quote, string, text};
use signal_hook::consts::SIGTERM;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const VERSIONS: [&str; 4] = ["2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"];
const TOOLS: [&str; 12] = [
    "echo", "sized", "sleep", "notify", "reverse", "raw", "rawline", "drop", "emit", "seen", "crash",
    "stubborn",
];

/// How long a reverse request waits for the host.
const REVERSE: Duration = Duration::from_secs(10);

/// The status with which the upstream dies on command.
const CRASH: i32 = 3;

#[derive(Default)]
pub(crate) struct Core {
    /// Reverse requests under way, by raw id.
    pending: Mutex<HashMap<String, Sender<Vec<u8>>>>,
    /// Notifications from the host, raw.
    seen: Mutex<Vec<String>>,
    next: AtomicU64,
    /// Ignores SIGTERM and the end of stdin from now on (a child only).
    pub(crate) stubborn: AtomicBool,
    http: bool,
}

impl Core {
    pub(crate) fn new(http: bool) -> Self {
        Self { http, ..Self::default() }
    }
}

/// Where messages to the host go. `last` marks the response to the request at hand.
pub(crate) trait Sink: Send + Sync {
    fn send(&self, message: &[u8], last: bool);
}

fn tool_of(line: &[u8]) -> Option<String> {
    path(line, &["params", "name"]).and_then(string)
}

/// Does this call wait, so that it needs a thread of its own?
pub(crate) fn is_slow(line: &[u8]) -> bool {
    get(line, "method") == Some(b"\"tools/call\"")
        && matches!(tool_of(line).as_deref(), Some("sleep" | "reverse"))
}

/// Answers one request.
struct Reply<'a> {
    id: &'a [u8],
    out: &'a dyn Sink,
}

impl Reply<'_> {
    fn send(&self, kind: &str, body: &str) {
        let mut m = Vec::with_capacity(body.len() + 64);
        m.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        m.extend_from_slice(self.id);
        m.extend_from_slice(format!(",\"{kind}\":").as_bytes());
        m.extend_from_slice(body.as_bytes());
        m.push(b'}');
        self.out.send(&m, true);
    }

    fn result(&self, body: &str) {
        self.send("result", body);
    }

    fn text(&self, quoted: &str) {
        self.result(&format!("{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}"));
    }
}

pub(crate) fn handle(core: &Core, line: &[u8], out: &dyn Sink) {
    let id = get(line, "id");
    let Some(method) = get(line, "method").and_then(string) else {
        if let Some(waiting) = id.and_then(|i| locked(&core.pending).remove(&text(i))) {
            let _ = waiting.send(line.to_vec());
        }
        return;
    };
    let Some(id) = id else {
        locked(&core.seen).push(text(line));
        return;
    };
    let reply = Reply { id, out };
    match method.as_str() {
        "initialize" => initialize(line, &reply),
        "tools/list" => {
            let list = TOOLS.map(|t| {
                format!(
                    "{{\"name\":\"{t}\",\"description\":\"{t}\",\"inputSchema\":{{\"type\":\"object\",\
                     \"additionalProperties\":true}},\"x-extra\":1.0}}"
                )
            });
            reply.result(&format!("{{\"tools\":[{}]}}", list.join(",")));
        }
        "tools/call" => call(core, line, &reply),
        "ping" | "logging/setLevel" => reply.result("{}"),
        "resources/list" => reply.result("{\"resources\":[]}"),
        "resources/templates/list" => reply.result("{\"resourceTemplates\":[]}"),
        "prompts/list" => reply.result("{\"prompts\":[]}"),
        "x/custom" => reply.result(&format!("{{\"line\":{}}}", quote(&text(line)))),
        _ => reply.send("error", "{\"code\":-32601,\"message\":\"Method not found\"}"),
    }
}

fn initialize(line: &[u8], reply: &Reply<'_>) {
    let asked = path(line, &["params", "protocolVersion"]).and_then(string).unwrap_or_default();
    let version = if VERSIONS.contains(&asked.as_str()) { asked.as_str() } else { VERSIONS[0] };
    reply.result(&format!(
        "{{\"protocolVersion\":\"{version}\",\"capabilities\":{{\"tools\":{{\"listChanged\":true}},\"logging\":{{}},\
         \"experimental\":{{\"bench\":{{\"probe\":1.0}}}}}},\"serverInfo\":{{\"name\":\"ref-upstream\",\
         \"version\":\"1.0.0\"}},\"instructions\":\"ref instructions\"}}"
    ));
}

fn call(core: &Core, line: &[u8], reply: &Reply<'_>) {
    let arg = |k: &str| path(line, &["params", "arguments", k]);
    let num = |k: &str| arg(k).and_then(|v| text(v).parse::<f64>().ok()).unwrap_or(0.0) as usize;
    match tool_of(line).as_deref().unwrap_or("") {
        "echo" => reply.text(&arg("text").map_or("\"\"".into(), text)),
        "sized" => reply.text(&format!("\"{}\"", "x".repeat(num("n")))),
        "sleep" => {
            locked(&core.seen).push(format!("sleep {}", text(reply.id)));
            std::thread::sleep(Duration::from_millis(num("ms") as u64));
            reply.text("\"slept\"");
        }
        "notify" => {
            let n = num("n");
            let token = path(line, &["params", "_meta", "progressToken"]).map_or("\"none\"".into(), text);
            for i in 1..=n {
                let m = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\
                     \"progressToken\":{token},\"progress\":{i},\"total\":{n}}}}}"
                );
                reply.out.send(m.as_bytes(), false);
            }
            reply.text("\"notified\"");
        }
        "reverse" => reverse(core, arg("method"), arg("params"), reply),
        // {result} or {error}: a string that is sent verbatim as the body.
        "raw" => match (arg("result").and_then(string), arg("error").and_then(string)) {
            (Some(r), _) => reply.result(&r),
            (_, Some(e)) => reply.send("error", &e),
            _ => reply.text("\"\""),
        },
        "rawline" => reply.text(&quote(&text(line))),
        "drop" => reply.text(&format!("\"{}\"", line.len())),
        // {line}: a string that is sent verbatim as a line of its own before the answer.
        "emit" => {
            reply.out.send(arg("line").and_then(string).unwrap_or_default().as_bytes(), false);
            reply.text("\"emitted\"");
        }
        "seen" => {
            let all = std::mem::take(&mut *locked(&core.seen));
            reply.text(&quote(&all.join("\n")));
        }
        "crash" => std::process::exit(CRASH),
        "stubborn" => {
            // A handler that only sets a flag: SIGTERM no longer ends the process.
            if !core.http && signal_hook::flag::register(SIGTERM, Arc::new(AtomicBool::new(false))).is_ok() {
                core.stubborn.store(true, Relaxed);
            }
            reply.text("\"stubborn\"");
        }
        _ => reply.send("error", "{\"code\":-32602,\"message\":\"Unknown tool\"}"),
    }
}

/// {method, params}: asks the host, and answers with the host's whole reply line.
fn reverse(core: &Core, method: Option<&[u8]>, params: Option<&[u8]>, reply: &Reply<'_>) {
    let id = format!("\"rev-{}\"", core.next.fetch_add(1, Relaxed));
    let (tx, rx) = channel();
    locked(&core.pending).insert(id.clone(), tx);
    let method = method.map_or("\"ping\"".into(), text);
    let params = params.map_or("{}".into(), text);
    let asked = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}");
    reply.out.send(asked.as_bytes(), false);
    match rx.recv_timeout(REVERSE) {
        Ok(line) => reply.text(&quote(&text(&line))),
        Err(_) => reply.text("\"no reply from host\""),
    }
}
