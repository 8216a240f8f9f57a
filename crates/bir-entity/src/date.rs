//! Days: written out, in figures, counted from today, and the two ends of a stretch that share a month.
//!
//! A day without a year is the next one that comes. What could be two days (`03/04/2026` where the language does not say which comes
//! first) is none: nothing here guesses.

use crate::calendar::{TimeUnit, around, month, relative_day, time_unit, weekday};
use crate::number::{duration, number};
use crate::token::{Class, Token};
use crate::words::Language;
use crate::{Clock, Entity, Kind};
use jiff::civil::Date;
use jiff::{Span, ToSpan};
use serde_json::Value;

/// The days that begin at a token (two for a stretch with a shared month), with the token behind them.
pub(crate) fn dates(
    tokens: &[Token<'_>],
    at: usize,
    language: Language,
    clock: &Clock,
) -> Option<(Vec<Entity>, usize)> {
    let today = clock.now.date();
    let one = |text: String, next: usize| {
        let span = tokens[at].span.start..tokens[next - 1].span.end;
        (vec![Entity { span, kind: Kind::Date, normal: Value::String(text) }], next)
    };
    if let Some((date, next)) = figures(tokens, at, language) {
        return Some(one(date.to_string(), next));
    }
    if let Some(found) = written(tokens, at, language, today) {
        return Some(found);
    }
    relative(tokens, at, language, today).map(|(text, next)| one(text, next))
}

/// "On the 7th": the next 7th from the day that was said before, or from today. "The 7th of them" and "the 7th floor" are no days.
pub(crate) fn days_of_month(text: &str, found: &mut [Entity], clock: &Clock) {
    /// What stands between a day and what goes on behind it.
    const BEHIND: &[&str] = &[
        "and", "or", "but", "so", "then", "at", "to", "until", "till", "through", "for", "with", "without",
        "in", "by", "from", "on", "around", "after", "before", "when", "while", "because", "as", "if", "i",
        "we", "he", "she", "they", "is", "are", "please",
    ];
    const BEFORE: &[&str] = &["on", "until", "till", "by", "from", "before", "after", "since"];
    /// Only where another day was said.
    const BETWEEN: &[&str] = &["to", "through", "and", "between"];
    // With whether it is only counted from today.
    let mut known: Option<(Date, bool)> = None;
    for entity in found {
        let words = &text[entity.span.clone()];
        if entity.kind == Kind::Date {
            // "Tomorrow" beside a day in figures says which day that is, and not the other way round.
            let figures = words.contains(|c: char| c.is_ascii_digit());
            if figures || known.is_none_or(|known| known.1) {
                let day = entity.normal.as_str().and_then(|day| day.parse().ok());
                known = day.map(|day| (day, !figures)).or(known);
            }
            continue;
        }
        let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|end| words.strip_suffix(end));
        let day = ordinal.and_then(|digits| digits.parse::<i8>().ok());
        let (Kind::Number, Some(day)) = (entity.kind, day) else { continue };
        let before = text[..entity.span.start].to_lowercase();
        let mut before = before.split_whitespace().rev();
        let behind = text[entity.span.end..].trim_start();
        let behind = behind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
        let is_day = before.next() == Some("the")
            && before
                .next()
                .is_some_and(|word| BEFORE.contains(&word) || (known.is_some() && BETWEEN.contains(&word)))
            && (behind.is_empty() || BEHIND.contains(&behind.as_str()));
        if is_day && let Some(date) = next(known.map_or(clock.now.date(), |(known, _)| known), day) {
            entity.kind = Kind::Date;
            entity.normal = date.to_string().into();
            known = Some((date, false));
        }
    }
}

/// The next day of that number, the day itself included.
fn next(from: Date, day: i8) -> Option<Date> {
    let month = from.first_of_month();
    (0..12).find_map(|n| {
        let date = month.checked_add(n.months()).ok()?.with().day(day).build().ok()?;
        (date >= from).then_some(date)
    })
}

fn small(number: u64) -> Option<i8> {
    i8::try_from(number).ok()
}

