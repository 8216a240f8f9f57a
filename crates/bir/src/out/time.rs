//! Points in time and spans, both ways.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, ZonedDateTime};

/// Now, in the zone of this machine.
pub(crate) fn now() -> ZonedDateTime {
    ZonedDateTime::now()
}

/// Now in ms since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// `2026-11-30 04:12:31` in a zone.
pub(crate) fn instant(ms: u64, zone: &TimeZone) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "?".into(),
        |at| at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// `2026-11-30 04:12` in a zone, where a line is short.
pub(crate) fn minute(ms: u64, zone: &TimeZone) -> String {
    let mut text = instant(ms, zone);
    text.truncate("2026-11-30 04:12".len());
    text
}

/// `812 µs`, `2.3 ms`, `1.25 s`, `2 m 05 s`, `1 h 02 m`, `3 d 04 h`.
pub(crate) fn span(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..100_000 => format!("{:.1} ms", us as f64 / 1e3),
        100_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{}.{:02} s", seconds, us % 1_000_000 / 10_000),
        _ if seconds < 3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// `+0.123` seconds from the beginning, `+12:05.123` where it is long.
pub(crate) fn offset(ms: u64) -> String {
    let (minutes, seconds, rest) = (ms / 60_000, ms / 1_000 % 60, ms % 1_000);
    if minutes == 0 { format!("+{seconds}.{rest:03}") } else { format!("+{minutes}:{seconds:02}.{rest:03}") }
}

/// A point in time as people give it, in ms since the Unix epoch: `30m` ago (`s m h d w`), `today`, `yesterday`, a date, a date
/// with a time, or a timestamp with an offset. `end`: a day stands for its end instead of its beginning.
///
/// # Errors
///
/// What it takes instead.
pub(crate) fn parse(text: &str, now: &ZonedDateTime, end: bool) -> Result<u64, String> {
    let wrong = || {
        format!(
            "`{text}` is no time; give a span like `2h` or `7d`, a date like `2026-11-30`, or `2026-11-30T14:05`"
        )
    };
    let day = |date: Date| {
        let date = if end { date.checked_add(1.day()).ok()? } else { date };
        date.to_zoned_datetime(now.time_zone().clone()).ok()
    };
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        let number: i64 = number.parse::<u32>().ok()?.into();
        now.checked_sub(SignedDuration::from_secs(number * seconds)).ok()
    };
    let is_date = text.len() == 10;
    let at = match text {
        "now" => Some(now.clone()),
        "today" => day(now.date()),
        "yesterday" => now.date().yesterday().ok().and_then(day),
        _ if is_date => text.parse::<Date>().ok().and_then(day),
        _ => ago()
            .or_else(|| {
                text.parse::<Timestamp>().ok().map(|at| at.to_zoned_datetime(now.time_zone().clone()))
            })
            .or_else(|| text.parse::<DateTime>().ok()?.to_zoned_datetime(now.time_zone().clone()).ok()),
    };
    let ms = at.ok_or_else(wrong)?.timestamp().as_millisecond();
    u64::try_from(ms).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_and_exact_enough() {
        for (us, shown) in [
            (0, "0 µs"),
            (812, "812 µs"),
            (2_345, "2.3 ms"),
            (250_000, "250 ms"),
            (1_256_000, "1.25 s"),
            (59_999_999, "59.99 s"),
            (125_000_000, "2 m 05 s"),
            (3_720_000_000, "1 h 02 m"),
            (273_600_000_000, "3 d 04 h"),
        ] {
            assert_eq!(span(us), shown);
        }
        assert_eq!((offset(1_234), offset(725_006)), ("+1.234".into(), "+12:05.006".into()));
    }

    #[test]
    fn times_are_read_as_people_give_them() {
        let now: ZonedDateTime = "2026-11-30T12:00:00+01:00[+01:00]".parse().unwrap();
        let read = |text: &str, end| parse(text, &now, end).map(|ms| instant(ms, now.time_zone()));
        for (text, start, end) in [
            ("now", "2026-11-30 12:00:00", "2026-11-30 12:00:00"),
            ("2h", "2026-11-30 10:00:00", "2026-11-30 10:00:00"),
            ("90s", "2026-11-30 11:58:30", "2026-11-30 11:58:30"),
            ("1w", "2026-11-23 12:00:00", "2026-11-23 12:00:00"),
            ("today", "2026-11-30 00:00:00", "2026-12-01 00:00:00"),
            ("yesterday", "2026-11-29 00:00:00", "2026-11-30 00:00:00"),
            ("2026-11-01", "2026-11-01 00:00:00", "2026-11-02 00:00:00"),
            ("2026-11-01T08:30", "2026-11-01 08:30:00", "2026-11-01 08:30:00"),
            ("2026-11-01T08:30:00Z", "2026-11-01 09:30:00", "2026-11-01 09:30:00"),
        ] {
            assert_eq!((read(text, false), read(text, true)), (Ok(start.into()), Ok(end.into())), "{text}");
        }
        for text in ["", "h", "-2h", "2x", "soon", "2026-13-01", "99999999999d", "日", "2026-11-3é"] {
            assert!(read(text, false).unwrap_err().contains("is no time"), "{text}");
        }
    }

    #[test]
    fn an_impossible_instant_is_no_panic() {
        assert_eq!(instant(u64::MAX, &TimeZone::UTC), "?");
    }
}
