use thiserror::Error;

/// Why a store did not do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The address names no store.
    #[error("`{0}` names no store; it is `sqlite:PATH` or `postgres://USER@HOST/DATABASE`")]
    Address(String),
    /// The data was written by a newer version.
    #[error(
        "the data in {place} has schema {found}, and this version knows {known}; use the newer bir that wrote it, or restore a backup"
    )]
    Newer {
        /// Which store.
        place: String,
        /// Its schema.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// The database role has more rights than row-level security can hold.
    #[error(
        "the database role `{role}` {why}; give the hub a role of its own (see `bir-hub migrate --help`)"
    )]
    Role {
        /// The role.
        role: String,
        /// What is wrong with it.
        why: String,
    },
    /// It exists already.
    #[error("{0} exists already")]
    Conflict(String),
    /// The cursor was not made by this store.
    #[error("the cursor is not one of this list; begin again without it")]
    Cursor,
    /// The database does not answer, or the disk is full: worth trying again later.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// Anything else.
    #[error("the store failed: {0}")]
    Failed(String),
}
