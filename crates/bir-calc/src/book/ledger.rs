//! What executions saved: the sum, over those that were measured, of what the model costs at least less what they cost.

use super::baseline::{Baseline, METHOD, NEEDED, Sample};
use bir_model::Usd;
use bir_model::scenario::{ExecutionReport, Measure, Outcome, Saving};
use std::collections::BTreeMap;

/// An execution that is booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What became of it.
    pub outcome: Outcome,
    /// The model of its session.
    pub model: Option<String>,
    /// What deriving the parameters cost.
    pub derive_usd: Usd,
    /// What the turn cost, at most.
    pub session_usd: Usd,
    /// What handing over cost.
    pub fallback_usd: Usd,
    /// Tokens of the whole turn.
    pub tokens: u64,
    /// From prompt to answer, milliseconds.
    pub duration_ms: u64,
    /// Whether all of this was measured.
    pub measured: bool,
    /// The version of the prices.
    pub pricing_version: String,
}

impl Entry {
    /// Of what a runner reported.
    #[must_use]
    pub fn of_report(report: &ExecutionReport) -> Self {
        Self {
            outcome: report.outcome,
            model: report.model.clone(),
            derive_usd: report.derive_cost_usd,
            session_usd: report.session_cost_usd,
            fallback_usd: report.fallback_cost_usd,
            tokens: report.tokens,
            duration_ms: report.duration_ms,
            measured: report.measured,
            pricing_version: report.pricing_version.clone(),
        }
    }
}

/// What executions of a scenario saved, at least. Nothing is booked before a model's runs are measured ([`NEEDED`]).
/// What replay spent where the model
/// then did the task by itself counts against the saving.
#[must_use]
pub fn ledger(samples: &[Sample], entries: &[Entry], pricing_version: &str) -> Saving {
    let mut baselines: BTreeMap<&str, Baseline> = BTreeMap::new();
    for sample in samples {
        let model = sample.model.as_str();
        baselines.entry(model).or_insert_with(|| Baseline::of(samples, model, pricing_version));
    }
    let least = lowest(&baselines);
    let (mut saved, mut executions, mut unmeasured) = (Measure::default(), 0_u32, 0_u32);
    for entry in entries {
        let spent = entry.derive_usd + entry.fallback_usd;
        if entry.outcome.is_baseline() {
            // The turn itself is a sample; what was spent beside it bought nothing.
            if least.is_some() {
                saved.usd = saved.usd - spent;
            }
            continue;
        }
        let measured = entry.measured && entry.pricing_version == pricing_version;
        let costs = match &entry.model {
            Some(model) => baselines.get(model.as_str()).and_then(|baseline| baseline.least),
            // Which model it was is not known: the cheapest of all.
            None => least,
        };
        let Some(costs) = costs.filter(|_| measured) else {
            unmeasured += 1;
            // A cost that is known is not forgotten because the rest is not.
            if least.is_some() {
                saved.usd = saved.usd - spent;
            }
            continue;
        };
        executions += 1;
        saved.usd = saved.usd + costs.usd - entry.session_usd - spent;
        saved.tokens = saved.tokens.saturating_add(costs.tokens).saturating_sub_unsigned(entry.tokens);
        saved.duration_ms =
            saved.duration_ms.saturating_add(costs.duration_ms).saturating_sub_unsigned(entry.duration_ms);
    }
    Saving {
        baseline_runs: baselines.values().map(|baseline| baseline.runs).max().unwrap_or(0),
        baseline_needed: NEEDED,
        baseline: least,
        saved: least.map(|_| saved),
        executions,
        unmeasured,
        pricing_version: pricing_version.to_owned(),
        method: METHOD.to_owned(),
    }
}

