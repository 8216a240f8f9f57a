//! A plain HTTP client for tests: one connection a request, raw bytes in both directions.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// One event of an event stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// `id`, if it had one.
    pub id: Option<String>,
    /// `event`, if it had one.
    pub name: Option<String>,
    /// `retry`, if it had one.
    pub retry: Option<String>,
    /// The `data` lines, joined by newlines.
    pub data: String,
}

/// An answer whose head has been read; the body is read on demand. Dropping it closes the connection.
pub struct HttpAnswer {
    /// Status code.
    pub status: u16,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    body: Body,
}

impl std::fmt::Debug for HttpAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpAnswer").field("status", &self.status).field("headers", &self.headers).finish()
    }
}

struct Body {
    reader: BufReader<TcpStream>,
    chunked: bool,
    /// Bytes left of the body or of the chunk at hand; `None` with neither length nor chunks.
    left: Option<u64>,
    ended: bool,
}

impl Body {
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.chunked && self.left == Some(0) {
            let size = self.line()?;
            let size = u64::from_str_radix(&size, 16)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "chunk size is no number"))?;
            self.left = Some(size);
            if size == 0 {
                self.line()?;
                self.ended = true;
                return Ok(0);
            }
        }
        let room = self.left.unwrap_or(u64::MAX).min(out.len() as u64) as usize;
        let n = self.reader.read(&mut out[..room])?;
        if n == 0 && room > 0 {
            self.ended = true;
            return if self.left.is_none() { Ok(0) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        if let Some(left) = &mut self.left {
            *left -= n as u64;
            if *left == 0 {
                if self.chunked {
                    self.line()?;
                } else {
                    self.ended = true;
                }
            }
        }
        Ok(n)
    }
}

impl HttpAnswer {
    /// The value of a header, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The rest of the body.
    ///
    /// # Errors
    /// The body ended before its length or its last chunk, or nothing came within the budget.
    pub fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        self.body.read_to_end(&mut body)?;
        Ok(body)
    }

    /// The rest of the body as text.
    ///
    /// # Errors
    /// As [`HttpAnswer::body`]; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&mut self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.body()?).into_owned())
    }

    /// The next event; `None` at the proper end of the stream. Comments are passed over.
    ///
    /// # Errors
    /// The stream was cut, or nothing came within the budget.
    pub fn event(&mut self) -> io::Result<Option<SseEvent>> {
        let mut event = SseEvent::default();
        let (mut some, mut data) = (false, Vec::new());
        loop {
            let mut line = Vec::new();
            loop {
                let mut byte = [0];
                if self.body.read(&mut byte)? == 0 {
                    return Ok(None);
                }
                if byte[0] == b'\n' {
                    break;
                }
                line.push(byte[0]);
            }
            line.pop_if(|last| *last == b'\r');
            let line = String::from_utf8_lossy(&line).into_owned();
            if line.is_empty() {
                if some {
                    event.data = data.join("\n");
                    return Ok(Some(event));
                }
                continue;
            }
            let (key, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match key {
                "id" => event.id = Some(value),
                "event" => event.name = Some(value),
                "retry" => event.retry = Some(value),
                "data" => data.push(value),
                _ => continue,
            }
            some = true;
        }
    }
}

/// Sends bytes as they are to a port of 127.0.0.1 and reads the head of the answer.
///
/// # Errors
/// No connection, no answer within the budget, or none that is HTTP.
pub fn exchange(port: u16, bytes: &[u8], budget: Duration) -> io::Result<HttpAnswer> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(budget))?;
    socket.write_all(bytes)?;
    let mut body = Body { reader: BufReader::new(socket), chunked: false, left: None, ended: false };
    let first = body.line()?;
    let status = first
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no status: {first}")))?;
    let mut headers = Vec::new();
    loop {
        let line = body.line()?;
        let Some((key, value)) = line.split_once(':') else { break };
        headers.push((key.to_owned(), value.trim().to_owned()));
    }
    let mut answer = HttpAnswer { status, headers, body };
    answer.body.chunked = answer.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    answer.body.left = match answer.body.chunked {
        true => Some(0),
        false => answer.header("content-length").and_then(|length| length.parse().ok()),
    };
    answer.body.ended = status == 204 || (!answer.body.chunked && answer.body.left == Some(0));
    Ok(answer)
}

/// A request in the usual form: `Host`, `Content-Length` and, for a body, JSON types are added unless given.
pub fn request(method: &str, path: &str, port: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut out = format!("{method} {path} HTTP/1.1\r\n");
    if !given("host") {
        out.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    if !given("accept") {
        out.push_str("Accept: application/json, text/event-stream\r\n");
    }
    if !body.is_empty() {
        if !given("content-type") {
            out.push_str("Content-Type: application/json\r\n");
        }
        out.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (key, value) in headers {
        out.push_str(&format!("{key}: {value}\r\n"));
    }
    out.push_str("\r\n");
    [out.as_bytes(), body].concat()
}

/// Sends a request and waits for the head of the answer.
///
/// # Errors
/// As [`exchange`].
pub fn send(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
    budget: Duration,
) -> io::Result<HttpAnswer> {
    exchange(port, &request(method, path, port, headers, body.as_bytes()), budget)
}

/// A connection with a request written and no answer read; dropping it closes both directions.
///
/// # Errors
/// No connection, or writing failed.
pub fn send_and_hold(port: u16, bytes: &[u8]) -> io::Result<HeldRequest> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.write_all(bytes)?;
    Ok(HeldRequest(socket))
}

/// A request whose answer nobody reads.
#[derive(Debug)]
pub struct HeldRequest(TcpStream);

impl Drop for HeldRequest {
    fn drop(&mut self) {
        // It may be closed from the other side already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A port of 127.0.0.1 that was free a moment ago. Prefer programs that bind port 0 and tell theirs; this is
/// for a port that refuses, or for those that cannot.
///
/// # Errors
/// No port can be bound.
pub fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
