//! Learning and forgetting: the same counts, up or down. What falls to nothing is removed, so that a memory after forgetting is the one that never
//! learned.

use std::collections::HashMap;
use std::hash::Hash;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Up.
    Learn,
    /// Down.
    Forget,
}

impl Way {
    /// Counts one.
    pub(crate) fn count(self, count: &mut u32) {
        *count = match self {
            Self::Learn => count.saturating_add(1),
            Self::Forget => count.saturating_sub(1),
        };
    }

    /// Counts one in a map; how many there were and are.
    pub(crate) fn entry<K: Hash + Eq>(self, map: &mut HashMap<K, u32>, key: K) -> (u32, u32) {
        let mut entry = match map.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry,
            std::collections::hash_map::Entry::Vacant(entry) if self == Self::Learn => {
                entry.insert(1);
                return (0, 1);
            }
            std::collections::hash_map::Entry::Vacant(_) => return (0, 0),
        };
        let before = *entry.get();
        self.count(entry.get_mut());
        let now = *entry.get();
        if now == 0 {
            entry.remove();
        }
        (before, now)
    }
}
