//! Makes requests that look like a given one and ask for something else, by the structure of the sentence: which words are values, which are
//! not, where the verb may stand, where a number is.

use super::words::{
    ABOUT, COMPARED, COMPARING, COUNTS, EXTREMES, IF_AFTER, IF_BEFORE, LIKE_BEFORE, MEASURES, NOT_AFTER,
    NOT_BEFORE, NOT_DOING, NOT_PART, OPPOSITES, PAST, POINTING, QUOTING, SUPPOSING, TOO_AFTER, TOO_BEFORE,
};
use crate::sets::{self, Prompt};
use std::ops::Range;

/// What may be executed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Right {
    /// Nothing, unless what was put in is a value of its own.
    Nothing,
    /// The same plan with one of these lists of values, by sort, in the order of the text; or any other plan with the texts of one.
    Values(Vec<Vec<(String, String)>>),
    /// Whatever is not the plan of the given prompt.
    Another,
}

/// A changed request.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// What was done.
    pub(super) kind: &'static str,
    /// The changed text.
    pub(super) text: String,
    /// What was put in.
    pub(super) put: String,
    /// What may be executed.
    pub(super) right: Right,
}

/// All kinds, in the order of the report.
pub(super) const KINDS: &[&str] = &[
    "swap",
    "negation",
    "opposite",
    "comparator",
    "superlative",
    "unit",
    "count",
    "condition",
    "compound",
    "reference",
    "question about",
    "hypothetical",
    "past",
    "quoted",
];

/// Picks by the text, so that the pairs are the same each time.
struct Pick(u64);

impl Pick {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most.max(1)
    }

    fn one<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// The words outside of values, in bytes.
fn fixed(prompt: &Prompt) -> Vec<Range<usize>> {
    let start = prompt.text.as_ptr() as usize;
    let spans = prompt.text.split_whitespace().map(|w| {
        let at = w.as_ptr() as usize - start;
        let inner = w.trim_matches(|c: char| !c.is_alphanumeric());
        let from = at + w.find(inner).unwrap_or(0);
        from..from + inner.len()
    });
    spans
        .filter(|w| !w.is_empty() && !prompt.slots.iter().any(|(s, _)| s.start < w.end && w.start < s.end))
        .collect()
}

fn cut(text: &str, span: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}

