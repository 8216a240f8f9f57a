//! Numbers in digits and in words, and what makes them an amount: a unit, a currency, a unit of time.

use crate::calendar::{TimeUnit, around, time_unit};
use crate::token::{Class, Token};
use crate::words::{Language, NumberWord, number_word};
use crate::{Entity, Kind};
use serde_json::{Value, json};

/// A number and the token behind it.
pub(crate) struct Read {
    pub(crate) value: f64,
    pub(crate) next: usize,
    /// It is `3rd`.
    pub(crate) ordinal: bool,
}

/// A number as JSON: whole where it is whole.
pub(crate) fn value(number: f64) -> Value {
    /// Above it, doubles skip whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
    if number.fract() == 0.0 && number.abs() < EXACT { json!(number as i64) } else { json!(number) }
}

/// The number that begins at a token.
pub(crate) fn number(tokens: &[Token<'_>], at: usize, language: Language) -> Option<Read> {
    digits(tokens, at, language).or_else(|| words(tokens, at, language))
}

fn digits(tokens: &[Token<'_>], at: usize, language: Language) -> Option<Read> {
    let first = tokens.get(at)?;
    let mut value = first.digits()? as f64;
    let mut next = at + 1;
    let glued = |at: usize| tokens.get(at).filter(|t| !t.spaced);
    let comma_is_point = language != Language::English;
    // Groups of three, then a fraction; which sign is which depends on the language, where one comma or point says nothing else.
    let mut groups = 0;
    while let (Some(sign), Some(group)) = (glued(next), glued(next + 1)) {
        let separator = if comma_is_point { sign.is(".") } else { sign.is(",") } || sign.is("'");
        let fits =
            separator && group.text.len() == 3 && (groups > 0 || first.text.len() <= 3) && first.text != "0";
        let Some(more) = group.digits().filter(|_| fits) else { break };
        value = value * 1000.0 + more as f64;
        groups += 1;
        next += 2;
    }
    if let (Some(sign), Some(fraction)) = (glued(next), glued(next + 1)) {
        let point = sign.is(".") || (sign.is(",") && (comma_is_point || fraction.text.len() != 3));
        if point && fraction.class == Class::Digits && fraction.text.len() <= 12 {
            value += fraction.digits()? as f64 / 10_f64.powi(i32::try_from(fraction.text.len()).ok()?);
            next += 2;
            value = (value * 1e12).round() / 1e12;
        }
    }
    if let Some(mark) = glued(next).filter(|t| t.class == Class::Word) {
        let ordinal = match language {
            Language::English => matches!(mark.lower.as_str(), "st" | "nd" | "rd" | "th"),
            Language::French => matches!(mark.lower.as_str(), "er" | "ème" | "e"),
            _ => false,
        };
        if ordinal {
            return Some(Read { value, next: next + 1, ordinal: true });
        }
        let times = match mark.lower.as_str() {
            "k" => Some(1e3),
            "m" | "mio" if mark.text != "m" => Some(1e6),
            _ => None,
        };
        if let Some(times) = times {
            return Some(Read { value: value * times, next: next + 1, ordinal: false });
        }
    }
    if let Some(NumberWord::Times(times)) = tokens.get(next).and_then(|t| number_word(&t.lower, language)) {
        return Some(Read { value: value * times as f64, next: next + 1, ordinal: false });
    }
    Some(Read { value, next, ordinal: false })
}

/// "two hundred and twenty-five"
fn words(tokens: &[Token<'_>], at: usize, language: Language) -> Option<Read> {
    let word = |at: usize| tokens.get(at).and_then(|t| number_word(&t.lower, language));
    let (mut total, mut part, mut said) = (0_u64, 0_u64, None::<u64>);
    let mut next = at;
    loop {
        match word(next) {
            // "twenty five" adds, "four two" are two numbers.
            Some(NumberWord::Unit(n)) => {
                let room = match said {
                    None => true,
                    Some(before) => before >= 100 || (before % 10 == 0 && before >= 20 && n < 10 && n > 0),
                };
                if !room {
                    break;
                }
                part += n;
                said = Some(n);
            }
            Some(NumberWord::Times(n)) => {
                if next == at && n != 100 && n != 1000 && n != 12 {
                    return None;
                }
                part = part.max(1).checked_mul(n)?;
                said = Some(n);
                if n >= 1000 {
                    total = total.checked_add(part)?;
                    part = 0;
                }
            }
            None => break,
        }
        next += 1;
        let joined =
            |t: &Token<'_>| t.is("-") && !t.spaced || (t.lower == "and" && said.is_some_and(|s| s >= 100));
        if tokens.get(next).is_some_and(joined) && matches!(word(next + 1), Some(NumberWord::Unit(_))) {
            next += 1;
        }
    }
    (next > at).then(|| Read { value: (total + part) as f64, next, ordinal: false })
}

/// Units of measure: spelling, and the one spelling that stands for all.
const UNITS: &[(&str, &str)] = &[
    ("km", "km"),
    ("kilometer", "km"),
    ("kilometers", "km"),
    ("kilometre", "km"),
    ("kilometres", "km"),
    ("kms", "km"),
    ("m", "m"),
    ("meter", "m"),
    ("meters", "m"),
    ("metre", "m"),
    ("metres", "m"),
    ("cm", "cm"),
    ("centimeters", "cm"),
    ("mm", "mm"),
    ("mile", "mi"),
    ("miles", "mi"),
    ("mi", "mi"),
    ("ft", "ft"),
    ("foot", "ft"),
    ("feet", "ft"),
    ("inch", "in"),
    ("inches", "in"),
    ("yard", "yd"),
    ("yards", "yd"),
    ("kg", "kg"),
    ("kilo", "kg"),
    ("kilos", "kg"),
    ("kilogram", "kg"),
    ("kilograms", "kg"),
    ("kilogramm", "kg"),
    ("g", "g"),
    ("gram", "g"),
    ("grams", "g"),
    ("gramm", "g"),
    ("mg", "mg"),
    ("lb", "lb"),
    ("lbs", "lb"),
    ("ounce", "oz"),
    ("ounces", "oz"),
    ("oz", "oz"),
    ("l", "l"),
    ("liter", "l"),
    ("liters", "l"),
    ("litre", "l"),
    ("litres", "l"),
    ("ml", "ml"),
    ("gallon", "gal"),
    ("gallons", "gal"),
    ("b", "B"),
    ("bytes", "B"),
    ("kb", "kB"),
    ("mb", "MB"),
    ("gb", "GB"),
    ("tb", "TB"),
    ("kib", "KiB"),
    ("mib", "MiB"),
    ("gib", "GiB"),
    ("percent", "%"),
    ("prozent", "%"),
    ("pourcent", "%"),
    ("mph", "mph"),
    ("kmh", "km/h"),
    ("kw", "kW"),
    ("kwh", "kWh"),
    ("w", "W"),
    ("watt", "W"),
    ("watts", "W"),
    ("volt", "V"),
    ("volts", "V"),
    ("hz", "Hz"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
    ("celsius", "°C"),
    ("fahrenheit", "°F"),
    ("degrees", "°"),
    ("degree", "°"),
    ("grad", "°"),
    ("ms", "ms"),
    ("milliseconds", "ms"),
    ("px", "px"),
    ("pixels", "px"),
    ("meile", "mi"),
    ("meilen", "mi"),
];

/// Currencies: spelling, code.
const CURRENCIES: &[(&str, &str)] = &[
    ("$", "USD"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("₹", "INR"),
    ("dollar", "USD"),
    ("dollars", "USD"),
    ("bucks", "USD"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("yen", "JPY"),
    ("rupees", "INR"),
    ("francs", "CHF"),
    ("franken", "CHF"),
    ("yuan", "CNY"),
    ("usd", "USD"),
    ("eur", "EUR"),
    ("gbp", "GBP"),
    ("jpy", "JPY"),
    ("inr", "INR"),
    ("chf", "CHF"),
    ("cny", "CNY"),
    ("cad", "CAD"),
    ("aud", "AUD"),
    ("nzd", "NZD"),
    ("sek", "SEK"),
    ("nok", "NOK"),
    ("dkk", "DKK"),
    ("pln", "PLN"),
    ("czk", "CZK"),
    ("huf", "HUF"),
    ("brl", "BRL"),
    ("mxn", "MXN"),
    ("zar", "ZAR"),
    ("sgd", "SGD"),
    ("hkd", "HKD"),
    ("krw", "KRW"),
    ("thb", "THB"),
    ("aed", "AED"),
    ("ils", "ILS"),
    ("btc", "BTC"),
    ("eth", "ETH"),
];

fn listed(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(spelled, _)| *spelled == word).map(|(_, stands)| *stands)
}

/// The currency of a word or sign, `¥` as a code.
pub(crate) fn currency(word: &str) -> Option<&'static str> {
    listed(CURRENCIES, word)
}

/// The number, quantity, amount of money or length of time that begins at a token, with the token behind it.
pub(crate) fn amount(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(Entity, usize)> {
    let first = tokens.get(at)?;
    let entity = |kind, normal, next: usize| {
        let end = tokens[next - 1].span.end;
        Some((Entity { span: first.span.start..end, kind, normal }, next))
    };
    if is_minus(tokens, at) {
        let (mut found, next) = amount(tokens, at + 1, language)?;
        let number = match &mut found.normal {
            Value::Object(members) => members.get_mut("number")?,
            number => number,
        };
        *number = value(-number.as_f64()?);
        return entity(found.kind, found.normal, next);
    }
    if let Some(code) = currency(&first.lower)
        && let Some(read) = number(tokens, at + 1, language).filter(|_| tokens[at + 1].class == Class::Digits)
    {
        return entity(Kind::Money, json!({ "number": value(read.value), "currency": code }), read.next);
    }
    if let Some((iso, next)) = duration(tokens, at, language) {
        return entity(Kind::Duration, Value::String(iso), next);
    }
    let read = number(tokens, at, language)?;
    if read.ordinal {
        return entity(Kind::Number, value(read.value), read.next);
    }
    let Some(word) = tokens.get(read.next) else { return entity(Kind::Number, value(read.value), read.next) };
    if let Some(code) = currency(&word.lower) {
        return entity(Kind::Money, json!({ "number": value(read.value), "currency": code }), read.next + 1);
    }
    if word.is("%") {
        return entity(Kind::Quantity, json!({ "number": value(read.value), "unit": "%" }), read.next + 1);
    }
    if word.is("°") {
        let scale = tokens.get(read.next + 1).filter(|t| !t.spaced && matches!(t.text, "C" | "F"));
        let unit = format!("°{}", scale.map_or("", |t| t.text));
        return entity(
            Kind::Quantity,
            json!({ "number": value(read.value), "unit": unit }),
            read.next + 1 + usize::from(scale.is_some()),
        );
    }
    // One letter is a unit where it is glued to the number, and a word where it is not.
    if let Some(unit) = listed(UNITS, &word.lower).filter(|_| word.text.len() > 1 || !word.spaced) {
        let scale = (unit == "°")
            .then(|| {
                tokens.get(read.next + 1).and_then(|t| listed(UNITS, &t.lower)).filter(|u| u.starts_with('°'))
            })
            .flatten();
        let unit = scale.unwrap_or(unit);
        return entity(
            Kind::Quantity,
            json!({ "number": value(read.value), "unit": unit }),
            read.next + 1 + usize::from(scale.is_some()),
        );
    }
    // Letters glued to digits are no number of their own ("7B", "3d").
    if !word.spaced && word.class == Class::Word {
        return None;
    }
    entity(Kind::Number, value(read.value), read.next)
}

/// A sign before digits that can be nothing but a minus: not between two numbers, which may be a stretch, and not behind a word.
fn is_minus(tokens: &[Token<'_>], at: usize) -> bool {
    let is = |at: usize, signs: &[&str]| tokens.get(at).is_some_and(|t| signs.contains(&t.text));
    let digits = |at: usize| tokens.get(at).is_some_and(|t| t.class == Class::Digits);
    let glued = |at: usize| tokens.get(at).is_some_and(|t| !t.spaced);
    let fraction = |at: usize| is(at, &["."]) && glued(at) && digits(at + 1) && glued(at + 1);
    is(at, &["-", "−"])
        && digits(at + 1)
        && glued(at + 1)
        && (at == 0 || is(at - 1, &["(", "[", ",", ":", "=", ";"]) || !glued(at))
        && (at == 0 || !digits(at - 1) || fraction(at + 2))
}

/// "an hour and a half", "half an hour", "2 hours 30 minutes", "3 days": in ISO 8601.
pub(crate) fn duration(tokens: &[Token<'_>], at: usize, language: Language) -> Option<(String, usize)> {
    let word = |at: usize| tokens.get(at).map(|t| t.lower.as_str());
    if language == Language::English && word(at) == Some("half") {
        let next = at + if around(language).one.contains(&word(at + 1)?) { 2 } else { 1 };
        return (word(next) == Some("hour")).then(|| ("PT30M".to_owned(), next + 1));
    }
    let mut parts: Vec<(f64, TimeUnit)> = Vec::new();
    let mut next = at;
    loop {
        let begin = if parts.is_empty() || word(next) != Some("and") { next } else { next + 1 };
        if language == Language::English
            && begin > next
            && word(begin) == Some("a")
            && word(begin + 1) == Some("half")
        {
            let last = parts.last_mut()?;
            last.0 += 0.5;
            next = begin + 2;
            break;
        }
        let (count, behind) = match number(tokens, begin, language).filter(|n| !n.ordinal) {
            Some(read) => (read.value, read.next),
            None if parts.is_empty() && around(language).one.contains(&word(begin).unwrap_or_default()) => {
                (1.0, begin + 1)
            }
            None => break,
        };
        // "three-day" is as long as three days.
        let hyphen = tokens.get(behind).is_some_and(|t| t.is("-") && !t.spaced)
            && tokens.get(behind + 1).is_some_and(|t| !t.spaced);
        let behind = behind + usize::from(hyphen);
        let unit = tokens.get(behind).and_then(|t| {
            let glued = match t.lower.as_str() {
                "h" => Some(TimeUnit::Hour),
                "min" => Some(TimeUnit::Minute),
                "s" if !t.spaced => Some(TimeUnit::Second),
                "d" if !t.spaced => Some(TimeUnit::Day),
                _ => None,
            };
            time_unit(&t.lower, language).or(glued)
        });
        // Each part is smaller than the one before it.
        let Some(unit) = unit.filter(|u| parts.last().is_none_or(|(_, before)| size(*u) < size(*before)))
        else {
            break;
        };
        // "Eight years old" and "eight-year-old" are an age, which is said as a number.
        let old = if word(behind + 1) == Some("-") { behind + 2 } else { behind + 1 };
        if language == Language::English && word(old) == Some("old") {
            break;
        }
        parts.push((count, unit));
        next = behind + 1;
    }
    iso(&parts).map(|text| (text, next))
}

/// In seconds, roughly; only for comparing.
fn size(unit: TimeUnit) -> u32 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Minute => 60,
        TimeUnit::Hour => 3_600,
        TimeUnit::Day => 86_400,
        TimeUnit::Week => 604_800,
        TimeUnit::Month => 2_600_000,
        TimeUnit::Year => 31_000_000,
    }
}

fn iso(parts: &[(f64, TimeUnit)]) -> Option<String> {
    /// Nobody means more.
    const MOST: f64 = 1e7;
    let (mut days, mut clock) = (String::new(), String::new());
    for (count, unit) in parts {
        if !(0.0..=MOST).contains(count) {
            return None;
        }
        let halves = |whole: &str, part: &str, of: f64| {
            let rest = (count.fract() * of).round();
            match (count.trunc() == 0.0, rest == 0.0) {
                (_, true) => format!("{}{whole}", count.trunc()),
                (true, false) => format!("{rest}{part}"),
                (false, false) => format!("{}{whole}{rest}{part}", count.trunc()),
            }
        };
        match unit {
            TimeUnit::Second => clock += &format!("{count}S"),
            TimeUnit::Minute => clock += &halves("M", "S", 60.0),
            TimeUnit::Hour => clock += &halves("H", "M", 60.0),
            TimeUnit::Day => days += &format!("{count}D"),
            TimeUnit::Week => days += &format!("{count}W"),
            TimeUnit::Month => days += &format!("{count}M"),
            TimeUnit::Year => days += &format!("{count}Y"),
        }
    }
    (!parts.is_empty())
        .then(|| if clock.is_empty() { format!("P{days}") } else { format!("P{days}T{clock}") })
}
