//! Executing and steering a plan, as decisions over values: no I/O, no clock, no threads. Events go in with the time at which they were heard,
//! actions come out in the order in which they are to be done.
//!
//! ```text
//!  prompt, match ─▶ gate ── declined ──▶ a sample of what the task costs
//!                    │ Ready
//!                    ▼
//!  hooks ──────┐   Replay: Announced ─▶ Called ─▶ Running ─▶ Over      ┌──▶ Record   (durable before what follows)
//!  proxies ────┼─▶   Event   └──────▶ Steering ◀──┘ │        ▲  Action ─┼──▶ Call, Cancel      to a proxy
//!  time ───────┘                        └───────────┴────────┘          ├──▶ Reply, Announce   to hooks and `run_scenario`
//!  bodies of logic ◀── Bodies (the sandbox)                             └──▶ Report            to the hub, once
//!
//!  record ── a crash ──▶ recover ─▶ what was done, what was not, what nobody knows
//! ```
//!
//! | who | owns |
//! |---|---|
//! | [`gate`] | the one decision for a prompt; [`coverage`], [`taint`], [`guard`], [`policy`] and [`health`] are what it asks |
//! | [`replay`] | one armed plan: its steps, its pins, who waits, when it is over |
//! | [`inputs`] | values: the plan's expressions natively, edited bodies by [`inputs::Bodies`]; [`expect`] and [`fit`] refuse |
//! | [`order`], [`reads`] | which steps may begin |
//! | [`pin`] | whether a call is the step; whether what ran is what was pinned |
//! | [`directive`], [`note`], [`bundle`], [`quote`], [`channel`] | every text that a model is told |
//! | [`intent`] | the write-ahead record, and what it says after a crash |
//! | [`outcome`], [`usage`] | what is told the hub, and what a turn used |
//! | whoever drives it | clocks, files, sockets, proxies, prices, redaction of what is stored |
//!
//! What holds everywhere: a step is begun once. Nothing is begun after something went wrong. A write waits for everything before it. No
//! result chooses a tool, or reaches a place that decides where a call acts. What others say is quoted. A note says of each step whether it was
//! done, was not begun, or is unknown.

#![forbid(unsafe_code)]

pub mod action;
pub mod budget;
pub mod bundle;
pub mod channel;
pub mod coverage;
pub mod directive;
pub mod event;
pub mod expect;
pub mod fit;
pub mod gate;
pub mod guard;
pub mod health;
pub mod inputs;
pub mod intent;
pub mod note;
pub mod order;
pub mod outcome;
pub mod pin;
pub mod policy;
pub mod quote;
pub mod reads;
pub mod replay;
pub mod script;
pub mod sink;
pub mod state;
pub mod taint;
#[cfg(test)]
mod tests;
pub mod usage;

pub use action::{Action, Reply};
pub use event::Event;
pub use gate::{Decision, decide};
pub use replay::Replay;
