//! How a hub is found and spoken to.
//!
//! ```text
//!  destination  BIR_HUB_URL + BIR_HUB_TOKEN ─ else credentials.json (bir login) ─ else hub.json (the embedded hub)
//!       │
//!  HubClient ── request ── 401? ── refresh once, single flight across processes ── request again
//! ```
//!
//! A token is a [`Token`], which prints nothing. No error text holds one, nor a body that the far side sent beyond a problem's
//! own `code` and `detail`.

mod client;
mod credentials;
mod destination;
mod error;
mod events;
mod token;

pub use client::{Answer, Health, HubClient};
pub use credentials::{Credentials, Login};
pub use destination::{Destination, EmbeddedHub, Origin, shown};
pub use error::{HubError, Problem};
pub use events::{EventStream, HubEvent};
pub use token::Token;

/// The version of the hub's API that is spoken here. Within a major version any pair works.
pub const API_VERSION: u64 = 1;
