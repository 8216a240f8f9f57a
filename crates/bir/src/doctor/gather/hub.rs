//! The hub: whether it answers, whether it accepts the token, its clock, and the tools that it knows.

use crate::derivation;
use crate::home::Home;
use crate::out::time;
use crate::runs::api;
use bir_install::doctor::hub::{Answer, Hub, Origin, seconds_of};
use bir_install::doctor::names::Tools;
use bir_model::scenario::Derivation;
use bir_net::{Client, ClientOptions, Proxies, Request};
use bir_record::hub::{self, Destination, HubClient, HubError};
use http::{Method, header};
use serde_json::Value;
use std::time::Duration;

/// How long the hub may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How long its tools may take; without them only keys are looked at.
const TOOLS: Duration = Duration::from_secs(2);
/// Runs whose tools are looked at, the newest.
const RUNS: u32 = 10;

/// What was found.
pub(super) struct Found {
    pub(super) hub: Hub,
    pub(super) tools: Tools,
    pub(super) derivation: Option<Derivation>,
}

pub(super) async fn look(home: &Home) -> Found {
    let none = |hub| Found { hub, tools: Tools::new(), derivation: None };
    let destination = match Destination::find(&home.dir, home.config.hub.as_deref()) {
        Ok(Some(destination)) => destination,
        Ok(None) => return none(Hub::None { waiting: home.spool().stats().runs }),
        Err(e) => return none(Hub::Broken(e.to_string())),
    };
    let origin = match destination.origin {
        hub::Origin::Environment => Origin::Environment,
        hub::Origin::Login => Origin::Login,
        hub::Origin::Embedded => Origin::Embedded,
    };
    let ahead = tokio::time::timeout(ANSWER, ahead(&destination)).await.ok().flatten();
    let url = destination.shown();
    let mut client = HubClient::new(&home.dir, destination);
    let asked = tokio::time::timeout(ANSWER, ask(&mut client)).await;
    let (answer, runs) = match asked {
        Ok(Ok(runs)) => (Answer::Well, runs),
        Ok(Err(e)) => (refusal(&e), Vec::new()),
        Err(_) => (Answer::Not(format!("it took more than {} s", ANSWER.as_secs())), Vec::new()),
    };
    let tools = tokio::time::timeout(TOOLS, tools(&mut client, &runs)).await.unwrap_or_default();
    let derivation = match answer {
        Answer::Well => tokio::time::timeout(TOOLS, derivation::of(&mut client)).await.ok().flatten(),
        _ => None,
    };
    Found { hub: Hub::Known { url, origin, answer, ahead }, tools, derivation }
}

async fn ask(client: &mut HubClient) -> Result<Vec<Value>, HubError> {
    client.health().await?;
    let path = api::path("/recordings/runs", &[("limit", RUNS.to_string())]);
    match client.get(&path).await {
        Ok(answer) => {
            let mut page: Value = answer.json()?;
            Ok(page.get_mut("runs").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
        }
        // An operator of the hub sees no runs.
        Err(HubError::Refused { status: 403, .. }) => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

fn refusal(error: &HubError) -> Answer {
    let says = error.to_string();
    match error {
        HubError::Refused { status: 401, .. } => Answer::Refused(says),
        _ => Answer::Not(match error {
            HubError::Unreachable { why, .. } => why.clone(),
            _ => says,
        }),
    }
}

/// Its clock minus ours, in seconds. None: it tells no time.
async fn ahead(destination: &Destination) -> Option<i64> {
    let target = destination.target("/health").ok()?;
    let client = Client::new(ClientOptions { proxies: Proxies::from_env(), ..ClientOptions::default() });
    let response = client.request(Request::new(Method::GET, target)).await.ok()?;
    let told = response.headers().get(header::DATE).and_then(|date| date.to_str().ok()).and_then(seconds_of);
    response.discard().await;
    Some(told? - i64::try_from(time::now_ms() / 1_000).ok()?)
}

/// The tools of the newest runs, by their servers.
async fn tools(client: &mut HubClient, runs: &[Value]) -> Tools {
    let mut tools = Tools::new();
    let ids = runs.iter().filter_map(|run| run.get("id")?.as_str()?.parse().ok());
    for id in ids {
        let Ok((rows, _)) = api::rows(client, id, 0).await else { break };
        for row in &rows {
            let text = |name: &str| row.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
            if let (Some(server), Some(tool)) = (text("server"), text("tool")) {
                tools.entry(server).or_default().insert(tool);
            }
        }
    }
    tools
}
