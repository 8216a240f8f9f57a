//! Names of tools as hosts show them to a model: APIs take 64 characters, and a longer one is cut or the tool left out.

use super::entries::Entry;
use super::{Code, Finding};
use bir_hosts::Host;
use bir_hosts::config::State;
use std::collections::{BTreeMap, BTreeSet};

/// The longest name of a tool that model APIs take, characters.
pub const LONGEST: usize = 64;
/// What a server's key should leave for the names of its tools, characters.
pub const LEFT: usize = 16;
/// Tools that are named in a finding.
const NAMED: usize = 3;

/// Tools by their server, as far as they are known from what was recorded.
pub type Tools = BTreeMap<String, BTreeSet<String>>;

/// Looks at the servers that are started.
#[must_use]
pub fn findings(entries: &[Entry], tools: &Tools) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let active = entries.iter().filter(|entry| matches!(entry.state, State::Active | State::Pending));
    active
        .filter(|entry| seen.insert((&entry.host, &entry.server)))
        .filter_map(|entry| one(entry, tools))
        .collect()
}

fn one(entry: &Entry, tools: &Tools) -> Option<Finding> {
    let Entry { host, server, file, .. } = entry;
    let template = Host::named(host)?.rendered_tool()?;
    let length = |tool: &str| template.replace("{server}", server).replace("{tool}", tool).chars().count();
    let too_long: Vec<(&str, usize)> = tools
        .get(server)
        .into_iter()
        .flatten()
        .map(|tool| (tool.as_str(), length(tool)))
        .filter(|(_, length)| *length > LONGEST)
        .collect();
    let about = |finding: Finding| finding.host(host).server(server).file(file);
    let mend = format!("give `{server}` a shorter key in {}, then run bir install", file.display());
    if let Some((_, longest)) = too_long.iter().max_by_key(|(_, length)| *length) {
        let named: Vec<&str> = too_long.iter().take(NAMED).map(|(tool, _)| *tool).collect();
        let more = too_long.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Some(about(
            Finding::warning(
                Code::LongName,
                format!(
                    "{host} shows tools of `{server}` under names of up to {longest} characters: {}{more}",
                    named.join(", ")
                ),
                format!("model APIs take {LONGEST}; hosts cut such a name, or leave the tool out"),
            )
            .mend(mend),
        ));
    }
    let taken = length("");
    (taken + LEFT > LONGEST).then(|| {
        about(
            Finding::warning(
                Code::LongName,
                format!(
                    "the key `{server}` leaves {} characters for the names of its tools ({host})",
                    LONGEST.saturating_sub(taken)
                ),
                format!("model APIs take {LONGEST} in all; hosts cut a longer name, or leave the tool out"),
            )
            .mend(mend),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_hosts::config::Scope;

    fn entry(host: &str, server: &str) -> Entry {
        Entry {
            host: host.into(),
            server: server.into(),
            scope: Scope::User,
            file: "/f".into(),
            proxy: None,
            state: State::Active,
            twice: false,
            by_hand: false,
            outdated: false,
            no_correlation: false,
        }
    }

    #[test]
    fn the_rendered_name_counts_and_so_does_what_is_left() {
        let tools = |tool: &str| Tools::from([("s".to_owned(), BTreeSet::from([tool.to_owned()]))]);
        let found = |host: &str, server: &str, tools: &Tools| findings(&[entry(host, server)], tools).len();
        // `mcp__s__` takes 8 of 64.
        assert_eq!(found("claude-code", "s", &tools(&"t".repeat(56))), 0);
        assert_eq!(found("claude-code", "s", &tools(&"ü".repeat(57))), 1);
        assert_eq!(found("opencode", "s", &tools(&"t".repeat(57))), 0, "`s_` takes 2");
        assert_eq!(found("zed", "s", &tools(&"t".repeat(99))), 0, "how it names tools is not known");
        // `mcp__` and `__` leave 41 for a key.
        assert_eq!(found("codex", &"k".repeat(41), &Tools::new()), 0);
        assert_eq!(found("codex", &"k".repeat(42), &Tools::new()), 1);
        let twice = [entry("codex", &"k".repeat(42)), entry("codex", &"k".repeat(42))];
        assert_eq!(findings(&twice, &Tools::new()).len(), 1);
        let long = findings(&[entry("codex", "s")], &tools(&"t".repeat(60))).remove(0);
        assert!(long.what.contains("68 characters") && long.mend.is_some(), "{}", long.what);
    }
}
