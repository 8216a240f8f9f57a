//! What a text mentions that has a type: dates, times, numbers with units, amounts of money, addresses, paths, ids, quoted text,
//! names, words of a vocabulary; each with the bytes that it stands on and a normal form.
//!
//! Both sides of a scenario read prompts with it: whoever calculates it finds out which words of the prompt went into a call, and whoever
//! matches another prompt finds the words that stand in their place. It is a function of the text, a clock and a vocabulary, and takes
//! time in proportion to the text.
//!
//! ```text
//!  text ─▶ tokens ─┬─▶ addresses, paths, ids ─▶ days ─▶ times ─▶ amounts   one reading per place, no two overlap
//!                  ├─▶ quoted ┐
//!                  ├─▶ names  ├─ these may hold others, and each other
//!                  └─▶ words  ┘
//! ```
//!
//! What could be two things is none of them: `03/04/2026` has no normal form where the language does not say which comes first.

#![forbid(unsafe_code)]

mod calendar;
mod date;
mod marked;
mod name;
mod number;
mod time;
mod token;
mod words;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use token::{Class, Token};

/// When and where a prompt was written; "tomorrow" counts from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// With the zone of the user.
    pub now: jiff::ZonedDateTime,
}

/// Words that tools accept for an argument (`enum` of a JSON Schema), in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The words as the schema writes them.
    pub words: BTreeSet<String>,
}

/// What something mentioned is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A day; normal form `2026-11-30`. A stretch that has a name ("next week") is `first/last`.
    Date,
    /// A time of a day; normal form `08:00`.
    Time,
    /// A length of time; normal form in ISO 8601 (`PT1H`, `P2D`).
    Duration,
    /// A number without a unit; normal form a number.
    Number,
    /// A number with a unit; normal form `{"number": 5, "unit": "km"}`.
    Quantity,
    /// An amount of money; normal form `{"number": 5, "currency": "EUR"}`.
    Money,
    /// An e-mail address.
    Email,
    /// An address of the web.
    Url,
    /// A path of a file system.
    Path,
    /// What looks like an identifier: digits and letters mixed, `ABC-123`, a hash, `#42`.
    Id,
    /// Text in quotes; normal form without them.
    Quoted,
    /// A chunk that is written as a name.
    Name,
    /// A word of the vocabulary; normal form as the schema writes it.
    Word,
}

/// Something mentioned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// The bytes that it stands on.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// Its normal form.
    pub normal: Value,
}

/// Everything that a text mentions, by where it begins, longer ones first. Of dates, times, amounts, addresses, paths and ids no two
/// overlap; quoted text, names and words may hold others.
pub fn find(text: &str, clock: &Clock, vocabulary: &Vocabulary) -> Vec<Entity> {
    let tokens = token::tokens(text);
    let language = words::language(tokens.iter().map(|t| t.lower.as_str()));
    let mut found = marked::pieces(text);
    let mut pieces = found.clone().into_iter().peekable();
    let mut at = 0;
    while at < tokens.len() {
        let start = tokens[at].span.start;
        while pieces.next_if(|p| p.span.end <= start).is_some() {}
        if let Some(piece) = pieces.peek().filter(|p| p.span.start <= start) {
            let end = piece.span.end;
            while tokens.get(at).is_some_and(|t| t.span.start < end) {
                at += 1;
            }
            continue;
        }
        // Nothing reaches into a piece.
        let free =
            pieces.peek().map_or(tokens.len(), |p| tokens.partition_point(|t| t.span.start < p.span.start));
        let tokens = &tokens[..free];
        if let Some((days, next)) = date::dates(tokens, at, language, clock) {
            found.extend(days);
            at = next;
        } else if let Some((one, next)) = time::time(tokens, at, language) {
            found.push(one);
            at = next;
        } else if let Some((one, next)) = number::amount(tokens, at, language) {
            found.push(one);
            at = next;
        } else {
            at += 1;
        }
    }
    found.sort_by_key(|e| e.span.start);
    if language == words::Language::English {
        date::days_of_month(text, &mut found, clock);
    }
    let typed = |name: &Entity| {
        let before = found.partition_point(|e| e.span.start <= name.span.start);
        before > 0 && found[before - 1].span.end >= name.span.end
    };
    // "December" in "5 December" is no name.
    let names: Vec<Entity> =
        name::names(text, &tokens, language).into_iter().filter(|name| !typed(name)).collect();
    found.extend(names);
    found.extend(marked::quoted(text));
    found.extend(of_vocabulary(text, &tokens, vocabulary));
    found.sort_by_key(|e| (e.span.start, std::cmp::Reverse(e.span.end), e.kind));
    found
}

