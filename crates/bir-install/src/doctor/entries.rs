//! The servers of the hosts: which are wrapped, and whether the wrapped entry is the one that counts.
//!
//! ```text
//!  Survey ── of ──▶ Entry…  (no secret in it) ──▶ findings
//! ```

use super::program::is_named;
use super::{Code, Finding};
use crate::ledger::Ledger;
use crate::plan::adopt::is_known;
use crate::survey::{HostSurvey, Survey};
use crate::undo::told::is_by_hand;
use bir_hosts::config::{Reach, Scope, Server, State};
use bir_model::Place;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The relay, by its file name.
const PROXY: &str = "bir-proxy";
/// What the variables that we add to an entry begin with.
const OUR_VARIABLES: &str = "BIR_";

/// A server, without what may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The host's name, or `file`.
    pub host: String,
    /// Its key.
    pub server: String,
    /// For whom its entry counts.
    pub scope: Scope,
    /// The file of its entry.
    pub file: PathBuf,
    /// The proxy's path, where it is wrapped.
    pub proxy: Option<String>,
    /// Whether the host starts it.
    #[serde(serialize_with = "state_word")]
    pub state: State,
    /// It is wrapped, and what is wrapped is a proxy again.
    #[serde(skip)]
    pub twice: bool,
    /// It is wrapped by hand, so that no install renews it.
    pub by_hand: bool,
    /// It is a copy of ours, and not as its original any more.
    #[serde(skip)]
    pub outdated: bool,
    /// It is wrapped with `--no-correlation`.
    #[serde(skip)]
    pub no_correlation: bool,
}

/// The servers of all hosts, but for our own ones.
#[must_use]
pub fn of(survey: &Survey, ledger: &Ledger) -> Vec<Entry> {
    let copies = copies(ledger);
    let entries = |host: &HostSurvey| {
        let name = host.host.map_or("file", bir_hosts::Host::as_str);
        let servers = host.servers.iter().filter(|server| !server.ours);
        servers
            .map(|server| Entry {
                host: name.to_owned(),
                server: crate::plan::shaped::key(&server.name),
                scope: server.scope,
                file: server.file.clone(),
                proxy: server.wrapped.clone(),
                state: server.state.clone(),
                twice: server.wrapped.is_some() && stands_behind(&server.reach),
                by_hand: server.wrapped.is_some()
                    && is_by_hand(&server.entry)
                    && !is_known(ledger, name, server),
                outdated: copies.contains(&(server.file.as_path(), &server.place))
                    && server.wrapped.is_some()
                    && is_outdated(server, &host.servers),
                no_correlation: server.wrapped.is_some() && has_option(&server.entry, "--no-correlation", 0),
            })
            .collect::<Vec<_>>()
    };
    survey.hosts.iter().flat_map(entries).collect()
}

/// Entries that are copies of ours, which stand beside their originals.
fn copies(ledger: &Ledger) -> Vec<(&Path, &Place)> {
    let layers = ledger.files.iter().flat_map(|file| file.layers.iter().map(move |layer| (file, layer)));
    let entries = layers.flat_map(|(file, layer)| layer.entries.iter().map(move |entry| (file, entry)));
    let copies = entries.filter(|(_, entry)| entry.memo.is_none());
    copies.map(|(file, entry)| (file.path.as_path(), &entry.place)).collect()
}

fn stands_behind(reach: &Reach) -> bool {
    matches!(reach, Reach::Command { program, .. } if is_named(program, PROXY))
}

/// Whether a wrapped entry gives the proxy an option; what stands behind `--` is the server's own.
fn has_option(entry: &Value, option: &str, depth: usize) -> bool {
    match entry {
        Value::Array(all) => all.iter().take_while(|one| *one != "--").any(|one| one == option),
        Value::Object(all) if depth < 3 => all.values().any(|value| has_option(value, option, depth + 1)),
        _ => false,
    }
}

/// Whether what a copy was made of has changed since, or is gone.
fn is_outdated(copy: &Server, all: &[Server]) -> bool {
    let others = all.iter().filter(|other| other.name == copy.name && other.place != copy.place);
    // The host would start the one that counts more if the copy were not there.
    let rank = |server: &&Server| match server.scope {
        Scope::Managed => 0,
        Scope::Local => 1,
        Scope::Project => 2,
        Scope::User => 3,
    };
    let Some(original) = others.filter(|other| other.wrapped.is_none()).min_by_key(rank) else { return true };
    original.reach != copy.reach || variables(&original.entry) != variables(&copy.entry)
}

/// The environment that an entry gives its server, without what is ours.
fn variables(entry: &Value) -> Vec<(&str, &Value)> {
    let all = ["env", "environment"].into_iter().filter_map(|key| entry.get(key)?.as_object()).flatten();
    let mut all: Vec<_> = all.map(|(name, value)| (name.as_str(), value)).collect();
    all.retain(|(name, _)| !name.starts_with(OUR_VARIABLES));
    all.sort_by_key(|(name, _)| *name);
    all
}

