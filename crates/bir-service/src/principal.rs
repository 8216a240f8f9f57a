//! Who is asking: from a token or a cookie to a person, believed for at most five seconds.
//!
//! The store is asked once per token and five seconds, so a revocation elsewhere takes effect within that time; one that
//! goes through this process, at once.

use crate::clock::Clock;
use crate::problem::{Code, Problem};
use crate::token;
use bir_model::TenantId;
use bir_store::Store;
use bir_store::model::{Account, AuthToken, TokenKind};
use http::{HeaderMap, header};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Name of the browser's cookie.
pub(crate) const COOKIE: &str = "bir_session";
/// Principals that are remembered at most; when there are more, all are forgotten.
const REMEMBERED: usize = 10_000;
/// The last use of a token is noted this often.
const NOTE_USE: u64 = 60_000;

/// Somebody who has shown who they are.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    /// The person.
    pub(crate) account: Account,
    /// What the token may be used for; a browser's session may do everything.
    pub(crate) scopes: Vec<String>,
    /// The token, or None for a browser's session.
    pub(crate) token: Option<AuthToken>,
    /// What the limits count by.
    pub(crate) key: Uuid,
    /// ms since the Unix epoch.
    pub(crate) expires_at: Option<u64>,
}

/// What somebody shows to prove who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `Authorization: Bearer …`.
    Bearer(String),
    /// The session's cookie.
    Cookie(String),
}

impl Shown {
    /// What the headers show. A token outranks a cookie.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let text = value.to_str().unwrap_or_default();
            let token = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            return match token {
                Some((_, token)) => Ok(Some(Self::Bearer(token.trim().to_owned()))),
                None => Err(Problem::new(Code::Unauthorized, "the header is `Authorization: Bearer TOKEN`")),
            };
        }
        Ok(cookie(headers).map(Self::Cookie))
    }
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let mut pairs =
        headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE && !value.is_empty()).then(|| value.to_owned())
    })
}

/// Principals by the hash of what they showed.
#[derive(Debug)]
pub(crate) struct Principals {
    believed: Duration,
    known: Mutex<HashMap<[u8; 32], Known>>,
}

/// Who it is, and when the store said so.
type Known = (Instant, Arc<Principal>);

fn unknown() -> Problem {
    Problem::new(
        Code::Unauthorized,
        "the token is not known here; sign in with `bir login`, or make a new one",
    )
}

impl Principals {
    pub(crate) fn new(believed: Duration) -> Self {
        Self { believed, known: Mutex::default() }
    }

    /// Forgets everybody, after somebody's rights changed.
    pub(crate) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn recall(&self, hash: &[u8; 32]) -> Option<Arc<Principal>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, principal) = known.get(hash)?;
        (since.elapsed() < self.believed).then(|| principal.clone())
    }

    fn remember(&self, hash: [u8; 32], asked: Instant, principal: Arc<Principal>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(hash, (asked, principal));
    }

    /// The person behind what was shown.
    pub(crate) async fn resolve(
        &self,
        store: &dyn Store,
        clock: &dyn Clock,
        shown: &Shown,
    ) -> Result<Arc<Principal>, Problem> {
        let now = clock.now();
        let text = match shown {
            Shown::Bearer(text) | Shown::Cookie(text) => text,
        };
        let hash = token::hash(text);
        let expired = |p: &Principal| p.expires_at.is_some_and(|at| at <= now);
        let principal = match self.recall(&hash) {
            Some(principal) => principal,
            None => {
                // The moment before the store was asked: what changes while it answers is not believed for longer.
                let asked = Instant::now();
                let principal = Arc::new(match shown {
                    Shown::Bearer(text) => bearer(store, now, text, &hash).await?,
                    Shown::Cookie(text) => session(store, now, text, &hash).await?,
                });
                self.remember(hash, asked, principal.clone());
                principal
            }
        };
        if expired(&principal) {
            return Err(Problem::new(
                Code::TokenExpired,
                "the token has expired; refresh it or sign in again",
            ));
        }
        Ok(principal)
    }
}

async fn bearer(store: &dyn Store, now: u64, text: &str, hash: &[u8; 32]) -> Result<Principal, Problem> {
    let (_, tenant) = token::read(text).ok_or_else(unknown)?;
    let found = store.token(tenant, hash).await?.ok_or_else(unknown)?;
    // A refresh token buys tokens and does nothing else.
    if found.kind == TokenKind::Refresh {
        return Err(Problem::new(Code::Unauthorized, "a refresh token is good at /auth/refresh only"));
    }
    if found.revoked_at.is_some() || found.owner.disabled {
        return Err(Problem::new(
            Code::TokenRevoked,
            "the token was revoked; sign in again, or make a new one",
        ));
    }
    if found.expires_at.is_some_and(|at| at <= now) {
        return Err(Problem::new(Code::TokenExpired, "the token has expired; refresh it or sign in again"));
    }
    if found.last_used_at.is_none_or(|at| at + NOTE_USE <= now) {
        // A note for people; a store that cannot write it now is no reason to refuse the request.
        if let Err(error) = store.touch_token(tenant, found.id, now).await {
            tracing::debug!(%error, "the use of a token was not noted");
        }
    }
    Ok(Principal {
        account: found.owner.clone(),
        scopes: found.scopes.clone(),
        key: found.id.uuid(),
        expires_at: found.expires_at,
        token: Some(found),
    })
}

async fn session(store: &dyn Store, now: u64, text: &str, hash: &[u8; 32]) -> Result<Principal, Problem> {
    let again = || Problem::new(Code::Unauthorized, "the sign-in is not known here or over; sign in again");
    let tenant: TenantId = token::read_cookie(text).ok_or_else(again)?;
    let (session, account) = store.session(tenant, hash, now).await?.ok_or_else(again)?;
    if account.disabled {
        return Err(again());
    }
    Ok(Principal {
        key: account.id.uuid(),
        account,
        scopes: vec!["api".to_owned()],
        expires_at: Some(session.expires_at),
        token: None,
    })
}
