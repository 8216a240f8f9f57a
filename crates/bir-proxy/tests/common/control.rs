//! A control server as far as a proxy sees one, and a project that is set up for it.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use bir_model::control::{API_VERSION, Envelope, ProxyReport, ProxyWhat, Registration, StepReports};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What it was told.
#[derive(Default)]
pub struct Seen {
    /// Routes in the order in which they were asked for, without `/health`.
    pub routes: Vec<String>,
    pub registrations: Vec<Registration>,
    pub reports: Vec<ProxyReport>,
    /// Everything, as it came.
    pub bodies: String,
    /// So many of the next steps are answered `409`.
    pub forgets: usize,
    /// Replay is on, and polls are never answered.
    pub replay: bool,
}

pub struct Control {
    pub url: String,
    pub token: String,
    seen: Arc<Mutex<Seen>>,
    dead: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Control {
    pub fn start() -> Self {
        Self::of_version(API_VERSION)
    }

    pub fn of_version(api_version: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let token = format!("token-{}", super::common::unique());
        let (seen, dead, streams) = (
            Arc::<Mutex<Seen>>::default(),
            Arc::<AtomicBool>::default(),
            Arc::<Mutex<Vec<TcpStream>>>::default(),
        );
        let accept = {
            let (seen, dead, streams, token) = (seen.clone(), dead.clone(), streams.clone(), token.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    if dead.load(Ordering::SeqCst) {
                        return;
                    }
                    streams.lock().unwrap().push(stream.try_clone().unwrap());
                    let (seen, token) = (seen.clone(), token.clone());
                    std::thread::spawn(move || serve(stream, &seen, &token, api_version));
                }
            }
        };
        let thread = Some(std::thread::spawn(accept));
        Self { url, token, seen, dead, streams, thread }
    }

    /// As if it were killed: nobody listens, and every connection is cut.
    pub fn kill(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.dead.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        thread.join().unwrap();
        self.streams.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    pub fn seen<T>(&self, get: impl FnOnce(&mut Seen) -> T) -> T {
        get(&mut self.seen.lock().unwrap())
    }

    pub fn told(&self) -> Vec<String> {
        self.seen(|seen| seen.reports.iter().map(told).collect())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A report in one line, without its payload.
pub fn told(report: &ProxyReport) -> String {
    let what = match &report.what {
        ProxyWhat::Began { .. } => "began".to_owned(),
        ProxyWhat::Ended { outcome, .. } => outcome.to_string(),
        ProxyWhat::Lost { calls, reason } => format!("lost {calls} {reason}"),
    };
    format!("{} {} {what}", report.call, report.tool)
}

/// A directory that is set up, with its discovery file.
pub struct Project {
    dir: tempfile::TempDir,
    file: PathBuf,
}

impl Project {
    pub fn new(home: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        bir_home::ensure(home).unwrap();
        let file = bir_control_client::projects::add(home, dir.path()).unwrap();
        Self { dir, file }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// It is served there from now on.
    pub fn served(&self, url: &str, token: &str) {
        let file = &self.file;
        let found = bir_control_client::Discovery::read(file).unwrap();
        let (url, token) = (Some(url.to_owned()), Some(token.to_owned()));
        bir_control_client::Discovery { url, token, ..found }.write(file).unwrap();
    }

    pub fn served_by(&self, control: &Control) {
        self.served(&control.url, &control.token);
    }

    /// A port at which nobody listens.
    pub fn served_by_nobody(&self) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.served(&format!("http://{}", listener.local_addr().unwrap()), "t");
    }
}

/// What lies in the inbox of a state directory: who left it, and what.
pub fn inbox(home: &Path) -> Vec<(Registration, Vec<ProxyReport>)> {
    let files = bir_control_client::Inbox::new(home).files();
    let read = files.iter().flat_map(|file| {
        let (messages, damaged) = bir_control_client::Inbox::read(file).unwrap();
        assert_eq!(damaged, 0);
        messages
    });
    read.map(|message| match message {
        Envelope::Proxy { registration, reports } => {
            assert_eq!(registration.proxy_id, reports.proxy_id);
            (*registration, reports.reports)
        }
        Envelope::Hook(event) => panic!("{event:?}"),
    })
    .collect()
}

pub fn inbox_lines(home: &Path) -> Vec<String> {
    inbox(home).iter().flat_map(|(_, reports)| reports.iter().map(told)).collect()
}

fn serve(mut stream: TcpStream, seen: &Mutex<Seen>, token: &str, api_version: u64) {
    let mut held = Vec::new();
    let mut block = [0; 64 * 1024];
    loop {
        let head = loop {
            if let Some(at) = held.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut block) {
                Ok(0) | Err(_) => return,
                Ok(n) => held.extend_from_slice(&block[..n]),
            }
        };
        let text = String::from_utf8_lossy(&held[..head]).into_owned();
        let header = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
        while held.len() < head + length {
            match stream.read(&mut block) {
                Ok(0) | Err(_) => return,
                Ok(n) => held.extend_from_slice(&block[..n]),
            }
        }
        let body = held[head..head + length].to_vec();
        let route = text.split(' ').nth(1).unwrap().to_owned();
        let shows = header("authorization") == Some(format!("Bearer {token}"));
        if route == "/proxy/poll" && seen.lock().unwrap().replay {
            seen.lock().unwrap().routes.push(route);
            while !matches!(stream.read(&mut block), Ok(0) | Err(_)) {}
            return;
        }
        let (status, answer) =
            if shows { answer(&route, &body, seen, api_version) } else { (401, String::new()) };
        held.drain(..head + length);
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(route: &str, body: &[u8], seen: &Mutex<Seen>, api_version: u64) -> (u16, String) {
    let mut seen = seen.lock().unwrap();
    if route != "/health" {
        seen.routes.push(route.to_owned());
    }
    seen.bodies.push_str(std::str::from_utf8(body).unwrap());
    match route {
        "/health" => (200, format!("{{\"apiVersion\":{api_version},\"version\":\"0.1.0\"}}")),
        "/proxy/register" => {
            seen.registrations.push(serde_json::from_slice(body).unwrap());
            let replay = if seen.replay { ",\"replay\":true,\"pollHoldMs\":100" } else { "" };
            (200, format!("{{\"apiVersion\":{api_version}{replay}}}"))
        }
        "/proxy/step" if seen.forgets > 0 => {
            seen.forgets -= 1;
            (409, String::new())
        }
        "/proxy/step" => {
            let told: StepReports = serde_json::from_slice(body).unwrap();
            let count = told.reports.len();
            assert_eq!(Some(&told.proxy_id), seen.registrations.last().map(|known| &known.proxy_id));
            seen.reports.extend(told.reports);
            (200, format!("{{\"taken\":{count}}}"))
        }
        _ => (404, String::new()),
    }
}
