//! Who is asked for what derivation and calculation cannot tell by themselves.

use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// Who asks a model endpoint.
    Derives {
        /// The hub, which is this machine's own.
        Machine = "this_machine",
        /// The hub of a team.
        Service = "service",
        /// Nobody: nothing leaves the hub.
        Nobody = "nobody",
    }
}

/// The answer of `GET /derivation` and `PUT /derivation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derivation {
    /// Who asks.
    pub by: Derives,
    /// Why nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the tenant's administrators allow it.
    pub allowed: bool,
    /// Host and port of the endpoint that the operator has configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// `anthropic` or `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the model has a price; without one what it costs is not measured.
    #[serde(default)]
    pub priced: bool,
    /// Whether explanations are asked for as well.
    #[serde(default)]
    pub proposes: bool,
    /// After failures it is left alone for so many seconds still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooling_seconds: Option<u64>,
}

/// The body of `PUT /derivation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DerivationAsk {
    /// Whether an endpoint may be asked for this tenant.
    pub allowed: bool,
}
