//! The service behind the hub: what it answers, to whom, and within which limits.
//!
//! ```text
//!            edge                      guard                          handlers
//! request ─▶ request id, host,  ─────▶ who is it (principal),  ─────▶ recordings/  scenarios/  auth/  people
//!            origin, panics,           may they (access),             tokens  me  health  console
//!            headers, log              how often (throttle),               │
//!                                      how long (timeout)                  ▼
//!                                                              store (bir-store)   live (subscribers)
//!                                                              metrics   otel
//! ```
//!
//! One table ([`routes`]) lists every route with the action that it needs; one table ([`access`]) says which role may do
//! which action, and how far it reaches. A route cannot be added without an action, because the guard is built from it.
//!
//! State: everything that must survive is in the store. In the process are the caches (principals, 5 s), the limits, the
//! live subscribers, what recorded prompts teach the matchers, and what lives for minutes only: tickets and device codes. Several replicas therefore need the
//! sign-in of one browser or device to reach one of them; everything else may go anywhere.

pub mod access;
mod auth;
mod body;
pub mod clock;
mod console;
mod edge;
mod guard;
mod health;
mod ingest;
mod json;
mod live;
mod me;
mod metrics;
mod otel;
mod pages;
pub mod password;
mod people;
mod principal;
mod problem;
mod query;
mod recordings;
pub mod routes;
pub mod scenarios;
pub mod serve;
mod settings;
mod squeeze;
mod state;
mod throttle;
pub mod token;
mod tokens;

pub use bir_calc::book::Prices;
pub use bir_derive::{ConfigError as DeriveError, Setting as DeriveSetting};
pub use otel::Telemetry;
pub use problem::{Code, Problem};
pub use settings::{Limits, ScenarioLimits, Settings};
pub use state::State;

/// Version of the HTTP API. Within it, fields are only added.
pub const API_VERSION: u32 = 1;

/// The whole service as one router.
pub fn app(state: State) -> axum::Router {
    routes::build(state).0
}
