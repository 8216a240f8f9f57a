//! The hooks of the hosts: are ours there, once, trusted, and reached?

use super::entries::Entry;
use super::program::is_named;
use super::{Code, Finding};
use bir_hosts::Host;
use bir_hosts::config::{Scope, State};
use bir_model::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What hosts start for our hooks, by its file name.
const OURS: &str = "bir-hooks";
/// Programs of other recorders that listen to the same hooks.
const OTHERS: [&str; 1] = ["rrepeat-hooks"];
/// Values within values that are looked into.
const DEEPEST: usize = 32;

/// A program in a file of hooks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hook {
    /// The host's name.
    pub host: String,
    /// The file.
    pub file: PathBuf,
    /// For whom the file counts.
    pub scope: Scope,
    /// The program, as it is written.
    pub program: String,
}

impl Hook {
    /// Whether it is ours.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        is_named(&self.program, OURS)
    }
}

/// The recorders' programs that a file of hooks names. `value`: what it says, where it can be read so.
#[must_use]
pub fn programs(value: Option<&Value>, text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    match value {
        Some(value) => strings(value, 0, &mut |text| found.extend(program(text))),
        // A plugin is no configuration: what stands in quotes is looked at.
        None => {
            let quoted = text.split('"').skip(1).step_by(2);
            found.extend(quoted.filter_map(program));
        }
    }
    found
}

/// The recorder's program that a command names: the command itself, or a word of a line for a shell.
fn program(command: &str) -> Option<String> {
    let is_recorder = |path: &str| is_named(path, OURS) || OTHERS.iter().any(|other| is_named(path, other));
    let command = command.trim();
    if is_recorder(command) {
        return Some(command.to_owned());
    }
    let quote = command.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let quoted = quote.and_then(|quote| command[1..].split(quote).next());
    // A path may hold what a shell has to be told: `'it'\''s'`.
    let whole = command.strip_prefix('\'').and_then(|rest| rest.split("' hook ").next());
    let whole = whole.map(|path| path.replace(r"'\''", "'")).filter(|path| is_recorder(path));
    let words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"', ';', '&']));
    let found = quoted.into_iter().chain(words).find(|word| is_recorder(word)).map(ToOwned::to_owned);
    whole.or(found)
}

fn strings(value: &Value, depth: usize, each: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        _ if depth >= DEEPEST => {}
        Value::Array(all) => all.iter().for_each(|value| strings(value, depth + 1, each)),
        Value::Object(all) => all.values().for_each(|value| strings(value, depth + 1, each)),
        _ => {}
    }
}

/// A file that ours belong into, and that holds something else where hosts look for hooks. `elements`: what would be appended.
#[must_use]
pub fn misshapen(host: &str, file: &Path, value: &Value, elements: &[(Place, Value)]) -> Option<Finding> {
    let why = elements.iter().find_map(|(to, _)| crate::plan::hooks::misshapen(value, to))?;
    Some(
        Finding::fault(
            Code::FileBroken,
            format!("hooks cannot be put into {}: {why}", file.display()),
            format!(
                "{host} may not read hooks there either: no prompts and no built-in tools are recorded by it"
            ),
        )
        .mend(format!("mend the file {}", file.display()))
        .host(host)
        .file(file),
    )
}

/// Servers wrapped without hooks, and sessions that two recorders would see. `set_up`: a project that is set up covers the directory.
#[must_use]
pub fn findings(hooks: &[Hook], entries: &[Entry], set_up: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let wrapped = |entry: &&Entry| entry.proxy.is_some() && entry.state == State::Active;
    let hosts: BTreeSet<&str> = entries.iter().filter(wrapped).map(|entry| entry.host.as_str()).collect();
    for host in hosts {
        let takes_hooks = Host::named(host).is_some_and(|host| Host::INSTALLED.contains(&host));
        let has = hooks.iter().any(|hook| hook.host == host && hook.is_ours());
        if takes_hooks && !has && set_up {
            found.push(
                Finding::warning(
                    Code::HooksMissing,
                    format!("servers of {host} are wrapped, and it has no hooks of bir here"),
                    "its calls over MCP are recorded, and neither its prompts nor its built-in tools",
                )
                .host(host)
                .mend(format!("bir install --host {host}")),
            );
        }
    }
    let of_here = |entry: &&Entry| matches!(entry.scope, Scope::Local | Scope::Project);
    if !set_up && entries.iter().any(|entry| wrapped(&entry)) {
        let (what, mend) = if entries.iter().filter(wrapped).any(|entry| of_here(&entry)) {
            ("servers of this project are wrapped, and it is not set up", "bir install")
        } else {
            (
                "servers of yours are wrapped wherever you are, and this directory belongs to no project that is set up",
                "bir install in each project, or bir install --everywhere",
            )
        };
        found.push(
            Finding::warning(
                Code::NotSetUp,
                what,
                "each server's calls become a run of their own, without prompts and built-in tools",
            )
            .mend(mend),
        );
    }
    found.extend(two_recorders(hooks));
    found
}

