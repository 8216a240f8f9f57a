//! Where runs are kept.
//!
//! ```text
//!  Store (what a store can do: append, list, search, delete; scenarios; people, tokens)
//!    └─ SqlStore      one SQL text for both; `append`, `runs`, `search`, `remove`, `scenarios`, `people`, `tokens`
//!         └─ sql      transactions inside a tenant, values, rows
//!              ├─ sqlite    embedded default: one file, one writer that books in groups, readers beside it
//!              └─ postgres  a team's: a pool, row-level security, two roles
//! ```
//!
//! [`open`] gives a [`Store`]. An SQLite file of an older schema is brought forward when it is opened; a PostgreSQL database
//! by [`migrate`], as its owner, because the hub's own role may not. Data of a newer version is refused by both.
//!
//! Who owns what: the database owns the truth, the tables' rules are in `migrations/`, and every query names its tenant.
//! In PostgreSQL the server enforces that as well.

#[cfg(test)]
extern crate self as bir_store;

mod address;
mod amend;
mod append;
mod columns;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod cursor;
mod error;
mod facets;
#[cfg(test)]
mod interleaved;
mod migrations;
pub mod model;
mod options;
mod people;
#[cfg(test)]
mod plans;
mod postgres;
mod remove;
mod runs;
mod scenarios;
mod search;
mod sql;
mod sql_store;
mod sqlite;
mod store;
mod tokens;
mod toolsets;
mod writer;

pub use error::StoreError;
pub use options::Options;
pub use store::{People, Recordings, Scenarios, Store};

use address::Address;
use std::sync::Arc;

/// Opens the store at an address: `sqlite:PATH` (made when it is not there), `sqlite::memory:` (for tests),
/// `postgres://USER:PASSWORD@HOST/DATABASE`. Has to be called inside a tokio runtime.
///
/// # Errors
/// [`StoreError::Address`], [`StoreError::Newer`], [`StoreError::Older`] (PostgreSQL: to be migrated), [`StoreError::Role`]
/// (PostgreSQL: the role could step around row-level security), [`StoreError::Unavailable`].
pub async fn open(address: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match Address::parse(address)? {
        Address::Memory => Arc::new(sqlite::open(None, &options).await?),
        Address::File(file) => Arc::new(sqlite::open(Some(&file), &options).await?),
        Address::Postgres(connect) => Arc::new(postgres::open(&shown(address), *connect, &options).await?),
    })
}

/// Brings a PostgreSQL database to the newest schema as its owner, and gives `app_role`, which has to exist, what the hub
/// needs and nothing else. May be repeated.
///
/// # Errors
/// [`StoreError::Address`] when it is not PostgreSQL's, [`StoreError::Newer`], [`StoreError::Role`], [`StoreError::Unavailable`].
pub async fn migrate(owner_address: &str, app_role: &str) -> Result<(), StoreError> {
    match Address::parse(owner_address)? {
        Address::Postgres(owner) => postgres::migrate(&shown(owner_address), *owner, app_role).await,
        Address::File(_) | Address::Memory => Err(StoreError::Failed(
            "an SQLite file is brought forward when it is opened; only PostgreSQL is migrated by its owner"
                .into(),
        )),
    }
}

/// An address as it may be shown and logged: without its password and parameters.
#[must_use]
pub fn shown(address: &str) -> String {
    address::shown(address)
}
