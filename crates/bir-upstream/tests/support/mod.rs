//! A scripted HTTP server on raw TCP, and an inbox that collects. Shared by the tests of this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bir_net::{Proxies, Target};
use bir_upstream::headers::UpstreamHeaders;
use bir_upstream::http::{HttpOptions, HttpUpstream, Inbox, LargeMessage, Transport};
use bir_wire::{Message, Scanner};
use bytes::Bytes;
use http::HeaderValue;
use tokio::sync::mpsc;

/// How long a test waits for something that must happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub connection: usize,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn rpc_method(&self) -> String {
        self.json()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub fn id(&self) -> String {
        self.json()["id"].to_string()
    }
}

/// One accepted connection.
pub struct Conn {
    pub stream: TcpStream,
}

impl Conn {
    pub fn raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
        let _ = self.stream.flush();
    }

    pub fn respond(&mut self, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut all = head.into_bytes();
        all.extend_from_slice(body);
        self.raw(&all);
    }

    pub fn json(&mut self, body: &str) {
        self.respond(200, &[("Content-Type", "application/json")], body.as_bytes());
    }

    pub fn accepted(&mut self) {
        self.respond(202, &[], b"");
    }

    /// Begins an event stream in chunked coding.
    pub fn events(&mut self, headers: &[(&str, &str)]) {
        let mut head =
            "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n".to_owned();
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.raw(head.as_bytes());
    }

    pub fn chunk(&mut self, bytes: &[u8]) {
        let mut all = format!("{:x}\r\n", bytes.len()).into_bytes();
        all.extend_from_slice(bytes);
        all.extend_from_slice(b"\r\n");
        self.raw(&all);
    }

    pub fn end_chunks(&mut self) {
        self.raw(b"0\r\n\r\n");
    }

    /// Waits until the client closes; `false` when it did not within the time.
    pub fn closed_by_client(&mut self) -> bool {
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        matches!(self.stream.read(&mut [0; 64]), Ok(0) | Err(_)) && {
            self.stream.set_read_timeout(None).unwrap();
            true
        }
    }
}

/// A server whose handler answers each request on a thread of its connection.
pub struct Server {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub connections: Arc<AtomicUsize>,
}

/// What a handler wants to happen to the connection.
pub enum Then {
    Keep,
    Close,
}

