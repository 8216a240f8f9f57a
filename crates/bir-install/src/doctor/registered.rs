//! Are the wrapped servers in the path? A configuration does not prove it: that a proxy registered does, and that calls were made
//! which no proxy saw disproves it.
//!
//! A proxy registers with the first call that passes through it, so a server of which nobody wanted anything has not registered
//! either: that alone is a note.

use super::entries::Entry;
use super::{Code, Finding};
use bir_control_client::Seen;
use bir_hosts::Host;
use bir_hosts::config::State;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A session that began so shortly after an entry was wrapped may have read the file before, ms.
const SLACK: u64 = 5_000;
/// Servers of a host that are named in a note; of the others only the number.
const NAMED: usize = 4;

/// What is known of a project.
pub struct Registered<'a> {
    /// The project that is set up and covers the directory.
    pub project: &'a Path,
    /// Who has come.
    pub seen: &'a Seen,
    /// Calls that no proxy saw, by server.
    pub bypassed: &'a BTreeMap<String, u64>,
    /// When an entry was wrapped, ms since the Unix epoch; none: it is not known.
    pub wrapped_at: &'a dyn Fn(&Entry) -> Option<u64>,
}

/// Looks at each wrapped entry that counts. Those of which no proxy has come are one note.
#[must_use]
pub fn findings(entries: &[Entry], registered: &Registered<'_>) -> Vec<Finding> {
    let counts = |entry: &&Entry| entry.proxy.is_some() && entry.state == State::Active;
    let entries: Vec<&Entry> = entries.iter().filter(counts).collect();
    // A hook that tells no server tells the name of the tool.
    let servers: Vec<&str> = entries.iter().map(|entry| entry.server.as_str()).collect();
    let bypassed_calls = bir_hosts::by_server(registered.bypassed, &servers);
    let registered = &Registered { bypassed: &bypassed_calls, ..*registered };
    let mut found: Vec<Finding> = entries.iter().filter_map(|entry| bypassed(entry, registered)).collect();
    let never: Vec<&Entry> = entries.into_iter().filter(|entry| has_never_come(entry, registered)).collect();
    found.extend(never_registered(&never));
    found
}

fn bypassed(entry: &Entry, registered: &Registered<'_>) -> Option<Finding> {
    let Entry { server, host, file, .. } = entry;
    let calls = *registered.bypassed.get(server)?;
    let (calls, verb) =
        if calls == 1 { ("1 call".to_owned(), "was") } else { (format!("{calls} calls"), "were") };
    let finding = Finding::fault(
        Code::Bypassed,
        format!("`{server}` is wrapped ({host}), and {calls} of it {verb} made that no proxy saw"),
        "a session that began before it was wrapped goes on with the old entry, or another entry counts",
    );
    let mend = "restart the host; if it happens again, bir status says which entry is wrapped where";
    Some(finding.mend(mend).host(host).server(server).file(file))
}

/// Whether a proxy could have come since it was wrapped, and none has.
fn has_never_come(entry: &Entry, registered: &Registered<'_>) -> bool {
    if registered.bypassed.contains_key(&entry.server) {
        return false;
    }
    let Some(wrapped_at) = (registered.wrapped_at)(entry) else { return false };
    let has_come = registered
        .seen
        .registration(registered.project, &entry.server)
        .is_some_and(|proxy| proxy.at + SLACK >= wrapped_at);
    !has_come && session(registered, &entry.host).is_some_and(|began| began > wrapped_at + SLACK)
}

fn never_registered(never: &[&Entry]) -> Option<Finding> {
    let hosts: BTreeSet<&str> = never.iter().map(|entry| entry.host.as_str()).collect();
    let of_host = |host: &str| {
        let servers: Vec<_> =
            never.iter().filter(|entry| entry.host == host).map(|one| format!("`{}`", one.server)).collect();
        let more = servers.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more} of {host}", servers.into_iter().take(NAMED).collect::<Vec<_>>().join(", "))
    };
    let finding = |what: String, mend: String| {
        Finding::note(
            Code::NeverRegistered,
            what,
            "a proxy comes with the first call of its server, so either nobody called it, or the host starts another entry",
        )
        .mend(mend)
    };
    Some(match never {
        [] => return None,
        [Entry { server, host, file, .. }] => finding(
            format!("`{server}` is wrapped, and no proxy of it has come since, though {host} was used here"),
            format!("call a tool of `{server}` in {host}, then look again"),
        )
        .host(host)
        .server(server)
        .file(file),
        _ => finding(
            format!(
                "{} servers are wrapped, and no proxy of them has come since, though their hosts were used here: {}",
                never.len(),
                hosts.into_iter().map(of_host).collect::<Vec<_>>().join("; ")
            ),
            "call a tool of each in its host, then look again".into(),
        ),
    })
}