/// Looks at each entry.
#[must_use]
pub fn findings(entries: &[Entry]) -> Vec<Finding> {
    let all = entries.iter().flat_map(|entry| {
        [twice(entry), outdated(entry), shadowed(entry, entries), policy(entry), pending(entry)]
            .into_iter()
            .flatten()
            .map(|finding| finding.host(&entry.host).server(&entry.server).file(&entry.file))
    });
    all.collect()
}

fn twice(entry: &Entry) -> Option<Finding> {
    let Entry { server, host, .. } = entry;
    entry.twice.then(|| {
        Finding::fault(
            Code::WrappedTwice,
            format!("the entry of `{server}` ({host}) is wrapped twice"),
            "each of its calls is recorded as two; a program that knows nothing of the ledger has wrapped it again",
        )
        .mend(format!("bir uninstall --host {host}; then take what is left of bir-proxy out of the entry by hand, and run bir install"))
    })
}

fn outdated(entry: &Entry) -> Option<Finding> {
    let Entry { server, host, .. } = entry;
    entry.outdated.then(|| {
        Finding::warning(
            Code::OutdatedCopy,
            format!("the wrapped copy of `{server}` ({host}) is not as its original any more"),
            "its original was changed or taken away since, and the host goes on with the copy",
        )
        .safe("bir install --yes")
    })
}

/// A wrapped entry in whose place one counts that is not wrapped.
fn shadowed(entry: &Entry, all: &[Entry]) -> Option<Finding> {
    let State::Shadowed(by) = &entry.state else { return None };
    entry.proxy.as_ref()?;
    let wins = |other: &&Entry| {
        (&other.host, &other.server, &other.file) == (&entry.host, &entry.server, by)
            && !matches!(other.state, State::Shadowed(_))
    };
    // One that is wrapped, too, is as good.
    if all.iter().find(wins).is_some_and(|other| other.proxy.is_some()) {
        return None;
    }
    let Entry { server, host, .. } = entry;
    let shown = by.display();
    Some(
        Finding::fault(
            Code::ShadowedEntry,
            format!("the wrapped entry of `{server}` ({host}) does not count, since one in {shown} does"),
            "the host starts that one, without a recorder",
        )
        .mend(format!("bir install --host {host} --server {server}")),
    )
}

fn policy(entry: &Entry) -> Option<Finding> {
    let State::Forbidden(says) = &entry.state else { return None };
    let Entry { server, host, .. } = entry;
    let why = format!("a policy of this machine says so: {says}");
    Some(if entry.proxy.is_some() {
        Finding::fault(Code::PolicyForbids, format!("{host} does not start the wrapped `{server}`"), why)
            .mend(format!("bir uninstall --host {host}"))
    } else {
        Finding::note(
            Code::PolicyForbids,
            format!("`{server}` of {host} may not be started, and is not wrapped"),
            why,
        )
        .mend("ask whoever runs this machine")
    })
}

fn pending(entry: &Entry) -> Option<Finding> {
    let Entry { server, host, .. } = entry;
    (entry.state == State::Pending).then(|| {
        Finding::warning(
            Code::PendingApproval,
            format!("{host} has not asked yet whether `{server}` may run"),
            "a server that nobody approved is neither started nor wrapped",
        )
        .mend(format!(
            "start {} here and approve it, then run bir install",
            if host == "claude-code" { "claude" } else { host }
        ))
    })
}

