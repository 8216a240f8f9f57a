//! Signing in a machine without a browser: it shows a code, a person types it into a browser where they are signed in.
//!
//! ```text
//! machine: POST /auth/device ─▶ deviceCode (secret), userCode (shown)
//! person:  GET /device, types the code, approves or refuses
//! machine: POST /auth/device/token every 5 s ─▶ 428 pending … 200 pair
//! ```
//!
//! Codes live ten minutes in this process. The device's secret is kept as its hash.

use crate::body;
use crate::clock::Random;
use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::token;
use axum::body::Body;
use axum::response::Response;
use bir_model::{TenantId, UserId};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Life of a code in ms.
const LIFE: u64 = 10 * 60 * 1000;
/// Seconds between two questions of a device.
const INTERVAL: u64 = 5;
/// Codes that are open at once.
const OPEN: usize = 1_000;
/// Letters of a user code: no vowels, so no words; nothing that looks like something else.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Open,
    Approved(TenantId, UserId),
    Refused,
}

#[derive(Debug)]
struct Grant {
    user_code: String,
    expires_at: u64,
    asked_at: Option<u64>,
    decision: Decision,
}

/// The codes that are open, by the hash of the device's secret.
#[derive(Debug, Default)]
pub(crate) struct Devices(Mutex<HashMap<[u8; 32], Grant>>);

fn user_code(random: &dyn Random) -> Result<String, Problem> {
    let mut code = String::new();
    while code.len() < 9 {
        let mut byte = [0];
        random.fill(&mut byte)?;
        // 240 is the largest multiple of 20 in a byte: every letter is equally likely.
        if byte[0] < 240 {
            code.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            if code.len() == 4 {
                code.push('-');
            }
        }
    }
    Ok(code)
}

/// A code as people type it: any case, with or without the hyphen.
fn normal(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

fn expired() -> Problem {
    Problem::new(Code::ExpiredToken, "the code has expired; begin again")
}

impl Devices {
    fn open(&self, now: u64) -> MutexGuard<'_, HashMap<[u8; 32], Grant>> {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.retain(|_, grant| grant.expires_at > now);
        grants
    }

    fn begin(&self, now: u64, hash: [u8; 32], user_code: String) -> Result<u64, Problem> {
        let mut grants = self.open(now);
        if grants.len() >= OPEN || grants.values().any(|g| g.user_code == user_code) {
            return Err(
                Problem::new(Code::RateLimited, "too many devices are being signed in; try again").after(60)
            );
        }
        let expires_at = now + LIFE;
        grants.insert(hash, Grant { user_code, expires_at, asked_at: None, decision: Decision::Open });
        Ok(expires_at)
    }

    /// Whether a person's decision was about a code that is open.
    pub(crate) fn decide(&self, now: u64, code: &str, by: Option<(TenantId, UserId)>) -> bool {
        let code = normal(code);
        let mut grants = self.open(now);
        let grant =
            grants.values_mut().find(|g| g.decision == Decision::Open && normal(&g.user_code) == code);
        match grant {
            Some(grant) => {
                grant.decision = by.map_or(Decision::Refused, |(t, u)| Decision::Approved(t, u));
                true
            }
            None => false,
        }
    }

    /// What was decided; once it is told, the code is gone.
    fn ask(&self, now: u64, hash: &[u8; 32]) -> Result<(TenantId, UserId), Problem> {
        let mut grants = self.open(now);
        let grant = grants.get_mut(hash).ok_or_else(expired)?;
        let early = grant.asked_at.is_some_and(|at| now < at + INTERVAL * 1000 - 500);
        grant.asked_at = Some(now);
        match grant.decision {
            Decision::Open if early => {
                Err(Problem::new(Code::SlowDown, format!("ask every {INTERVAL} s")).after(INTERVAL as u32))
            }
            Decision::Open => {
                Err(Problem::new(Code::AuthorizationPending, "nobody has confirmed the code yet; ask again")
                    .after(INTERVAL as u32))
            }
            Decision::Refused => {
                grants.remove(hash);
                Err(Problem::new(Code::AccessDenied, "the sign-in was refused"))
            }
            Decision::Approved(tenant, user) => {
                grants.remove(hash);
                Ok((tenant, user))
            }
        }
    }
}

/// `POST /auth/device`.
pub(crate) async fn begin(
    axum::extract::State(state): axum::extract::State<State>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    // There is nothing to say, and what is said anyway is for later versions.
    body::read(body, limits.body_bytes, limits.body_idle).await?;
    let device_code = token::secret(&*state.random)?;
    let code = user_code(&*state.random)?;
    let expires_at = state.devices.begin(state.clock.now(), token::hash(&device_code), code.clone())?;
    let base = state.settings.base_url();
    json::ok(&json!({
        "deviceCode": device_code,
        "userCode": code,
        "verificationUri": format!("{base}/device"),
        "verificationUriComplete": format!("{base}/device?code={code}"),
        "expiresAt": expires_at,
        "interval": INTERVAL,
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Poll {
    device_code: String,
}

/// `POST /auth/device/token`.
pub(crate) async fn poll(
    axum::extract::State(state): axum::extract::State<State>,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let Poll { device_code } = json::parse(&bytes)?;
    let (tenant, user) = state.devices.ask(state.clock.now(), &token::hash(&device_code))?;
    let account = state.store.user(tenant, user).await?.filter(|a| !a.disabled);
    let account =
        account.ok_or_else(|| Problem::new(Code::AccessDenied, "the account is not there any more"))?;
    json::ok(&super::login::sign_in(&state, &account).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemSource;

    #[test]
    fn a_code_is_decided_once_and_told_once() {
        let devices = Devices::default();
        let code = user_code(&SystemSource).unwrap();
        assert!(code.len() == 9 && code.as_bytes()[4] == b'-', "{code}");
        let hash = token::hash("secret");
        devices.begin(0, hash, code.clone()).unwrap();
        assert_eq!(devices.ask(0, &hash).unwrap_err().code, Code::AuthorizationPending);
        assert_eq!(devices.ask(1_000, &hash).unwrap_err().code, Code::SlowDown);
        let who = (TenantId::new(), UserId::new());
        assert!(!devices.decide(2_000, "WRONG", Some(who)));
        assert!(devices.decide(2_000, &code.to_lowercase().replace('-', " "), Some(who)));
        assert!(!devices.decide(2_000, &code, None), "decided already");
        assert_eq!(devices.ask(2_100, &hash).unwrap(), who);
        assert_eq!(devices.ask(9_000, &hash).unwrap_err().code, Code::ExpiredToken);
        devices.begin(10_000, hash, code.clone()).unwrap();
        assert!(devices.decide(10_000, &code, None));
        assert_eq!(devices.ask(10_000, &hash).unwrap_err().code, Code::AccessDenied);
        devices.begin(20_000, hash, code.clone()).unwrap();
        assert_eq!(devices.ask(20_000 + LIFE, &hash).unwrap_err().code, Code::ExpiredToken);
    }
}
