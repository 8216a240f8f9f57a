//! What can be told of the address of a server: whether it leaves the machine, and whether something in it may be a credential.

use super::Refusal;

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// It stays on the machine, so that nobody signs in there.
    pub(super) loopback: bool,
    /// A user name or password stands in it.
    pub(super) userinfo: bool,
    /// A part of it may be a credential: it does not go into argv.
    pub(super) secret: bool,
}

/// What paths of MCP servers are made of.
const PATH_WORDS: [&str; 22] = [
    "mcp",
    "sse",
    "api",
    "http",
    "https",
    "stream",
    "streamable",
    "message",
    "messages",
    "event",
    "events",
    "server",
    "servers",
    "rpc",
    "jsonrpc",
    "json",
    "public",
    "docs",
    "latest",
    "beta",
    "tools",
    "remote",
];

impl Address {
    /// Reads an address that has no placeholder.
    pub(super) fn read(url: &str) -> Result<Self, Refusal> {
        let refused = |why: &str| Err(Refusal::new("shape", why));
        if !url.is_ascii() || url.bytes().any(|b| b.is_ascii_control() || b == b' ') {
            return refused("its address holds characters that none may have; write them percent-encoded");
        }
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if ["http", "https"].iter().any(|s| scheme.eq_ignore_ascii_case(s)) => rest,
            _ => return refused("its address is neither http nor https, and a proxy reaches no other"),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((_, host)) => (true, host),
            None => (false, authority),
        };
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inner, _)) => inner,
            None => host.split(':').next().unwrap_or_default(),
        };
        if name.is_empty() {
            return refused("its address names no machine");
        }
        let secret = userinfo || path.contains(['?', '#']) || path.split('/').any(may_be_key);
        Ok(Self { loopback: is_loopback(name), userinfo, secret })
    }
}

/// Services hand out addresses with a key in their path, and what it looks like is theirs to say. So only what is made of words that paths
/// of servers are made of, or a version (`v1`), is known to be none.
fn may_be_key(part: &str) -> bool {
    let is_version = |word: &str| {
        word.strip_prefix('v')
            .is_some_and(|n| (1..=2).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()))
    };
    !part.is_empty()
        && !part.split(['-', '_', '.']).all(|word| PATH_WORDS.contains(&word) || is_version(word))
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        for (url, loopback, userinfo, secret) in [
            ("https://example.com/mcp", false, false, false),
            ("HTTP://LOCALHOST:80", true, false, false),
            ("http://127.0.0.1:8080/mcp", true, false, false),
            ("http://127.9.9.9", true, false, false),
            ("http://[::1]:3000/", true, false, false),
            ("http://app.localhost/", true, false, false),
            ("http://localhost.example.com/", false, false, false),
            ("http://10.0.0.1/", false, false, false),
            ("https://u:p@example.com/", false, true, true),
            ("https://localhost@example.com/", false, true, true),
            ("https://example.com/mcp?key=x", false, false, true),
            ("https://example.com/#x", false, false, true),
            ("https://example.com?x", false, false, true),
            ("https://example.com/s/0f9a8b7c6d5e4f3a/mcp", false, false, true),
            ("https://example.com/api/mcp-server/sse", false, false, false),
            ("https://example.com/a-name-of-words/mcp", false, false, true),
            ("https://example.com/v1/mcp/", false, false, false),
            ("https://example.com/s/Ab/mcp", false, false, true),
            ("https://example.com/x9/mcp", false, false, true),
            ("https://example.com/abcdefghijklmnop/mcp", false, false, true),
        ] {
            assert_eq!(Address::read(url).unwrap(), Address { loopback, userinfo, secret }, "{url}");
        }
    }

    #[test]
    fn what_a_proxy_does_not_reach_is_refused_without_a_word_of_it() {
        for url in [
            "",
            "s3cret",
            "unix:///s3cret",
            "ws://s3cret/",
            "http://",
            "http:///s3cret",
            "http://s3cret@/",
            "http://é/s3cret",
            "http://a/ s3cret",
        ] {
            let refusal = Address::read(url).unwrap_err();
            assert!(refusal.code == "shape" && !refusal.why.contains("s3cret"), "{url}");
        }
    }
}
