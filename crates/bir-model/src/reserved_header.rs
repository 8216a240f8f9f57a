/// Names that belong to HTTP's or MCP's own machinery. Setting one from outside would contradict what the relay sends.
const NAMES: [&str; 20] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Names that begin so are made from the message by the relay (MCP 2026-07-28).
const PREFIX: &str = "mcp-param-";

/// Does the relay set this header of a request to a remote server itself, so that nobody can configure it? The case of
/// the name does not matter. What is no name at all is not reserved.
#[must_use]
pub fn is_reserved_header(name: &str) -> bool {
    let starts = name.as_bytes().get(..PREFIX.len());
    starts.is_some_and(|s| s.eq_ignore_ascii_case(PREFIX.as_bytes()))
        || NAMES.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_relay_sets_is_reserved_in_any_case() {
        for name in NAMES.iter().copied().chain(["Host", "CONTENT-TYPE", "Mcp-Param-X", "mcp-param-"]) {
            assert!(is_reserved_header(name), "{name}");
        }
        for name in ["", "authorization", "X-Host", "host ", "Mcp-Param", "mcp-paramé-x", "cookie"] {
            assert!(!is_reserved_header(name), "{name}");
        }
    }
}
