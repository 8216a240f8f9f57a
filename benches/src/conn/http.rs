//! A Streamable HTTP session on one keep-alive connection, written out by hand so that every byte is known.

use super::sse::events;
use super::{PROTOCOL, Reply, Seen, answer};
use crate::raw::{get, text};
use crate::{Fail, locked};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For messages whose answer nobody waits for.
const ASIDE: Duration = Duration::from_secs(10);
/// For the end of a session and the opening of its stream.
const SHORT: Duration = Duration::from_secs(2);
/// How long a stream may stay open once the response came.
const LINGER: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Http {
    addr: String,
    path: String,
    session: Option<String>,
    sock: Option<BufReader<TcpStream>>,
    seen: Seen,
    listener: Option<TcpStream>,
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    status: u16,
    sse: bool,
    len: Option<usize>,
    chunked: bool,
    close: bool,
}

impl Http {
    pub(super) fn new(url: &str, seen: Seen) -> Result<Self, Fail> {
        let rest = url.strip_prefix("http://").ok_or(Fail::Other(format!("not an http:// URL: {url}")))?;
        let (addr, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            addr: addr.into(),
            path: format!("/{path}"),
            session: None,
            sock: None,
            seen,
            listener: None,
        })
    }

    /// The same session on a connection of its own.
    fn sibling(&self) -> Self {
        let (addr, path, session) = (self.addr.clone(), self.path.clone(), self.session.clone());
        Self { addr, path, session, sock: None, seen: self.seen.clone(), listener: None }
    }

    fn stop_listening(&mut self) {
        if let Some(s) = self.listener.take() {
            let _ = s.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn end(&mut self) {
        let _ = self.request("DELETE", b"", SHORT);
        self.sock = None; // a gateway may wait for open connections when it is told to end
        self.stop_listening();
    }

    pub(super) fn send(&mut self, line: &[u8]) -> Result<(), Fail> {
        if get(line, "id").is_some() && get(line, "method").is_some() {
            let mut other = self.sibling();
            let line = line.to_vec();
            std::thread::spawn(move || other.post(&line, None, ASIDE));
            return Ok(());
        }
        self.post(line, None, ASIDE).map(|_| ())
    }

    fn write(&mut self, verb: &str, body: &[u8]) -> Result<(), Fail> {
        let mut sock = match self.sock.take() {
            Some(s) => s,
            None => {
                let s = TcpStream::connect(&self.addr).map_err(|e| Fail::Other(e.to_string()))?;
                s.set_nodelay(true)?;
                BufReader::with_capacity(1 << 16, s)
            }
        };
        let accept = if verb == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        let mut m = format!(
            "{verb} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n\
             MCP-Protocol-Version: {PROTOCOL}\r\nContent-Length: {}\r\n",
            self.path,
            self.addr,
            body.len()
        );
        if let Some(s) = &self.session {
            m += &format!("Mcp-Session-Id: {s}\r\n");
        }
        let mut m = m.into_bytes();
        m.extend_from_slice(b"\r\n");
        m.extend_from_slice(body);
        let wrote = sock.get_mut().write_all(&m);
        self.sock = Some(sock);
        Ok(wrote?)
    }

    fn head(&mut self) -> Result<Head, Fail> {
        let rd = self.sock.as_mut().ok_or(Fail::Closed)?;
        let mut line = String::new();
        let mut h = Head::default();
        loop {
            line.clear();
            if rd.read_line(&mut line)? == 0 {
                return Err(Fail::Closed);
            }
            let l = line.trim_end();
            if h.status == 0 {
                h.status = l.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
                continue;
            }
            let Some((k, v)) = l.split_once(':') else {
                if h.status == 100 {
                    h.status = 0;
                    continue;
                }
                return Ok(h);
            };
            let v = v.trim();
            match k.to_ascii_lowercase().as_str() {
                "content-type" => h.sse = v.starts_with("text/event-stream"),
                "content-length" => h.len = v.parse().ok(),
                "transfer-encoding" => h.chunked = v.contains("chunked"),
                "connection" => h.close = v.eq_ignore_ascii_case("close"),
                "mcp-session-id" => self.session = Some(v.into()),
                _ => {}
            }
        }
    }

    /// Appends the next piece of the body; false at its end.
    fn piece(rd: &mut BufReader<TcpStream>, h: &mut Head, buf: &mut Vec<u8>) -> Result<bool, Fail> {
        if h.chunked {
            let mut l = String::new();
            rd.read_line(&mut l)?;
            let size = l.trim().split(';').next().unwrap_or("");
            let n = usize::from_str_radix(size, 16).map_err(|_| Fail::Closed)?;
            let at = buf.len();
            buf.resize(at + n, 0);
            rd.read_exact(&mut buf[at..])?;
            l.clear();
            rd.read_line(&mut l)?;
            return Ok(n > 0);
        }
        let left = h.len.unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(false);
        }
        let chunk = rd.fill_buf()?;
        let n = chunk.len().min(left);
        buf.extend_from_slice(&chunk[..n]);
        rd.consume(n);
        h.len = h.len.map(|l| l - n);
        Ok(n > 0)
    }

    fn request(&mut self, verb: &str, body: &[u8], limit: Duration) -> Result<Head, Fail> {
        let reused = self.sock.is_some();
        let wrote = self.write(verb, body);
        if let Some(s) = &self.sock {
            s.get_ref().set_read_timeout(Some(limit))?;
        }
        let mut r = match wrote {
            Ok(()) => self.head(),
            // Refused before it was all read: the answer may be there already.
            Err(Fail::Closed) if self.sock.is_some() && body.len() > 1 << 16 => self.head(),
            Err(e) => Err(e),
        };
        if reused && r == Err(Fail::Closed) {
            self.sock = None; // the server had closed an idle connection
            r = self.write(verb, body).and_then(|()| self.head());
        }
        if r.is_err() {
            self.sock = None;
        }
        r
    }

    /// Posts one message; the response whose raw id is `want`, if it came on this answer.
    pub(super) fn post(
        &mut self,
        body: &[u8],
        want: Option<&[u8]>,
        limit: Duration,
    ) -> Result<Option<Reply>, Fail> {
        let mut h = self.request("POST", body, limit)?;
        let mut sock = self.sock.take().ok_or(Fail::Closed)?;
        let (mut buf, mut found, mut from) = (Vec::new(), None, 0);
        let deadline = Instant::now() + limit;
        loop {
            if found.is_none() && Instant::now() > deadline {
                return Err(Fail::Timeout); // a stream kept open by comments alone
            }
            let more = match Self::piece(&mut sock, &mut h, &mut buf) {
                Ok(m) => m,
                Err(_) if found.is_some() => return Ok(found), // answered, stream left open: drop it
                Err(e) => return Err(e),
            };
            let at = Instant::now();
            if h.sse {
                for raw in events(&mut buf, &mut from) {
                    if get(&raw, "method").is_none() && want.is_some() && get(&raw, "id") == want {
                        found = Some(Reply { raw, at });
                        sock.get_ref().set_read_timeout(Some(LINGER))?;
                    } else {
                        self.other(raw);
                    }
                }
            } else if !more && !buf.is_empty() {
                let raw = std::mem::take(&mut buf);
                if want.is_some() && get(&raw, "id") == want {
                    found = Some(Reply { raw, at });
                } else if h.status < 300 {
                    self.other(raw);
                } else if want.is_some() {
                    let s: String = text(&raw).chars().take(160).collect();
                    return Err(Fail::Other(format!("HTTP {} {s}", h.status)));
                }
            }
            if !more {
                break;
            }
        }
        if found.is_none() && want.is_some() && h.status >= 300 {
            return Err(Fail::Other(format!("HTTP {}", h.status)));
        }
        if !h.close {
            self.sock = Some(sock);
        }
        Ok(found)
    }

    fn other(&self, raw: Vec<u8>) {
        if let Some(a) = answer(&raw) {
            let mut c = self.sibling();
            std::thread::spawn(move || c.post(&a, None, ASIDE));
        }
        locked(&self.seen).push(raw);
    }

    /// Opens the standalone GET stream, where the server has one.
    pub(super) fn listen(&mut self) {
        let mut c = self.sibling();
        let Ok(mut h) = c.request("GET", b"", SHORT) else { return };
        if h.status != 200 || !h.sse {
            return;
        }
        let Some(mut sock) = c.sock.take() else { return };
        let _ = sock.get_ref().set_read_timeout(None);
        self.listener = sock.get_ref().try_clone().ok();
        std::thread::spawn(move || {
            let (mut buf, mut from) = (Vec::new(), 0);
            while let Ok(true) = Self::piece(&mut sock, &mut h, &mut buf) {
                events(&mut buf, &mut from).into_iter().for_each(|raw| c.other(raw));
            }
        });
    }

    /// See [`super::Conn::blast`]: one connection and thread per call in flight.
    pub(super) fn blast(
        &mut self,
        k: usize,
        until: Instant,
        first: u64,
        line: impl Fn(u64) -> Vec<u8> + Sync,
        limit: Duration,
    ) -> Result<(u64, u64), Fail> {
        let next = AtomicU64::new(first);
        let done: Result<Vec<u64>, Fail> = std::thread::scope(|s| {
            let workers: Vec<_> = (0..k)
                .map(|_| {
                    let (mut c, next, line) = (self.sibling(), &next, &line);
                    s.spawn(move || {
                        let mut n = 0;
                        while Instant::now() < until {
                            let id = next.fetch_add(1, Relaxed);
                            c.post(&line(id), Some(id.to_string().as_bytes()), limit)?
                                .ok_or(Fail::Other("no response".into()))?;
                            n += 1;
                        }
                        Ok(n)
                    })
                })
                .collect();
            let joined = |w: std::thread::ScopedJoinHandle<'_, Result<u64, Fail>>| {
                w.join().unwrap_or(Err(Fail::Other("a worker panicked".into())))
            };
            workers.into_iter().map(joined).collect()
        });
        Ok((done?.iter().sum(), next.into_inner() + 1))
    }
}
