//! A password for a pair of tokens, and the pair's life.
//!
//! ```text
//! login ─▶ access (1 h) + refresh (30 days), one family
//! refresh ─▶ a new pair of the family; the old refresh token is used up
//! a used refresh token again ─▶ the family is revoked: one of two holders is a thief
//! logout ─▶ the family is revoked
//! ```
//!
//! A client whose answer got lost sends the same refresh token again. Within ten seconds it gets the very pair that it did not
//! receive, from this process's memory; later, or at another replica, it has to sign in again.

use super::shown;
use crate::body;
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::token::{self, Prefix};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bir_store::model::{Account, AuthToken, NewToken, TokenKind};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// For so long the same refresh token gives the same pair.
const GRACE: Duration = Duration::from_secs(10);
/// Pairs that are remembered for it.
const REMEMBERED: usize = 1_000;
/// Bytes of an e-mail address.
pub(crate) const EMAIL: usize = 254;

/// Pairs that were just given out, by the hash of the token that bought them.
#[derive(Default)]
pub(crate) struct Rotations(Mutex<HashMap<[u8; 32], (Instant, Value)>>);

impl std::fmt::Debug for Rotations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rotations")
    }
}

impl Rotations {
    fn recall(&self, hash: &[u8; 32]) -> Option<Value> {
        let pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.get(hash).filter(|(since, _)| since.elapsed() < GRACE).map(|(_, pair)| pair.clone())
    }

    fn remember(&self, hash: [u8; 32], pair: Value) {
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.retain(|_, (since, _)| since.elapsed() < GRACE);
        if pairs.len() < REMEMBERED {
            pairs.insert(hash, (Instant::now(), pair));
        }
    }

    /// Forgets all, after a family was revoked.
    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

struct Pair {
    access: String,
    refresh: String,
    expires_at: u64,
    refresh_row: NewToken,
}

/// Makes a pair; the access token is in the store already, the refresh token is for the caller to add.
async fn pair(state: &State, account: &Account, family: Uuid) -> Result<Pair, Problem> {
    let now = state.clock.now();
    let settings = &state.settings;
    let later = |life: Duration| now.saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
    let access = token::make(Prefix::Access, account.tenant, &*state.random)?;
    let refresh = token::make(Prefix::Refresh, account.tenant, &*state.random)?;
    let expires_at = later(settings.access_life);
    let row = |kind, text: &str, expires_at| NewToken {
        owner: account.id,
        kind,
        name: "sign-in".to_owned(),
        hash: token::hash(text),
        scopes: vec!["api".to_owned()],
        expires_at: Some(expires_at),
        family: Some(family),
    };
    state.store.add_token(account.tenant, row(TokenKind::Access, &access, expires_at)).await?;
    let refresh_row = row(TokenKind::Refresh, &refresh, later(settings.refresh_life));
    Ok(Pair { access, refresh, expires_at, refresh_row })
}

fn pair_body(pair: &Pair, account: &Account) -> Value {
    json!({
        "accessToken": pair.access,
        "refreshToken": pair.refresh,
        "expiresAt": pair.expires_at,
        "user": shown(account),
    })
}

/// A new pair of a new family.
pub(crate) async fn sign_in(state: &State, account: &Account) -> Result<Value, Problem> {
    let pair = pair(state, account, Uuid::now_v7()).await?;
    let body = pair_body(&pair, account);
    state.store.add_token(account.tenant, pair.refresh_row).await?;
    Ok(body)
}

/// The account that e-mail address and password belong to. Unknown, disabled and wrong take the same time and say the same.
pub(crate) async fn check_password(state: &State, email: &str, password: String) -> Result<Account, Problem> {
    state.throttle.account(email)?;
    let wrong = || Problem::new(Code::BadCredentials, "the e-mail address or the password is wrong");
    if email.len() > EMAIL || password.len() > *crate::password::LENGTH.end() {
        return Err(wrong());
    }
    let account = state.store.account(email.trim()).await?;
    let phc = account.as_ref().and_then(|a| a.password_hash.clone());
    let right = state.passwords.verify(password, phc).await?;
    account.filter(|a| right && !a.disabled).ok_or_else(wrong)
}

#[derive(Deserialize)]
struct Credentials {
    email: String,
    password: String,
}

/// `POST /auth/login`.
pub(crate) async fn login(
    axum::extract::State(state): axum::extract::State<State>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let Credentials { email, password } = json::parse(&bytes)?;
    let account = check_password(&state, &email, password).await?;
    json::ok(&sign_in(&state, &account).await?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refresh {
    refresh_token: String,
}

fn unknown() -> Problem {
    Problem::new(Code::Unauthorized, "the refresh token is not known here; sign in again")
}

async fn find(state: &State, text: &str) -> Result<AuthToken, Problem> {
    let (prefix, tenant) = token::read(text).ok_or_else(unknown)?;
    if prefix != Prefix::Refresh {
        return Err(unknown());
    }
    let found = state.store.token(tenant, &token::hash(text)).await?;
    found.filter(|t| t.kind == TokenKind::Refresh).ok_or_else(unknown)
}

async fn revoke(state: &State, token: &AuthToken) -> Result<(), Problem> {
    state.store.revoke_token(token.owner.tenant, token.id, None).await?;
    state.principals.forget();
    state.rotations.forget();
    Ok(())
}

/// `POST /auth/refresh`.
pub(crate) async fn refresh(
    axum::extract::State(state): axum::extract::State<State>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let Refresh { refresh_token: text } = json::parse(&bytes)?;
    let hash = token::hash(&text);
    let found = find(&state, &text).await?;
    let now = state.clock.now();
    if found.expires_at.is_some_and(|at| at <= now) {
        return Err(Problem::new(Code::TokenExpired, "the refresh token has expired; sign in again"));
    }
    let revoked =
        || Problem::new(Code::TokenRevoked, "the refresh token was used or revoked before; sign in again");
    if found.owner.disabled {
        return Err(revoked());
    }
    if found.revoked_at.is_none() {
        let family = found.family.unwrap_or_else(Uuid::now_v7);
        let pair = pair(&state, &found.owner, family).await?;
        let body = pair_body(&pair, &found.owner);
        if state.store.rotate_token(found.owner.tenant, &hash, pair.refresh_row).await? {
            state.rotations.remember(hash, body.clone());
            return json::ok(&body);
        }
    }
    if let Some(same) = state.rotations.recall(&hash) {
        return json::ok(&same);
    }
    tracing::warn!(user = %found.owner.id, "a used refresh token came again; the whole sign-in is revoked");
    revoke(&state, &found).await?;
    Err(revoked())
}

/// `POST /auth/logout`. Says nothing about whether the token was good.
pub(crate) async fn logout(
    axum::extract::State(state): axum::extract::State<State>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let Refresh { refresh_token: text } = json::parse(&bytes)?;
    match find(&state, &text).await {
        Ok(found) => revoke(&state, &found).await?,
        Err(problem) if problem.code == Code::Unauthorized => {}
        Err(problem) => return Err(problem),
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
