//! The requests and answers of both protocols, as far as they are used: one question, one text, the tokens.

use crate::brief::Brief;
use crate::config::{Config, Protocol};
use bir_model::{Tokens, TurnTokens};
use bir_net::{Credentials, Request, RequestBody};
use http::{HeaderName, HeaderValue, Method, header};
use serde_json::{Value, json};

/// The version of the messages API that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The request. None: the key cannot be a header, which no key that was read is.
pub(crate) fn request(config: &Config, brief: &Brief, max_tokens: u32) -> Option<Request> {
    let mut request = Request::new(Method::POST, config.target.clone());
    request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let mut credentials = Credentials::none();
    let body = match config.protocol {
        Protocol::Anthropic => {
            credentials.set(HeaderName::from_static("x-api-key"), config.key.header("")?);
            let version = HeaderValue::from_static(ANTHROPIC_VERSION);
            request.headers.insert(HeaderName::from_static("anthropic-version"), version);
            json!({"model": config.model, "max_tokens": max_tokens, "temperature": 0, "system": brief.system(),
                "messages": [{"role": "user", "content": brief.user()}]})
        }
        Protocol::OpenAi => {
            credentials.set(header::AUTHORIZATION, config.key.header("Bearer ")?);
            json!({"model": config.model, "max_tokens": max_tokens, "temperature": 0, "messages": [
                {"role": "system", "content": brief.system()}, {"role": "user", "content": brief.user()}]})
        }
    };
    request.credentials = credentials;
    request.body = RequestBody::whole(body.to_string());
    Some(request)
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// None: it holds no text.
    pub(crate) text: Option<String>,
    /// None: it does not tell them.
    pub(crate) tokens: Option<TurnTokens>,
}

/// Reads an answer. None: it is none of the protocol.
pub(crate) fn answer(config: &Config, body: &[u8]) -> Option<Said> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let (text, tokens) = match config.protocol {
        Protocol::Anthropic => {
            let blocks = value.get("content")?.as_array()?;
            let text: String = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            (Some(text), value.get("usage").and_then(anthropic_tokens))
        }
        Protocol::OpenAi => {
            let message = value.get("choices")?.get(0)?.get("message")?;
            let text = message.get("content").and_then(Value::as_str).map(str::to_owned);
            (text, value.get("usage").and_then(openai_tokens))
        }
    };
    // It is priced as the model that the operator named: what an endpoint calls itself is its own word.
    let tokens = tokens.map(|tokens| TurnTokens {
        models: [(config.model.clone(), tokens)].into(),
        totals: tokens,
        compaction: false,
        incomplete: false,
    });
    Some(Said { text: text.filter(|text| !text.trim().is_empty()), tokens })
}

/// A number that is there. A wrong one makes the whole unknown.
fn number(usage: &Value, name: &str) -> Option<u64> {
    match usage.get(name) {
        None | Some(Value::Null) => Some(0),
        Some(value) => value.as_u64(),
    }
}

fn anthropic_tokens(usage: &Value) -> Option<Tokens> {
    usage.get("input_tokens")?;
    Some(Tokens {
        input_tokens: number(usage, "input_tokens")?,
        output_tokens: number(usage, "output_tokens")?,
        cache_read_tokens: number(usage, "cache_read_input_tokens")?,
        cache_creation_tokens: number(usage, "cache_creation_input_tokens")?,
        requests: 1,
    })
}

fn openai_tokens(usage: &Value) -> Option<Tokens> {
    let all = usage.get("prompt_tokens")?.as_u64()?;
    // Those of a cache are among them.
    let cached =
        usage.get("prompt_tokens_details").map_or(Some(0), |details| number(details, "cached_tokens"))?;
    Some(Tokens {
        input_tokens: all.saturating_sub(cached),
        output_tokens: number(usage, "completion_tokens")?,
        cache_read_tokens: cached.min(all),
        cache_creation_tokens: 0,
        requests: 1,
    })
}
