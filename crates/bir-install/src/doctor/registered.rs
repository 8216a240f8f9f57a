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
use std::collections::BTreeMap;
use std::path::Path;

/// A session that began so shortly after an entry was wrapped may have read the file before, ms.
const SLACK: u64 = 5_000;

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

/// Looks at each wrapped entry that counts.
#[must_use]
pub fn findings(entries: &[Entry], registered: &Registered<'_>) -> Vec<Finding> {
    let counts = |entry: &&Entry| entry.proxy.is_some() && entry.state == State::Active;
    entries.iter().filter(counts).filter_map(|entry| one(entry, registered)).collect()
}

fn one(entry: &Entry, registered: &Registered<'_>) -> Option<Finding> {
    let Entry { server, host, file, .. } = entry;
    let about = |finding: Finding| finding.host(host).server(server).file(file);
    if let Some(calls) = registered.bypassed.get(server) {
        let (calls, verb) =
            if *calls == 1 { ("1 call".to_owned(), "was") } else { (format!("{calls} calls"), "were") };
        return Some(about(
            Finding::fault(
                Code::Bypassed,
                format!("`{server}` is wrapped ({host}), and {calls} of it {verb} made that no proxy saw"),
                "a session that began before it was wrapped goes on with the old entry, or another entry counts",
            )
            .mend("restart the host; if it happens again, bir status says which entry is wrapped where"),
        ));
    }
    let wrapped_at = (registered.wrapped_at)(entry)?;
    let began = session(registered, host)?;
    let has_come = registered
        .seen
        .registration(registered.project, server)
        .is_some_and(|proxy| proxy.at + SLACK >= wrapped_at);
    (!has_come && began > wrapped_at + SLACK).then(|| {
        about(
            Finding::note(
                Code::NeverRegistered,
                format!("`{server}` is wrapped, and no proxy of it has come since, though {host} was used here"),
                "a proxy comes with the first call of its server, so either nobody called it, or the host starts another entry",
            )
            .mend(format!("call a tool of `{server}` in {host}, then look again")),
        )
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

    fn found(
        host: &str,
        wrapped: u64,
        began: Option<u64>,
        registered: Option<u64>,
        bypassed: u64,
    ) -> Vec<Code> {
        let entry = Entry {
            host: host.into(),
            server: "fs".into(),
            scope: Scope::Local,
            file: "/f".into(),
            proxy: Some("/opt/bir-proxy".into()),
            state: State::Active,
            twice: false,
            outdated: false,
            no_correlation: false,
        };
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
        let bypassed = (bypassed > 0).then(|| ("fs".to_owned(), bypassed)).into_iter().collect();
        let registered = Registered {
            project: Path::new("/p"),
            seen: &seen,
            bypassed: &bypassed,
            wrapped_at: &|_| Some(wrapped),
        };
        findings(&[entry], &registered).into_iter().map(|finding| finding.code).collect()
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
