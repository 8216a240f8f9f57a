//! URLs as this client understands them: `http` or `https`, a host, no credentials inside.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// Why a text is not a URL that can be requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text does not parse as an absolute URL.
    #[error("not a URL: {0}")]
    Invalid(&'static str),
    /// A scheme other than `http` and `https`.
    #[error("the URL must begin with http:// or https://")]
    Scheme,
    /// `user:password@` in front of the host.
    #[error(
        "the URL holds a user name or password; put them in a header instead (BIR_UPSTREAM_HEADERS or --header 'Authorization: …')"
    )]
    UserInfo,
}

/// An absolute `http` or `https` URL without credentials and without fragment. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Target(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    uri: Uri,
    /// Path and query alone, as the request line has them.
    origin_form: Uri,
    host_header: HeaderValue,
    host: String,
    port: u16,
    https: bool,
}

impl Target {
    /// Parses and checks a URL. A fragment is cut off.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TargetError::Invalid("it is empty"));
        }
        if !text.is_ascii() {
            return Err(TargetError::Invalid(
                "it has characters outside ASCII; write them percent-encoded, and the host in punycode",
            ));
        }
        let scheme_end = text.find("://").ok_or(TargetError::Scheme)?;
        let scheme = text.get(..scheme_end).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(TargetError::Scheme);
        }
        let uri: Uri = text
            .split('#')
            .next()
            .unwrap_or_default()
            .parse()
            .map_err(|_| TargetError::Invalid("it has characters or a form that no URL may have"))?;
        Self::from_uri(uri)
    }

    fn from_uri(uri: Uri) -> Result<Self, TargetError> {
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(TargetError::Scheme),
        };
        let authority = uri.authority().ok_or(TargetError::Invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(TargetError::UserInfo);
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() || host == "[]" {
            return Err(TargetError::Invalid("it has no host"));
        }
        let written = authority.as_str().get(authority.host().len()..).unwrap_or_default();
        let port = match authority.port_u16() {
            Some(0) => return Err(TargetError::Invalid("port 0 cannot be reached")),
            Some(port) => port,
            None if written.len() > 1 => {
                return Err(TargetError::Invalid("its port is not a number below 65536"));
            }
            None if https => 443,
            None => 80,
        };
        let host_header = HeaderValue::from_str(authority.as_str())
            .map_err(|_| TargetError::Invalid("its host cannot be written in a header"))?;
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self(Arc::new(Parts { origin_form: Uri::from(path), host_header, uri, host, port, https })))
    }

    /// The URL a reference (`Location`, an SSE `endpoint` event) means when found at this URL (RFC 3986, section 5.2).
    pub fn join(&self, reference: &str) -> Result<Self, TargetError> {
        let reference = reference.trim().split('#').next().unwrap_or_default();
        if has_scheme(reference) {
            return Self::parse(reference);
        }
        let scheme = if self.0.https { "https" } else { "http" };
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let (path, query) = if path.is_empty() {
            (self.0.uri.path().to_owned(), query.or(self.0.uri.query()))
        } else if path.starts_with('/') {
            (without_dots(path), query)
        } else {
            let base = self.0.uri.path();
            let folder = base.rfind('/').and_then(|at| base.get(..=at)).unwrap_or("/");
            (without_dots(&format!("{folder}{path}")), query)
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        Self::parse(&format!("{scheme}://{}{path}{query}", self.authority()))
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.0.https
    }

    /// Host name in lower case, or address; IPv6 addresses without brackets.
    pub fn host(&self) -> &str {
        self.0.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.0.host)
    }

    /// The port, also when the URL leaves it out.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Scheme, host and port: what "same origin" compares, and what connections are kept by.
    pub fn origin(&self) -> (bool, &str, u16) {
        (self.0.https, &self.0.host, self.0.port)
    }

    /// Whether scheme, host and port are the same.
    pub fn same_origin(&self, other: &Self) -> bool {
        self.origin() == other.origin()
    }

    /// Whether the host is this machine by name or address (`localhost`, `*.localhost`, `127.0.0.0/8`, `::1`).
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }

    /// `host:port` for messages.
    pub fn host_port(&self) -> String {
        format!("{}:{}", self.0.host, self.0.port)
    }

    /// `host` or `host:port` as it belongs into a `Host` header.
    pub fn authority(&self) -> &str {
        self.0.uri.authority().map_or("", |authority| authority.as_str())
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0.uri
    }

    pub(crate) fn origin_form(&self) -> &Uri {
        &self.0.origin_form
    }

    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.0.host_header
    }
}

