use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;
use thiserror::Error;

/// An amount of money in US dollars, in whole units of 10⁻¹² dollars: a price of six decimals for a million tokens is a
/// whole number of them for one
/// token, so that sums are exact in whichever order they are made.
///
/// Written as a decimal text (`"0.0123"`); read from one, or from a JSON number, by the digits that it is written with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Usd(i128);

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected an amount in US dollars: digits, at most 12 of them behind the point and 12 before it")]
pub struct UsdError;

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// So many units are a dollar.
    const UNIT: i128 = 1_000_000_000_000;
    const DECIMALS: usize = 12;

    /// From units of 10⁻¹² dollars.
    #[must_use]
    pub const fn from_pico(units: i128) -> Self {
        Self(units)
    }

    /// In units of 10⁻¹² dollars.
    #[must_use]
    pub const fn pico(self) -> i128 {
        self.0
    }

    /// So many times as much; at the end of the range, its end.
    #[must_use]
    pub const fn times(self, many: i128) -> Self {
        Self(self.0.saturating_mul(many))
    }

    /// A whole part of it, rounded towards less. Nothing is divided by nothing: `by` counts as 1 then.
    #[must_use]
    pub const fn divided(self, by: u64) -> Self {
        Self(self.0.div_euclid(if by == 0 { 1 } else { by as i128 }))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Usd {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Usd {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (
            self.0.unsigned_abs() / Self::UNIT.unsigned_abs(),
            self.0.unsigned_abs() % Self::UNIT.unsigned_abs(),
        );
        let sign = if self.0 < 0 { "-" } else { "" };
        let rest = format!("{rest:012}");
        let rest = rest.trim_end_matches('0');
        if rest.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{rest}") }
    }
}

impl FromStr for Usd {
    type Err = UsdError;

    fn from_str(text: &str) -> Result<Self, UsdError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
        let fits = |part: &str| {
            (1..=Self::DECIMALS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
        };
        if !fits(whole) || !fits(rest) {
            return Err(UsdError);
        }
        let number = |part: &str| part.parse::<i128>().map_err(|_| UsdError);
        let scale = 10_i128.pow(u32::try_from(Self::DECIMALS - rest.len()).map_err(|_| UsdError)?);
        let units = number(whole)? * Self::UNIT + number(rest)? * scale;
        Ok(Self(if negative { -units } else { units }))
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Said)
    }
}

/// An amount as it may be written.
struct Said;

impl Visitor<'_> for Said {
    type Value = Usd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{UsdError}")
    }

    // What is none is not repeated: it may be anything.
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Usd, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, whole: u64) -> Result<Usd, E> {
        Ok(Usd(i128::from(whole) * Usd::UNIT))
    }

    fn visit_i64<E: serde::de::Error>(self, whole: i64) -> Result<Usd, E> {
        Ok(Usd(i128::from(whole) * Usd::UNIT))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Usd, E> {
        if !number.is_finite() || number.abs() >= 1e12 {
            return Err(E::custom(UsdError));
        }
        // What a sum of doubles left behind the twelfth decimal is nobody's money.
        format!("{number:.12}").parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_written_as_they_are_read() {
        for text in ["0", "1", "-1.5", "0.000000000001", "999999999999.999999999999", "0.1"] {
            let amount: Usd = text.parse().unwrap();
            assert_eq!(amount.to_string(), text);
            let json = serde_json::to_string(&amount).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Usd>(&json).unwrap(), amount);
        }
        for (json, text) in [
            ("0.1", "0.1"),
            ("3", "3"),
            ("-0.25", "-0.25"),
            ("1e-7", "0.0000001"),
            ("0.30000000000000004", "0.3"),
        ] {
            assert_eq!(serde_json::from_str::<Usd>(json).unwrap().to_string(), text, "{json}");
        }
        for wrong in ["", "-", ".5", "1.", "1,5", "+1", "0.0000000000001", "1e3", "NaN", "1000000000000"] {
            assert_eq!(wrong.parse::<Usd>(), Err(UsdError), "{wrong}");
        }
        for wrong in ["null", "true", "1e300", "[]", "\"x\""] {
            let error = serde_json::from_str::<Usd>(wrong).unwrap_err().to_string();
            assert!(error.contains("US dollars"), "{wrong}: {error}");
        }
    }

    #[test]
    fn sums_do_not_drift() {
        let tenth: Usd = "0.1".parse().unwrap();
        let sum: Usd = (0..1_000_000).map(|_| tenth).sum();
        assert_eq!(sum.to_string(), "100000");
        assert_eq!((sum - tenth.times(999_999)).to_string(), "0.1");
        assert_eq!((-tenth).divided(3), Usd::from_pico(-33_333_333_334));
        assert_eq!(tenth.divided(0), tenth);
        assert_eq!(Usd::from_pico(i128::MAX) + tenth, Usd::from_pico(i128::MAX));
    }
}
