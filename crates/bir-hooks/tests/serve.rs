//! The control server as a process: one a user, in the background, until it is told to end.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_control_client::{Contact, Control, Discovery, Token, ask, projects, stopped_file};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.project()).unwrap();
        projects::add(&home.state(), &home.project()).unwrap();
        home
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn project(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("p")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bir-hooks"));
        command.args(args).env_clear().env("BIR_HOME", self.state()).env("BIR_LOG", "info");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn said(&self) -> Discovery {
        Discovery::read(&projects::file_of(&self.state(), &self.project())).unwrap()
    }

    fn contact(&self) -> Option<Contact> {
        let said = self.said();
        Some(Contact { url: said.url?, token: Token::new(said.token?), pid: said.pid, file: None })
    }

    /// Waits until the process that is meant serves.
    fn served_by(&self, pid: u32) -> Contact {
        wait("the control server", || self.said().pid == Some(pid));
        let contact = self.contact().unwrap();
        ask(&contact).unwrap();
        contact
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.state().join("logs/control.log")).unwrap_or_default()
    }
}

/// A process that ends with the test.
struct Serving(Child);

impl Serving {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait("the end", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait(what: &str, mut ready: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !ready() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn it_serves_in_a_session_of_its_own_and_ends_cleanly() {
    let home = Home::new();
    let mut server = Serving::start(&mut home.command(&["serve", "--detached"]));
    let contact = home.served_by(server.0.id());
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.0.id())).unwrap();
    let session = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(3).unwrap().to_owned();
    assert_eq!(session, server.0.id().to_string());
    // A second one finds it and leaves it alone.
    assert!(Serving::start(&mut home.command(&["serve"])).ended().success());
    assert!(ask(&contact).is_ok());
    let start = Instant::now();
    server.signal(rustix::process::Signal::TERM);
    assert!(server.ended().success());
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let said = home.said();
    assert_eq!((said.url, said.token, said.pid, said.project), (None, None, None, Some(home.project())));
    assert!(home.log().contains("ended: Told"), "{}", home.log());
    for private in ["control/serve.lock", "logs/control.log"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(home.state().join(private)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{private}");
    }
}

#[test]
fn a_killed_one_is_followed_by_another_with_another_token() {
    let home = Home::new();
    let mut first = Serving::start(&mut home.command(&["serve"]));
    let before = home.served_by(first.0.id());
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    assert_eq!(home.contact(), Some(before.clone()), "nobody could take it out");
    let second = Serving::start(&mut home.command(&["serve"]));
    let after = home.served_by(second.0.id());
    assert_ne!(before.token, after.token);
}

#[test]
fn what_was_stopped_is_started_by_force_alone() {
    let home = Home::new();
    std::fs::write(stopped_file(&home.state()), "").unwrap();
    assert_eq!(Serving::start(&mut home.command(&["serve"])).ended().code(), Some(1));
    assert_eq!(Serving::start(&mut home.command(&["revive"])).ended().code(), Some(1));
    let forced = Serving::start(&mut home.command(&["serve", "--force"]));
    home.served_by(forced.0.id());
}

#[test]
fn revive_starts_it_and_waits_until_it_answers() {
    let home = Home::new();
    let mut revive = home.command(&["revive"]);
    let said = revive.stdout(Stdio::piped()).output().unwrap();
    assert!(said.status.success());
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "the control server was started\n");
    let contact = home.contact().unwrap();
    let said = revive.output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "the control server runs\n");
    let pid = rustix::process::Pid::from_raw(contact.pid.unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait("the end", || home.said().pid.is_none());
}

#[test]
fn it_ends_by_itself_when_nobody_wants_anything() {
    let home = Home::new();
    let mut server = Serving::start(home.command(&["serve"]).env("BIR_CONTROL_IDLE_S", "1"));
    assert!(server.ended().success());
    assert_eq!(home.said().pid, None);
}

#[test]
fn where_it_is_switched_off_nothing_is_kept() {
    let home = Home::new();
    let server = Serving::start(&mut home.command(&["serve"]));
    let control = Control::new(&home.served_by(server.0.id())).unwrap();
    let tell = || -> Value {
        let event = json!({
            "event": "note", "name": "x", "id": "1", "host": { "app": "claude-code" }, "via": "claude-code",
            "sessionId": "s", "cwd": home.project(), "join": "call_id", "at": 1,
        });
        control.post_blocking("/session/note", &event, Duration::from_secs(5)).unwrap()
    };
    let journal = home.state().join("control/journal");
    let kept = || std::fs::read_dir(&journal).unwrap().count();
    std::fs::write(home.state().join("off"), format!("{}\n", home.project().display())).unwrap();
    tell();
    assert_eq!(kept(), 0);
    std::fs::remove_file(home.state().join("off")).unwrap();
    wait("the recording", || {
        tell();
        kept() > 0
    });
}

#[test]
fn an_older_one_is_asked_to_end_and_the_newer_one_takes_its_place() {
    let home = Home::new();
    let control = home.state().join("control");
    let lock = std::fs::File::create(control.join("serve.lock")).unwrap();
    lock.lock().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let said = json!({ "url": url, "token": "t", "pid": std::process::id(), "version": "0.0.1" });
    std::fs::write(control.join("serve.json"), said.to_string()).unwrap();
    // An older control server, as far as it is asked.
    let older = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (Vec::new(), 0);
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = n.parse().unwrap();
                }
                head.push(line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            assert!(head.iter().any(|line| line.eq_ignore_ascii_case("authorization: bearer t")));
            let answer = r#"{"version":"0.0.1","apiVersion":1}"#;
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
            asked.push((head[0].clone(), String::from_utf8(body).unwrap()));
            if head[0].starts_with("POST /shutdown") {
                break;
            }
        }
        drop(lock);
        asked
    });
    let newer = Serving::start(&mut home.command(&["serve"]));
    let asked = older.join().unwrap();
    assert_eq!(asked.last().unwrap().1, r#"{"reason":"upgrade"}"#);
    home.served_by(newer.0.id());
}
