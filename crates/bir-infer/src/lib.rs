//! From recorded runs to a scenario, without a model: where each value of each input came from.
//!
//! ```text
//!  Trace 1 ─ explained: for each leaf of each input everything that gives it (results, prompt, clock, constants), ranked
//!     │        ▲ index of all results            ▲ entities of the prompt
//!  Trace 2… ─ what does not hold there is struck out
//!     │
//!  chosen: the cheapest; those that are nearly as cheap have to agree with it ─▶ lowered: what each step keeps ─▶ Scenario
//!     │
//!  verified: replayed dry on each run; each parameter and result changed, and exactly the dependent leaves move
//! ```
//!
//! A value that redaction or truncation has touched explains nothing. What nothing explains is named, and a replay hands over there: a
//! wrong call costs more than an answer that is not given.

#![forbid(unsafe_code)]

mod calculate;
mod choose;
mod explain;
mod index;
mod leaves;
mod lower;
mod moment;
mod names;
mod perturb;
mod probe;
mod prompt;
mod reader;
mod recheck;
mod select;
mod unify;
mod verify;
mod walk;
mod witness;
mod wording;

pub use calculate::{Calculation, LeafReport, Source, calculate};
pub use reader::{Reader, Unread};
pub use recheck::{Recheck, recheck};
pub use verify::Verification;
pub use wording::{Edit, Fill, Place, Reading, Wording};
