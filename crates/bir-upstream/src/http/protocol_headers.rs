//! Headers that the protocol derives from the message.
//!
//! A value that is not plain printable ASCII, has space at an end, or could be taken for the encoding itself travels as `=?base64?…?=`
//! (MCP 2026-07-28, Streamable HTTP, header encoding).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::outgoing::{Era, Facts};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// A text as a header value.
pub(crate) fn encode(text: &str) -> HeaderValue {
    let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let like_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if printable
        && !padded
        && !like_encoded
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let encoded = format!("=?base64?{}?=", STANDARD.encode(text));
    HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
}

/// The session as legacy headers name it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionHeaders {
    pub(crate) id: Option<HeaderValue>,
    pub(crate) version: Option<HeaderValue>,
}

impl SessionHeaders {
    fn put(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
    }
}

/// Headers of a POST.
pub(crate) fn post(era: &Era, facts: &Facts, session: &SessionHeaders) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::ACCEPT, JSON_OR_EVENTS);
    match era {
        Era::Legacy => session.put(&mut headers),
        Era::Modern(version) => {
            if let Some(version) = version {
                headers.insert(PROTOCOL_VERSION, version.clone());
            }
            if let Some(method) = &facts.method {
                headers.insert(METHOD, encode(method));
            }
            if let Some(name) = &facts.name {
                headers.insert(NAME, encode(name));
            }
        }
    }
    headers
}

/// Headers of a GET that opens or resumes an event stream.
pub(crate) fn get(session: &SessionHeaders, last_event_id: Option<&[u8]>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(header::ACCEPT, EVENTS);
    session.put(&mut headers);
    if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
        headers.insert(LAST_EVENT_ID, id);
    }
    headers
}

/// Headers of the DELETE that ends a session.
pub(crate) fn delete(session: &SessionHeaders) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    session.put(&mut headers);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_encoded() {
        for (text, value) in [
            ("add", "add"),
            ("a b/c:d", "a b/c:d"),
            ("", ""),
            ("\u{fc}", "=?base64?w7w=?="),
            (" a", "=?base64?IGE=?="),
            ("a\tb", "=?base64?YQli?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ] {
            assert_eq!(encode(text), value, "{text:?}");
        }
    }
}
