//! Which recorded prompts a new one may be like: BM25 over an inverted index of their words outside of parameters.
//!
//! It only nominates. A similarity of embeddings can add to the nominations (see [`Nominator`]); neither ever decides.

use std::collections::HashMap;

/// Whatever else can name prompts that may be alike: an embedding, say.
pub trait Nominator: Send + Sync {
    /// The numbers of prompts, the likeliest first, with their similarity.
    fn nominate(&self, prompt: &str, most: usize) -> Vec<(usize, f32)>;
}

/// An inverted index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    postings: HashMap<String, Vec<(u32, u8)>>,
    lengths: Vec<u16>,
    total: u64,
    /// Prompts.
    live: usize,
    /// Numbers without a prompt.
    free: Vec<u32>,
}

/// How often each word comes, and how many there are.
fn counted<'a>(words: impl Iterator<Item = &'a str>) -> (HashMap<&'a str, u8>, u16) {
    let mut counts: HashMap<&str, u8> = HashMap::new();
    let mut length = 0_u16;
    for word in words {
        length = length.saturating_add(1);
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    (counts, length)
}

/// How soon a word that comes again stops counting.
const SATURATION: f32 = 1.2;
/// How much a long prompt counts less.
const LENGTH: f32 = 0.5;
/// Words of a prompt that are looked up, the rarest first: a prompt of 100 kB must not take longer than one of a page.
const LOOKED_UP: usize = 48;
/// What scores less than this share of the best is not like it.
const NEAR: f32 = 0.4;
/// Entries that are read for a prompt; what is rarer comes first.
const READ: usize = 400_000;

impl Index {
    /// Adds a prompt by its fixed words; its number is the first that is free.
    pub(crate) fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lengths.push(0);
            u32::try_from(self.lengths.len() - 1).unwrap_or(u32::MAX)
        });
        let (counts, length) = counted(words);
        for (word, count) in counts {
            if let Some(list) = self.postings.get_mut(word) {
                let at = list.partition_point(|(n, _)| *n < number);
                list.insert(at, (number, count));
            } else {
                self.postings.insert(word.to_owned(), vec![(number, count)]);
            }
        }
        self.lengths[number as usize] = length;
        self.total += u64::from(length);
        self.live += 1;
        number as usize
    }

    /// Removes a prompt, by its number and the words that it was added by.
    pub(crate) fn remove<'a>(&mut self, number: usize, words: impl Iterator<Item = &'a str>) {
        let Ok(number) = u32::try_from(number) else { return };
        let (counts, length) = counted(words);
        for word in counts.into_keys() {
            let Some(list) = self.postings.get_mut(word) else { continue };
            if let Ok(at) = list.binary_search_by_key(&number, |(n, _)| *n) {
                list.remove(at);
            }
            if list.is_empty() {
                self.postings.remove(word);
            }
        }
        self.lengths[number as usize] = 0;
        self.total -= u64::from(length);
        self.live -= 1;
        self.free.push(number);
    }

    /// The prompts that are likest, with their scores.
    pub(crate) fn best<'a>(&self, words: impl Iterator<Item = &'a str>, most: usize) -> Vec<(usize, f32)> {
        let prompts = self.live;
        if prompts == 0 {
            return Vec::new();
        }
        let mut lists: Vec<&Vec<(u32, u8)>> = Vec::new();
        let mut looked: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for word in words {
            if looked.insert(word)
                && let Some(list) = self.postings.get(word)
            {
                lists.push(list);
            }
        }
        lists.sort_by_key(|list| list.len());
        lists.truncate(LOOKED_UP);
        let mean = (self.total as f32 / prompts as f32).max(1.0);
        let mut scores = vec![0_f32; self.lengths.len()];
        let mut read = 0;
        for list in lists {
            if read > 0 && read + list.len() > READ {
                break;
            }
            read += list.len();
            let rarity = (1.0 + (prompts as f32 - list.len() as f32 + 0.5) / (list.len() as f32 + 0.5)).ln();
            for (number, count) in list {
                let count = f32::from(*count);
                let length = 1.0 - LENGTH + LENGTH * f32::from(self.lengths[*number as usize]) / mean;
                scores[*number as usize] +=
                    rarity * count * (SATURATION + 1.0) / (count + SATURATION * length);
            }
        }
        let top = scores.iter().copied().fold(0.0, f32::max);
        let near = |score: f32| score > 0.0 && score >= top * NEAR;
        let mut best: Vec<(usize, f32)> =
            scores.into_iter().enumerate().filter(|(_, score)| near(*score)).collect();
        if best.len() > most {
            best.select_nth_unstable_by(most, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(most);
        }
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_nominate() {
        let mut index = Index::default();
        for text in ["play a song", "book a table", "play a table tennis match"] {
            index.add(text.split(' '));
        }
        let best =
            |text: &str| index.best(text.split(' '), 2).into_iter().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!(best("book the table"), [1]);
        assert_eq!(best("a table"), [1, 2]);
        assert_eq!(best("song"), [0]);
        assert_eq!(best("nothing"), Vec::<usize>::new());
    }
}
