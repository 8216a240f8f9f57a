//! What an answer to a POST means before its messages are read: whether it is a JSON-RPC answer at all, whether
//! the session is gone, whether the address serves HTTP+SSE, and what of it is kept.

use std::time::Duration;

use bir_net::Response;
use bir_wire::{Field, Kind, Message, Scanner};
use bytes::Bytes;

use super::assemble::{lacks_id, with_id};
use super::ids::same_value;
use super::inbox::Inbox;
use super::job::{Job, Payload};
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
        // A session of another origin is not one that the configured address would know.
        if job.facts.method_is("initialize")
            && response.status().is_success()
            && response.target().same_origin(origin)
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
            411 if matches!(job.payload, Payload::Stream(..)) => return Err(Failure::LengthRequired),
            _ => {}
        }
        let refused = Failure::Status(status);
        if !is_json || !is_answer(&body) {
            return Err(refused);
        }
        let _writing = self.registry.writing();
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
            if message.envelope().raw(Field::Id).is_some_and(|found| same_value(found, &id)) {
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
    is_response(&Scanner::default().finish_whole(body))
}

/// Whether a message is a JSON-RPC response. Web frameworks, gateways and OAuth have JSON of their own with an
/// `error` in it: it counts only as an object with an integer `code`. A code like an HTTP status needs
/// an `id` or a `jsonrpc` beside it.
pub(super) fn is_response(message: &Message<'_>) -> bool {
    let envelope = message.envelope();
    match message.kind() {
        Kind::Response => true,
        Kind::ErrorResponse => {
            let code =
                envelope.raw(Field::ErrorCode).and_then(|raw| str::from_utf8(raw).ok()?.parse::<i64>().ok());
            let says_so = || {
                envelope.has(Field::Id)
                    || !message.is_whole()
                    || memchr::memmem::find(message.head(), br#""jsonrpc""#).is_some()
            };
            code.is_some_and(|code| code < 0 || says_so())
        }
        _ => false,
    }
}

/// What servers write when they do not know a session id, in lower case.
const SESSION_GONE: [&str; 9] = [
    "session not found",
    "session expired",
    "session terminated",
    "no valid session",
    "unknown session",
    "invalid session",
    "invalid or missing session",
    "invalid or expired session",
    "not initialized",
];
/// The whole text with which the Python SDK refuses an unknown session id where it answers without JSON.
const PLAIN_SESSION_GONE: &[u8] = b"Bad Request: No valid session ID provided";

/// Whether a rejection of a request with this id, which carried a session id, means that the session is unknown:
/// a 404 that is not the JSON-RPC answer to it, and a 400 that says so.
pub(super) fn says_session_is_gone(status: u16, body: &[u8], id: Option<&[u8]>) -> bool {
    if !matches!(status, 400 | 404) {
        return false;
    }
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(body);
    if !is_response(&message) {
        return status == 404 || body.trim_ascii() == PLAIN_SESSION_GONE;
    }
    if matches!(message.envelope().raw(Field::ErrorCode), Some(b"-32000" | b"-32001"))
        && speaks_of_a_session(body)
    {
        return true;
    }
    status == 404
        && message.envelope().raw(Field::ErrorCode) != Some(b"-32601")
        && message.envelope().raw(Field::Id).is_none_or(|found| !id.is_some_and(|id| same_value(found, id)))
}

fn speaks_of_a_session(body: &[u8]) -> bool {
    let body = serde_json::from_slice::<serde_json::Value>(body).ok();
    let text =
        body.as_ref().and_then(|body| body.pointer("/error/message")).and_then(serde_json::Value::as_str);
    text.map(str::to_ascii_lowercase).is_some_and(|text| SESSION_GONE.iter().any(|gone| text.contains(gone)))
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
        let gone = |status, body: &[u8]| says_session_is_gone(status, body, Some(b"7"));
        assert!(gone(404, b""));
        assert!(gone(404, b"<html>"));
        assert!(gone(404, br#"{"error":"Not Found","statusCode":404}"#));
        assert!(gone(404, &error(-32001, "Session not found")));
        assert!(gone(404, &error(-32600, "Not Found: Invalid or expired session ID")));
        assert!(!gone(404, &error(-32601, "Method not found")));
        for text in [
            "Bad Request: No valid session ID provided",
            "Bad Request: Server not initialized",
            "Session not found",
            "Invalid or missing session ID",
        ] {
            assert!(gone(400, &error(-32000, text)), "{text}");
            assert!(gone(400, &error(-32001, text)), "{text}");
            assert!(!gone(400, &error(-32602, text)), "{text}");
        }
        assert!(gone(400, b"Bad Request: No valid session ID provided"));
        assert!(!gone(400, b"session"));
        assert!(!gone(400, &error(-32000, "The browser session has no page")));
        assert!(!gone(400, br#"{"error":{"message":"Session not found"}}"#));
        assert!(!gone(500, &error(-32000, "Session not found")));
        let own = |code: i32, text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"{text}"}}}}"#).into_bytes()
        };
        assert!(!gone(404, &own(-32002, "Resource not found")), "the answer to the request itself");
        assert!(gone(404, &own(-32001, "Session not found")));
    }

    #[test]
    fn an_error_of_a_web_framework_is_no_answer() {
        for body in [
            r#"{"timestamp":"2026","status":500,"error":"Internal Server Error","path":"/mcp"}"#,
            r#"{"statusCode":404,"error":"Not Found","message":"Route POST:/mcp not found"}"#,
            r#"{"error":"invalid_token","error_description":"x"}"#,
            r#"{"error":{"reason":"x"}}"#,
            r#"{"error":{"message":"rate","code":"rate_limited"}}"#,
            r#"{"error":{"code":503,"message":"The service is unavailable","status":"UNAVAILABLE"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1.5,"message":"m"}}"#,
            r#"{"result":5}"#,
            "",
        ] {
            assert!(!is_answer(body.as_bytes()), "{body}");
        }
        for body in [
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}"#,
            r#"{"id":null,"error":{"code":1,"message":"m"}}"#,
            r#"{"error":{"code":-32022,"message":"m"}}"#,
            r#"{"id":1,"result":{}}"#,
        ] {
            assert!(is_answer(body.as_bytes()), "{body}");
        }
    }
}
