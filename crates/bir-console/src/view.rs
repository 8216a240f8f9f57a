//! What a page is told. Plain values: whoever mounts the pages fills them, from a store or from anywhere else.

use bir_model::record::{EndReason, HostInfo, Lost, ServerInfo, Step};
use bir_model::{Outcome, RunId, Tier};
use serde::Deserialize;

/// Who looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Viewer {
    /// Their name or e-mail address.
    pub name: String,
    /// Whether they can sign out: they signed in with a browser session.
    pub can_sign_out: bool,
}

/// A run as lists and headers show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The run.
    pub id: RunId,
    /// How it was seen.
    pub tier: Tier,
    /// Whether something of it was lost.
    pub lossy: bool,
    /// How many calls are known to be lost.
    pub lost_calls: u64,
    /// The prompt, where there is one.
    pub input: Option<String>,
    /// The project's directory.
    pub project: Option<String>,
    /// The host.
    pub host: Option<HostInfo>,
    /// The servers.
    pub servers: Vec<ServerInfo>,
    /// ms since the Unix epoch.
    pub started_at: u64,
    /// ms since the Unix epoch; None while it goes on.
    pub ended_at: Option<u64>,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// When the last row was heard of, ms since the Unix epoch.
    pub last_at: u64,
    /// Calls that began.
    pub calls: u32,
    /// Calls that ended otherwise than `ok`.
    pub failed_calls: u32,
}

/// The list of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunsView {
    /// Who looks; None: nobody is signed in, as on an embedded hub with one user.
    pub viewer: Option<Viewer>,
    /// The runs of this page, newest first.
    pub runs: Vec<Run>,
    /// What was asked for.
    pub filter: Filter,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// ms since the Unix epoch.
    pub now: u64,
}

/// One run with some of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// Who looks.
    pub viewer: Option<Viewer>,
    /// The run, with its whole prompt.
    pub run: Run,
    /// The final answer.
    pub final_output: Option<String>,
    /// The host's session.
    pub session_id: Option<String>,
    /// What else the recorder told, a JSON object as text.
    pub metadata: Option<String>,
    /// Cost and tokens, a JSON object as text.
    pub metrics: Option<String>,
    /// Losses of the whole run.
    pub losses: Vec<Lost>,
    /// The rows of this page, in their order. At most 1,000 are shown well.
    pub steps: Vec<Step>,
    /// The index from which rows were asked for; 0 is the beginning.
    pub from: u32,
    /// The index at which the next page begins.
    pub next: Option<u32>,
    /// ms since the Unix epoch.
    pub now: u64,
}

/// How far back a list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Since {
    /// The last hour.
    #[serde(rename = "1h")]
    Hour,
    /// The last 24 hours.
    #[serde(rename = "24h")]
    Day,
    /// The last seven days.
    #[serde(rename = "7d")]
    Week,
    /// The last thirty days.
    #[serde(rename = "30d")]
    Month,
}

impl Since {
    pub(crate) const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    /// As it stands in an address.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Hour => "last hour",
            Self::Day => "last 24 hours",
            Self::Week => "last 7 days",
            Self::Month => "last 30 days",
        }
    }

    /// How long that is, in ms.
    #[must_use]
    pub fn ms(self) -> u64 {
        const HOUR: u64 = 3_600_000;
        match self {
            Self::Hour => HOUR,
            Self::Day => 24 * HOUR,
            Self::Week => 7 * 24 * HOUR,
            Self::Month => 30 * 24 * HOUR,
        }
    }
}

/// The filter of the list as the form sends it: `/runs?server=…&tool=…&outcome=…&project=…&tier=…&since=…&cursor=…`.
///
/// Made to be read from a query: an empty field is no filter, and so is a word that is none of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// A server's name.
    #[serde(deserialize_with = "filled")]
    pub server: Option<String>,
    /// A tool's name.
    #[serde(deserialize_with = "filled")]
    pub tool: Option<String>,
    /// How some call ended.
    #[serde(deserialize_with = "known")]
    pub outcome: Option<Outcome>,
    /// The project's directory.
    #[serde(deserialize_with = "filled")]
    pub project: Option<String>,
    /// How the run was seen.
    #[serde(deserialize_with = "known")]
    pub tier: Option<Tier>,
    /// How far back.
    #[serde(deserialize_with = "known")]
    pub since: Option<Since>,
    /// Where the last page ended.
    #[serde(deserialize_with = "filled")]
    pub cursor: Option<String>,
}

