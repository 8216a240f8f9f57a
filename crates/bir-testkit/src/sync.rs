//! Locking that survives a panic of another test thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Locks; a poisoned lock is taken over, since the data here is only ever replaced whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condition` until `ready` holds or the deadline passes; tells whether it holds.
pub(crate) fn wait_until<T>(
    mutex: &Mutex<T>,
    condition: &Condvar,
    budget: Duration,
    mut ready: impl FnMut(&mut T) -> bool,
) -> bool {
    let deadline = Instant::now() + budget;
    let mut guard = lock(mutex);
    loop {
        if ready(&mut guard) {
            return true;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        guard = condition.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}
