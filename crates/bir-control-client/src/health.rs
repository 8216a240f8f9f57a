//! Whether a control server is there: one question, with its token, within a budget.

use crate::Contact;
use bir_net::{Client, ClientOptions, Proxies, Request, Target, TargetError};
use http::{HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use std::time::Duration;
use thiserror::Error;

/// How long the answer may take.
pub const BUDGET: Duration = Duration::from_millis(500);

/// Longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 16 * 1024;

/// What a control server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// The version of its API, where it tells.
    #[serde(default)]
    pub api_version: Option<u64>,
    /// The version of its program, where it tells.
    #[serde(default)]
    pub version: Option<String>,
}

/// Why nobody is there.
#[derive(Debug, Error)]
pub enum HealthError {
    /// The address is no `http` address of this machine. A token goes nowhere else.
    #[error("a control server has an http address on this machine, and this one has not")]
    NotHere,
    /// It is no address at all.
    #[error("the address is none: {0}")]
    BadUrl(#[from] TargetError),
    /// The token cannot stand in a header.
    #[error("the token has characters that a header cannot hold")]
    BadToken,
    /// Nobody answered in time.
    #[error("no answer within {} ms", BUDGET.as_millis())]
    Silent,
    /// The connection failed.
    #[error("nobody answers: {0}")]
    Unreachable(#[from] bir_net::Error),
    /// Somebody answered who is no control server, or another project's.
    #[error("it answers {0}, as no control server of this project does")]
    Foreign(StatusCode),
    /// The answer says nothing.
    #[error("its answer is not understood")]
    NotUnderstood,
    /// No runtime could be made.
    #[error("it cannot be asked: {0}")]
    Runtime(std::io::Error),
}

/// Asks a control server whether it is there. Blocks for at most [`BUDGET`]; not to be called where a runtime runs.
///
/// # Errors
///
/// Nobody is there, or not the one that was told of.
pub fn ask(contact: &Contact) -> Result<Health, HealthError> {
    let base = Target::parse(&contact.url)?;
    if base.is_https() || !base.is_loopback() {
        return Err(HealthError::NotHere);
    }
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", contact.token.secret()))
        .map_err(|_| HealthError::BadToken)?;
    bearer.set_sensitive(true);
    let target = base.join("/health")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(HealthError::Runtime)?;
    let answer = runtime.block_on(async {
        tokio::time::timeout(BUDGET, answer(target, bearer)).await.unwrap_or(Err(HealthError::Silent))
    });
    runtime.shutdown_background();
    answer
}

async fn answer(target: Target, bearer: HeaderValue) -> Result<Health, HealthError> {
    let client = Client::new(ClientOptions {
        connect_timeout: BUDGET,
        proxies: Proxies::none(),
        user_agent: HeaderValue::from_static(concat!("bir/", env!("CARGO_PKG_VERSION"))),
    });
    let origin = target.clone();
    let mut request = Request::new(Method::GET, target);
    request.credentials.set(header::AUTHORIZATION, bearer);
    let response = client.request(request).await?;
    if response.status() != StatusCode::OK || !response.target().same_origin(&origin) {
        return Err(HealthError::Foreign(response.status()));
    }
    let body = response.head_of_body(LONGEST_ANSWER).await?;
    serde_json::from_slice(&body).map_err(|_| HealthError::NotUnderstood)
}
