//! What lies between scenarios and the hub's routes (docs/decisions/0009): no database, no HTTP, and no clock but for
//! how long something may
//! take.
//!
//! ```text
//!  rows of a run ─ trace ─▶ Recorded… ─ calculate ─▶ Stored ─┬─ payload ─▶ the JSON of a match
//!                                                            ├─ derive ──▶ values of the parameters for a prompt
//!                                                            ├─ rehearse ▶ what would run, against what was recorded
//!                                                            ├─ predict ─▶ whether it foretold a run of the model
//!                                                            ├─ carry ───▶ out of a hub and into another
//!                                                            └─ edit ────▶ what a change by hand would do; undo
//!  evidence ─ level ─▶ how far it runs by itself      measured turns ─ book ─▶ what it saved, at least
//! ```

#![forbid(unsafe_code)]

mod agree;
pub mod book;
pub mod calculate;
pub mod carry;
mod compare;
pub mod derive;
pub mod edit;
mod intent;
pub mod level;
mod logic;
mod parts;
pub mod payload;
mod play;
pub mod predict;
pub mod proposed;
pub mod rehearse;
pub mod stored;
pub mod trace;

pub use logic::Logic;
pub use stored::Stored;
