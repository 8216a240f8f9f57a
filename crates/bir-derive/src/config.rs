//! What the environment says of the endpoint.
//!
//! | variable | means | default | at most |
//! |---|---|---|---|
//! | `BIR_DERIVE_URL` | the base that `messages` or `chat/completions` is put behind (`https://api.anthropic.com/v1`) | none: off | |
//! | `BIR_DERIVE_API_KEY` | the key | none: off | |
//! | `BIR_DERIVE_PROTOCOL` | `anthropic` or `openai` | `anthropic` | |
//! | `BIR_DERIVE_MODEL` | the model | with `anthropic`, `claude-haiku-4-5-20251001` | |
//! | `BIR_DERIVE_BUDGET_MS` | one question in all | 5,000 | 25,000 |
//! | `BIR_DERIVE_CONNECT_MS` | the connection | 2,000 | 10,000 |
//! | `BIR_DERIVE_MATCH_BUDGET_MS` | the answer to a run that begins waits so long; 0: it never asks | 0 | 10,000 |
//! | `BIR_DERIVE_MAX_TOKENS` | an answer with proposals | 1,000 | 4,000 |
//! | `BIR_DERIVE_PROPOSE` | `0`: only parameters are asked for | on | |
//!
//! `ANTHROPIC_API_KEY` is somebody else's: it counts only with `BIR_USE_ANTHROPIC_API_KEY=1`, and for that protocol.

use bir_net::Target;
use http::HeaderValue;
use std::fmt;
use std::time::Duration;

/// The model where none is named, in the protocol that it belongs to.
const MODEL: &str = "claude-haiku-4-5-20251001";
/// Bytes of a model's name.
const LONGEST_MODEL: usize = 200;

/// Which of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `POST …/messages`
    Anthropic,
    /// `POST …/chat/completions`
    OpenAi,
}

impl Protocol {
    /// As it is configured.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// Behind the base.
    fn route(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAi => "chat/completions",
        }
    }
}

/// A key. It has no text but for the header that it goes into.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key, if it can be a header's value.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The value of a header, marked as sensitive.
    pub(crate) fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether a text repeats it, as what an endpoint says of a wrong one may.
    #[must_use]
    pub fn stands_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

/// An endpoint that may be asked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where requests go.
    pub target: Target,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// The model.
    pub model: String,
    /// The key.
    pub key: Secret,
    /// Name, TCP and TLS together.
    pub connect: Duration,
    /// One question in all, a second try included.
    pub budget: Duration,
    /// What the answer to a run that begins waits for it; zero: it does not ask.
    pub match_budget: Duration,
    /// Tokens of an answer with proposals.
    pub max_tokens: u32,
    /// Whether proposals are asked for.
    pub propose: bool,
}

