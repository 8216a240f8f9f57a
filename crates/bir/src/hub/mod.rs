//! `bir up`, `bir down`, `bir status`: the hub of this machine. The control server goes up and down with it, see
//! [`crate::control`].
//!
//! ```text
//!  up ── hub.json? /health? ──┬─ runs ─────────────────────────────────────────────────────▶ where it is, a link into the console
//!                             └─ detach (own session) ── bir-hub serve ── hub.json, /health ─┘
//!  down ── hub.json ── /health says the same instance? ── SIGTERM to that process ── wait for its end
//! ```
//!
//! The hub writes `hub.json` itself. This side reads it, and never signals a process that `/health` has not confirmed.

mod detach;
mod down;
mod log;
pub(crate) mod process;
pub(crate) mod status;
mod ticket;
pub(crate) mod up;
mod wrapped;

use bir_record::hub::{Destination, EmbeddedHub, Health, HubClient, Origin};
use std::path::Path;
use std::time::Duration;

pub(crate) use detach::run as detach;
pub(crate) use down::{DownArgs, run as down, stop};
pub(crate) use ticket::{Link, sign_in};

/// How long `/health` may take of a hub on this machine.
const HEALTH: Duration = Duration::from_secs(2);

/// The embedded hub, and whether it lives.
pub(crate) enum Embedded {
    /// No `hub.json`: none runs, or none has come so far.
    None,
    /// `hub.json` names one, and nothing answers there.
    Silent(EmbeddedHub),
    /// Something answers there, which is another process than `hub.json` names.
    Other(EmbeddedHub),
    /// It runs.
    Runs(EmbeddedHub, Health),
}

/// Looks at the embedded hub.
pub(crate) async fn embedded(dir: &Path) -> Embedded {
    let Some(hub) = EmbeddedHub::load(dir) else { return Embedded::None };
    match tokio::time::timeout(HEALTH, client(dir, &hub).health()).await {
        Ok(Ok(health)) if health.instance == hub.instance => Embedded::Runs(hub, health),
        Ok(Ok(_)) => Embedded::Other(hub),
        _ => Embedded::Silent(hub),
    }
}

/// A client for the embedded hub, whatever else is configured.
pub(crate) fn client(dir: &Path, hub: &EmbeddedHub) -> HubClient {
    HubClient::new(dir, Destination::new(&hub.url, Some(hub.token.clone()), Origin::Embedded))
}
