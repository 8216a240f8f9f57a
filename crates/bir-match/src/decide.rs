//! From a reading to a decision: how often readings of its kind were wrong, and whether that is seldom enough.
//!
//! A kind of difference begins with what was measured on the development sets ([`Difference::prior`]); the outcomes of a scenario count on
//! top of it. What is compared with a limit is not the rate but an upper bound of it (Clopper–Pearson, one-sided, 95 %).

use crate::Answer;

/// How a prompt differs from what was recorded, the worst of its differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difference {
    /// In nothing: it was recorded word for word.
    Verbatim,
    /// In words that may be there or not.
    Same,
    /// In values, each of which was recorded before.
    Known,
    /// In values.
    Values,
    /// In values that were recorded before, and its fixed words come from several recorded prompts.
    Joined,
    /// In values, and its fixed words come from several recorded prompts.
    Loose,
}

/// Outcomes of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evidence {
    /// How many were wrong.
    pub wrong: u64,
    /// Of how many.
    pub of: u64,
}

/// What to do with an [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// Run it.
    Execute,
    /// Tell the model what would run.
    Steer,
    /// Nothing.
    Decline,
}

/// What an answer lacks to be executed: what it is, and what it would have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lack {
    /// It is so likely among all readings, and has to be more likely than that.
    Confidence {
        /// From 0 to 1.
        is: f64,
        /// From 0 to 1.
        bar: f64,
    },
    /// So many recorded prompts show the rarest of its stretches of words, and that many have to.
    Shown {
        /// How many do.
        times: u32,
        /// How many have to.
        least: u32,
    },
    /// Too many recorded prompts of other tasks begin alike, and its other words are usual ones.
    Telling,
    /// Wrong decisions of its kind are at most so frequent (95 %), and may be that frequent.
    Bound {
        /// From 0 to 1.
        is: f64,
        /// From 0 to 1.
        limit: f64,
    },
}

/// How often a wrong decision may happen, at most (95 %), for calls that only read: 3 of 100 for the worst kind of difference. Over all kinds
/// it was less than 1 of 100; the sets are too small to show that for each.
pub const READS: f64 = 0.03;
/// And for calls that write: 1 of 100. New values come under it only with outcomes of the scenario's own.
pub const WRITES: f64 = 0.01;

/// Recorded prompts that make a wording usual.
const OFTEN: u32 = 4;
/// How likely it may be, before its other words are looked at, that a prompt that begins so belongs to another family.
const DOUBT: f64 = 0.05;
/// What the fixed words of a prompt must say, in nats, where that is likelier: some four words that are not in every prompt.
const TELLING: f64 = 22.0;
/// A reading that is less likely than all others together is not worth telling.
const TOLD: f64 = 0.5;

impl Difference {
    /// What was measured on the development sets (SNIPS, and CLINC150 with BANKING77 for [`Same`](Self::Same)), half against half. A wrong plan and
    /// a wrong value both count.
    pub fn prior(self) -> Evidence {
        let (wrong, of) = match self {
            // Each recorded prompt of the four sets and ATIS, asked again.
            Self::Verbatim => (0, 24_065),
            Self::Same => (3, 606),
            Self::Known => (3, 1098),
            Self::Values => (8, 488),
            Self::Joined => (2, 286),
            Self::Loose => (4, 83),
        };
        Evidence { wrong, of }
    }

    /// How likely a reading has to be, where its rarest stretch was shown so often; None: never likely enough.
    fn sure(self, shown: u32) -> Option<f64> {
        match (self, shown) {
            (Self::Verbatim | Self::Same, _) => Some(0.9),
            (Self::Known, 1..) => Some(0.9),
            (Self::Values, OFTEN..) => Some(0.999),
            (Self::Values, 1..) => Some(0.9999),
            (Self::Joined, 1..) => Some(0.99),
            (Self::Loose, OFTEN..) => Some(0.9999),
            _ => None,
        }
    }
}

