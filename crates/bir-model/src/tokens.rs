//! Tokens of a turn as a run's metrics hold them: `{"models": {NAME: {…}}, "totals": {…}}`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Tokens of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TurnTokens {
    /// By model.
    pub models: BTreeMap<String, Tokens>,
    /// Of all models together.
    pub totals: Tokens,
    /// A compaction made requests that nobody counted: there were more.
    pub compaction: bool,
    /// Something could not be read: there may have been more.
    pub incomplete: bool,
}

/// Tokens by what they were. What a host does not tell is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens {
    /// Read by the model, and not from a cache.
    #[serde(alias = "input_tokens")]
    pub input_tokens: u64,
    /// Written by the model.
    #[serde(alias = "output_tokens")]
    pub output_tokens: u64,
    /// Read from a cache.
    #[serde(alias = "cache_read_input_tokens", alias = "cacheReadInputTokens")]
    pub cache_read_tokens: u64,
    /// Written to a cache.
    #[serde(alias = "cache_creation_input_tokens", alias = "cacheCreationInputTokens")]
    pub cache_creation_tokens: u64,
    /// How often a model was asked.
    pub requests: u64,
}

impl TurnTokens {
    /// Reads a run's metrics. None: they say nothing of tokens.
    #[must_use]
    pub fn read(metrics: &serde_json::Value) -> Option<Self> {
        let read = Self::deserialize(metrics).ok()?;
        (read.totals != Tokens::default()).then_some(read)
    }

    /// Whether there may have been more.
    #[must_use]
    pub fn at_least(&self) -> bool {
        self.compaction || self.incomplete
    }
}

impl Tokens {
    /// Everything that models were given to read.
    #[must_use]
    pub fn all_input(&self) -> u64 {
        self.input_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_creation_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metrics_are_read_as_hosts_and_as_we_name_them() {
        for names in [
            ["inputTokens", "outputTokens", "cacheReadTokens"],
            ["input_tokens", "output_tokens", "cache_read_input_tokens"],
        ] {
            let one = json!({ names[0]: 7, names[1]: 70, names[2]: 100, "more": {"x": 1} });
            let read =
                TurnTokens::read(&json!({"models": {"m": one}, "totals": one, "costUsd": 1.5})).unwrap();
            assert_eq!((read.totals.all_input(), read.totals.output_tokens, read.models.len()), (107, 70, 1));
        }
        for nothing in [json!({}), json!({"totals": {}}), json!({"totals": "many"}), json!([1]), json!(null)]
        {
            assert_eq!(TurnTokens::read(&nothing), None, "{nothing}");
        }
    }
}
