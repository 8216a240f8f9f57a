//! A browser that is signed in: a cookie, and its row in the store.

use crate::principal::COOKIE;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::token;
use bir_store::model::{Account, Session};
use http::HeaderValue;

fn header(state: &State, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let secure = if state.settings.is_https() { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::try_from(text).map_err(|_| Problem::new(Code::Internal, "the cookie cannot be written"))
}

/// Signs a browser in; the value is for `Set-Cookie`.
pub(crate) async fn begin(state: &State, account: &Account) -> Result<HeaderValue, Problem> {
    let now = state.clock.now();
    let life = state.settings.session_life;
    let cookie = token::make_cookie(account.tenant, &*state.random)?;
    let session = Session {
        hash: token::hash(&cookie),
        user: account.id,
        created_at: now,
        expires_at: now + u64::try_from(life.as_millis()).unwrap_or(0),
    };
    state.store.add_session(account.tenant, session).await?;
    header(state, &cookie, life.as_secs())
}

/// Signs it out; the value is for `Set-Cookie`.
pub(crate) async fn end(state: &State, cookie: &str) -> Result<HeaderValue, Problem> {
    if let Some(tenant) = token::read_cookie(cookie) {
        state.store.end_session(tenant, &token::hash(cookie)).await?;
        state.principals.forget();
    }
    header(state, "", 0)
}
