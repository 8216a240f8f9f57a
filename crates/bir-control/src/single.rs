//! One control server a user.
//!
//! ```text
//!   control/serve.lock   held for as long as one lives
//!   control/serve.json   where it listens, which release it is, and what its successor has to show
//! ```
//!
//! Whoever finds the lock held asks its holder which release it is. An older one is asked to end, and its runs go on here; the
//! same or a newer one is left alone.

use crate::log::Log;
use bir_control_client::{Contact, Control, Token, ask, projects};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the holder of the lock may take to say who it is, and then again to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether it did.
const LOOK: Duration = Duration::from_millis(20);
/// How long the request to end may take.
const ASKING: Duration = Duration::from_secs(1);

/// What `serve.json` says.
#[derive(Serialize, Deserialize)]
struct Said {
    url: String,
    token: String,
    pid: u32,
    version: String,
}

/// The right to be the control server, for as long as it is held.
pub(crate) struct Sole {
    file: PathBuf,
    #[expect(dead_code, reason = "it is kept for its lock")]
    lock: File,
}

/// What came of asking for it.
pub(crate) enum Claim {
    /// It is ours.
    Ours(Sole),
    /// Another one serves, and it is as new as this one.
    Theirs,
    /// Another one holds the lock, and neither answers nor ends.
    Stuck,
}

impl Sole {
    /// Claims it for this release.
    pub(crate) fn claim(state_dir: &Path, version: &str, log: &Log) -> io::Result<Claim> {
        let folder = projects::folder(state_dir);
        bir_home::ensure(&folder)?;
        let lock =
            bir_home::private().write(true).create(true).truncate(false).open(folder.join("serve.lock"))?;
        let file = folder.join("serve.json");
        let (mut deadline, mut asked) = (Instant::now() + PATIENCE, false);
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Claim::Ours(Self { file, lock })),
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(e)) => return Err(e),
            }
            if Instant::now() >= deadline {
                return Ok(Claim::Stuck);
            }
            if !asked && let Some(contact) = contact(&file) {
                match ask(&contact) {
                    Ok(health) if is_older(health.version.as_deref().unwrap_or_default(), version) => {
                        log.info("an older control server is asked to end");
                        asked = upgrade(&contact);
                        deadline = Instant::now() + PATIENCE;
                    }
                    Ok(_) => return Ok(Claim::Theirs),
                    // It has just started, or is about to end.
                    Err(_) => {}
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Says where this one listens.
    pub(crate) fn tell(&self, url: &str, token: &Token, version: &str) -> io::Result<()> {
        let said = Said {
            url: url.to_owned(),
            token: token.secret().to_owned(),
            pid: std::process::id(),
            version: version.to_owned(),
        };
        bir_home::replace(&self.file, &serde_json::to_vec(&said)?)
    }
}

impl Drop for Sole {
    fn drop(&mut self) {
        // Before the lock goes: the next one writes its own.
        let _ = std::fs::remove_file(&self.file);
    }
}

fn contact(file: &Path) -> Option<Contact> {
    let said: Said = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    Some(Contact { url: said.url, token: Token::new(said.token), pid: Some(said.pid), file: None })
}

fn upgrade(contact: &Contact) -> bool {
    let message = serde_json::json!({ "reason": "upgrade" });
    let asked = Control::new(contact)
        .and_then(|control| control.post_blocking::<serde_json::Value>("/shutdown", &message, ASKING));
    asked.is_ok()
}

/// Whether a release is older than another. One that tells no number is older than any.
fn is_older(theirs: &str, ours: &str) -> bool {
    numbers(theirs) < numbers(ours)
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split(['-', '+']).next()?.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        for (older, newer) in
            [("0.1.0", "0.1.1"), ("0.9.9", "0.10.0"), ("0.1.0", "1.0.0"), ("", "0.0.1"), ("x", "0.0.1")]
        {
            assert!(is_older(older, newer) && !is_older(newer, older), "{older} {newer}");
        }
        assert!(!is_older("0.1.0", "0.1.0") && !is_older("0.1.0-rc.1", "0.1.0"));
    }
}
