//! Signing in with a browser that may be elsewhere.

use super::{Pair, refused};
use crate::error::CommandError;
use crate::out::{progress, safe, time};
use crate::say;
use bir_record::hub::{HubClient, HubError};
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};

/// Between two questions, where the hub does not say; and the least and the most.
const INTERVAL: (u64, u64, u64) = (5, 1, 60);
/// So much longer after `slow_down`.
const SLOWER: Duration = Duration::from_secs(5);
/// How long is waited at most, whatever the hub says.
const LONGEST: Duration = Duration::from_secs(30 * 60);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grant {
    device_code: String,
    user_code: String,
    verification_uri: String,
    #[serde(default)]
    expires_at: Option<u64>,
    #[serde(default)]
    interval: Option<u64>,
}

/// What an answer to a question means.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Again,
    Slower,
    Over,
}

fn next(e: &HubError) -> Next {
    match (e.status(), e.code()) {
        (Some(428), _) | (_, Some("authorization_pending")) => Next::Again,
        (Some(429), _) | (_, Some("slow_down")) => Next::Slower,
        // A hub that is away for a moment has forgotten nothing yet.
        (None, _) if matches!(e, HubError::Unreachable { .. } | HubError::Timeout { .. }) => Next::Slower,
        _ => Next::Over,
    }
}

pub(super) async fn sign_in(client: &mut HubClient) -> Result<Pair, CommandError> {
    let grant: Grant = client.post("/auth/device", &json!({})).await.map_err(refused)?.json()?;
    say(format_args!(
        "open {} in a browser and enter the code {}",
        safe::line(&grant.verification_uri),
        safe::line(&grant.user_code)
    ));
    let life = grant.expires_at.map(|end| Duration::from_millis(end.saturating_sub(time::now_ms())));
    let until = Instant::now() + life.unwrap_or(LONGEST).min(LONGEST);
    let mut pause = Duration::from_secs(grant.interval.unwrap_or(INTERVAL.0).clamp(INTERVAL.1, INTERVAL.2));
    let bar = progress::spinner("waiting for the browser; Ctrl-C gives up");
    let result = loop {
        tokio::time::sleep(pause).await;
        match client.post("/auth/device/token", &json!({ "deviceCode": grant.device_code })).await {
            Ok(answer) => break answer.json().map_err(CommandError::from),
            Err(e) => match next(&e) {
                Next::Over => break Err(refused(e)),
                Next::Slower => pause = (pause + SLOWER).min(Duration::from_secs(INTERVAL.2)),
                Next::Again => {}
            },
        }
        if Instant::now() >= until {
            break Err(CommandError::failed(
                "nobody approved the code in time; run `bir login --device` again",
            ));
        }
    };
    bar.finish_and_clear();
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_record::hub::Problem;

    #[test]
    fn each_answer_of_the_hub_has_its_meaning() {
        for (status, code, expected) in [
            (428, "authorization_pending", Next::Again),
            (429, "slow_down", Next::Slower),
            (410, "expired_token", Next::Over),
            (403, "access_denied", Next::Over),
            (500, "internal", Next::Over),
        ] {
            let problem = Box::new(Problem { code: code.into(), ..Problem::default() });
            let e = HubError::Refused { status, problem, retry_after: None };
            assert_eq!(next(&e), expected, "{code}");
        }
        assert_eq!(next(&HubError::Unreachable { url: String::new(), why: String::new() }), Next::Slower);
    }
}
