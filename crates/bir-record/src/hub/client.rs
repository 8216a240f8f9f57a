//! Requests to a hub.

use bir_net::{Client, ClientOptions, Proxies, Request, RequestBody, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{API_VERSION, Credentials, Destination, EventStream, HubError, Origin, Problem, Token};

/// Budget for one request with its answer.
const WHOLE: Duration = Duration::from_secs(30);

/// Budget for waiting until another process has refreshed.
const REFRESH_LOCK: Duration = Duration::from_secs(35);

/// Longest answer that is read in bytes: a page of rows with their payloads.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// Longest problem that is read in bytes: the report of a check has values of a recording in it.
const LONGEST_PROBLEM: usize = 4 * 1024 * 1024;

/// An answer that was not refused.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status, 200 to 299.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    url: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// [`HubError::Answer`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HubError> {
        let url = self.url.clone();
        serde_json::from_slice(&self.body).map_err(|e| HubError::Answer { url, why: e.to_string() })
    }
}

/// Speaks to one hub. Must be used inside a tokio runtime with time and I/O.
pub struct HubClient {
    net: Client,
    state_dir: PathBuf,
    destination: Destination,
}

/// Whether another token may help.
fn expired<T>(answer: &Result<T, HubError>) -> bool {
    matches!(answer, Err(e) if e.status() == Some(401))
}

/// A pair of tokens, as `/auth/login`, `/auth/refresh` and the device flow give it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    access_token: Token,
    refresh_token: Token,
    expires_at: u64,
}

/// What `/health` says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: String,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// The version of the API.
    #[serde(default)]
    pub api_version: u64,
    /// Random at the hub's start.
    #[serde(default)]
    pub instance: String,
    /// `sqlite` or `postgres`.
    #[serde(default)]
    pub store: String,
}

impl HubClient {
    /// A client for a hub.
    #[must_use]
    pub fn new(state_dir: &Path, destination: Destination) -> Self {
        let options = ClientOptions {
            proxies: Proxies::from_env(),
            user_agent: HeaderValue::from_static(concat!("bir/", env!("CARGO_PKG_VERSION"))),
            ..ClientOptions::default()
        };
        Self { net: Client::new(options), state_dir: state_dir.into(), destination }
    }

    /// A client for the hub that is in use.
    ///
    /// # Errors
    ///
    /// [`HubError::NoHub`], [`HubError::State`].
    pub fn find(state_dir: &Path, configured: Option<&str>) -> Result<Self, HubError> {
        let destination = Destination::find(state_dir, configured)?.ok_or(HubError::NoHub)?;
        Ok(Self::new(state_dir, destination))
    }

    /// The hub.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// What `/health` says; needs no token.
    ///
    /// # Errors
    ///
    /// [`HubError::Newer`] where the hub speaks a later API, and whatever keeps it from answering.
    pub async fn health(&self) -> Result<Health, HubError> {
        let health: Health = self.once(Method::GET, "/health", None, None).await?.json()?;
        if health.api_version > API_VERSION {
            let url = self.destination.shown();
            return Err(HubError::Newer { url, found: health.api_version, known: API_VERSION });
        }
        Ok(health)
    }

    /// `GET`.
    ///
    /// # Errors
    ///
    /// Whatever keeps the hub from answering, and its refusal.
    pub async fn get(&mut self, path: &str) -> Result<Answer, HubError> {
        self.request(Method::GET, path, None).await
    }

