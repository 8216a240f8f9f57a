//! How a row looks: the two rows of a call, the beginning and the end of a run, who takes part in it.

use super::keep::Scrub;
use super::told::Opening;
use crate::response_id;
use bir_model::record::{HostInfo, ServerInfo, Source, Step, StepType};
use bir_model::{RunId, StepId};
use serde_json::Value as Json;

/// Longest name that is kept, in bytes.
const LONGEST_NAME: usize = 256;

/// Most rounds of one call that are kept; of the others the last is.
pub(super) const MOST_LEGS: usize = 64;

/// A call as both of its rows name it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) selected: StepId,
    pub(super) number: u32,
    pub(super) tool: String,
    pub(super) call_id: Option<String>,
    /// A proxy made it for a plan.
    pub(super) replayed: bool,
}

impl Call {
    /// One of its rows, without payload.
    pub(super) fn row(&self, run: RunId, server: &str, step_type: StepType, at: u64) -> Step {
        let (id, offset) = match step_type {
            StepType::ToolSelected => (self.selected, 0),
            StepType::ToolResponse => (response_id(self.selected), 1),
        };
        Step {
            id,
            run_id: run,
            step_index: self.number.saturating_mul(2).saturating_add(offset),
            step_type,
            tool_name: self.tool.clone(),
            server: Some(server.to_owned()),
            tool: Some(self.tool.clone()),
            call_id: self.call_id.clone(),
            agent_id: None,
            sources: vec![Source::Proxy],
            tool_input: None,
            model_input: None,
            context: None,
            tool_output: None,
            tool_error: None,
            outcome: None,
            at,
            duration_us: None,
            original_bytes: None,
            truncated: false,
            ambiguous: false,
            bypassed: false,
            replayed: self.replayed,
            legs: Vec::new(),
        }
    }
}

/// A name from the wire, without secrets and of reasonable length.
pub(super) fn name(scrub: &impl Scrub, text: &str) -> String {
    let mut end = text.len().min(LONGEST_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    scrub.name(&text[..end])
}

/// Who speaks with whom, as both named themselves.
pub(super) fn parties(
    scrub: &impl Scrub,
    server: &str,
    opening: Option<&Opening>,
) -> (Option<HostInfo>, ServerInfo) {
    let mut info = ServerInfo { name: server.to_owned(), ..ServerInfo::default() };
    let Some(opening) = opening else { return (None, info) };
    info.era = Some(opening.era);
    let text = |json: &Json, key: &str| {
        let text = json.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
        text.map(|text| name(scrub, text))
    };
    let client = opening.client.as_deref().and_then(|json| serde_json::from_slice::<Json>(json).ok());
    let host = client
        .and_then(|client| Some(HostInfo { app: text(&client, "name")?, version: text(&client, "version") }));
    if let Ok(result) = serde_json::from_slice::<Json>(&opening.result) {
        let in_meta = |result: &Json| result.get("_meta")?.get("io.modelcontextprotocol/serverInfo").cloned();
        let named = result.get("serverInfo").cloned().or_else(|| in_meta(&result)).unwrap_or_default();
        info.title = text(&named, "title").or_else(|| text(&named, "name"));
        info.version = text(&named, "version");
    }
    (host, info)
}
