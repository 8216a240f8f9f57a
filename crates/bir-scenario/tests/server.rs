//! `bir-scenario` as a host starts it, with a real control server or with one that never answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use bir_control::book::{Book, Options as BookOptions};
use bir_control::daemon::{self, Options};
use bir_control::log::{Level, Log};
use bir_control::transcript::Transcripts;
use bir_control::work::Works;
use bir_control_client::{Discovery, Replay, projects};
use bir_testkit::{HostCommand, StdioHost};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const BUDGET: Duration = Duration::from_secs(30);
const NOTHING: &str = "Nothing to run for this request; continue normally.";
const UNAVAILABLE: &str =
    "The prepared results are not available for this request. Do the task normally with your tools.";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(world.0.path().join("project")).unwrap();
        bir_home::ensure(&world.home()).unwrap();
        world
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project").canonicalize().unwrap()
    }

    fn host(&self) -> StdioHost {
        self.host_with(&[])
    }

    fn host_with(&self, env: &[(&str, &str)]) -> StdioHost {
        let mut command = HostCommand::new(env!("CARGO_BIN_EXE_bir-scenario"))
            .env("BIR_HOME", self.home())
            .env_remove("BIR_OFF")
            .dir(self.project());
        for (name, value) in env {
            command = command.env(name, value);
        }
        command.start().unwrap()
    }

    fn serve(&self) -> (Works, Arc<Notify>, std::thread::JoinHandle<daemon::End>) {
        projects::add(&self.home(), &self.project()).unwrap();
        let (give, works) = channel();
        let stop = Arc::new(Notify::new());
        let options = Options {
            state_dir: self.home(),
            version: "0.1.0".into(),
            force: false,
            idle: Duration::from_secs(3600),
            log: Log::to_stderr(Some(Level::Warn)),
            stop: Arc::clone(&stop),
            replay: Replay::ByProject,
            works: Some(give),
        };
        let book = Book::new(BookOptions {
            version: "0.1.0".into(),
            project_of: bir_control_client::project_of,
            zone: bir_record::Zone::system,
            injection: None,
        });
        let thread = std::thread::spawn(move || daemon::serve(options, book, Transcripts::new()).unwrap());
        (works.recv_timeout(BUDGET).unwrap(), stop, thread)
    }

    /// Somebody listens, takes everything, and says nothing.
    fn served_by_the_silent(&self) -> TcpListener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let file = projects::add(&self.home(), &self.project()).unwrap();
        let found = Discovery::read(&file).unwrap();
        let url = Some(format!("http://{}", listener.local_addr().unwrap()));
        Discovery { url, token: Some("t".into()), ..found }.write(&file).unwrap();
        listener
    }
}

fn ask(host: &mut StdioHost, line: &str) -> Value {
    serde_json::from_slice(&host.ask(line, BUDGET).unwrap()).unwrap()
}

fn open(host: &mut StdioHost) {
    let init = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    assert_eq!(ask(host, init)["result"]["serverInfo"]["name"], "bir");
    host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
}

fn call(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"run_scenario","arguments":{{}},"_meta":{{"claudecode/toolUseId":"toolu_1"}}}}}}"#
    )
}

fn read(answer: &Value) -> (&str, bool) {
    let result = &answer["result"];
    (result["content"][0]["text"].as_str().unwrap(), result["isError"].as_bool().unwrap())
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + BUDGET;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn without_a_control_server_there_is_nothing_to_run() {
    let world = World::new();
    let mut host = world.host();
    open(&mut host);
    assert_eq!(read(&ask(&mut host, &call("1"))), (NOTHING, false));
    // A discovery file of one that is dead.
    drop(world.served_by_the_silent());
    assert_eq!(read(&ask(&mut host, &call("2"))), (NOTHING, false));
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn a_control_server_without_a_plan_says_so_and_knows_that_somebody_delivers() {
    let world = World::new();
    let (works, stop, thread) = world.serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let delivers = || runtime.block_on(works.delivers(world.project()));
    assert!(!delivers());
    let mut host = world.host();
    open(&mut host);
    let listed = ask(&mut host, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
    wait("a hello", delivers);
    assert_eq!(read(&ask(&mut host, &call("2"))), (NOTHING, false));
    wait("a line in the log", || host.stderr_text().contains("scenario.answered: no_plan"));
    // The modern era, without a handshake.
    let mut modern = world.host();
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"run_scenario","arguments":{{}},{META}}}}}"#
    );
    let answer = ask(&mut modern, &line);
    assert_eq!(read(&answer), (NOTHING, false));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(modern.finish(BUDGET).unwrap(), 0);
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    wait("it is gone", || !delivers());
    stop.notify_one();
    thread.join().unwrap();
}

#[test]
fn one_that_never_answers_is_not_waited_for_and_a_call_can_be_withdrawn() {
    let world = World::new();
    let _silent = world.served_by_the_silent();
    let mut host = world.host_with(&[("BIR_SCENARIO_RUN_TIMEOUT_MS", "300")]);
    open(&mut host);
    assert_eq!(read(&ask(&mut host, &call("1"))), (UNAVAILABLE, false));
    host.send(call("\"gone\"")).unwrap();
    host.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}"#)
        .unwrap();
    let pong = ask(&mut host, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert_eq!(pong, json!({ "jsonrpc": "2.0", "id": 3, "result": {} }));
    wait("it is withdrawn", || host.stderr_text().contains("scenario.cancelled"));
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert!(!String::from_utf8_lossy(&host.stdout()).contains("gone"));
    // For whoever looks for a fault.
    let mut host = world.host_with(&[("BIR_SCENARIO_DEBUG", "1")]);
    open(&mut host);
    let answer = ask(&mut host, &call("1"));
    assert!(read(&answer).0.contains("no answer") && read(&answer).1, "{answer}");
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn while_it_is_off_there_is_no_tool_and_the_host_is_told_of_the_change() {
    let world = World::new();
    let mut host = world.host();
    open(&mut host);
    let list = |host: &mut StdioHost, id: u32| {
        let answer = ask(host, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
        answer["result"]["tools"].as_array().unwrap().len()
    };
    assert_eq!(list(&mut host, 1), 1);
    std::fs::write(world.home().join("off"), "").unwrap();
    let told = host.line(BUDGET).unwrap();
    assert!(String::from_utf8_lossy(&told).contains("notifications/tools/list_changed"));
    assert_eq!(list(&mut host, 2), 0);
    assert_eq!(read(&ask(&mut host, &call("3"))), (NOTHING, false));
    std::fs::remove_file(world.home().join("off")).unwrap();
    host.line(BUDGET).unwrap();
    assert_eq!(list(&mut host, 4), 1);
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn whatever_a_host_says_it_goes_on() {
    let world = World::new();
    let mut host = world.host();
    host.send("x".repeat(3 * 1024 * 1024)).unwrap();
    host.send("").unwrap();
    let broken = ask(&mut host, "{\"id\":");
    assert_eq!(broken["error"]["code"], -32700);
    open(&mut host);
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}