/// `2026-11-30`, `30.11.2026`, `11/30/2026`.
fn figures(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(Date, usize)> {
    let part = |offset: usize| tokens.get(at + offset).filter(|t| offset == 0 || !t.spaced);
    let (first, sign, second, again, third) = (part(0)?, part(1)?, part(2)?, part(3)?, part(4)?);
    if sign.text != again.text || !matches!(sign.text, "-" | "." | "/") {
        return None;
    }
    let (a, b, c) = (first.digits()?, second.digits()?, third.digits()?);
    let date = |y: u64, m: u64, d: u64| Date::new(i16::try_from(y).ok()?, small(m)?, small(d)?).ok();
    if first.text.len() == 4 {
        return Some((date(a, b, c)?, at + 5));
    }
    if third.text.len() != 4 || first.text.len() > 2 || second.text.len() > 2 {
        return None;
    }
    let found = match sign.text {
        "." => date(c, b, a),
        _ if around(language).day_first => date(c, b, a),
        "/" if a <= 12 && b <= 12 && a != b => None,
        "/" => date(c, a, b).or_else(|| date(c, b, a)),
        _ => None,
    };
    Some((found?, at + 5))
}

/// "5 March", "the 5th of March 2027", "March 5th, 2027", "5 to 8 March", "March 5-8".
fn written(tokens: &[Token<'_>], at: usize, language: Language, today: Date) -> Option<(Vec<Entity>, usize)> {
    let word = |at: usize| tokens.get(at).map_or("", |t| t.lower.as_str());
    let day = |at: usize| -> Option<(i8, usize)> {
        let token = tokens.get(at).filter(|t| t.class == Class::Digits && t.text.len() <= 2)?;
        let read = number(tokens, at, language)?;
        let next =
            if tokens.get(at + 1).is_some_and(|t| t.is(".") && !t.spaced) { at + 2 } else { read.next };
        let day = small(token.digits()?).filter(|d| (1..=31).contains(d))?;
        (next <= at + 2).then_some((day, next))
    };
    let of = |at: usize| if matches!(word(at), "of" | "de" | "di") { at + 1 } else { at };
    let year = |at: usize| -> (Option<i16>, usize) {
        let begin = if tokens.get(at).is_some_and(|t| t.is(",")) || matches!(word(at), "of" | "de" | "del") {
            at + 1
        } else {
            at
        };
        let found = tokens
            .get(begin)
            .filter(|t| t.class == Class::Digits && t.text.len() == 4)
            .and_then(Token::digits);
        match found.filter(|y| (1900..2200).contains(y)).and_then(|y| i16::try_from(y).ok()) {
            Some(found) => (Some(found), begin + 1),
            None => (None, at),
        }
    };
    let until = |at: usize| around(language).until.contains(&word(at));
    let entity = |from: usize, behind: usize, date: Date| Entity {
        span: tokens[from].span.start..tokens[behind - 1].span.end,
        kind: Kind::Date,
        normal: Value::String(date.to_string()),
    };

    if let Some((first, next)) = day(at) {
        // "5 to 8 March"
        if until(next)
            && let Some((last, behind)) = day(next + 1)
            && let Some(named) = month(word(of(behind)), language)
        {
            let (said, end) = year(of(behind) + 1);
            let from = on(today, said, named, first)?;
            let to = on(from, said.or(Some(from.year())), named, last).filter(|to| *to >= from)?;
            return Some((vec![entity(at, next, from), entity(next + 1, end, to)], end));
        }
        let named = month(word(of(next)), language)?;
        let (said, end) = year(of(next) + 1);
        return Some((vec![entity(at, end, on(today, said, named, first)?)], end));
    }
    let named = month(word(at), language)?;
    let begin = if tokens.get(at + 1).is_some_and(|t| t.is(".") && !t.spaced) { at + 2 } else { at + 1 };
    let begin = if word(begin) == "the" { begin + 1 } else { begin };
    if let Some((first, next)) = day(begin) {
        if until(next)
            && let Some((last, behind)) = day(next + 1)
            && month(word(of(behind)), language).is_none()
        {
            let (said, end) = year(behind);
            let from = on(today, said, named, first)?;
            if let Some(to) = on(from, said.or(Some(from.year())), named, last).filter(|to| *to >= from) {
                return Some((vec![entity(at, next, from), entity(next + 1, end, to)], end));
            }
        }
        let (said, end) = year(next);
        return Some((vec![entity(at, end, on(today, said, named, first)?)], end));
    }
    // "March 2027" is a stretch.
    let (said, end) = year(at + 1);
    let from = Date::new(said?, named, 1).ok()?;
    let text = format!("{from}/{}", from.last_of_month());
    let span = tokens[at].span.start..tokens[end - 1].span.end;
    Some((vec![Entity { span, kind: Kind::Date, normal: Value::String(text) }], end))
}

/// The day, in its year or the next time it comes.
fn on(today: Date, year: Option<i16>, month: i8, day: i8) -> Option<Date> {
    if let Some(year) = year {
        return Date::new(year, month, day).ok();
    }
    let mut years = today.year()..=today.year().saturating_add(4);
    years.find_map(|y| Date::new(y, month, day).ok().filter(|d| *d >= today))
}

/// "tomorrow", "in three days", "two weeks ago", "next friday", "next week", "this weekend".
fn relative(tokens: &[Token<'_>], at: usize, language: Language, today: Date) -> Option<(String, usize)> {
    let word = |at: usize| tokens.get(at).map_or("", |t| t.lower.as_str());
    let words = around(language);
    let after = |days: i64| today.checked_add(days.days()).ok().map(|d| d.to_string());
    if language == Language::English {
        let begin = if word(at) == "the" { at + 1 } else { at };
        match (word(begin), word(begin + 1), word(begin + 2)) {
            ("day", "after", "tomorrow") => return Some((after(2)?, begin + 3)),
            ("day", "before", "yesterday") => return Some((after(-2)?, begin + 3)),
            _ => {}
        }
    }
    if let Some(days) = relative_day(word(at), language) {
        return Some((after(days)?, at + 1));
    }
    if words.inside.contains(&word(at)) {
        let (span, next) = whole_days(tokens, at + 1, language)?;
        // "in 3 days' time"; "in 2 weeks and" is not longer.
        return Some((today.checked_add(span).ok()?.to_string(), next));
    }
    if let Some((span, next)) = whole_days(tokens, at, language) {
        if words.ago.contains(&word(next)) {
            return Some((today.checked_sub(span).ok()?.to_string(), next + 1));
        }
        if language == Language::English && (word(next), word(next + 1)) == ("from", "now") {
            return Some((today.checked_add(span).ok()?.to_string(), next + 2));
        }
        return None;
    }
    let which = if words.next.contains(&word(at)) {
        Some(1)
    } else if words.last.contains(&word(at)) {
        Some(-1)
    } else if words.this.contains(&word(at)) {
        Some(0)
    } else {
        None
    };
    let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
    let weeks = |n: i64| monday.checked_add((n * 7).days()).ok();
    if let Some(day) = weekday(word(at + usize::from(which.is_some())), language) {
        let day = i64::from(day);
        let ahead = (day - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
        let date = match which {
            Some(1) => weeks(1)?.checked_add(day.days()).ok()?,
            Some(-1) => today.checked_sub((if ahead == 0 { 7 } else { 7 - ahead }).days()).ok()?,
            _ => today.checked_add((if ahead == 0 { 7 } else { ahead }).days()).ok()?,
        };
        return Some((date.to_string(), at + 1 + usize::from(which.is_some())));
    }
    let n = which?;
    let stretch = |from: Date, to: Date| Some((format!("{from}/{to}"), at + 2));
    if language == Language::English && word(at + 1) == "weekend" {
        let saturday = weeks(n)?.checked_add(5.days()).ok()?;
        return stretch(saturday, saturday.tomorrow().ok()?);
    }
    match time_unit(word(at + 1), language)? {
        TimeUnit::Week => stretch(weeks(n)?, weeks(n)?.checked_add(6.days()).ok()?),
        TimeUnit::Month => {
            let from = today.first_of_month().checked_add(n.months()).ok()?;
            stretch(from, from.last_of_month())
        }
        TimeUnit::Year => {
            let from = today.first_of_year().checked_add(n.years()).ok()?;
            stretch(from, from.last_of_year())
        }
        _ => None,
    }
}

/// A length of days, weeks, months or years.
fn whole_days(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(Span, usize)> {
    let (iso, next) = duration(tokens, at, language)?;
    if iso.contains('T') || iso.contains('.') {
        return None;
    }
    Some((iso.parse().ok()?, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    fn read(text: &str, language: Language) -> Vec<String> {
        let clock = Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() };
        let tokens = tokens(text);
        let found = (0..tokens.len()).find_map(|at| dates(&tokens, at, language, &clock));
        let normal = |e: &Entity| format!("{}={}", &text[e.span.clone()], e.normal.as_str().unwrap());
        found.map_or(Vec::new(), |(entities, _)| entities.iter().map(normal).collect())
    }

    #[test]
    fn days_as_people_write_them() {
        for (text, expected) in [
            ("on 2026-12-05", vec!["2026-12-05=2026-12-05"]),
            ("30.11.2026", vec!["30.11.2026=2026-11-30"]),
            ("11/30/2026", vec!["11/30/2026=2026-11-30"]),
            ("30/11/2026", vec!["30/11/2026=2026-11-30"]),
            ("03/04/2026", vec![]),
            ("5 March", vec!["5 March=2027-03-05"]),
            ("the 5th of march 2028", vec!["5th of march 2028=2028-03-05"]),
            ("December 24th, 2026", vec!["December 24th, 2026=2026-12-24"]),
            ("dec 1", vec!["dec 1=2026-12-01"]),
            ("from 5 to 8 March", vec!["5=2027-03-05", "8 March=2027-03-08"]),
            ("March 5-8, 2027", vec!["March 5=2027-03-05", "8, 2027=2027-03-08"]),
            ("March 2027", vec!["March 2027=2027-03-01/2027-03-31"]),
            ("tomorrow", vec!["tomorrow=2026-12-01"]),
            ("the day after tomorrow", vec!["the day after tomorrow=2026-12-02"]),
            ("in three days", vec!["in three days=2026-12-03"]),
            ("two weeks ago", vec!["two weeks ago=2026-11-16"]),
            ("friday", vec!["friday=2026-12-04"]),
            ("monday", vec!["monday=2026-12-07"]),
            ("next friday", vec!["next friday=2026-12-11"]),
            ("last friday", vec!["last friday=2026-11-27"]),
            ("next week", vec!["next week=2026-12-07/2026-12-13"]),
            ("this weekend", vec!["this weekend=2026-12-05/2026-12-06"]),
            ("next month", vec!["next month=2026-12-01/2026-12-31"]),
            ("31 February", vec![]),
            ("may I", vec![]),
            ("in 2 hours", vec![]),
        ] {
            assert_eq!(read(text, Language::English), expected, "{text}");
        }
    }

    #[test]
    fn days_in_other_languages() {
        for (text, language, expected) in [
            ("am 5. März 2027", Language::German, "5. März 2027=2027-03-05"),
            ("übermorgen", Language::German, "übermorgen=2026-12-02"),
            ("nächsten Freitag", Language::German, "nächsten Freitag=2026-12-11"),
            ("le 5 mars", Language::French, "5 mars=2027-03-05"),
            ("5 de marzo de 2027", Language::Spanish, "5 de marzo de 2027=2027-03-05"),
            ("domani", Language::Italian, "domani=2026-12-01"),
            ("03/04/2027", Language::French, "03/04/2027=2027-04-03"),
            ("hoje", Language::Portuguese, "hoje=2026-11-30"),
            ("overmorgen", Language::Dutch, "overmorgen=2026-12-02"),
        ] {
            assert_eq!(read(text, language), [expected], "{text}");
        }
    }
}
