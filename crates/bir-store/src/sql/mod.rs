//! One SQL text for two databases.
//!
//! ```text
//!  TenantTx  a transaction inside one tenant     almost everything
//!  PlainTx   a transaction without a tenant      two look-ups, nothing else can be asked of it
//!     └─ Transaction ─ SQLite or PostgreSQL; takes `Value`s, gives `Row`s
//! ```
//!
//! Ids are UUIDs (16 bytes in both, sorted alike), times and counts are 64-bit integers, everything else is text. Texts go
//! through [`text`], because PostgreSQL's cannot hold U+0000.

mod row;
pub(crate) mod text;
mod tx;
mod value;

pub(crate) use row::{Row, name_of};
pub(crate) use tx::{Db, TenantTx};
pub(crate) use value::{Value, values};

/// `$from, $from+1, …`: placeholders for `count` values.
pub(crate) fn placeholders(from: usize, count: usize) -> String {
    use std::fmt::Write as _;
    let mut list = String::with_capacity(count * 5);
    for n in from..from + count {
        let _ = write!(list, "{}${n}", if n == from { "" } else { "," });
    }
    list
}
