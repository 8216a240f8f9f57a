//! Speaking to a control server: one question, with its token, within a budget.

use crate::Contact;
use bir_net::{Client, ClientOptions, Proxies, Request, RequestBody, Target, TargetError};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;

/// How long an answer may take.
pub const BUDGET: Duration = Duration::from_millis(500);

/// Longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// What a control server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// The version of its interface, where it tells.
    #[serde(default)]
    pub api_version: Option<u64>,
    /// The version of its program, where it tells.
    #[serde(default)]
    pub version: Option<String>,
}

/// Why a control server did not take something.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The address is no `http` address of this machine. A token goes nowhere else.
    #[error("a control server has an http address on this machine, and this one has not")]
    NotHere,
    /// It is no address at all.
    #[error("the address is none: {0}")]
    BadUrl(#[from] TargetError),
    /// The token cannot stand in a header.
    #[error("the token has characters that a header cannot hold")]
    BadToken,
    /// What is to be sent is no JSON.
    #[error("it cannot be written as JSON: {0}")]
    BadBody(serde_json::Error),
    /// Nobody answered in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// The connection failed.
    #[error("nobody answers: {0}")]
    Unreachable(#[from] bir_net::Error),
    /// Somebody answered who did not take it: no control server, another project's, or one that refuses just this.
    #[error("it answers {0}")]
    Refused(StatusCode),
    /// The answer says nothing.
    #[error("its answer is not understood")]
    NotUnderstood,
    /// No runtime could be made.
    #[error("it cannot be asked: {0}")]
    Runtime(std::io::Error),
}

impl ControlError {
    /// Nobody is there, or it is not the one that the discovery file speaks of: the file may say something else by now, and a
    /// new one may have to be started.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Silent(_) | Self::NotUnderstood => true,
            Self::Refused(status) => *status == StatusCode::UNAUTHORIZED || status.is_server_error(),
            _ => false,
        }
    }
}

/// A control server that can be spoken to. Connections are kept open between questions.
#[derive(Clone)]
pub struct Control {
    client: Client,
    base: Target,
    bearer: HeaderValue,
}

impl Control {
    /// One to speak to; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// The contact cannot be one's: a token goes to this machine alone.
    pub fn new(contact: &Contact) -> Result<Self, ControlError> {
        let base = Target::parse(&contact.url)?;
        if base.is_https() || !base.is_loopback() {
            return Err(ControlError::NotHere);
        }
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", contact.token.secret()))
            .map_err(|_| ControlError::BadToken)?;
        bearer.set_sensitive(true);
        let client = Client::new(ClientOptions {
            connect_timeout: BUDGET,
            proxies: Proxies::none(),
            user_agent: HeaderValue::from_static(concat!("bir/", env!("CARGO_PKG_VERSION"))),
        });
        Ok(Self { client, base, bearer })
    }

    /// Whether it is there.
    ///
    /// # Errors
    ///
    /// It is not, or not the one that was told of.
    pub async fn health(&self) -> Result<Health, ControlError> {
        self.ask(Method::GET, "/health", None, BUDGET).await
    }

    /// Reads a route.
    ///
    /// # Errors
    ///
    /// It was not answered, or not within the budget.
    pub async fn get<A: DeserializeOwned>(&self, route: &str, budget: Duration) -> Result<A, ControlError> {
        self.ask(Method::GET, route, None, budget).await
    }

    /// Sends a message to a route.
    ///
    /// # Errors
    ///
    /// It was not taken, or nobody said so within the budget. It may be sent again: every message names itself.
    pub async fn post<A: DeserializeOwned>(
        &self,
        route: &str,
        message: &impl Serialize,
        budget: Duration,
    ) -> Result<A, ControlError> {
        let body = serde_json::to_vec(message).map_err(ControlError::BadBody)?;
        self.ask(Method::POST, route, Some(body.into()), budget).await
    }

    /// As [`Control::post`], from where no runtime runs.
    ///
    /// # Errors
    ///
    /// As [`Control::post`]; or no runtime could be made.
    pub fn post_blocking<A: DeserializeOwned>(
        &self,
        route: &str,
        message: &impl Serialize,
        budget: Duration,
    ) -> Result<A, ControlError> {
        blocking(self.post(route, message, budget))
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        route: &str,
        body: Option<Bytes>,
        budget: Duration,
    ) -> Result<A, ControlError> {
        let answer = self.answer(method, route, body);
        tokio::time::timeout(budget, answer).await.unwrap_or(Err(ControlError::Silent(budget)))
    }

    async fn answer<A: DeserializeOwned>(
        &self,
        method: Method,
        route: &str,
        body: Option<Bytes>,
    ) -> Result<A, ControlError> {
        let mut request = Request::new(method, self.base.join(route)?);
        request.credentials.set(header::AUTHORIZATION, self.bearer.clone());
        if let Some(body) = body {
            request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = RequestBody::whole(body);
        }
        let response = self.client.request(request).await?;
        if response.status() != StatusCode::OK || !response.target().same_origin(&self.base) {
            return Err(ControlError::Refused(response.status()));
        }
        let body = response.head_of_body(LONGEST_ANSWER).await?;
        serde_json::from_slice(&body).map_err(|_| ControlError::NotUnderstood)
    }
}

/// Asks a control server whether it is there. Blocks for at most [`BUDGET`]; not to be called where a runtime runs.
///
/// # Errors
///
/// Nobody is there, or not the one that was told of.
pub fn ask(contact: &Contact) -> Result<Health, ControlError> {
    let control = Control::new(contact)?;
    blocking(control.health())
}

fn blocking<A>(question: impl Future<Output = Result<A, ControlError>>) -> Result<A, ControlError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ControlError::Runtime)?;
    let answer = runtime.block_on(question);
    runtime.shutdown_background();
    answer
}
