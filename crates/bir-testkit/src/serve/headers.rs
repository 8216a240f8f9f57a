//! The header rules of the modern era (2026-07-28): headers must say what the body says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http1::Request;
use crate::raw;
use crate::serve::engine::META_VERSION;

/// Whether the request's `_meta` has both required keys.
pub(crate) fn meta_complete(body: &[u8]) -> bool {
    let meta = raw::path(body, &["params", "_meta"]).unwrap_or(b"{}");
    raw::get(meta, META_VERSION).is_some()
        && raw::get(meta, "io.modelcontextprotocol/clientCapabilities").is_some()
}

/// A header value, decoded when it has the sentinel form `=?base64?…?=`; `None` when that is broken.
pub(crate) fn decode(value: &str) -> Option<String> {
    let prefix = value.get(..9).filter(|prefix| prefix.eq_ignore_ascii_case("=?base64?"));
    match prefix.and(value[9.min(value.len())..].strip_suffix("?=")) {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// What is wrong with the standard headers of a request; `None` when they say what the body says.
pub(crate) fn mismatch(request: &Request) -> Option<String> {
    let body = &request.body;
    let text = |keys: &[&str]| raw::path(body, keys).and_then(raw::string);
    let method = raw::method(body);
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => text(&["params", "name"]),
        "resources/read" => text(&["params", "uri"]),
        _ => None,
    };
    let wanted = [
        ("MCP-Protocol-Version", text(&["params", "_meta", META_VERSION])),
        ("Mcp-Method", Some(method)),
        ("Mcp-Name", name),
    ];
    for (header, expected) in wanted {
        let Some(expected) = expected else { continue };
        match request.header(header).map(decode) {
            Some(Some(value)) if value == expected => {}
            Some(Some(value)) => {
                return Some(format!("Header mismatch: {header} is '{value}', the body says '{expected}'"));
            }
            Some(None) => return Some(format!("Header mismatch: {header} is not valid base64")),
            None => return Some(format!("Header mismatch: {header} is missing")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        Request {
            body: r#"{"id":1,"method":"tools/call","params":{"name":"é","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#.into(),
            headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Request::default()
        }
    }

    #[test]
    fn headers_must_say_what_the_body_says() {
        let good = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?w6k=?="),
        ];
        assert_eq!(mismatch(&request(&good)), None);
        for n in 0..3 {
            let mut missing = good.to_vec();
            missing.remove(n);
            assert!(mismatch(&request(&missing)).is_some());
            let mut wrong = good.to_vec();
            wrong[n].1 = "other";
            assert!(mismatch(&request(&wrong)).is_some());
        }
        assert!(decode("=?base64?%%?=").is_none());
        assert!(!meta_complete(&request(&[]).body));
    }
}
