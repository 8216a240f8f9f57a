//! kill -9 of the host, the proxy or the server at random points, with traffic running.
//!
//! ```text
//!   this test ──▶ host (this program with `--host`) ──▶ proxy ──▶ server [ ──▶ grandchild ]
//!        └──────────────── SIGKILL to one of the three ──────────────┘
//! ```
//!
//! Afterwards: no process of a tree that ends on EOF is left; a stubborn one is ended where the proxy lives; every line
//! that the host got is a whole frame; every answer is the server's own, byte for byte, or the one error that the proxy
//! gives for a server that is gone; no request is answered twice, and the handshake is never answered for.
//!
//! `BIR_KILL_ROUNDS` sets the number of rounds (20), `BIR_KILL_SEED` repeats a run.

use crate::common::*;
use bir_testkit::{HostCommand, On, Script, Step, TestUpstream, procs};
use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const NAME: &str = "kill_nine_at_random_points_leaves_no_process_and_invents_no_answer";

/// Requests of one session.
const REQUESTS: u64 = 400;

/// How long the host waits for the next answer before it ends the session.
const PATIENCE: Duration = Duration::from_secs(8);

/// Requests in flight.
const WINDOW: u64 = 8;

pub(crate) fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().map(String::as_str) == Some("--host") {
        return host(&args[1], &args[2..]);
    }
    if args.iter().any(|arg| arg == "--list") {
        say(&format!("{NAME}: test\n"));
        return ExitCode::SUCCESS;
    }
    if args.iter().any(|arg| !arg.starts_with('-') && !NAME.contains(arg.as_str())) {
        return ExitCode::SUCCESS;
    }
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let rounds = number("BIR_KILL_ROUNDS").unwrap_or(20);
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64);
    let seed = number("BIR_KILL_SEED").unwrap_or_else(clock);
    say(&format!("test {NAME}: {rounds} rounds, BIR_KILL_SEED={seed}\n"));
    let mut tally = [0_u64; 4];
    for round in 0..rounds {
        let plan = Plan::of(&mut Random(seed.wrapping_add(round)));
        let seen = play(&plan);
        if let Err(why) = seen {
            say(&format!("round {round} of BIR_KILL_SEED={seed}: {plan:?}\n{why}\nFAILED\n"));
            return ExitCode::FAILURE;
        }
        for (sum, n) in tally.iter_mut().zip(seen.unwrap_or_default()) {
            *sum += n;
        }
    }
    let [answers, errors, kills, cut] = tally;
    say(&format!(
        "ok: {answers} answers of the server, {errors} in its place, {kills} kills in running sessions, {cut} cut lines\n"
    ));
    // A run in which nothing was ever in flight or running has shown nothing.
    if answers == 0 || kills == 0 || (rounds >= 100 && errors == 0) {
        say("FAILED: the sessions were over before the kills\n");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Host,
    Proxy,
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends on EOF.
    Plain,
    /// A launcher, as `npx` is one: the server is its child, and all end on EOF.
    Launched,
    /// A child of the server holds the pipes and does not look at them.
    Grandchild,
    /// Deaf to EOF and SIGTERM.
    Stubborn,
}

#[derive(Debug)]
struct Plan {
    victim: Victim,
    kind: Kind,
    restart: bool,
    /// When the host has got so many bytes …
    after_bytes: u64,
    /// … and so much later.
    after: Duration,
}

impl Plan {
    fn of(random: &mut Random) -> Self {
        let victim = [Victim::Host, Victim::Proxy, Victim::Server][random.below(3) as usize];
        let kind = [Kind::Plain, Kind::Launched, Kind::Grandchild, Kind::Stubborn, Kind::Plain]
            [random.below(5) as usize];
        // A quarter dies while everything is still starting.
        let starting = random.below(4) == 0;
        let after_bytes = if starting { 0 } else { 1 + random.below(session_bytes()) };
        let after = Duration::from_micros(random.below(if starting { 30_000 } else { 2_000 }));
        Self { victim, kind, restart: random.below(3) == 0, after_bytes, after }
    }
}

