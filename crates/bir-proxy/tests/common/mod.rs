//! What the tests of the proxy share: starting it in front of a test upstream, and comparing what both sides saw with
//! what they see without it.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use bir_testkit::procs::{self, Proc};
use bir_testkit::{HostCommand, Script, StdioHost, TestUpstream};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The program under test.
pub const PROXY: &str = env!("CARGO_BIN_EXE_bir-proxy");

/// Longest wait for anything that must come.
pub const BUDGET: Duration = Duration::from_secs(30);

/// Marks every process of one test; unlike the testkit's own mark the proxy passes it on to its child.
const TREE: &str = "PROXY_TEST_TREE";

pub const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"x-odd":1.0},"clientInfo":{"name":"t","version":"1"}}}"#;
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub fn request(id: &str, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

pub fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!("{{\"name\":\"{tool}\",\"arguments\":{arguments}}}"))
}

/// A request of the modern era; `params` without braces.
pub fn modern(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    request(id, method, &format!("{{{params}{comma}{META}}}"))
}

pub fn modern_call(id: &str, tool: &str, arguments: &str) -> String {
    modern(id, "tools/call", &format!("\"name\":\"{tool}\",\"arguments\":{arguments}"))
}

/// What the proxy says when its upstream `x` died in a call.
pub fn lost_call(id: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"MCP server \\\"x\\\" is not available\"}}],\"isError\":true}}}}"
    )
}

/// What the proxy says when its upstream `x` died and anything but a call was asked.
pub fn lost_request(id: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"MCP server \\\"x\\\" is not available\"}}}}"
    )
}

pub fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}

/// A name that no other test on this machine uses.
pub fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A proxy in front of a test upstream, with the test as the host. No process outlives it.
pub struct Front {
    pub up: TestUpstream,
    pub host: StdioHost,
    tree: String,
}

/// How a [`Front`] is started.
pub struct Setup {
    up: TestUpstream,
    options: Vec<String>,
    env: Vec<(String, String)>,
    dir: Option<PathBuf>,
}

pub fn front(script: Script) -> Setup {
    Setup { up: TestUpstream::new(script).unwrap(), options: Vec::new(), env: Vec::new(), dir: None }
}

impl Setup {
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.into());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.into());
        self
    }

    pub fn home(&self) -> PathBuf {
        self.up.dir().join("home")
    }

    /// The command of the upstream alone.
    pub fn up_command(&self) -> HostCommand {
        self.up.command()
    }

    pub fn start(self) -> Front {
        let command = self.up.command();
        self.start_as(&command)
    }

    /// Starts with a host that counts its input instead of keeping it.
    pub fn start_counting(self) -> Front {
        let command = self.up.command();
        self.begin(&command, HostCommand::count_stdout)
    }

    /// Starts with another command behind the proxy.
    pub fn start_as(self, inner: &HostCommand) -> Front {
        self.begin(inner, |command| command)
    }

    fn begin(self, inner: &HostCommand, change: impl FnOnce(HostCommand) -> HostCommand) -> Front {
        let tree = unique();
        let mut command = proxy(&self.options, inner).env("BIR_HOME", self.home()).env(TREE, &tree);
        for (name, value) in &self.env {
            command = command.env(name, value);
        }
        if let Some(dir) = &self.dir {
            command = command.dir(dir);
        }
        Front { host: change(command).start().unwrap(), up: self.up, tree }
    }
}