    /// `DELETE`.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn delete(&mut self, path: &str) -> Result<Answer, HubError> {
        self.request(Method::DELETE, path, None).await
    }

    /// `POST` of a JSON value.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn post(&mut self, path: &str, body: &impl Serialize) -> Result<Answer, HubError> {
        self.send(Method::POST, path, body).await
    }

    /// `PATCH` of a JSON value.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn patch(&mut self, path: &str, body: &impl Serialize) -> Result<Answer, HubError> {
        self.send(Method::PATCH, path, body).await
    }

    async fn send(&mut self, method: Method, path: &str, body: &impl Serialize) -> Result<Answer, HubError> {
        let url = || self.destination.shown();
        let body =
            serde_json::to_vec(body).map_err(|e| HubError::Answer { url: url(), why: e.to_string() })?;
        self.request(method, path, Some(("application/json", body.into()))).await
    }

    /// `POST` of JSON lines.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn post_lines(&mut self, path: &str, lines: Bytes) -> Result<Answer, HubError> {
        self.request(Method::POST, path, Some(("application/x-ndjson", lines))).await
    }

    /// Any request with a body of its own type.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Answer, HubError> {
        let token = self.destination.token.clone();
        let answer = self.once(method.clone(), path, body.clone(), token.as_ref()).await;
        if !expired(&answer) || !self.renew().await? {
            return answer;
        }
        let token = self.destination.token.clone();
        self.once(method, path, body, token.as_ref()).await
    }

    /// Opens a stream of events, from behind the one with the id `last`.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn events(&mut self, path: &str, last: Option<&str>) -> Result<EventStream, HubError> {
        let mut refreshed = false;
        loop {
            let mut request = Request::new(Method::GET, self.destination.target(path)?);
            request.headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
            if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
                request.headers.insert(HeaderName::from_static("last-event-id"), last);
            }
            self.authorize(&mut request, self.destination.token.as_ref())?;
            let response = self.within(self.net.request(request)).await?;
            let opened = self.refusal(response).await;
            if refreshed || !expired(&opened) || !self.renew().await? {
                return opened.map(|response| EventStream::new(response, self.destination.shown()));
            }
            refreshed = true;
        }
    }

    /// Opens an answer whose body is read piece by piece, as an export is.
    ///
    /// # Errors
    ///
    /// As [`HubClient::get`].
    pub async fn download(&mut self, path: &str) -> Result<Response, HubError> {
        let mut refreshed = false;
        loop {
            let mut request = Request::new(Method::GET, self.destination.target(path)?);
            self.authorize(&mut request, self.destination.token.as_ref())?;
            let response = self.within(self.net.request(request)).await?;
            let opened = self.refusal(response).await;
            if refreshed || !expired(&opened) || !self.renew().await? {
                return opened;
            }
            refreshed = true;
        }
    }

    async fn once(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
        token: Option<&Token>,
    ) -> Result<Answer, HubError> {
        let mut request = Request::new(method, self.destination.target(path)?);
        request.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some((media_type, body)) = body {
            request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            request.body = RequestBody::whole(body);
        }
        self.authorize(&mut request, token)?;
        let whole = async {
            let response = self.net.request(request).await.map_err(|e| self.unreachable(&e))?;
            let response = self.refusal(response).await?;
            let status = response.status().as_u16();
            let body = response.head_of_body(LONGEST_ANSWER).await.map_err(|e| self.unreachable(&e))?;
            Ok(Answer { status, body, url: self.destination.shown() })
        };
        match tokio::time::timeout(WHOLE, whole).await {
            Ok(answer) => answer,
            Err(_) => Err(HubError::Timeout { url: self.destination.shown(), after: WHOLE }),
        }
    }

    async fn within(
        &self,
        request: impl Future<Output = Result<Response, bir_net::Error>>,
    ) -> Result<Response, HubError> {
        match tokio::time::timeout(WHOLE, request).await {
            Ok(response) => response.map_err(|e| self.unreachable(&e)),
            Err(_) => Err(HubError::Timeout { url: self.destination.shown(), after: WHOLE }),
        }
    }

    fn authorize(&self, request: &mut Request, token: Option<&Token>) -> Result<(), HubError> {
        let Some(token) = token else { return Ok(()) };
        let value =
            HeaderValue::from_str(&format!("Bearer {}", token.reveal())).map_err(|_| HubError::Address {
                url: self.destination.shown(),
                why: "its token holds characters that no header can carry".into(),
            })?;
        request.credentials.set(header::AUTHORIZATION, value);
        Ok(())
    }

    fn unreachable(&self, e: &bir_net::Error) -> HubError {
        HubError::Unreachable { url: self.destination.shown(), why: e.to_string() }
    }

    /// The response, unless it is a refusal.
    async fn refusal(&self, response: Response) -> Result<Response, HubError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let after = response.headers().get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse().ok());
        let read = tokio::time::timeout(WHOLE, response.head_of_body(LONGEST_PROBLEM)).await;
        let body = read.ok().and_then(Result::ok).unwrap_or_default();
        let problem = serde_json::from_slice::<Problem>(&body).unwrap_or_default();
        let problem = Problem { body, ..problem };
        let retry_after = after.map(Duration::from_secs);
        Err(HubError::Refused { status: status.as_u16(), problem: Box::new(problem), retry_after })
    }

    /// Gets another token, by refreshing or because somebody else did. False: there is none to be had.
    async fn renew(&mut self) -> Result<bool, HubError> {
        if self.destination.origin == Origin::Environment {
            return Ok(false);
        }
        let before = self.destination.token.clone();
        if self.destination.origin == Origin::Embedded {
            // It has started again with another token, perhaps elsewhere.
            let found = Destination::find(&self.state_dir, None)?.filter(|found| found.token != before);
            let Some(found) = found else { return Ok(false) };
            self.destination = found;
            return Ok(true);
        }
        let _held = Credentials::lock(&self.state_dir, REFRESH_LOCK).await?;
        let mut credentials = Credentials::load(&self.state_dir)?;
        let Some(login) = credentials.servers.get_mut(&self.destination.url) else { return Ok(false) };
        if login.bearer() != before.as_ref() {
            self.destination.token = login.bearer().cloned();
            return Ok(self.destination.token.is_some());
        }
        let Some(refresh) = login.refresh_token.clone().filter(|_| login.token.is_none()) else {
            return Ok(false);
        };
        let body = serde_json::json!({ "refreshToken": refresh }).to_string();
        let body = Some(("application/json", Bytes::from(body)));
        // What is no refusal of the token itself (the hub is down, the network) is passed on: it does not end the login.
        let pair: Pair = match self.once(Method::POST, "/auth/refresh", body, None).await {
            Ok(answer) => answer.json()?,
            Err(e) if matches!(e.status(), Some(400 | 401 | 403)) => return Ok(false),
            Err(e) => return Err(e),
        };
        login.access_token = Some(pair.access_token.clone());
        login.refresh_token = Some(pair.refresh_token);
        login.expires_at = Some(pair.expires_at);
        credentials.save(&self.state_dir)?;
        self.destination.token = Some(pair.access_token);
        Ok(true)
    }
}
