//! An HTTP server of which a test has every byte in hand. Bodies are read in pieces and hashed, whatever their size.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Bytes of a body that are kept.
const KEPT: usize = 4096;

/// One request as it came.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Request line and headers in lower case.
    pub head: String,
    /// The beginning of the body.
    pub body: String,
    /// Length and hash of the whole body.
    pub sum: (u64, u64),
}

/// Length and hash of bytes, however they are cut.
pub struct Sum {
    hasher: DefaultHasher,
    length: u64,
    block: Vec<u8>,
}

impl Sum {
    /// Bytes that are hashed at once, so that the hash does not depend on how they come.
    const BLOCK: usize = 64 * 1024;

    pub fn new() -> Self {
        Self { hasher: DefaultHasher::new(), length: 0, block: Vec::with_capacity(Self::BLOCK) }
    }

    pub fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(Self::BLOCK - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == Self::BLOCK {
                self.hasher.write(&self.block);
                self.block.clear();
            }
        }
    }

    pub fn end(mut self) -> (u64, u64) {
        self.hasher.write(&self.block);
        (self.length, self.hasher.finish())
    }
}

/// Length and hash of a message that comes in pieces.
pub fn sum(pieces: impl IntoIterator<Item = Vec<u8>>) -> (u64, u64) {
    let mut sum = Sum::new();
    pieces.into_iter().for_each(|piece| sum.add(&piece));
    sum.end()
}

/// A server on a free port of this machine, one thread for each connection. It lives as long as the test program.
pub struct RawServer {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl RawServer {
    /// `answer` writes the answer to one request; `false` closes the connection.
    pub fn start(answer: impl Fn(&Asked, &mut TcpStream) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (noted, counted, answer) = (asked.clone(), connections.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, SeqCst);
                let (noted, answer) = (noted.clone(), answer.clone());
                std::thread::spawn(move || {
                    let mut reader = BufReader::with_capacity(64 * 1024, stream.try_clone().unwrap());
                    while let Some(request) = read(&mut reader) {
                        noted.lock().unwrap().push(request.clone());
                        if !answer(&request, &mut stream) {
                            let _ = stream.shutdown(std::net::Shutdown::Both);
                            return;
                        }
                    }
                });
            }
        });
        Self { port, asked, connections }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many connections have been made.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut asked = Asked::default();
    while !asked.head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut asked.head).ok()? == 0 {
            return None;
        }
    }
    let original = std::mem::take(&mut asked.head);
    asked.head = original.to_ascii_lowercase();
    let (mut sum, mut kept) = (Sum::new(), Vec::new());
    let mut take = |reader: &mut BufReader<TcpStream>, mut left: usize| -> Option<()> {
        while left > 0 {
            let block = reader.fill_buf().ok()?;
            let n = block.len().min(left);
            if n == 0 {
                return None;
            }
            sum.add(&block[..n]);
            kept.extend_from_slice(&block[..n.min(KEPT.saturating_sub(kept.len()))]);
            reader.consume(n);
            left -= n;
        }
        Some(())
    };
    if let Some(length) = asked.head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        take(reader, length.parse().ok()?)?;
    } else if asked.head.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            take(reader, length)?;
            reader.read_exact(&mut [0; 2]).ok()?;
            if length == 0 {
                break;
            }
        }
    }
    asked.body = String::from_utf8_lossy(&kept).into_owned();
    asked.sum = sum.end();
    Some(asked)
}

/// A whole answer.
pub fn whole(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> bool {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).is_ok()
}

/// A JSON answer.
pub fn json(stream: &mut TcpStream, body: &str) -> bool {
    whole(stream, 200, "Content-Type: application/json\r\n", body)
}

/// What a server with a legacy session does with handshake, GET and DELETE; `None` for all else.
pub fn shake_hands(asked: &Asked, stream: &mut TcpStream) -> Option<bool> {
    if asked.body.contains("\"initialize\"") {
        let body = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#;
        let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
        Some(whole(stream, 200, headers, body))
    } else if asked.body.contains("notifications/") {
        Some(whole(stream, 202, "", ""))
    } else if !asked.head.starts_with("post") {
        Some(whole(stream, 405, "", ""))
    } else {
        None
    }
}
