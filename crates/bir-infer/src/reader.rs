//! Reading a prompt: the part of a calculation that is kept beside its scenario.

use crate::prompt::{self, Draft};
use crate::unify::{Values, values};
use crate::wording::{Edit, Wording};
use bir_entity::Clock;
use bir_match::lexicon;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// In so many runs other words outside of every place have to have been without effect.
const SEEN: usize = 2;

/// So many different words at one place, none of which made a difference, show that it is not the place that does.
const SEEN_OTHERS: usize = 3;

/// What reads the parameters of a scenario in a prompt. It is stored whole, as JSON, beside the scenario that it was calculated with:
/// neither needs the runs any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reader {
    pub(crate) wording: Wording,
    /// The parameters, by their number, with their names.
    pub(crate) drafts: Vec<(Draft, String)>,
    /// What the runs say in each place of the wording.
    pub(crate) seen: Vec<Vec<Value>>,
    /// Places that parameters of the scenario stand on.
    pub(crate) used: BTreeSet<usize>,
    /// In what else the prompts of the runs differ.
    pub(crate) edits: Vec<Edit>,
    /// The names of the parameters of the scenario.
    pub(crate) needed: Vec<String>,
}

/// Why a prompt cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It is longer than what is read, or the recorded one is.
    #[error("the prompt is too long to be compared word for word")]
    TooLong,
    /// It has other words outside of every parameter, which have not been seen to be without effect.
    #[error("the prompt differs in words that no recorded run has shown to be without effect: `{0}`")]
    Words(String),
    /// What it says somewhere goes into no call, and was the same in every run.
    #[error("the prompt says something that was the same in every recorded run: `{0}`")]
    Unused(String),
    /// The words of a parameter cannot be told from those around them.
    #[error("the words of the parameter `{0}` cannot be told in the prompt")]
    Missing(String),
}

impl Reader {
    /// How the task is worded.
    #[must_use]
    pub fn wording(&self) -> &Wording {
        &self.wording
    }

    /// Whether other words make no difference: they never do, or runs have shown it of them or of the place where they stand.
    fn is_known(&self, edit: &Edit) -> bool {
        if self.wording.is_harmless(edit) || self.edits.iter().filter(|seen| *seen == edit).count() >= SEEN {
            return true;
        }
        // Where ever other words have stood, words of the same kind may stand, as many of them.
        let others: BTreeSet<&str> = self
            .edits
            .iter()
            .filter(|seen| seen.items == edit.items && !seen.words.is_empty())
            .map(|seen| seen.words.as_str())
            .collect();
        let count = |words: &str| words.split(' ').count();
        others.len() >= SEEN_OTHERS
            && edit.items.start < edit.items.end
            && others.iter().any(|words| count(words) == count(&edit.words))
            && edit.words.split(' ').all(|word| {
                word.chars().all(char::is_alphabetic)
                    && !word.is_empty()
                    && lexicon::classes(word).next().is_none()
            })
    }

    /// The values of the parameters in a prompt, if everything in which it differs from the recorded ones is explained.
    ///
    /// # Errors
    ///
    /// [`Unread`]: the first reason not to answer.
    pub fn read(&self, prompt: &str, clock: &Clock) -> Result<Map<String, Value>, Unread> {
        let drafts: Vec<Draft> = self.drafts.iter().map(|(draft, _)| draft.clone()).collect();
        let Values { params: found, said, edits } =
            values(&self.wording, &drafts, prompt, clock).ok_or(Unread::TooLong)?;
        if let Some(edit) = edits.iter().find(|edit| !self.is_known(edit)) {
            return Err(Unread::Words(self.wording.describe(edit)));
        }
        for (n, said) in said.iter().enumerate() {
            // What goes into no call is the same as ever, or has been seen to make no difference.
            let seen = self.seen.get(n).map_or(&[][..], Vec::as_slice);
            let different = seen.iter().any(|other| Some(other) != seen.first());
            if !self.used.contains(&n) && !different && said.as_ref() != seen.first() {
                return Err(Unread::Unused(said.as_ref().map(Value::to_string).unwrap_or_default()));
            }
        }
        let mut out = Map::new();
        for (n, (_, name)) in self.drafts.iter().enumerate() {
            if let Some(value) = found.get(&prompt::key(n)) {
                out.insert(name.clone(), value.clone());
            }
        }
        match self.needed.iter().find(|name| !out.contains_key(*name)) {
            Some(name) => Err(Unread::Missing(name.clone())),
            None => Ok(out),
        }
    }
}
