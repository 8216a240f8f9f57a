//! Times as texts, and arithmetic with them, without a zone: what a user says ("in two days at eight") has none.

use super::{TimeForm, Unit};
use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, ToSpan};

/// What a text says of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Date(Date),
    Time(Time),
    Both(DateTime),
}

/// `2026-11-30`, `08:00`, `08:00:30`, or a date and a time with `T` or a space between; what an output appends to them
/// (fractions of a second, a zone) is left out.
pub(super) fn read(text: &str) -> Option<When> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i16> {
        let part = text.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten()
    };
    let small = |range| number(range).and_then(|n| i8::try_from(n).ok());
    let time = |at: usize| -> Option<(Time, usize)> {
        (bytes.get(at + 2) == Some(&b':')).then_some(())?;
        let (hour, minute) = (small(at..at + 2)?, small(at + 3..at + 5)?);
        if bytes.get(at + 5) == Some(&b':') {
            return Some((Time::new(hour, minute, small(at + 6..at + 8)?, 0).ok()?, at + 8));
        }
        Some((Time::new(hour, minute, 0, 0).ok()?, at + 5))
    };
    if bytes.get(2) == Some(&b':') {
        let (time, end) = time(0)?;
        return (end == text.len()).then_some(When::Time(time));
    }
    (bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-')).then_some(())?;
    let date = Date::new(number(0..4)?, small(5..7)?, small(8..10)?).ok()?;
    if text.len() == 10 {
        return Some(When::Date(date));
    }
    matches!(bytes.get(10), Some(b'T' | b' ')).then_some(())?;
    let (time, end) = time(11)?;
    let zone = &text[end..];
    let fraction = zone.strip_prefix('.').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zone = fraction.unwrap_or(zone);
    let offset = |z: &str| z.len() == 6 && z.starts_with(['+', '-']) && z.as_bytes()[3] == b':';
    (zone.is_empty() || zone == "Z" || offset(zone)).then_some(When::Both(date.to_datetime(time)))
}

impl When {
    fn date(self) -> Option<Date> {
        match self {
            Self::Date(date) => Some(date),
            Self::Both(both) => Some(both.date()),
            Self::Time(_) => None,
        }
    }

    fn time(self) -> Option<Time> {
        match self {
            Self::Time(time) => Some(time),
            Self::Both(both) => Some(both.time()),
            Self::Date(_) => None,
        }
    }

    /// In a form; None: it does not say what the form needs.
    pub(super) fn shown(self, form: TimeForm) -> Option<String> {
        let date = || self.date().map(|d| (d.year(), d.month(), d.day()));
        let time = || self.time().map(|t| (t.hour(), t.minute(), t.second()));
        let iso_date = || date().map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"));
        let short = || time().map(|(h, m, _)| format!("{h:02}:{m:02}"));
        let long = || time().map(|(h, m, s)| format!("{h:02}:{m:02}:{s:02}"));
        Some(match form {
            TimeForm::Date => iso_date()?,
            TimeForm::Time => short()?,
            TimeForm::TimeWithSeconds => long()?,
            TimeForm::DateTime => format!("{}T{}", iso_date()?, short()?),
            TimeForm::DateTimeWithSeconds => format!("{}T{}", iso_date()?, long()?),
            TimeForm::DateSpaceTime => format!("{} {}", iso_date()?, short()?),
            TimeForm::DotDate => date().map(|(y, m, d)| format!("{d:02}.{m:02}.{y:04}"))?,
            TimeForm::SlashDateMonthFirst => date().map(|(y, m, d)| format!("{m:02}/{d:02}/{y:04}"))?,
            TimeForm::SlashDateDayFirst => date().map(|(y, m, d)| format!("{d:02}/{m:02}/{y:04}"))?,
            TimeForm::CompactDate => date().map(|(y, m, d)| format!("{y:04}{m:02}{d:02}"))?,
            TimeForm::Year => date().map(|(y, _, _)| format!("{y:04}"))?,
            TimeForm::Month => date().map(|(_, m, _)| format!("{m:02}"))?,
            TimeForm::Day => date().map(|(_, _, d)| format!("{d:02}"))?,
        })
    }

    /// So much later; None: it has no such part, or there is no such time.
    pub(super) fn later(self, amount: i64, unit: Unit) -> Option<Self> {
        /// Nobody means more, and no arithmetic leaves its range before.
        const MOST: i64 = 10_000_000;
        if amount.abs() > MOST {
            return None;
        }
        let span: Span = match unit {
            Unit::Number => return None,
            Unit::Days => amount.days(),
            Unit::Months => amount.months(),
            Unit::Minutes => amount.minutes(),
        };
        match (self, unit) {
            (Self::Date(_), Unit::Minutes) | (Self::Time(_), Unit::Days | Unit::Months) => None,
            (Self::Time(time), _) => Some(Self::Time(time.wrapping_add(span))),
            (Self::Date(date), _) => within(date.checked_add(span).ok()?).map(Self::Date),
            (Self::Both(both), _) => {
                let later = both.checked_add(span).ok()?;
                within(later.date()).map(|_| Self::Both(later))
            }
        }
    }

