//! The key of the placeholders: 32 random bytes of this installation, in `keys/redaction.key` of the state directory.
//!
//! ```text
//!  read ──▶ 32 bytes ──▶ use it (a mode wider than 0600 is narrowed first)
//!    └────▶ none ──▶ lock ──▶ read again ──▶ none ──▶ write a file of our own, give it the name ──▶ read
//! ```
//!
//! The lock makes processes that start at once agree on one key. Nothing here waits for the disk, since the first records of a
//! session wait behind it: the file is brought to the disk later ([`Unsynced`]), and an empty one, which is what a loss of power
//! before that leaves, counts as none. Whoever holds the key can test guesses of
//! short secrets against their placeholders, so it never leaves the machine. When it is lost, a new one is made: old placeholders stay what they
//! are, and the same secret gets another placeholder from then on.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::placeholder::{self, Kind};

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Tries to get the lock that another process holds while it makes the key; it does so for microseconds.
const TRIES: u32 = 40;
/// Between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// Makes placeholders that only this installation can make.
#[derive(Clone)]
pub struct RedactionKey {
    key: hmac::Key,
    narrowed: bool,
    unsynced: Option<Unsynced>,
}

/// A key file that a loss of power may still take away.
#[derive(Debug, Clone)]
pub struct Unsynced(PathBuf);

impl Unsynced {
    /// Brings the file and its name to the disk. May wait for it.
    pub fn sync(self) {
        // Where this fails, the file is no worse off than before.
        let _ = File::open(&self.0).and_then(|file| file.sync_all());
        if let Some(keys) = self.0.parent() {
            let _ = File::open(keys).and_then(|dir| dir.sync_all());
        }
    }
}

impl std::fmt::Debug for RedactionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedactionKey")
    }
}

impl RedactionKey {
    /// The key of the installation whose state directory is `dir`; made when there is none.
    ///
    /// # Errors
    /// The file cannot be read, made, or narrowed to its owner, or it does not hold 32 bytes. The message says what to do; a recorder
    /// that cannot wait goes on with [`Self::ephemeral`].
    pub fn load_or_create(dir: &Path) -> io::Result<Self> {
        let keys = dir.join("keys");
        let path = keys.join("redaction.key");
        if let Some(key) = read(&path)? {
            return Ok(key);
        }
        private_dir(dir).map_err(|e| explain(e, "create the directory", dir))?;
        private_dir(&keys).map_err(|e| explain(e, "create the directory", &keys))?;
        let made = create(&keys, &path).map_err(|e| explain(e, "create the redaction key", &path))?;
        let key = read(&path)?.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("the redaction key {} vanished after it was made", path.display()),
            )
        })?;
        Ok(Self { unsynced: made.then_some(Unsynced(path)), ..key })
    }

    /// The file, when this made it: it is yet to be brought to the disk.
    pub fn take_unsynced(&mut self) -> Option<Unsynced> {
        self.unsynced.take()
    }

    /// A key that lives as long as this value: equal secrets stay equal within it, not beyond.
    #[must_use]
    pub fn ephemeral() -> Self {
        let mut bytes = [0; KEY_BYTES];
        if SystemRandom::new().fill(&mut bytes).is_err() {
            // The standard library's own seeds are the next best thing; a recorder must not die of this.
            for chunk in bytes.chunks_mut(8) {
                let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
                chunk.copy_from_slice(&seed.to_ne_bytes()[..chunk.len()]);
            }
        }
        Self::of(&bytes)
    }

    /// A key of bytes that are known: for tests that compare placeholders.
    #[must_use]
    pub fn of(bytes: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, bytes), narrowed: false, unsynced: None }
    }

    /// Whether the file could be read by others until now. Placeholders made with it may have been tested by whoever did.
    #[must_use]
    pub fn was_exposed(&self) -> bool {
        self.narrowed
    }

    pub(super) fn hmac(&self) -> &hmac::Key {
        &self.key
    }

    /// The placeholder of a value.
    pub(super) fn placeholder(&self, kind: Kind, value: &[u8]) -> String {
        placeholder::render(kind, hmac::sign(&self.key, value).as_ref())
    }
}

fn explain(e: io::Error, what: &str, path: &Path) -> io::Error {
    io::Error::new(e.kind(), format!("failed to {what} {}: {e}", path.display()))
}

fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Takes away what group and others may do; whether there was something to take.
#[cfg(unix)]
fn narrow(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(false);
    }
    file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(|e| {
        io::Error::new(
            e.kind(),
            format!(
                "the redaction key {} can be read by others (mode {:o}), and its mode could not be changed: {e}. Placeholders are only as secret as \
                 this key. Run `chmod 600` on it as its owner, or move it away to have a new one made",
                path.display(),
                mode & 0o7777
            ),
        )
    })?;
    Ok(true)
}

