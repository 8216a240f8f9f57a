//! What the command line and the environment say about a remote server, checked before anything starts.

use std::ffi::OsStr;
use std::time::Duration;

use bir_net::{Proxies, Target};
use bir_upstream::headers::UpstreamHeaders;
use bir_upstream::http::{HttpOptions, Transport};
use http::HeaderValue;

const CONNECT_TIMEOUT: &str = "BIR_UPSTREAM_CONNECT_TIMEOUT_MS";

/// What was asked for, as it was written.
pub(crate) struct Settings<'a> {
    pub(crate) url: &'a str,
    pub(crate) transport: Transport,
    /// Each `--header`.
    pub(crate) headers: &'a [String],
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
    let target = Target::parse(settings.url).map_err(|error| format!("`--url`: {error}"))?;
    let variable = settings.headers_variable.map(|value| {
        value
            .to_str()
            .ok_or_else(|| "BIR_UPSTREAM_HEADERS is not valid UTF-8; it takes a JSON object".to_owned())
    });
    let headers =
        UpstreamHeaders::from_sources(variable.transpose()?, settings.headers.iter().map(String::as_str))
            .map_err(|error| error.to_string())?;
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
    fn the_connect_budget_is_a_number_of_milliseconds() {
        assert_eq!(connect_timeout(None), Ok(Duration::from_secs(10)));
        assert_eq!(connect_timeout(Some(OsStr::new(""))), Ok(Duration::from_secs(10)));
        assert_eq!(connect_timeout(Some(OsStr::new("250"))), Ok(Duration::from_millis(250)));
        for bad in ["0", "-1", "10s", "1.5"] {
            assert!(connect_timeout(Some(OsStr::new(bad))).unwrap_err().contains(CONNECT_TIMEOUT));
        }
    }
}
