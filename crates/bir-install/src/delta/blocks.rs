//! What an older text has in common with a newer one: blocks of eight bytes of the newer text, found again at any place of the older one.
//!
//! The newer text's blocks are kept in chains by their hash. The older text is walked from its start; at each place the longest of the
//! first candidates is taken, and stretched to both sides. What both texts begin and end with is not looked at.

use std::ops::Range;

/// Bytes of a block.
const BLOCK: usize = 8;
/// Candidates that are looked at in one place. More find longer matches in repetitive texts, and cost time there.
const CANDIDATES: usize = 32;
/// Above so many bytes only every eighth place of the newer text is kept, so that the table stays small.
const DENSE: usize = 4 << 20;
/// No entry in a chain.
const END: u32 = u32::MAX;

/// A part of the older text, and where it stands in the newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) old: Range<usize>,
    pub(super) new: Option<usize>,
}

/// The older text in parts, in its order, without a gap. Each begins and ends between two characters.
pub(super) fn parts(new: &[u8], old: &str) -> Vec<Part> {
    let bytes = old.as_bytes();
    let prefix = common(bytes.iter(), new.iter());
    let suffix = common(bytes[prefix..].iter().rev(), new[prefix..].iter().rev());
    let mut matches = vec![Part { old: 0..prefix, new: Some(0) }];
    let (from, to) = (prefix, bytes.len() - suffix);
    let middle = &new[prefix..new.len() - suffix];
    for part in inner(middle, &bytes[from..to]) {
        let old = part.old.start + from..part.old.end + from;
        matches.push(Part { old, new: part.new.map(|at| at + prefix) });
    }
    matches.push(Part { old: to..bytes.len(), new: Some(new.len() - suffix) });

    let mut all: Vec<Part> = Vec::with_capacity(matches.len() * 2);
    let mut done = 0;
    for found in matches {
        let start = (found.old.start..=found.old.end).find(|&at| old.is_char_boundary(at));
        let end = (found.old.start..=found.old.end).rev().find(|&at| old.is_char_boundary(at));
        let (Some(start), Some(end)) = (start, end) else { continue };
        if start >= end {
            continue;
        }
        if done < start {
            all.push(Part { old: done..start, new: None });
        }
        let at = found.new.map(|at| at + (start - found.old.start));
        all.push(Part { old: start..end, new: at });
        done = end;
    }
    if done < bytes.len() {
        all.push(Part { old: done..bytes.len(), new: None });
    }
    all
}

fn common<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// The matches of two texts, without their order in the newer one being kept.
fn inner(new: &[u8], old: &[u8]) -> Vec<Part> {
    let Some(table) = Table::of(new) else { return Vec::new() };
    let mut matches = Vec::new();
    let (mut at, mut done) = (0, 0);
    while at + BLOCK <= old.len() {
        let best = table
            .candidates(&old[at..at + BLOCK])
            .map(|start| (common(old[at..].iter(), new[start..].iter()), start))
            .filter(|&(length, _)| length >= BLOCK)
            .max_by_key(|&(length, start)| (length, std::cmp::Reverse(start)));
        let Some((length, start)) = best else {
            at += 1;
            continue;
        };
        let before = common(old[done..at].iter().rev(), new[..start].iter().rev());
        matches.push(Part { old: at - before..at + length, new: Some(start - before) });
        at += length;
        done = at;
    }
    matches
}

/// Where blocks stand in the newer text.
struct Table {
    first: Vec<u32>,
    next: Vec<u32>,
    stride: usize,
    bits: u32,
}

impl Table {
    /// None: there is nothing to find.
    fn of(new: &[u8]) -> Option<Self> {
        let places = new.len().checked_sub(BLOCK - 1).filter(|&places| places > 0)?;
        let stride = if new.len() <= DENSE { 1 } else { BLOCK };
        let count = places.div_ceil(stride);
        u32::try_from(count).ok().filter(|&count| count < END)?;
        let bits = count.next_power_of_two().trailing_zeros().max(4);
        let mut table = Self { first: vec![END; 1 << bits], next: vec![END; count], stride, bits };
        // The last ones first, so that a chain begins with the first place.
        for index in (0..count).rev() {
            let slot = table.slot(&new[index * stride..index * stride + BLOCK]);
            let number = u32::try_from(index).ok()?;
            table.next[index] = std::mem::replace(&mut table.first[slot], number);
        }
        Some(table)
    }

    fn slot(&self, block: &[u8]) -> usize {
        let mut word = [0; BLOCK];
        word.copy_from_slice(block);
        let mixed = u64::from_le_bytes(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        usize::try_from(mixed >> (64 - self.bits)).unwrap_or(0)
    }

    fn candidates(&self, block: &[u8]) -> impl Iterator<Item = usize> {
        let mut at = self.first[self.slot(block)];
        std::iter::from_fn(move || {
            let index = usize::try_from(at).ok().filter(|_| at != END)?;
            at = self.next[index];
            Some(index * self.stride)
        })
        .take(CANDIDATES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_without_gaps_and_hold_what_is_common() {
        let new = "begin 12345678 moved-block-of-text, a middle that is new, and the same end";
        let old = "begin and the moved-block-of-text is here 12345678 and the same end";
        let parts = parts(new.as_bytes(), old);
        let mut done = 0;
        for part in &parts {
            assert_eq!(part.old.start, done);
            done = part.old.end;
            if let Some(at) = part.new {
                assert_eq!(&new[at..at + part.old.len()], &old[part.old.clone()]);
            }
        }
        assert_eq!(done, old.len());
        let copied: usize = parts.iter().filter(|part| part.new.is_some()).map(|part| part.old.len()).sum();
        assert_eq!(copied, old.len() - "and the".len() - " is here ".len(), "{parts:?}");
    }

    #[test]
    fn a_character_is_never_cut() {
        // ä and ö share their first byte, é and ĩ their last.
        for (new, old) in [("xä", "xö"), ("éx", "ĩx"), ("12345678ä 1", "2 12345678ö 3")] {
            for part in parts(new.as_bytes(), old) {
                assert!(
                    old.is_char_boundary(part.old.start) && old.is_char_boundary(part.old.end),
                    "{part:?}"
                );
            }
        }
    }

    #[test]
    fn repetition_costs_no_more_than_its_length() {
        let new = vec![b' '; 1 << 20];
        let old = format!("{}x{}", " ".repeat(1 << 19), " ".repeat(1 << 18));
        let parts = parts(&new, &old);
        assert_eq!(
            parts.iter().filter(|part| part.new.is_none()).map(|part| part.old.len()).sum::<usize>(),
            1
        );
    }
}
