//! What a person reads: replay at the very top where it is on, then what is wrong, then what is wrapped.

use super::fix::Done;
use super::{Report, Wrapped};
use crate::derivation::line;
use crate::out::table::{Column, Table};
use crate::out::{self, paint, safe, time};
use bir_install::doctor::{Code, Finding, Severity};
use bir_model::scenario::Derives;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use std::path::Path;

/// What stands before the lines of a finding.
const INDENT: &str = "         ";

/// The whole page.
pub(super) fn page(report: &Report, done: Option<&Vec<Done>>) -> String {
    let mut page = String::new();
    for finding in report.replay() {
        replay(&mut page, finding);
    }
    if let Some(asks) = report.derivation.as_ref().filter(|told| told.by != Derives::Nobody) {
        // What leaves the machine is never discoverable by reading a log alone.
        let _ = writeln!(page, "{}", paint::warn(&paint::bold("MODEL HELP: ON")));
        let _ = writeln!(page, "  {}\n", safe::line(&line(asks)));
    }
    if let Some(done) = done {
        self::done(&mut page, done, report.findings.is_empty());
    }
    let others: Vec<&Finding> = report.findings.iter().filter(|one| one.code != Code::ReplayOn).collect();
    for finding in &others {
        self::finding(&mut page, finding);
    }
    if !others.is_empty() {
        page.push('\n');
    }
    let _ = writeln!(page, "{}", summary(report));
    if let Some(nobody) = report.derivation.as_ref().filter(|told| told.by == Derives::Nobody) {
        let _ = writeln!(page, "derives: {}", safe::line(&line(nobody)));
    }
    wrapped(&mut page, &report.wrapped, std::env::home_dir().as_deref(), &TimeZone::system());
    page
}

/// Loud, and before everything else.
fn replay(page: &mut String, finding: &Finding) {
    let what = paint::warn(&paint::bold(&safe::line(&finding.what).to_uppercase_first()));
    let _ = writeln!(page, "{what}");
    let _ = writeln!(page, "  {}", safe::line(&finding.why));
    if let Some(mend) = &finding.mend {
        let _ = writeln!(page, "  it ends with: {}", paint::name(&safe::line(mend)));
    }
    page.push('\n');
}

trait UppercaseFirst {
    fn to_uppercase_first(&self) -> String;
}

impl<T: AsRef<str> + ?Sized> UppercaseFirst for T {
    /// `replay: on` as `REPLAY: ON`, whatever directory stands behind it as it is.
    fn to_uppercase_first(&self) -> String {
        let text = self.as_ref();
        match text.split_once(" in ") {
            Some((loud, place)) => format!("{} in {place}", loud.to_uppercase()),
            None => text.to_uppercase(),
        }
    }
}

fn done(page: &mut String, done: &[Done], nothing_left: bool) {
    if done.is_empty() {
        page.push_str(if nothing_left {
            "nothing has to be fixed\n\n"
        } else {
            "nothing here can be fixed automatically; these need you:\n\n"
        });
        return;
    }
    for one in done {
        let mark = if one.well { paint::good("done") } else { paint::bad("failed") };
        let _ = writeln!(page, "{mark}  {}", safe::line(&one.what));
    }
    page.push('\n');
}

fn finding(page: &mut String, finding: &Finding) {
    let word = match finding.severity {
        Severity::Fault => paint::bad("fault  "),
        Severity::Warning => paint::warn("warning"),
        Severity::Note => paint::dim("note   "),
    };
    let code = paint::dim(&format!("[{}]", finding.code.as_str()));
    let _ = writeln!(page, "{word}  {}  {code}", safe::line(&finding.what));
    let _ = writeln!(page, "{INDENT}{}", paint::dim(&safe::line(&finding.why)));
    if let Some(mend) = &finding.mend {
        let fix = if finding.safe { paint::dim("  (bir doctor --fix does it)") } else { String::new() };
        let _ = writeln!(page, "{INDENT}mend: {}{fix}", paint::name(&safe::line(mend)));
    }
}

fn summary(report: &Report) -> String {
    let count = |severity, one: &str| match report.count(severity) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {one}s")),
    };
    let faults = count(Severity::Fault, "fault");
    let others = [count(Severity::Warning, "warning"), count(Severity::Note, "note")];
    let text = match &faults {
        Some(faults) => paint::bad(faults),
        None => paint::good("no fault"),
    };
    let text = [Some(text)].into_iter().chain(others).flatten().collect::<Vec<_>>().join(", ");
    let more =
        if report.findings.is_empty() { "" } else { "; `bir doctor --explain CODE` says what a code means" };
    format!("{text} in {}{more}", safe::line(&report.project.to_string_lossy()))
}

/// A path as a person writes it.
fn short(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if !rest.as_os_str().is_empty() => format!("~/{}", safe::line(&rest.to_string_lossy())),
        _ => safe::line(&path.to_string_lossy()).into_owned(),
    }
}

