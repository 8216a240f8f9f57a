//! `credentials.json`: what `bir login` left, and its refreshing.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{HubError, Token};

/// What is known of one hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Login {
    /// Short-lived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token: Option<Token>,
    /// Buys the next pair, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Token>,
    /// When the access token ends, ms since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// A long-lived token in place of the pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Who signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

impl Login {
    /// The token that is sent.
    #[must_use]
    pub fn bearer(&self) -> Option<&Token> {
        self.token.as_ref().or(self.access_token.as_ref())
    }
}

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Credentials {
    /// By address.
    pub servers: BTreeMap<String, Login>,
    /// The address that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

impl Credentials {
    /// Where the file is.
    #[must_use]
    pub fn path(state_dir: &Path) -> PathBuf {
        state_dir.join("credentials.json")
    }

    /// Reads the file; nothing is known where there is none.
    ///
    /// # Errors
    ///
    /// [`HubError::State`]: it cannot be read or understood.
    pub fn load(state_dir: &Path) -> Result<Self, HubError> {
        let path = Self::path(state_dir);
        let failed = |why: String| HubError::State { place: path.display().to_string(), why };
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|e| {
                failed(format!(
                    "line {}, column {} is not as written by `bir login`; sign in again",
                    e.line(),
                    e.column()
                ))
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(failed(e.to_string())),
        }
    }

    /// Replaces the file in one step, readable by this user alone.
    ///
    /// # Errors
    ///
    /// [`HubError::State`]: it cannot be written.
    pub fn save(&self, state_dir: &Path) -> Result<(), HubError> {
        let path = Self::path(state_dir);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let saved = text.and_then(|text| {
            bir_home::ensure(state_dir)?;
            bir_home::replace(&path, &text)
        });
        saved.map_err(|e| HubError::State { place: path.display().to_string(), why: e.to_string() })
    }

    /// Takes the lock under which the file is changed. Waits for at most `budget`.
    ///
    /// # Errors
    ///
    /// [`HubError::State`]: somebody else holds it for longer, or it cannot be made.
    pub async fn lock(state_dir: &Path, budget: Duration) -> Result<File, HubError> {
        const PAUSE: Duration = Duration::from_millis(20);
        let path = state_dir.join("credentials.lock");
        let failed = |why: String| HubError::State { place: path.display().to_string(), why };
        let open = || {
            bir_home::ensure(state_dir)?;
            bir_home::private().write(true).create(true).truncate(false).open(&path)
        };
        let file = open().map_err(|e| failed(e.to_string()))?;
        let deadline = Instant::now() + budget;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(_) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                Err(_) => {
                    return Err(failed(format!(
                        "another program holds it for more than {} s",
                        budget.as_secs()
                    )));
                }
            }
        }
    }
}
