//! The proxy in front of remote servers: the legs that a script can be played over, and what both sides saw.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use super::common::*;
use bir_testkit::log::Event;
use bir_testkit::{Eras, Format, HostCommand, HttpUpstream, Script, StdioHost, TestUpstream};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How an upstream is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// Legacy era, answers as JSON bodies (event streams where something precedes the answer).
    Json,
    /// Legacy era, every answer as an event stream with ids, names and CRLF.
    Events,
    /// Modern era, JSON bodies.
    Modern,
    /// Modern era, event streams.
    ModernEvents,
    /// HTTP+SSE.
    Sse,
    /// HTTP+SSE that is found because the address refuses Streamable HTTP.
    FoundSse,
}

impl Leg {
    pub const LEGACY: [Self; 4] = [Self::Json, Self::Events, Self::Sse, Self::FoundSse];
    pub const MODERN: [Self; 2] = [Self::Modern, Self::ModernEvents];
    pub const ALL: [Self; 6] =
        [Self::Json, Self::Events, Self::Sse, Self::FoundSse, Self::Modern, Self::ModernEvents];

    pub fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::ModernEvents)
    }

    pub fn is_sse(self) -> bool {
        matches!(self, Self::Sse | Self::FoundSse)
    }

    pub fn era(self) -> Eras {
        if self.is_modern() { Eras::Modern } else { Eras::Legacy }
    }

    /// The script as an upstream at the end of this leg has it.
    pub fn shaped(self, script: &Script) -> Script {
        let mut script = script.clone();
        script.era = self.era();
        let answer = &mut script.http.answer;
        if matches!(self, Self::Events | Self::ModernEvents) {
            answer.format = Format::Sse;
            answer.event_name = true;
            answer.crlf = true;
            answer.event_ids = self == Self::Events;
        }
        script
    }

    fn serve(self, up: &TestUpstream) -> HttpUpstream {
        if self.is_sse() { up.sse().unwrap() } else { up.http().unwrap() }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Sse => &["--transport", "sse"],
            Self::FoundSse => &[],
            _ => &["--transport", "http"],
        }
    }
}

/// What must not come from the surroundings of the tests.
const SURROUNDINGS: [&str; 13] = [
    "BIR_UPSTREAM_HEADERS",
    "BIR_UPSTREAM_MAX_MESSAGE_BYTES",
    "BIR_UPSTREAM_CONNECT_TIMEOUT_MS",
    "BIR_LOG",
    "BIR_OFF",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// `bir-proxy --server-name x --url URL OPTIONS`.
pub fn to(url: &str, options: &[&str], home: &Path) -> HostCommand {
    let mut command = HostCommand::new(PROXY).args(["--server-name", "x", "--url", url]).args(options);
    for name in SURROUNDINGS {
        command = command.env_remove(name);
    }
    command.env("BIR_HOME", home)
}

/// A host, an upstream, and on most stages a proxy and HTTP between them.
pub struct Stage {
    pub host: StdioHost,
    pub up: TestUpstream,
    pub server: Option<HttpUpstream>,
}

/// Everything that both sides saw.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the host read, line by line.
    pub host: Vec<String>,
    /// Every message that reached the upstream.
    pub upstream: Vec<String>,
    pub status: i32,
    pub stderr: String,
}

impl Stage {
    /// The upstream on stdio, without a proxy.
    pub fn direct(script: &Script) -> Self {
        let up = TestUpstream::new(script.clone()).unwrap();
        let host = up.host().unwrap();
        Self { host, up, server: None }
    }

    /// The upstream at the end of a leg, behind the proxy.
    pub fn through(script: &Script, leg: Leg) -> Self {
        Self::with(script, leg, |command| command)
    }

    pub fn with(script: &Script, leg: Leg, change: impl FnOnce(HostCommand) -> HostCommand) -> Self {
        let up = TestUpstream::new(leg.shaped(script)).unwrap();
        let server = leg.serve(&up);
        let command = to(&server.url(), leg.options(), &up.dir().join("home"));
        let host = change(command).start().unwrap();
        Self { host, up, server: Some(server) }
    }

    pub fn is_modern(&self) -> bool {
        self.up.script().era == Eras::Modern
    }

    /// What each request has in its params: the `_meta` of the modern era, an odd one otherwise.
    pub fn meta(&self) -> &'static str {
        if self.is_modern() { META } else { r#""_meta":{"x" : 1.0}"# }
    }

    /// A request of this stage's era; `params` without braces.
    pub fn request(&self, id: &str, method: &str, params: &str) -> String {
        let comma = if params.is_empty() { "" } else { "," };
        request(id, method, &format!("{{{params}{comma}{}}}", self.meta()))
    }

