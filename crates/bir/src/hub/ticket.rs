//! A link into the console that signs in whoever opens it, once.

use crate::error::CommandError;
use crate::out::time;
use bir_record::hub::HubClient;
use serde_json::{Value, json};

/// How long a link of the hub of this machine works; the hub says it with each link.
pub(crate) const LIFE: &str = "once, within 10 minutes";

/// A link, and how it works.
pub(crate) struct Link {
    pub(crate) url: String,
    /// `once, within 10 minutes`.
    pub(crate) works: String,
}

/// The link; `page` is where it leads, `/` for the first page.
///
/// # Errors
///
/// The hub gives none: the token has no scope for it, or the hub is gone.
pub(crate) async fn sign_in(client: &mut HubClient, page: &str) -> Result<Link, CommandError> {
    let answer: Value = client.post("/auth/ticket", &json!({})).await?.json()?;
    let url = answer["url"].as_str().unwrap_or_default();
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(CommandError::failed(
            "the hub gave no link to sign in with; open its address in a browser",
        ));
    }
    let url = if page == "/" { url.to_owned() } else { format!("{url}&next={page}") };
    let left = answer["expiresAt"].as_u64().map(|at| at.saturating_sub(time::now_ms()));
    Ok(Link { url, works: works(left) })
}

/// In whole minutes, since the answer took its time.
fn works(left: Option<u64>) -> String {
    match left.map(|ms| ms.saturating_add(30_000) / 60_000) {
        None => "once".into(),
        Some(0 | 1) => "once, within a minute".into(),
        Some(minutes) => format!("once, within {minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_link_works_is_told_in_minutes() {
        assert_eq!(works(None), "once");
        assert_eq!(works(Some(59_990)), "once, within a minute");
        assert_eq!(works(Some(599_000)), LIFE);
    }
}