fn state_word<S: serde::Serializer>(state: &State, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match state {
        State::Active => "active",
        State::Disabled => "disabled",
        State::Pending => "pending",
        State::Rejected => "rejected",
        State::Shadowed(_) => "shadowed",
        State::Forbidden(_) => "forbidden",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{EntryRecord, FileRecord, Hash, Layer};
    use bir_hosts::Host;
    use bir_hosts::config::{Found, Memo, Role};
    use bir_model::Format;
    use serde_json::json;

    fn entry(server: &str, file: &str, wrapped: bool, state: State) -> Entry {
        Entry {
            host: "claude-code".into(),
            server: server.into(),
            scope: Scope::Local,
            file: file.into(),
            proxy: wrapped.then(|| "/opt/bir-proxy".into()),
            state,
            twice: false,
            by_hand: false,
            outdated: false,
            no_correlation: false,
        }
    }

    fn codes(entries: &[Entry]) -> Vec<Code> {
        findings(entries).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn each_state_has_its_finding() {
        let shadowed = |by: &str| State::Shadowed(by.into());
        let forbidden = State::Forbidden("deniedMcpServers".into());
        for (entries, expected) in [
            (vec![entry("a", "/l", true, State::Active)], vec![]),
            (vec![entry("a", "/l", true, State::Disabled), entry("b", "/l", false, State::Rejected)], vec![]),
            (vec![entry("a", "/l", false, State::Pending)], vec![Code::PendingApproval]),
            (vec![entry("a", "/l", true, forbidden.clone())], vec![Code::PolicyForbids]),
            (vec![entry("a", "/l", false, forbidden)], vec![Code::PolicyForbids]),
            (vec![entry("a", "/u", true, shadowed("/l"))], vec![Code::ShadowedEntry]),
            (
                vec![entry("a", "/l", false, State::Active), entry("a", "/u", true, shadowed("/l"))],
                vec![Code::ShadowedEntry],
            ),
            // The one that counts is wrapped, and what is shadowed is as it should be.
            (vec![entry("a", "/l", true, State::Active), entry("a", "/u", true, shadowed("/l"))], vec![]),
            (vec![entry("a", "/l", true, State::Active), entry("a", "/u", false, shadowed("/l"))], vec![]),
            (
                vec![Entry { twice: true, outdated: true, ..entry("a", "/l", true, State::Active) }],
                vec![Code::WrappedTwice, Code::OutdatedCopy],
            ),
        ] {
            assert_eq!(codes(&entries), expected, "{entries:?}");
        }
        let found = findings(&[entry("a", "/u", true, State::Shadowed("/l".into()))]).remove(0);
        assert!(found.what.contains("/l") && found.mend.is_some() && !found.safe);
        assert_eq!(found.server.as_deref(), Some("a"));
    }

    fn server(file: &str, scope: Scope, program: &str, entry: Value, wrapped: bool) -> Server {
        Server {
            name: "fs".into(),
            scope,
            file: file.into(),
            place: Place::keys([file, "fs"]),
            reach: Reach::Command { program: program.into(), args: vec!["--key=geheim".into()] },
            entry,
            state: State::Active,
            wrapped: wrapped.then(|| "/opt/bir-proxy".into()),
            ours: false,
        }
    }

    fn survey(servers: Vec<Server>) -> Survey {
        let host =
            HostSurvey { host: Some(Host::ClaudeCode), files: Vec::new(), found: Found::default(), servers };
        Survey { project: "/p".into(), hosts: vec![host] }
    }

    fn ledger(memo: Option<Memo>) -> Ledger {
        let entry = EntryRecord { server: "fs".into(), place: Place::keys(["/l", "fs"]), memo };
        let layer = Layer {
            project: None,
            at: 1,
            before: None,
            after: Hash(String::new()),
            back: None,
            entries: vec![entry],
            hooks: Vec::new(),
            made: Vec::new(),
            set: Vec::new(),
        };
        let file = FileRecord {
            path: "/l".into(),
            host: "claude-code".into(),
            scope: Scope::Local,
            format: Format::Json,
            role: Role::Servers,
            made_dirs: Vec::new(),
            layers: vec![layer],
        };
        Ledger { files: vec![file], ..Ledger::default() }
    }

    #[test]
    fn a_copy_is_compared_with_what_the_host_would_start_instead() {
        let copy = json!({"command": "/opt/bir-proxy", "env": {"A": "1", "BIR_UPSTREAM_HEADERS": "{}"}});
        let copy = || server("/l", Scope::Local, "npx", copy.clone(), true);
        let plain =
            |program: &str, env: Value| server("/p", Scope::Project, program, json!({"env": env}), false);
        let is_outdated = |servers: Vec<Server>, memo: Option<Memo>| {
            of(&survey(servers), &ledger(memo)).into_iter().any(|entry| entry.outdated)
        };
        assert!(!is_outdated(vec![copy(), plain("npx", json!({"A": "1"}))], None));
        assert!(is_outdated(vec![copy(), plain("uvx", json!({"A": "1"}))], None), "another program");
        assert!(is_outdated(vec![copy(), plain("npx", json!({"A": "2"}))], None), "another variable");
        assert!(is_outdated(vec![copy()], None), "the original is gone");
        assert!(!is_outdated(vec![copy()], Some(Memo::default())), "wrapped in place: there is no original");
        let user = server("/u", Scope::User, "uvx", json!({"env": {"A": "1"}}), false);
        assert!(
            !is_outdated(vec![copy(), user, plain("npx", json!({"A": "1"}))], None),
            "project before user"
        );
    }

    #[test]
    fn an_option_of_the_server_is_none_of_the_proxy() {
        let has = |entry: Value| has_option(&entry, "--no-correlation", 0);
        assert!(has(json!({"args": ["--server-name", "s", "--no-correlation", "--", "x"]})));
        assert!(has(json!({"command": {"args": ["--no-correlation"]}})));
        assert!(!has(json!({"args": ["--", "x", "--no-correlation"]})));
        assert!(!has(json!({"command": "--no-correlation"})));
    }

    #[test]
    fn what_is_shown_holds_no_secret_and_a_proxy_behind_a_proxy_is_seen() {
        let env = json!({"env": {"TOKEN": "geheim"}});
        let mut own = server("/o", Scope::User, "/opt/bir", env.clone(), false);
        own.ours = true;
        let mut twice = server("/l", Scope::Local, "/other/bir-proxy", env, true);
        twice.name = "ghp_abcdefghijklmnopqrstuvwxyz0123456789".into();
        let entries = of(&survey(vec![own, twice]), &ledger(Some(Memo::default())));
        assert_eq!(entries.len(), 1, "our own server is none of them");
        assert!(entries[0].twice);
        let shown =
            format!("{entries:?} {} {:?}", serde_json::to_string(&entries).unwrap(), findings(&entries));
        assert!(!shown.contains("geheim") && !shown.contains("ghp_"), "{shown}");
    }
}
