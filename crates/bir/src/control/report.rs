//! Bound recording in `bir status`.

use super::look::{Project, Served, bypassed, proxies, servers, sessions};
use crate::out::{paint, safe, size, time};
use bir_control_client::{Inbox, stopped_file};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::path::Path;

/// Files of the inbox whose messages are counted; more wait only where no control server could run for long.
const COUNTED: usize = 1_000;
/// Projects, sessions and servers that are named in a line; of the others only the number.
const NAMED: usize = 4;

/// What is known of bound recording.
pub(crate) struct Bound {
    projects: Vec<Project>,
    /// `bir down` has ended it.
    stopped: bool,
    waiting: Waiting,
}

/// What the next control server will read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Waiting {
    /// As far as they were counted.
    messages: usize,
    /// There are more.
    more: bool,
    /// Messages that found no room.
    dropped: u64,
}

impl Bound {
    /// Looks at it.
    pub(crate) async fn look(state_dir: &Path) -> Self {
        let projects = super::look(state_dir).await;
        Self { projects, stopped: stopped_file(state_dir).exists(), waiting: Waiting::look(state_dir) }
    }

    /// Whether projects are set up, and none of them covers a directory.
    pub(crate) fn leaves_out(&self, dir: &Path) -> bool {
        !self.projects.is_empty() && !self.projects.iter().any(|project| dir.starts_with(&project.dir))
    }

    /// As lines: a name and a text each. `wrapped`: servers that a proxy stands in front of.
    pub(crate) fn lines(&self, zone: &TimeZone, wrapped: &[&str]) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.projects.is_empty() {
            lines.push((
                "bound",
                "no project is set up; `bir project add` in one records prompts and built-in tools as well"
                    .into(),
            ));
        } else {
            lines.push(("control", self.control(zone)));
            // Where nobody serves anything, the line above says it.
            let any = !servers(&self.projects).is_empty();
            lines.push(("projects", named(self.projects.iter().map(|one| project(one, any)))));
            let sessions = sessions(&self.projects);
            if !sessions.is_empty() {
                let one = |cwd: &Path| safe::line(&cwd.to_string_lossy()).into_owned();
                let shown = sessions.iter().map(|session| {
                    let place = session.cwd.as_deref().map(|cwd| format!(" in {}", one(cwd)));
                    format!("{}{}", safe::line(&session.host), place.unwrap_or_default())
                });
                lines.push(("sessions", named(shown)));
            }
            let proxies = proxies(&self.projects);
            if !proxies.is_empty() {
                lines.push((
                    "proxies",
                    named(proxies.iter().map(|proxy| safe::line(&proxy.server).into_owned())),
                ));
            }
            let all = bypassed(&self.projects).into_iter().map(|(told, calls)| (told.to_owned(), calls));
            let (behind, bare): (Vec<_>, Vec<_>) = bir_hosts::by_server(&all.collect(), wrapped)
                .into_iter()
                .partition(|(server, _)| wrapped.contains(&server.as_str()));
            for (servers, what) in [
                (
                    behind,
                    "calls that no proxy saw, though it is wrapped now; restart the host, which goes on with the entry that it has read",
                ),
                (
                    bare,
                    "calls that no proxy saw; put the server behind one with `bir install` or `bir wrap`, then restart the host",
                ),
            ] {
                if !servers.is_empty() {
                    let calls = |(server, calls): &(String, u64)| format!("{} ({calls})", safe::line(server));
                    lines.push((
                        "bypassed",
                        format!("{}: {what}", paint::warn(&named(servers.iter().map(calls)))),
                    ));
                }
            }
        }
        if self.waiting.messages > 0 {
            let more = if self.waiting.more { "more than " } else { "" };
            let messages = size::count(self.waiting.messages as u64, "message");
            lines.push(("inbox", format!("{more}{messages} for the next control server")));
        }
        if self.waiting.dropped > 0 {
            let messages = size::count(self.waiting.dropped, "message");
            let lost = paint::bad(&format!("{messages} of hooks or proxies not kept"));
            let why = if self.stopped {
                "`bir down` has ended the control server, and what hosts tell until `bir up` is dropped"
            } else {
                "`bir down` had ended the control server, none ran for long, or the disk was full; the next one marks the runs"
            };
            lines.push(("lost", format!("{lost}: {why}")));
        }
        lines
    }

    fn control(&self, zone: &TimeZone) -> String {
        if let Some((_, health)) = servers(&self.projects).first() {
            let version = health.version.as_deref().map(|v| format!("  version {}", safe::line(v)));
            let since = health.started_at.map(|at| format!(", since {}", time::instant(at, zone)));
            let pid = health.pid.map(|pid| format!(", process {pid}"));
            let parts = [version, pid, since].map(Option::unwrap_or_default).concat();
            let nothing = "answers, and keeps nothing until it is clear what may be kept";
            let how = if health.keeps_nothing { paint::warn(nothing) } else { paint::good("answers") };
            return format!("{how}{parts}");
        }
        let trouble = self.projects.iter().find_map(|project| match &project.served {
            Served::Silent(why) => Some(why),
            _ => None,
        });
        match (self.stopped, trouble) {
            (true, _) => paint::warn(
                "ended with `bir down`; until `bir up` hooks tell nothing: prompts and built-in tools are not recorded, and calls over MCP \
                 become runs of their own",
            ),
            (false, Some(why)) => {
                let why = paint::warn(&format!("does not answer: {}", safe::line(why)));
                format!("{why}; the next event of a host starts it, or `bir up`")
            }
            (false, None) => "not running; the next session of a host starts it, or `bir up`".into(),
        }
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        let servers = servers(&self.projects);
        let server = servers.first().map(|(contact, health)| {
            json!({ "url": contact.url, "pid": health.pid, "version": health.version, "apiVersion": health.api_version,
                "startedAt": health.started_at, "recording": !health.keeps_nothing })
        });
        let trouble = |served: &Served| match served {
            Served::Silent(why) => Some(why.clone()),
            _ => None,
        };
        let projects = self.projects.iter().map(|project| {
            json!({ "dir": project.dir, "served": matches!(project.served, Served::By(_)), "trouble": trouble(&project.served) })
        });
        let sessions = sessions(&self.projects)
            .into_iter()
            .map(|one| json!({ "host": one.host, "sessionId": one.id, "cwd": one.cwd, "run": one.run }));
        let proxies = proxies(&self.projects)
            .into_iter()
            .map(|one| json!({ "server": one.server, "pid": one.pid, "sessionId": one.session }));
        json!({
            "control": server, "stopped": self.stopped, "projects": projects.collect::<Vec<_>>(),
            "sessions": sessions.collect::<Vec<_>>(), "proxies": proxies.collect::<Vec<_>>(),
            "bypassed": bypassed(&self.projects),
            "inbox": { "messages": self.waiting.messages, "more": self.waiting.more, "dropped": self.waiting.dropped },
        })
    }
}

