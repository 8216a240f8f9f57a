//! What a task costs when the model does it, at least.
//!
//! The bound is that of the *median*, one-sided, 95 %, by order statistics: of `n` samples in order it is the `k`-th
//! smallest, where `k` is the
//! largest number for which fewer than `k` of `n` tosses of a fair coin come up heads with a probability of at most 5
//! %. It assumes
//! nothing of how costs are spread. With five samples it is the smallest (1/32), and with fewer there is none: that is
//! why five are
//! needed.

use super::prices::{Bound, Prices};
use bir_model::scenario::{ExecutionReport, Measure};
use bir_model::{TurnTokens, Usd};
use std::cmp::Reverse;

/// So many measured runs of one model are needed.
pub const NEEDED: u32 = 5;
/// The newest so many samples count: what a task costs changes.
const MOST: usize = 100;
/// How the bound is made, in words.
pub const METHOD: &str = "per model, the one-sided 95 % lower bound of the median of its measured runs (order statistics, \
     at least 5 runs), less what each replayed turn spent in all";

/// A turn in which the model did the task by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// The model; where there were several, the one that wrote most.
    pub model: String,
    /// What it cost, at least.
    pub usd: Usd,
    /// Its tokens.
    pub tokens: u64,
    /// From prompt to answer, milliseconds.
    pub duration_ms: u64,
    /// The version of the prices.
    pub pricing_version: String,
    /// Whether all of this was measured.
    pub measured: bool,
}

impl Sample {
    /// Of a turn whose tokens were counted; a model without a price, or a record that misses some, is not measured.
    #[must_use]
    pub fn of_turn(at: u64, duration_ms: u64, turn: &TurnTokens, prices: &Prices) -> Self {
        let cost = prices.cost(turn, Bound::Least);
        Self {
            at,
            model: model(turn).unwrap_or_default().to_owned(),
            usd: cost.unwrap_or_default(),
            tokens: turn.totals.all_input().saturating_add(turn.totals.output_tokens),
            duration_ms,
            pricing_version: prices.version.clone(),
            measured: cost.is_some() && duration_ms > 0,
        }
    }

    /// Of an execution in which the model did the task by itself; none: it did not, or nobody knows which model it was.
    #[must_use]
    pub fn of_report(at: u64, report: &ExecutionReport) -> Option<Self> {
        let model = report.model.clone().filter(|_| report.outcome.is_baseline())?;
        Some(Self {
            at,
            model,
            usd: report.session_cost_usd,
            tokens: report.tokens,
            duration_ms: report.duration_ms,
            pricing_version: report.pricing_version.clone(),
            // What cost nothing was not counted.
            measured: report.measured && report.session_cost_usd > Usd::ZERO && report.tokens > 0,
        })
    }
}

/// The model of a turn: the one that wrote most; of equals the first by name.
#[must_use]
pub fn model(turn: &TurnTokens) -> Option<&str> {
    let most = turn.models.iter().min_by_key(|(_, tokens)| Reverse(tokens.output_tokens));
    most.map(|(name, _)| name.as_str())
}

/// What a task costs when one model does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Measured runs.
    pub runs: u32,
    /// What one costs, at least; none: not yet measured.
    pub least: Option<Measure>,
}

impl Baseline {
    /// Of the samples of one model, priced with one version.
    #[must_use]
    pub fn of(samples: &[Sample], model: &str, pricing_version: &str) -> Self {
        let mut fit: Vec<&Sample> = samples
            .iter()
            .filter(|sample| {
                sample.measured && sample.model == model && sample.pricing_version == pricing_version
            })
            .collect();
        fit.sort_by_key(|sample| Reverse(sample.at));
        fit.truncate(MOST);
        let runs = u32::try_from(fit.len()).unwrap_or(u32::MAX);
        let least = rank(fit.len()).filter(|_| runs >= NEEDED).map(|rank| Measure {
            usd: nth(fit.iter().map(|sample| sample.usd), rank).unwrap_or_default(),
            tokens: signed(nth(fit.iter().map(|sample| sample.tokens), rank)),
            duration_ms: signed(nth(fit.iter().map(|sample| sample.duration_ms), rank)),
        });
        Self { runs, least }
    }
}

fn nth<T: Ord>(values: impl Iterator<Item = T>, rank: usize) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.into_iter().nth(rank)
}

fn signed(value: Option<u64>) -> i64 {
    i64::try_from(value.unwrap_or(0)).unwrap_or(i64::MAX)
}