/// For each measure the least of all models that are measured.
fn lowest(baselines: &BTreeMap<&str, Baseline>) -> Option<Measure> {
    baselines.values().filter_map(|baseline| baseline.least).reduce(|a, b| Measure {
        usd: a.usd.min(b.usd),
        tokens: a.tokens.min(b.tokens),
        duration_ms: a.duration_ms.min(b.duration_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn samples(model: &str, many: usize, cost: &str) -> Vec<Sample> {
        let one = |at| Sample {
            at,
            model: model.into(),
            usd: usd(cost),
            tokens: 1_000,
            duration_ms: 60_000,
            pricing_version: "v".into(),
            measured: true,
        };
        (0..many as u64).map(one).collect()
    }

    fn entry(outcome: Outcome) -> Entry {
        Entry {
            outcome,
            model: Some("m".into()),
            derive_usd: usd("0.001"),
            session_usd: usd("0.1"),
            fallback_usd: Usd::ZERO,
            tokens: 200,
            duration_ms: 5_000,
            measured: true,
            pricing_version: "v".into(),
        }
    }

    #[test]
    fn nothing_is_booked_before_it_is_measured() {
        let four = ledger(&samples("m", 4, "0.5"), &[entry(Outcome::SteeredFull)], "v");
        assert_eq!((four.baseline_runs, four.saved, four.unmeasured), (4, None, 1));
        let none = ledger(&[], &[], "v");
        assert_eq!((none.baseline_runs, none.saved, none.baseline), (0, None, None));
    }

    #[test]
    fn a_saving_is_net_of_everything() {
        let saving = |entries: &[Entry]| ledger(&samples("m", 5, "0.5"), entries, "v").saved.unwrap();
        let full = saving(&[entry(Outcome::SteeredFull)]);
        assert_eq!(full, Measure { usd: usd("0.399"), tokens: 800, duration_ms: 55_000 });
        let back = Entry { session_usd: usd("0.7"), fallback_usd: usd("0.05"), ..entry(Outcome::FellBack) };
        assert_eq!(saving(&[back]).usd, usd("-0.251"));
        // The model did it: no saving, and what deriving cost is lost.
        assert_eq!(saving(&[entry(Outcome::Failed)]), Measure { usd: usd("-0.001"), ..Measure::default() });
    }

    #[test]
    fn what_cannot_be_compared_is_counted_apart() {
        let of =
            |entry: Entry| ledger(&[samples("m", 5, "0.5"), samples("n", 5, "0.2")].concat(), &[entry], "v");
        for odd in [
            Entry { measured: false, ..entry(Outcome::SteeredFull) },
            Entry { pricing_version: "w".into(), ..entry(Outcome::SteeredFull) },
            Entry { model: Some("unknown".into()), ..entry(Outcome::SteeredFull) },
        ] {
            let saving = of(odd);
            assert_eq!(
                (saving.executions, saving.unmeasured, saving.saved.unwrap().usd),
                (0, 1, usd("-0.001"))
            );
        }
        let unnamed = of(Entry { model: None, ..entry(Outcome::SteeredFull) });
        assert_eq!(unnamed.saved.unwrap().usd, usd("0.099"), "by the cheaper of both models");
        assert_eq!(ledger(&samples("m", 5, "0.5"), &[entry(Outcome::SteeredFull)], "w").saved, None);
    }

    proptest! {
        #[test]
        fn no_order_changes_a_sum(costs in prop::collection::vec(0..5_000_000_u64, 1..50), turn in 0..50_usize) {
            let mut entries: Vec<Entry> = costs
                .iter()
                .map(|cost| Usd::from_pico(i128::from(*cost) * 1_000_003))
                .map(|session_usd| Entry { session_usd, ..entry(Outcome::Diverged) })
                .collect();
            let samples = samples("m", 9, "0.25");
            let before = ledger(&samples, &entries, "v");
            let len = entries.len();
            entries.rotate_left(turn % len);
            prop_assert_eq!(&ledger(&samples, &entries, "v"), &before);
            let spent: Usd = entries.iter().map(|entry| entry.session_usd + entry.derive_usd).sum();
            prop_assert_eq!(before.saved.unwrap().usd, usd("0.25").times(len as i128) - spent);
        }
    }
}
