//! Which redirects are followed, and what travels along.
//!
//! | Status | POST, DELETE … | GET, HEAD |
//! |---|---|---|
//! | 307, 308 | followed with the same method and body | followed |
//! | 301, 302, 303 | an error: following would turn the message into a GET | followed |
//!
//! A body that was streamed cannot be sent again, so it is not followed either.

use http::{HeaderMap, Method, StatusCode, header};

use crate::{Error, Target};

/// Hops followed for one request before it counts as a loop.
pub(crate) const MAX_REDIRECTS: usize = 10;

/// Headers that another origin never sees, wherever they came from.
const BOUND_TO_ORIGIN: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "mcp-session-id"];

/// Headers that repeat arguments of a call (MCP 2026-07-28) begin so: they are marked by the first origin's tools.
const ARGUMENTS: &str = "mcp-param-";

/// Where a response sends the request, `None` when it is no redirect.
pub(crate) fn destination(
    method: &Method,
    from: &Target,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Target>, Error> {
    let code = status.as_u16();
    if !matches!(code, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let refused = |why: String| Err(Error::RedirectRefused { why });
    let Some(location) = headers.get(header::LOCATION) else {
        return refused(format!("HTTP {code} without a Location header"));
    };
    let to = match location.to_str().map(|location| from.join(location)) {
        Ok(Ok(to)) => to,
        Ok(Err(error)) => return refused(format!("HTTP {code} to an address that cannot be used: {error}")),
        Err(_) => return refused(format!("HTTP {code} with a Location that is not text")),
    };
    if matches!(code, 301..=303) && *method != Method::GET && *method != Method::HEAD {
        return refused(format!(
            "HTTP {code} would turn this {method} into a GET; configure {to} itself as the URL"
        ));
    }
    if from.is_https() && !to.is_https() && !(from.is_loopback() && to.is_loopback()) {
        return refused(format!("{to} would leave https for plain http"));
    }
    Ok(Some(to))
}

/// Takes away what only the first origin may see.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let bound: Vec<_> = headers
        .keys()
        .filter(|name| BOUND_TO_ORIGIN.contains(&name.as_str()) || name.as_str().starts_with(ARGUMENTS))
        .cloned()
        .collect();
    for name in bound {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn ask(method: Method, from: &str, status: u16, to: &'static str) -> Result<Option<Target>, Error> {
        let mut headers = HeaderMap::new();
        if !to.is_empty() {
            headers.insert(header::LOCATION, HeaderValue::from_static(to));
        }
        destination(&method, &Target::parse(from).unwrap(), StatusCode::from_u16(status).unwrap(), &headers)
    }

    #[test]
    fn methods_and_statuses() {
        for status in [307, 308] {
            assert!(ask(Method::POST, "http://a/", status, "/b").unwrap().is_some());
            assert!(ask(Method::GET, "http://a/", status, "/b").unwrap().is_some());
        }
        for status in [301, 302, 303] {
            let error = ask(Method::POST, "http://a/", status, "/b?t=secret").unwrap_err().to_string();
            assert!(error.contains("http://a/b") && !error.contains("secret"), "{error}");
            assert!(ask(Method::GET, "http://a/", status, "/b").unwrap().is_some());
        }
        for status in [200, 304, 300, 404] {
            assert!(ask(Method::POST, "http://a/", status, "/b").unwrap().is_none());
        }
        assert!(ask(Method::GET, "http://a/", 307, "").is_err());
        assert!(ask(Method::GET, "http://a/", 307, "file:///etc/passwd").is_err());
        assert!(ask(Method::GET, "http://a/", 307, "http://u:p@a/").is_err());
    }

    #[test]
    fn another_origin_sees_no_session_and_no_arguments() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "mcp-session-id", "mcp-param-region", "mcp-param-n", "mcp-method"] {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        strip(&mut headers);
        assert_eq!(headers.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["mcp-method"]);
    }

    #[test]
    fn https_is_not_left_but_on_this_machine() {
        assert!(ask(Method::POST, "https://a/", 307, "http://a/").is_err());
        assert!(ask(Method::POST, "https://a/", 307, "http://127.0.0.1/").is_err());
        assert!(ask(Method::POST, "https://localhost/", 307, "http://127.0.0.1/").is_ok());
        assert!(ask(Method::POST, "http://a/", 307, "https://a/").is_ok());
    }
}
