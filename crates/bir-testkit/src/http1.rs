//! The little of HTTP/1.1 that the upstream and the pipe need, with every byte under our control.
//!
//! A server library would refuse to cut a stream in the middle, to answer before the request was read or to
//! write a header byte by byte; those are what these programs are for. Not for any network but loopback.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest request line or header line, in bytes.
const LINE_LIMIT: u64 = 64 * 1024;

/// Most header lines of a request.
const HEADER_LIMIT: usize = 200;

/// Largest request body, in bytes.
const BODY_LIMIT: u64 = 512 << 20;

/// A request as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of a query parameter, undecoded.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// One connection of a client.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Without it small chunks would wait for acknowledgements; if it fails they do.
        let _ = stream.set_nodelay(true);
        Self { reader: BufReader::with_capacity(64 * 1024, stream) }
    }

    /// The socket, for writing.
    pub(crate) fn socket(&self) -> io::Result<TcpStream> {
        self.reader.get_ref().try_clone()
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        (&mut self.reader).take(LINE_LIMIT).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            return Err(bad("line cut short or too long"));
        }
        line.pop_if(|last| *last == b'\r');
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    /// The next request; `None` when the client has closed between requests.
    pub(crate) fn read(&mut self) -> io::Result<Option<Request>> {
        let Some(first) = self.line()? else { return Ok(None) };
        let mut parts = first.split(' ');
        let (method, target) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let mut request = Request { method: method.into(), target: target.into(), ..Request::default() };
        loop {
            let line = self.line()?.ok_or_else(|| bad("head cut short"))?;
            if line.is_empty() {
                break;
            }
            let (key, value) = line.split_once(':').ok_or_else(|| bad("no colon in a header line"))?;
            request.headers.push((key.to_owned(), value.trim().to_owned()));
            if request.headers.len() > HEADER_LIMIT {
                return Err(bad("too many headers"));
            }
        }
        if request.header("expect").is_some() {
            self.reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let chunked = request.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
        if chunked {
            loop {
                let line = self.line()?.ok_or_else(|| bad("chunks cut short"))?;
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = u64::from_str_radix(size, 16).map_err(|_| bad("chunk size is no number"))?;
                self.take(size, &mut request.body)?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = request.header("content-length") {
            let length = length.parse().map_err(|_| bad("content-length is no number"))?;
            self.take(length, &mut request.body)?;
        }
        Ok(Some(request))
    }

    fn take(&mut self, size: u64, body: &mut Vec<u8>) -> io::Result<()> {
        if size + body.len() as u64 > BODY_LIMIT {
            return Err(bad("body too large"));
        }
        let got = (&mut self.reader).take(size).read_to_end(body)?;
        if got as u64 == size { Ok(()) } else { Err(bad("body cut short")) }
    }
}

/// Whether the client of an open answer has closed. Data that it sends ahead counts as being there.
pub(crate) fn is_gone(socket: &TcpStream) -> bool {
    let fd = socket.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::IN | PollFlags::RDHUP)];
    match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(0) => false,
        Ok(_) => socket.peek(&mut [0]).map_or(true, |n| n == 0),
        Err(_) => false,
    }
}

/// Closes both directions; a client that is already gone makes no difference.
pub(crate) fn close(socket: &TcpStream) {
    let _ = socket.shutdown(Shutdown::Both);
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// Status line and headers, with the empty line.
pub(crate) fn head<K: AsRef<str>, V: AsRef<str>>(status: u16, headers: &[(K, V)]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
    for (key, value) in headers {
        out.extend_from_slice(format!("{}: {}\r\n", key.as_ref(), value.as_ref()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// A complete answer in one write.
pub(crate) fn answer<K: AsRef<str>, V: AsRef<str>>(
    socket: &mut TcpStream,
    status: u16,
    headers: &[(K, V)],
    body: &[u8],
) -> io::Result<()> {
    let mut all: Vec<(String, String)> =
        headers.iter().map(|(k, v)| (k.as_ref().to_owned(), v.as_ref().to_owned())).collect();
    if status != 204 {
        all.push(("Content-Length".into(), body.len().to_string()));
    }
    let mut out = head(status, &all);
    out.extend_from_slice(body);
    socket.write_all(&out)
}

/// A body in chunks: each write is one chunk.
pub(crate) struct Chunked<'a>(pub(crate) &'a mut TcpStream);

impl Chunked<'_> {
    /// The last chunk.
    pub(crate) fn end(self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n")
    }
}

impl Write for Chunked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.0.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn serve(bytes: &'static [u8]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(bytes).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        Connection::new(listener.accept().unwrap().0)
    }

    #[test]
    fn requests_are_read_one_after_the_other() {
        let mut connection = serve(
            b"POST /a?session=x&y=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\
              POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
        );
        let one = connection.read().unwrap().unwrap();
        assert_eq!((one.path(), one.query("session"), &one.body[..]), ("/a", Some("x"), &b"abc"[..]));
        assert_eq!(one.header("HOST"), Some("h"));
        assert_eq!(connection.read().unwrap().unwrap().body, b"def");
        assert!(connection.read().unwrap().is_none());
        assert!(is_gone(&connection.socket().unwrap()));
    }

    #[test]
    fn broken_requests_are_errors() {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost"[..],
            b"GET / HTTP/1.1\r\nnope\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab",
        ] {
            assert!(serve(bytes).read().is_err());
        }
    }
}
