//! A plan as a person reads it, and as a program does. Values of configurations are in neither.

use crate::out::table::{Column, Table};
use crate::out::{paint, safe, size};
use bir_hosts::config::Scope;
use bir_install::operation::Kind;
use bir_install::plan::{Outcome, Plan};
use serde_json::{Value, json};
use std::path::Path;

/// A page: what becomes of each server and of hooks, what is left alone, what else is to be known. `width`: as tables take it.
pub(super) fn page(plan: &Plan, user: &Path, width: Option<usize>) -> String {
    let mut table = Table::new(&[
        ("HOST", Column::Left),
        ("SERVER", Column::Left),
        ("SCOPE", Column::Left),
        ("FILE", Column::Left),
        ("WHAT", Column::Flexible),
    ]);
    for line in &plan.servers {
        table.row(vec![
            safe::line(&line.host).into_owned(),
            paint::name(&safe::line(&line.server)),
            scope(line.scope).into(),
            short(&line.file, user),
            what(&line.outcome, plan.operation.kind, false),
        ]);
    }
    for line in &plan.hooks {
        table.row(vec![
            safe::line(&line.host).into_owned(),
            paint::dim("hooks"),
            String::new(),
            short(&line.file, user),
            what(&line.outcome, plan.operation.kind, true),
        ]);
    }
    let mut page =
        if plan.servers.is_empty() && plan.hooks.is_empty() { String::new() } else { table.render(width) };
    let mut say = |text: &str| {
        page.push_str(text);
        page.push('\n');
    };
    for (file, why) in &plan.untouched {
        say(&format!("left alone: {}: {}", short(file, user), safe::line(why)));
    }
    for project in &plan.set_up {
        say(&format!("{} is set up for bound recording", place(project, user)));
    }
    for project in &plan.take_out {
        say(&format!("{} is taken out of bound recording; what was recorded stays", place(project, user)));
    }
    for note in &plan.notes {
        say(&format!("note: {}", safe::line(note)));
    }
    page
}

/// The changes of each file.
pub(super) fn diff(plan: &Plan, user: &Path) -> String {
    let mut page = String::new();
    for file in &plan.diffs {
        let path = short(&file.path, user);
        let (old, new) = match (file.is_new, file.goes) {
            (true, _) => ("/dev/null", path.as_str()),
            (_, true) => (path.as_str(), "/dev/null"),
            _ => (path.as_str(), path.as_str()),
        };
        page.push_str(&format!(
            "\n{}\n{}\n",
            paint::bold(&format!("--- {old}")),
            paint::bold(&format!("+++ {new}"))
        ));
        for line in &file.lines {
            let shown = safe::line(line);
            let painted = match line.as_bytes().first() {
                Some(b'+') => paint::good(&shown),
                Some(b'-') => paint::bad(&shown),
                _ => paint::name(&shown),
            };
            page.push_str(&painted);
            page.push('\n');
        }
    }
    page
}

/// What was done, as the beginning of a sentence.
pub(super) fn summary(plan: &Plan) -> String {
    let count = |codes: &[&str]| {
        plan.servers.iter().filter(|line| codes.contains(&line.outcome.code())).count() as u64
    };
    let hooks = plan.hooks.iter().filter(|line| line.outcome.changes()).count() as u64;
    let mut parts = Vec::new();
    for (codes, verb) in [
        (&["wrapped", "renewed"][..], "wrapped"),
        (&["restored"][..], "restored"),
        (&["removed"][..], "removed"),
    ] {
        if count(codes) > 0 {
            parts.push(format!("{} {verb}", size::count(count(codes), "server")));
        }
    }
    if hooks > 0 {
        let verb = if plan.operation.kind == Kind::Install { "with hooks" } else { "without our hooks" };
        parts.push(format!("{} {verb}", size::count(hooks, "host")));
    }
    if parts.is_empty() { "done".into() } else { format!("done: {}", parts.join(", ")) }
}

/// The plan as an object. `done`: it was carried out.
pub(super) fn json(plan: &Plan, done: bool) -> Value {
    let servers: Vec<Value> = plan
        .servers
        .iter()
        .map(|line| {
            let (outcome, code, why) = told(&line.outcome);
            json!({ "host": line.host, "server": line.server, "scope": scope(line.scope), "file": line.file,
                "outcome": outcome, "code": code, "why": why })
        })
        .collect();
    let hooks: Vec<Value> = plan
        .hooks
        .iter()
        .map(|line| {
            let (outcome, code, why) = told(&line.outcome);
            json!({ "host": line.host, "file": line.file, "outcome": outcome, "code": code, "why": why })
        })
        .collect();
    let untouched: Vec<Value> =
        plan.untouched.iter().map(|(file, why)| json!({ "file": file, "why": why })).collect();
    let files: Vec<&Path> = plan.operation.changes.iter().map(|change| change.path.as_path()).collect();
    json!({
        "servers": servers, "hooks": hooks, "untouched": untouched, "notes": plan.notes, "files": files, "setUp": plan.set_up,
        "takenOut": plan.take_out, "trust": plan.trust.is_some(), "changes": plan.changes(), "done": done,
    })
}

/// An outcome for programs: a word, and of what is left the reason's word and sentence.
fn told(outcome: &Outcome) -> (&'static str, Option<&'static str>, Option<&str>) {
    match outcome {
        Outcome::Left(refusal) => (outcome.code(), Some(refusal.code), Some(&refusal.why)),
        _ => (outcome.code(), None, None),
    }
}

/// The changes of each file, for programs.
pub(super) fn json_diff(plan: &Plan) -> Value {
    let one = |file: &bir_install::plan::FileDiff| json!({ "file": file.path, "new": file.is_new, "gone": file.goes, "lines": file.lines });
    plan.diffs.iter().map(one).collect()
}

fn what(outcome: &Outcome, kind: Kind, hooks: bool) -> String {
    match (outcome, hooks) {
        (Outcome::Wrapped, false) => paint::good("wrap"),
        (Outcome::Wrapped, true) => paint::good("add"),
        (Outcome::Already, false) => paint::dim("wrapped already"),
        (Outcome::Already, true) => paint::dim("there already"),
        (Outcome::Renewed, false) => paint::good("wrap anew"),
        (Outcome::Renewed, true) => paint::good("renew"),
        (Outcome::Restored, false) => paint::good("unwrap"),
        (Outcome::Restored, true) => paint::good("remove"),
        (Outcome::Removed, _) => paint::good("remove our copy, since its original has gone"),
        (Outcome::Left(refusal), _) => {
            let why = safe::line(&refusal.why);
            if kind == Kind::Uninstall || refusal.code == "file" {
                format!("{} {why}", paint::warn("left:"))
            } else {
                format!("{} {why}", paint::dim("left:"))
            }
        }
    }
}

/// A word of the table and of JSON.
fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Local => "local",
        Scope::Project => "project",
        Scope::User => "user",
        Scope::Managed => "managed",
    }
}

/// A path as a person writes it.
fn short(path: &Path, user: &Path) -> String {
    match path.strip_prefix(user) {
        Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", safe::line(&rest.to_string_lossy())),
        _ => safe::line(&path.to_string_lossy()).into_owned(),
    }
}

fn place(project: &Path, user: &Path) -> String {
    if project.parent().is_none() { "every directory".into() } else { short(project, user) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_short_within_the_home_alone() {
        assert_eq!(short(Path::new("/h/a/.x"), Path::new("/h/a")), "~/.x");
        assert_eq!(short(Path::new("/h/ab"), Path::new("/h/a")), "/h/ab");
        assert_eq!(place(Path::new("/"), Path::new("/h")), "every directory");
    }
}