/// Hosts that are told to run no hooks. `off`: each with the reason. That ours are missing there is said no second time, since an install
/// would add none.
pub fn switched_off(off: &[(String, String)], hooks: &[Hook], entries: &[Entry], found: &mut Vec<Finding>) {
    found.retain(|finding| {
        finding.code != Code::HooksMissing
            || !off.iter().any(|(host, _)| finding.host.as_deref() == Some(host))
    });
    for (host, why) in off {
        let has = hooks.iter().any(|hook| hook.host == *host && hook.is_ours());
        let is_wrapped = entries.iter().any(|entry| entry.host == *host && entry.proxy.is_some());
        let finding = if has {
            Finding::fault(
                Code::HooksOff,
                format!("{host} runs none of the hooks of bir: {why}"),
                "neither prompts nor built-in tools of its sessions are recorded",
            )
        } else if is_wrapped {
            Finding::warning(
                Code::HooksOff,
                format!("servers of {host} are wrapped, and it runs no hooks: {why}"),
                "its calls over MCP are recorded, and neither its prompts nor its built-in tools",
            )
        } else {
            continue;
        };
        found.push(finding.host(host).mend(format!(
            "take that out of the file, or ask whoever runs this machine; then bir install --host {host}"
        )));
    }
}

fn two_recorders(hooks: &[Hook]) -> Vec<Finding> {
    let hosts: BTreeSet<&str> = hooks.iter().map(|hook| hook.host.as_str()).collect();
    let of_host = |host: &str| {
        let hooks: Vec<&Hook> = hooks.iter().filter(|hook| hook.host == host).collect();
        let ours: Vec<&&Hook> = hooks.iter().filter(|hook| hook.is_ours()).collect();
        let files: BTreeSet<&Path> = ours.iter().map(|hook| hook.file.as_path()).collect();
        let paths: BTreeSet<&str> = ours.iter().map(|hook| hook.program.as_str()).collect();
        let other = hooks.iter().find(|hook| !hook.is_ours());
        let shown = |all: Vec<String>| all.join(" and ");
        if let Some(other) = other.filter(|_| !ours.is_empty()) {
            let shown = other.file.display();
            return Some(
                Finding::warning(
                    Code::TwoRecorders,
                    format!("another recorder, {}, listens to {host}, too", other.program),
                    "each session is recorded by both, and what one of them answers to the host may undo what the other does",
                )
                .host(host)
                .file(&other.file)
                .mend(format!("take its hooks out of {shown}, with its own uninstaller where it has one")),
            );
        }
        if files.len() > 1 {
            let shown = shown(files.iter().map(|file| file.display().to_string()).collect());
            return Some(
                Finding::warning(
                    Code::TwoRecorders,
                    format!("{host} has hooks of bir in {shown}"),
                    "each event is told twice; it is recorded once, and costs two processes",
                )
                .host(host)
                .mend(format!(
                    "bir uninstall --host {host}, then bir install --host {host}, with --user or without"
                )),
            );
        }
        (paths.len() > 1).then(|| {
            Finding::warning(
                Code::TwoRecorders,
                format!(
                    "{host} has hooks of two installations of bir: {}",
                    shown(paths.iter().map(|p| (*p).to_owned()).collect())
                ),
                "each event is told twice, and possibly to two control servers",
            )
            .host(host)
            .mend(format!("run bir uninstall --host {host} with the one that you do not want"))
        })
    };
    hosts.into_iter().filter_map(of_host).collect()
}

/// A hook that Codex has to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The file of hooks.
    pub file: PathBuf,
    /// Its event.
    pub event: String,
    /// Under which Codex keeps its trust.
    pub key: String,
    /// What it runs.
    pub command: String,
    /// What Codex was told to trust.
    pub told: Option<String>,
    /// What Codex would have to be told, where it says so.
    pub current: Option<String>,
}

/// Our hooks in a `hooks.json` of Codex, with what `config.toml` says of them.
#[must_use]
pub fn trusted(file: &Path, hooks: &Value, config: Option<&Value>) -> Vec<Trusted> {
    let state = config.and_then(|config| config.get("hooks")?.get("state")?.as_object());
    let events = hooks.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let mut all = Vec::new();
    for (event, groups) in events {
        for (group, value) in groups.as_array().into_iter().flatten().enumerate() {
            let each = value.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate();
            for (index, hook) in each {
                let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
                if program(command).is_some_and(|program| is_named(&program, OURS)) {
                    let key = format!("{}:{}:{group}:{index}", file.display(), snake(event));
                    let told = state.and_then(|state| state.get(&key)?.get("trusted_hash")?.as_str());
                    let told = told.map(ToOwned::to_owned);
                    all.push(Trusted {
                        file: file.to_path_buf(),
                        event: event.clone(),
                        key,
                        command: command.to_owned(),
                        told,
                        current: None,
                    });
                }
            }
        }
    }
    all
}

