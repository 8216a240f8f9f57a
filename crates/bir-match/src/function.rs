//! Words that say how others belong together rather than name anything: those of the public list of stop words of the prompt's language, and
//! adverbs by their ending. A value that no recording has shown holds none of them.
//!
//! The list (ISO, of the crate `stop-words`) was not made for this and not with any set in view; that is what it is used for.

use crate::word;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Languages whose words are known, and the endings that make adverbs in them.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("en", &["ly"]),
    ("de", &["weise", "maßen"]),
    ("fr", &["ment"]),
    ("es", &["mente"]),
    ("it", &["mente"]),
    ("pt", &["mente"]),
    ("nl", &["gewijs"]),
    ("ru", &[]),
    ("pl", &[]),
    ("sv", &[]),
    ("tr", &[]),
];

static WORDS: LazyLock<Vec<HashSet<&'static str>>> = LazyLock::new(|| {
    let of = |(code, _): &(&str, _)| {
        stop_words::lookup(code).unwrap_or_default().iter().copied().collect::<HashSet<&str>>()
    };
    LANGUAGES.iter().map(of).collect()
});

/// A language, by its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language(usize);

impl Language {
    pub(crate) fn is_english(self) -> bool {
        self.0 == 0
    }
}

/// The language that most of the words are stop words of; English where none is.
pub(crate) fn language<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Language {
    /// More words than that do not tell more.
    const LOOKED_AT: usize = 40;
    let known = |at: usize| words.clone().take(LOOKED_AT).filter(|w| WORDS[at].contains(w)).count();
    let best = (0..LANGUAGES.len()).rev().max_by_key(|at| known(*at)).unwrap_or(0);
    Language(best)
}

/// Whether a word is one that names nothing.
pub(crate) fn is_function(word: &str, language: Language) -> bool {
    /// "fly" is no adverb.
    const STEM: usize = 4;
    let (_, endings) = LANGUAGES[language.0];
    let adverb = |end: &&str| word.strip_suffix(*end).is_some_and(|stem| stem.chars().count() >= STEM);
    // Of the scripts of Japanese this one writes endings and small words.
    WORDS[language.0].contains(word) || word::is_hiragana(word) || endings.iter().any(adverb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_those_of_the_language() {
        let of = |text: &str| language(text.split(' '));
        let english = of("send it to the other one");
        for word in ["hers", "several", "every", "silently", "almost"] {
            assert!(is_function(word, english), "{word}");
        }
        for word in ["fly", "paris", "gwalior", "report"] {
            assert!(!is_function(word, english), "{word}");
        }
        let german = of("schicke den bericht nicht an die anderen");
        assert!(is_function("jeder", german) && is_function("glücklicherweise", german));
        assert_eq!(of("查找"), english);
    }
}
