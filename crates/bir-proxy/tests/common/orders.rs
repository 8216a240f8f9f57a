//! A real control server in this process, with the handle to the work of proxies, and a project that has opted in.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use super::common::*;
use super::remote::{Leg, Stage};
use bir_control::book::{Book, Options as BookOptions};
use bir_control::daemon::{self, End, Options};
use bir_control::log::{Level, Log};
use bir_control::transcript::Transcripts;
use bir_control::work::{Outcome, Pending, Unsent, Work, Works};
use bir_control_client::{Replay, projects};
use bir_testkit::{Eras, HostCommand, Script, TestUpstream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;

/// How the upstream is reached: over stdio in an era, or over a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Stdio(Eras),
    Remote(Leg),
}

impl Way {
    pub const ALL: [Self; 8] = [
        Self::Stdio(Eras::Legacy),
        Self::Stdio(Eras::Modern),
        Self::Remote(Leg::Json),
        Self::Remote(Leg::Events),
        Self::Remote(Leg::Sse),
        Self::Remote(Leg::FoundSse),
        Self::Remote(Leg::Modern),
        Self::Remote(Leg::ModernEvents),
    ];

    pub fn is_modern(self) -> bool {
        match self {
            Self::Stdio(era) => era == Eras::Modern,
            Self::Remote(leg) => leg.is_modern(),
        }
    }
}

/// A state directory, and a project that has opted in.
pub struct World {
    dir: tempfile::TempDir,
}

/// A control server, until it is dropped.
pub struct Serving {
    pub works: Works,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<End>>,
}

impl World {
    pub fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(world.dir.path().join("project")).unwrap();
        bir_home::ensure(&world.home()).unwrap();
        projects::add(&world.home(), &world.project()).unwrap();
        projects::set_replay(&world.home(), &world.project(), true).unwrap();
        world
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.dir.path().join("project").canonicalize().unwrap()
    }

    pub fn serve(&self) -> Serving {
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
        Serving { works: works.recv_timeout(BUDGET).unwrap(), stop, thread: Some(thread) }
    }

    /// The proxy in front of an upstream, with the test as its host.
    pub fn stage(&self, script: &Script, way: Way) -> Stage {
        self.stage_with(script, way, |command| command)
    }

    pub fn stage_with(
        &self,
        script: &Script,
        way: Way,
        change: impl FnOnce(HostCommand) -> HostCommand,
    ) -> Stage {
        let mine = |command: HostCommand| {
            change(command.env("BIR_HOME", self.home()).env_remove("BIR_REPLAY").dir(self.project()))
        };
        match way {
            Way::Remote(leg) => Stage::with(script, leg, mine),
            Way::Stdio(era) => {
                let mut script = script.clone();
                script.era = era;
                let up = TestUpstream::new(script).unwrap();
                let host = mine(proxy(&[], &up.command())).start().unwrap();
                Stage { host, up, server: None }
            }
        }
    }

    /// Over stdio, with options of the proxy.
    pub fn stdio(&self, script: &Script, options: &[&str]) -> Stage {
        let up = TestUpstream::new(script.clone()).unwrap();
        let options: Vec<String> = options.iter().map(|&option| option.into()).collect();
        let command = proxy(&options, &up.command()).env("BIR_HOME", self.home()).env_remove("BIR_REPLAY");
        let host = command.dir(self.project()).start().unwrap();
        Stage { host, up, server: None }
    }

    pub fn work(&self, tool: &str, arguments: &str) -> Work {
        Work {
            project: self.project(),
            server: "x".into(),
            session: None,
            tool: tool.into(),
            arguments: arguments.into(),
            budget: Duration::from_secs(20),
            plan: None,
            step: None,
        }
    }
}

impl Serving {
    pub fn submit(&self, work: Work) -> Pending {
        self.works.submit(work)
    }

    pub fn run(&self, work: Work) -> Outcome {
        self.submit(work).wait()
    }

    /// Waits until a proxy asks for work.
    pub fn ready(&self, world: &World) {
        let none = Work { budget: Duration::ZERO, ..world.work("never", "{}") };
        wait_until("a proxy asks for work", || self.run(none.clone()) != Outcome::NotSent(Unsent::NoProxy));
    }

    pub fn end(mut self) {
        self.stop.notify_one();
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The handshake, and the question which tools there are: the proxy introduces itself then.
pub fn open(stage: &mut Stage) {
    if stage.is_modern() {
        let discover = stage.request("\"d\"", "server/discover", "");
        assert!(stage.ask(discover).contains("\"result\""));
    }
    stage.open();
    let list = stage.request("\"l\"", "tools/list", "");
    assert!(stage.ask(list).contains("\"echo\""));
}

/// The messages that reached the upstream and are none of the host's.
pub fn ours(stage: &Stage) -> Vec<String> {
    stage.received().into_iter().filter(|line| line.contains("\"bir:")).collect()
}
