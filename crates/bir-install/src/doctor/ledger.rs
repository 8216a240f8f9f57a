//! The ledger against the files: is what we wrote still there, and was it written whole?

use super::{Code, Finding};
use crate::ledger::{FileRecord, HookRecord, Ledger};
use crate::plan::held::{is_wrapped, locate};
use bir_hosts::config::Role;
use bir_model::Place;
use serde_json::Value;
use std::path::Path;

/// A file as it is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Now {
    /// There is none.
    Gone,
    /// It cannot be read as what it is; why.
    Broken(String),
    /// What it says; nothing where it is ours alone and no configuration.
    Says(Value),
}

/// Looks at every file that holds something of ours. `now` looks at a file.
#[must_use]
pub fn findings(ledger: &Ledger, now: &dyn Fn(&FileRecord) -> Now) -> Vec<Finding> {
    let holds = |file: &&FileRecord| {
        file.role == Role::Own || file.layers.iter().any(|l| !l.entries.is_empty() || !l.hooks.is_empty())
    };
    ledger.files.iter().filter(holds).flat_map(|file| of_file(file, now(file))).collect()
}

fn of_file(file: &FileRecord, now: Now) -> Vec<Finding> {
    let FileRecord { path, host, .. } = file;
    let shown = path.display();
    match now {
        Now::Gone => vec![
            Finding::warning(
                Code::FileGone,
                format!("{shown} is gone, in which bir has installed itself"),
                format!("{host} reads nothing of ours there any more"),
            )
            .mend(gone(file))
            .host(host)
            .file(path),
        ],
        Now::Broken(why) => vec![broken(host, path, &why)],
        Now::Says(_) if file.role == Role::Own => Vec::new(),
        Now::Says(value) => missing(file, &value),
    }
}

/// What to do about a file that is gone: with the directory of its project it may come back.
fn gone(file: &FileRecord) -> String {
    let host = &file.host;
    let projects = file.layers.iter().filter_map(|layer| layer.project.as_deref());
    match projects.into_iter().find(|project| !project.is_dir()) {
        Some(project) => format!(
            "bir uninstall --all once {0} is there again; where it does not come back: bir uninstall {0}",
            project.display()
        ),
        None => format!("bir install --host {host}, or bir uninstall where it is there again"),
    }
}

/// A host's file that cannot be read as what it is: the host itself would not read it either.
#[must_use]
pub fn broken(host: &str, path: &Path, why: &str) -> Finding {
    // A reason that says it itself says it once.
    let why = why.strip_prefix("it cannot be read: ").unwrap_or(why);
    Finding::fault(
        Code::FileBroken,
        format!("{} cannot be read: {why}", path.display()),
        format!("{host} reads nothing of it either, and nothing can be installed there or taken out"),
    )
    .mend(format!("mend the file {}", path.display()))
    .host(host)
    .file(path)
}

fn missing(file: &FileRecord, value: &Value) -> Vec<Finding> {
    let FileRecord { path, host, .. } = file;
    let entries = file.layers.iter().flat_map(|layer| &layer.entries);
    let mut found: Vec<Finding> = entries
        .filter_map(|entry| {
            let server = &crate::plan::shaped::key(&entry.server);
            let (what, why) = match locate(value, entry).and_then(|place| place.of(value)) {
                Some(now) if is_wrapped(now) => return None,
                Some(_) => ("is not wrapped any more", "another program has written the entry anew"),
                None => ("is gone", "another program has taken the entry away"),
            };
            Some(
                Finding::warning(
                    Code::EntryGone,
                    format!("`{server}` in {} {what}, and bir had wrapped it", path.display()),
                    format!("{why}; calls of this server are not recorded"),
                )
                .mend(format!("bir install --host {host}"))
                .host(host)
                .server(server)
                .file(path),
            )
        })
        .collect();
    // Where hooks were installed again, those of the last time are there and no older ones.
    let again = |at: usize, hook: &HookRecord| {
        file.layers.iter().skip(at + 1).any(|later| later.hooks.iter().any(|other| other.to == hook.to))
    };
    let hooks =
        file.layers.iter().enumerate().flat_map(|(at, layer)| layer.hooks.iter().map(move |hook| (at, hook)));
    let hooks = hooks.filter(|(at, hook)| !again(*at, hook)).map(|(_, hook)| hook);
    let is_there = |to: &Place, hook: &Value| {
        to.of(value).and_then(Value::as_array).is_some_and(|all| all.contains(hook))
    };
    let lost = hooks.filter(|hook| !is_there(&hook.to, &hook.value)).count();
    if lost > 0 {
        found.push(
            Finding::warning(
                Code::EntryGone,
                format!("{lost} of the hooks of bir in {} are gone or changed", path.display()),
                "another program has written the file; some of what happens in a session is not recorded",
            )
            .mend(format!("bir install --host {host}"))
            .host(host)
            .file(path),
        );
    }
    found
}

