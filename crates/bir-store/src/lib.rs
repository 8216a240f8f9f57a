//! Where runs are kept.
//!
//! ```text
//!  Store (what a store can do) ─┬─ sqlite    embedded default, one file
//!                               └─ postgres  a team's, with row-level security
//! ```

mod error;
pub mod model;
mod store;

pub use error::StoreError;
pub use store::{People, Recordings, Store};