/// In small letters at the beginning, where what stands before it makes it no beginning any more.
fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if chars.clone().next().is_none_or(|c| !c.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// The verb with another ending, as good as it goes without a dictionary.
fn ending(verb: &str, with: &str) -> String {
    let stem = verb.strip_suffix('e').filter(|s| !s.ends_with('e') && s.len() > 1).unwrap_or(verb);
    format!("{stem}{with}")
}

fn said(prompt: &Prompt, with: &[String]) -> (String, Vec<(String, String)>) {
    let (mut text, mut values, mut at) = (String::new(), Vec::new(), 0);
    for ((span, sort), value) in prompt.slots.iter().zip(with) {
        text += &prompt.text[at..span.start];
        text += value;
        values.push((sort.clone(), value.to_lowercase()));
        at = span.end;
    }
    text += &prompt.text[at..];
    (text, values)
}

fn is_article(word: &str) -> bool {
    matches!(
        word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str(),
        "" | "a" | "an" | "the"
    )
}

/// Whether two values could stand for each other: of one sort, both numbers, or both neither.
fn alike(prompt: &Prompt, a: usize, b: usize) -> bool {
    let text = |n: usize| &prompt.text[prompt.slots[n].0.clone()];
    let digits = |n: usize| text(n).starts_with(|c: char| c.is_ascii_digit());
    text(a).to_lowercase() != text(b).to_lowercase()
        && (prompt.slots[a].1 == prompt.slots[b].1 || digits(a) == digits(b))
}

/// The pairs of a prompt, several of most kinds; `other` is another prompt. Another seed puts other words in.
pub(super) fn pairs(prompt: &Prompt, other: &Prompt, seed: u64) -> Vec<Pair> {
    let mut pick = Pick(sets::hash(&prompt.text) ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let whole = prompt.text.trim();
    let open = whole.trim_end_matches(['.', '?', '!', ' ']);
    let low = lowered(whole);
    let low_open = lowered(open);
    let words = fixed(prompt);
    let verb = words
        .first()
        .filter(|w| prompt.text[..w.start].trim().is_empty())
        .map(|w| prompt.text[w.clone()].to_lowercase());
    let behind_verb = words.first().map_or("", |w| {
        &open[w.end.saturating_sub(prompt.text.len() - prompt.text.trim_start().len()).min(open.len())..]
    });
    let mut pairs = Vec::new();
    let mut push = |kind, text: String, put: &str, right: Right| {
        if text.trim().to_lowercase() != whole.to_lowercase() {
            pairs.push(Pair { kind, text, put: put.to_lowercase(), right });
        }
    };

    // Two values change places.
    let values: Vec<String> = prompt.slots.iter().map(|(s, _)| prompt.text[s.clone()].to_owned()).collect();
    for a in 0..values.len() {
        for b in a + 1..values.len().min(a + 4) {
            if alike(prompt, a, b) {
                let mut changed = values.clone();
                changed.swap(a, b);
                let (text, now) = said(prompt, &changed);
                // Side by side, "the show X" and "the X show" mean the same; with words between, what stands where is what is said.
                let (from, to) = (prompt.slots[a].0.end, prompt.slots[b].0.start);
                let beside = words
                    .iter()
                    .filter(|w| from <= w.start && w.end <= to)
                    .all(|w| is_article(&prompt.text[w.clone()]));
                let before = |n: usize| prompt.text[..prompt.slots[n].0.start].split_whitespace().next_back();
                let sorts = prompt.slots[a].1 != prompt.slots[b].1;
                let mut right = vec![now.clone()];
                // So does "for lunch for two", where the same word is before both.
                if sorts && (beside || before(a) == before(b)) {
                    let mut kept = now;
                    let (one, two) = (kept[a].0.clone(), kept[b].0.clone());
                    (kept[a].0, kept[b].0) = (two, one);
                    right.push(kept);
                }
                push("swap", text, "", Right::Values(right));
            }
        }
    }

    // Where something can be put in before: a value, or a word that is none.
    let value = (!prompt.slots.is_empty()).then(|| prompt.slots[pick.below(prompt.slots.len())].0.clone());
    let word = (!words.is_empty()).then(|| words[pick.below(words.len())].clone());
    let before = |at: &Range<usize>, with: &str| {
        format!("{}{with} {}", &prompt.text[..at.start], &prompt.text[at.start..])
    };
    let behind = |at: &Range<usize>, with: &str| {
        format!("{} {with}{}", &prompt.text[..at.end], &prompt.text[at.end..])
    };

    let not = pick.one(NOT_BEFORE);
    push("negation", format!("{not} {low}"), not, Right::Nothing);
    if let Some(verb) = &verb {
        let not = pick.one(NOT_DOING);
        push("negation", format!("{not} {}{behind_verb}", ending(verb, "ing")), not, Right::Nothing);
    }
    for at in value.iter().chain(&word) {
        let not = pick.one(NOT_PART);
        push("negation", before(at, not), not, Right::Nothing);
    }
    let not = pick.one(NOT_AFTER);
    push("negation", format!("{open} {not}"), not, Right::Nothing);

    for word in &words {
        let lower = prompt.text[word.clone()].to_lowercase();
        let turned = OPPOSITES
            .iter()
            .find_map(|(a, b)| if *a == lower { Some(*b) } else { (*b == lower).then_some(*a) });
        if let Some(turned) = turned {
            push("opposite", cut(&prompt.text, word, turned), turned, Right::Another);
        }
    }

    let digits = |span: &Range<usize>| prompt.text[span.clone()].starts_with(|c: char| c.is_ascii_digit());
    let number = prompt.slots.iter().map(|s| &s.0).chain(&words).find(|s| digits(s)).cloned();
    for at in number.iter().chain(&value) {
        let than = pick.one(COMPARING);
        push("comparator", before(at, than), than, Right::Nothing);
        let than = pick.one(COMPARED);
        push("comparator", behind(at, than), than, Right::Nothing);
    }
    for at in value.iter().chain(&word) {
        let most = pick.one(EXTREMES);
        push("superlative", before(at, most), most, Right::Nothing);
        let many = pick.one(COUNTS);
        push("count", before(at, many), many, Right::Nothing);
    }
    if let Some(at) = number.as_ref().or(value.as_ref()) {
        let unit = pick.one(MEASURES);
        // The unit is said: a value that has it says what was meant.
        push("unit", behind(at, unit), &format!("{} {unit}", &prompt.text[at.clone()]), Right::Nothing);
    }
    if number.is_none() {
        let amount = format!("{} {}", 2 + pick.below(40), pick.one(MEASURES));
        push("unit", format!("{open} {amount}"), &amount, Right::Nothing);
    }

    let when = pick.one(IF_BEFORE);
    push("condition", format!("{when} {low}"), when, Right::Nothing);
    for _ in 0..2 {
        let when = pick.one(IF_AFTER);
        push("condition", format!("{open} {when}"), when, Right::Nothing);
    }
    if let Some(at) = &value {
        let when = pick.one(IF_AFTER);
        push("condition", behind(at, when), when, Right::Nothing);
    }

    let also = pick.one(TOO_BEFORE);
    push("compound", format!("{also} {low}"), also, Right::Nothing);
    let also = pick.one(TOO_AFTER);
    let joined =
        if also.starts_with([',', ';', '.']) { format!("{open}{also}") } else { format!("{open} {also}") };
    push("compound", joined, also, Right::Nothing);
    let join = pick.one(&[" and ", ", ", ". ", "; ", " then ", "\n", " & ", " as well as ", " ", " or "]);
    push(
        "compound",
        format!("{open}{join}{}", lowered(other.text.trim())),
        other.text.trim(),
        Right::Nothing,
    );
    if let Some(at) = &value
        && let Some((second, _)) = other.slots.first()
    {
        let (join, second) =
            (pick.one(&["and", "or", "and also", "plus", "and not"]), &other.text[second.clone()]);
        // With "and" it may be a further value, where the scenario has one.
        let put = if join == "and" { second.to_owned() } else { format!("{join} {second}") };
        push("compound", behind(at, &format!("{join} {second}")), &put, Right::Nothing);
    }

    if let Some(at) = &value {
        for _ in 0..2 {
            let that = pick.one(POINTING);
            push("reference", cut(&prompt.text, at, that), that, Right::Nothing);
        }
    }
    let again = pick.one(LIKE_BEFORE);
    push("reference", format!("{open} {again}"), again, Right::Nothing);

    let about = pick.one(ABOUT);
    push("question about", format!("{about} {low_open}?"), about, Right::Nothing);
    let think = pick.one(SUPPOSING);
    push("hypothetical", format!("{think} {low_open}"), think, Right::Nothing);
    let past = pick.one(PAST);
    push("past", format!("{past} {low_open}"), past, Right::Nothing);
    if let Some(verb) = &verb {
        let who = pick.one(&["i", "you", "we", "yesterday she", "nobody", "have i", "had you"]);
        push("past", format!("{who} {}{behind_verb}", ending(verb, "ed")), who, Right::Nothing);
    }
    let (front, back) = QUOTING[pick.below(QUOTING.len())];
    push("quoted", format!("{front}{open}{back}"), front, Right::Nothing);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Prompt {
        Prompt {
            text: "Send 3 books from Ann to Bob.".into(),
            intent: "send".into(),
            slots: vec![(5..6, "count".into()), (18..21, "who".into()), (25..28, "who".into())],
        }
    }

    #[test]
    fn every_kind_is_made_and_none_is_the_prompt() {
        let made = pairs(&prompt(), &prompt(), 0);
        for kind in KINDS {
            assert!(made.iter().any(|p| p.kind == *kind), "{kind}");
        }
        assert!(made.iter().all(|p| p.text != prompt().text));
    }

    #[test]
    fn a_swap_says_what_stands_where() {
        let made = pairs(&prompt(), &prompt(), 0);
        let swap = made.iter().find(|p| p.kind == "swap").unwrap();
        assert_eq!(swap.text, "Send 3 books from Bob to Ann.");
        let now = [("count", "3"), ("who", "bob"), ("who", "ann")].map(|(s, v)| (s.to_owned(), v.to_owned()));
        assert_eq!(swap.right, Right::Values(vec![now.to_vec()]));
    }

    #[test]
    fn endings() {
        assert_eq!(ending("rate", "ing"), "rating");
        assert_eq!(ending("see", "ing"), "seeing");
        assert_eq!(ending("play", "ed"), "played");
    }
}
