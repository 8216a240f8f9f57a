//! What is installed, in `bir status`: which servers are wrapped where, and how they are now.

use crate::home::Home;
use crate::install::{mended, with_machine};
use crate::out::{paint, safe};
use crate::project::here;
use bir_control_client::project_of;
use bir_install::ledger::Ledger;
use bir_install::operation::read_ledger;
use bir_install::standing::{Standing, State, by_hand, standing};
use bir_install::survey::{Modules, survey};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Servers that are named in a line; of the others only the number.
const NAMED: usize = 8;

/// What the ledger says, held against the files.
#[derive(Default)]
pub(super) struct Wrapped {
    servers: Vec<Standing>,
    /// Projects that were installed.
    projects: Vec<PathBuf>,
    /// What a crash had left, and was mended just now.
    mended: Option<String>,
    /// Why it is not known.
    trouble: Option<String>,
}

impl Wrapped {
    /// Looks, after what a crash had left is mended.
    pub(super) fn look(home: &Home) -> Self {
        let mended = match mended(&home.dir) {
            Ok(mended) => mended,
            Err(e) => return Self { trouble: Some(e.to_string()), ..Self::default() },
        };
        match read_ledger(&home.dir) {
            Ok(ledger) => Self {
                servers: standing(&ledger).into_iter().chain(wrapped_by_hand(&ledger)).collect(),
                projects: ledger.projects.keys().cloned().collect(),
                mended,
                trouble: None,
            },
            Err(e) => Self { mended, trouble: Some(e.to_string()), ..Self::default() },
        }
    }

    /// As lines: a name and a text each.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(what) = &self.mended {
            lines.push(("mended", paint::warn(&safe::line(what))));
        }
        if let Some(why) = &self.trouble {
            lines.push(("installed", paint::bad(&safe::line(why))));
            return lines;
        }
        if self.servers.is_empty() {
            let text = match self.projects.len() {
                0 => "nothing; `bir install` puts the recorder in front of your servers",
                _ => "no server is wrapped",
            };
            lines.push(("installed", text.into()));
            return lines;
        }
        for (host, project) in self.groups() {
            let of_group = || {
                let of_host = self.servers.iter().filter(|one| one.host == host && !one.by_hand);
                of_host.filter(|one| one.project.as_deref() == project)
            };
            let names: Vec<&str> =
                of_group().filter(|one| one.state == State::Wrapped).map(|one| one.server.as_str()).collect();
            if !names.is_empty() {
                let place = project.map(|dir| format!(" in {}", safe::line(&dir.to_string_lossy())));
                lines.push((
                    "wrapped",
                    format!("{}{}: {}", safe::line(host), place.unwrap_or_default(), named(&names)),
                ));
            }
            for one in of_group() {
                if let Some(trouble) = trouble(one) {
                    let which = format!("{} of {}", safe::line(&one.server), safe::line(host));
                    lines.push(("wrapped", format!("{which}: {}", paint::warn(&trouble))));
                }
            }
        }
        for one in self.servers.iter().filter(|one| one.by_hand) {
            let which = format!("{} of {}", safe::line(&one.server), safe::line(&one.host));
            let how = match &one.state {
                State::Dead(program) => paint::warn(&format!(
                    "wrapped by hand, and {} is not there, so that it does not start",
                    safe::line(&program.to_string_lossy())
                )),
                _ => "wrapped by hand".into(),
            };
            lines.push(("wrapped", format!("{which}: {how}")));
        }
        lines
    }

    /// The servers that a proxy stands in front of.
    pub(super) fn names(&self) -> Vec<&str> {
        self.servers.iter().filter(|one| one.state == State::Wrapped).map(|one| one.server.as_str()).collect()
    }

    /// Whether a server is wrapped that counts in every project of the user.
    pub(super) fn is_everywhere(&self) -> bool {
        self.servers.iter().any(|one| one.project.is_none() && one.state == State::Wrapped)
    }

    fn groups(&self) -> Vec<(&str, Option<&Path>)> {
        let mut groups: Vec<(&str, Option<&Path>)> = Vec::new();
        for one in &self.servers {
            let group = (one.host.as_str(), one.project.as_deref());
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// As a program reads it.
    pub(super) fn json(&self) -> Value {
        let one = |one: &Standing| json!({ "host": one.host, "server": one.server, "project": one.project, "file": one.file, "state": one.state.code(), "byHand": one.by_hand });
        json!({
            "servers": self.servers.iter().map(one).collect::<Vec<_>>(), "projects": self.projects, "mended": self.mended,
            "trouble": self.trouble,
        })
    }
}

/// Servers of the hosts that a person has wrapped, here and for all projects.
fn wrapped_by_hand(ledger: &Ledger) -> Vec<Standing> {
    let Some(user) = std::env::home_dir().filter(|user| user.is_absolute()) else { return Vec::new() };
    let Ok(here) = here() else { return Vec::new() };
    with_machine(&user, |machine| {
        by_hand(&survey(&Modules::all(), machine, &project_of(&here), &[], &[]), ledger)
    })
}

fn named(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(NAMED).map(|name| safe::line(name)).collect();
    let more = names.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

fn trouble(one: &Standing) -> Option<String> {
    let file = safe::line(&one.file.to_string_lossy()).into_owned();
    Some(match &one.state {
        State::Wrapped => return None,
        State::Dead(program) => format!(
            "{} is not there any more, so that it does not start; `bir install` renews it",
            safe::line(&program.to_string_lossy())
        ),
        State::Unwrapped => format!("not wrapped any more in {file}; `bir install` wraps it again"),
        State::Gone => format!("its entry has gone from {file}"),
        State::Unreadable(why) => format!("{file}: {}", safe::line(why)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_by_host_and_project() {
        let one = |host: &str, server: &str, project: Option<&str>, state| Standing {
            host: host.into(),
            server: server.into(),
            project: project.map(Into::into),
            file: "/h/.x.json".into(),
            state,
            by_hand: false,
        };
        let wrapped = Wrapped {
            servers: vec![
                one("claude-code", "a", Some("/p"), State::Wrapped),
                one("claude-code", "b", Some("/p"), State::Wrapped),
                one("codex", "c", None, State::Dead("/none/bir-proxy".into())),
            ],
            ..Wrapped::default()
        };
        let lines: Vec<String> = wrapped
            .lines()
            .into_iter()
            .map(|(name, text)| format!("{name} {}", console::strip_ansi_codes(&text)))
            .collect();
        assert_eq!(lines[0], "wrapped claude-code in /p: a, b");
        assert_eq!(
            lines[1],
            "wrapped c of codex: /none/bir-proxy is not there any more, so that it does not start; `bir install` renews it"
        );
        assert!(!wrapped.is_everywhere(), "the one that counts everywhere does not start");
        let everywhere = vec![one("codex", "c", None, State::Wrapped)];
        assert!(Wrapped { servers: everywhere, ..Wrapped::default() }.is_everywhere());
        assert!(Wrapped::default().lines()[0].1.contains("`bir install`"));
    }
}