/// The program under test where no `bir-hooks` is beside it that it could start.
fn alone() -> PathBuf {
    static ALONE: OnceLock<PathBuf> = OnceLock::new();
    let made = || {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("alone-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let proxy = dir.join("bir-proxy");
        let _ = std::fs::remove_file(&proxy);
        std::fs::hard_link(PROXY, &proxy).or_else(|_| std::fs::copy(PROXY, &proxy).map(drop)).unwrap();
        proxy
    };
    ALONE.get_or_init(made).clone()
}

/// `bir-proxy --server-name x OPTIONS -- INNER`.
pub fn proxy(options: &[String], inner: &HostCommand) -> HostCommand {
    HostCommand::new(alone()).args(["--server-name", "x"]).args(options).arg("--").wrap(inner)
}

impl Deref for Front {
    type Target = StdioHost;
    fn deref(&self) -> &StdioHost {
        &self.host
    }
}

impl DerefMut for Front {
    fn deref_mut(&mut self) -> &mut StdioHost {
        &mut self.host
    }
}

impl Front {
    /// Sends a line and gives the next line that comes.
    pub fn ask(&mut self, line: impl AsRef<[u8]>) -> String {
        let what = text(&line);
        text(self.host.ask(line, BUDGET).unwrap_or_else(|e| panic!("{what}: {e}")))
    }

    pub fn next(&mut self) -> String {
        text(self.host.line(BUDGET).unwrap_or_else(|e| panic!("{e}")))
    }

    /// The legacy handshake.
    pub fn open(mut self) -> Self {
        assert!(self.ask(INIT).contains("\"result\""));
        self.send(INITIALIZED).unwrap();
        self
    }

    /// The status as a shell has it, once the process and both of its streams have ended.
    pub fn status(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.host.wait_exit(BUDGET).unwrap();
        assert!(self.wait_stdout_end(BUDGET) && self.wait_stderr_end(BUDGET), "somebody holds our pipes");
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    pub fn finish(&mut self) -> i32 {
        self.host.finish(BUDGET).unwrap()
    }

    /// What is left of the processes when the budget is over.
    pub fn left(&self) -> Vec<Proc> {
        left(&self.tree, BUDGET)
    }

    pub fn alive(&self) -> Vec<Proc> {
        marked(&self.tree)
    }

    /// Waits for the n-th start of the upstream (from 1); gives its `start` event.
    pub fn wait_start(&self, n: usize) -> bir_testkit::log::Event {
        let starts = |events: &[bir_testkit::log::Event]| {
            events.iter().filter(|e| e.name() == "start").cloned().collect::<Vec<_>>()
        };
        let events = self.up.wait_log(BUDGET, |events| starts(events).len() >= n).unwrap();
        starts(&events).swap_remove(n - 1)
    }

    pub fn starts(&self) -> usize {
        self.up.events().unwrap().iter().filter(|e| e.name() == "start").count()
    }

    pub fn wait_event(&self, name: &str) {
        self.up.wait_log(BUDGET, |events| events.iter().any(|e| e.name() == name)).unwrap();
    }

    /// What the upstream has received, line by line.
    pub fn received(&self) -> Vec<String> {
        self.up.lines().unwrap().iter().map(text).collect()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        procs::kill_all(&marked(&self.tree), Duration::from_secs(5));
    }
}

pub fn marked(tree: &str) -> Vec<Proc> {
    let mut found = procs::with_env(&format!("{TREE}={tree}"));
    found.retain(|p| !p.is_zombie());
    found
}

/// Waits until no process of the tree runs; gives those that still do.
pub fn left(tree: &str, budget: Duration) -> Vec<Proc> {
    let deadline = Instant::now() + budget;
    loop {
        let left = marked(tree);
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A plain command for tests that hold the pipes themselves. Its processes carry the tree's name.
pub fn plain(up: &TestUpstream, options: &[&str], tree: &str) -> Command {
    procs::heed_signals();
    let mut command = Command::new(PROXY);
    command.args(["--server-name", "x"]).args(options).arg("--").args(up.command().argv());
    command.env("BIR_HOME", up.dir().join("home")).env(TREE, tree);
    command
}

/// Waits until something holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + BUDGET;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {BUDGET:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The most memory that a process has held of its own, in KiB. Pages of the program's file are not counted: the kernel may take them
/// back at any time, and an unoptimised program has more than ten MiB of them.
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    kib("VmHWM:").saturating_sub(kib("RssFile:"))
}

/// Everything that both sides saw.
pub struct Transcript {
    /// What the host read.
    pub host: Vec<u8>,
    /// What the upstream read.
    pub upstream: Vec<u8>,
    pub status: i32,
    pub stderr: String,
}

/// Plays a session without the proxy and through it: every byte that either side read is the same.
pub fn same(script: &Script, play: impl Fn(&mut StdioHost)) -> Transcript {
    let direct = transcript(script, false, &play);
    let through = transcript(script, true, &play);
    assert_bytes("the host read", &through.host, &direct.host);
    assert_bytes("the upstream read", &through.upstream, &direct.upstream);
    assert_eq!(through.status, direct.status, "{}", through.stderr);
    through
}

fn transcript(script: &Script, through: bool, play: &impl Fn(&mut StdioHost)) -> Transcript {
    let up = TestUpstream::new(script.clone()).unwrap();
    let tree = unique();
    let raw = up.dir().join("stdin");
    // `tee` keeps what the upstream reads, byte for byte.
    let inner = HostCommand::new("sh").args(["-c", "tee \"$0\" | \"$@\""]).arg(&raw).wrap(&up.command());
    let command = if through { proxy(&[], &inner) } else { inner };
    let mut host = command.env("BIR_HOME", up.dir().join("home")).env(TREE, &tree).start().unwrap();
    play(&mut host);
    let status = host.finish(BUDGET).unwrap();
    assert_eq!(left(&tree, BUDGET), []);
    let (host, stderr) = (host.stdout(), host.stderr_text());
    Transcript { host, upstream: std::fs::read(raw).unwrap(), status, stderr }
}

/// Equal, or a panic that shows the place.
pub fn assert_bytes(what: &str, got: &[u8], expected: &[u8]) {
    if got == expected {
        return;
    }
    let at = got.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let around =
        |bytes: &[u8]| text(&bytes[at.saturating_sub(80).min(bytes.len())..(at + 80).min(bytes.len())]);
    panic!(
        "{what}: {} bytes instead of {}, other from byte {at}\n     got …{}…\nexpected …{}…",
        got.len(),
        expected.len(),
        around(got),
        around(expected)
    );
}
