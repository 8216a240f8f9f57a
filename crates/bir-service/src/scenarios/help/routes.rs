//! `GET /derivation`: who asks a model endpoint, and which; `PUT /derivation`: whether a tenant allows it.

use crate::guard::Caller;
use crate::problem::Problem;
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::response::Response;
use bir_model::TenantId;
use bir_model::scenario::{Derivation, DerivationAsk, Derives};

async fn derivation(state: &State, tenant: TenantId) -> Result<Derivation, Problem> {
    let allowed = !state.store.tenant_settings(tenant).await?.forbid_model_help;
    let (endpoint, off) = match &state.help.endpoint {
        Ok(endpoint) => (Some(endpoint), None),
        Err(why) => (None, Some(*why)),
    };
    let config = endpoint.map(|endpoint| endpoint.config());
    let by = match (config, allowed) {
        (Some(_), true) if state.settings.embedded => Derives::Machine,
        (Some(_), true) => Derives::Service,
        _ => Derives::Nobody,
    };
    let forbidden = (!allowed).then_some("the tenant's administrators do not allow it");
    Ok(Derivation {
        by,
        why: forbidden.or(off).map(str::to_owned),
        allowed,
        host: config.map(|config| config.target.host_port()),
        protocol: config.map(|config| config.protocol.as_str().to_owned()),
        model: config.map(|config| config.model.clone()),
        priced: config.is_some_and(|config| state.prices.of(&config.model).is_some()),
        proposes: config.is_some_and(|config| config.propose),
        cooling_seconds: endpoint.and_then(|endpoint| endpoint.cools()).map(|left| left.as_secs()),
    })
}

pub(crate) async fn show(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    json::ok(&derivation(&state, caller.principal.account.tenant).await?)
}

pub(crate) async fn set(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let ask: DerivationAsk = json::parse(&bytes)?;
    let tenant = caller.principal.account.tenant;
    let mut settings = state.store.tenant_settings(tenant).await?;
    settings.forbid_model_help = !ask.allowed;
    if !state.store.set_tenant_settings(tenant, settings).await? {
        return Err(Problem::not_found("tenant"));
    }
    tracing::info!(target: "help", %tenant, allowed = ask.allowed, "whether a model endpoint may be asked was decided");
    json::ok(&derivation(&state, tenant).await?)
}
