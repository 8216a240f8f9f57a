//! The host side: one session with a proxy, over stdio or over Streamable HTTP.

mod http;
mod sse;
mod stdio;

use crate::raw::{get, string, text};
use crate::{Fail, procs};
use http::Http;
use rustix::process::Signal;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stdio::Pipes;

/// The revision that the driver speaks.
pub(crate) const PROTOCOL: &str = "2025-06-18";

const INIT_LIMIT: Duration = Duration::from_secs(30);
const LIST_LIMIT: Duration = Duration::from_secs(20);
/// How often, and how far apart, an aggregator is asked for the upstream's tools.
const LIST_TRIES: (u32, Duration) = (50, Duration::from_millis(100));
/// Grace between SIGTERM and SIGKILL when a session is taken down.
const GRACE: (u32, Duration) = (100, Duration::from_millis(5));
/// Answers that are awaited under load.
const LOAD_LIMIT: Duration = Duration::from_secs(20);

/// How to reach a proxy: a command, a URL, or a command that serves the URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    pub(crate) url: Option<String>,
    pub(crate) cmd: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) raw: Vec<u8>,
    pub(crate) at: Instant,
}

/// Messages from the proxy that are not the awaited response, raw, in order.
pub(crate) type Seen = Arc<Mutex<Vec<Vec<u8>>>>;

#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) child: Option<Child>,
    /// From spawn to the complete `initialize` answer.
    pub(crate) startup: Duration,
    pub(crate) init: Vec<u8>,
    pub(crate) seen: Seen,
    names: Vec<String>,
    link: Link,
    next: u64,
}

#[derive(Debug)]
enum Link {
    Stdio(Pipes),
    Http(Http),
}

/// What the driver, as a host, answers to a request of the server.
pub(crate) fn reverse_result(method: &str) -> &'static str {
    match method {
        "elicitation/create" => "\"result\":{\"action\":\"accept\",\"content\":{\"n\":\"v\"}}",
        "sampling/createMessage" => {
            "\"result\":{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"hi\"},\"model\":\"m\"}"
        }
        "roots/list" => "\"result\":{\"roots\":[{\"uri\":\"file:///project\",\"name\":\"project\"}]}",
        "ping" => "\"result\":{}",
        _ => "\"error\":{\"code\":-32601,\"message\":\"host does not know it\"}",
    }
}

/// The host's answer if `line` is a request from the server.
fn answer(line: &[u8]) -> Option<Vec<u8>> {
    let (m, id) = (get(line, "method").and_then(string)?, get(line, "id")?);
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{}}}", text(id), reverse_result(&m)).into_bytes())
}

/// A small `tools/call`, as the latency is measured with.
pub(crate) fn echo_line(tool: &str, id: u64) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\
         \"arguments\":{{\"text\":\"hello\"}}}}}}"
    )
    .into_bytes()
}

fn spawn(t: &Target, piped: bool) -> Result<Child, Fail> {
    let io = || if piped { Stdio::piped() } else { Stdio::null() };
    let stderr = if std::env::var_os("BENCH_STDERR").is_some() { Stdio::inherit() } else { Stdio::null() };
    let (program, args) = t.cmd.split_first().ok_or(Fail::Other("no command".into()))?;
    Ok(Command::new(program).args(args).stdin(io()).stdout(io()).stderr(stderr).spawn()?)
}

impl Conn {
    /// Starts the proxy, does the handshake, and waits until the upstream's tools are listed.
    pub(crate) fn open(t: &Target) -> Result<Self, Fail> {
        let t0 = Instant::now();
        let seen = Seen::default();
        let (child, link) = match &t.url {
            Some(url) => {
                let link = Link::Http(Http::new(url, seen.clone())?);
                (if t.cmd.is_empty() { None } else { Some(spawn(t, false)?) }, link)
            }
            None => {
                let mut c = spawn(t, true)?;
                let pipes = Pipes::of(&mut c, seen.clone())?;
                (Some(c), Link::Stdio(pipes))
            }
        };
        let mut conn =
            Self { child, startup: Duration::ZERO, init: vec![], seen, names: vec![], link, next: 1 };
        conn.shake_hands(t0)?;
        conn.learn_names()?;
        Ok(conn)
    }

