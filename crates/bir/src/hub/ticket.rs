//! A link into the console that signs in whoever opens it, once.

use crate::error::CommandError;
use bir_record::hub::HubClient;
use serde_json::{Value, json};

/// The link; `page` is where it leads, `/` for the first page.
///
/// # Errors
///
/// The hub gives none: the token has no scope for it, or the hub is gone.
pub(crate) async fn sign_in(client: &mut HubClient, page: &str) -> Result<String, CommandError> {
    let answer: Value = client.post("/auth/ticket", &json!({})).await?.json()?;
    let url = answer["url"].as_str().unwrap_or_default();
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(CommandError::failed(
            "the hub gave no link to sign in with; open its address in a browser",
        ));
    }
    Ok(if page == "/" { url.to_owned() } else { format!("{url}&next={page}") })
}
