//! One `bir` at a time. The file stays; the system takes the lock back when its holder ends, however it ends.

use super::CommitError;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long another one is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "it is held, not read")] File);

impl Lock {
    pub(super) fn take(state_dir: &Path) -> Result<Self, CommitError> {
        Self::within(state_dir, PATIENCE)
    }

    fn within(state_dir: &Path, patience: Duration) -> Result<Self, CommitError> {
        let path = state_dir.join("install.lock");
        let fail = |source| CommitError::Write { path: path.clone(), source };
        bir_home::ensure(state_dir)
            .map_err(|source| CommitError::Write { path: state_dir.to_owned(), source })?;
        let file = bir_home::private().write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        bir_home::hand_over(&file, &path);
        let until = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_millis(20)),
                Err(TryLockError::WouldBlock) => return Err(CommitError::Busy),
                Err(TryLockError::Error(source)) => return Err(fail(source)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_waits_and_then_gives_up() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("made/for/it");
        let one = Lock::take(&state).unwrap();
        let began = Instant::now();
        let two = Lock::within(&state, Duration::from_millis(100));
        assert!(matches!(two, Err(CommitError::Busy)), "{two:?}");
        assert!(began.elapsed() >= Duration::from_millis(100));
        let waiting = std::thread::spawn(move || Lock::within(&state, Duration::from_secs(60)).map(drop));
        sleep(Duration::from_millis(50));
        drop(one);
        waiting.join().unwrap().unwrap();
    }
}
