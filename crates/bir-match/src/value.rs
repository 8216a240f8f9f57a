//! What the values of a parameter look like, learned from those that were recorded: how likely a stretch of words is one of them.
//!
//! A sort with few values that come again and again is closed: a new one is unlikely. One whose every value was new is open. In between
//! the share of values that were seen once says how likely a new one is.

use crate::lexicon::Class;
use crate::way::Way;
use std::collections::{BTreeMap, HashMap};

/// What an unknown word weighs: one of a hundred thousand.
pub(crate) const UNKNOWN: f64 = 1e-5;

/// Something that is usual in values of some sorts, and a warning in those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Holds {
    /// A word of the class.
    Class(Class),
    /// A word that names nothing.
    Function,
    /// A sign between its words.
    Sign(char),
}

impl Holds {
    pub(crate) fn key(self) -> u64 {
        match self {
            Self::Class(class) => class as u64,
            Self::Function => 100,
            Self::Sign(sign) => 200 + u64::from(u32::from(sign)),
        }
    }
}

/// What the values of one sort look like. Everything is a count, so that what is forgotten leaves nothing behind.
#[derive(Debug, Default)]
pub(crate) struct Values {
    count: u32,
    seen: HashMap<u64, u32>,
    /// Values that were seen once.
    once: u32,
    patterns: HashMap<u64, u32>,
    /// Values that have a pattern.
    typed: u32,
    words: HashMap<u32, u32>,
    word_total: u32,
    /// Of these, words that are in several values.
    shared: u32,
    lengths: BTreeMap<usize, u32>,
    /// How many hold a word that joins ("in", "and") between others.
    joining: u32,
    /// How different values are delimited, and which signs stand in them: keys of [`crate::edge`].
    edges: HashMap<u64, u32>,
    /// How often each value was recorded, as it is written.
    made: HashMap<u64, u32>,
    /// How many different values hold a word of each class.
    holds: HashMap<Holds, u32>,
    /// How many things values name.
    parts: BTreeMap<usize, u32>,
    /// In small letters and with a capital, in prompts with capitals.
    written: [u32; 2],
}

impl Values {
    /// Learns from a value, or forgets it.
    pub(crate) fn learn(&mut self, key: u64, words: &[u32], pattern: Option<u64>, way: Way) {
        way.count(&mut self.count);
        let (before, times) = way.entry(&mut self.seen, key);
        self.once = self.once + u32::from(times == 1) - u32::from(before == 1);
        if let Some(pattern) = pattern {
            way.entry(&mut self.patterns, pattern);
            way.count(&mut self.typed);
        }
        // A value that comes often must not count as many.
        if before + times == 1 {
            for word in words {
                let (before, now) = way.entry(&mut self.words, *word);
                self.shared =
                    self.shared + if now > 1 { now } else { 0 } - if before > 1 { before } else { 0 };
                way.count(&mut self.word_total);
            }
            way.count(self.lengths.entry(words.len()).or_default());
            self.lengths.retain(|_, n| *n > 0);
        }
    }

