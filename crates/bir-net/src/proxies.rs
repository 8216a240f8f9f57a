//! Which proxy, if any, stands in front of a target.
//!
//! `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in upper or lower case. Upper-case `HTTP_PROXY` is
//! ignored under CGI (`REQUEST_METHOD` set), where a request header could have planted it. This machine
//! itself is never reached through a proxy.

use std::fmt;

use http::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;

use crate::{Error, Target};

/// The proxy rules of one process.
#[derive(Default)]
pub struct Proxies {
    matcher: Option<Matcher>,
    /// Why the proxy for `http` targets cannot be used, and that for `https` ones. It may never be asked for.
    plain: Option<Unusable>,
    secure: Option<Unusable>,
}

#[derive(Clone, Copy)]
struct Unusable {
    variable: &'static str,
    why: &'static str,
}

/// Stands for an address that cannot be used, so that `NO_PROXY` still has its say.
const PLACEHOLDER: &str = "http://unusable.invalid";

/// One proxy to go through.
pub(crate) struct Proxy {
    pub(crate) target: Target,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Proxies {
    /// No proxy, whatever the environment says.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the variables of this process. One that cannot be used is an error of the targets that it is for:
    /// see [`Proxies::check`].
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `get`.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Self {
        let cgi = get("REQUEST_METHOD").is_some();
        let first = |names: &[&'static str]| {
            names
                .iter()
                .filter(|name| !(cgi && **name == "HTTP_PROXY"))
                .find_map(|name| get(name).map(|value| (*name, value.trim().to_owned())))
                .filter(|(_, value)| !value.is_empty())
        };
        let http = first(&["http_proxy", "HTTP_PROXY"]);
        let https = first(&["https_proxy", "HTTPS_PROXY"]);
        let all = first(&["all_proxy", "ALL_PROXY"]);
        let no = first(&["no_proxy", "NO_PROXY"]);
        if http.is_none() && https.is_none() && all.is_none() {
            return Self::none();
        }
        let reason = |own: &Option<(&'static str, String)>| {
            own.as_ref()
                .or(all.as_ref())
                .and_then(|(variable, value)| unusable(value).map(|why| Unusable { variable, why }))
        };
        let (plain, secure) = (reason(&http), reason(&https));
        let address = |found: Option<(&'static str, String)>| match found {
            Some((_, value)) if unusable(&value).is_some() => PLACEHOLDER.to_owned(),
            Some((_, value)) => value,
            None => String::new(),
        };
        let no = no.map(|(_, value)| value).unwrap_or_default();
        let matcher =
            Matcher::builder().http(address(http)).https(address(https)).all(address(all)).no(no).build();
        Self { matcher: Some(matcher), plain, secure }
    }

    /// Whether the proxy that stands in front of this target, if any, can be used.
    ///
    /// # Errors
    ///
    /// [`Error::ProxyUnusable`] when its variable holds something that is no `http` or `https` address.
    pub fn check(&self, target: &Target) -> Result<(), Error> {
        self.for_target(target).map(drop)
    }

    pub(crate) fn for_target(&self, target: &Target) -> Result<Option<Proxy>, Error> {
        let Some(matcher) = &self.matcher else { return Ok(None) };
        if target.is_loopback() {
            return Ok(None);
        }
        let Some(found) = matcher.intercept(target.uri()) else { return Ok(None) };
        let unusable = if target.is_https() { self.secure } else { self.plain };
        if let Some(Unusable { variable, why }) = unusable {
            return Err(Error::ProxyUnusable { variable, why });
        }
        let target = Target::parse(&found.uri().to_string())?;
        Ok(Some(Proxy { target, authorization: found.basic_auth().cloned() }))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.matcher.is_some() { "Proxies(configured)" } else { "Proxies(none)" })
    }
}

/// Why an address cannot be used as a proxy, `None` when it can.
fn unusable(value: &str) -> Option<&'static str> {
    match value.split_once("://") {
        Some((scheme, _)) if scheme.to_ascii_lowercase().starts_with("socks") => {
            return Some("SOCKS proxies are not supported");
        }
        Some((scheme, _))
            if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") =>
        {
            return Some("it must begin with http:// or https://");
        }
        _ => {}
    }
    let probe = Matcher::builder().all(value.to_owned()).build();
    let somewhere = http::Uri::from_static("http://proxied.invalid/");
    probe.intercept(&somewhere).is_none().then_some("it has no readable host")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn via(proxies: &Proxies, url: &str) -> Option<String> {
        proxies.for_target(&Target::parse(url).unwrap()).unwrap().map(|proxy| proxy.target.host_port())
    }

    #[test]
    fn each_scheme_has_its_variable_and_all_is_the_rest() {
        let proxies = proxies(&[
            ("http_proxy", "http://plain:1"),
            ("ALL_PROXY", "other:2"),
            ("NO_PROXY", "x.org,10.0.0.0/8"),
        ]);
        assert_eq!(via(&proxies, "http://h/").as_deref(), Some("plain:1"));
        assert_eq!(via(&proxies, "https://h/").as_deref(), Some("other:2"));
        for url in [
            "http://x.org/",
            "https://a.x.org/",
            "http://10.1.2.3/",
            "http://localhost/",
            "https://127.0.0.1/",
        ] {
            assert_eq!(via(&proxies, url), None, "{url}");
        }
    }

    #[test]
    fn lower_case_wins_and_cgi_hides_upper_case() {
        let both = proxies(&[("http_proxy", "http://low:1"), ("HTTP_PROXY", "http://up:1")]);
        assert_eq!(via(&both, "http://h/").as_deref(), Some("low:1"));
        let cgi = proxies(&[("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://up:1")]);
        assert_eq!(via(&cgi, "http://h/"), None);
    }

    #[test]
    fn credentials_come_from_the_address_and_are_not_shown() {
        let proxies = proxies(&[("HTTPS_PROXY", "http://me:s%20ecret@p:3128")]);
        let proxy = proxies.for_target(&Target::parse("https://h/").unwrap()).unwrap().unwrap();
        assert_eq!(proxy.authorization.unwrap(), "Basic bWU6cyBlY3JldA==");
        assert!(!format!("{proxies:?}").contains("ecret"));
    }

    #[test]
    fn what_cannot_be_used_is_an_error_not_a_silence() {
        let target = Target::parse("https://h/").unwrap();
        for value in ["socks5://p:1", "ftp://p", "http://", "http://a b"] {
            let error = proxies(&[("ALL_PROXY", value)]).check(&target).unwrap_err().to_string();
            assert!(error.starts_with("ALL_PROXY"), "{error}");
        }
        assert!(proxies(&[("HTTPS_PROXY", "")]).check(&target).is_ok());
    }

    #[test]
    fn what_cannot_be_used_and_is_not_asked_for_is_no_error() {
        let socks = ("ALL_PROXY", "socks5://u:secret@p:1");
        let check =
            |variables: &[(&str, &str)], url: &str| proxies(variables).check(&Target::parse(url).unwrap());
        assert!(check(&[socks], "http://127.0.0.1:3000/mcp").is_ok());
        assert!(check(&[socks, ("NO_PROXY", "h")], "https://h/").is_ok());
        assert!(check(&[("HTTPS_PROXY", socks.1)], "http://h/").is_ok());
        let both = proxies(&[socks, ("HTTPS_PROXY", "http://p:1")]);
        assert_eq!(via(&both, "https://h/").as_deref(), Some("p:1"));
        let error = both.check(&Target::parse("http://h/").unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("ALL_PROXY") && !error.contains("secret"), "{error}");
    }
}
