//! How much may be under way before the host is held back, and how many requests are in flight at once.
//!
//! Messages that are under way are held in memory, so the host is not read while too much of it is taken. That wait
//! ends: a host that waits for its own turn to be read could neither cancel nor be seen to leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::upstream::MAX_REQUESTS;

/// What may be under way: 64 MiB, in KiB.
const KIB: u32 = 64 * 1024;
/// What a message takes beside its bytes, in KiB. Thus about 8000 small messages may be under way.
const KIB_EACH: usize = 8;
/// How long the host is held back before its next request is refused.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request that waits longer than this for its turn is spoken of.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// Counts what is under way.
pub(crate) struct Room {
    free: Arc<Semaphore>,
    /// The last wait was in vain.
    full: AtomicBool,
    requests: Arc<Semaphore>,
    /// A long wait was spoken of, and no request has had its turn at once since.
    told: AtomicBool,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(KIB as usize)),
            full: AtomicBool::new(false),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            told: AtomicBool::new(false),
        }
    }
}

impl Room {
    /// Waits until a message of so many bytes may be under way; `None` when that takes too long. Once it did, the
    /// next ones do not wait until there is room again.
    pub(crate) async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let size = u32::try_from(bytes / 1024 + KIB_EACH).unwrap_or(KIB).min(KIB);
        let at_once = self.free.clone().try_acquire_many_owned(size).ok();
        let place = match at_once {
            None if !self.full.load(Ordering::Relaxed) => {
                let waited = tokio::time::timeout(PATIENCE, self.free.clone().acquire_many_owned(size)).await;
                waited.ok().and_then(Result::ok)
            }
            at_once => at_once,
        };
        self.full.store(place.is_none(), Ordering::Relaxed);
        place
    }

    /// A place among the requests in flight, if there is one now.
    pub(crate) fn turn_now(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.requests.clone().try_acquire_owned().ok();
        if permit.is_some() {
            self.told.store(false, Ordering::Relaxed);
        }
        permit
    }

    /// Waits for a place among the requests in flight; says so when that takes long.
    pub(crate) async fn turn(&self, say: impl FnOnce(&str)) -> Option<OwnedSemaphorePermit> {
        let mut turn = std::pin::pin!(self.requests.clone().acquire_owned());
        match tokio::time::timeout(LONG_WAIT, &mut turn).await {
            Ok(permit) => permit.ok(),
            Err(_) => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    say(&format!(
                        "{MAX_REQUESTS} requests wait for the upstream's answers; further ones wait for their turn"
                    ));
                }
                turn.await.ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_wait_for_room_ends_and_the_next_one_does_not_begin() {
        let room = Room::default();
        let large = room.take(KIB as usize * 1024).await;
        assert!(large.is_some());
        let before = tokio::time::Instant::now();
        assert!(room.take(1).await.is_none());
        assert_eq!(before.elapsed(), PATIENCE);
        assert!(room.take(1).await.is_none());
        assert_eq!(before.elapsed(), PATIENCE);
        drop(large);
        assert!(room.take(1).await.is_some());
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_long_wait_for_a_turn_is_told_once() {
        let room = Arc::new(Room::default());
        let mut held: Vec<_> = (0..MAX_REQUESTS).map_while(|_| room.turn_now()).collect();
        assert!(held.len() == MAX_REQUESTS && room.turn_now().is_none());
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let (room, tell) = (room.clone(), tell.clone());
                tokio::spawn(
                    async move { room.turn(|text| drop(tell.send(text.to_owned()))).await.is_some() },
                )
            })
            .collect();
        assert!(told.recv().await.unwrap().contains("wait for their turn"));
        held.clear();
        for wait in waiting {
            assert!(wait.await.unwrap());
        }
        assert!(told.try_recv().is_err());
    }
}
