//! `--fix`: what is safe is done, one thing after the other, and each is told.
//!
//! Safe is what changes nothing that a person has written, and what an install that was agreed to would do again: programs' paths,
//! permissions of our own directory, our own processes. Nothing that was not wrapped becomes wrapped here.

use super::{Report, VERSION};
use crate::control::up;
use crate::home::Home;
use crate::install::mended;
use crate::programs;
use bir_control_client::projects;
use bir_hosts::config::Scope;
use bir_install::doctor::Code;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Something that was done, or could not be.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    pub(super) what: String,
    /// It worked.
    pub(super) well: bool,
}

impl Done {
    fn of(what: impl Into<String>, result: Result<(), String>) -> Self {
        let what = what.into();
        match result {
            Ok(()) => Self { what, well: true },
            Err(why) => Self { what: format!("{what}: {why}"), well: false },
        }
    }
}

/// Does what is safe.
pub(super) fn mend(home: &Home, report: &Report) -> Vec<Done> {
    let has = |code: Code| report.findings.iter().any(|finding| finding.safe && finding.code == code);
    let mut done = Vec::new();
    if has(Code::StateReadable) {
        let what = format!("{} is for you alone", home.dir.display());
        done.push(Done::of(what, close(&home.dir).map_err(|e| e.to_string())));
    }
    if has(Code::InstallInterrupted) {
        done.push(match mended(&home.dir) {
            Ok(Some(mended)) => Done { what: mended, well: true },
            Ok(None) => Done { what: "nothing was left of the interrupted install".into(), well: true },
            Err(e) => Done::of("the interrupted install is mended", Err(e.to_string())),
        });
    }
    for finding in report.findings.iter().filter(|one| one.safe && one.code == Code::ProjectGone) {
        let Some(dir) = &finding.file else { continue };
        let removed = projects::remove(&home.dir, dir).map(drop).map_err(|e| e.to_string());
        done.push(Done::of(format!("{} is no project any more", dir.display()), removed));
    }
    if [Code::ControlDead, Code::ControlForeign, Code::ControlOld].into_iter().any(has) {
        let restarted = match up::ensure(&home.dir) {
            Ok(up) => up.result().map_err(|e| e.to_string()).map(|()| up.line()),
            Err(e) => Err(e.to_string()),
        };
        done.push(match restarted {
            Ok(line) => Done { what: line, well: true },
            Err(why) => Done { what: why, well: false },
        });
    }
    done.extend(renewed(report));
    done
}

/// Entries and hooks are installed again, for each host in which one of them is not as it should be.
fn renewed(report: &Report) -> Vec<Done> {
    let safe = |codes: &[Code]| {
        report.findings.iter().filter(|one| one.safe && codes.contains(&one.code)).collect::<Vec<_>>()
    };
    // A finding tells of all who start a program.
    let programs = !safe(&[Code::DeadPath, Code::OtherVersion]).is_empty();
    let uses = report.uses.iter().filter(|used| programs && used.is_to_be_renewed());
    let mut hosts: BTreeSet<&str> = uses.map(|used| used.host.as_str()).collect();
    hosts.extend(safe(&[Code::OutdatedCopy]).into_iter().filter_map(|finding| finding.host.as_deref()));
    hosts.into_iter().map(|host| renew(report, host)).collect()
}

fn renew(report: &Report, host: &str) -> Done {
    let (what, now) =
        (concerned(report, host), format!("installed again, with the programs of release {VERSION}"));
    let done = match arguments(report, host) {
        Some(arguments) => install(&arguments),
        None => Err("a file that --config named is installed again with bir install --config".into()),
    };
    match done {
        Ok(()) => Done { what: format!("{what}: {now}"), well: true },
        Err(why) => Done { what: format!("{what}: {why}"), well: false },
    }
}

