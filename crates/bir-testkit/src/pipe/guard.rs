//! What the pipe refuses before it looks at a message: foreign hosts and origins, wrong media types.

use std::io;
use std::net::TcpStream;

use super::Next;
use crate::http1::{self, Request};
use crate::raw;

/// An answer with an error instead of the child's.
pub(super) struct Refusal {
    status: u16,
    code: i32,
    message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, code: i32, message: &str) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn answer(&self, socket: &mut TcpStream, id: &[u8]) -> Next {
        let message = raw::quote(self.message.as_bytes());
        let head = format!(
            "{{\"jsonrpc\":\"2.0\",\"error\":{{\"code\":{},\"message\":{message}}},\"id\":",
            self.code
        );
        self.write(socket, &[head.as_bytes(), id, b"}"].concat())?;
        Ok(true)
    }

    fn write(&self, socket: &mut TcpStream, body: &[u8]) -> io::Result<()> {
        http1::answer(socket, self.status, &[("Content-Type", "application/json")], body)
    }
}

/// The host name without port, of a `Host` header or of an origin's authority.
fn host_name(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) => inside,
        None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
    }
}

fn is_local(authority: &str) -> bool {
    let name = host_name(authority);
    ["localhost", "127.0.0.1", "::1"].iter().any(|local| name.eq_ignore_ascii_case(local))
}

fn media(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn accepts(request: &Request, kind: &str) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    accept.split(',').any(|one| media(one) == kind || media(one) == "*/*")
}

/// Why the request is refused; `None` when it may go on.
pub(super) fn check(request: &Request) -> Option<Refusal> {
    if !request.header("host").is_some_and(is_local) {
        return Some(Refusal::new(403, -32000, "Forbidden: the Host header names no loopback host"));
    }
    let origin_ok = request
        .header("origin")
        .is_none_or(|origin| origin.split_once("://").is_some_and(|(_, authority)| is_local(authority)));
    if !origin_ok {
        return Some(Refusal::new(403, -32000, "Forbidden: the Origin header names no loopback host"));
    }
    if request.path() != super::PATH {
        return Some(Refusal::new(404, -32000, "Not found"));
    }
    if request.method == "POST"
        && request.header("content-type").map(media).as_deref() != Some("application/json")
    {
        return Some(Refusal::new(
            415,
            -32000,
            "Unsupported Media Type: Content-Type must be application/json",
        ));
    }
    None
}

/// Legacy: a client must accept what may come.
pub(super) fn check_accept(request: &Request) -> Option<Refusal> {
    let wanted: &[&str] = match request.method.as_str() {
        "GET" => &["text/event-stream"],
        _ => &["application/json", "text/event-stream"],
    };
    let missing = wanted.iter().find(|kind| !accepts(request, kind))?;
    Some(Refusal::new(406, -32000, &format!("Not Acceptable: the client must accept {missing}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        Request {
            method: "POST".into(),
            target: "/mcp".into(),
            headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            body: Vec::new(),
        }
    }

    fn status(headers: &[(&str, &str)]) -> Option<u16> {
        check(&request(headers)).map(|refusal| refusal.status)
    }

    #[test]
    fn only_loopback_names_may_pass() {
        let json = ("Content-Type", "Application/JSON; charset=utf-8");
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:80", "[::1]"] {
            assert_eq!(status(&[("Host", host), json]), None, "{host}");
            assert_eq!(status(&[("Host", host), ("Origin", &format!("http://{host}")), json]), None);
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""] {
            assert_eq!(status(&[("Host", host), json]), Some(403), "{host}");
            assert_eq!(
                status(&[("Host", "localhost"), ("Origin", &format!("http://{host}")), json]),
                Some(403)
            );
        }
        assert_eq!(status(&[json]), Some(403));
        assert_eq!(status(&[("Host", "localhost"), ("Origin", "null"), json]), Some(403));
        assert_eq!(status(&[("Host", "localhost"), ("Content-Type", "text/plain")]), Some(415));
    }

    #[test]
    fn both_kinds_must_be_accepted() {
        assert!(check_accept(&request(&[("Accept", "application/json, text/event-stream;q=1")])).is_none());
        assert!(check_accept(&request(&[("Accept", "*/*")])).is_none());
        assert!(check_accept(&request(&[("Accept", "application/json")])).is_some());
        assert!(check_accept(&request(&[])).is_some());
    }
}
