//! Scenarios: what recorded runs become, and what the routes do with them (docs/decisions/0009, docs/scenarios.md).
//!
//! ```text
//!  a run ends ─▶ work (queue) ─▶ calculate ─▶ store ─▶ matchers: prompts of a person, held ready
//!  a run begins ─▶ ask ─▶ matchers ─▶ load (scenario from the store) ─▶ ticket
//!  executions ─▶ ledger, roles of runs, levels        change: check, edit, undo, approve, delete ─▶ logic (bir-sandbox)
//! ```
//!
//! A scenario is its owner's alone: every view that the store is asked with here is the caller's own, whatever their role.

pub(crate) mod ask;
pub(crate) mod calculate;
pub(crate) mod carry;
pub(crate) mod change;
#[cfg(test)]
mod documented;
pub(crate) mod executions;
pub(crate) mod help;
pub(crate) mod load;
pub(crate) mod logic;
pub(crate) mod matchers;
pub(crate) mod read;
mod standing;
pub(crate) mod tools;
mod when;
mod work;

pub(crate) use help::Help;
pub(crate) use logic::Sandboxes;
pub(crate) use matchers::Matchers;
pub use work::{PROGRAM, work};
pub(crate) use work::{Work, ended};

use crate::problem::Problem;
use bir_model::ScenarioId;

/// The scenario that a path names. A text that is no id names none.
pub(crate) fn scenario_id(text: &str) -> Result<ScenarioId, Problem> {
    text.parse().map_err(|_| Problem::not_found("scenario"))
}
