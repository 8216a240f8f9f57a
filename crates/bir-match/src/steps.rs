//! Stretches of fixed words, and where they lead: counts, and how likely a stretch is where none was counted.
//!
//! A stretch that was seen behind one parameter is possible behind another, and where it led to one sort it may lead to any that its last
//! word ("in", "by") led to. Those are less likely, so they do not explain a prompt on their own, but they stand against a reading that
//! is only one of several.

use crate::grammar::{BEGIN, Sort, mix};
use std::collections::HashMap;

/// Counts of a stretch, or of a last word.
#[derive(Debug, Default)]
struct Seen {
    total: u32,
    to: Vec<(Sort, u32)>,
}

impl Seen {
    fn add(&mut self, to: Sort) {
        self.total += 1;
        match self.to.iter_mut().find(|(sort, _)| *sort == to) {
            Some((_, count)) => *count += 1,
            None => self.to.push((to, 1)),
        }
    }

    fn count(&self, to: Sort) -> f64 {
        self.to.iter().find(|(sort, _)| *sort == to).map_or(0.0, |(_, count)| f64::from(*count))
    }
}

/// All stretches of all families.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Behind a certain parameter.
    exact: HashMap<u64, Seen>,
    /// How often a parameter was left, and by how many different stretches.
    left: HashMap<u64, (u32, u32)>,
    /// Behind any.
    anywhere: HashMap<u64, Seen>,
    /// How often any was left.
    edges: HashMap<u64, u32>,
    /// Behind any, by the last word only.
    last: HashMap<u64, Seen>,
    /// In which families a prompt begins so.
    begins: HashMap<u64, HashMap<u64, u32>>,
}

/// A stretch while it grows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    family: u64,
    from: Sort,
    words: u64,
    last: u64,
}

impl Stretch {
    pub(crate) fn new(family: usize, from: Sort) -> Self {
        // Without words it is the parameter itself that says what follows.
        Self { family: family as u64 + 1, from, words: 11, last: mix(13, u64::from(from)) }
    }

    pub(crate) fn push(&mut self, word: u32) {
        self.words = mix(self.words, u64::from(word) + 2);
        self.last = u64::from(word) + 2;
    }

    fn edge(self) -> u64 {
        mix(self.family, u64::from(self.from == BEGIN))
    }

    fn left(self) -> u64 {
        mix(mix(self.family, 17), u64::from(self.from))
    }
}

/// Behind any parameter a stretch that led to a sort this often,
const OFTEN: f64 = 12.0;
/// counts like so many prompts behind the one where it was shown at least twice.
const ENOUGH: u32 = 4;

/// Where a stretch may lead.
pub(crate) struct Step {
    pub(crate) to: Sort,
    /// The logarithm of how likely.
    pub(crate) log: f64,
    /// So many prompts showed it as it stands.
    pub(crate) shown: u32,
    /// So many showed its words, wherever they led.
    pub(crate) worded: u32,
}

impl Steps {
    pub(crate) fn learn(&mut self, stretch: Stretch, to: Sort) {
        if stretch.from == BEGIN {
            *self.begins.entry(stretch.words).or_default().entry(stretch.family).or_default() += 1;
        }
        let exact = self.exact.entry(mix(stretch.left(), stretch.words)).or_default();
        let left = self.left.entry(stretch.left()).or_default();
        left.0 += 1;
        left.1 += u32::from(exact.count(to) == 0.0);
        exact.add(to);
        self.anywhere.entry(mix(stretch.edge(), stretch.words)).or_default().add(to);
        *self.edges.entry(stretch.edge()).or_default() += 1;
        self.last.entry(mix(stretch.edge(), stretch.last)).or_default().add(to);
    }

    /// How often two prompts that begin alike belong to different families: what one prompt more says is worth as much less.
    pub(crate) fn disagreement(&self) -> f64 {
        let (mut differ, mut stretches) = (0.0, 0.0);
        for families in self.begins.values() {
            let count = families.values().map(|n| f64::from(*n)).sum::<f64>();
            if count >= 2.0 {
                let same = families.values().map(|n| f64::from(*n) * (f64::from(*n) - 1.0)).sum::<f64>();
                differ += 1.0 - same / (count * (count - 1.0));
                stretches += 1.0;
            }
        }
        (differ + 1.0) / (stretches + 2.0)
    }

    /// Where a stretch leads; nothing where the family never showed it.
    pub(crate) fn lead(&self, stretch: Stretch) -> Vec<Step> {
        /// What the last word says counts like so many prompts.
        const BY_LAST_WORD: f64 = 0.5;
        let Some(anywhere) = self.anywhere.get(&mix(stretch.edge(), stretch.words)) else {
            return Vec::new();
        };
        let Some(last) = self.last.get(&mix(stretch.edge(), stretch.last)) else { return Vec::new() };
        let exact = self.exact.get(&mix(stretch.left(), stretch.words));
        let (left, distinct) = self.left.get(&stretch.left()).copied().unwrap_or((0, 1));
        let edges = self.edges.get(&stretch.edge()).copied().unwrap_or(0);
        let sure = f64::from(left) / (f64::from(left) + f64::from(distinct));
        let stretches = f64::from(anywhere.total) / (f64::from(edges) + 1.0);
        let step = |to: Sort| {
            let shown = exact.map_or(0.0, |e| e.count(to));
            let by_word = last.count(to) / f64::from(last.total);
            let toward =
                (anywhere.count(to) + BY_LAST_WORD * by_word) / (f64::from(anywhere.total) + BY_LAST_WORD);
            let log = (sure * shown / f64::from(left.max(1)) + (1.0 - sure) * stretches * toward).ln();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a count")]
            let shown = if shown >= 2.0 && anywhere.count(to) >= OFTEN {
                (shown as u32).max(ENOUGH)
            } else {
                shown as u32
            };
            Step { to, log, shown, worded: anywhere.total }
        };
        last.to.iter().map(|(to, _)| step(*to)).collect()
    }
}