/// The words of a vocabulary that stand in a text, the longest at each place; `_` and `-` in a word read like spaces.
fn of_vocabulary(text: &str, tokens: &[Token<'_>], vocabulary: &Vocabulary) -> Vec<Entity> {
    /// A vocabulary's word has no more parts.
    const LONGEST: usize = 8;
    let mut by_first: HashMap<String, Vec<(Vec<String>, &str)>> = HashMap::new();
    for word in &vocabulary.words {
        let parts: Vec<String> = token::tokens(word)
            .into_iter()
            .filter(|t| !matches!(t.text, "_" | "-"))
            .map(|t| t.lower)
            .take(LONGEST + 1)
            .collect();
        if let Some(first) = parts.first().filter(|_| parts.len() <= LONGEST) {
            by_first.entry(first.clone()).or_default().push((parts, word));
        }
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let ends = |parts: &[String]| -> Option<usize> {
            let mut next = at;
            for part in parts {
                while next > at
                    && tokens.get(next).is_some_and(|t| t.class == Class::Sign && matches!(t.text, "_" | "-"))
                {
                    next += 1;
                }
                (tokens.get(next)?.lower == *part).then_some(())?;
                next += 1;
            }
            Some(next)
        };
        let words = by_first.get(&tokens[at].lower);
        let best = words
            .into_iter()
            .flatten()
            .filter_map(|(parts, word)| Some((ends(parts)?, *word)))
            .max_by_key(|(end, _)| *end);
        let Some((next, word)) = best else {
            at += 1;
            continue;
        };
        let span = tokens[at].span.start..tokens[next - 1].span.end;
        debug_assert!(text.is_char_boundary(span.end));
        found.push(Entity { span, kind: Kind::Word, normal: Value::String(word.to_owned()) });
        at = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn clock() -> Clock {
        Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
    }

    fn read(text: &str) -> Vec<(Kind, &str, Value)> {
        let vocabulary = Vocabulary { words: ["one_way", "Economy", "round trip"].map(str::to_owned).into() };
        find(text, &clock(), &vocabulary).into_iter().map(|e| (e.kind, &text[e.span], e.normal)).collect()
    }

    #[test]
    fn a_prompt_with_everything() {
        let text = "Book a one way flight from Paris to New York on 5 December at 8:30 pm for two people under $1,200.50, economy, \
                    mail it to a@b.org, order ABC-123, bag 23 kg, wait 1 hour and 30 minutes";
        let found = read(text);
        for expected in [
            (Kind::Word, "one way", json!("one_way")),
            (Kind::Name, "Paris", json!("Paris")),
            (Kind::Name, "New York", json!("New York")),
            (Kind::Date, "5 December", json!("2026-12-05")),
            (Kind::Time, "8:30 pm", json!("20:30")),
            (Kind::Number, "two", json!(2)),
            (Kind::Money, "$1,200.50", json!({"number": 1200.5, "currency": "USD"})),
            (Kind::Word, "economy", json!("Economy")),
            (Kind::Email, "a@b.org", json!("a@b.org")),
            (Kind::Id, "ABC-123", json!("ABC-123")),
            (Kind::Quantity, "23 kg", json!({"number": 23, "unit": "kg"})),
            (Kind::Duration, "1 hour and 30 minutes", json!("PT1H30M")),
        ] {
            assert!(found.contains(&expected), "{expected:?} in {found:#?}");
        }
    }

    #[test]
    fn amounts() {
        for (text, kind, normal) in [
            ("twenty-five", Kind::Number, json!(25)),
            ("two hundred and five", Kind::Number, json!(205)),
            ("three thousand", Kind::Number, json!(3000)),
            ("1,234,567", Kind::Number, json!(1_234_567)),
            ("0.25", Kind::Number, json!(0.25)),
            ("5k", Kind::Number, json!(5000)),
            ("5th", Kind::Number, json!(5)),
            ("5 percent", Kind::Quantity, json!({"number": 5, "unit": "%"})),
            ("20 °C", Kind::Quantity, json!({"number": 20, "unit": "°C"})),
            ("twenty miles", Kind::Quantity, json!({"number": 20, "unit": "mi"})),
            ("five dollars", Kind::Money, json!({"number": 5, "currency": "USD"})),
            ("EUR 12", Kind::Money, json!({"number": 12, "currency": "EUR"})),
            ("an hour and a half", Kind::Duration, json!("PT1H30M")),
            ("half an hour", Kind::Duration, json!("PT30M")),
            ("90 minutes", Kind::Duration, json!("PT90M")),
            ("2 weeks", Kind::Duration, json!("P2W")),
            ("1h30min", Kind::Duration, json!("PT1H30M")),
            ("three-day", Kind::Duration, json!("P3D")),
            ("24-hour", Kind::Duration, json!("PT24H")),
            ("-73.98", Kind::Number, json!(-73.98)),
            ("-20 °C", Kind::Quantity, json!({"number": -20, "unit": "°C"})),
        ] {
            assert_eq!(read(text), [(kind, text, normal)], "{text}");
        }
        let german = read("ich brauche die 1.234,5 kg und drei Stunden");
        assert!(
            german.contains(&(Kind::Quantity, "1.234,5 kg", json!({"number": 1234.5, "unit": "kg"}))),
            "{german:?}"
        );
        assert!(german.contains(&(Kind::Duration, "drei Stunden", json!("PT3H"))), "{german:?}");
    }

    #[test]
    fn an_age_is_a_number() {
        for (text, age) in [
            ("my 3-year-old", 3),
            ("an eight-year-old child", 8),
            ("a child of ten years", 0),
            ("she is 9 years old", 9),
        ] {
            let found = read(text);
            let numbers: Vec<_> = found.iter().filter(|e| e.0 == Kind::Number).map(|e| e.2.clone()).collect();
            let expected: Vec<Value> = if age > 0 { vec![json!(age)] } else { Vec::new() };
            assert_eq!(numbers, expected, "{found:?}");
        }
    }

    #[test]
    fn a_minus_belongs_to_its_number_and_a_dash_does_not() {
        let numbers = |text: &str| {
            let found = read(text).into_iter().filter(|e| e.0 == Kind::Number);
            found.map(|e| e.2).collect::<Vec<_>>()
        };
        assert_eq!(
            numbers("at 40.7128, -74.006 or (-1, 5)"),
            [json!(40.7128), json!(-74.006), json!(-1), json!(5)]
        );
        assert_eq!(numbers("40.7128 -74.006"), [json!(40.7128), json!(-74.006)]);
        assert_eq!(numbers("pages 10-20, 10 - 20 and 10 -20"), [10, 20, 10, 20, 10, 20].map(|n| json!(n)));
        assert_eq!(numbers("the list - 5 apples"), [json!(5)]);
    }

    #[test]
    fn a_day_of_the_month_is_the_next_one() {
        let days = |text: &str| {
            let found = read(text).into_iter().filter(|e| e.0 == Kind::Date);
            found.map(|e| e.2.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(days("from May 1, 2027, back on the 7th"), ["2027-05-01", "2027-05-07"]);
        assert_eq!(days("from May 30, 2027 to the 2nd."), ["2027-05-30", "2027-06-02"]);
        let found = days("tomorrow (May 10, 2027) or the day after tomorrow, back on the 17th.");
        assert_eq!(found, ["2026-12-01", "2027-05-10", "2026-12-02", "2027-05-17"]);
        assert_eq!(days("meet me on the 7th at noon"), ["2026-12-07",]);
        assert_eq!(
            days("stay on the 7th floor, take the 7th of them, and go to the 7th"),
            Vec::<String>::new()
        );
        assert_eq!(days("from May 1, 2027, leave on the 7th day"), ["2027-05-01"]);
    }

    #[test]
    fn a_word_in_two_languages_is_read_in_the_one_of_its_text() {
        let numbers = |text: &str| {
            read(text).into_iter().filter(|e| e.0 == Kind::Number).map(|e| e.1.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(numbers("do it once for the team"), Vec::<String>::new());
        assert_eq!(numbers("reserva una mesa para once personas"), ["once"]);
    }

    #[test]
    fn long_texts_take_their_share_of_time() {
        for unit in [
            "1 ",
            "one hundred ",
            "A ",
            "5 March to ",
            "\"",
            "'a ",
            "a@b.c/d ",
            "-",
            "2026-",
            "half ",
            "1,000",
            "\u{0}x",
            "日本 ",
        ] {
            let text = unit.repeat(100_000 / unit.len());
            let start = std::time::Instant::now();
            let _ = find(&text, &clock(), &Vocabulary::default());
            let took = start.elapsed();
            // Debug builds on a busy machine; quadratic work would take minutes.
            assert!(took.as_secs() < 10, "{unit:?}: {took:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_spans_stand_in_it(text in "(\\PC|[0-9]{1,3}|[ .,:/-]|march|am|hour|\\$|and|to){0,40}") {
            let mut last = 0;
            for entity in find(&text, &clock(), &Vocabulary::default()) {
                prop_assert!(text.get(entity.span.clone()).is_some_and(|t| !t.is_empty()));
                if !matches!(entity.kind, Kind::Quoted | Kind::Name | Kind::Word) {
                    prop_assert!(entity.span.start >= last, "{:?} overlaps in {:?}", entity, text);
                    last = entity.span.end;
                }
            }
        }

        #[test]
        fn a_number_is_read_as_it_was_written(n in 0_u32..10_000_000) {
            let plain = n.to_string();
            prop_assert_eq!(&read(&plain)[0].2, &json!(n));
        }

        #[test]
        fn a_day_is_read_as_it_was_written(year in 1950_i16..2150, month in 1_i8..=12, day in 1_i8..=28) {
            let date = jiff::civil::Date::new(year, month, day).unwrap();
            let text = date.strftime("on %-d %B %Y").to_string();
            prop_assert_eq!(&read(&text)[0].2, &json!(date.to_string()));
        }
    }
}
