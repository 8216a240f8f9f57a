//! What a state directory says about recording, ready for use: whoever records begins here.

use crate::config::{Config, Loaded, RecordConfig};
use crate::exclude::Exclusions;
use crate::redact::{RedactionKey, Redactor, UnsyncedKey};
use std::io;
use std::path::Path;
use thiserror::Error;

/// A state directory that was looked into.
#[derive(Debug)]
pub struct Opened {
    /// With the installation's key and its owner's rules.
    pub redactor: Redactor,
    /// What is not to be recorded.
    pub exclude: Exclusions,
    /// `[record]`.
    pub record: RecordConfig,
    /// `[hub] url`.
    pub hub: Option<String>,
    /// What is wrong and matters to nobody's secrets, one line each.
    pub warnings: Vec<String>,
    /// The placeholders' key, where this made it: it is yet to be brought to the disk.
    pub unsynced_key: Option<UnsyncedKey>,
}

/// Why nothing may be recorded.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory, or the key in it.
    #[error(transparent)]
    Dir(#[from] io::Error),
    /// The configuration may hold a wish not to record, and it is not understood.
    #[error("{0}")]
    Unclear(String),
}

impl Opened {
    /// Looks into a state directory; it is made where there is none.
    ///
    /// # Errors
    ///
    /// Nothing may be recorded with it as it is.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        bir_home::ensure(dir)?;
        let Loaded { config, mut warnings, unclear } = Config::load(dir);
        if let Some(why) = unclear {
            return Err(OpenError::Unclear(why));
        }
        let mut key = RedactionKey::load_or_create(dir)?;
        let unsynced_key = key.take_unsynced();
        let (redactor, more) = Redactor::new(key, config.redact);
        warnings.extend(more);
        let exclude = Exclusions::new(config.record.exclude.clone());
        Ok(Self { redactor, exclude, record: config.record, hub: config.hub, warnings, unsynced_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_opens_nothing() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("state");
        assert!(Opened::open(&dir).unwrap().unsynced_key.is_some());
        assert!(Opened::open(&dir).unwrap().unsynced_key.is_none());
        std::fs::write(dir.join("config.toml"), "[record]\nexclude = ['x']\n").unwrap();
        assert!(matches!(Opened::open(&dir), Err(OpenError::Unclear(_))));
    }
}