/// What of a host is not as it should be, by name.
fn concerned(report: &Report, host: &str) -> String {
    let uses = || report.uses.iter().filter(|used| used.host == host && used.is_to_be_renewed());
    let copies = report.findings.iter().filter(|one| one.code == Code::OutdatedCopy);
    let copies = copies.filter(|one| one.safe && one.host.as_deref() == Some(host));
    let named = |servers: BTreeSet<&String>, one: &str, many: &str| {
        let names: Vec<String> = servers.iter().map(|server| format!("`{server}`")).collect();
        let what = if names.len() == 1 { one } else { many };
        (!names.is_empty()).then(|| format!("{what} of {}", names.join(", ")))
    };
    let parts = [
        named(uses().filter_map(|used| used.server.as_ref()).collect(), "the entry", "the entries"),
        uses().any(|used| used.server.is_none()).then(|| "the hooks".to_owned()),
        named(
            copies.filter_map(|one| one.server.as_ref()).collect(),
            "the copy, which was not as its original,",
            "the copies, which were not as their originals,",
        ),
    ];
    format!("{host}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
}

/// As much as was installed, and no more.
fn arguments(report: &Report, host: &str) -> Option<Vec<String>> {
    bir_hosts::Host::named(host)?;
    let wrapped: Vec<_> =
        report.wrapped.iter().filter(|one| one.entry.host == host && !one.entry.by_hand).collect();
    let mut arguments: Vec<String> = ["install", "--yes", "--host", host].map(Into::into).into();
    let servers: BTreeSet<&str> = wrapped.iter().map(|one| one.entry.server.as_str()).collect();
    for server in servers {
        arguments.extend(["--server".into(), server.to_owned()]);
    }
    let hooks = &report.hooks;
    if !hooks.iter().any(|hook| hook.host == host && hook.is_ours()) {
        arguments.push("--no-hooks".into());
    } else if hooks.iter().any(|hook| hook.host == host && hook.is_ours() && hook.scope == Scope::User) {
        arguments.push("--user".into());
    }
    let of_scope = |scope: Scope| wrapped.iter().any(|one| one.entry.scope == scope);
    if host == bir_hosts::Host::ClaudeCode.as_str() {
        // Elsewhere these are what is done in any case.
        arguments.extend(of_scope(Scope::Project).then(|| "--mcp-json".to_owned()));
        arguments.extend(of_scope(Scope::User).then(|| "--everywhere".to_owned()));
    }
    arguments
        .extend(wrapped.iter().any(|one| one.entry.no_correlation).then(|| "--no-correlation".to_owned()));
    Some(arguments)
}

fn install(arguments: &[String]) -> Result<(), String> {
    let this = programs::this().map_err(|e| e.to_string())?;
    let mut command = Command::new(this);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("bir install failed without a word").to_owned())
}

/// Takes from others what they may do with a directory and what is in it.
#[cfg(unix)]
fn close(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let meta = dir.symlink_metadata()?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(dir, PermissionsExt::from_mode(mode & 0o7700))?;
    }
    if meta.is_dir() {
        for entry in std::fs::read_dir(dir)? {
            close(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn close(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_install::doctor::program::{self, Lacking, Program, Use};

    #[test]
    fn what_was_mended_is_named() {
        let used = |host: &str, program, server: Option<&str>| Use {
            path: "/old/bir-proxy".into(),
            program,
            file: "/f".into(),
            host: host.into(),
            server: server.map(ToOwned::to_owned),
            by_hand: false,
        };
        let uses = vec![
            used("codex", Program::Missing, Some("b")),
            used("codex", Program::Missing, Some("a")),
            used("codex", Program::NotExecutable, None),
            used("codex", Program::Ours, Some("well")),
            used("zed", Program::Version("0.0.1".into()), Some("z")),
        ];
        let findings = program::findings(&uses, VERSION, Lacking::default());
        let report = Report { uses, findings, ..Report::default() };
        assert_eq!(concerned(&report, "codex"), "codex: the entries of `a`, `b` and the hooks");
        assert_eq!(concerned(&report, "zed"), "zed: the entry of `z`");
    }
}
