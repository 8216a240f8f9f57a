//! A plan as a person reads it, and as a program does. Values of configurations are in neither.

use crate::out::{paint, safe, size};
use bir_hosts::config::Scope;
use bir_install::operation::Kind;
use bir_install::plan::{Outcome, Plan, ServerLine};
use console::{Alignment, measure_text_width, pad_str};
use serde_json::{Value, json};
use std::path::Path;

/// A page: what becomes of each server and of hooks, grouped by host and file, what is left alone, what else is to be known. Reasons stand on
/// lines of their own and are never cut. `width`: the columns that a line may take; none: as many as it needs.
pub(super) fn page(plan: &Plan, user: &Path, width: Option<usize>) -> String {
    let mut groups: Vec<(&str, &Path, Vec<Row<'_>>)> = Vec::new();
    let servers = plan.servers.iter().map(|line| {
        let row = Row {
            name: paint::name(&safe::line(&line.server)),
            outcome: what(&line.outcome, false),
            scope: scope_of(line),
            why: why(&line.outcome),
        };
        (line.host.as_str(), line.file.as_path(), row)
    });
    let hooks = plan.hooks.iter().map(|line| {
        let row = Row {
            name: paint::dim("hooks"),
            outcome: what(&line.outcome, true),
            scope: String::new(),
            why: why(&line.outcome),
        };
        (line.host.as_str(), line.file.as_path(), row)
    });
    for (host, file, row) in servers.chain(hooks) {
        match groups.iter_mut().find(|(of, at, _)| *of == host && *at == file) {
            Some((_, _, rows)) => rows.push(row),
            // A host's files stand together.
            None => {
                let at = groups.iter().rposition(|(of, ..)| *of == host).map_or(groups.len(), |at| at + 1);
                groups.insert(at, (host, file, vec![row]));
            }
        }
    }
    let mut page = String::new();
    for (host, file, rows) in &groups {
        page.push_str(&format!("{}  {}\n", paint::bold(&safe::line(host)), paint::dim(&short(file, user))));
        let widths = |cell: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(cell).max().unwrap_or_default();
        let name = widths(&|row| measure_text_width(&row.name).min(NAME));
        let outcome = widths(&|row| measure_text_width(&row.outcome));
        for row in rows {
            let cells = [pad(&row.name, name), pad(&row.outcome, outcome), row.scope.clone()];
            page.push_str(format!("  {}", cells.join("  ")).trim_end());
            page.push('\n');
            if let Some(why) = row.why {
                folded(&mut page, &safe::line(why), "      ", width);
            }
        }
    }
    let mut say = |text: &str| folded(&mut page, text, "", width);
    let told = |file: &Path| {
        let left = |outcome: &Outcome| matches!(outcome, Outcome::Left(refusal) if refusal.code == "file");
        plan.servers.iter().any(|line| line.file == file && left(&line.outcome))
            || plan.hooks.iter().any(|line| line.file == file && left(&line.outcome))
    };
    // Why a file is left alone stands with its servers, where it has some.
    for (file, why) in plan.untouched.iter().filter(|(file, _)| !told(file)) {
        say(&format!("left alone: {}: {}", short(file, user), safe::line(why)));
    }
    for project in &plan.set_up {
        say(&format!("{} will be set up for bound recording", place(project, user)));
    }
    for project in &plan.take_out {
        say(&format!("{} will be taken out of bound recording", place(project, user)));
    }
    for note in &plan.notes {
        say(&format!("note: {}", safe::line(note)));
    }
    page
}

/// A longer name stands out of its column instead of moving the others.
const NAME: usize = 24;

/// A server or hooks, as they are shown.
struct Row<'p> {
    name: String,
    outcome: String,
    scope: String,
    why: Option<&'p str>,
}

fn pad(text: &str, width: usize) -> String {
    pad_str(text, width, Alignment::Left, None).into_owned()
}

