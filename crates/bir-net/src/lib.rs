//! One HTTP/1.1 client for everything in bir that talks to a remote address.
//!
//! A [`Client`] keeps idle connections per [origin](Target::origin), dials within a
//! budget, and follows redirects without carrying credentials to a place they were not meant for.
//! Bodies stream both ways. There is no overall timeout: a tool may run for
//! hours, and an idle event stream is not a fault. Nothing that concerns TLS is
//! built before the first `https` connection.
//!
//! ```text
//! Request ── start ──> checkout ──> idle connection of the origin
//!                         │             or dial: DNS, TCP, proxy, TLS
//!                         ▼
//!                      Pending ── response ──> redirects ──> Response ── chunk*
//! ```
//!
//! A request is sent a second time only when nothing of the first attempt reached a connection. Everything else
//! is [`Error::Lost`]: whether the far side acted on it is unknown, and the caller must say so.

mod body;
mod client;
mod dial;
mod error;
mod pool;
mod proxies;
mod redirect;
mod request;
mod response;
mod target;
mod tls;

pub use body::{BodySender, RequestBody, Unsent};
pub use client::{Client, ClientOptions, Lease, Pending};
pub use error::Error;
pub use proxies::Proxies;
pub use request::{Credentials, Request};
pub use response::Response;
pub use target::{Target, TargetError};

/// How long DNS, TCP, a proxy's CONNECT and TLS may take together unless the
/// caller says otherwise: 10 s.
pub const DEFAULT_CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