impl Waiting {
    fn look(state_dir: &Path) -> Self {
        let inbox = Inbox::new(state_dir);
        let files = inbox.files();
        // One that is read away meanwhile waits no more.
        let count = |file| Inbox::read(file).map_or(0, |(messages, damaged)| messages.len() + damaged);
        let messages = files.iter().take(COUNTED).map(|file| count(file)).sum();
        Self { messages, more: files.len() > COUNTED, dropped: inbox.dropped() }
    }
}

/// A project; one that is left out where others are served is told.
fn project(project: &Project, others: bool) -> String {
    let dir = place(&project.dir);
    match project.served {
        Served::No | Served::Silent(_) if others => format!("{dir} {}", paint::warn("(not served)")),
        _ => dir,
    }
}

/// A project's directory for people.
pub(crate) fn place(dir: &Path) -> String {
    if dir.parent().is_none() {
        return format!("everywhere ({})", dir.display());
    }
    safe::line(&dir.to_string_lossy()).into_owned()
}

/// The first few, and how many more.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let shown = all.take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::super::look::samples::served;
    use super::*;

    fn plain(bound: &Bound) -> String {
        let lines = bound.lines(&TimeZone::UTC, &["fs"]).into_iter();
        let text: String = lines.map(|(name, text)| format!("{name}: {text}\n")).collect();
        console::strip_ansi_codes(&text).into_owned()
    }

    #[test]
    fn each_line_says_what_is_and_what_to_do() {
        let asleep = Project { dir: "/q".into(), contact: None, served: Served::No };
        let told = json!({"version": "0.1\u{1b}", "pid": 7, "startedAt": 1_000, "bypassed": {"git\u{202e}": 3, "mcp__fs__read": 1},
            "sessions": [{"host": "claude-code", "sessionId": "s", "cwd": "/p/\u{1b}x"}], "proxies": [{"server": "fs"}]});
        let waiting = Waiting { messages: 1, more: true, dropped: 2 };
        let mut bound = Bound { projects: vec![served("/p", told), asleep.clone()], stopped: false, waiting };
        assert_eq!(
            plain(&bound),
            "control: answers  version 0.1␛, process 7, since 1970-01-01 00:00:01\n\
             projects: /p, /q (not served)\n\
             sessions: claude-code in /p/␛x\n\
             proxies: fs\n\
             bypassed: fs (1): calls that no proxy saw, though it is wrapped now; restart the host, which goes on with the entry that it \
             has read\n\
             bypassed: git\\u{202e} (3): calls that no proxy saw; put the server behind one with `bir install` or `bir wrap`, then \
             restart the host\n\
             inbox: more than 1 message for the next control server\n\
             lost: 2 messages of hooks or proxies not kept: `bir down` had ended the control server, none ran for long, or the disk \
             was full; the next one marks the runs\n"
        );
        bound.projects = vec![asleep; NAMED + 2];
        assert!(plain(&bound).contains("projects: /q, /q, /q, /q and 2 more"), "{}", plain(&bound));
        assert!(plain(&bound).contains("control: not running"));
        bound.stopped = true;
        let stopped = plain(&bound);
        assert!(stopped.contains("ended with `bir down`; until `bir up` hooks tell nothing"), "{stopped}");
        assert!(!stopped.contains("leave what they see") && !stopped.contains("disk"), "{stopped}");
        assert!(stopped.contains("what hosts tell until `bir up` is dropped"), "{stopped}");
        bound.projects[0].served = Served::Silent("no answer".into());
        bound.stopped = false;
        assert!(plain(&bound).contains("does not answer: no answer"));
        bound.projects.clear();
        assert!(plain(&bound).starts_with("bound: no project is set up; `bir project add`"));
        assert_eq!(bound.json()["control"], Value::Null);
        assert!(!bound.leaves_out(Path::new("/p")), "where none is set up the first line says it");
        bound.projects.push(Project { dir: "/q".into(), contact: None, served: Served::No });
        assert!(bound.leaves_out(Path::new("/p")) && !bound.leaves_out(Path::new("/q/sub")));
        assert_eq!(place(Path::new("/")), "everywhere (/)");
    }
}
