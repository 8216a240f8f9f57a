//! The programs that entries and hooks start: are they there, and of which release?

use super::{Code, Finding};
use crate::plan::held::names;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Servers of a host that are named; of the others only the number.
const NAMED: usize = 4;

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// It is the one of this installation.
    Ours,
    /// It is another one, of this release or where none is told.
    Other,
    /// It is of another release.
    Version(String),
    /// There is none.
    Missing,
    /// It cannot be started, or is another program than its name says.
    NotExecutable,
    /// It was asked for its version, and did not answer in time.
    Silent,
}

/// A place at which a program is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Its path, as it is written.
    pub path: String,
    /// What is known of it.
    pub program: Program,
    /// The file that names it.
    pub file: PathBuf,
    /// The host of the file.
    pub host: String,
    /// The server whose entry it is; none: a hook.
    pub server: Option<String>,
    /// The entry is wrapped by hand, and no install writes another program into it.
    pub by_hand: bool,
}

impl Use {
    /// The program cannot be started.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.program, Program::Missing | Program::NotExecutable)
    }

    /// An install writes another program in its place.
    #[must_use]
    pub fn is_to_be_renewed(&self) -> bool {
        !self.by_hand && (self.is_dead() || matches!(self.program, Program::Version(_)))
    }
}

/// The programs of this installation that are not there: with one of them missing nothing can be installed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacking {
    /// What stands in front of servers.
    pub proxy: bool,
    /// What hosts start for their hooks.
    pub hooks: bool,
}

impl Lacking {
    fn names(self) -> Option<&'static str> {
        match (self.proxy, self.hooks) {
            (false, false) => None,
            (true, false) => Some("bir-proxy is"),
            (false, true) => Some("bir-hooks is"),
            (true, true) => Some("bir-proxy and bir-hooks are"),
        }
    }
}

/// Looks at each program, told once for all that name it. `version`: the release of this program.
#[must_use]
pub fn findings(uses: &[Use], version: &str, lacking: Lacking) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut told: Vec<(&str, bool, bool)> = Vec::new();
    let key_of = |used: &'_ Use| (used.server.is_some(), used.by_hand);
    for used in uses {
        let key = (used.path.as_str(), used.server.is_some(), used.by_hand);
        if !told.contains(&key) {
            told.push(key);
            let group: Vec<&Use> =
                uses.iter().filter(|one| one.path == used.path && key_of(one) == key_of(used)).collect();
            found.extend(finding(used, &group, version, lacking));
        }
    }
    found
}

fn finding(first: &Use, group: &[&Use], version: &str, lacking: Lacking) -> Option<Finding> {
    let (what, path) = (what(group), &first.path);
    let one = group.len() == 1;
    let start = if one && first.server.is_some() { "starts" } else { "start" };
    let consequence = match (first.server.is_some(), one) {
        (true, true) => "the host cannot start this server",
        (true, false) => "the hosts cannot start these servers",
        (false, _) => "prompts and built-in tools are not recorded",
    };
    let finding = match &first.program {
        Program::Ours | Program::Other => return None,
        Program::Missing => Finding::fault(
            Code::DeadPath,
            format!("{what} {start} {path}, which is not there"),
            format!("{consequence}; the program was moved, or removed by an upgrade"),
        ),
        Program::NotExecutable => Finding::fault(
            Code::DeadPath,
            format!("{what} {start} {path}, which cannot be started"),
            format!(
                "{consequence}; it is empty or broken, no program of this machine, or may not be run by you"
            ),
        ),
        Program::Silent => Finding::warning(
            Code::DeadPath,
            format!("{what} {start} {path}, which did not tell its version in time"),
            format!("it hangs, and then {consequence}; or this machine is very busy"),
        ),
        Program::Version(other) => Finding::warning(
            Code::OtherVersion,
            format!("{what} {start} {path}, which is release {other}, and this is {version}"),
            "programs of two releases work together, and what one of them does not know is not recorded",
        ),
    };
    let finding = match lacking.names() {
        _ if first.program == Program::Silent => finding.mend(format!(
            "run {path} --version; where it hangs too, install bir again, then run bir install --yes"
        )),
        _ if first.by_hand => {
            finding.mend("it is wrapped by hand: put the path of a bir-proxy that works into the entry")
        }
        None => finding.safe("bir install --yes"),
        // Nothing can be written anew without a program to name.
        Some(names) => {
            finding.mend(format!("{names} missing beside bir; install bir again, then run bir doctor --fix"))
        }
    };
    let hosts: BTreeSet<String> = group.iter().map(|one| one.host.clone()).collect();
    let files: BTreeSet<PathBuf> = group.iter().map(|one| one.file.clone()).collect();
    Some(Finding {
        host: if hosts.len() == 1 { hosts.into_iter().next() } else { None },
        file: if files.len() == 1 { files.into_iter().next() } else { None },
        server: if one { first.server.clone() } else { None },
        ..finding
    })
}

