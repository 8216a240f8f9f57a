//! The host's requests that await an answer.
//!
//! Ids are compared as they were written: `1`, `"1"` and `1.0` are three ids. An id that repeats while it is in flight is
//! legal on no revision and sent all the same; its answers are taken in the order of asking.

use crate::CallKey;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Most requests that are followed at once. A host that never reads its answers must not fill our memory.
const MOST: usize = 16_384;

/// What was asked for, as far as the relay cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall,
    /// `subscriptions/listen`: open for as long as the session, and no answer is expected.
    Listen,
    /// Anything else.
    Other,
}

impl Asked {
    /// Whether it opens the connection.
    #[must_use]
    pub fn is_opening(self) -> bool {
        matches!(self, Self::Initialize | Self::Discover)
    }
}

/// One request in flight. Slots are reused with their buffers, so that a steady conversation allocates nothing.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: Vec<u8>,
    pub(crate) asked: Asked,
    pub(crate) call: Option<OpenCall>,
    /// `params` of a `tools/list`; kept for a tap alone.
    pub(crate) params: Option<Box<[u8]>>,
    order: u64,
    live: bool,
}

/// The call behind a `tools/call` in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenCall {
    pub(crate) key: CallKey,
    pub(crate) leg: u32,
    pub(crate) tool_hash: u64,
}

#[derive(Debug)]
pub(crate) struct InFlight {
    slots: Vec<Slot>,
    free: Vec<u32>,
    table: HashTable<u32>,
    hasher: RandomState,
    next_order: u64,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::new(),
            next_order: 0,
        }
    }

    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }

    /// Remembers a request, with what is kept of its `params`. Returns the call that had to be forgotten for it, when there was
    /// one.
    pub(crate) fn insert(
        &mut self,
        id: &[u8],
        asked: Asked,
        call: Option<OpenCall>,
        params: Option<Box<[u8]>>,
    ) -> Option<OpenCall> {
        let evicted = if self.table.len() >= MOST { self.evict_oldest() } else { None };
        let hash = self.hash(id);
        let order = self.next_order;
        self.next_order += 1;
        let index = match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                slot.id.clear();
                slot.id.extend_from_slice(id);
                (slot.asked, slot.call, slot.params) = (asked, call, params);
                (slot.order, slot.live) = (order, true);
                index
            }
            None => {
                self.slots.push(Slot { id: id.to_vec(), asked, call, params, order, live: true });
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.table.insert_unique(hash, index, |&i| hasher.hash_one(&slots[i as usize].id[..]));
        evicted
    }

    /// Takes the oldest request with this id, and says whether others with the same id remain.
    pub(crate) fn take(&mut self, id: &[u8]) -> Option<(&mut Slot, bool)> {
        let hash = self.hash(id);
        let slots = &self.slots;
        let written_so = |&i: &u32| slots[i as usize].id == id;
        let (mut oldest, mut count) = (None::<u32>, 0_u32);
        for &i in self.table.iter_hash(hash).filter(|i| written_so(i)) {
            count += 1;
            if oldest.is_none_or(|o| slots[i as usize].order < slots[o as usize].order) {
                oldest = Some(i);
            }
        }
        let Some(index) = oldest else { return self.take_respelled(id) };
        self.remove(index, hash);
        Some((&mut self.slots[index as usize], count > 1))
    }

    /// Takes the request whose id is the same value in another spelling: a server may have read and written it anew. Only
    /// where no id is written exactly so, and where there is one such request.
    fn take_respelled(&mut self, id: &[u8]) -> Option<(&mut Slot, bool)> {
        let mut found = None;
        for index in 0..self.slots.len() {
            if self.slots[index].live
                && same_value(&self.slots[index].id, id)
                && found.replace(index).is_some()
            {
                return None;
            }
        }
        let index = found?;
        let hash = self.hash(&self.slots[index].id);
        self.remove(u32::try_from(index).unwrap_or(u32::MAX), hash);
        Some((&mut self.slots[index], false))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|s| s.live)
    }

    /// Requests whose answer is expected.
    pub(crate) fn expected(&self) -> usize {
        self.table.len() - self.iter().filter(|slot| slot.asked == Asked::Listen).count()
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.free.clear();
        self.slots.clear();
    }

    fn remove(&mut self, index: u32, hash: u64) {
        if let Ok(entry) = self.table.find_entry(hash, |&i| i == index) {
            entry.remove();
        }
        self.slots[index as usize].live = false;
        self.free.push(index);
    }

    fn evict_oldest(&mut self) -> Option<OpenCall> {
        let index =
            (0..self.slots.len()).filter(|&i| self.slots[i].live).min_by_key(|&i| self.slots[i].order)?;
        let hash = self.hash(&self.slots[index].id);
        self.remove(u32::try_from(index).unwrap_or(u32::MAX), hash);
        self.slots[index].call.take()
    }
}

/// Whether two raw ids are the same string, or the same number.
fn same_value(a: &[u8], b: &[u8]) -> bool {
    if a.first() == Some(&b'"') {
        let text = |id| bir_wire::text::decode(id);
        return b.first() == Some(&b'"') && text(a).is_some() && text(a) == text(b);
    }
    let number = |id| std::str::from_utf8(id).ok()?.parse::<f64>().ok().filter(|n| n.abs() < EXACT);
    number(a).is_some() && number(a) == number(b)
}

/// Integers below this are told apart by a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_as_written() {
        let mut t = InFlight::new();
        for id in ["1", "\"1\"", "1.0", "9007199254740993", "\"é\"", "\"\\u00e9\""] {
            t.insert(id.as_bytes(), Asked::Other, None, None);
        }
        assert!(t.take(b"9007199254740992").is_none());
        for id in ["\"1\"", "1.0", "1", "\"\\u00e9\"", "\"é\"", "9007199254740993"] {
            let (slot, more) = t.take(id.as_bytes()).unwrap();
            assert_eq!((slot.id.as_slice(), more), (id.as_bytes(), false));
        }
        assert_eq!(t.expected(), 0);
    }

    #[test]
    fn an_id_in_another_spelling_is_found_where_it_is_the_only_one() {
        let mut t = InFlight::new();
        for id in ["7.0", "\"a\\/b\"", "1e2", "12345678901234567890"] {
            t.insert(id.as_bytes(), Asked::Other, None, None);
        }
        for id in ["7", "\"a/b\"", "100"] {
            assert!(t.take(id.as_bytes()).is_some(), "{id}");
        }
        assert!(t.take(b"12345678901234567891").is_none());
        t.insert(b"7", Asked::Other, None, None);
        t.insert(b"7.00", Asked::Other, None, None);
        assert!(t.take(b"7.0").is_none(), "either could be meant");
    }

    #[test]
    fn a_repeated_id_is_answered_in_the_order_of_asking() {
        let mut t = InFlight::new();
        t.insert(b"7", Asked::ToolsList, None, None);
        t.insert(b"7", Asked::ToolsCall, None, None);
        let (first, more) = t.take(b"7").map(|(s, m)| (s.asked, m)).unwrap();
        assert_eq!((first, more), (Asked::ToolsList, true));
        let (second, more) = t.take(b"7").map(|(s, m)| (s.asked, m)).unwrap();
        assert_eq!((second, more), (Asked::ToolsCall, false));
        assert!(t.take(b"7").is_none());
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut t = InFlight::new();
        for n in 0..=MOST {
            t.insert(n.to_string().as_bytes(), Asked::Other, None, None);
        }
        assert_eq!(t.expected(), MOST);
        assert!(t.take(b"0").is_none());
        assert!(t.take(b"1").is_some());
    }
}
