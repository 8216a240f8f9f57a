//! What can go wrong with a request, in terms of what the caller may do next.
//!
//! No text here holds a header value, a query string, or anything the far side sent as a body.

use std::time::Duration;

use crate::TargetError;

/// Why a request has no (complete) response.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// DNS, TCP, the proxy's CONNECT and TLS together took longer than the budget.
    #[error("no connection to {host} within {} ms", after.as_millis())]
    ConnectTimeout {
        /// Host and port that was dialled.
        host: String,
        /// The budget that ran out.
        after: Duration,
    },
    /// The host answered that nothing listens on the port.
    #[error("connection refused by {host}")]
    Refused {
        /// Host and port that was dialled.
        host: String,
    },
    /// Any other failure to open a TCP connection.
    #[error("cannot connect to {host}: {why}")]
    Unreachable {
        /// Host and port that was dialled.
        host: String,
        /// The operating system's words.
        why: String,
    },
    /// The name has no address.
    #[error("cannot resolve {host}: {why}")]
    Dns {
        /// The name that was looked up.
        host: String,
        /// The resolver's words.
        why: String,
    },
    /// The TLS handshake failed, or no root certificates are at hand.
    #[error("TLS with {host} failed: {why}")]
    Tls {
        /// Host and port.
        host: String,
        /// What the TLS library said.
        why: String,
    },
    /// The proxy answered CONNECT with something other than success.
    #[error("the proxy {proxy} refused to connect to {host} (HTTP {status})")]
    ProxyRefused {
        /// Host and port of the proxy.
        proxy: String,
        /// Host and port that was asked for.
        host: String,
        /// The proxy's status code.
        status: u16,
    },
    /// A proxy variable holds something that cannot be used.
    #[error("{variable} is not a proxy address that can be used: {why}")]
    ProxyUnusable {
        /// Name of the environment variable.
        variable: &'static str,
        /// What is wrong with it; never its value, which may hold a password.
        why: &'static str,
    },
    /// The address leads where a redirect from elsewhere may not lead.
    #[error("{host} is an internal address that a redirect from elsewhere may not lead to")]
    Internal {
        /// Host and port.
        host: String,
    },
    /// The far side redirects in a way that is not followed.
    #[error("redirect not followed: {why}")]
    RedirectRefused {
        /// The rule that forbids it, and what to do instead.
        why: String,
    },
    /// The body is encoded in a way that was not asked for.
    #[error("the answer has {encoding}, only gzip was asked for")]
    UnknownEncoding {
        /// The encoding, if it is a registered one; the far side may have written anything there.
        encoding: &'static str,
    },
    /// The compressed body does not decode.
    #[error("the answer's gzip data is damaged")]
    BadGzip,
    /// What came back is not HTTP/1.1.
    #[error("{host} does not speak HTTP/1.1: {why}")]
    NotHttp {
        /// Host and port.
        host: String,
        /// The parser's words.
        why: String,
    },
    /// The connection went away after the request was handed to it and before a response began. Whether
    /// the far side acted on the request is unknown. Never sent again by this client.
    #[error("the connection was lost before an answer came")]
    Lost,
    /// The connection went away in the middle of the response body.
    #[error("the connection was lost in the middle of the answer")]
    BodyLost,
    /// The caller stopped supplying the request body.
    #[error("sending was given up before the message was complete")]
    Abandoned,
    /// A URL that cannot be requested.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl Error {
    /// Whether the far side may have acted on the request.
    ///
    /// `false` means that nothing of it can have been processed.
    pub fn may_have_acted(&self) -> bool {
        matches!(
            self,
            Self::Lost
                | Self::BodyLost
                | Self::NotHttp { .. }
                | Self::BadGzip
                | Self::UnknownEncoding { .. }
                | Self::Abandoned
        )
    }
}