impl Server {
    pub fn start(handler: impl Fn(&Seen, &mut Conn) -> Then + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (log, count, handler) = (seen.clone(), connections.clone(), Arc::new(handler));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                stream.set_nodelay(true).unwrap();
                let number = count.fetch_add(1, Ordering::SeqCst);
                let (log, handler) = (log.clone(), handler.clone());
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let mut conn = Conn { stream };
                    while let Some(request) = read_request(&mut reader, number) {
                        log.lock().unwrap().push(request.clone());
                        if let Then::Close = handler(&request, &mut conn) {
                            break;
                        }
                    }
                    let _ = conn.stream.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        Self { port, seen, connections }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many requests came. Copies nothing, for large numbers.
    pub async fn wait_until(&self, count: usize) {
        let start = std::time::Instant::now();
        while self.seen.lock().unwrap().len() < count {
            assert!(start.elapsed() < 2 * PATIENCE, "waited for {count} requests");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until `count` requests match.
    pub async fn wait_for(&self, count: usize, what: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let start = std::time::Instant::now();
        loop {
            let found: Vec<_> = self.seen().into_iter().filter(&what).collect();
            if found.len() >= count {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "waited for {count} requests, saw {:#?}", self.seen());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut parts = line.split_whitespace();
    let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let mut body = Vec::new();
    if let Some(length) = header("content-length") {
        body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
    } else if header("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).ok()?;
            chunk.truncate(length);
            if length == 0 {
                break;
            }
            body.extend_from_slice(&chunk);
        }
    }
    Some(Seen { connection, method, path, headers, body })
}

/// What arrived at the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Message(String),
    Large { length: usize, complete: bool, largest_piece: usize },
    Note(String),
}

pub struct Collect(mpsc::UnboundedSender<Got>);

pub struct CollectLarge {
    to: mpsc::UnboundedSender<Got>,
    length: usize,
    largest_piece: usize,
    complete: bool,
}

impl Inbox for Collect {
    type Large = CollectLarge;

    async fn message(&self, bytes: Bytes, _: &Message<'_>) {
        let _ = self.0.send(Got::Message(String::from_utf8_lossy(&bytes).into_owned()));
    }

    async fn open(&self, _: &bir_wire::Envelope, _: bool) -> CollectLarge {
        CollectLarge { to: self.0.clone(), length: 0, largest_piece: 0, complete: false }
    }

    fn note(&self, text: &str) {
        let _ = self.0.send(Got::Note(text.to_owned()));
    }
}

impl LargeMessage for CollectLarge {
    async fn piece(&mut self, bytes: Bytes) {
        assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'));
        self.length += bytes.len();
        self.largest_piece = self.largest_piece.max(bytes.len());
    }

    async fn end(mut self, _: &Message<'_>) {
        self.complete = true;
    }
}

impl Drop for CollectLarge {
    fn drop(&mut self) {
        let _ = self.to.send(Got::Large {
            length: self.length,
            complete: self.complete,
            largest_piece: self.largest_piece,
        });
    }
}

/// The host's end of an upstream.
pub struct Host {
    pub upstream: HttpUpstream<Collect>,
    from: mpsc::UnboundedReceiver<Got>,
    pub notes: Vec<String>,
}

pub fn options(url: &str) -> HttpOptions {
    HttpOptions {
        target: Target::parse(url).unwrap(),
        transport: Transport::Auto,
        headers: UpstreamHeaders::default(),
        connect_timeout: Duration::from_secs(5),
        max_message_bytes: None,
        keep: 0,
        proxies: Proxies::none(),
        user_agent: HeaderValue::from_static("test"),
    }
}

impl Host {
    pub fn new(options: HttpOptions) -> Self {
        let (to, from) = mpsc::unbounded_channel();
        Self { upstream: HttpUpstream::new(options, Collect(to)), from, notes: Vec::new() }
    }

    pub fn at(url: &str) -> Self {
        Self::new(options(url))
    }

    pub async fn send(&self, text: &str) {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(&bytes);
        self.upstream.send(bytes.clone(), &message).await;
    }

    pub async fn any(&mut self) -> Got {
        tokio::time::timeout(PATIENCE, self.from.recv()).await.expect("something arrives in time").unwrap()
    }

    /// The next message; notes are put aside.
    pub async fn message(&mut self) -> String {
        loop {
            match self.any().await {
                Got::Message(text) => return text,
                Got::Note(text) => self.notes.push(text),
                large @ Got::Large { .. } => panic!("{large:?} instead of a message"),
            }
        }
    }

    pub async fn note(&mut self) -> String {
        match self.any().await {
            Got::Note(text) => text,
            other => panic!("{other:?} instead of a note"),
        }
    }

    /// The next message or note.
    pub async fn message_or_note(&mut self) -> String {
        match self.any().await {
            Got::Message(text) | Got::Note(text) => text,
            large @ Got::Large { .. } => panic!("{large:?} instead of text"),
        }
    }

    /// Whatever has arrived by now.
    pub fn arrived(&mut self) -> Vec<Got> {
        std::iter::from_fn(|| self.from.try_recv().ok()).collect()
    }

    pub async fn ask(&mut self, text: &str) -> String {
        self.send(text).await;
        self.message().await
    }

    /// A legacy handshake with a server that answers it with one message.
    pub async fn shake_hands(&mut self) -> String {
        let answer = self.ask(INITIALIZE).await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }
}

pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Runs a test on the runtime that the relay uses.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test ends")
    });
}

/// Lets this process have so many files open.
pub fn allow_files(count: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current.is_some_and(|current| current < count) {
            limit.current = Some(limit.maximum.map_or(count, |most| most.min(count)));
            setrlimit(Resource::Nofile, limit).unwrap();
        }
    }
}

/// Answers the handshake of a plain legacy server; `None` for anything else.
pub fn handshake(request: &Seen, conn: &mut Conn, session: &str) -> Option<Then> {
    let method = request.rpc_method();
    if request.method == "POST" && method == "initialize" {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#,
            request.id()
        );
        conn.respond(
            200,
            &[("Content-Type", "application/json"), ("Mcp-Session-Id", session)],
            body.as_bytes(),
        );
    } else if request.method == "POST" && method == "notifications/initialized" {
        conn.accepted();
    } else if request.method == "GET" && request.header("last-event-id").is_none() {
        conn.respond(405, &[], b"");
    } else if request.method == "DELETE" {
        conn.respond(204, &[], b"");
    } else {
        return None;
    }
    Some(Then::Keep)
}

pub fn ok(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#)
}

pub fn call(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":1}}}}}}"#
    )
}
