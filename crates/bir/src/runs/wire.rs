//! What the hub answers, as far as it is shown. The rows themselves are `bir_model::record::Step`.

use crate::error::CommandError;
use crate::out::time;
use bir_model::control::Join;
use bir_model::record::{EndReason, HostInfo, Lost, ServerInfo};
use bir_model::{RunId, Tier, TurnTokens};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A run in a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) id: RunId,
    pub(crate) tier: Tier,
    #[serde(default)]
    pub(crate) lossy: bool,
    #[serde(default)]
    pub(crate) lost_calls: u64,
    #[serde(default)]
    pub(crate) input: Option<String>,
    #[serde(default)]
    pub(crate) project: Option<String>,
    #[serde(default)]
    pub(crate) host: Option<HostInfo>,
    #[serde(default)]
    pub(crate) servers: Vec<ServerInfo>,
    pub(crate) started_at: u64,
    #[serde(default)]
    pub(crate) ended_at: Option<u64>,
    #[serde(default)]
    pub(crate) end_reason: Option<EndReason>,
    #[serde(default)]
    pub(crate) last_at: u64,
    #[serde(default)]
    pub(crate) calls: u32,
    #[serde(default)]
    pub(crate) failed_calls: u32,
}

/// One run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Detail {
    #[serde(flatten)]
    pub(crate) summary: Summary,
    #[serde(default)]
    pub(crate) final_output: Option<String>,
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    pub(crate) metadata: Value,
    #[serde(default)]
    pub(crate) metrics: Value,
    #[serde(default)]
    pub(crate) losses: Vec<Lost>,
}

impl Detail {
    /// Tokens of the turn, where the host has a transcript.
    pub(crate) fn tokens(&self) -> Option<TurnTokens> {
        TurnTokens::read(&self.metrics)
    }

    /// How what hooks and proxies saw was joined; only in a bound run.
    pub(crate) fn join(&self) -> Option<&'static str> {
        Join::of_run(&self.metadata).map(Join::about)
    }
}

/// Reads a value that the hub gave.
///
/// # Errors
///
/// It is not what the API says.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, CommandError> {
    T::deserialize(value).map_err(|e| {
        CommandError::failed(format!("an answer of the hub is not understood: {e}; upgrade bir or the hub"))
    })
}

impl Summary {
    /// How long it took, or has taken so far, in µs.
    pub(crate) fn span(&self, now: u64) -> u64 {
        let end = self.ended_at.unwrap_or_else(|| now.max(self.last_at));
        end.saturating_sub(self.started_at).saturating_mul(1000)
    }

    /// The same, to be read. Of a run whose recorder was killed only its last row is known.
    pub(crate) fn took(&self, now: u64) -> String {
        match (self.end_reason, self.span(now)) {
            (Some(EndReason::Abandoned), 0) => "–".into(),
            (Some(EndReason::Abandoned), least) => format!("at least {}", time::span(least)),
            (_, span) => time::span(span),
        }
    }
}
