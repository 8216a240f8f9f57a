use std::time::Duration;

/// How a store is opened. [`Options::default`] suits a laptop and a team's hub.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections to PostgreSQL; readers of an SQLite file beside its one writer.
    pub connections: u32,
    /// How long a connection, or a turn at writing, is waited for.
    pub patience: Duration,
    /// How long one statement may take in PostgreSQL before the server cancels it.
    pub statement_timeout: Duration,
    /// SQLite: the file's size at most, in bytes; beyond it the store is [`crate::StoreError::Unavailable`] for writing.
    pub size_limit: Option<u64>,
    /// SQLite: every commit waits for the disk. Without it a power failure (not a crash of the program) may cost the last
    /// commits; the file stays sound.
    pub durable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 8,
            patience: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            size_limit: None,
            durable: false,
        }
    }
}
