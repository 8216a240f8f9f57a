//! What is known of the tools of a run: what their servers declared, and whom the owner trusts.

use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use axum::extract::Path;
use axum::response::Response;
use bir_calc::Stored;
use bir_calc::trace::{Tool, Tools};
use bir_model::record::{RunStart, Step, ToolsSeen};
use bir_model::tools::{DeclaredTool, ToolSet};
use bir_plan::effect::judge;
use bir_store::StoreError;
use bir_store::model::View;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Longest key of a server, in bytes.
const NAME: usize = 512;

/// The hash that names a set.
pub(crate) fn hash(set: &ToolSet) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, set.canonical().as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names the input schema of a tool.
fn fingerprint(tool: &DeclaredTool) -> Option<String> {
    let schema = tool.input_schema.clone()?;
    let alone = DeclaredTool { input_schema: Some(schema), ..DeclaredTool::default() };
    Some(hash(&ToolSet { tools: vec![alone], left_out: 0 }))
}

/// The tools that the rows of a run call, as their servers declared them last in it.
pub(crate) fn declared(seen: &[ToolsSeen], rows: &[Step], trusted: &[String]) -> Tools {
    let mut tools = Tools::new();
    for row in rows {
        let (Some(server), Some(name)) = (&row.server, &row.tool) else { continue };
        let key = (Some(server.clone()), name.clone());
        if tools.contains_key(&key) {
            continue;
        }
        let sets =
            seen.iter().rev().filter(|seen| seen.server == *server).filter_map(|seen| seen.set.as_ref());
        let known = sets.clone().next().and_then(|set| set.tool(name)).cloned().unwrap_or_default();
        // A server that took back its own word in the middle of a run is believed nothing that lowers.
        let constant =
            sets.filter_map(|set| set.tool(name)).all(|tool| tool.annotations == known.annotations);
        tools.insert(
            key,
            Tool {
                fingerprint: fingerprint(&known),
                schema: known.input_schema,
                annotations: known.annotations,
                trusted: constant && trusted.contains(server),
            },
        );
    }
    tools
}

/// A tool that a run calls, and what it does.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Used {
    server: Option<String>,
    tool: String,
    effect: bir_model::scenario::Effect,
    why: String,
    /// The name of the set in which its server declared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<String>,
}

/// The tools that these rows call, each once, with what they do and why that is believed.
pub(crate) async fn used(
    state: &State,
    who: &View,
    run: bir_model::RunId,
    rows: &[Step],
) -> Result<Vec<Used>, StoreError> {
    let seen = state.store.tools_of_run(who, run).await?;
    let trusted = if seen.is_empty() { Vec::new() } else { state.store.trusted_servers(who).await? };
    let known = declared(&seen, rows, &trusted);
    let mut used = BTreeMap::new();
    for row in rows {
        let (server, tool) = (row.server.clone(), row.tool.clone().unwrap_or_else(|| row.tool_name.clone()));
        used.entry((server.clone(), tool.clone())).or_insert_with(|| {
            let said = known.get(&(server.clone(), tool.clone()));
            let hints = said.and_then(|said| said.annotations.as_ref());
            let judged = judge(server.as_deref(), &tool, hints, said.is_some_and(|said| said.trusted));
            let tools = seen.iter().rev().find(|seen| Some(&seen.server) == server.as_ref());
            Used {
                server,
                tool,
                effect: bir_calc::stored::effect(judged.effect),
                why: judged.why.to_string(),
                tools: tools.map(|seen| seen.hash.clone()),
            }
        });
    }
    Ok(used.into_values().collect())
}

/// Which tool of a scenario the servers of a run that begins declare with another input schema than it knows. None: none, or
/// that is not known.
pub(crate) async fn contradicts(
    state: &State,
    who: &View,
    run: &RunStart,
    stored: &Stored,
) -> Result<Option<String>, StoreError> {
    let named: Vec<(&str, String)> =
        run.servers.iter().filter_map(|server| Some((server.name.as_str(), server.tools.clone()?))).collect();
    if named.is_empty() || stored.steps.iter().all(|step| step.schema.is_none()) {
        return Ok(None);
    }
    let hashes: Vec<String> = named.iter().map(|(_, hash)| hash.clone()).collect();
    let sets: HashMap<String, ToolSet> = state.store.tool_sets(who, &hashes).await?.into_iter().collect();
    let mut now = HashMap::new();
    for (step, _) in stored.plan.steps.iter().zip(&stored.steps) {
        let Some(server) = &step.server else { continue };
        let set = named.iter().find(|(name, _)| name == server).and_then(|(_, hash)| sets.get(hash));
        if let Some(name) = set.and_then(|set| fingerprint(set.tool(&step.tool)?)) {
            now.insert((server.as_str(), step.tool.as_str()), name);
        }
    }
    let differs = stored.contradicted(|server, tool| now.get(&(server, tool)).cloned());
    Ok(differs.map(|step| step.tool.clone()))
}

/// Takes back what was believed of servers that their owner does not trust any more.
pub(crate) async fn distrust(state: &State, who: &View, stored: &mut Stored) -> Result<(), StoreError> {
    if stored.steps.iter().any(|step| step.by_trust) {
        let trusted = state.store.trusted_servers(who).await?;
        stored.distrust(|server| trusted.iter().any(|one| one == server));
    }
    Ok(())
}

#[derive(Serialize)]
struct Trusted {
    servers: Vec<String>,
}

/// `GET /scenarios/trusted-servers`.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    json::ok(&Trusted { servers: state.store.trusted_servers(&caller.view()).await? })
}

/// `PUT /scenarios/trusted-servers/:server`.
pub(crate) async fn trust(
    state: axum::extract::State<State>,
    caller: Caller,
    Path(server): Path<String>,
) -> Result<Response, Problem> {
    change(state, caller, server, true).await
}

/// `DELETE /scenarios/trusted-servers/:server`.
pub(crate) async fn untrust(
    state: axum::extract::State<State>,
    caller: Caller,
    Path(server): Path<String>,
) -> Result<Response, Problem> {
    change(state, caller, server, false).await
}

async fn change(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    server: String,
    trusts: bool,
) -> Result<Response, Problem> {
    if server.is_empty() || server.len() > NAME || server.contains('\0') {
        return Err(Problem::new(Code::Invalid, "expected the key of a server, 1 to 512 bytes"));
    }
    let who = caller.view();
    state.store.trust_server(&who, &server, trusts).await?;
    let servers = state.store.trusted_servers(&who).await?;
    if trusts && !servers.contains(&server) {
        return Err(Problem::new(Code::Conflict, "1,000 servers are trusted already; take one back first"));
    }
    json::ok(&Trusted { servers })
}
