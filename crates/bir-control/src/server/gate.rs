//! Whom the control server speaks to: programs of this user on this machine that have the token of a project.
//!
//! A page in a browser can send requests to loopback, also under a name that it has resolve to it. So the `Host` has to be one
//! of loopback, and an `Origin` says that it is a page.

use super::Problem;
use crate::projects::{Projects, Who};
use http::{HeaderMap, header};

/// Who asks, by the request's head. `port` is where the server listens.
pub(super) fn pass(headers: &HeaderMap, port: u16, projects: &Projects) -> Result<Who, Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_here =
        hosts.next().and_then(|host| host.to_str().ok()).is_some_and(|host| is_loopback(host, port));
    if !is_here || hosts.next().is_some() {
        return Err(Problem::NotHere);
    }
    if headers.contains_key(header::ORIGIN) {
        return Err(Problem::Browser);
    }
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let token = shown.next().and_then(|value| value.to_str().ok()).and_then(bearer);
    let token = token.filter(|_| shown.next().is_none()).ok_or(Problem::Unauthorized)?;
    projects.who(token).ok_or(Problem::Unauthorized)
}

fn is_loopback(host: &str, port: u16) -> bool {
    let Some((name, stated)) = host.rsplit_once(':') else { return false };
    let known = ["127.0.0.1", "localhost", "[::1]"].iter().any(|known| name.eq_ignore_ascii_case(known));
    known && stated.parse() == Ok(port)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_loopback_with_the_port_are_here() {
        for host in ["127.0.0.1:80", "localhost:80", "LOCALHOST:80", "[::1]:80"] {
            assert!(is_loopback(host, 80), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:81",
            "evil.example:80",
            "127.0.0.1.evil:80",
            "::1:80",
            "127.0.0.2:80",
        ] {
            assert!(!is_loopback(host, 80), "{host}");
        }
    }

    #[test]
    fn a_token_comes_behind_bearer() {
        assert_eq!(bearer("Bearer x"), Some("x"));
        assert_eq!(bearer("bearer  x "), Some("x"));
        assert_eq!((bearer("Basic x"), bearer("Bearer "), bearer("x")), (None, None, None));
    }
}
