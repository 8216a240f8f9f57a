//! What the command line and the environment say about a remote server, checked before anything starts.

use std::ffi::OsStr;
use std::time::Duration;

use bir_net::{Proxies, Target};
use bir_upstream::headers::{UpstreamHeaders, basic};
use bir_upstream::http::{HttpOptions, Transport};
use http::HeaderValue;

const CONNECT_TIMEOUT: &str = "BIR_UPSTREAM_CONNECT_TIMEOUT_MS";

/// An address, by where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Url<'a> {
    /// `--url`.
    Argument(&'a str),
    /// The variable of `--url-env`, where a user name and password may stand in it: nobody else reads it there.
    Variable(&'a str),
}

/// What was asked for, as it was written.
pub(crate) struct Settings<'a> {
    pub(crate) url: Url<'a>,
    pub(crate) transport: Transport,
    /// Headers as `Name: value`, those that count more last.
    pub(crate) headers: &'a [&'a str],
    /// The value of `BIR_UPSTREAM_HEADERS`, which was taken out of the environment.
    pub(crate) headers_variable: Option<&'a OsStr>,
    pub(crate) max_message: Option<usize>,
    pub(crate) stay_up: bool,
}

/// A remote server that can be relayed to.
pub(crate) struct Prepared {
    pub(super) options: HttpOptions,
    pub(super) stay_up: bool,
}

/// Checks everything that can be checked without connecting.
///
/// # Errors
///
/// One line that says what is wrong and what to do; it holds no header value.
pub(crate) fn prepare(settings: &Settings<'_>) -> Result<Prepared, String> {
    let (option, (address, authorization)) = match settings.url {
        Url::Argument(url) => ("--url", (url.to_owned(), None)),
        Url::Variable(url) => ("--url-env", without_userinfo(url)),
    };
    let target = Target::parse(&address).map_err(|error| format!("`{option}`: {error}"))?;
    let variable = settings.headers_variable.map(|value| {
        value
            .to_str()
            .ok_or_else(|| "BIR_UPSTREAM_HEADERS is not valid UTF-8; it takes a JSON object".to_owned())
    });
    let variable = variable.transpose()?;
    // What stands in the address counts least.
    let mut headers: Vec<&str> = Vec::new();
    headers.extend(authorization.as_deref().filter(|_| !settings.says_authorization(variable)));
    headers.extend(settings.headers);
    let headers = UpstreamHeaders::from_sources(variable, headers).map_err(|error| error.to_string())?;
    let proxies = Proxies::from_env();
    proxies.check(&target).map_err(|error| error.to_string())?;
    let connect_timeout = connect_timeout(std::env::var_os(CONNECT_TIMEOUT).as_deref())?;
    let options = HttpOptions {
        target,
        transport: settings.transport,
        headers,
        connect_timeout,
        max_message_bytes: settings.max_message.map(|bytes| bytes as u64),
        keep: 0,
        proxies,
        user_agent: HeaderValue::from_static(concat!("bir-proxy/", env!("CARGO_PKG_VERSION"))),
    };
    Ok(Prepared { options, stay_up: settings.stay_up })
}

impl Settings<'_> {
    /// Whether credentials are configured elsewhere than in the address.
    fn says_authorization(&self, variable: Option<&str>) -> bool {
        let is_it = |name: &str| name.trim().eq_ignore_ascii_case("authorization");
        let by_variable = variable.and_then(UpstreamHeaders::names);
        self.headers.iter().any(|header| header.split(':').next().is_some_and(is_it))
            || by_variable.is_some_and(|names| names.iter().any(|name| is_it(name)))
    }
}

/// An address without `user:password@`, and the header that says the same.
fn without_userinfo(url: &str) -> (String, Option<String>) {
    let whole = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.trim().split_once("://") else { return whole() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((userinfo, host)) => {
            (format!("{scheme}://{host}{path}"), Some(format!("Authorization: {}", basic(userinfo))))
        }
        None => whole(),
    }
}

fn connect_timeout(value: Option<&OsStr>) -> Result<Duration, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(bir_net::DEFAULT_CONNECT_TIMEOUT);
    };
    match value.to_str().and_then(|text| text.trim().parse::<u64>().ok()) {
        Some(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err(format!(
            "{CONNECT_TIMEOUT} is `{}`; it takes a number of milliseconds above 0",
            value.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_moves_from_the_address_to_a_header() {
        for (url, rest, header) in [
            ("https://h/mcp?a@b", "https://h/mcp?a@b", None),
            ("https://u:p@h:8/mcp?a=b", "https://h:8/mcp?a=b", Some("Basic dTpw")),
            ("https://u%40x:p%3A@h", "https://h", Some("Basic dUB4OnA6")),
            ("https://a@b@h/", "https://h/", Some("Basic YUBiOg==")),
            ("nonsense", "nonsense", None),
        ] {
            let expected = header.map(|value| format!("Authorization: {value}"));
            assert_eq!(without_userinfo(url), (rest.to_owned(), expected), "{url}");
        }
    }

    #[test]
    fn the_connect_budget_is_a_number_of_milliseconds() {
        assert_eq!(connect_timeout(None), Ok(Duration::from_secs(10)));
        assert_eq!(connect_timeout(Some(OsStr::new(""))), Ok(Duration::from_secs(10)));
        assert_eq!(connect_timeout(Some(OsStr::new("250"))), Ok(Duration::from_millis(250)));
        for bad in ["0", "-1", "10s", "1.5"] {
            assert!(connect_timeout(Some(OsStr::new(bad))).unwrap_err().contains(CONNECT_TIMEOUT));
        }
    }
}