fn wrapped(page: &mut String, all: &[Wrapped], home: Option<&Path>, zone: &TimeZone) {
    page.push('\n');
    if all.is_empty() {
        page.push_str(
            "no server is wrapped for this directory; bir install wraps those that are configured\n",
        );
        return;
    }
    let mut table = Table::new(&[
        ("WRAPPED", Column::Left),
        ("HOST", Column::Left),
        ("SCOPE", Column::Left),
        ("STATE", Column::Left),
        ("REGISTERED", Column::Left),
        ("FILE", Column::Flexible),
    ]);
    for one in all {
        let registered = one.registered_at.map_or_else(|| "never".to_owned(), |at| time::minute(at, zone));
        let scope = serde_json::to_value(one.entry.scope).ok();
        let state = serde_json::to_value(&one.entry).ok();
        let text =
            |value: Option<&serde_json::Value>| value.and_then(|v| v.as_str()).unwrap_or_default().to_owned();
        table.row(vec![
            safe::line(&one.entry.server).into_owned(),
            one.entry.host.clone(),
            text(scope.as_ref()),
            if one.dead {
                paint::bad("dead")
            } else {
                text(state.as_ref().and_then(|entry| entry.get("state")))
            },
            registered,
            short(&one.entry.file, home),
        ]);
    }
    page.push_str(&table.render(out::columns()));
    if all.iter().any(|one| one.registered_at.is_none()) {
        page.push_str(&paint::dim("never: no call of it has come through its proxy in this project yet\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_hosts::config::{Scope, State};
    use bir_install::doctor::entries::Entry;
    use bir_install::doctor::{control, projects, state};

    fn plain(report: &Report, done: Option<&Vec<Done>>) -> String {
        console::strip_ansi_codes(&page(report, done)).into_owned()
    }

    #[test]
    fn replay_is_above_everything_and_told_once() {
        let replay =
            projects::Observed { replay: vec!["/home/in a/p".into()], ..projects::Observed::default() };
        let dead = control::Observed {
            controls: vec![control::Control::Dead { pid: 7 }],
            stopped: false,
            any_project: true,
        };
        let mut findings = control::findings(&dead, "1.0.0");
        findings.extend(projects::findings(&replay));
        let report = Report { project: "/home/in a/p".into(), findings, ..Report::default() };
        let text = plain(&report, None);
        assert!(text.starts_with("REPLAY: ON in /home/in a/p\n"), "{text}");
        assert!(text.contains("it ends with: bir uninstall '/home/in a/p' --replay"), "{text}");
        assert_eq!(text.matches("--replay:").count(), 1, "{text}");
        assert!(
            text.contains("fault    the control server (process 7)") && text.contains("[control-dead]"),
            "{text}"
        );
        assert!(text.contains("mend: bir up --restart  (bir doctor --fix does it)"), "{text}");
        assert!(text.contains("1 fault, 1 warning in /home/in a/p"), "{text}");
    }

    #[test]
    fn who_derives_is_said_loudly_where_something_leaves() {
        let told = |by: &str| {
            serde_json::from_value(
                serde_json::json!({"by": by, "allowed": true, "host": "api:1", "model": "m"}),
            )
        };
        let report =
            |by: &str| Report { project: "/p".into(), derivation: told(by).ok(), ..Report::default() };
        let text = plain(&report("this_machine"), None);
        assert!(text.starts_with("MODEL HELP: ON\n  this machine asks m at api:1 "), "{text}");
        let text = plain(&report("nobody"), None);
        assert!(text.starts_with("no fault in /p\nderives: nobody: "), "{text}");
    }

    #[test]
    fn the_table_writes_paths_short_and_explains_itself() {
        let one = |registered_at, dead| Wrapped {
            entry: Entry {
                host: "codex".into(),
                server: "s".into(),
                scope: Scope::User,
                file: "/home/ada/.codex/config.toml".into(),
                proxy: Some("/opt/bir-proxy".into()),
                state: State::Active,
                twice: false,
                by_hand: false,
                outdated: false,
                no_correlation: false,
            },
            dead,
            registered_at,
        };
        let table = |all: &[Wrapped]| {
            let mut page = String::new();
            wrapped(&mut page, all, Some(Path::new("/home/ada")), &TimeZone::UTC);
            console::strip_ansi_codes(&page).into_owned()
        };
        let text = table(&[one(None, true)]);
        assert!(text.contains("  dead  ") && text.contains("  ~/.codex/config.toml\n"), "{text}");
        assert!(
            text.ends_with("never: no call of it has come through its proxy in this project yet\n"),
            "{text}"
        );
        let text = table(&[one(Some(1_000), false)]);
        assert!(text.contains("  active  ") && !text.contains("never"), "{text}");
        assert_eq!(short(Path::new("/home/ada"), Some(Path::new("/home/ada"))), "/home/ada");
        assert_eq!(short(Path::new("/x/y"), None), "/x/y");
    }

    #[test]
    fn what_was_done_is_told_and_nothing_of_others_moves_the_terminal() {
        let observed = state::Observed {
            dir: "/s\u{1b}[2J".into(),
            loose: vec!["/s\u{1b}[2J".into()],
            spool: (0, 1),
            free: None,
            dropped: 0,
            unclear: None,
            off: state::Off::No,
            unusual: Vec::new(),
        };
        let findings = state::findings(&observed);
        let report = Report { project: "/p".into(), findings, ..Report::default() };
        let done = vec![
            Done { what: "it was done".into(), well: true },
            Done { what: "it was not".into(), well: false },
        ];
        let text = plain(&report, Some(&done));
        assert!(text.starts_with("done  it was done\nfailed  it was not\n"), "{text}");
        assert!(text.contains("/s␛[2J"), "{text}");
        assert!(text.ends_with("bir install wraps those that are configured\n"), "{text}");
        let well = Report { project: "/p".into(), ..Report::default() };
        assert!(plain(&well, Some(&Vec::new())).starts_with("nothing has to be fixed\n"));
        let text = plain(&report, Some(&Vec::new()));
        assert!(
            text.starts_with("nothing here can be fixed automatically; these need you:\n\nfault"),
            "{text}"
        );
        assert!(plain(&well, None).starts_with("no fault in /p\n"));
    }
}
