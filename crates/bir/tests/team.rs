//! `bir login` and `bir logout` with a real team's hub.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_testkit::bins;
use common::{Home, Said};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const EMAIL: &str = "a@example.com";
const PASSWORD: &str = "correct horse";
/// The hub has so long to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// A team's hub with one person, which ends with the test.
struct Team {
    child: Child,
    address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Team {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}", dir.path().join("team.db").display());
        let program = bins::bin("bir-hub", "bir-hub").unwrap();
        let add = ["user", "add", "--email", EMAIL, "--store", &store];
        with_stdin(hub(&program, dir.path()).args(add), PASSWORD).ok();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = hub(&program, dir.path())
            .args(["serve", "--store", &store, "--listen", &address.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let team = Self { child, address, _dir: dir };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < PATIENCE, "the hub does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        team
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The status of an answer.
    fn status(&self, method: &str, path: &str, token: &str, body: &str) -> u16 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hub(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("BIR_HOME", home.join("state")).env("HOME", home);
    command
}

fn with_stdin(command: &mut Command, line: &str) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    Said::from(child.wait_with_output().unwrap())
}

fn sign_in(home: &Home, team: &Team) -> Said {
    let url = team.url();
    let args = ["login", "--server", &url, "--email", EMAIL, "--password-stdin"];
    with_stdin(&mut home.command(&args), PASSWORD)
}

/// The access token and the refresh token that are kept.
fn tokens(home: &Home, team: &Team) -> (String, String) {
    let kept = std::fs::read(home.state().join("credentials.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    let login = &kept["servers"][team.url()];
    let text = |key: &str| login[key].as_str().unwrap().to_owned();
    (text("accessToken"), text("refreshToken"))
}

#[test]
fn whoever_signs_out_leaves_no_token_that_works() {
    let (team, home) = (Team::new(), Home::new());
    assert!(sign_in(&home, &team).err.contains("a@example.com is signed in at"));
    let (access, refresh) = tokens(&home, &team);
    assert_eq!(team.status("GET", "/me", &access, ""), 200);
    let said = home.bir(&["logout"]);
    assert_eq!((said.status, said.err.as_str()), (Some(0), &*format!("signed out of {}\n", team.url())));
    assert_eq!(team.status("GET", "/me", &access, ""), 401);
    let body = serde_json::json!({ "refreshToken": refresh }).to_string();
    assert_eq!(team.status("POST", "/auth/refresh", "", &body), 401);
    let kept = std::fs::read_to_string(home.state().join("credentials.json")).unwrap();
    assert!(!kept.contains(&access) && !kept.contains(&refresh), "{kept}");

    // As JSON, and after the access token has been renewed: the whole sign-in ends.
    sign_in(&home, &team).ok();
    let (access, refresh) = tokens(&home, &team);
    let body = serde_json::json!({ "refreshToken": refresh }).to_string();
    assert_eq!(team.status("POST", "/auth/refresh", "", &body), 200);
    let done = home.bir(&["logout", "--json"]).json();
    assert_eq!((&done["removed"], &done["revoked"]), (&true.into(), &true.into()));
    assert_eq!(team.status("GET", "/me", &access, ""), 401);
    assert_eq!(home.bir(&["logout"]).err, "nobody is signed in\n");
}
