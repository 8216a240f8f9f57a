//! Names of tools as hosts render them, and the servers that they may be of.

use std::collections::BTreeMap;

/// How far a rendered name begins with a server's: `mcp__every_thing__echo` before `every-thing-echo` and `every-thing_echo`, and the longer
/// the better. None: it does not. Hosts replace other characters by `_`, and the control server decides in the same way what is a call of a
/// proxy's server.
fn fits(rendered: &str, server: &str) -> Option<(bool, usize)> {
    let (rendered, server) = (reduced(rendered), reduced(server));
    let begins = |text: &str| text.strip_prefix(&server).is_some_and(|rest| rest.starts_with('_'));
    let behind = rendered.strip_prefix("mcp").is_some_and(|rest| begins(rest.trim_start_matches('_')));
    (behind || begins(&rendered)).then_some((behind, server.len()))
}

fn reduced(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Counts by what a hook told (a server, or a tool's rendered name where it told no server), as counts by server. Of several servers that
/// fit, the one that fits best counts. What is of none of them is told as it is.
#[must_use]
pub fn by_server(counts: &BTreeMap<String, u64>, servers: &[&str]) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (told, count) in counts {
        let exact = servers.iter().find(|server| **server == told.as_str());
        let rendered = servers.iter().filter_map(|server| Some((fits(told, server)?, server))).max();
        let server = exact.or(rendered.map(|(_, server)| server)).map_or(told.as_str(), |server| *server);
        let sum = all.entry(server.to_owned()).or_default();
        *sum = sum.saturating_add(*count);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_of_a_tool_counts_for_its_server() {
        let servers = ["a", "a_b", "every-thing", "mcp"];
        for (told, server) in [
            ("a", "a"),
            ("mcp__a__echo", "a"),
            ("mcp_a_echo", "a"),
            ("mcp__a_b__echo", "a_b"),
            ("every-thing-echo", "every-thing"),
            ("mcp__every_thing__x", "every-thing"),
            ("mcp__mcp__echo", "mcp"),
            ("mcp-echo", "mcp"),
            ("other", "other"),
            ("abc_x", "abc_x"),
        ] {
            let counts = [(told.to_owned(), 2)].into();
            assert_eq!(by_server(&counts, &servers), [(server.to_owned(), 2)].into(), "{told}");
        }
        let counts = [("a".to_owned(), 1), ("mcp__a__x".to_owned(), 2), ("mcp__a__y".to_owned(), u64::MAX)];
        assert_eq!(by_server(&counts.into(), &servers), [("a".to_owned(), u64::MAX)].into());
    }
}
