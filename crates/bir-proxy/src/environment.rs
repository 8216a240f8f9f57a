//! What the environment says, read once at the start.

use crate::args::{Headers, Target, Url};
use crate::log;
use bir_home::off::switch;
use std::collections::BTreeSet;
use std::ffi::OsString;

const HEADERS: &str = "BIR_UPSTREAM_HEADERS";
const MAX_MESSAGE: &str = "BIR_UPSTREAM_MAX_MESSAGE_BYTES";
const STAY_UP: &str = "BIR_PROXY_STAY_UP";

/// The settings that come by environment variable.
pub(crate) struct Environment {
    /// Credentials: no longer in the environment, and never to be logged.
    pub(crate) headers: Option<OsString>,
    /// The address, where an option names its variable; it may hold credentials.
    pub(crate) url: Option<String>,
    /// Headers whose variables options name, as `Name: value`: credentials.
    pub(crate) named_headers: Vec<String>,
    /// Largest message of the upstream in bytes.
    pub(crate) max_message: Option<usize>,
    /// Stay when the upstream is gone.
    pub(crate) stay_up: bool,
}

impl Environment {
    /// Reads the variables, and takes the credentials out of the environment. To be called before there are threads.
    ///
    /// # Errors
    ///
    /// One line that says which variable is wrong, and what it takes; never what it holds.
    pub(crate) fn take(target: &Target) -> Result<Self, String> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let headers = set(HEADERS);
        let mut taken = BTreeSet::from([HEADERS]);
        let (url, named_headers) = match target {
            Target::Child { .. } => (None, Vec::new()),
            Target::Remote { url, headers, .. } => {
                let url = match url {
                    Url::Given(_) => None,
                    Url::Variable(name) => {
                        Some(needed(name, "--url-env", "the address of the server", &mut taken)?)
                    }
                };
                (url, named(headers, &mut taken)?)
            }
        };
        // A variable may be named twice, so that all are read before one goes.
        for name in taken.into_iter().filter(|name| std::env::var_os(name).is_some()) {
            // SAFETY: main calls this before it starts the first thread, so nobody reads the environment meanwhile.
            #[expect(
                unsafe_code,
                reason = "a credential is taken out of the environment once it has been read"
            )]
            unsafe {
                std::env::remove_var(name);
            }
        }
        let max_message = match set(MAX_MESSAGE) {
            None => None,
            Some(value) => match value.to_str().and_then(|v| v.parse().ok()) {
                Some(bytes) if bytes > 0 => Some(bytes),
                _ => {
                    let value = value.to_string_lossy();
                    return Err(format!("{MAX_MESSAGE} is `{value}`; it takes a number of bytes above 0"));
                }
            },
        };
        Ok(Self { headers, url, named_headers, max_message, stay_up: switch(STAY_UP) })
    }
}

/// The headers whose values variables hold. One without a value is left out, as the host would send none.
fn named<'a>(headers: &'a Headers, taken: &mut BTreeSet<&'a str>) -> Result<Vec<String>, String> {
    let mut named = Vec::new();
    if let Some(name) = &headers.bearer {
        named.push(format!("Authorization: Bearer {}", needed(name, "--bearer-env", "a token", taken)?));
    }
    for (header, name) in &headers.variables {
        match read(name, "--header-env", taken)? {
            Some(value) => named.push(format!("{header}: {value}")),
            None => log::warn!("the variable {name} is not set or empty; the header {header} is not sent"),
        }
    }
    Ok(named)
}

fn needed<'a>(
    name: &'a str,
    option: &str,
    what: &str,
    taken: &mut BTreeSet<&'a str>,
) -> Result<String, String> {
    let value = read(name, option, taken)?;
    value.ok_or_else(|| format!("`{option}`: the variable {name} is not set or empty; it takes {what}"))
}

fn read<'a>(name: &'a str, option: &str, taken: &mut BTreeSet<&'a str>) -> Result<Option<String>, String> {
    taken.insert(name);
    match std::env::var_os(name).map(OsString::into_string) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Some(Err(_)) => Err(format!("`{option}`: the variable {name} is not valid UTF-8")),
    }
}
