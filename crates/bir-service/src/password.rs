//! Passwords: argon2id, a few at once, on threads of their own.
//!
//! Verifying takes the same time for an account that does not exist: a hash of the same cost, made at the first need,
//! stands in for the missing one. Nothing here runs on the path of an ordinary request.

use crate::problem::{Code, Problem};
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes of a password, from and to. The upper bound keeps hashing from being work for an attacker to order.
pub const LENGTH: std::ops::RangeInclusive<usize> = 8..=1024;
/// How long a sign-in waits for its turn to be hashed.
const TURN: Duration = Duration::from_secs(10);

/// Hashes and verifies.
#[derive(Debug)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    kib: u32,
    nobody: Arc<OnceLock<Option<String>>>,
}

/// A password could not be hashed.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed: {0}")]
pub struct HashError(String);

/// The PHC string of a password, with so many KiB of memory. Takes a tenth of a second and blocks.
///
/// # Errors
/// No memory, no randomness.
pub fn hash_now(password: &str, kib: u32) -> Result<String, HashError> {
    let failed = |e: &dyn std::fmt::Display| HashError(e.to_string());
    let params =
        Params::new(kib, Params::DEFAULT_T_COST, Params::DEFAULT_P_COST, None).map_err(|e| failed(&e))?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password(password.as_bytes()).map(|h| h.to_string()).map_err(|e| failed(&e))
}

fn verify_now(password: &str, phc: &str) -> bool {
    PasswordHash::new(phc)
        .is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
}

impl Passwords {
    pub(crate) fn new(at_once: usize, kib: u32) -> Self {
        Self { turns: Arc::new(Semaphore::new(at_once)), kib, nobody: Arc::default() }
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let busy =
            || Problem::new(Code::RateLimited, "too many people sign in right now; try again").after(2);
        let turn = tokio::time::timeout(TURN, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.map_err(|_| Problem::new(Code::Internal, "hashing the password failed"))
    }

    /// The PHC string of a password.
    pub(crate) async fn hash(&self, password: String) -> Result<String, Problem> {
        let kib = self.kib;
        self.in_turn(move || hash_now(&password, kib)).await?.map_err(|error| {
            tracing::error!(%error, "no password can be hashed");
            Problem::new(Code::Internal, "the password could not be hashed")
        })
    }

    /// Whether the password is the hashed one. Without a hash it takes as long and is false.
    pub(crate) async fn verify(&self, password: String, phc: Option<String>) -> Result<bool, Problem> {
        let (kib, nobody) = (self.kib, self.nobody.clone());
        self.in_turn(move || {
            let stand_in = nobody.get_or_init(|| hash_now("nobody's password", kib).ok());
            match (&phc, stand_in) {
                (Some(phc), _) => verify_now(&password, phc),
                (None, Some(stand_in)) => {
                    verify_now(&password, stand_in);
                    false
                }
                (None, None) => false,
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_is_right() {
        let passwords = Passwords::new(1, 64);
        let phc = passwords.hash("correct horse".into()).await.unwrap();
        assert!(phc.starts_with("$argon2id$v=19$m=64,"), "{phc}");
        assert!(passwords.verify("correct horse".into(), Some(phc.clone())).await.unwrap());
        assert!(!passwords.verify("correct horse ".into(), Some(phc)).await.unwrap());
        assert!(!passwords.verify("nobody's password".into(), None).await.unwrap());
        assert!(!passwords.verify("x".into(), Some("no PHC string".into())).await.unwrap());
    }
}