    /// As the text that [`read`] reads.
    pub(super) fn text(self) -> Option<String> {
        self.shown(match self {
            Self::Date(_) => TimeForm::Date,
            Self::Time(time) if time.second() != 0 => TimeForm::TimeWithSeconds,
            Self::Time(_) => TimeForm::Time,
            Self::Both(both) if both.second() != 0 => TimeForm::DateTimeWithSeconds,
            Self::Both(_) => TimeForm::DateTime,
        })
    }
}

/// How many of a unit a length of time is: `P2W`, `P1Y6M`, `P3D`, `PT1H30M`, `P1DT12H`; at most nine digits each, seconds left out. Months
/// and days are not made of each other.
pub(super) fn amount(text: &str, unit: Unit) -> Option<i64> {
    let rest = text.strip_prefix('P')?;
    let (mut months, mut days, mut minutes) = (0_i64, 0_i64, 0_i64);
    let (mut number, mut timed, mut any) = (String::new(), false, false);
    for c in rest.chars() {
        match c {
            '0'..='9' if number.len() < 9 => number.push(c),
            'T' if !timed && number.is_empty() => timed = true,
            _ => {
                let n: i64 = number.parse().ok()?;
                number.clear();
                any = true;
                match (c, timed) {
                    ('Y', false) => months += n * 12,
                    ('M', false) => months += n,
                    ('W', false) => days += n * 7,
                    ('D', false) => days += n,
                    ('H', true) => minutes += n * 60,
                    ('M', true) => minutes += n,
                    _ => return None,
                }
            }
        }
    }
    (any && number.is_empty()).then_some(())?;
    match unit {
        Unit::Months if days == 0 && minutes == 0 => Some(months),
        Unit::Days if months == 0 && minutes % 1440 == 0 => Some(days + minutes / 1440),
        Unit::Minutes if months == 0 => Some(days * 1440 + minutes),
        _ => None,
    }
}

/// Years of four digits.
fn within(date: Date) -> Option<Date> {
    (1..=9999).contains(&date.year()).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_counted() {
        for (text, unit, expected) in [
            ("PT1H30M", Unit::Minutes, Some(90)),
            ("P1DT1H", Unit::Minutes, Some(1500)),
            ("PT48H", Unit::Days, Some(2)),
            ("P2W", Unit::Days, Some(14)),
            ("P1Y6M", Unit::Months, Some(18)),
            ("PT47H", Unit::Days, None),
            ("P1M", Unit::Days, None),
            ("P", Unit::Days, None),
            ("PT", Unit::Days, None),
            ("P3", Unit::Days, None),
            ("P1H", Unit::Minutes, None),
            ("P1.5D", Unit::Days, None),
            ("P1D", Unit::Number, None),
            ("P9999999999D", Unit::Days, None),
        ] {
            assert_eq!(amount(text, unit), expected, "{text}");
        }
    }

    #[test]
    fn times_are_read_shown_and_moved() {
        let later = |text: &str, amount, unit| read(text)?.later(amount, unit)?.text();
        assert_eq!(later("2026-11-30", 2, Unit::Days).as_deref(), Some("2026-12-02"));
        assert_eq!(later("2026-01-31", 1, Unit::Months).as_deref(), Some("2026-02-28"));
        assert_eq!(later("23:30", 60, Unit::Minutes).as_deref(), Some("00:30"));
        assert_eq!(later("2026-12-31T23:30", 60, Unit::Minutes).as_deref(), Some("2027-01-01T00:30"));
        assert_eq!(later("2026-12-31", 60, Unit::Minutes), None);
        assert_eq!(later("9999-12-31", 1, Unit::Days), None);
        let shown = |text: &str, form| read(text)?.shown(form);
        assert_eq!(shown("2026-11-30T08:05:09+01:00", TimeForm::Time).as_deref(), Some("08:05"));
        assert_eq!(
            shown("2026-11-30 08:05:09.123Z", TimeForm::SlashDateMonthFirst).as_deref(),
            Some("11/30/2026")
        );
        assert_eq!(shown("2026-11-30", TimeForm::Time), None);
        for wrong in [
            "",
            "2026-11-31",
            "2026-13-01",
            "25:00",
            "8:00",
            "2026-11-30Tx",
            "２０２６-11-30",
            "2026-11-30T08:00 CET",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
