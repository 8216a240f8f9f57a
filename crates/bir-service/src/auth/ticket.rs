//! A ticket takes a person from the terminal into the browser: a link that signs them in, once, for a short time.

use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::token;
use axum::response::Response;
use bir_model::{TenantId, UserId};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Tickets that are open at once.
const OPEN: usize = 1_000;

/// Open tickets, by their hash.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<[u8; 32], (u64, TenantId, UserId)>>);

impl Tickets {
    fn add(
        &self,
        hash: [u8; 32],
        now: u64,
        expires_at: u64,
        tenant: TenantId,
        user: UserId,
    ) -> Result<(), Problem> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, (until, ..)| *until > now);
        if open.len() >= OPEN {
            return Err(Problem::new(Code::RateLimited, "too many tickets are open; use one").after(60));
        }
        open.insert(hash, (expires_at, tenant, user));
        Ok(())
    }

    /// Uses a ticket up.
    pub(crate) fn take(&self, text: &str, now: u64) -> Option<(TenantId, UserId)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, tenant, user) = open.remove(&token::hash(text))?;
        (until > now).then_some((tenant, user))
    }
}

/// `POST /auth/ticket`.
pub(crate) async fn make(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let text = token::secret(&*state.random)?;
    let now = state.clock.now();
    let life = u64::try_from(state.settings.ticket_life.as_millis()).unwrap_or(60_000);
    let account = &caller.principal.account;
    state.tickets.add(token::hash(&text), now, now + life, account.tenant, account.id)?;
    let url = format!("{}/signin?ticket={text}", state.settings.base_url());
    json::ok(&json!({"url": url, "expiresAt": now + life}))
}
