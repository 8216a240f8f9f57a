//! A hub as a process, and requests to it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A hub has so long to begin or to end; the machine may be slow.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// The program with an empty environment but for what it needs.
pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir-hub"));
    command.env_clear().env("BIR_HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

pub(crate) fn run(home: &Path, args: &[&str], stdin: &str) -> Output {
    let mut child = command(home)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read may have ended before.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// Waits until it holds.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(LOOK);
    }
}

pub(crate) struct Hub {
    pub child: Child,
    pub address: SocketAddr,
    pub token: String,
    pub home: PathBuf,
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Hub {
    /// The embedded hub of a state directory, on a free port, once it answers.
    pub(crate) fn embedded(home: &Path) -> Self {
        Self::spawn(home, &["serve", "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn spawn(home: &Path, args: &[&str]) -> Self {
        let mut child = command(home).args(args).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        // Read along, so that a full pipe never holds the hub.
        let mut stderr = child.stderr.take().unwrap();
        let log = home.with_extension(format!("{pid}.log"));
        let copy = log.clone();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::fs::File::create(copy).unwrap()));
        let file = home.join("hub.json");
        let told = until("hub.json", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the hub ended with {status}: {}", std::fs::read_to_string(&log).unwrap_or_default());
            }
            let told: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            (told["pid"] == pid).then_some(told)
        });
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
        Self { child, address, token: told["token"].as_str().unwrap().to_owned(), home: home.to_owned() }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        call(self.address, Some(&self.token), method, path, body).unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it in the way of `bir down`.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        let child = &mut self.child;
        until("the end of the hub", || child.try_wait().unwrap())
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

fn unchunk(mut rest: &str) -> String {
    let mut out = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        out.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
    out
}

/// One request on a connection of its own. An error: the connection broke off.
pub(crate) fn call(
    to: SocketAddr,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let bearer = token.map(|t| format!("Authorization: Bearer {t}\r\n")).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\n{bearer}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let all = String::from_utf8_lossy(&all).into_owned();
    let broken = || std::io::Error::other("the answer broke off");
    let (head, body) = all.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(broken)?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunk(body) } else { body.to_owned() };
    Ok(Answer { status, head: head.to_owned(), body })
}

/// Lines of a run: its beginning and so many calls.
pub(crate) fn run_lines(run: bir_model::RunId, calls: std::ops::Range<u32>, beginning: bool) -> String {
    let mut lines = String::new();
    if beginning {
        lines.push_str(&format!(
            r#"{{"type":"run","id":"{run}","tier":"standalone","startedAt":1700000000000}}"#
        ));
        lines.push('\n');
    }
    for call in calls {
        for (index, kind) in [(2 * call, "tool_selected"), (2 * call + 1, "tool_response")] {
            lines.push_str(&format!(
                r#"{{"type":"step","id":"{}","runId":"{run}","stepIndex":{index},"stepType":"{kind}","toolName":"t","server":"s","at":1700000000000}}"#,
                bir_model::StepId::new()
            ));
            lines.push('\n');
        }
    }
    lines
}

/// All rows' indexes of a run, in order.
pub(crate) fn indexes(hub: &Hub, run: bir_model::RunId) -> Vec<u64> {
    let mut all = Vec::new();
    let mut from = Some(0);
    while let Some(index) = from {
        let answer = hub.call("GET", &format!("/recordings/runs/{run}/steps?from={index}"), "");
        if answer.status == 404 {
            break;
        }
        let page = answer.json();
        all.extend(page["steps"].as_array().unwrap().iter().map(|s| s["stepIndex"].as_u64().unwrap()));
        from = page["next"].as_u64();
    }
    all
}
