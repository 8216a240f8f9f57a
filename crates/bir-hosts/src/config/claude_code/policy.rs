//! What the machine's operator, or the settings, allow of servers and hooks.
//!
//! Claude Code matches servers by name, by the exact command and its arguments, or by address. With the proxy in front of it a server has
//! another command, and a remote one becomes a command. So where servers are matched by command nothing is wrapped, and where they are
//! matched by address no remote one is: it would be dropped silently, or escape what was meant for it.

use super::super::{Found, Machine, Reach, Refusal, Server};
use super::paths;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How servers are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Matcher<'f> {
    Name(&'f str),
    Command(Vec<&'f str>),
    Url(&'f str),
}

impl<'f> Matcher<'f> {
    fn read(entry: &'f Value) -> Option<Self> {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        if let Some(command) = entry.get("serverCommand") {
            return Some(Self::Command(
                command.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
            ));
        }
        text("serverUrl").map(Self::Url).or_else(|| text("serverName").map(Self::Name))
    }

    fn is(&self, name: &str, reach: &Reach) -> bool {
        match (self, reach) {
            (Self::Name(meant), _) => *meant == name,
            (Self::Command(line), Reach::Command { program, args }) => {
                line.split_first().is_some_and(|(first, rest)| first == program && rest == args)
            }
            (Self::Url(pattern), Reach::Remote { url, .. }) => fits(pattern, url),
            _ => false,
        }
    }
}

/// Whether an address fits a pattern, in which `*` stands for anything.
fn fits(pattern: &str, url: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| url.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    let found = parts.into_iter().try_fold(rest, |rest, part| {
        let at = rest.find(part)?;
        rest.get(at + part.len()..)
    });
    found.is_some_and(|rest| rest.ends_with(last))
}

/// What is allowed of servers.
#[derive(Debug, Default)]
pub(super) struct Policy<'f> {
    /// The file with the only servers that are started.
    only: Option<PathBuf>,
    /// These alone, where something is said.
    allowed: Option<Vec<Matcher<'f>>>,
    denied: Vec<Matcher<'f>>,
    /// The file that matches by command.
    by_command: Option<PathBuf>,
    /// The file that matches by address.
    by_url: Option<PathBuf>,
}

impl<'f> Policy<'f> {
    pub(super) fn read(machine: &Machine<'_>, found: &'f Found) -> Self {
        let managed = paths::managed_settings(machine);
        let is_set = |path: &PathBuf, member: &str| {
            found.at(path).is_some_and(|file| file.value.get(member) == Some(&Value::Bool(true)))
        };
        let only_operators = managed.iter().any(|path| is_set(path, "allowManagedMcpServersOnly"));
        let mut policy = Self {
            only: paths::managed_servers(machine).into_iter().find(|path| found.at(path).is_some()),
            ..Self::default()
        };
        let others = paths::settings(machine, &found.project).into_iter().map(|file| file.path);
        for (path, counts) in
            managed.into_iter().map(|path| (path, true)).chain(others.map(|path| (path, !only_operators)))
        {
            let Some(file) = found.at(&path) else { continue };
            if let Some(list) =
                file.value.get("allowedMcpServers").and_then(Value::as_array).filter(|_| counts)
            {
                let matchers = policy.matchers(list, &path);
                policy.allowed.get_or_insert_default().extend(matchers);
            }
            if let Some(list) = file.value.get("deniedMcpServers").and_then(Value::as_array) {
                let matchers = policy.matchers(list, &path);
                policy.denied.extend(matchers);
            }
        }
        policy
    }

    fn matchers(&mut self, list: &'f [Value], path: &Path) -> Vec<Matcher<'f>> {
        for entry in list {
            for (member, by) in [("serverCommand", &mut self.by_command), ("serverUrl", &mut self.by_url)] {
                if entry.get(member).is_some() {
                    by.get_or_insert_with(|| path.to_owned());
                }
            }
        }
        list.iter().filter_map(Matcher::read).collect()
    }

    /// Why Claude Code does not start a server. `managed`: the operator has set it up.
    pub(super) fn forbids(&self, name: &str, reach: &Reach, managed: bool) -> Option<String> {
        if let Some(only) = self.only.as_ref().filter(|_| !managed) {
            return Some(format!("{} allows the operator's own servers alone", only.display()));
        }
        if self.denied.iter().any(|matcher| matcher.is(name, reach)) {
            return Some("a policy in the settings of Claude Code denies it (`deniedMcpServers`)".into());
        }
        let allowed = self.allowed.as_ref()?;
        // A list that names commands is the only word on commands, and so for addresses.
        let kind = |matcher: &&Matcher<'_>| match reach {
            Reach::Command { .. } => matches!(matcher, Matcher::Command(_)),
            Reach::Remote { .. } => matches!(matcher, Matcher::Url(_)),
            Reach::Other(_) => false,
        };
        let of_kind: Vec<&Matcher<'_>> = allowed.iter().filter(kind).collect();
        let is_allowed = if of_kind.is_empty() {
            allowed.iter().any(|matcher| matcher.is(name, reach))
        } else {
            of_kind.iter().any(|matcher| matcher.is(name, reach))
        };
        (!is_allowed)
            .then(|| "a policy in the settings of Claude Code does not allow it (`allowedMcpServers`)".into())
    }