    pub fn call(&self, id: &str, tool: &str, arguments: &str) -> String {
        self.request(id, "tools/call", &format!("\"name\":\"{tool}\",\"arguments\":{arguments}"))
    }

    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        self.host.send(line).unwrap();
    }

    pub fn next(&mut self) -> String {
        let line = self.host.line(BUDGET);
        text(line.unwrap_or_else(|e| panic!("{e}\nthe upstream has seen {:#?}", self.received())))
    }

    pub fn ask(&mut self, line: impl AsRef<[u8]>) -> String {
        self.send(line);
        self.next()
    }

    /// Sends a message that nothing answers, and waits until it has arrived: two POSTs may overtake each other at the
    /// upstream.
    pub fn tell(&mut self, line: impl AsRef<[u8]>) {
        let before = self.received().len();
        self.send(line);
        self.arrived(before + 1);
    }

    /// The handshake of the legacy era; nothing in the modern one.
    pub fn open(&mut self) {
        if !self.is_modern() {
            assert!(self.ask(INIT).contains("\"result\""));
            self.tell(INITIALIZED);
        }
    }

    /// Waits until so many messages have arrived.
    pub fn arrived(&self, count: usize) {
        self.up.wait_log(BUDGET, |events| self.messages(events).len() >= count).unwrap();
    }

    fn messages(&self, events: &[Event]) -> Vec<String> {
        let path = |event: &Event| event.str("path").to_owned();
        let sse = events.iter().any(|event| path(event).starts_with("/messages"));
        let counts = |event: &&Event| match self.server {
            // The first POST to an HTTP+SSE address, which looks whether it takes Streamable HTTP, is refused unread.
            Some(_) => {
                let refused = sse && path(event) == self.up.script().http.path;
                event.name() == "http" && event.str("method") == "POST" && !refused
            }
            None => event.name() == "line",
        };
        events.iter().filter(counts).map(|event| text(event.bytes())).collect()
    }

    pub fn received(&self) -> Vec<String> {
        self.messages(&self.up.events().unwrap())
    }

    /// The HTTP requests with this method.
    pub fn http(&self, method: &str) -> Vec<Event> {
        let mut events = self.up.events().unwrap();
        events.retain(|event| event.name() == "http" && event.str("method") == method);
        events
    }

    pub fn wait_event(&self, name: &str) {
        self.up.wait_log(BUDGET, |events| events.iter().any(|e| e.name() == name)).unwrap();
    }

    pub fn finish(mut self) -> Seen {
        let status = self.host.finish(BUDGET).unwrap();
        let upstream = self.received();
        let host = text(self.host.stdout()).split_inclusive('\n').map(str::to_owned).collect();
        Seen { host, upstream, status, stderr: self.host.stderr_text() }
    }
}

/// Plays a session without the proxy on stdio and through it over each leg: every message that either side saw is the same.
pub fn same_over(legs: &[Leg], script: &Script, play: impl Fn(&mut Stage)) -> Vec<Seen> {
    compare(legs, script, false, play)
}

/// As [`same_over`], where the protocol fixes no order: messages on streams of their own.
pub fn same_over_in_any_order(legs: &[Leg], script: &Script, play: impl Fn(&mut Stage)) -> Vec<Seen> {
    compare(legs, script, true, play)
}

fn compare(legs: &[Leg], script: &Script, any_order: bool, play: impl Fn(&mut Stage)) -> Vec<Seen> {
    let perform = |mut stage: Stage| {
        play(&mut stage);
        let mut seen = stage.finish();
        if any_order {
            seen.host.sort();
            seen.upstream.sort();
        }
        seen
    };
    let mut through = Vec::new();
    for modern in [false, true] {
        let of_era: Vec<Leg> = legs.iter().copied().filter(|leg| leg.is_modern() == modern).collect();
        let Some(first) = of_era.first() else { continue };
        let mut script = script.clone();
        script.era = first.era();
        let direct = perform(Stage::direct(&script));
        for leg in of_era {
            let seen = perform(Stage::through(&script, leg));
            let (got, expected) = (seen.host.concat(), direct.host.concat());
            assert_bytes(&format!("{leg:?}: the host read"), got.as_bytes(), expected.as_bytes());
            let (got, expected) = (seen.upstream.join("\n"), direct.upstream.join("\n"));
            assert_bytes(&format!("{leg:?}: the upstream read"), got.as_bytes(), expected.as_bytes());
            assert_eq!(seen.upstream.len(), direct.upstream.len(), "{leg:?}");
            assert_eq!(seen.status, direct.status, "{leg:?}: {}", seen.stderr);
            assert_eq!(seen.stderr, "", "{leg:?}");
            through.push(seen);
        }
    }
    through
}

/// A proxy whose pipes a test reads and writes in pieces.
pub struct Streamed {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: BufReader<ChildStdout>,
    /// Its largest resident set so far, in KiB, when it was opened.
    base: u64,
    _home: tempfile::TempDir,
}

impl Streamed {
    pub fn start(url: &str, transport: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let argv = to(url, &["--transport", transport], home.path()).argv();
        let mut child = Command::new(&argv[0])
            .args(&argv[1..])
            .env("BIR_HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::with_capacity(64 * 1024, stdout), base: 0, _home: home }
    }

    pub fn send(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn open(&mut self) {
        self.send(INIT);
        assert!(self.line().contains("\"result\""));
        self.send(INITIALIZED);
        self.base = peak_kib(self.child.id());
    }

    /// The modern era's first exchange.
    pub fn discover(&mut self) {
        self.send(&modern("0", "server/discover", ""));
        assert!(self.line().contains("\"result\""));
        self.base = peak_kib(self.child.id());
    }

    /// Ends it well; `most_kib` is how much its resident set may have grown since the opening. A build without optimisation
    /// begins with 12 MiB, so the size as a whole is measured on the release build, by `benches/run`.
    pub fn end(mut self, most_kib: u64) {
        assert!(self.base > 0, "it was opened");
        let peak = peak_kib(self.child.id()) - self.base;
        self.stdin = None;
        assert!(self.child.wait().unwrap().success());
        assert!(peak < most_kib, "{peak} KiB");
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
