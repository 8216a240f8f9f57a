//! Bytes for people.

/// `812 B`, `12 KiB`, `3.4 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let (mut value, mut unit) = (n as f64 / 1024.0, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let unit = UNITS[unit];
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// `1 call`, `2 calls`.
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short() {
        for (n, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12 * 1024, "12 KiB"),
            (1000 * 1024, "1.0 MiB"),
            (256 << 20, "256 MiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes(n), shown);
        }
        assert_eq!((count(1, "run"), count(0, "run")), ("1 run".into(), "0 runs".into()));
    }
}
