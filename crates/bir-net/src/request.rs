//! A request as the caller states it.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::{RequestBody, Target};

/// Headers that belong to the configured origin alone. A redirect to another origin drops every one of them.
#[derive(Clone, Default)]
pub struct Credentials(HeaderMap);

impl Credentials {
    /// No headers.
    pub fn none() -> Self {
        Self::default()
    }

    /// Sets a header, replacing one of the same name. The value is marked sensitive.
    pub fn set(&mut self, name: HeaderName, mut value: HeaderValue) {
        value.set_sensitive(true);
        self.0.insert(name, value);
    }

    /// Whether a header of that name is there.
    pub fn has(&self, name: &HeaderName) -> bool {
        self.0.contains_key(name)
    }

    /// The names, for messages.
    pub fn names(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.keys()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter()
    }
}

/// Names only; every value reads `[redacted]`.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "[redacted]"))).finish()
    }
}

/// One request.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where it goes.
    pub target: Target,
    /// Headers of the protocol, kept across redirects, except `Authorization`, `Cookie`,
    /// `Proxy-Authorization`, `Mcp-Session-Id` and `Mcp-Param-*`, which another origin never sees.
    pub headers: HeaderMap,
    /// Headers for the target's own origin only.
    pub credentials: Credentials,
    /// The body.
    pub body: RequestBody,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, target: Target) -> Self {
        Self {
            method,
            target,
            headers: HeaderMap::new(),
            credentials: Credentials::none(),
            body: RequestBody::empty(),
        }
    }
}
