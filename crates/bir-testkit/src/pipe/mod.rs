//! `bir-test-pipe`: an HTTP face for any stdio MCP server.
//!
//! ```text
//!   HTTP client ─▶ guard (Host, Origin, media types) ─┬─ legacy: one child a session
//!                                                     └─ modern: one child an authorization, ids rewritten
//! ```
//!
//! The pipe exists so that suites which speak HTTP can judge a command on stdio. What a stdio server cannot
//! know (host and origin, headers against body, statuses) is the pipe's own job. Messages go through byte for
//! byte, but for ids and tokens in the modern era, where several clients share one child.
//!
//! Limits: a stdio server does not say which request a log message or a request of its own belongs to. In the legacy era
//! they go on the stream of the newest call in flight (list changes and resource updates on the GET stream); in the
//! modern era to the only call in flight, and are dropped (with a line on stderr) when there are several.
//! A server cannot close a stream early through it; with `--poll-after` the pipe closes each legacy stream that has no
//! answer after so long, and the client polls (2025-11-25).

mod child;
mod guard;
mod legacy;
mod modern;
mod params;

use std::io;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::http1::{self, Connection, Request};
use crate::raw::{self, Kind};
use crate::serve::command_line::{announce, loopback};
use crate::serve::post_outlet::{Phase, PostOutlet};

const USAGE: &str =
    "usage: bir-test-pipe [--listen 127.0.0.1:PORT] [--port-file F] [--poll-after MS] -- CMD ARGS...";

/// The endpoint's path.
const PATH: &str = "/mcp";

/// The modern revision.
const MODERN: &str = crate::serve::engine::MODERN;

/// Whether a connection goes on after a request.
type Next = io::Result<bool>;

struct Options {
    listen: String,
    port_file: Option<PathBuf>,
    poll_after: Option<Duration>,
    command: Vec<String>,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options =
        Options { listen: "127.0.0.1:0".into(), port_file: None, poll_after: None, command: Vec::new() };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--listen" => options.listen = args.next().ok_or("--listen wants a value")?,
            "--port-file" => options.port_file = Some(args.next().ok_or("--port-file wants a value")?.into()),
            "--poll-after" => {
                let ms =
                    args.next().and_then(|ms| ms.parse().ok()).ok_or("--poll-after wants milliseconds")?;
                options.poll_after = Some(Duration::from_millis(ms));
            }
            "--" => options.command = args.by_ref().collect(),
            other => return Err(format!("unknown option {other}")),
        }
    }
    if options.command.is_empty() { Err("no command".into()) } else { Ok(options) }
}

/// Runs `bir-test-pipe` with the process's own arguments.
pub fn pipe_main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("bir-test-pipe: {problem}\n{USAGE}");
            return ExitCode::from(64);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bir-test-pipe: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Pipe {
    legacy: legacy::Sessions,
    modern: modern::Children,
}

fn run(options: Options) -> io::Result<()> {
    let listener = loopback(&options.listen)?;
    let pipe = Arc::new(Pipe {
        legacy: legacy::Sessions::new(options.command.clone(), options.poll_after),
        modern: modern::Children::new(options.command),
    });
    let ending = pipe.clone();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            ending.legacy.end_all();
            ending.modern.end_all();
            std::process::exit(0);
        }
    });
    let port = listener.local_addr()?.port();
    match options.port_file {
        Some(file) => announce(port, Some(&file))?,
        None => {
            use io::Write as _;
            writeln!(io::stdout(), "http://127.0.0.1:{port}{PATH}")?;
        }
    }
    for socket in listener.incoming() {
        let pipe = pipe.clone();
        let socket = socket?;
        std::thread::spawn(move || pipe.connection(socket));
    }
    Ok(())
}

impl Pipe {
    fn connection(&self, socket: TcpStream) {
        let mut connection = Connection::new(socket);
        while let Ok(Some(request)) = connection.read() {
            let Ok(mut socket) = connection.socket() else { break };
            if !matches!(self.request(&request, &mut socket), Ok(true)) {
                break;
            }
        }
        if let Ok(socket) = connection.socket() {
            http1::close(&socket);
        }
    }

    fn request(&self, request: &Request, socket: &mut TcpStream) -> Next {
        if let Some(refusal) = guard::check(request) {
            return refusal.answer(socket, b"null");
        }
        let body = &request.body;
        let claims = request.header("mcp-protocol-version") == Some(MODERN)
            || raw::path(body, &["params", "_meta", crate::serve::engine::META_VERSION]).is_some();
        match request.method.as_str() {
            "POST" => {
                if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
                    return guard::Refusal::new(400, -32700, "Parse error").answer(socket, b"null");
                }
                if matches!(raw::kind(body), Kind::Other) {
                    return guard::Refusal::new(400, -32600, "Invalid Request").answer(socket, b"null");
                }
                if claims { self.modern.post(request, socket) } else { self.legacy.post(request, socket) }
            }
            "GET" if !claims => self.legacy.get(request, socket),
            "DELETE" if !claims => self.legacy.delete(request, socket),
            _ => {
                http1::answer(socket, 405, &[("Allow", "POST")], b"")?;
                Ok(true)
            }
        }
    }
}

/// The message on one line: line breaks outside of strings become spaces. Inside of strings JSON has none.
fn one_line(message: &[u8]) -> Vec<u8> {
    message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

/// How waiting for an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// The answer is complete, or the connection was closed on this side.
    Answered,
    /// The client left before that.
    Left,
    /// The time was over.
    Late,
}

/// Waits until the answer is complete, or for so long.
fn wait_for_answer(outlet: &PostOutlet, socket: &TcpStream, budget: Option<Duration>) -> Waited {
    let began = Instant::now();
    while matches!(outlet.phase(), Phase::Fresh | Phase::Streaming) {
        if http1::is_gone(socket) {
            return Waited::Left;
        }
        if budget.is_some_and(|budget| began.elapsed() >= budget) {
            return Waited::Late;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Waited::Answered
}