impl Answer {
    /// The rate of wrong decisions for what this answer is, at most (95 %), with what is known of the scenario's own.
    pub fn bound(&self, outcomes: Evidence) -> f64 {
        self.difference.map_or(1.0, |d| d.prior().and(outcomes).upper())
    }

    /// What it lacks to be executed, beside parameters that are missing; nothing, where it is [`Decision::Execute`] or has a veto.
    pub fn lacks(&self, limit: f64, outcomes: Evidence) -> Vec<Lack> {
        let Some(difference) = self.difference.filter(|_| self.veto.is_none()) else { return Vec::new() };
        let mut lacks = Vec::new();
        match difference.sure(self.shown) {
            Some(bar) if self.confidence > bar => {}
            Some(bar) => lacks.push(Lack::Confidence { is: self.confidence, bar }),
            None => {
                let least = if difference.sure(1).is_some() { 1 } else { OFTEN };
                lacks.push(Lack::Shown { times: self.shown, least });
            }
        }
        if !self.is_telling(difference) {
            lacks.push(Lack::Telling);
        }
        let is = self.bound(outcomes);
        if is > limit {
            lacks.push(Lack::Bound { is, limit });
        }
        lacks
    }

    fn is_telling(&self, difference: Difference) -> bool {
        difference <= Difference::Same || self.doubt <= DOUBT || self.weight >= TELLING
    }

    /// What to do, if a wrong decision may happen this often ([`READS`], [`WRITES`]) and this is known of the scenario.
    pub fn decide(&self, limit: f64, outcomes: Evidence) -> Decision {
        if self.difference.is_none() || self.veto.is_some() || self.confidence <= TOLD {
            return Decision::Decline;
        }
        if self.missing.is_empty() && self.lacks(limit, outcomes).is_empty() {
            Decision::Execute
        } else {
            Decision::Steer
        }
    }
}

impl Evidence {
    /// Both together.
    pub fn and(self, more: Self) -> Self {
        Self { wrong: self.wrong + more.wrong, of: self.of + more.of }
    }

    /// The rate that the true one is below, with 95 % confidence.
    pub fn upper(self) -> f64 {
        clopper_pearson(self.wrong, self.of, 0.05).1
    }
}

/// The interval of a rate: the lower and the upper end, each with `alpha` outside.
pub fn clopper_pearson(hits: u64, of: u64, alpha: f64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (k, n) = (hits as f64, of as f64);
    let solve = |target: f64, a: f64, b: f64| {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if beta(middle, a, b) < target { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    let lower = if hits == 0 { 0.0 } else { solve(alpha, k, n - k + 1.0) };
    let upper = if hits >= of { 1.0 } else { solve(1.0 - alpha, k + 1.0, n - k) };
    (lower, upper)
}

/// The regularised incomplete beta function, by its continued fraction.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The method of Lentz.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const SMALL: f64 = 1e-300;
    let away = |v: f64| if v.abs() < SMALL { SMALL } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..500 {
        let m = f64::from(m);
        for step in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            result *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function, by Stirling's series behind a shift.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_books() {
        let near = |a: f64, b: f64| (a - b).abs() < 2e-4;
        let (low, high) = clopper_pearson(0, 3_000, 0.05);
        assert!(low == 0.0 && near(high, 0.000_998), "{high}");
        let (low, high) = clopper_pearson(5, 10, 0.025);
        assert!(near(low, 0.187_1) && near(high, 0.812_9), "{low} {high}");
        assert_eq!(clopper_pearson(0, 0, 0.05), (0.0, 1.0));
        assert_eq!(clopper_pearson(4, 4, 0.05).1, 1.0);
    }

    #[test]
    fn more_evidence_is_a_tighter_bound() {
        let few = Evidence { wrong: 0, of: 100 };
        assert!(few.upper() > WRITES && few.and(Evidence { wrong: 0, of: 4_000 }).upper() < WRITES);
        assert!(few.and(Evidence { wrong: 5, of: 5 }).upper() > few.upper());
    }
}