    /// Whether a server may be wrapped.
    ///
    /// # Errors
    ///
    /// A policy could miss it, or catch it, once it is.
    pub(super) fn allows_wrapping(&self, server: &Server) -> Result<(), Refusal> {
        let refused = |path: &Path, what: &str| {
            let why = format!(
                "{} tells servers apart by their {what}, which would be another behind the proxy; ask the machine's operator to go by name",
                path.display()
            );
            Err(Refusal::new("policy", why))
        };
        if let Some(only) = &self.only {
            let why = format!("{} allows the operator's own servers alone", only.display());
            return Err(Refusal::new("policy", why));
        }
        if let Some(path) = &self.by_command {
            return refused(path, "command");
        }
        match (&self.by_url, &server.reach) {
            (Some(path), Reach::Remote { .. }) => refused(path, "address"),
            _ => Ok(()),
        }
    }
}

/// Why no hooks of ours would run.
pub(super) fn hooks_refused(machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
    let says = |path: &PathBuf, member: &str| {
        found.at(path).is_some_and(|file| file.value.get(member) == Some(&Value::Bool(true)))
    };
    let managed = paths::managed_settings(machine);
    if let Some(path) = managed.iter().find(|path| says(path, "allowManagedHooksOnly")) {
        let why = format!(
            "{} allows the operator's own hooks alone (`allowManagedHooksOnly`); servers are recorded one by one",
            path.display()
        );
        return Some(Refusal::new("policy", why));
    }
    let all = paths::settings(machine, &found.project).into_iter().map(|file| file.path).chain(managed);
    let off = all.into_iter().find(|path| says(path, "disableAllHooks"))?;
    let why = format!("{} switches all hooks off (`disableAllHooks`); take that out first", off.display());
    Some(Refusal::new("disabled", why))
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{on, plain};
    use super::super::super::{FoundFile, State, System};
    use super::super::ClaudeCode;
    use super::*;
    use crate::config::Config as _;
    use serde_json::json;

    const MANAGED: &str = "/etc/claude-code/managed-settings.json";

    fn found(machine: &Machine<'_>, files: &[(&str, Value)]) -> Found {
        let project = PathBuf::from("/p");
        let all = ClaudeCode.files(machine, &project);
        let files = files.iter().map(|(path, value)| {
            let file = all.iter().find(|file| file.path == Path::new(path)).unwrap().clone();
            FoundFile { file, value: value.clone() }
        });
        Found { files: files.collect(), project }
    }

    /// What becomes of a command `c`, a remote `r`, and a remote `other`: its state in a word, or `wrapped`, or the code of its refusal.
    fn under(path: &str, policy: Value) -> Vec<String> {
        let servers = json!({ "projects": { "/p": { "mcpServers": {
            "c": { "command": "node", "args": ["c.js"] },
            "r": { "type": "http", "url": "https://r.example.com/mcp", "headers": { "A": "b" } },
            "other": { "type": "http", "url": "https://other.org/mcp", "headers": { "A": "b" } },
        }}}});
        on(System::Linux, &[], |machine| {
            let found = found(machine, &[("/h/.claude.json", servers), (path, policy)]);
            let line =
                |server: &Server| match (&server.state, ClaudeCode.wrap(machine, &found, server, &plain())) {
                    (State::Forbidden(_), Err(refusal)) => format!("forbidden {}", refusal.code),
                    (State::Active, Ok(_)) => "wrapped".into(),
                    (State::Active, Err(refusal)) => {
                        assert!(refusal.why.contains(path), "{}", refusal.why);
                        refusal.code.into()
                    }
                    other => format!("{other:?}"),
                };
            ClaudeCode
                .servers(machine, &found)
                .iter()
                .filter(|one| one.file == Path::new("/h/.claude.json"))
                .map(line)
                .collect()
        })
    }

    #[test]
    fn nothing_is_wrapped_that_a_policy_could_miss_or_catch() {
        let allow = |list: Value| json!({ "allowedMcpServers": list });
        let deny = |list: Value| json!({ "deniedMcpServers": list });
        for (policy, expected) in [
            (json!({}), ["wrapped", "wrapped", "wrapped"]),
            (allow(json!([])), ["forbidden policy", "forbidden policy", "forbidden policy"]),
            (
                allow(json!([{"serverName": "c"}, {"serverName": "r"}])),
                ["wrapped", "wrapped", "forbidden policy"],
            ),
            (
                allow(json!([{"serverName": "r"}, {"serverCommand": ["node", "c.js"]}])),
                ["policy", "policy", "forbidden policy"],
            ),
            (allow(json!([{"serverName": "c"}, {"serverCommand": ["node"]}])), ["forbidden policy"; 3]),
            (
                allow(json!([{"serverName": "c"}, {"serverUrl": "https://*.example.com/*"}])),
                ["wrapped", "policy", "forbidden policy"],
            ),
            (deny(json!([{"serverName": "c"}])), ["forbidden policy", "wrapped", "wrapped"]),
            (deny(json!([{"serverCommand": ["node", "c.js"]}])), ["forbidden policy", "policy", "policy"]),
            (deny(json!([{"serverCommand": ["npx"]}])), ["policy", "policy", "policy"]),
            (deny(json!([{"serverUrl": "https://r.*"}])), ["wrapped", "forbidden policy", "policy"]),
            (deny(json!([{"odd": 1}])), ["wrapped", "wrapped", "wrapped"]),
        ] {
            assert_eq!(under(MANAGED, policy.clone()), expected, "{policy}");
        }
        // One that cannot be read is one all the same.
        assert_eq!(under(MANAGED, deny(json!([{"serverCommand": "npx x"}]))), ["policy"; 3]);
        assert_eq!(
            under("/h/.claude/settings.json", deny(json!([{"serverCommand": ["npx"]}]))),
            ["policy"; 3]
        );
    }

    #[test]
    fn the_operators_servers_are_the_only_ones_where_they_are() {
        let only = "/etc/claude-code/managed-mcp.json";
        assert_eq!(under(only, json!({"mcpServers": {}})), ["forbidden policy"; 3]);
        on(System::Linux, &[], |machine| {
            let found = found(machine, &[(only, json!({"mcpServers": {"corp": {"command": "corp-mcp"}}}))]);
            let servers = ClaudeCode.servers(machine, &found);
            assert_eq!((servers.len(), &servers[0].state), (1, &State::Active));
            assert_eq!(ClaudeCode.wrap(machine, &found, &servers[0], &plain()).unwrap_err().code, "policy");
        });
    }

    #[test]
    fn the_operators_word_may_be_the_only_one() {
        on(System::Linux, &[], |machine| {
            let managed =
                json!({"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverName": "a"}]});
            let own = json!({"allowedMcpServers": [{"serverName": "b"}], "deniedMcpServers": [{"serverName": "a"}]});
            let reach = Reach::Command { program: "x".into(), args: vec![] };
            let both =
                found(machine, &[(MANAGED, managed.clone()), ("/h/.claude/settings.json", own.clone())]);
            let policy = Policy::read(machine, &both);
            assert!(policy.forbids("a", &reach, false).unwrap().contains("denied"));
            assert!(policy.forbids("b", &reach, false).unwrap().contains("allowed"));
            let own = found(machine, &[("/h/.claude/settings.json", own)]);
            assert_eq!(Policy::read(machine, &own).forbids("b", &reach, false), None);
        });
    }

    #[test]
    fn a_pattern_of_addresses() {
        for (pattern, url, fit) in [
            ("https://a/", "https://a/", true),
            ("https://a/", "https://a/b", false),
            ("https://a/*", "https://a/b", true),
            ("https://*.a/*", "https://x.a/b", true),
            ("https://*.a/*", "https://a/b", false),
            ("*", "", true),
            ("", "x", false),
            ("*a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, url), fit, "{pattern} {url}");
        }
    }

    #[test]
    fn hooks_that_would_not_run_are_not_installed() {
        on(System::Linux, &[], |machine| {
            let code = |path: &str, value| {
                let found = found(machine, &[(path, value)]);
                ClaudeCode.hooks_refused(machine, &found).map(|refusal| {
                    assert!(refusal.why.starts_with(path), "{}", refusal.why);
                    refusal.code
                })
            };
            let own = "/h/.claude/settings.json";
            assert_eq!(code(MANAGED, json!({"allowManagedHooksOnly": true})), Some("policy"));
            assert_eq!(code(MANAGED, json!({"allowManagedHooksOnly": false})), None);
            assert_eq!(code(own, json!({"allowManagedHooksOnly": true})), None);
            assert_eq!(code(own, json!({"disableAllHooks": true})), Some("disabled"));
            assert_eq!(code(own, json!({})), None);
        });
    }
}