fn filled<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(d)?;
    Ok(text.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()))
}

fn known<'de, D: serde::Deserializer<'de>, T: serde::de::DeserializeOwned>(
    d: D,
) -> Result<Option<T>, D::Error> {
    let text = filled(d)?;
    Ok(text.and_then(|t| serde_json::from_value(serde_json::Value::String(t)).ok()))
}

impl Filter {
    /// Whether it leaves something out.
    #[must_use]
    pub fn is_set(&self) -> bool {
        Self { cursor: None, ..self.clone() } != Self::default()
    }

    /// As a query, with another cursor: empty, or `?…`.
    #[must_use]
    pub fn query(&self, cursor: Option<&str>) -> String {
        let fields = [
            ("server", self.server.as_deref()),
            ("tool", self.tool.as_deref()),
            ("outcome", self.outcome.map(Outcome::as_str)),
            ("project", self.project.as_deref()),
            ("tier", self.tier.map(Tier::as_str)),
            ("since", self.since.map(Since::as_str)),
            ("cursor", cursor),
        ];
        let mut out = String::new();
        for (name, value) in fields {
            if let Some(value) = value {
                out.push(if out.is_empty() { '?' } else { '&' });
                out.push_str(name);
                out.push('=');
                push_encoded(&mut out, value);
            }
        }
        out
    }
}

/// Appends a value of a query: unreserved characters as they are, everything else as its bytes.
fn push_encoded(out: &mut String, value: &str) {
    use std::fmt::Write as _;
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// The sign-in page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIn {
    /// What was typed before.
    pub email: String,
    /// Why it did not work.
    pub error: Option<String>,
    /// The path to go on to; only what begins with one `/` is taken over.
    pub next: Option<String>,
}

/// How far the approval of a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceState {
    /// The code has to be typed or confirmed.
    Ask {
        /// The code, where the address named it.
        user_code: String,
        /// Why the last try did not work.
        error: Option<String>,
    },
    /// It was allowed.
    Allowed,
    /// It was denied.
    Denied,
}

/// The page that approves a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Who approves.
    pub viewer: Option<Viewer>,
    /// How far it is.
    pub state: DeviceState,
}

/// A page that says one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Who looks.
    pub viewer: Option<Viewer>,
    /// The HTTP status, where it is an error.
    pub status: Option<u16>,
    /// What is the matter: `There is no such run`.
    pub title: String,
    /// Why, and what to do about it.
    pub text: String,
    /// A way on: label and path.
    pub link: Option<(String, String)>,
    /// For whoever reads the log.
    pub request_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_leniently_and_written_back() {
        let read = |json: &str| serde_json::from_str::<Filter>(json).unwrap();
        let filter = read(
            r#"{"server":" git hub ","tool":"","outcome":"tool_error","tier":"nonsense","since":"7d","cursor":"a=b"}"#,
        );
        assert_eq!(filter.server.as_deref(), Some("git hub"));
        assert_eq!(filter.tool, None);
        assert_eq!(filter.outcome, Some(Outcome::ToolError));
        assert_eq!(filter.tier, None);
        assert_eq!(filter.query(Some("x&y")), "?server=git%20hub&outcome=tool_error&since=7d&cursor=x%26y");
        assert!(filter.is_set());
        assert!(!read(r#"{"cursor":"x"}"#).is_set());
        assert_eq!(Filter::default().query(None), "");
        for since in Since::ALL {
            assert_eq!(read(&format!(r#"{{"since":"{}"}}"#, since.as_str())).since, Some(since));
        }
    }
}
