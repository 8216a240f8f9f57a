//! `GET /me`: who one is here.

use crate::auth::shown;
use crate::guard::Caller;
use crate::json;
use crate::problem::Problem;
use crate::state::State;
use axum::response::Response;
use serde_json::json;

pub(crate) async fn me(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let account = &caller.principal.account;
    let tenants = state.store.tenants().await?;
    let name = tenants.into_iter().find(|t| t.id == account.tenant).map(|t| t.name).unwrap_or_default();
    json::ok(&json!({
        "user": shown(account),
        "tenant": {"id": account.tenant, "name": name},
        "scopes": caller.principal.scopes,
    }))
}
