//! Times of a day: `8:30`, "8 pm", "half past eight", "noon". An hour alone ("at eight") is a number: it could be either half of the day.

use crate::number::number;
use crate::token::{Class, Token};
use crate::words::Language;
use crate::{Entity, Kind};
use serde_json::Value;

/// The time that begins at a token, with the token behind it.
pub(crate) fn time(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(Entity, usize)> {
    let (text, next) = figures(tokens, at, language).or_else(|| spoken(tokens, at, language))?;
    let span = tokens[at].span.start..tokens[next - 1].span.end;
    Some((Entity { span, kind: Kind::Time, normal: Value::String(text) }, next))
}

fn shown(hour: u64, minute: u64, second: Option<u64>) -> Option<String> {
    let fits = hour < 24 && minute < 60 && second.unwrap_or(0) < 60;
    fits.then(|| match second {
        Some(second) if second > 0 => format!("{hour:02}:{minute:02}:{second:02}"),
        _ => format!("{hour:02}:{minute:02}"),
    })
}

/// The hour with its half of the day, and the token behind that; None: the two do not fit.
fn half(tokens: &[Token<'_>], at: usize, hour: u64) -> Option<Option<(u64, usize)>> {
    let word = |at: usize| tokens.get(at).map_or("", |t| t.lower.as_str());
    let dotted = |letter: &str| {
        word(at) == letter
            && word(at + 1) == "."
            && word(at + 2) == "m"
            && tokens[at + 2..].first().is_some_and(|t| !t.spaced)
    };
    let (noon, mut next) = match word(at) {
        "am" => (false, at + 1),
        "pm" => (true, at + 1),
        "a" if dotted("a") => (false, at + 3),
        "p" if dotted("p") => (true, at + 3),
        // "8 a m" is how speech is written down.
        "a" if word(at + 1) == "m" => (false, at + 2),
        "p" if word(at + 1) == "m" => (true, at + 2),
        "in" if word(at + 1) == "the" && word(at + 2) == "morning" => (false, at + 3),
        "in" if word(at + 1) == "the" && matches!(word(at + 2), "afternoon" | "evening") => (true, at + 3),
        _ => return Some(None),
    };
    if next == at + 3 && word(at + 1) == "." && tokens.get(next).is_some_and(|t| t.is(".") && !t.spaced) {
        next += 1;
    }
    (1..=12).contains(&hour).then_some(Some((hour % 12 + if noon { 12 } else { 0 }, next)))
}

/// `8:30`, `08:30:15`, `8:30 pm`, `8pm`, `8h30`, "20 Uhr 15".
fn figures(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(String, usize)> {
    let digits = |at: usize| {
        tokens.get(at).filter(|t| t.class == Class::Digits && t.text.len() <= 2).and_then(Token::digits)
    };
    let hour = digits(at)?;
    let glued = |at: usize| tokens.get(at).filter(|t| !t.spaced);
    let two = |at: usize| glued(at).filter(|t| t.text.len() == 2).and_then(Token::digits);
    let sign = glued(at + 1);
    // "1h30min" is a length of time.
    let measured = glued(at + 3).is_some_and(|t| t.lower.starts_with("min"));
    if sign.is_some_and(|t| t.is(":") || t.lower == "h")
        && !measured
        && let Some(minute) = two(at + 2)
    {
        let second = glued(at + 3).filter(|t| t.is(":")).and_then(|_| two(at + 4));
        let next = if second.is_some() { at + 5 } else { at + 3 };
        return match half(tokens, next, hour)? {
            Some((hour, next)) => Some((shown(hour, minute, second)?, next)),
            None => Some((shown(hour, minute, second)?, next)),
        };
    }
    // "8.30 pm" is a time, "8.30" is a number.
    if sign.is_some_and(|t| t.is("."))
        && let Some(minute) = two(at + 2)
        && let Some(Some((hour, next))) = half(tokens, at + 3, hour)
    {
        return Some((shown(hour, minute, None)?, next));
    }
    let word = |at: usize| tokens.get(at).map_or("", |t| t.lower.as_str());
    if matches!(
        (language, word(at + 1)),
        (Language::German, "uhr") | (Language::French, "heures") | (Language::Dutch, "uur")
    ) {
        // A length of time in the other languages, a time of the day here only with minutes behind it.
        if let Some(minute) = digits(at + 2).filter(|m| *m < 60) {
            return Some((shown(hour, minute, None)?, at + 3));
        }
        return (language == Language::German)
            .then(|| shown(hour, 0, None))
            .flatten()
            .map(|text| (text, at + 2));
    }
    if word(at + 1) == "o" && word(at + 2).starts_with(['\'', '’']) && word(at + 3) == "clock" {
        return match half(tokens, at + 4, hour)? {
            Some((hour, next)) => Some((shown(hour, 0, None)?, next)),
            None => None,
        };
    }
    let (hour, next) = half(tokens, at + 1, hour)??;
    Some((shown(hour, 0, None)?, next))
}

/// "noon", "half past eight", "quarter to nine pm", "eight thirty pm", "eight am".
fn spoken(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(String, usize)> {
    if language != Language::English {
        return None;
    }
    let word = |at: usize| tokens.get(at).map_or("", |t| t.lower.as_str());
    match word(at) {
        "noon" | "midday" => return Some(("12:00".to_owned(), at + 1)),
        "midnight" => return Some(("00:00".to_owned(), at + 1)),
        _ => {}
    }
    let hour_at = |at: usize| {
        number(tokens, at, language).filter(|n| n.value.fract() == 0.0 && (1.0..=12.0).contains(&n.value))
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 59")]
    let whole = |value: f64| value as u64;
    let minutes = match word(at) {
        "half" => Some((30, at + 1)),
        "quarter" => Some((15, at + 1)),
        "a" if word(at + 1) == "quarter" => Some((15, at + 2)),
        _ => number(tokens, at, language)
            .filter(|n| n.value.fract() == 0.0 && (1.0..60.0).contains(&n.value))
            .map(|n| (whole(n.value), n.next)),
    };
    if let Some((minute, next)) = minutes
        && matches!(word(next), "past" | "to")
        && let Some(hour) = hour_at(next + 1)
        && let Some((full, end)) = half(tokens, hour.next, whole(hour.value))?
    {
        let (full, minute) =
            if word(next) == "past" { (full, minute) } else { ((full + 23) % 24, 60 - minute) };
        return Some((shown(full, minute, None)?, end));
    }
    let hour = hour_at(at)?;
    if let Some((full, end)) = half(tokens, hour.next, whole(hour.value))? {
        return Some((shown(full, 0, None)?, end));
    }
    // "eight thirty" is one, "two 10 AM" a number before a time.
    let class = |at: usize| tokens.get(at).map(|t| t.class);
    let minute = number(tokens, hour.next, language).filter(|n| {
        n.value.fract() == 0.0 && (0.0..60.0).contains(&n.value) && class(hour.next) == class(at)
    })?;
    let (full, end) = half(tokens, minute.next, whole(hour.value))??;
    Some((shown(full, whole(minute.value), None)?, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    #[test]
    fn times_as_people_write_them() {
        for (text, language, expected) in [
            ("08:30", Language::English, Some("08:30")),
            ("8:30 pm", Language::English, Some("20:30")),
            ("8:30 p.m.", Language::English, Some("20:30")),
            ("8:30:15", Language::English, Some("08:30:15")),
            ("8pm", Language::English, Some("20:00")),
            ("12 am", Language::English, Some("00:00")),
            ("12 pm", Language::English, Some("12:00")),
            ("13 pm", Language::English, None),
            ("25:00", Language::English, None),
            ("8", Language::English, None),
            ("eight am", Language::English, Some("08:00")),
            ("eight thirty pm", Language::English, Some("20:30")),
            ("two 10 AM", Language::English, None),
            ("half past eight in the evening", Language::English, Some("20:30")),
            ("quarter to nine am", Language::English, Some("08:45")),
            ("half past eight", Language::English, None),
            ("noon", Language::English, Some("12:00")),
            ("20 Uhr 15", Language::German, Some("20:15")),
            ("8 Uhr", Language::German, Some("08:00")),
            ("8h30", Language::French, Some("08:30")),
        ] {
            let tokens = tokens(text);
            let found = time(&tokens, 0, language).map(|(e, _)| e.normal.as_str().unwrap().to_owned());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