/// Who starts a program: the servers of each host, or the hooks of the hosts.
fn what(group: &[&Use]) -> String {
    let hosts: BTreeSet<&str> = group.iter().map(|one| one.host.as_str()).collect();
    let of = |host: &str| -> BTreeSet<String> {
        let servers = group.iter().filter(|one| one.host == host).filter_map(|one| one.server.as_ref());
        servers.map(|server| format!("`{server}`")).collect()
    };
    match group {
        [Use { server: Some(server), host, .. }] => format!("the wrapped entry of `{server}` ({host})"),
        [Use { server: Some(_), .. }, ..] => {
            let shown = |host: &str| {
                let servers = of(host);
                let more = servers.len().saturating_sub(NAMED);
                let named = servers.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{named}{more} of {host}")
            };
            let shown: Vec<String> = hosts.into_iter().map(shown).collect();
            format!("{} wrapped entries ({})", group.len(), shown.join("; "))
        }
        _ => format!("the hooks of {}", hosts.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// Whether a path names a program of this name, on any system.
#[must_use]
pub fn is_named(path: &str, name: &str) -> bool {
    names(path, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Lacking = Lacking { proxy: false, hooks: false };

    fn used(path: &str, program: Program, host: &str, server: Option<&str>) -> Use {
        let (path, host) = (path.into(), host.to_owned());
        Use {
            path,
            program,
            file: format!("/{host}").into(),
            host,
            server: server.map(ToOwned::to_owned),
            by_hand: false,
        }
    }

    #[test]
    fn only_what_is_not_there_or_of_another_release_is_found() {
        let well = [used("/a", Program::Ours, "codex", None), used("/b", Program::Other, "codex", Some("s"))];
        assert_eq!(findings(&well, "1.0.0", NONE), []);
        let all = [
            used("/opt/bir-proxy", Program::Missing, "codex", Some("fs")),
            used("/opt/bir-hooks", Program::NotExecutable, "codex", None),
            used("/old/bir-proxy", Program::Version("0.9.0".into()), "codex", Some("fs")),
        ];
        let found = findings(&all, "1.0.0", NONE);
        let codes: Vec<_> = found.iter().map(|f| f.code).collect();
        assert_eq!(codes, [Code::DeadPath, Code::DeadPath, Code::OtherVersion]);
        assert!(found.iter().all(|f| f.safe && f.mend.as_deref() == Some("bir install --yes")));
        assert_eq!((found[0].server.as_deref(), found[1].server.as_deref()), (Some("fs"), None));
        assert!(found[2].what.contains("0.9.0") && found[2].what.contains("1.0.0"));
    }

    #[test]
    fn a_program_is_told_once_however_many_start_it() {
        let mut all: Vec<Use> = ["a", "b", "c", "d", "e"]
            .map(|server| used("/opt/bir-proxy", Program::Missing, "codex", Some(server)))
            .into();
        all.push(used("/opt/bir-proxy", Program::Missing, "zed", Some("a")));
        all.push(used("/opt/bir-hooks", Program::Missing, "codex", None));
        all.push(used("/opt/bir-hooks", Program::Missing, "claude-code", None));
        let found = findings(&all, "1.0.0", NONE);
        let what: Vec<&str> = found.iter().map(|f| f.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "6 wrapped entries (`a`, `b`, `c`, `d` and 1 more of codex; `a` of zed) start /opt/bir-proxy, which is not there",
                "the hooks of claude-code, codex start /opt/bir-hooks, which is not there",
            ]
        );
        assert!(found.iter().all(|f| f.host.is_none() && f.file.is_none() && f.server.is_none()));
        let found = findings(&all[..2], "1.0.0", NONE);
        assert_eq!((found.len(), found[0].host.as_deref()), (1, Some("codex")));
    }

    #[test]
    fn without_our_own_programs_nothing_can_be_mended_unasked() {
        let all = [used("/opt/bir-proxy", Program::Missing, "codex", Some("fs"))];
        for (lacking, says) in [
            (Lacking { proxy: true, hooks: false }, "bir-proxy is missing beside bir"),
            (Lacking { proxy: false, hooks: true }, "bir-hooks is missing beside bir"),
            (Lacking { proxy: true, hooks: true }, "bir-proxy and bir-hooks are missing beside bir"),
        ] {
            let found = findings(&all, "1.0.0", lacking).remove(0);
            assert!(!found.safe && found.mend.as_ref().is_some_and(|m| m.starts_with(says)), "{found:?}");
        }
    }

    #[test]
    fn a_program_is_known_by_its_file_name() {
        for (path, named) in [
            ("/a/bir-proxy", true),
            ("bir-proxy", true),
            ("C:\\x\\bir-proxy.exe", true),
            ("/a/bir-proxy/x", false),
            ("/a/my-bir-proxy", false),
            ("", false),
        ] {
            assert_eq!(is_named(path, "bir-proxy"), named, "{path}");
        }
    }
}
