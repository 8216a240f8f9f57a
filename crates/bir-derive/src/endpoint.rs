//! One question to the endpoint, within its budgets.
//!
//! ```text
//!  turn (4 at once) ─▶ breaker ─▶ request ─▶ 200 ─▶ body (64 KiB) ─▶ text, tokens
//!                                   └ 429, 5xx ─▶ Retry-After, if that is within the budget ─▶ once more
//! ```
//!
//! No fault holds anything that the endpoint sent, nor the key.

use crate::breaker::{Breaker, Ended};
use crate::brief::Brief;
use crate::config::Config;
use crate::protocol;
use bir_model::TurnTokens;
use bir_net::{Client, ClientOptions, Proxies, Response};
use http::{StatusCode, header};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::{self, timeout};

/// Questions at once.
const AT_ONCE: usize = 4;
/// Bytes of an answer at most.
pub const ANSWER: usize = 64 * 1024;
/// Before the second try, where the endpoint does not say how long.
const PAUSE: Duration = Duration::from_millis(500);
/// So much has to be left for a second try.
const LEAST: Duration = Duration::from_millis(100);

/// Why there is no answer. Nothing that was sent or came is in it.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Too many are asked at once.
    #[error("too many questions are asked at once")]
    Busy,
    /// It failed before, or was asked too often, and is left alone for so long.
    #[error("it is left alone for {} s, after failures or too many questions", .0.as_secs())]
    Cooling(Duration),
    /// The budget is over.
    #[error("there was no answer within {} ms", .0.as_millis())]
    NotInTime(Duration),
    /// The connection.
    #[error(transparent)]
    Net(#[from] bir_net::Error),
    /// It refused.
    #[error("it answered with HTTP {0}")]
    Status(u16),
    /// Its answer is too long.
    #[error("its answer is longer than {ANSWER} bytes")]
    TooLong,
    /// Its answer is none of the protocol, or holds no text.
    #[error("its answer is none of the protocol")]
    NotUnderstood,
}

impl Fault {
    /// Whether the question may have cost something.
    #[must_use]
    pub fn may_have_cost(&self) -> bool {
        match self {
            Self::NotInTime(_) | Self::TooLong | Self::NotUnderstood => true,
            Self::Net(error) => error.may_have_acted(),
            Self::Busy | Self::Cooling(_) | Self::Status(_) => false,
        }
    }
}

/// What came of a question.
#[derive(Debug)]
pub struct Answer {
    /// The model's text.
    pub text: Result<String, Fault>,
    /// What it spent, where the endpoint says it.
    pub tokens: Option<TurnTokens>,
}

impl Answer {
    fn failed(fault: Fault) -> Self {
        Self { text: Err(fault), tokens: None }
    }

    /// Whether something may have been spent that nobody knows.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.tokens.is_none() && self.text.as_ref().err().is_none_or(Fault::may_have_cost)
    }
}

/// An endpoint. It keeps its connections and what is known of its health.
pub struct Endpoint {
    config: Config,
    client: Client,
    breaker: Mutex<Breaker>,
    turns: Semaphore,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint that nothing is asked of yet. Redirects to another origin are not followed.
    #[must_use]
    pub fn new(config: Config, proxies: Proxies) -> Self {
        let options = ClientOptions { connect_timeout: config.connect, proxies, ..ClientOptions::default() };
        let client = Client::staying(options);
        Self { config, client, breaker: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }

    /// How it is configured.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How long it is left alone still.
    #[must_use]
    pub fn cools(&self) -> Option<Duration> {
        self.breaker().cools(Instant::now())
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks. It takes no longer than its budget; whoever does not wait so long lets it go on by itself, since what it spends counts.
    pub async fn ask(&self, brief: &Brief, max_tokens: u32) -> Answer {
        let Ok(_turn) = self.turns.try_acquire() else { return Answer::failed(Fault::Busy) };
        if let Err(left) = self.breaker().take(Instant::now()) {
            return Answer::failed(Fault::Cooling(left));
        }
        let budget = self.config.budget;
        let answer = match timeout(budget, self.tries(brief, max_tokens)).await {
            Ok(answer) => answer,
            Err(_) => Answer::failed(Fault::NotInTime(budget)),
        };
        let ended = match &answer.text {
            Ok(_) => Ended::Well,
            Err(Fault::Status(401 | 403)) => Ended::Refused,
            Err(_) => Ended::Failed,
        };
        self.breaker().ended(ended, Instant::now());
        answer
    }

    async fn tries(&self, brief: &Brief, max_tokens: u32) -> Answer {
        let end = time::Instant::now().checked_add(self.config.budget);
        let left = || end.map_or(Duration::ZERO, |end| end.saturating_duration_since(time::Instant::now()));
        let mut again = true;
        loop {
            let response = match self.send(brief, max_tokens).await {
                Ok(response) => response,
                Err(fault) => return Answer::failed(fault),
            };
            let status = response.status();
            if status == StatusCode::OK {
                return self.read(response).await;
            }
            let pause = pause(&response);
            response.discard().await;
            let passing = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            if !std::mem::take(&mut again) || !passing || pause.saturating_add(LEAST) > left() {
                return Answer::failed(Fault::Status(status.as_u16()));
            }
            time::sleep(pause).await;
        }
    }

    async fn send(&self, brief: &Brief, max_tokens: u32) -> Result<Response, Fault> {
        let request = protocol::request(&self.config, brief, max_tokens).ok_or(Fault::NotUnderstood)?;
        Ok(self.client.request(request).await?)
    }

    async fn read(&self, mut response: Response) -> Answer {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) if body.len() + bytes.len() > ANSWER => {
                    return Answer::failed(Fault::TooLong);
                }
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) => break,
                Err(error) => return Answer::failed(error.into()),
            }
        }
        match protocol::answer(&self.config, &body) {
            Some(said) => Answer { text: said.text.ok_or(Fault::NotUnderstood), tokens: said.tokens },
            None => Answer::failed(Fault::NotUnderstood),
        }
    }
}

/// How long the endpoint wants to be left alone. A date instead of seconds is too long for any budget of a question.
fn pause(response: &Response) -> Duration {
    match response.headers().get(header::RETRY_AFTER) {
        None => PAUSE,
        Some(value) => value
            .to_str()
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .map_or(Duration::MAX, Duration::from_secs),
    }
}
