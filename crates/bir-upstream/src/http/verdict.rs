//! What an answer to a POST means before its messages are read: whether it is a JSON-RPC answer at all, whether
//! the session is gone, whether the address serves HTTP+SSE, and what of it is kept.

use std::time::Duration;

use bir_net::Response;
use bir_wire::{Field, Kind, Scanner};
use bytes::Bytes;

use super::assemble::{lacks_id, with_id};
use super::exchange::Job;
use super::inbox::Inbox;
use super::protocol_headers;
use super::upstream::Shared;
use super::{Failure, Transport};

/// Most bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How long an error body may take to arrive.
const ERROR_BODY_BUDGET: Duration = Duration::from_secs(10);

impl<I: Inbox> Shared<I> {
    pub(super) fn keep_session(&self, job: &Job, response: &Response) {
        let mut state = self.state();
        let origin = &self.options.target;
        if response.target() != origin && response.target().same_origin(origin) {
            state.moved_to = Some(response.target().clone());
        }
        if job.facts.method_is("initialize")
            && response.status().is_success()
            && let Some(id) = response.headers().get(protocol_headers::SESSION_ID)
        {
            state.session.id = Some(id.clone());
        }
    }

    pub(super) async fn take_refusal(
        &self,
        job: &Job,
        status: u16,
        is_json: bool,
        body: Vec<u8>,
    ) -> Result<(), Failure> {
        match status {
            401 => return Err(Failure::SignIn),
            403 => return Err(Failure::Forbidden),
            _ => {}
        }
        let refused = Failure::Status(status);
        if !is_json || !is_answer(&body) {
            return Err(refused);
        }
        let body = Bytes::from(flat(body));
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(&body);
        if let Some(id) = job.entry.only_unanswered() {
            if lacks_id(&message) {
                job.entry.all_answered();
                let spliced = with_id(&body, &message, &id);
                let mut scanner = Scanner::default();
                let message = scanner.finish_whole(&spliced);
                self.inbox.message(spliced.clone(), &message).await;
                return Ok(());
            }
            if message.envelope().raw(Field::Id) == Some(&id[..]) {
                job.entry.all_answered();
                self.inbox.message(body.clone(), &message).await;
                return Ok(());
            }
        } else if matches!(job.facts.kind, Kind::NotJson(_) | Kind::Other) {
            self.inbox.message(body.clone(), &message).await;
        }
        Err(refused)
    }

    pub(super) fn may_be_sse(&self, job: &Job, status: u16) -> bool {
        self.options.transport == Transport::Auto
            && job.facts.method_is("initialize")
            && matches!(status, 400 | 404 | 405)
    }
}

/// The beginning of an error body, and whether it says to be JSON.
pub(super) async fn error_body(response: Response) -> (bool, Vec<u8>) {
    let is_json = response.is_of_type("application/json");
    let body = tokio::time::timeout(ERROR_BODY_BUDGET, response.head_of_body(MAX_ERROR_BODY)).await;
    (is_json, body.ok().and_then(Result::ok).unwrap_or_default())
}

/// Whether a body is one JSON-RPC response.
pub(super) fn is_answer(body: &[u8]) -> bool {
    let mut scanner = Scanner::default();
    matches!(scanner.finish_whole(body).kind(), Kind::Response | Kind::ErrorResponse)
}

/// Whether a rejection means that the session is unknown: any 404 but "unknown method", and a 400 that says
/// so.
pub(super) fn says_session_is_gone(status: u16, body: &[u8]) -> bool {
    let error = serde_json::from_slice::<serde_json::Value>(body).ok();
    let error = error.as_ref().and_then(|body| body.get("error"));
    match status {
        404 => error.and_then(|error| error.get("code")).and_then(serde_json::Value::as_i64) != Some(-32601),
        400 => error.and_then(|error| error.get("message")).and_then(serde_json::Value::as_str).is_some_and(
            |text| {
                let text = text.to_ascii_lowercase();
                text.contains("session")
                    || text.contains("not initialized")
                    || text.contains("not initialised")
            },
        ),
        _ => false,
    }
}

/// A body as one line.
fn flat(mut body: Vec<u8>) -> Vec<u8> {
    let end = body.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    body.truncate(end);
    for byte in body.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')) {
        *byte = b' ';
    }
    let start = body.iter().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or_default();
    body.split_off(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_rejection_means_a_forgotten_session() {
        let error = |code: i32, text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{text}"}}}}"#)
                .into_bytes()
        };
        assert!(says_session_is_gone(404, b""));
        assert!(says_session_is_gone(404, &error(-32001, "Session not found")));
        assert!(!says_session_is_gone(404, &error(-32601, "Method not found")));
        assert!(says_session_is_gone(400, &error(-32000, "Bad Request: No valid session ID provided")));
        assert!(says_session_is_gone(400, &error(-32000, "Server not initialized")));
        assert!(!says_session_is_gone(400, &error(-32602, "Invalid params")));
        assert!(!says_session_is_gone(400, b"session"));
        assert!(!says_session_is_gone(500, &error(-32000, "session")));
    }
}