/// Which of `n` ordered values, from 0, the median is not below, with 95 %; none: there are too few.
fn rank(n: usize) -> Option<usize> {
    // The sum of the first k binomial coefficients against a twentieth of 2^n; n is at most MOST, so 2^n fits.
    let (mut coefficient, mut sum, mut rank) = (1_u128, 0_u128, None);
    let all = 1_u128.checked_shl(u32::try_from(n).ok()?)?;
    for k in 0..n {
        sum += coefficient;
        if sum.checked_mul(20)? > all {
            break;
        }
        rank = Some(k);
        coefficient = coefficient * (n - k) as u128 / (k as u128 + 1);
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(at: u64, tokens: u64) -> Sample {
        Sample {
            at,
            model: "m".into(),
            usd: Usd::from_pico(i128::from(tokens) * 3),
            tokens,
            duration_ms: tokens * 2,
            pricing_version: "v".into(),
            measured: true,
        }
    }

    #[test]
    fn the_ranks_are_those_of_the_books() {
        // Tables of the sign test, one-sided 5 %.
        for (n, expected) in [
            (0, None),
            (1, None),
            (4, None),
            (5, Some(0)),
            (7, Some(0)),
            (8, Some(1)),
            (10, Some(1)),
            (11, Some(2)),
            (20, Some(5)),
            (25, Some(7)),
            (50, Some(18)),
            (100, Some(41)),
        ] {
            assert_eq!(rank(n), expected, "{n}");
        }
    }

    #[test]
    fn five_measured_runs_of_one_model_are_needed() {
        let samples: Vec<Sample> =
            [50, 40, 90, 70, 60].into_iter().zip(1..).map(|(tokens, at)| sample(at, tokens)).collect();
        assert_eq!(Baseline::of(&samples[..4], "m", "v"), Baseline { runs: 4, least: None });
        let five = Baseline::of(&samples, "m", "v");
        assert_eq!(five.least, Some(Measure { usd: Usd::from_pico(120), tokens: 40, duration_ms: 80 }));
        assert_eq!(Baseline::of(&samples, "other", "v").runs, 0);
        assert_eq!(Baseline::of(&samples, "m", "v2").runs, 0);
        let mut one_not = samples;
        one_not[0].measured = false;
        assert_eq!(Baseline::of(&one_not, "m", "v").least, None);
    }

    #[test]
    fn the_newest_count() {
        let samples: Vec<Sample> = (0..300).map(|at| sample(at, if at < 200 { 1 } else { 100 })).collect();
        let found = Baseline::of(&samples, "m", "v");
        assert_eq!((found.runs, found.least.unwrap().tokens), (100, 100));
    }

    #[test]
    fn samples_are_made_of_turns_and_of_declines() {
        let prices = Prices::packaged().unwrap();
        let turn = |name: &str| -> TurnTokens {
            serde_json::from_value(serde_json::json!({
                "models": {name: {"inputTokens": 10, "outputTokens": 2}},
                "totals": {"inputTokens": 10, "outputTokens": 2}
            }))
            .unwrap()
        };
        let known = Sample::of_turn(1, 500, &turn("claude-haiku-4-5"), &prices);
        assert_eq!((known.usd.to_string().as_str(), known.tokens, known.measured), ("0.00002", 12, true));
        assert!(!Sample::of_turn(1, 500, &turn("unknown"), &prices).measured);
        assert!(!Sample::of_turn(1, 0, &turn("claude-haiku-4-5"), &prices).measured);
        let report = |more: serde_json::Value| {
            let mut report = serde_json::json!({"outcome": "not_steered", "model": "m", "sessionCostUsd": "0.5",
                "tokens": 9, "measured": true});
            report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            Sample::of_report(7, &serde_json::from_value(report).unwrap())
        };
        assert!(report(serde_json::json!({})).unwrap().measured);
        assert!(!report(serde_json::json!({"sessionCostUsd": 0})).unwrap().measured);
        assert!(!report(serde_json::json!({"measured": false})).unwrap().measured);
        assert_eq!(report(serde_json::json!({"outcome": "diverged"})), None);
        assert_eq!(report(serde_json::json!({"model": null})), None);
    }

    proptest! {
        #[test]
        fn the_bound_is_a_sample_at_or_below_the_median(mut tokens in prop::collection::vec(0..10_000_u64, 5..120)) {
            let samples: Vec<Sample> = tokens.iter().zip(0..).map(|(tokens, at)| sample(at, *tokens)).collect();
            let least = Baseline::of(&samples, "m", "v").least.unwrap();
            let from = tokens.len().saturating_sub(MOST);
            let newest = &mut tokens[from..];
            newest.sort_unstable();
            prop_assert!(least.tokens as u64 <= newest[(newest.len() - 1) / 2]);
            prop_assert!(newest.contains(&(least.tokens as u64)));
        }
    }
}
