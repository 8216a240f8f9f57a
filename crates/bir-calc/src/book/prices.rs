//! What tokens cost: a file with a version, ours where an operator has none of their own.

use bir_model::{Tokens, TurnTokens, Usd};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The packaged prices.
const PACKAGED: &str = include_str!("prices.toml");
/// Prices are for so many tokens.
const PER: u64 = 1_000_000;
/// The longest file that is read, bytes, and the most models in it.
const LONGEST: usize = 1 << 20;
const MOST: usize = 10_000;

/// Prices by model. The default has none, and no version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Costs that were made with the same version can be compared.
    pub version: String,
    models: BTreeMap<String, Price>,
}

/// Prices of one model in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that it reads.
    pub input: Usd,
    /// Tokens that it writes.
    pub output: Usd,
    /// Tokens that it reads from a cache; without a price, that of input.
    pub cache_read: Option<Usd>,
    /// Tokens that it writes to a cache; without a price, that of input.
    pub cache_write: Option<Usd>,
    /// The same at the dearest rate; without one, the other.
    pub cache_write_most: Option<Usd>,
}

/// Which of two prices counts where a record does not tell which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The lower: of what the model spent by itself.
    Least,
    /// The higher: of what replay spent.
    Most,
}

/// Why a file is no table of prices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PricesError {
    /// It cannot be read.
    #[error("the price table cannot be read: {0}")]
    Form(String),
    /// It is too long.
    #[error("the price table is longer than 1 MiB, or has more than 10000 models")]
    Size,
    /// It has no version, or an empty one.
    #[error("the price table needs a `version`, a text that changes with every price")]
    Version,
    /// A price is less than nothing.
    #[error("the price of `{0}` is less than 0")]
    Negative(String),
}

impl Prices {
    /// The packaged ones.
    ///
    /// # Errors
    ///
    /// None that a test has not seen.
    pub fn packaged() -> Result<Self, PricesError> {
        Self::parse(PACKAGED)
    }

    /// From the text of a file (TOML, as the packaged one).
    ///
    /// # Errors
    ///
    /// [`PricesError`].
    pub fn parse(text: &str) -> Result<Self, PricesError> {
        if text.len() > LONGEST {
            return Err(PricesError::Size);
        }
        let prices: Self = toml::from_str(text).map_err(|error| PricesError::Form(error.to_string()))?;
        if prices.version.trim().is_empty() {
            return Err(PricesError::Version);
        }
        if prices.models.len() > MOST {
            return Err(PricesError::Size);
        }
        let negative = |price: &Price| {
            let all = [
                Some(price.input),
                Some(price.output),
                price.cache_read,
                price.cache_write,
                price.cache_write_most,
            ];
            all.into_iter().flatten().any(|usd| usd < Usd::ZERO)
        };
        match prices.models.iter().find(|(_, price)| negative(price)) {
            Some((name, _)) => Err(PricesError::Negative(name.clone())),
            None => Ok(prices),
        }
    }

    /// The prices of a model, with or without the date of its version behind its name.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&Price> {
        if let Some(price) = self.models.get(model) {
            return Some(price);
        }
        // `-20251001`, `-2026-04-01`
        let dated = |date: &str| {
            let parts: Vec<usize> = date.split('-').map(str::len).collect();
            date.bytes().all(|b| b.is_ascii_digit() || b == b'-') && matches!(parts[..], [8] | [4, 2, 2])
        };
        let (at, _) = model.match_indices('-').find(|(at, _)| dated(&model[at + 1..]))?;
        self.models.get(&model[..at])
    }

    /// What a turn cost. None: a model has no price, or the record does not hold all tokens.
    #[must_use]
    pub fn cost(&self, turn: &TurnTokens, bound: Bound) -> Option<Usd> {
        if turn.at_least() || turn.models.is_empty() || !adds_up(turn) {
            return None;
        }
        turn.models.iter().map(|(model, tokens)| Some(self.of(model)?.cost(tokens, bound))).sum()
    }
}

/// Whether the models' tokens are those of the turn: else some model is missing.
fn adds_up(turn: &TurnTokens) -> bool {
    let sum = |of: fn(&Tokens) -> u64| {
        turn.models.values().fold(0_u64, |sum, tokens| sum.saturating_add(of(tokens)))
    };
    sum(Tokens::all_input) == turn.totals.all_input()
        && sum(|tokens| tokens.output_tokens) == turn.totals.output_tokens
}

