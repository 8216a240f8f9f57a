//! Which proxy, if any, stands in front of a target.
//!
//! `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in upper or lower case. Upper-case `HTTP_PROXY` is ignored
//! under CGI (`REQUEST_METHOD` set), where a request header could have planted it. This machine itself is never reached through a proxy.

use std::fmt;

use http::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;

use crate::{Error, Target};

/// The proxy rules of one process.
pub struct Proxies {
    matcher: Option<Matcher>,
}

/// One proxy to go through.
pub(crate) struct Proxy {
    pub(crate) target: Target,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Proxies {
    /// No proxy, whatever the environment says.
    pub fn none() -> Self {
        Self { matcher: None }
    }

    /// Reads the variables of this process.
    ///
    /// # Errors
    ///
    /// [`Error::ProxyUnusable`] when a variable is set to something that is no `http` or `https` address.
    pub fn from_env() -> Result<Self, Error> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `get`.
    ///
    /// # Errors
    ///
    /// As [`Proxies::from_env`].
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
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
            return Ok(Self::none());
        }
        for (variable, value) in [&http, &https, &all].into_iter().flatten() {
            usable(variable, value)?;
        }
        let text = |found: Option<(&'static str, String)>| found.map(|(_, value)| value).unwrap_or_default();
        let matcher =
            Matcher::builder().http(text(http)).https(text(https)).all(text(all)).no(text(no)).build();
        Ok(Self { matcher: Some(matcher) })
    }

    pub(crate) fn for_target(&self, target: &Target) -> Result<Option<Proxy>, Error> {
        let Some(matcher) = &self.matcher else { return Ok(None) };
        if target.is_loopback() {
            return Ok(None);
        }
        let Some(found) = matcher.intercept(target.uri()) else { return Ok(None) };
        let target = Target::parse(&found.uri().to_string())?;
        Ok(Some(Proxy { target, authorization: found.basic_auth().cloned() }))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.matcher.is_some() { "Proxies(configured)" } else { "Proxies(none)" })
    }
}

fn usable(variable: &'static str, value: &str) -> Result<(), Error> {
    let unusable = |why| Err(Error::ProxyUnusable { variable, why });
    match value.split_once("://") {
        Some((scheme, _)) if scheme.to_ascii_lowercase().starts_with("socks") => {
            return unusable("SOCKS proxies are not supported");
        }
        Some((scheme, _))
            if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") =>
        {
            return unusable("it must begin with http:// or https://");
        }
        _ => {}
    }
    let probe = Matcher::builder().all(value.to_owned()).build();
    let somewhere = http::Uri::from_static("http://proxied.invalid/");
    if probe.intercept(&somewhere).is_none() { unusable("it has no readable host") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, Error> {
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
        ])
        .unwrap();
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
        let both = proxies(&[("http_proxy", "http://low:1"), ("HTTP_PROXY", "http://up:1")]).unwrap();
        assert_eq!(via(&both, "http://h/").as_deref(), Some("low:1"));
        let cgi = proxies(&[("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://up:1")]).unwrap();
        assert_eq!(via(&cgi, "http://h/"), None);
    }

    #[test]
    fn credentials_come_from_the_address_and_are_not_shown() {
        let proxies = proxies(&[("HTTPS_PROXY", "http://me:s%20ecret@p:3128")]).unwrap();
        let proxy = proxies.for_target(&Target::parse("https://h/").unwrap()).unwrap().unwrap();
        assert_eq!(proxy.authorization.unwrap(), "Basic bWU6cyBlY3JldA==");
        assert!(!format!("{proxies:?}").contains("ecret"));
    }

    #[test]
    fn what_cannot_be_used_is_an_error_not_a_silence() {
        for value in ["socks5://p:1", "ftp://p", "http://", "http://a b"] {
            let error = proxies(&[("ALL_PROXY", value)]).unwrap_err().to_string();
            assert!(error.starts_with("ALL_PROXY"), "{error}");
        }
        assert!(proxies(&[("HTTPS_PROXY", "")]).is_ok());
    }
}
