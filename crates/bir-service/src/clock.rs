//! Time and randomness, passed in so that tests decide them.

use ring::rand::{SecureRandom, SystemRandom};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// ms since the Unix epoch.
    fn now(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The machine gave no randomness, so no secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("the machine gives no randomness")]
pub struct NoRandomness;

/// Makes what nobody can guess.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// Fills the bytes.
    ///
    /// # Errors
    /// The source is not there.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness>;
}

/// The machine's source.
#[derive(Debug, Default)]
pub struct SystemSource;

impl Random for SystemSource {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        SystemRandom::new().fill(bytes).map_err(|_| NoRandomness)
    }
}