/// Adds what Codex itself says, key by key. It may know the file by another path, through a symbolic link.
pub fn compare(hooks: &mut [Trusted], said: &[(String, String)]) {
    for hook in hooks {
        let suffix = hook.key.strip_prefix(&*hook.file.to_string_lossy()).unwrap_or(&hook.key);
        let same = said.iter().find(|(key, _)| *key == hook.key || key.ends_with(suffix));
        hook.current = same.map(|(_, hash)| hash.clone());
    }
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut out = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Hooks that Codex skips without a word. `is_here`: Codex can be started, and so be told to trust them.
#[must_use]
pub fn untrusted(hooks: &[Trusted], is_here: bool) -> Vec<Finding> {
    let is_trusted = |hook: &&Trusted| match (&hook.told, &hook.current) {
        (None, _) => false,
        (Some(told), Some(current)) => told == current,
        (Some(_), None) => true,
    };
    let files: BTreeSet<&Path> = hooks.iter().map(|hook| hook.file.as_path()).collect();
    let of_file = |file: &Path| {
        let hooks: Vec<&Trusted> = hooks.iter().filter(|hook| hook.file == file).collect();
        let missing: Vec<&str> =
            hooks.iter().filter(|hook| !is_trusted(hook)).map(|hook| hook.event.as_str()).collect();
        (!missing.is_empty()).then(|| {
            let what = format!(
                "Codex does not trust {} of {} hooks of bir: {}",
                missing.len(),
                hooks.len(),
                missing.join(", ")
            );
            // Nobody can be told where it is not there, and nobody is harmed: what it left behind is no fault for good.
            let finding = if is_here {
                Finding::fault(
                    Code::UntrustedHook,
                    what,
                    "it skips them without a word, so its sessions are not recorded whole",
                )
                .mend("bir install --host codex")
            } else {
                Finding::warning(
                    Code::UntrustedHook,
                    what,
                    "no codex is on PATH that could be told to; one that starts skips them without a word",
                )
                .mend("put codex on PATH, then run bir install --host codex; where there is no Codex any more: bir uninstall --host codex")
            };
            finding.host(Host::Codex.as_str()).file(file)
        })
    };
    files.into_iter().filter_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Severity;
    use serde_json::json;

    fn hook(host: &str, file: &str, program: &str) -> Hook {
        Hook { host: host.into(), file: file.into(), scope: Scope::User, program: program.into() }
    }

    fn entry(host: &str, scope: Scope, wrapped: bool) -> Entry {
        Entry {
            host: host.into(),
            server: "s".into(),
            scope,
            file: "/f".into(),
            proxy: wrapped.then(|| "/opt/bir-proxy".into()),
            state: State::Active,
            twice: false,
            by_hand: false,
            outdated: false,
            no_correlation: false,
        }
    }

    #[test]
    fn a_program_is_found_however_a_host_writes_it() {
        for host in Host::INSTALLED {
            for path in ["/opt/a b/bir-hooks", "/opt/it's/bir-hooks"] {
                let text = bir_hosts::hooks(host, path).unwrap().text;
                let value = serde_json::from_str::<Value>(&text).ok();
                let found = programs(value.as_ref(), &text);
                assert_eq!(found.into_iter().collect::<Vec<_>>(), [path], "{host:?}");
            }
        }
        for (command, expected) in [
            ("node /x/rrepeat-hooks pre", Some("/x/rrepeat-hooks")),
            ("\"C:\\b\\bir-hooks.exe\" hook Stop", Some("C:\\b\\bir-hooks.exe")),
            ("/x/my-hooks", None),
            ("", None),
            ("'", None),
        ] {
            assert_eq!(program(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn hooks_are_missing_where_servers_are_wrapped_for_a_host_that_has_some() {
        let codes = |hooks: &[Hook], entries: &[Entry], set_up: bool| -> Vec<Code> {
            findings(hooks, entries, set_up).into_iter().map(|finding| finding.code).collect()
        };
        let ours = [hook("codex", "/h", "/opt/bir-hooks")];
        let wrapped = entry("codex", Scope::User, true);
        assert_eq!(codes(&[], std::slice::from_ref(&wrapped), true), [Code::HooksMissing]);
        assert_eq!(codes(&ours, std::slice::from_ref(&wrapped), true), []);
        assert_eq!(
            codes(&[], std::slice::from_ref(&wrapped), false),
            [Code::NotSetUp],
            "a user's entry, too"
        );
        assert_eq!(codes(&[], &[entry("codex", Scope::User, false)], false), []);
        assert_eq!(codes(&[], &[entry("zed", Scope::User, true)], true), [], "it has no hooks");
        assert_eq!(codes(&[], &[entry("codex", Scope::User, false)], true), []);
        assert_eq!(codes(&ours, &[entry("codex", Scope::Project, true)], false), [Code::NotSetUp]);
    }

    #[test]
    fn hooks_that_a_host_does_not_run_are_told_and_missing_ones_no_second_time() {
        let off = [("codex".to_owned(), "/f switches all hooks off".to_owned())];
        let wrapped = [entry("codex", Scope::User, true)];
        let ours = [hook("codex", "/h", "/opt/bir-hooks")];
        for (hooks, entries, severity) in [
            (&ours[..], &[][..], Some(Severity::Fault)),
            (&ours[..], &wrapped[..], Some(Severity::Fault)),
            (&[][..], &wrapped[..], Some(Severity::Warning)),
            (&[][..], &[][..], None),
        ] {
            let mut found = findings(hooks, entries, true);
            switched_off(&off, hooks, entries, &mut found);
            let told: Vec<_> = found.iter().map(|one| (one.code, one.severity)).collect();
            assert_eq!(
                told,
                severity.map(|severity| (Code::HooksOff, severity)).into_iter().collect::<Vec<_>>()
            );
            assert!(
                found.iter().all(|one| one.what.contains("/f switches") && one.mend.is_some() && !one.safe)
            );
        }
    }

    #[test]
    fn two_recorders_of_a_host_are_told_once() {
        let ours = hook("codex", "/user", "/opt/bir-hooks");
        let what = |hooks: &[Hook]| -> Vec<String> {
            findings(hooks, &[], true)
                .into_iter()
                .map(|found| {
                    assert_eq!((found.code, found.host.as_deref()), (Code::TwoRecorders, Some("codex")));
                    found.what
                })
                .collect()
        };
        assert!(what(std::slice::from_ref(&ours)).is_empty());
        let other_host = hook("claude-code", "/claude", "/opt/bir-hooks");
        assert!(what(&[ours.clone(), other_host]).is_empty());
        let cases = [
            (hook("codex", "/project", "/opt/bir-hooks"), "/project and /user"),
            (hook("codex", "/user", "/old/bir-hooks"), "two installations"),
            (hook("codex", "/user", "/x/rrepeat-hooks"), "/x/rrepeat-hooks"),
        ];
        for (second, says) in cases {
            let found = what(&[ours.clone(), second]);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
        assert!(what(&[hook("codex", "/user", "/x/rrepeat-hooks")]).is_empty(), "it is nobody's second");
    }

    #[test]
    fn codex_trusts_what_its_configuration_names_with_the_right_hash() {
        let file = Path::new("/h/hooks.json");
        let ours = json!({"type": "command", "command": "'/opt/bir-hooks' hook X --host codex"});
        let theirs = json!({"type": "command", "command": "true"});
        let hooks = json!({"hooks": {
            "PreToolUse": [{"hooks": [theirs]}, {"hooks": [theirs, ours]}],
            "Stop": [{"hooks": [ours]}],
        }});
        let config = json!({"hooks": {"state": {
            "/h/hooks.json:pre_tool_use:1:1": {"trusted_hash": "sha256:a"},
            "/h/hooks.json:stop:0:0": {"trusted_hash": "sha256:b"},
        }}});
        let mut all = trusted(file, &hooks, Some(&config));
        assert_eq!(all.len(), 2);
        assert!(untrusted(&all, true).is_empty());
        let said = |pre: &str| {
            let keys = ["/real/hooks.json:pre_tool_use:1:1", "/h/hooks.json:stop:0:0"];
            keys.into_iter()
                .map(ToOwned::to_owned)
                .zip([pre.to_owned(), "sha256:b".to_owned()])
                .collect::<Vec<_>>()
        };
        compare(&mut all, &said("sha256:a"));
        assert!(untrusted(&all, true).is_empty());
        compare(&mut all, &said("sha256:other"));
        let found = untrusted(&all, true);
        assert!(found.len() == 1 && found[0].what.ends_with("1 of 2 hooks of bir: PreToolUse"), "{found:?}");
        let found = untrusted(&trusted(file, &hooks, None), true);
        assert!(found[0].what.contains("2 of 2") && !found[0].safe);
        assert_eq!(
            (found[0].severity, found[0].mend.as_deref()),
            (Severity::Fault, Some("bir install --host codex"))
        );
        // Without a Codex that could be told, an install changes nothing.
        let found = untrusted(&trusted(file, &hooks, None), false);
        assert!(
            found[0].mend.as_ref().is_some_and(|mend| mend.starts_with("put codex on PATH")),
            "{found:?}"
        );
        assert_eq!(found[0].severity, Severity::Warning);
    }
}
