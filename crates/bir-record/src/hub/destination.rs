//! Where a hub is.

use bir_net::{Target, TargetError};
use serde::{Deserialize, Serialize};
use std::path::Path;

use super::{Credentials, HubError, Token};

/// A hub, and what it takes to speak to it.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Its address without a slash at the end.
    pub url: String,
    /// The token.
    pub token: Option<Token>,
    /// Where this is known from.
    pub origin: Origin,
}

/// Where an address is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `BIR_HUB_URL` and `BIR_HUB_TOKEN`.
    Environment,
    /// `bir login`.
    Login,
    /// The embedded hub of this state directory.
    Embedded,
}

/// `hub.json`: the embedded hub while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedHub {
    /// Its address.
    pub url: String,
    /// The local user's token.
    pub token: Token,
    /// Its process.
    pub pid: u32,
    /// What `/health` says of the same process; random at its start.
    pub instance: String,
    /// The version of its API.
    #[serde(default)]
    pub api_version: u64,
    /// ms since the Unix epoch.
    #[serde(default)]
    pub started_at: u64,
    /// The port that it would have had, which another program had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<u16>,
}

impl EmbeddedHub {
    /// Name of the file.
    pub const FILE: &'static str = "hub.json";

    /// What the file says. None: no embedded hub runs, or it was killed before it began.
    #[must_use]
    pub fn load(state_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(state_dir.join(Self::FILE)).ok()?).ok()
    }
}

impl Destination {
    /// Looks up where to go: the environment, then `bir login` or the `[hub] url` of the configuration, then the embedded hub.
    ///
    /// # Errors
    ///
    /// [`HubError::State`]: `credentials.json` cannot be used.
    pub fn find(state_dir: &Path, configured: Option<&str>) -> Result<Option<Self>, HubError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(url) = variable("BIR_HUB_URL") {
            let token = variable("BIR_HUB_TOKEN").map(Token::new);
            return Ok(Some(Self::new(&url, token, Origin::Environment)));
        }
        let credentials = Credentials::load(state_dir)?;
        if let Some(url) = configured.or(credentials.current.as_deref()) {
            let url = url.trim_end_matches('/');
            let login = credentials.servers.get(url);
            return Ok(Some(Self::new(url, login.and_then(|login| login.bearer().cloned()), Origin::Login)));
        }
        let hub = EmbeddedHub::load(state_dir);
        Ok(hub.map(|hub| Self::new(&hub.url, Some(hub.token), Origin::Embedded)))
    }

    /// A hub at an address.
    #[must_use]
    pub fn new(url: &str, token: Option<Token>, origin: Origin) -> Self {
        Self { url: url.trim_end_matches('/').into(), token, origin }
    }

    /// The address as it may be shown: scheme, host and port.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// The address of a path. A token goes over plain HTTP to this machine alone, unless `BIR_HUB_ALLOW_HTTP=1`.
    ///
    /// # Errors
    ///
    /// [`HubError::Address`].
    pub fn target(&self, path: &str) -> Result<Target, HubError> {
        let refused = |why: String| HubError::Address { url: self.shown(), why };
        let target = Target::parse(&format!("{}{path}", self.url)).map_err(|e| {
            refused(match e {
                TargetError::UserInfo => {
                    "it holds a user name or password; take that out: a token goes into BIR_HUB_TOKEN, or \
                                          `bir login` fetches one"
                        .into()
                }
                e => e.to_string(),
            })
        })?;
        let allowed = || std::env::var_os("BIR_HUB_ALLOW_HTTP").is_some_and(|v| v == "1");
        if target.is_https() || target.is_loopback() || allowed() {
            Ok(target)
        } else {
            Err(refused("a token would travel in the clear; use https".into()))
        }
    }
}

/// An address as it may be shown: scheme, host and port. A user name, a path and a query may be credentials, and what is no address may
/// be anything.
#[must_use]
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return UNREADABLE.into() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    // Without these it may be a password that is cut off in its middle.
    let is_host = |c: char| c.is_alphanumeric() || "-._:[]".contains(c);
    if is_scheme && !host.is_empty() && host.chars().all(is_host) && !rest[authority.len()..].contains('@') {
        format!("{scheme}://{host}")
    } else {
        UNREADABLE.into()
    }
}

/// What stands for a text that is no address.
const UNREADABLE: &str = "(no address)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_in_the_clear_to_this_machine_only() {
        let target = |url: &str| Destination::new(url, None, Origin::Login).target("/health");
        for url in ["http://127.0.0.1:1/", "http://localhost:1", "https://hub.example.com"] {
            assert!(target(url).is_ok(), "{url}");
        }
        for url in ["http://hub.example.com", "ftp://x", "nonsense", "http://u:geheim@h"] {
            let error = target(url).unwrap_err().to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_credential() {
        for (url, is_shown) in [
            ("http://127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("https://[::1]:7411", "https://[::1]:7411"),
            ("http://u:geheim@127.0.0.1:9/x?key=geheim", "http://127.0.0.1:9"),
            ("ftp://geheim@x", "ftp://x"),
            ("https://h/geheim", "https://h"),
            ("https://h?geheim", "https://h"),
            ("https://h#geheim", "https://h"),
            ("https://u:ge/heim@h", UNREADABLE),
            ("https://u:ge?heim@h", UNREADABLE),
            ("https://a@geheim@h", "https://h"),
            ("https://", UNREADABLE),
            ("geheim", UNREADABLE),
            ("geheim://", UNREADABLE),
        ] {
            assert_eq!(shown(url), is_shown, "{url}");
            let error = Destination::new(url, None, Origin::Environment).target("/health").map(drop);
            assert!(!error.is_err_and(|e| e.to_string().contains("geheim")), "{url}");
        }
        let error =
            Destination::new("http://u:p@h", None, Origin::Environment).target("/x").unwrap_err().to_string();
        assert!(error.contains("BIR_HUB_TOKEN") && !error.contains("BIR_UPSTREAM"), "{error}");
    }

    #[test]
    fn a_login_comes_before_the_embedded_hub() {
        let dir = tempfile::tempdir().unwrap();
        let find = || Destination::find(dir.path(), None).unwrap();
        assert!(find().is_none());
        let hub = r#"{"url":"http://127.0.0.1:7411","token":"t","pid":1,"instance":"i"}"#;
        std::fs::write(dir.path().join(EmbeddedHub::FILE), hub).unwrap();
        assert_eq!(find().unwrap().origin, Origin::Embedded);
        let mut credentials = Credentials { current: Some("https://h".into()), ..Credentials::default() };
        let token = Some(Token::new("x"));
        credentials.servers.insert("https://h".into(), super::super::Login { token, ..Default::default() });
        credentials.save(dir.path()).unwrap();
        let found = find().unwrap();
        assert_eq!((found.url.as_str(), found.origin), ("https://h", Origin::Login));
        assert_eq!(found.token, Some(Token::new("x")));
        std::fs::write(Credentials::path(dir.path()), "{").unwrap();
        assert!(Destination::find(dir.path(), None).unwrap_err().to_string().contains("credentials.json"));
    }
}