    /// The words of the longest.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.last_key_value().map_or(0, |(length, _)| *length)
    }

    /// How often this very value was recorded.
    pub(crate) fn times(&self, key: u64) -> u32 {
        self.seen.get(&key).copied().unwrap_or(0)
    }

    /// In how many different values a word stands.
    pub(crate) fn with_word(&self, word: u32) -> u32 {
        self.words.get(&word).copied().unwrap_or(0)
    }

    /// How many different values were recorded.
    pub(crate) fn distinct(&self) -> f64 {
        self.seen.len() as f64
    }

    /// Learns a sign at the edge of a value.
    pub(crate) fn learn_edge(&mut self, key: u64, way: Way) {
        way.entry(&mut self.edges, key);
    }

    /// How often a sign was at the edge of a value.
    pub(crate) fn edge(&self, key: u64) -> u32 {
        self.edges.get(&key).copied().unwrap_or(0)
    }

    /// Learns what a value holds, and how many things it names. Where it was recorded before, it counts no more.
    pub(crate) fn learn_made(&mut self, key: u64, holds: &[Holds], parts: usize, way: Way) {
        let (before, now) = way.entry(&mut self.made, key);
        if before.min(now) == 0 && before != now {
            for hold in holds {
                way.entry(&mut self.holds, *hold);
            }
            way.count(self.parts.entry(parts).or_default());
            self.parts.retain(|_, n| *n > 0);
        }
    }

    /// How many different values hold that.
    pub(crate) fn holding(&self, what: Holds) -> u32 {
        self.holds.get(&what).copied().unwrap_or(0)
    }

    /// The most things that a value names.
    pub(crate) fn most_parts(&self) -> usize {
        self.parts.last_key_value().map_or(0, |(parts, _)| *parts)
    }

    /// Learns how a value is written.
    pub(crate) fn learn_case(&mut self, capital: bool, way: Way) {
        way.count(&mut self.written[usize::from(capital)]);
    }

    /// Learns that a value holds a word that joins.
    pub(crate) fn learn_joining(&mut self, way: Way) {
        way.count(&mut self.joining);
    }

    /// How many of its values do.
    pub(crate) fn joining(&self) -> u32 {
        self.joining
    }

    /// Its values are written with capitals.
    pub(crate) fn written(&self) -> bool {
        let [small, large] = self.written;
        large >= 8 && large >= small * 9
    }

    /// No value is written in small letters, where prompts have capitals.
    pub(crate) fn written_so(&self) -> bool {
        self.written[0] == 0 && self.written[1] > 0
    }

    /// How many values have this pattern.
    pub(crate) fn with_pattern(&self, pattern: u64) -> u32 {
        self.patterns.get(&pattern).copied().unwrap_or(0)
    }

    /// What follows from the counts.
    pub(crate) fn shape(&self) -> Shape {
        let count = f64::from(self.count);
        Shape {
            // How likely the next value is one that was not seen yet.
            new: ((f64::from(self.once) + 0.5) / (count + 1.0)).min(1.0),
            // How likely a word of a new value is one of another value.
            known: (f64::from(self.shared) + 0.5) / (f64::from(self.word_total) + 1.0),
            typed: (f64::from(self.typed) / count.max(1.0)).min(1.0),
        }
    }

    /// The logarithm of how likely a stretch of words is a value.
    pub(crate) fn log(&self, shape: &Shape, key: u64, words: &[u32], pattern: Option<u64>) -> f64 {
        /// An entity is one of so many of its kind.
        const OF_A_KIND: f64 = 1e-3;
        let times = self.times(key);
        if times > 0 {
            return ((1.0 - shape.new).max(0.05) * f64::from(times) / f64::from(self.count)).ln();
        }
        let distinct = self.seen.len() as f64;
        let length = f64::from(self.lengths.get(&words.len()).copied().unwrap_or(0));
        let spread = 1.0 / (1.0 + words.len() as f64).powi(3);
        let mut spelled = ((length + spread) / (distinct + 1.0)).ln() + (1.0 - shape.typed).max(0.02).ln();
        for word in words {
            let here = f64::from(self.with_word(*word));
            spelled += (shape.known * here / f64::from(self.word_total).max(1.0)
                + (1.0 - shape.known).max(0.02) * UNKNOWN)
                .ln();
        }
        let of_kind =
            pattern.map_or(0.0, |p| f64::from(self.with_pattern(p)) / f64::from(self.count) * OF_A_KIND);
        shape.new.ln() + (spelled.exp() + of_kind).ln().max(spelled)
    }
}

/// See [`Values::shape`].
#[derive(Debug, Default, Clone)]
pub(crate) struct Shape {
    pub(crate) new: f64,
    known: f64,
    /// The share of values that have a type.
    pub(crate) typed: f64,
}