impl Price {
    fn cost(&self, tokens: &Tokens, bound: Bound) -> Usd {
        let read = self.cache_read.unwrap_or(self.input);
        let least = self.cache_write.unwrap_or(self.input);
        let write = match bound {
            Bound::Least => least,
            Bound::Most => self.cache_write_most.unwrap_or(least),
        };
        let all = [
            self.input.times(tokens.input_tokens.into()),
            self.output.times(tokens.output_tokens.into()),
            read.times(tokens.cache_read_tokens.into()),
            write.times(tokens.cache_creation_tokens.into()),
        ];
        // One division at the end: a price of six decimals leaves no remainder.
        all.into_iter().sum::<Usd>().divided(PER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn turn(models: serde_json::Value) -> TurnTokens {
        let mut totals = Tokens::default();
        let read: BTreeMap<String, Tokens> = serde_json::from_value(models.clone()).unwrap();
        for tokens in read.values() {
            totals.input_tokens += tokens.input_tokens;
            totals.output_tokens += tokens.output_tokens;
            totals.cache_read_tokens += tokens.cache_read_tokens;
            totals.cache_creation_tokens += tokens.cache_creation_tokens;
        }
        TurnTokens { models: read, totals, compaction: false, incomplete: false }
    }

    #[test]
    fn a_turn_costs_what_its_tokens_cost() {
        let prices = Prices::packaged().unwrap();
        let one = turn(json!({"claude-haiku-4-5-20251001": {"inputTokens": 7, "outputTokens": 3,
            "cacheReadTokens": 1_000_000, "cacheCreationTokens": 4}}));
        // 7 × 1 + 3 × 5 + 1,000,000 × 0.1 + 4 × 1.25 (or 2), by a million
        assert_eq!(prices.cost(&one, Bound::Least).unwrap().to_string(), "0.100027");
        assert_eq!(prices.cost(&one, Bound::Most).unwrap().to_string(), "0.10003");
        let two =
            turn(json!({"claude-haiku-4-5": {"inputTokens": 1}, "claude-opus-4-6": {"outputTokens": 1}}));
        assert_eq!(prices.cost(&two, Bound::Least).unwrap().to_string(), "0.000026");
    }

    #[test]
    fn what_is_not_known_is_not_measured() {
        let prices = Prices::packaged().unwrap();
        let known = json!({"claude-haiku-4-5": {"inputTokens": 1}});
        assert_eq!(prices.cost(&turn(json!({"other-model": {"inputTokens": 1}})), Bound::Least), None);
        assert_eq!(prices.cost(&turn(json!({})), Bound::Least), None);
        assert_eq!(prices.cost(&TurnTokens { compaction: true, ..turn(known.clone()) }, Bound::Least), None);
        assert_eq!(prices.cost(&TurnTokens { incomplete: true, ..turn(known.clone()) }, Bound::Least), None);
        let mut more = turn(known);
        more.totals.output_tokens = 5;
        assert_eq!(prices.cost(&more, Bound::Least), None, "some model is missing");
    }

    #[test]
    fn a_name_covers_its_dates_and_nothing_else() {
        let prices = Prices::packaged().unwrap();
        for (name, known) in [
            ("claude-opus-4-6", true),
            ("claude-opus-4-6-20260101", true),
            ("gpt-5-2026-04-01", true),
            ("claude-opus-4-60", false),
            ("claude-opus-4-6-fast", false),
            ("claude-opus-5-5", false),
            ("claude-opus", false),
            ("gpt-5-pro", false),
            ("", false),
        ] {
            assert_eq!(prices.of(name).is_some(), known, "{name}");
        }
    }

    #[test]
    fn a_file_of_ones_own_takes_their_place() {
        let own = "version = \"mine\"\n[models.x]\ninput = \"0.000001\"\noutput = 2.5\n";
        let prices = Prices::parse(own).unwrap();
        assert_eq!(
            prices.cost(&turn(json!({"x": {"inputTokens": 1}})), Bound::Least),
            Some(Usd::from_pico(1))
        );
        for (wrong, word) in [
            ("", "version"),
            ("version = \" \"\n[models]", "version"),
            ("version = \"1\"\n[models.x]\ninput = \"1\"", "output"),
            ("version = \"1\"\n[models.x]\ninput = \"1\"\noutput = \"-1\"", "less than 0"),
            ("version = \"1\"\n[models.x]\ninput = \"1 USD\"\noutput = \"1\"", "US dollars"),
            ("version = \"1\"\n[models.x]\ninput = \"1\"\noutput = \"1\"\ncached = \"1\"", "cached"),
            ("version =", "cannot be read"),
        ] {
            let told = Prices::parse(wrong).unwrap_err().to_string();
            assert!(told.contains(word), "{wrong:?}: {told}");
        }
        assert_eq!(Prices::parse(&" ".repeat(LONGEST + 1)), Err(PricesError::Size));
    }
}