/// A paragraph: words go to the next line where the width is used up; none is cut.
fn folded(page: &mut String, text: &str, indent: &str, width: Option<usize>) {
    let most = width.unwrap_or(usize::MAX);
    page.push_str(indent);
    let (mut used, mut is_first) = (indent.len(), true);
    let more = if indent.is_empty() { "  " } else { indent };
    for word in text.split(' ') {
        let long = measure_text_width(word);
        if !is_first && used + 1 + long > most {
            page.push('\n');
            page.push_str(more);
            used = more.len();
        } else if !is_first {
            page.push(' ');
            used += 1;
        }
        page.push_str(word);
        used += long;
        is_first = false;
    }
    page.push('\n');
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
                Some(b' ') => paint::dim(&shown),
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

/// What a person is asked: how much becomes another.
pub(super) fn question(plan: &Plan) -> String {
    let files = plan.operation.changes.len() as u64;
    let servers = plan.servers.iter().filter(|line| line.outcome.changes()).count() as u64;
    let hooks = plan.hooks.iter().filter(|line| line.outcome.changes()).count() as u64;
    let mut parts = Vec::new();
    if servers > 0 {
        parts.push(size::count(servers, "server"));
    }
    if hooks > 0 {
        parts.push(format!("hooks of {}", size::count(hooks, "host")));
    }
    let what = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    match files {
        0 if plan.trust.is_some() => "Let Codex trust our hooks?".into(),
        0 => "Note this (no file of a host changes)?".into(),
        n => format!("Change {}{what}?", size::count(n, "file")),
    }
}

/// The hosts that have to start anew for what was changed. None: no host has to.
pub(super) fn changed_hosts(plan: &Plan) -> Option<String> {
    let servers = plan.servers.iter().filter(|line| line.outcome.changes()).map(|line| &line.host);
    let hooks = plan.hooks.iter().filter(|line| line.outcome.changes()).map(|line| &line.host);
    let mut hosts: Vec<&str> = Vec::new();
    for host in servers.chain(hooks).filter(|host| *host != "file") {
        if !hosts.contains(&host.as_str()) {
            hosts.push(host);
        }
    }
    (!hosts.is_empty()).then(|| hosts.join(", "))
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
        "servers": servers, "hooks": hooks, "untouched": untouched, "notes": plan.notes, "missed": plan.missed, "partly": plan.partly, "files": files, "setUp": plan.set_up,
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

fn what(outcome: &Outcome, hooks: bool) -> String {
    match (outcome, hooks) {
        (Outcome::Wrapped, false) => paint::good("wrap"),
        (Outcome::Wrapped, true) => paint::good("add"),
        (Outcome::Already, false) => paint::dim("wrapped already"),
        (Outcome::Already, true) => paint::dim("there already"),
        (Outcome::ByHand, _) => paint::dim("wrapped by hand"),
        (Outcome::Renewed, false) => paint::good("wrap anew"),
        (Outcome::Renewed, true) => paint::good("renew"),
        (Outcome::Restored, false) => paint::good("unwrap"),
        (Outcome::Restored, true) => paint::good("remove"),
        (Outcome::Removed, _) => paint::good("remove our copy"),
        (Outcome::Left(_), _) => paint::warn("left alone"),
    }
}

/// Why it becomes so, where the outcome does not say it itself.
fn why(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Removed => Some("its original has gone"),
        Outcome::Left(refusal) => Some(&refusal.why),
        _ => None,
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

/// For whom an entry counts; of a copy first for whom its original does.
fn scope_of(line: &ServerLine) -> String {
    match &line.copied {
        Some(copied) => format!("{}, copied to {}", scope(copied.scope), scope(line.scope)),
        None => scope(line.scope).into(),
    }
}

/// A path as a person writes it.
pub(super) fn short(path: &Path, user: &Path) -> String {
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
    use bir_hosts::config::Refusal;
    use bir_install::ledger::Ledger;

    #[test]
    fn a_path_is_short_within_the_home_alone() {
        assert_eq!(short(Path::new("/h/a/.x"), Path::new("/h/a")), "~/.x");
        assert_eq!(short(Path::new("/h/ab"), Path::new("/h/a")), "/h/ab");
        assert_eq!(place(Path::new("/"), Path::new("/h")), "every directory");
    }

    fn plan_of(servers: &[(&str, &str, &str, Outcome)]) -> Plan {
        let mut plan = bir_install::undo::without_replay(&Ledger::default(), Path::new("/p"));
        plan.servers = servers
            .iter()
            .map(|(host, server, file, outcome)| ServerLine {
                host: (*host).into(),
                server: (*server).into(),
                scope: Scope::User,
                file: file.into(),
                outcome: outcome.clone(),
                copied: None,
            })
            .collect();
        plan
    }

    #[test]
    fn no_reason_is_cut_and_no_long_name_narrows_the_rest() {
        let why = "it signs in by itself, and the host would have to sign in again through the recorder; name it with `--server web`";
        let long = "a".repeat(70);
        let plan = plan_of(&[
            ("cursor", "web", "/h/.cursor/mcp.json", Outcome::Left(Refusal::new("oauth", why))),
            ("zed", &long, "/h/.config/zed/settings.json", Outcome::Wrapped),
            ("cursor", "c", "/h/.cursor/mcp.json", Outcome::Wrapped),
        ]);
        for width in [40, 80, 120] {
            let page = page(&plan, Path::new("/h"), Some(width));
            let page = console::strip_ansi_codes(&page);
            assert!(!page.contains('…'), "{page}");
            let words: Vec<&str> = page.split_whitespace().collect();
            assert!(words.join(" ").contains(why), "{page}");
            assert!(
                page.lines().all(|line| line.contains(&long) || measure_text_width(line) <= width),
                "{page}"
            );
            assert!(
                page.starts_with("cursor  ~/.cursor/mcp.json\n  web  left alone  user\n      it signs"),
                "{page}"
            );
            assert!(page.contains("\n  c    wrap        user\nzed  ~/.config/zed/settings.json\n"), "{page}");
        }
    }
}