/// Whether there is one.
#[derive(Debug, Clone)]
pub enum Setting {
    /// Nothing is asked, and why not, in words for an operator.
    Off(&'static str),
    /// It may be asked.
    On(Box<Config>),
}

/// What is wrong with a variable. Its value is not in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the variable {variable} is wrong: {why}")]
pub struct ConfigError {
    /// Its name.
    pub variable: &'static str,
    /// What was expected.
    pub why: &'static str,
}

/// Why nothing is asked where nothing is configured.
pub const UNSET: &str = "no endpoint is configured (BIR_DERIVE_URL, BIR_DERIVE_API_KEY)";

impl Setting {
    /// From variables; an empty one is none.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: a half configured endpoint is off, a wrongly configured one is an error.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let said = |name: &str| get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let wrong = |variable, why| Err(ConfigError { variable, why });
        let protocol = match said("BIR_DERIVE_PROTOCOL").as_deref() {
            None | Some("anthropic") => Protocol::Anthropic,
            Some("openai") => Protocol::OpenAi,
            Some(_) => return wrong("BIR_DERIVE_PROTOCOL", "expected anthropic or openai"),
        };
        let lent = || {
            let lent = said("BIR_USE_ANTHROPIC_API_KEY").as_deref() == Some("1");
            said("ANTHROPIC_API_KEY").filter(|_| lent && protocol == Protocol::Anthropic)
        };
        let (url, key) = match (said("BIR_DERIVE_URL"), said("BIR_DERIVE_API_KEY").or_else(lent)) {
            (None, None) => return Ok(Self::Off(UNSET)),
            (None, Some(_)) => return Ok(Self::Off("there is a key and no endpoint (BIR_DERIVE_URL)")),
            (Some(_), None) => return Ok(Self::Off("there is an endpoint and no key (BIR_DERIVE_API_KEY)")),
            (Some(url), Some(key)) => (url, key),
        };
        let base = url.trim_end_matches('/');
        let Ok(target) = Target::parse(&format!("{base}/{}", protocol.route())) else {
            return wrong("BIR_DERIVE_URL", "expected http:// or https:// with a host, without a password");
        };
        if base.contains(['?', '#']) {
            return wrong("BIR_DERIVE_URL", "expected an address without a query");
        }
        if !target.is_https() && !target.is_loopback() {
            return wrong("BIR_DERIVE_URL", "a key goes over https:// alone, but to this machine itself");
        }
        let Some(key) = Secret::new(&key) else {
            return wrong("BIR_DERIVE_API_KEY", "expected printable characters without spaces");
        };
        let model = match (said("BIR_DERIVE_MODEL"), protocol) {
            (Some(model), _) if model.len() > LONGEST_MODEL || model.contains(char::is_control) => {
                return wrong("BIR_DERIVE_MODEL", "expected a name of at most 200 bytes");
            }
            (Some(model), _) => model,
            (None, Protocol::Anthropic) => MODEL.to_owned(),
            (None, Protocol::OpenAi) => {
                return wrong("BIR_DERIVE_MODEL", "the protocol openai needs the name of a model");
            }
        };
        let number = |name: &'static str, default: u64, least: u64, most: u64| match said(name) {
            None => Ok(default),
            Some(text) => match text.parse::<u64>() {
                Ok(number) if number >= least => Ok(number.min(most)),
                _ => Err(ConfigError { variable: name, why: "expected a number" }),
            },
        };
        Ok(Self::On(Box::new(Config {
            target,
            protocol,
            model,
            key,
            connect: Duration::from_millis(number("BIR_DERIVE_CONNECT_MS", 2_000, 1, 10_000)?),
            // A request to the hub has 30 s in all.
            budget: Duration::from_millis(number("BIR_DERIVE_BUDGET_MS", 5_000, 1, 25_000)?),
            match_budget: Duration::from_millis(number("BIR_DERIVE_MATCH_BUDGET_MS", 0, 0, 10_000)?),
            max_tokens: u32::try_from(number("BIR_DERIVE_MAX_TOKENS", 1_000, 1, 4_000)?).unwrap_or(1_000),
            propose: said("BIR_DERIVE_PROPOSE").as_deref() != Some("0"),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const KEY: &str = "sk-canary-0123456789";

    fn read(pairs: &[(&str, &str)]) -> Result<Setting, ConfigError> {
        let all: HashMap<String, String> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Setting::from_variables(|name| all.get(name).cloned())
    }

    fn on(pairs: &[(&str, &str)]) -> Config {
        match read(pairs) {
            Ok(Setting::On(config)) => *config,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_off_unless_endpoint_and_key_are_set() {
        let url = ("BIR_DERIVE_URL", "https://api.example/v1/");
        for off in [
            &[][..],
            &[url],
            &[("BIR_DERIVE_API_KEY", KEY)],
            &[url, ("BIR_DERIVE_API_KEY", " ")],
            &[url, ("ANTHROPIC_API_KEY", KEY)],
            &[url, ("ANTHROPIC_API_KEY", KEY), ("BIR_USE_ANTHROPIC_API_KEY", "yes")],
            &[
                url,
                ("ANTHROPIC_API_KEY", KEY),
                ("BIR_USE_ANTHROPIC_API_KEY", "1"),
                ("BIR_DERIVE_PROTOCOL", "openai"),
            ],
            &[url, ("OPENAI_API_KEY", KEY)],
        ] {
            assert!(matches!(read(off), Ok(Setting::Off(_))), "{off:?}");
        }
        let config = on(&[url, ("BIR_DERIVE_API_KEY", KEY)]);
        assert_eq!(config.target.to_string(), "https://api.example/v1/messages");
        assert_eq!((config.model.as_str(), config.match_budget), (MODEL, Duration::ZERO));
        let lent = on(&[url, ("ANTHROPIC_API_KEY", KEY), ("BIR_USE_ANTHROPIC_API_KEY", "1")]);
        assert!(lent.key.stands_in(KEY));
        let own = on(&[
            ("BIR_DERIVE_URL", "http://127.0.0.1:11434/v1"),
            ("BIR_DERIVE_API_KEY", "none"),
            ("BIR_DERIVE_PROTOCOL", "openai"),
            ("BIR_DERIVE_MODEL", "small"),
            ("BIR_DERIVE_BUDGET_MS", "99999999"),
            ("BIR_DERIVE_PROPOSE", "0"),
        ]);
        assert_eq!(own.target.to_string(), "http://127.0.0.1:11434/v1/chat/completions");
        assert_eq!((own.budget.as_secs(), own.propose), (25, false));
    }

    #[test]
    fn what_is_wrong_is_named_and_no_value_is_repeated() {
        let good = [("BIR_DERIVE_URL", "https://api.example/v1"), ("BIR_DERIVE_API_KEY", KEY)];
        for (name, value) in [
            ("BIR_DERIVE_URL", "http://api.example/v1"),
            ("BIR_DERIVE_URL", "https://u:sk-canary@api.example/v1"),
            ("BIR_DERIVE_URL", "https://api.example/v1?key=sk-canary"),
            ("BIR_DERIVE_URL", "ftp://sk-canary"),
            ("BIR_DERIVE_API_KEY", "sk-canary with\u{7f}"),
            ("BIR_DERIVE_PROTOCOL", "sk-canary"),
            ("BIR_DERIVE_BUDGET_MS", "sk-canary"),
            ("BIR_DERIVE_BUDGET_MS", "0"),
            ("BIR_DERIVE_MAX_TOKENS", "-1"),
        ] {
            let mut pairs: Vec<_> = good.into_iter().filter(|(known, _)| *known != name).collect();
            pairs.push((name, value));
            let error = read(&pairs).unwrap_err();
            assert!(error.variable == name && !error.to_string().contains("sk-canary"), "{error}");
        }
        let config = on(&good);
        let shown = format!("{config:?} {:?} {:?}", config.key.header("Bearer "), read(&good));
        assert!(!shown.contains("canary"), "{shown}");
    }
}