/// What an interrupted install or uninstall has left, and a ledger that cannot be read.
#[must_use]
pub fn whole(pending: Option<&Path>, unreadable: Option<&str>) -> Vec<Finding> {
    let interrupted = pending.map(|file| {
        Finding::fault(
            Code::InstallInterrupted,
            "an install or uninstall of bir was interrupted",
            "some files may be changed and others not; the next one mends it first, too",
        )
        .safe("bir install")
        .file(file)
    });
    let broken = unreadable.map(|why| {
        Finding::fault(
            Code::LedgerBroken,
            format!("what bir has installed cannot be read: {why}"),
            "without it bir neither installs nor uninstalls; wrapped servers go on",
        )
        .mend(
            "use the newer bir that wrote it; where it is broken, move installed.json away: bir install and bir uninstall, run in each project, find what stands in the files",
        )
    });
    interrupted.into_iter().chain(broken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{EntryRecord, Hash, Layer};
    use bir_hosts::config::Scope;
    use bir_model::Format;
    use serde_json::json;

    fn file(role: Role, entries: &[(&str, Place)], hooks: &[(Place, Value)]) -> FileRecord {
        let entry = |(server, place): &(&str, Place)| EntryRecord {
            server: (*server).to_owned(),
            place: place.clone(),
            memo: None,
        };
        let hook = |(to, value): &(Place, Value)| HookRecord { to: to.clone(), value: value.clone() };
        let layer = Layer {
            project: None,
            at: 1,
            before: None,
            after: Hash(String::new()),
            back: None,
            entries: entries.iter().map(entry).collect(),
            hooks: hooks.iter().map(hook).collect(),
            made: Vec::new(),
            set: Vec::new(),
        };
        FileRecord {
            path: "/f".into(),
            host: "codex".into(),
            scope: Scope::User,
            format: Format::Json,
            role,
            made_dirs: Vec::new(),
            layers: vec![layer],
        }
    }

    fn codes(file: FileRecord, now: &Now) -> Vec<Code> {
        let ledger = Ledger { files: vec![file], ..Ledger::default() };
        let found = findings(&ledger, &|_| now.clone());
        assert!(
            found.iter().all(|finding| finding.mend.is_some() && finding.host.as_deref() == Some("codex"))
        );
        found.into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn what_is_still_there_is_not_told() {
        let at = |server: &str| (server.to_owned(), Place::keys(["mcpServers", server]));
        let (name, place) = at("fs");
        let servers = || file(Role::Servers, &[(&name, place.clone())], &[]);
        let says = |entry: Value| Now::Says(json!({"mcpServers": {"fs": entry}}));
        for wrapped in [
            json!({"command": "/opt/bir-proxy"}),
            json!({"command": ["/opt/bir-proxy", "--", "x"]}),
            json!({"command": {"path": "C:\\bir-proxy.exe"}}),
            json!({"cmd": "/opt/bir-proxy"}),
        ] {
            assert_eq!(codes(servers(), &says(wrapped.clone())), [], "{wrapped}");
        }
        let unwrapped = json!({"command": "npx", "args": ["-y", "files"]});
        assert_eq!(codes(servers(), &says(unwrapped)), [Code::EntryGone]);
        assert_eq!(codes(servers(), &Now::Says(json!({}))), [Code::EntryGone]);
        assert_eq!(codes(servers(), &Now::Gone), [Code::FileGone]);
        assert_eq!(codes(servers(), &Now::Broken("line 3".into())), [Code::FileBroken]);
        let twice = broken("codex", Path::new("/f"), "it cannot be read: no permission");
        assert_eq!(twice.what, "/f cannot be read: no permission");
        assert_eq!(codes(file(Role::Own, &[], &[]), &Now::Gone), [Code::FileGone]);
        assert_eq!(codes(file(Role::Own, &[], &[]), &Now::Says(Value::Null)), []);
        assert_eq!(codes(file(Role::Servers, &[], &[]), &Now::Gone), [], "nothing of ours was in it");
    }

    #[test]
    fn a_name_that_looks_like_a_credential_is_not_told() {
        let name = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        let place = Place::keys(["mcpServers", name]);
        let ledger = Ledger { files: vec![file(Role::Servers, &[(name, place)], &[])], ..Ledger::default() };
        let found = findings(&ledger, &|_| Now::Says(json!({})));
        assert_eq!(found[0].server.as_deref(), Some("[hidden]"));
        assert!(!format!("{found:?}").contains(name), "{found:?}");
    }

    #[test]
    fn an_entry_of_a_list_is_found_by_its_name() {
        let place = Place::keys(["mcpServers"]).index(0);
        let list = || file(Role::Servers, &[("fs", place.clone())], &[]);
        let now =
            Now::Says(json!({"mcpServers": [{"name": "other"}, {"name": "fs", "command": "/x/bir-proxy"}]}));
        assert_eq!(codes(list(), &now), []);
        assert_eq!(codes(list(), &Now::Says(json!({"mcpServers": [{"name": "other"}]}))), [Code::EntryGone]);
    }

    #[test]
    fn a_hook_is_found_wherever_it_stands() {
        let (to, ours) = (Place::keys(["hooks", "Stop"]), json!({"command": "bir-hooks"}));
        let hooks = || file(Role::Hooks, &[], &[(to.clone(), ours.clone())]);
        assert_eq!(codes(hooks(), &Now::Says(json!({"hooks": {"Stop": [1, ours]}}))), []);
        assert_eq!(codes(hooks(), &Now::Says(json!({"hooks": {"Stop": [1]}}))), [Code::EntryGone]);
        assert_eq!(codes(hooks(), &Now::Says(json!([]))), [Code::EntryGone]);
        // Installed again after an upgrade: the older ones are gone, as they should be.
        let (mut again, newer) = (hooks(), json!({"command": "/new/bir-hooks"}));
        again.layers.extend(file(Role::Hooks, &[], &[(to.clone(), newer.clone())]).layers);
        assert_eq!(codes(again.clone(), &Now::Says(json!({"hooks": {"Stop": [newer]}}))), []);
        assert_eq!(codes(again, &Now::Says(json!({"hooks": {"Stop": [ours]}}))), [Code::EntryGone]);
    }

    #[test]
    fn an_interrupted_install_is_a_fault_that_may_be_mended_unasked() {
        assert_eq!(whole(None, None), []);
        let found = whole(Some(Path::new("/s/pending.json")), Some("it is of version 9"));
        assert_eq!((found[0].code, found[0].safe), (Code::InstallInterrupted, true));
        assert_eq!((found[1].code, found[1].safe), (Code::LedgerBroken, false));
    }
}
