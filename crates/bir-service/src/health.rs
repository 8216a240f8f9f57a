//! `GET /health`: whether it works, which version, which process.

use crate::API_VERSION;
use crate::json;
use crate::problem::Problem;
use crate::state::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use std::time::Duration;

/// The store has so long to answer.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) async fn health(
    axum::extract::State(state): axum::extract::State<State>,
) -> Result<Response, Problem> {
    let alive = matches!(tokio::time::timeout(PATIENCE, state.store.ping()).await, Ok(Ok(())));
    let (status, word) =
        if alive { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "degraded") };
    json::answer(
        status,
        &json!({
            "status": word,
            "version": state.settings.version,
            "apiVersion": API_VERSION,
            "instance": state.settings.instance,
            "store": state.store.kind(),
        }),
    )
}
