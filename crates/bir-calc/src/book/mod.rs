//! What scenarios save: never a guess, always a lower bound, net of what replay spent.
//!
//! ```text
//!  turns that the model did by itself ─▶ Sample… ─ baseline ─▶ what one costs, at least (five of one model are needed)
//!  turns that ran under a plan ────────▶ Entry…  ─ ledger ───▶ sum of (what one costs, at least − what this one cost)
//! ```

mod baseline;
mod ledger;
mod prices;

pub use baseline::{Baseline, METHOD, NEEDED, Sample, model};
pub use ledger::{Entry, ledger};
pub use prices::{Bound, Price, Prices, PricesError};
