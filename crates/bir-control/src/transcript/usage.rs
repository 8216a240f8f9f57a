//! Tokens of a turn, each response of the model once.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// What one response cost. The four kinds do not overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Input that no cache had.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_creation: u64,
}

/// Responses by their id, with the model that made them.
#[derive(Debug, Default)]
pub(super) struct Responses(HashMap<String, (String, Tokens)>);

impl Responses {
    /// Counts a response. One that was counted before is the same one: a file repeats it in every row, a fork copies its rows.
    pub(super) fn count(&mut self, id: String, model: String, tokens: Tokens) {
        self.0.insert(id, (model, tokens));
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// As it stands in a run's metrics; nothing where the model was not asked.
    pub(super) fn usage(&self, compaction: bool) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        let mut models = BTreeMap::<&str, (Tokens, u64)>::new();
        let mut totals = (Tokens::default(), 0);
        for (model, tokens) in self.0.values() {
            for sum in [models.entry(model).or_default(), &mut totals] {
                add(&mut sum.0, tokens);
                sum.1 += 1;
            }
        }
        let models: Map<_, _> = models.into_iter().map(|(name, sum)| (name.to_owned(), told(sum))).collect();
        let mut usage = json!({ "models": models, "totals": told(totals), "source": "transcript" });
        if compaction {
            // The requests that a compaction makes are in no transcript, so that the sums are a lower bound.
            usage["compaction"] = Value::Bool(true);
        }
        Some(usage)
    }
}

fn add(sum: &mut Tokens, more: &Tokens) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
    sum.cache_creation = sum.cache_creation.saturating_add(more.cache_creation);
}

fn told((tokens, requests): (Tokens, u64)) -> Value {
    json!({
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "cacheReadTokens": tokens.cache_read,
        "cacheCreationTokens": tokens.cache_creation,
        "requests": requests,
    })
}