/// Scheme, host, port and path; never the query, which may hold a token.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.0.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.0.uri.path())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

fn has_scheme(reference: &str) -> bool {
    let end = reference.find([':', '/', '?']);
    let Some(end) = end else { return false };
    let scheme = reference.get(..end).unwrap_or_default();
    reference.as_bytes().get(end) == Some(&b':')
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut open_end = false;
    for part in path.split('/').skip(1) {
        open_end = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut clean = String::with_capacity(path.len());
    for part in parts {
        clean.push('/');
        clean.push_str(part);
    }
    if open_end || clean.is_empty() {
        clean.push('/');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_is_said_clearly() {
        for (text, part) in [
            ("", "empty"),
            ("example.com/mcp", "http://"),
            ("ftp://example.com", "http://"),
            ("http://", "not a URL"),
            ("http://exa mple/", "not a URL"),
            ("http://host:99999/", "port"),
            ("http://host:0/", "port 0"),
            ("http://h\u{fc}lle.example/", "punycode"),
            ("https://user:secret@example.com/mcp", "BIR_UPSTREAM_HEADERS"),
        ] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains("secret"));
        }
    }

    #[test]
    fn origins_compare_scheme_host_and_port() {
        let base = Target::parse("https://Example.com/mcp").unwrap();
        assert!(base.same_origin(&Target::parse("https://example.com:443/other?x").unwrap()));
        assert!(!base.same_origin(&Target::parse("http://example.com/").unwrap()));
        assert!(!base.same_origin(&Target::parse("https://example.com:444/").unwrap()));
        assert!(!base.same_origin(&Target::parse("https://example.com.evil/").unwrap()));
    }

    #[test]
    fn references_resolve() {
        let base = Target::parse("http://h:8080/a/b?q=1#frag").unwrap();
        for (reference, path) in [
            ("/messages?s=1", "/messages?s=1"),
            ("c", "/a/c"),
            ("../c/./d", "/c/d"),
            ("../../../c", "/c"),
            ("?x=2", "/a/b?x=2"),
            ("", "/a/b?q=1"),
            ("/a/", "/a/"),
            ("/a/..", "/"),
        ] {
            let target = base.join(reference).unwrap();
            assert_eq!(target.uri().path_and_query().unwrap().as_str(), path, "{reference}");
            assert!(target.same_origin(&base));
        }
        assert_eq!(base.join("//other/x").unwrap().host(), "other");
        assert!(base.join("https://h:8080/").unwrap().is_https());
        assert!(base.join("javascript:alert(1)").is_err());
    }

    #[test]
    fn loopback_by_name_and_address() {
        for text in
            ["http://localhost:1/", "http://127.9.9.9/", "http://[::1]:2/", "http://[::ffff:127.0.0.1]/"]
        {
            assert!(Target::parse(text).unwrap().is_loopback(), "{text}");
        }
        for text in ["http://localhost.example/", "http://10.0.0.1/", "http://128.0.0.1/"] {
            assert!(!Target::parse(text).unwrap().is_loopback(), "{text}");
        }
    }

    #[test]
    fn a_query_is_never_shown() {
        let target = Target::parse("https://h/mcp?token=abc").unwrap();
        assert!(!format!("{target} {target:?}").contains("abc"));
    }
}
