//! A hub that follows a script: each route has its answers, one after another; the last one stays.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request has so long to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is answered.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Status and JSON.
    Json(u16, String),
    /// Status, and a problem with this code and detail.
    Problem(u16, &'static str, &'static str),
    /// 200 with a body that is no JSON.
    Garbage,
    /// A head that promises more than comes.
    Broken(&'static str),
    /// Nothing; the connection stays open.
    Silence,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) token: String,
    pub(crate) body: String,
}

#[derive(Default)]
struct State {
    replies: HashMap<String, Vec<Reply>>,
    asked: Vec<Asked>,
    silent: Vec<TcpStream>,
}

/// The hub.
pub(crate) struct Stub {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Stub {
    /// One that has only `/health`, and answers 404 to everything else.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        let stub = Self { url, state };
        stub.on("GET /health", [Reply::Json(200, health(1))]);
        stub
    }

    /// `route`: method and path without parameters.
    pub(crate) fn on<const N: usize>(&self, route: &str, replies: [Reply; N]) -> &Self {
        self.state.lock().unwrap().replies.insert(route.into(), replies.into());
        self
    }

    /// Requests of a route so far.
    pub(crate) fn asked(&self, route: &str) -> Vec<Asked> {
        let fits = |asked: &&Asked| asked.line.split('?').next() == Some(route);
        self.state.lock().unwrap().asked.iter().filter(fits).cloned().collect()
    }
}

pub(crate) fn health(api: u64) -> String {
    format!(r#"{{"status":"ok","version":"9.9.9","apiVersion":{api},"instance":"i","store":"sqlite"}}"#)
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    // A connection is used once: the next request comes on another.
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut reader = BufReader::new(stream);
    let Some(asked) = request(&mut reader) else { return };
    let mut stream = reader.into_inner();
    let route = asked.line.split('?').next().unwrap_or_default().to_owned();
    let reply = {
        let mut state = state.lock().unwrap();
        state.asked.push(asked);
        match state.replies.get_mut(&route) {
            Some(replies) if replies.len() > 1 => replies.remove(0),
            Some(replies) => replies[0].clone(),
            None => Reply::Problem(404, "not_found", "there is no such thing"),
        }
    };
    let mut answer = |status: u16, kind: &str, body: &str, promised: usize| {
        let retry = if status == 429 { "Retry-After: 1\r\n" } else { "" };
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{retry}Content-Length: {promised}\r\nConnection: close\r\n\r\n{body}"
        );
        let _ = stream.flush();
    };
    match reply {
        Reply::Json(status, body) => answer(status, "application/json", &body, body.len()),
        Reply::Problem(status, code, detail) => {
            let body = serde_json::json!({"code": code, "detail": detail, "status": status}).to_string();
            answer(status, "application/problem+json", &body, body.len());
        }
        Reply::Garbage => answer(200, "text/html", "<html>", 6),
        Reply::Broken(part) => answer(200, "application/json", part, part.len() + 100),
        Reply::Silence => state.lock().unwrap().silent.push(stream),
    }
}

fn request(reader: &mut impl BufRead) -> Option<Asked> {
    let (mut first, mut token, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first).ok()?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    loop {
        let mut head = String::new();
        reader.read_line(&mut head).ok()?;
        let head = head.trim_end();
        if head.is_empty() {
            break;
        }
        let (name, value) = head.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.trim().trim_start_matches("Bearer ").to_owned(),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line, token, body: String::from_utf8_lossy(&body).into_owned() })
}
