//! What the environment says, read once at the start.

use bir_home::off::switch;
use std::ffi::OsString;

const HEADERS: &str = "BIR_UPSTREAM_HEADERS";
const MAX_MESSAGE: &str = "BIR_UPSTREAM_MAX_MESSAGE_BYTES";
const STAY_UP: &str = "BIR_PROXY_STAY_UP";

/// The settings that come by environment variable.
pub(crate) struct Environment {
    /// Credentials: no longer in the environment, and never to be logged.
    pub(crate) headers: Option<OsString>,
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
    /// One line that says which variable is wrong, and what it takes.
    pub(crate) fn take() -> Result<Self, String> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let headers = set(HEADERS);
        if headers.is_some() {
            // SAFETY: main calls this before it starts the first thread, so nobody reads the environment meanwhile.
            #[expect(
                unsafe_code,
                reason = "a credential is taken out of the environment once it has been read"
            )]
            unsafe {
                std::env::remove_var(HEADERS);
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
        Ok(Self { headers, max_message, stay_up: switch(STAY_UP) })
    }
}
