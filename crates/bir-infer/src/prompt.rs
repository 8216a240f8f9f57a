//! What a prompt says: the entities in it, and any words of it that a value repeats.

use bir_entity::{Clock, Entity, Kind, Vocabulary};
use bir_plan::expr::Expr;
use bir_plan::param::Reading;
use bir_plan::trace::Trace;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cell::{Ref, RefCell};
use std::ops::Range;

/// More of a prompt is not read.
pub(crate) const LONGEST: usize = 100 * 1024;
/// A value that stands more often in a prompt than this is not a part of it that means something.
const MOST_SPANS: usize = 8;

/// A prompt that is being explained with.
pub(crate) struct Prompt<'t> {
    pub(crate) text: &'t str,
    /// Entities that have a normal form of their own (days, times, numbers …); no names and no quotes, which are texts.
    pub(crate) typed: Vec<Entity>,
    drafts: RefCell<Vec<Draft>>,
    samples: RefCell<Map<String, Value>>,
}

/// A parameter, before it has a name for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) reading: Reading,
    pub(crate) sample: Value,
}

impl<'t> Prompt<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let text = head(&trace.prompt);
        Self {
            text,
            typed: typed(text, &trace.clock),
            drafts: RefCell::default(),
            samples: RefCell::default(),
        }
    }

    /// The parameter that stands there, as an expression.
    pub(crate) fn param(&self, spans: Vec<Range<usize>>, reading: Reading, sample: Value) -> Expr {
        let mut drafts = self.drafts.borrow_mut();
        let known = drafts.iter().position(|draft| draft.spans == spans && draft.reading == reading);
        let n = known.unwrap_or_else(|| {
            self.samples.borrow_mut().insert(key(drafts.len()), sample.clone());
            drafts.push(Draft { spans, reading, sample });
            drafts.len() - 1
        });
        Expr::Param(key(n))
    }

    /// The parameter of an entity.
    pub(crate) fn entity(&self, entity: &Entity) -> Expr {
        self.param(vec![entity.span.clone()], Reading::Normal(entity.kind), entity.normal.clone())
    }

    /// The parameter of words that stand in the prompt, exactly so.
    pub(crate) fn words(&self, words: &str) -> Option<Expr> {
        let spans = self.occurrences(words);
        (!spans.is_empty()).then(|| self.param(spans, Reading::Text, words.into()))
    }

    /// Where words stand, not in the middle of others.
    pub(crate) fn occurrences(&self, words: &str) -> Vec<Range<usize>> {
        if words.trim() != words || !words.chars().any(char::is_alphanumeric) {
            return Vec::new();
        }
        let edge = |inside: Option<char>, outside: Option<char>| !matches!((inside, outside), (Some(a), Some(b)) if a.is_alphanumeric() && b.is_alphanumeric());
        let spans: Vec<_> = self
            .text
            .match_indices(words)
            .map(|(at, _)| at..at + words.len())
            .filter(|span| {
                edge(words.chars().next(), self.text[..span.start].chars().next_back())
                    && edge(words.chars().next_back(), self.text[span.end..].chars().next())
            })
            .take(MOST_SPANS + 1)
            .collect();
        if spans.len() > MOST_SPANS { Vec::new() } else { spans }
    }

    /// Whether words stand in the prompt as a whole: "York" in "New York City" is a part of a name.
    pub(crate) fn is_whole(&self, words: &str) -> bool {
        let capital = |word: Option<&str>| {
            word.and_then(|word| word.chars().next()).is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())
        };
        self.occurrences(words).iter().all(|span| {
            let before = &self.text[..span.start];
            let mut behind = self.text[span.end..].chars();
            let goes_on = match behind.next() {
                Some(' ') => capital(behind.as_str().split_whitespace().next()),
                Some('-' | '\'' | '’' | '.') => behind.next().is_some_and(char::is_alphanumeric),
                _ => false,
            };
            !(goes_on || before.ends_with(' ') && capital(before.split_whitespace().next_back()))
        })
    }

    /// Words of the prompt that differ from a text in case alone.
    pub(crate) fn folded(&self, text: &str) -> Option<&'t str> {
        // Where lower case has other lengths, the bytes do not fit.
        let (lower, wanted) = (self.text.to_lowercase(), text.to_lowercase());
        if lower.len() != self.text.len() || wanted.len() < 3 {
            return None;
        }
        let at = lower.find(&wanted)?;
        let words = self.text.get(at..at + wanted.len())?;
        (!self.occurrences(words).is_empty()).then_some(words)
    }

    /// The values of the parameters in the recording.
    pub(crate) fn samples(&self) -> Ref<'_, Map<String, Value>> {
        self.samples.borrow()
    }

    pub(crate) fn drafts(&self) -> Vec<Draft> {
        self.drafts.borrow().clone()
    }
}

/// The name of a parameter while it has none.
pub(crate) fn key(n: usize) -> String {
    format!("p{n}")
}

/// As much of a prompt as is read.
pub(crate) fn head(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The entities that have a normal form of their own.
pub(crate) fn typed(text: &str, clock: &Clock) -> Vec<Entity> {
    let mut found = bir_entity::find(text, clock, &Vocabulary::default());
    found.retain(|entity| !matches!(entity.kind, Kind::Name | Kind::Quoted | Kind::Word));
    found.sort_by_key(|entity| (entity.span.start, entity.span.end));
    found
}

/// Where names stand. An abbreviated verb is none.
pub(crate) fn names(text: &str, clock: &Clock) -> Vec<Range<usize>> {
    let found = bir_entity::find(text, clock, &Vocabulary::default());
    let names = found.into_iter().filter(|entity| entity.kind == Kind::Name).map(|entity| entity.span);
    names.filter(|span| span.len() > 5 || !text[span.clone()].contains(['\'', '’'])).collect()
}