fn argument(id: u64) -> String {
    let n = Random(id).below(40);
    // Some of it is longer than one write of a pipe is sure to keep together.
    let n = if n == 0 { 30_000 } else { n * n };
    format!("{{\"n\":{id}.0,\"pad\":\"{}\"}}", "é".repeat(n as usize))
}

fn question(id: u64) -> String {
    if id == 0 { INIT.into() } else { call(&id.to_string(), "echo", &argument(id)) }
}

fn answer(id: u64) -> String {
    let quoted = argument(id).replace('"', "\\\"");
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{quoted}\"}}]}}}}"
    )
}

fn session_bytes() -> u64 {
    (1..REQUESTS).map(|id| answer(id).len() as u64 + 1).sum()
}

/// One round: answers of the server, answers in its place, kills of something that ran, lines that were cut off.
fn play(plan: &Plan) -> Result<[u64; 4], String> {
    let mut script = Script::new();
    match plan.kind {
        Kind::Grandchild => {
            script = script
                .on(On::start(), [Step::Grandchild { seconds: 200, stubborn: false, own_group: false }]);
        }
        Kind::Stubborn => {
            script = script.on(On::start(), [Step::Ignore(["eof", "SIGTERM"].map(String::from).to_vec())]);
        }
        Kind::Plain | Kind::Launched => {}
    }
    let up = TestUpstream::new(script).map_err(|e| e.to_string())?;
    let server = match plan.kind {
        Kind::Launched => HostCommand::new("sh").args(["-c", "cat | \"$@\"", "launcher"]).wrap(&up.command()),
        _ => up.command(),
    };
    let options: &[String] = if plan.restart { &["--restart".to_owned()] } else { &[] };
    let (tree, got) = (unique(), up.dir().join("got"));
    std::fs::write(&got, "").map_err(|e| e.to_string())?;
    let mut host = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
        .arg("--host")
        .arg(&got)
        .args(proxy(options, &server).argv())
        .env("PROXY_TEST_TREE", &tree)
        .env("BIR_HOME", up.dir().join("home"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let killed = strike(plan, &up, &got, host.id());
    let left = settle(plan, &up, &tree);
    procs::kill_all(&marked(&tree), BUDGET);
    let _ = host.wait();
    if !left.is_empty() {
        return Err(format!("left: {left:?}"));
    }
    let [answers, errors, cut] = judge(plan, killed, &got)?;
    Ok([answers, errors, u64::from(killed), cut])
}

/// Kills the victim at its moment. Tells whether it ran.
fn strike(plan: &Plan, up: &TestUpstream, got: &Path, host: u32) -> bool {
    let deadline = Instant::now() + BUDGET;
    let running = |pid| procs::find(pid).is_some_and(|p| !p.is_zombie());
    while std::fs::metadata(got).map_or(0, |m| m.len()) < plan.after_bytes && running(host) {
        assert!(Instant::now() < deadline, "the session does not get on: {plan:?}");
        std::thread::sleep(Duration::from_micros(300));
    }
    std::thread::sleep(plan.after);
    loop {
        let victim = match plan.victim {
            Victim::Host => Some(host),
            // The host's only child; it may not have been started yet.
            Victim::Proxy => procs::tree(host).get(1).map(|p| p.pid),
            Victim::Server => up
                .events()
                .unwrap_or_default()
                .iter()
                .find(|e| e.name() == "start")
                .and_then(|e| e.0["pid"].as_u64())
                .map(|p| p as u32),
        };
        if let Some(pid) = victim.filter(|pid| running(*pid)) {
            return procs::send(pid, rustix::process::Signal::KILL).is_ok();
        }
        if !running(host) || Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// Waits until nothing is left but what nobody can end; gives what should not be left.
fn settle(plan: &Plan, up: &TestUpstream, tree: &str) -> Vec<procs::Proc> {
    let deadline = Instant::now() + BUDGET;
    loop {
        let mut left = marked(tree);
        if plan.kind == Kind::Grandchild && plan.victim == Victim::Proxy {
            // It does not end on EOF, and the one who would end it is dead.
            let events = up.events().unwrap_or_default();
            let grandchildren: HashSet<u64> = events
                .iter()
                .filter(|e| e.name() == "grandchild")
                .filter_map(|e| e.0["pid"].as_u64())
                .collect();
            // It may have been started and not yet logged; it shows by its argument.
            left.retain(|p| !grandchildren.contains(&u64::from(p.pid)) && !holds(p.pid));
        }
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn holds(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|c| c.split(|b| *b == 0).any(|arg| arg == b"--hold"))
}

/// Checks what the host got: answers of the server, answers in its place, lines that were cut off.
fn judge(plan: &Plan, killed: bool, got: &Path) -> Result<[u64; 3], String> {
    let got = std::fs::read(got).map_err(|e| e.to_string())?;
    let whole = got.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (lines, rest) = got.split_at(whole);
    let may_be_cut = killed && plan.victim != Victim::Server;
    if !rest.is_empty() && !may_be_cut {
        return Err(format!("half a line: {}", text(rest)));
    }
    let (mut known, mut answers, mut errors) = (HashSet::new(), 0, 0);
    for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let frame: serde_json::Value =
            serde_json::from_slice(line).map_err(|e| format!("no frame ({e}): {}", text(line)))?;
        let id = frame["id"].as_u64().ok_or_else(|| format!("no answer: {}", text(line)))?;
        let line = text(line);
        if !known.insert(id) {
            return Err(format!("answered twice: {line}"));
        }
        if id == 0 && frame.get("result").is_some() || line == answer(id) {
            answers += 1;
        } else if id != 0 && line == lost_call(&id.to_string()) {
            errors += 1;
        } else {
            return Err(format!("an invented answer: {line}"));
        }
    }
    // A launcher does not notice the death of the server before its own input moves or ends.
    let restarted =
        plan.victim == Victim::Server && plan.restart && plan.kind != Kind::Launched && known.contains(&0);
    let survived = !killed || restarted;
    if survived && known.len() as u64 != REQUESTS {
        return Err(format!("{} of {REQUESTS} requests were answered", known.len()));
    }
    Ok([answers, errors, u64::from(!rest.is_empty())])
}

/// The host: asks, keeps every byte that comes, and ends its input when all is answered or nothing more comes.
fn host(got: &str, argv: &[String]) -> ExitCode {
    let mut child =
        Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (answered, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut kept = std::fs::OpenOptions::new().append(true).open(PathBuf::from(got)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut block = vec![0; 64 * 1024];
            while let Ok(n @ 1..) = stdout.read(&mut block) {
                kept.write_all(&block[..n]).unwrap();
                let lines = block[..n].iter().filter(|b| **b == b'\n').count();
                answered.fetch_add(lines as u64, Ordering::SeqCst);
            }
            ended.store(true, Ordering::SeqCst);
        });
        let wait_for = |n: u64| {
            let (mut last, mut since) = (0, Instant::now());
            while answered.load(Ordering::SeqCst) < n && !ended.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_micros(100));
                let now = answered.load(Ordering::SeqCst);
                if std::mem::replace(&mut last, now) != now {
                    since = Instant::now();
                } else if since.elapsed() > PATIENCE {
                    ended.store(true, Ordering::SeqCst);
                }
            }
        };
        for id in 0..REQUESTS {
            wait_for(if id == 1 { 1 } else { id.saturating_sub(WINDOW) });
            let more = if id == 1 { format!("{INITIALIZED}\n") } else { String::new() };
            if ended.load(Ordering::SeqCst)
                || stdin.write_all(format!("{more}{}\n", question(id)).as_bytes()).is_err()
            {
                break;
            }
        }
        wait_for(REQUESTS);
        drop(stdin);
    });
    let _ = child.wait();
    ExitCode::SUCCESS
}
