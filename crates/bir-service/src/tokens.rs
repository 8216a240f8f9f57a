//! Personal tokens: made, listed, taken back. The secret is shown once.

use crate::access::{Reach, Scope};
use crate::body;
use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::token::{self, Prefix};
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bir_model::TokenId;
use bir_store::model::{AuthToken, NewToken, TokenKind};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes of a token's name.
const NAME: usize = 200;

fn shown(token: &AuthToken) -> Value {
    json!({
        "id": token.id,
        "owner": token.owner.id,
        "kind": token.kind,
        "name": token.name,
        "scopes": token.scopes,
        "createdAt": token.created_at,
        "expiresAt": token.expires_at,
        "revokedAt": token.revoked_at,
        "lastUsedAt": token.last_used_at,
    })
}

/// `GET /tokens`: one's own, an admin's whole tenant; those of a sign-in only while they hold.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let account = &caller.principal.account;
    let owner = (caller.reach != Reach::Tenant).then_some(account.id);
    let now = state.clock.now();
    let tokens = state.store.tokens(account.tenant, owner).await?;
    let holds = |t: &&AuthToken| t.revoked_at.is_none() && t.expires_at.is_none_or(|at| at > now);
    let tokens: Vec<Value> =
        tokens.iter().filter(|t| t.kind == TokenKind::Personal || holds(t)).map(shown).collect();
    json::ok(&json!({"tokens": tokens}))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    name: String,
    scopes: Vec<String>,
    #[serde(default)]
    expires_at: Option<u64>,
}

/// `POST /tokens`.
pub(crate) async fn make(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let wanted: Wanted = json::parse(&bytes)?;
    let name = wanted.name.trim().to_owned();
    if name.is_empty() || name.len() > NAME || name.contains(char::is_control) {
        return Err(Problem::new(Code::Invalid, "`name`: expected 1 to 200 bytes of text"));
    }
    let known = |s: &String| Scope::ALL.iter().any(|k| k.as_str() == s);
    if wanted.scopes.is_empty() || !wanted.scopes.iter().all(known) {
        return Err(Problem::new(Code::Invalid, "`scopes`: expected `record`, `api` or both"));
    }
    let now = state.clock.now();
    if wanted.expires_at.is_some_and(|at| at <= now || i64::try_from(at).is_err()) {
        return Err(Problem::new(Code::Invalid, "`expiresAt`: expected a time to come, in ms since 1970"));
    }
    let mut scopes = wanted.scopes;
    scopes.sort();
    scopes.dedup();
    let account = &caller.principal.account;
    let text = token::make(Prefix::Personal, account.tenant, &*state.random)?;
    let new = NewToken {
        owner: account.id,
        kind: TokenKind::Personal,
        name: name.clone(),
        hash: token::hash(&text),
        scopes: scopes.clone(),
        expires_at: wanted.expires_at,
        family: None,
    };
    let id = state.store.add_token(account.tenant, new).await?;
    tracing::info!(token = %id, user = %account.id, "a token was made");
    json::answer(
        StatusCode::CREATED,
        &json!({"id": id, "token": text, "name": name, "scopes": scopes, "createdAt": now, "expiresAt": wanted.expires_at}),
    )
}

/// `DELETE /tokens/:id`.
pub(crate) async fn revoke(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id: TokenId = id.parse().map_err(|_| Problem::not_found("token"))?;
    let account = &caller.principal.account;
    let owner = (caller.reach != Reach::Tenant).then_some(account.id);
    if !state.store.revoke_token(account.tenant, id, owner).await? {
        return Err(Problem::not_found("token"));
    }
    state.principals.forget();
    tracing::info!(token = %id, user = %account.id, "a token was revoked");
    Ok(StatusCode::NO_CONTENT.into_response())
}
