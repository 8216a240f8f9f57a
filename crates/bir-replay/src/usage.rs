//! What one turn used: the difference of two readings of a transcript that holds the whole session (seed 02 §11.4).

use bir_model::{Tokens, Usd};
use std::collections::BTreeMap;

/// Tokens by model, as they stood when a turn began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark(BTreeMap<String, Tokens>);

/// What a turn cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    /// What the session's model cost.
    pub session_usd: Usd,
    /// What deriving the parameters cost.
    pub derive_usd: Usd,
    /// Tokens of all kinds.
    pub tokens: u64,
    /// The model that wrote most.
    pub model: Option<String>,
}

impl Mark {
    /// Of what all turns until now have used.
    #[must_use]
    pub fn new(models: BTreeMap<String, Tokens>) -> Self {
        Self(models)
    }

    /// What was used since, by model. Each kind is clamped at 0: a transcript that was compacted or replaced gives less, never a negative.
    #[must_use]
    pub fn since(&self, now: &BTreeMap<String, Tokens>) -> BTreeMap<String, Tokens> {
        let delta = |(model, now): (&String, &Tokens)| {
            let before = self.0.get(model).copied().unwrap_or_default();
            let used = Tokens {
                input_tokens: now.input_tokens.saturating_sub(before.input_tokens),
                output_tokens: now.output_tokens.saturating_sub(before.output_tokens),
                cache_read_tokens: now.cache_read_tokens.saturating_sub(before.cache_read_tokens),
                cache_creation_tokens: now.cache_creation_tokens.saturating_sub(before.cache_creation_tokens),
                requests: now.requests.saturating_sub(before.requests),
            };
            (used != Tokens::default()).then(|| (model.clone(), used))
        };
        now.iter().filter_map(delta).collect()
    }
}

impl Spent {
    /// Of a turn's tokens; `price` gives what one model's tokens cost.
    #[must_use]
    pub fn of(
        used: &BTreeMap<String, Tokens>,
        derive_usd: Usd,
        price: impl Fn(&str, &Tokens) -> Usd,
    ) -> Self {
        let tokens = used.values().map(|t| t.all_input().saturating_add(t.output_tokens));
        Self {
            session_usd: used.iter().map(|(model, tokens)| price(model, tokens)).sum(),
            derive_usd,
            tokens: tokens.fold(0, u64::saturating_add),
            model: used.iter().max_by_key(|(_, tokens)| tokens.output_tokens).map(|(model, _)| model.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input_tokens: input, output_tokens: output, requests: 1, ..Tokens::default() }
    }

    #[test]
    fn three_prompts_of_one_session_cost_what_each_of_them_cost() {
        let price = |_: &str, t: &Tokens| Usd::from_pico(i128::from(t.input_tokens + 10 * t.output_tokens));
        let readings = [tokens(100, 10), tokens(250, 15), tokens(251, 16)];
        let mut mark = Mark::default();
        let mut costs = Vec::new();
        for (n, reading) in readings.into_iter().enumerate() {
            let reading = Tokens { requests: n as u64 + 1, ..reading };
            let now = BTreeMap::from([("m".to_owned(), reading)]);
            costs.push(Spent::of(&mark.since(&now), Usd::ZERO, price));
            mark = Mark::new(now);
        }
        let usd: Vec<Usd> = costs.iter().map(|cost| cost.session_usd).collect();
        assert_eq!(usd, [200, 200, 11].map(Usd::from_pico), "none holds the one before");
        assert_eq!(costs.iter().map(|cost| cost.tokens).collect::<Vec<_>>(), [110, 155, 2]);
    }

    #[test]
    fn a_transcript_that_shrank_costs_nothing() {
        let mark = Mark::new(BTreeMap::from([("m".to_owned(), tokens(500, 50))]));
        assert!(mark.since(&BTreeMap::new()).is_empty());
        let shrunk =
            mark.since(&BTreeMap::from([("m".to_owned(), tokens(100, 60)), ("n".to_owned(), tokens(1, 1))]));
        assert_eq!(shrunk["m"], Tokens { output_tokens: 10, ..Tokens::default() });
        assert_eq!(Spent::of(&shrunk, Usd::ZERO, |_, _| Usd::ZERO).model.as_deref(), Some("m"));
    }
}
