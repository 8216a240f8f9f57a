//! The reference upstream's Streamable HTTP side: blocking, one thread a connection, keep-alive.

use crate::tools::{Core, Sink, handle};
use bir_bench::locked;
use bir_bench::raw::get;
use std::io::{BufRead, BufReader, Error, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One POST's answer: plain JSON, or an event stream as soon as something precedes the response.
struct Answer {
    socket: Mutex<TcpStream>,
    streaming: AtomicBool,
    session: bool,
}

impl Sink for Answer {
    fn send(&self, message: &[u8], last: bool) {
        let mut out = Vec::with_capacity(message.len() + 256);
        let started = self.streaming.load(Relaxed);
        let session = if self.session { "Mcp-Session-Id: bench-session\r\n" } else { "" };
        if last && !started {
            let n = message.len();
            out.extend_from_slice(
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{session}Content-Length: {n}\r\n\r\n")
                    .as_bytes(),
            );
            out.extend_from_slice(message);
        } else {
            if !started {
                self.streaming.store(true, Relaxed);
                out.extend_from_slice(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
                );
            }
            out.extend_from_slice(format!("{:x}\r\ndata: ", message.len() + 8).as_bytes());
            out.extend_from_slice(message);
            out.extend_from_slice(b"\n\n\r\n");
            if last {
                out.extend_from_slice(b"0\r\n\r\n");
            }
        }
        let _ = locked(&self.socket).write_all(&out);
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn send(&self, _message: &[u8], _last: bool) {}
}

#[derive(Default)]
struct Head {
    verb: String,
    length: usize,
    chunked: bool,
    expects: bool,
}

/// The next request's head; nothing at the end of the connection.
fn head(rd: &mut BufReader<TcpStream>) -> Result<Option<Head>, Error> {
    let mut line = String::new();
    if rd.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut h = Head { verb: line.split(' ').next().unwrap_or("").into(), ..Head::default() };
    loop {
        line.clear();
        if rd.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let l = line.trim().to_ascii_lowercase();
        if l.is_empty() {
            return Ok(Some(h));
        }
        if let Some(v) = l.strip_prefix("content-length:") {
            h.length = v.trim().parse().map_err(Error::other)?;
        }
        h.chunked |= l.starts_with("transfer-encoding:") && l.contains("chunked");
        h.expects |= l.starts_with("expect:");
    }
}

fn body(rd: &mut BufReader<TcpStream>, h: &Head) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    if !h.chunked {
        body.resize(h.length, 0);
        rd.read_exact(&mut body)?;
        return Ok(body);
    }
    let mut line = String::new();
    loop {
        line.clear();
        if rd.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let n = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
        let at = body.len();
        body.resize(at + n, 0);
        rd.read_exact(&mut body[at..])?;
        rd.read_line(&mut line)?;
        if n == 0 {
            return Ok(body);
        }
    }
}

fn exchange(core: &Core, socket: &TcpStream, h: &Head, body: &[u8]) -> Result<(), Error> {
    if h.verb == "POST" && get(body, "id").is_some() && get(body, "method").is_some() {
        let session = get(body, "method") == Some(b"\"initialize\"");
        let answer =
            Answer { socket: Mutex::new(socket.try_clone()?), streaming: AtomicBool::new(false), session };
        handle(core, body, &answer);
        return Ok(());
    }
    let status = match h.verb.as_str() {
        "POST" => {
            handle(core, body, &Nowhere);
            "202 Accepted"
        }
        "DELETE" => "200 OK",
        _ => "405 Method Not Allowed",
    };
    let mut socket = socket;
    socket.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())
}

/// Serves one connection until it ends or says what is not HTTP.
pub(crate) fn serve(core: &Core, mut socket: TcpStream) {
    let served = || -> Result<(), Error> {
        socket.set_nodelay(true)?;
        let mut rd = BufReader::with_capacity(1 << 16, socket.try_clone()?);
        while let Some(h) = head(&mut rd)? {
            if h.expects {
                socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let body = body(&mut rd, &h)?;
            exchange(core, &socket, &h, &body)?;
        }
        Ok(())
    };
    if let Err(e) = { served }() {
        eprintln!("ref-upstream: {e}");
    }
}
