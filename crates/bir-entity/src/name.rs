//! Chunks that are written as names: capitals in a row, with the small words that names hold inside.

use crate::token::{Class, Token};
use crate::words::Language;
use crate::{Entity, Kind};
use serde_json::Value;

/// Small words that stand inside a name, between capitals.
const INSIDE: &[&str] =
    &["of", "the", "de", "la", "le", "du", "des", "del", "da", "do", "dos", "di", "van", "von", "der", "den"];

/// The most of them in a row.
const MOST_INSIDE: usize = 2;

/// A word that a point makes shorter and does not end: one letter, or a title.
fn is_short(token: &Token<'_>) -> bool {
    const SHORT: &[&str] =
        &["st", "ste", "mt", "ft", "mr", "mrs", "ms", "dr", "jr", "sr", "prof", "no", "nr"];
    token.text.chars().count() == 1 || SHORT.contains(&token.lower.as_str())
}

/// Names in a text. A capital at the beginning of a sentence says nothing, unless another stands behind it.
pub(crate) fn names(text: &str, tokens: &[Token<'_>], language: Language) -> Vec<Entity> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at].is_capital() {
            at += 1;
            continue;
        }
        let (mut end, mut next) = (at + 1, at + 1);
        let mut inside = 0;
        while let Some(token) = tokens.get(next) {
            let joins = !token.spaced && matches!(token.text, "-" | "'" | "’" | "&");
            // "U.S." and "St. Anton" go on behind their point, a sentence ends with its.
            let short = token.is(".")
                && !token.spaced
                && (is_short(&tokens[next - 1]) || tokens.get(next + 1).is_some_and(|t| !t.spaced));
            if token.is_capital() || (token.class == Class::Digits && token.text.len() <= 4 && inside == 0) {
                end = next + 1;
                inside = 0;
            } else if !token.spaced
                && token.class == Class::Word
                && next > 0
                && matches!(tokens[next - 1].text, "'" | "’" | "-")
            {
                end = next + 1;
            } else if inside < MOST_INSIDE
                && (joins || short || token.text == "&" || INSIDE.contains(&token.text))
            {
                inside += 1;
            } else {
                break;
            }
            next += 1;
        }
        let begins = at == 0 || matches!(tokens[at - 1].text, "." | "!" | "?" | ":" | "…");
        let mut from = at;
        // "Book Hotel Ritz": the first word of a sentence is part of the name only if nothing says that it is not.
        if begins && language != Language::German {
            from = if end > at + 1 && !tokens[at + 1].is_capital() && INSIDE.contains(&tokens[at + 1].text) {
                at
            } else {
                at + 1
            };
            while from < end && !tokens[from].is_capital() {
                from += 1;
            }
        }
        let pronoun = end == from + 1 && tokens.get(from).is_some_and(|t| t.text == "I");
        if from < end && !pronoun {
            let span = tokens[from].span.start..tokens[end - 1].span.end;
            found.push(Entity {
                normal: Value::String(text[span.clone()].to_owned()),
                span,
                kind: Kind::Name,
            });
        }
        at = end.max(at + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    #[test]
    fn capitals_in_a_row_are_names() {
        let read = |text: &str| {
            let found = names(text, &tokens(text), Language::English);
            found.iter().map(|e| text[e.span.clone()].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(read("Fly from New York to Rio de Janeiro"), ["New York", "Rio de Janeiro"]);
        assert_eq!(read("Book Hotel Ritz for me"), ["Hotel Ritz"]);
        assert_eq!(read("Ask O'Neill and Jean-Luc Picard"), ["O'Neill", "Jean-Luc Picard"]);
        assert_eq!(read("I think I should"), Vec::<String>::new());
        assert_eq!(read("nothing here"), Vec::<String>::new());
    }

    #[test]
    fn a_name_ends_with_its_sentence() {
        let read = |text: &str| {
            let found = names(text, &tokens(text), Language::English);
            found.iter().map(|e| text[e.span.clone()].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(read("We stay in Oslo. Anna drives on"), ["Oslo"]);
        assert_eq!(read("We stay in Rio. Then we drive to St. Anton"), ["Rio", "St. Anton"]);
        assert_eq!(read("We ask J. R. Tolkien in the U.S.A today"), ["J. R. Tolkien", "U.S.A"]);
    }
}
