//! What the host is told when a request got no answer.
//!
//! The texts are ours alone: nothing that the upstream wrote is repeated, since an error page may hold
//! anything.

use bytes::{BufMut, Bytes, BytesMut};

/// The code of every error answer made here. In the range that JSON-RPC leaves to implementations.
pub const ERROR_CODE: i32 = -32000;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No connection, or none that lasted until an answer.
    #[error("{}", net(.0))]
    Net(#[from] bir_net::Error),
    /// HTTP 401.
    #[error("upstream requires sign-in (HTTP 401)")]
    SignIn,
    /// HTTP 403.
    #[error("upstream refused (HTTP 403)")]
    Forbidden,
    /// Any other status that is no success.
    #[error("upstream answered HTTP {0}")]
    Status(u16),
    /// HTTP 411 to a message that was streamed.
    #[error(
        "upstream answered HTTP 411: it takes no message as large as this, which is sent without a length"
    )]
    LengthRequired,
    /// The event stream ended and could not be resumed.
    #[error("the upstream closed the stream before answering; whether the call took effect is unknown")]
    StreamEnded,
    /// The event stream of an HTTP+SSE upstream ended before this message.
    #[error("the upstream's event stream has ended")]
    Gone,
    /// A success without a body, for a message that wanted an answer.
    #[error("upstream took the request and sent no answer (HTTP {0}){UNKNOWN}")]
    NoAnswer(u16),
    /// A body that is no JSON-RPC answer.
    #[error("the upstream's answer was not a JSON-RPC response{UNKNOWN}")]
    NotAResponse,
    /// A body of a type that is neither JSON nor an event stream.
    #[error("upstream answered with {0} instead of JSON or an event stream{UNKNOWN}")]
    MediaType(&'static str),
    /// Beyond `BIR_UPSTREAM_MAX_MESSAGE_BYTES`.
    #[error("upstream answer too large")]
    TooLarge,
    /// The upstream forgot the session, and initialising again failed.
    #[error("upstream no longer knows the session, and initialising again failed: {0}")]
    Reinitialise(String),
    /// The upstream forgot the session, and the message was streamed.
    #[error("upstream no longer knows the session; this message was too large to be sent twice")]
    TooLargeToRepeat,
    /// The event stream of an HTTP+SSE upstream did not begin as it must.
    #[error("the event stream did not begin with an endpoint: {0}")]
    NoEndpoint(&'static str),
    /// Too much is under way already.
    #[error("too many requests wait for the upstream; this one was not sent")]
    Crowded,
    /// The host stopped sending in the middle of a message.
    #[error("the message was not sent completely")]
    HostGone,
}

/// Whoever reads this decides whether to call again: nothing that may have been carried out is called unreachable.
const UNKNOWN: &str = "; whether the call took effect is unknown";

fn net(error: &bir_net::Error) -> String {
    match error {
        bir_net::Error::Lost => format!("the upstream closed the connection before answering{UNKNOWN}"),
        bir_net::Error::BodyLost | bir_net::Error::BadGzip => {
            format!("the upstream's answer broke off{UNKNOWN}")
        }
        _ if error.may_have_acted() => format!("upstream: {error}{UNKNOWN}"),
        bir_net::Error::RedirectRefused { .. } => format!("upstream: {error}"),
        _ => format!("upstream unreachable: {error}"),
    }
}

/// The media types whose names are repeated; whatever else the upstream wrote there may hold anything.
const MEDIA_TYPES: [&str; 9] = [
    "text/html",
    "text/plain",
    "text/xml",
    "application/xml",
    "application/xhtml+xml",
    "application/octet-stream",
    "application/problem+json",
    "application/x-ndjson",
    "multipart/form-data",
];

/// A media type as an error may name it.
pub(crate) fn media_type(found: Option<&str>) -> &'static str {
    let Some(found) = found else { return "a body without a type" };
    let known = MEDIA_TYPES.iter().find(|known| known.eq_ignore_ascii_case(found));
    known.copied().unwrap_or("a body of another type")
}

/// An error answer for the request with this raw id.
pub fn error_answer(id: &[u8], text: &str) -> Bytes {
    let message = serde_json::Value::String(text.to_owned()).to_string();
    let mut answer = BytesMut::with_capacity(id.len() + message.len() + 64);
    answer.put_slice(br#"{"jsonrpc":"2.0","id":"#);
    answer.put_slice(id);
    answer.put_slice(br#","error":{"code":"#);
    answer.put_slice(ERROR_CODE.to_string().as_bytes());
    answer.put_slice(br#","message":"#);
    answer.put_slice(message.as_bytes());
    answer.put_slice(b"}}");
    answer.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_carry_the_id_as_written() {
        for id in ["1", "1.0", "\"a\\u0062\"", "12345678901234567890123"] {
            let answer = error_answer(id.as_bytes(), "it \"broke\"");
            let text = String::from_utf8(answer.to_vec()).unwrap();
            assert!(text.contains(&format!("\"id\":{id},")), "{text}");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["error"]["message"], "it \"broke\"");
        }
    }

    #[test]
    fn what_may_have_been_carried_out_is_not_called_unreachable() {
        use bir_net::Error;
        let why = || "w".to_owned();
        let host = || "h:1".to_owned();
        for error in [
            Error::Lost,
            Error::BodyLost,
            Error::BadGzip,
            Error::NotHttp { host: host(), why: why() },
            Error::UnknownEncoding { encoding: "br" },
            Error::Abandoned,
            Error::Refused { host: host() },
            Error::Dns { host: host(), why: why() },
            Error::RedirectRefused { why: why() },
        ] {
            let unknown = error.may_have_acted();
            let text = Failure::Net(error).to_string();
            assert_eq!(text.ends_with(UNKNOWN), unknown, "{text}");
            assert!(!(unknown && text.contains("unreachable")), "{text}");
        }
        for failure in
            [Failure::NoAnswer(204), Failure::NotAResponse, Failure::MediaType("x"), Failure::StreamEnded]
        {
            assert!(failure.to_string().ends_with(UNKNOWN), "{failure}");
        }
    }

    #[test]
    fn only_known_media_types_are_repeated() {
        assert_eq!(media_type(Some("Text/HTML")), "text/html");
        assert_eq!(media_type(Some("token/SECRET")), "a body of another type");
        assert_eq!(media_type(None), "a body without a type");
    }
}