    fn shake_hands(&mut self, t0: Instant) -> Result<(), Fail> {
        let init = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{PROTOCOL}\",\
             \"capabilities\":{{\"roots\":{{\"listChanged\":true}},\"sampling\":{{}},\"elicitation\":{{}}}},\
             \"clientInfo\":{{\"name\":\"bir-bench\",\"version\":\"1\"}}}}}}"
        );
        let r = loop {
            match self.exchange(init.as_bytes(), b"0", INIT_LIMIT) {
                // A gateway under way does not listen yet.
                Err(Fail::Other(e))
                    if self.is_http() && t0.elapsed() < INIT_LIMIT && e.contains("refused") =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                r => break r?,
            }
        };
        if get(&r.raw, "result").is_none() {
            return Err(Fail::Other("initialize refused".into()));
        }
        self.startup = r.at - t0;
        self.init = r.raw;
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")?;
        if let Link::Http(h) = &mut self.link {
            h.listen();
        }
        Ok(())
    }

    /// Aggregators rename tools: remembers what is listed, see [`Conn::tool`].
    fn learn_names(&mut self) -> Result<(), Fail> {
        for _ in 0..LIST_TRIES.0 {
            let l = self.request("tools/list", "{}", LIST_LIMIT)?;
            let v: serde_json::Value = serde_json::from_slice(&l.raw).unwrap_or_default();
            let tools = v["result"]["tools"].as_array().cloned().unwrap_or_default();
            self.names = tools.iter().filter_map(|t| t["name"].as_str().map(String::from)).collect();
            if self.names.iter().any(|n| n.ends_with("echo")) {
                return Ok(());
            }
            std::thread::sleep(LIST_TRIES.1);
        }
        Err(Fail::Other("the upstream's tools never appeared in tools/list".into()))
    }

    fn is_http(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.as_ref().map_or(0, |c| c.id() as i32)
    }

    /// The name under which the proxy lists the upstream's tool `name`.
    pub(crate) fn tool(&self, name: &str) -> String {
        let ends = |n: &&String| n.ends_with(name) && !n.ends_with(&format!("raw{name}"));
        self.names.iter().find(ends).cloned().unwrap_or(name.into())
    }

    pub(crate) fn tool_line(&self, id: &str, tool: &str, args: &str) -> Vec<u8> {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\",\
             \"arguments\":{args}}}}}",
            self.tool(tool)
        )
        .into_bytes()
    }

    pub(crate) fn call(&mut self, tool: &str, args: &str, limit: Duration) -> Result<Reply, Fail> {
        self.next += 1;
        let id = self.next.to_string();
        let line = self.tool_line(&id, tool, args);
        self.exchange(&line, id.as_bytes(), limit)
    }

    pub(crate) fn request(&mut self, method: &str, params: &str, limit: Duration) -> Result<Reply, Fail> {
        self.next += 1;
        let id = self.next.to_string();
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}");
        self.exchange(line.as_bytes(), id.as_bytes(), limit)
    }

    /// Sends one message without waiting.
    pub(crate) fn send(&mut self, line: &[u8]) -> Result<(), Fail> {
        match &mut self.link {
            Link::Stdio(p) => p.send(line),
            Link::Http(h) => h.send(line),
        }
    }

    /// Sends a request and waits for the response whose raw id is `id`.
    pub(crate) fn exchange(&mut self, line: &[u8], id: &[u8], limit: Duration) -> Result<Reply, Fail> {
        match &mut self.link {
            Link::Http(h) => {
                h.post(line, Some(id), limit)?.ok_or(Fail::Other("no response in the POST's answer".into()))
            }
            Link::Stdio(p) => p.exchange(line, id, limit),
        }
    }

    /// Keeps `k` echo calls in flight for `span`; returns answered calls and seconds.
    pub(crate) fn blast(&mut self, k: usize, span: Duration) -> Result<(u64, f64), Fail> {
        let name = self.tool("echo");
        let (first, line) = (self.next + 1, |id: u64| echo_line(&name, id));
        let t0 = Instant::now();
        let (done, next) = match &mut self.link {
            Link::Stdio(p) => p.blast(k, t0 + span, first, line, LOAD_LIMIT)?,
            Link::Http(h) => h.blast(k, t0 + span, first, line, LOAD_LIMIT)?,
        };
        self.next = next;
        Ok((done, t0.elapsed().as_secs_f64()))
    }

    /// Ends the session as a host does: closes stdin, or sends DELETE.
    pub(crate) fn end_session(&mut self) {
        match &mut self.link {
            Link::Stdio(p) => p.close(),
            Link::Http(h) => h.end(),
        }
    }

    /// Takes down everything that this session started, by pid.
    pub(crate) fn destroy(&mut self) {
        let Some(mut c) = self.child.take() else { return };
        let main = c.id() as i32;
        let all = procs::under(main);
        procs::signal(main, Signal::TERM);
        for _ in 0..GRACE.0 {
            if matches!(c.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(GRACE.1);
        }
        all.iter().filter(|p| procs::alive(p)).for_each(|p| procs::signal(p.pid, Signal::KILL));
        let _ = c.wait();
        procs::reap(&all);
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.destroy();
    }
}
