//! What an operator and a person have allowed.

use crate::script::Step;
use std::collections::BTreeSet;

/// What was allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Servers on which a plan calls by itself (`BIR_REPLAY_ALLOW_SERVERS`); none: every wrapped one.
    pub allow_servers: Option<BTreeSet<String>>,
    /// Below this similarity nothing is steered (`BIR_MIN_STEER_SIMILARITY`); none: similarity vetoes nothing.
    pub min_similarity: Option<f64>,
    /// Every scenario counts as approved (`bir replay trust all`).
    pub trust_all: bool,
    /// Tools, by server and name, whose answers depend on their arguments alone.
    pub stateless: BTreeSet<(String, String)>,
    /// Servers whose results may name a recipient, an address, a path, an amount or a command.
    pub trusted_sources: BTreeSet<String>,
}

impl Policy {
    /// Reads `BIR_REPLAY_ALLOW_SERVERS`: names with commas between them. An empty text allows none.
    #[must_use]
    pub fn servers(text: &str) -> BTreeSet<String> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Whether a plan may call this server by itself.
    #[must_use]
    pub fn allows(&self, server: &str) -> bool {
        self.allow_servers.as_ref().is_none_or(|servers| servers.contains(server))
    }

    /// Whether the answers of a step's tool depend on its arguments alone.
    #[must_use]
    pub fn is_stateless(&self, step: &Step) -> bool {
        step.server
            .as_ref()
            .is_some_and(|server| self.stateless.contains(&(server.clone(), step.tool.clone())))
    }

    /// Whether a similarity is too small.
    #[must_use]
    pub fn vetoes(&self, similarity: Option<f64>) -> bool {
        match (self.min_similarity, similarity) {
            (None, _) => false,
            // Words nominated: an operator who asks for a similarity wants to see one.
            (Some(_), None) => true,
            (Some(least), Some(similarity)) => similarity.is_nan() || least.is_nan() || similarity < least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_servers_is_read() {
        let names = |text: &str| Policy::servers(text).into_iter().collect::<Vec<_>>();
        assert_eq!(names(" a, my server ,,b"), ["a", "b", "my server"]);
        let none = Policy { allow_servers: Some(Policy::servers("")), ..Policy::default() };
        assert!(!none.allows("a") && Policy::default().allows("a"));
    }

    #[test]
    fn similarity_vetoes_only_where_it_is_set() {
        let at = |least| Policy { min_similarity: least, ..Policy::default() };
        for (least, similarity, vetoed) in [
            (None, None, false),
            (None, Some(0.1), false),
            (Some(0.92), Some(0.92), false),
            (Some(0.92), Some(0.91), true),
            (Some(0.92), None, true),
            (Some(0.92), Some(f64::NAN), true),
            (Some(f64::NAN), Some(1.0), true),
        ] {
            assert_eq!(at(least).vetoes(similarity), vetoed, "{least:?} {similarity:?}");
        }
    }
}