#[cfg(not(unix))]
fn narrow(_: &File, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// None: there is no key, or a file that never got its bytes.
fn read(path: &Path) -> io::Result<Option<RedactionKey>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(explain(e, "read the redaction key", path)),
    };
    let narrowed = narrow(&file, path)?;
    let mut bytes = Vec::with_capacity(KEY_BYTES + 1);
    Read::by_ref(&mut file)
        .take(KEY_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| explain(e, "read the redaction key", path))?;
    let found = bytes.len();
    if found == 0 {
        return Ok(None);
    }
    if let Ok(bytes) = <[u8; KEY_BYTES]>::try_from(&bytes[..]) {
        return Ok(Some(RedactionKey { narrowed, ..RedactionKey::of(&bytes) }));
    }
    let size = if found > KEY_BYTES { "more than 32".to_owned() } else { found.to_string() };
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        format!(
            "the redaction key {} holds {size} bytes, and a key is 32 random bytes; it was damaged or is not ours. Put the right file back, or move it away to \
             have a new key made (the same secret will then get another placeholder than before)",
            path.display()
        ),
    ))
}

/// Makes the file unless somebody else did meanwhile; whether it was us. Either way it is there afterwards.
fn create(keys: &Path, path: &Path) -> io::Result<bool> {
    let _lock = lock(&keys.join("redaction.lock"))?;
    if read(path)?.is_some() {
        return Ok(false);
    }
    let mut bytes = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system has no random bytes"))?;
    let own = keys.join("redaction.key.new");
    // One that a killed process left.
    let _ = fs::remove_file(&own);
    let written = private_file(&own).and_then(|mut file| file.write_all(&bytes));
    written.and_then(|()| fs::rename(&own, path)).inspect_err(|_| {
        let _ = fs::remove_file(&own);
    })?;
    Ok(true)
}

/// Held until the file is dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            Err(fs::TryLockError::Error(e)) => return Err(e),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::WouldBlock,
        format!("another process has held {} for too long", path.display()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: &RedactionKey) -> String {
        key.placeholder(Kind::Key, b"x")
    }

    #[test]
    fn made_once_and_private() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("state");
        let first = RedactionKey::load_or_create(&dir).unwrap();
        let again = RedactionKey::load_or_create(&dir).unwrap();
        assert_eq!(hash(&first), hash(&again));
        assert_ne!(hash(&first), hash(&RedactionKey::ephemeral()));
        assert_eq!(fs::read_dir(dir.join("keys")).unwrap().count(), 2, "the key and its lock");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&dir), 0o700);
            assert_eq!(mode(&dir.join("keys")), 0o700);
            assert_eq!(mode(&dir.join("keys/redaction.key")), 0o600);
        }
    }

    #[test]
    fn racing_makers_agree() {
        for _ in 0..20 {
            let home = tempfile::tempdir().unwrap();
            let barrier = std::sync::Barrier::new(8);
            let hashes: Vec<String> = std::thread::scope(|scope| {
                let makers: Vec<_> = (0..8)
                    .map(|_| {
                        scope.spawn(|| {
                            barrier.wait();
                            hash(&RedactionKey::load_or_create(home.path()).unwrap())
                        })
                    })
                    .collect();
                makers.into_iter().map(|m| m.join().unwrap()).collect()
            });
            assert!(hashes.iter().all(|h| *h == hashes[0]), "{hashes:?}");
        }
    }

    #[test]
    fn a_damaged_key_is_explained() {
        for size in [5, 31, 33, 4096] {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir(home.path().join("keys")).unwrap();
            fs::write(home.path().join("keys/redaction.key"), vec![7; size]).unwrap();
            let error = RedactionKey::load_or_create(home.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            let text = error.to_string();
            assert!(text.contains("redaction.key") && text.contains("move it away"), "{text}");
        }
    }

    #[test]
    fn what_a_loss_of_power_leaves_is_no_key() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("keys")).unwrap();
        fs::write(home.path().join("keys/redaction.key"), "").unwrap();
        fs::write(home.path().join("keys/redaction.key.new"), "half").unwrap();
        let mut made = RedactionKey::load_or_create(home.path()).unwrap();
        let mut again = RedactionKey::load_or_create(home.path()).unwrap();
        assert_eq!(hash(&made), hash(&again));
        assert!(again.take_unsynced().is_none());
        made.take_unsynced().unwrap().sync();
        assert!(made.take_unsynced().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_wide_mode_is_narrowed_and_told() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys/redaction.key");
        assert!(!RedactionKey::load_or_create(home.path()).unwrap().was_exposed());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(RedactionKey::load_or_create(home.path()).unwrap().was_exposed());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!RedactionKey::load_or_create(home.path()).unwrap().was_exposed());
    }

    #[test]
    fn a_directory_in_its_place_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("keys/redaction.key")).unwrap();
        let text = RedactionKey::load_or_create(home.path()).unwrap_err().to_string();
        assert!(text.contains("redaction.key"), "{text}");
    }
}
