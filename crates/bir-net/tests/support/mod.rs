//! A raw TCP server for tests: each connection is given to a function.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bir_net::{Client, ClientOptions, Error, Proxies, Request, RequestBody, Response, Target};
use http::Method;

/// Reads one request, head and body, as text. `None` at the end of the connection.
pub fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    text.extend_from_slice(&body);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A listening server.
pub struct Server {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<String>>>,
    pub connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request on each connection with what `answer` returns; `None` closes the connection.
    pub fn start(answer: impl Fn(usize, &str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::raw(move |number, mut stream, seen| {
            while let Some(request) = read_request(&mut stream) {
                seen.lock().unwrap().push(request.clone());
                match answer(number, &request) {
                    Some(bytes) => drop(stream.write_all(&bytes)),
                    None => return,
                }
            }
        })
    }

    pub fn raw(serve: impl Fn(usize, TcpStream, Arc<Mutex<Vec<String>>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (log, count, serve) = (seen.clone(), connections.clone(), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let (log, serve) = (log.clone(), serve.clone());
                std::thread::spawn(move || serve(number, stream, log));
            }
        });
        Self { port, seen, connections }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/x", self.port)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

pub fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut all = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    all.extend_from_slice(body);
    all
}

pub fn client(proxies: Proxies) -> Client {
    Client::new(ClientOptions {
        connect_timeout: Duration::from_secs(5),
        proxies,
        ..ClientOptions::default()
    })
}

pub fn get(url: &str) -> Request {
    Request::new(Method::GET, Target::parse(url).unwrap())
}

pub fn post(url: &str, body: &str) -> Request {
    let mut request = Request::new(Method::POST, Target::parse(url).unwrap());
    request.body = RequestBody::whole(body.to_owned());
    request
}

pub async fn text(response: Result<Response, Error>) -> String {
    let bytes = response.unwrap().head_of_body(1 << 20).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(30), test).await.expect("the test ends") })
}
