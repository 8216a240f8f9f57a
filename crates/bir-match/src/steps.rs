//! Stretches of fixed words, and where they lead: counts, and how likely a stretch is where none was counted.
//!
//! A stretch that was seen behind one parameter is possible behind another, and where it led to one sort it may lead to any that its last
//! word ("in", "by") led to. Those are less likely, so they do not explain a prompt on their own, but they stand against a reading that
//! is only one of several.

use crate::grammar::{BEGIN, Sort, mix};
use crate::way::Way;
use std::collections::HashMap;

/// Counts of a stretch, or of a last word.
#[derive(Debug, Default)]
struct Seen {
    total: u32,
    to: Vec<(Sort, u32)>,
}

impl Seen {
    /// How often it led there before and does now.
    fn add(&mut self, to: Sort, way: Way) -> (u32, u32) {
        way.count(&mut self.total);
        let at = self.to.iter().position(|(sort, _)| *sort == to);
        let at = match (at, way) {
            (Some(at), _) => at,
            (None, Way::Learn) => {
                self.to.push((to, 0));
                self.to.len() - 1
            }
            (None, Way::Forget) => return (0, 0),
        };
        let before = self.to[at].1;
        way.count(&mut self.to[at].1);
        let now = self.to[at].1;
        if now == 0 {
            self.to.remove(at);
        }
        (before, now)
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
    /// Of beginnings that several prompts have: the sum of how much they disagree,
    differ: f64,
    /// and how many there are.
    several: u32,
}

fn seen(map: &mut HashMap<u64, Seen>, key: u64, to: Sort, way: Way) -> (u32, u32) {
    let entry = map.entry(key).or_default();
    let counts = entry.add(to, way);
    if entry.total == 0 {
        map.remove(&key);
    }
    counts
}

/// How often two of the prompts that begin so are of different families; None: there are no two.
fn disagree(families: &HashMap<u64, u32>) -> Option<f64> {
    let count = families.values().map(|n| f64::from(*n)).sum::<f64>();
    let same = families.values().map(|n| f64::from(*n) * (f64::from(*n) - 1.0)).sum::<f64>();
    (count >= 2.0).then(|| 1.0 - same / (count * (count - 1.0)))
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
    pub(crate) fn learn(&mut self, stretch: Stretch, to: Sort, way: Way) {
        if stretch.from == BEGIN {
            let families = self.begins.entry(stretch.words).or_default();
            let before = disagree(families);
            way.entry(families, stretch.family);
            let now = disagree(families);
            if families.is_empty() {
                self.begins.remove(&stretch.words);
            }
            if before.is_some() || now.is_some() {
                self.differ += now.unwrap_or(0.0) - before.unwrap_or(0.0);
                self.several = self.several + u32::from(now.is_some()) - u32::from(before.is_some());
            }
        }
        let key = mix(stretch.left(), stretch.words);
        let (before, now) = seen(&mut self.exact, key, to, way);
        let left = self.left.entry(stretch.left()).or_default();
        way.count(&mut left.0);
        left.1 = left.1 + u32::from(before == 0 && now > 0) - u32::from(before > 0 && now == 0);
        if left.0 == 0 {
            self.left.remove(&stretch.left());
        }
        seen(&mut self.anywhere, mix(stretch.edge(), stretch.words), to, way);
        way.entry(&mut self.edges, stretch.edge());
        seen(&mut self.last, mix(stretch.edge(), stretch.last), to, way);
    }

    /// How often two prompts that begin alike belong to different families: what one prompt more says is worth as much less.
    pub(crate) fn disagreement(&self) -> f64 {
        (self.differ.max(0.0) + 1.0) / (f64::from(self.several) + 2.0)
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
