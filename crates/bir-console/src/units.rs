//! Numbers for people: durations, sizes, counts, times. Three significant digits are enough to see what is slow.

use jiff::Timestamp;

/// A duration in microseconds: `850 µs`, `12.4 ms`, `3.21 s`, `4 m 07 s`, `2 h 05 m`, `3 d 04 h`.
pub(crate) fn duration(us: u64) -> String {
    // The next larger unit begins where rounding would show a thousand of the smaller one.
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..999_500 => format!("{} ms", three_digits(us, 1_000)),
        999_500..59_950_000 => format!("{} s", three_digits(us, 1_000_000)),
        _ => long_duration((us + 500_000) / 1_000_000),
    }
}

fn long_duration(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    if hours >= 24 {
        format!("{} d {:02} h", hours / 24, hours % 24)
    } else if hours > 0 {
        format!("{hours} h {:02} m", minutes % 60)
    } else {
        format!("{minutes} m {:02} s", seconds % 60)
    }
}

/// When something happened after the beginning, in ms: `+0.000`, `+12.345`, `+4:07.123`, `+2:05:09.000`.
pub(crate) fn offset(ms: u64) -> String {
    let (seconds, rest) = (ms / 1_000, ms % 1_000);
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    if hours > 0 {
        format!("+{hours}:{:02}:{:02}.{rest:03}", minutes % 60, seconds % 60)
    } else if minutes > 0 {
        format!("+{minutes}:{:02}.{rest:03}", seconds % 60)
    } else {
        format!("+{seconds}.{rest:03}")
    }
}

/// A size in bytes: `512 B`, `1.5 KiB`, `64 KiB`, `2.37 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1_024 {
        return format!("{n} B");
    }
    let mut unit = 1_024_u64;
    let mut name = 0;
    // 1,023.5 of a unit would be shown as 1024: it is one of the next.
    while name + 1 < UNITS.len() && n >= unit * 1_023 + unit / 2 {
        unit *= 1_024;
        name += 1;
    }
    format!("{} {}", three_digits(n, unit), UNITS[name])
}

/// `n / unit` with three significant digits and no trailing zeros after the point.
fn three_digits(n: u64, unit: u64) -> String {
    let (n, unit) = (u128::from(n), u128::from(unit));
    let rounded = |scale: u128| (n * scale + unit / 2) / unit;
    let (value, decimals) = match rounded(100) {
        hundredths @ 0..1_000 => (hundredths, 2),
        _ => match rounded(10) {
            tenths @ 0..1_000 => (tenths, 1),
            _ => (rounded(1), 0),
        },
    };
    if decimals == 0 {
        return value.to_string();
    }
    let scale = 10_u128.pow(decimals);
    let fraction = format!("{:0width$}", value % scale, width = decimals as usize);
    match fraction.trim_end_matches('0') {
        "" => (value / scale).to_string(),
        fraction => format!("{}.{fraction}", value / scale),
    }
}

/// A number with its noun: `1 call`, `12,345 calls`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A number with commas between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// One moment, as a machine reads it, in full for people, and how long ago it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct When {
    /// `2026-11-30T03:48:18.120Z`
    pub(crate) iso: String,
    /// `2026-11-30 03:48:18 UTC`
    pub(crate) exact: String,
    /// `3 min ago`
    pub(crate) ago: String,
}

impl When {
    /// From ms since the Unix epoch. What no calendar holds is shown as its number.
    pub(crate) fn new(at: u64, now: u64) -> Self {
        let time = i64::try_from(at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let (iso, exact) = match time {
            Some(t) => (
                t.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
                t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            ),
            None => (String::new(), format!("{at} ms")),
        };
        let ago = if time.is_some() { ago(now.saturating_sub(at)) } else { exact.clone() };
        Self { iso, exact, ago }
    }
}

/// How long ago, in ms. A clock that is ahead of ours makes it "now".
fn ago(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..10 => "just now".into(),
        10..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..2_592_000 => count(seconds / 86_400, "day ago", "days ago"),
        2_592_000..31_536_000 => count(seconds / 2_592_000, "month ago", "months ago"),
        _ => count(seconds / 31_536_000, "year ago", "years ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        for (us, shown) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_000, "1 ms"),
            (1_234, "1.23 ms"),
            (9_996, "10 ms"),
            (12_449, "12.4 ms"),
            (999_499, "999 ms"),
            (999_500, "1 s"),
            (3_214_000, "3.21 s"),
            (59_949_999, "59.9 s"),
            (59_950_000, "1 m 00 s"),
            (247_000_000, "4 m 07 s"),
            (7_500_000_000, "2 h 05 m"),
            (273_600_000_000, "3 d 04 h"),
        ] {
            assert_eq!(duration(us), shown, "{us}");
        }
    }

    #[test]
    fn offsets() {
        for (ms, shown) in
            [(0, "+0.000"), (12_345, "+12.345"), (247_123, "+4:07.123"), (7_509_000, "+2:05:09.000")]
        {
            assert_eq!(offset(ms), shown, "{ms}");
        }
    }

    #[test]
    fn sizes() {
        for (n, shown) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KiB"),
            (1_536, "1.5 KiB"),
            (65_536, "64 KiB"),
            (1_047_552, "1023 KiB"),
            (1_048_064, "1 MiB"),
            (2_485_125, "2.37 MiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes(n), shown, "{n}");
        }
    }

    #[test]
    fn counts() {
        assert_eq!(count(1, "call", "calls"), "1 call");
        assert_eq!(count(0, "call", "calls"), "0 calls");
        assert_eq!(count(1_234_567, "call", "calls"), "1,234,567 calls");
        assert_eq!(count(123, "call", "calls"), "123 calls");
    }

    #[test]
    fn moments() {
        let at = 1_796_010_498_120;
        let when = When::new(at, at + 185_000);
        assert_eq!(when.iso, "2026-11-30T03:48:18.120Z");
        assert_eq!(when.exact, "2026-11-30 03:48:18 UTC");
        assert_eq!(when.ago, "3 min ago");
        assert_eq!(When::new(at, at - 60_000).ago, "just now");
        assert_eq!(When::new(at, at + 86_400_000 * 3).ago, "3 days ago");
        assert_eq!(When::new(u64::MAX, at).exact, format!("{} ms", u64::MAX));
    }

    proptest! {
        #[test]
        fn a_longer_duration_never_shows_less_of_the_same_unit(us in 0_u64..59_000_000) {
            let number = |s: String| {
                let (n, unit) = s.split_once(' ').unwrap();
                n.parse::<f64>().unwrap() * match unit { "µs" => 1.0, "ms" => 1e3, _ => 1e6 }
            };
            let shown = number(duration(us));
            prop_assert!((shown - us as f64).abs() <= us as f64 * 0.006 + 0.5, "{us} {shown}");
        }

        #[test]
        fn no_number_panics(n in any::<u64>(), m in any::<u64>()) {
            let _ = (duration(n), offset(n), bytes(n), grouped(n), When::new(n, m));
        }
    }
}