/// When a session of a host began last: hooks may tell another name of it.
fn session(registered: &Registered<'_>, host: &str) -> Option<u64> {
    let other = Host::named(host).and_then(Host::other_name);
    let names = [Some(host), other].into_iter().flatten();
    names.filter_map(|name| registered.seen.session(registered.project, name)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_control_client::seen::{SeenProxy, SeenSession};
    use bir_hosts::config::Scope;

    fn entry(host: &str, server: &str) -> Entry {
        Entry {
            host: host.into(),
            server: server.into(),
            scope: Scope::Local,
            file: "/f".into(),
            proxy: Some("/opt/bir-proxy".into()),
            state: State::Active,
            twice: false,
            by_hand: false,
            outdated: false,
            no_correlation: false,
        }
    }

    fn found(
        host: &str,
        wrapped: u64,
        began: Option<u64>,
        registered: Option<u64>,
        bypassed: u64,
    ) -> Vec<Code> {
        let mut seen = Seen::default();
        // Hooks of Gemini CLI say `gemini`.
        let told = if host == "gemini-cli" { "gemini" } else { host };
        if let Some(at) = began {
            seen.began(SeenSession { project: "/p".into(), host: told.into(), at });
        }
        if let Some(at) = registered {
            let proxy =
                SeenProxy { project: "/p".into(), server: "fs".into(), host: None, version: "1".into(), at };
            seen.registered(proxy);
        }
        let bypassed = (bypassed > 0).then(|| ("mcp__fs__read".to_owned(), bypassed)).into_iter().collect();
        let registered = Registered {
            project: Path::new("/p"),
            seen: &seen,
            bypassed: &bypassed,
            wrapped_at: &|_| Some(wrapped),
        };
        findings(&[entry(host, "fs")], &registered).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn servers_that_nobody_called_are_one_note() {
        let mut seen = Seen::default();
        for host in ["codex", "claude-code"] {
            seen.began(SeenSession { project: "/p".into(), host: host.into(), at: 60_000 });
        }
        let bypassed = [("git".to_owned(), 2)].into_iter().collect();
        let registered = Registered {
            project: Path::new("/p"),
            seen: &seen,
            bypassed: &bypassed,
            wrapped_at: &|_| Some(1),
        };
        let mut entries: Vec<Entry> =
            ["a", "b", "c", "d", "e", "git"].map(|name| entry("codex", name)).into();
        entries.push(entry("claude-code", "a"));
        let found = findings(&entries, &registered);
        let codes: Vec<Code> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::Bypassed, Code::NeverRegistered]);
        assert!(
            found[1].what.starts_with("6 servers are wrapped")
                && found[1].what.ends_with("`a` of claude-code; `a`, `b`, `c`, `d` and 1 more of codex"),
            "{found:?}"
        );
    }

    #[test]
    fn a_proxy_that_never_came_is_told_only_where_one_could_have_come() {
        const WRAPPED: u64 = 1_000_000;
        for host in ["codex", "gemini-cli"] {
            let found = |began, registered, bypassed| found(host, WRAPPED, began, registered, bypassed);
            assert_eq!(found(None, None, 0), [], "no session since");
            assert_eq!(found(Some(WRAPPED - 1), None, 0), [], "the session is older");
            assert_eq!(found(Some(WRAPPED + 60_000), None, 0), [Code::NeverRegistered]);
            assert_eq!(found(Some(WRAPPED + 60_000), Some(WRAPPED + 70_000), 0), []);
            assert_eq!(found(Some(WRAPPED + 60_000), Some(WRAPPED - 70_000), 0), [Code::NeverRegistered]);
            assert_eq!(found(Some(WRAPPED + 60_000), Some(WRAPPED + 70_000), 3), [Code::Bypassed]);
            assert_eq!(found(None, None, 1), [Code::Bypassed]);
        }
    }
}
