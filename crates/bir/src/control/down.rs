//! The control server, ended and not started again by whoever misses it.

use super::look::{Project, Served, look};
use crate::error::CommandError;
use crate::home::block_on;
use crate::hub::process::{End, Process};
use bir_control_client::{Contact, Control, projects, stopped_file};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// How long it may take to be gone after it was asked, and again after a signal.
const END: Duration = Duration::from_secs(3);
/// How long it may take to say that it has heard.
const HEARD: Duration = Duration::from_secs(2);

/// What became of control servers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Down {
    /// No project is set up, so nobody could be asked.
    no_project: bool,
    /// Processes that have ended.
    ended: Vec<u32>,
    /// Those that have not, and why.
    left: Vec<(u32, String)>,
}

/// Ends every control server of this user.
pub(crate) fn stop(state_dir: &Path) -> Result<Down, CommandError> {
    // Where nothing was ever set up nothing is written either.
    if !projects::folder(state_dir).is_dir() {
        return Ok(Down { no_project: true, ..Down::default() });
    }
    // Before anything ends, so that nobody who misses it starts it again.
    let stopped = stopped_file(state_dir);
    bir_home::replace(&stopped, b"")
        .map_err(|e| CommandError::failed(format!("cannot write {}: {e}", stopped.display())))?;
    // Held before they are confirmed, so that what is confirmed is what is ended.
    let pids = projects::list(state_dir).into_iter().filter_map(|(_, found)| found.pid);
    let held: Vec<(u32, Process)> = pids.filter_map(|pid| Some((pid, Process::of(pid)?))).collect();
    let projects = block_on(async { Ok(look(state_dir).await) })?;
    let mut down = Down { no_project: projects.is_empty(), ..Down::default() };
    for project in &projects {
        let Some((contact, pid)) = project.contact.as_ref().and_then(|c| Some((c, c.pid?))) else { continue };
        let Some((_, process)) = held.iter().find(|(held, _)| *held == pid) else { continue };
        if !down.knows(pid) {
            down.end(project, contact, pid, process);
        }
    }
    Ok(down)
}

impl Down {
    fn knows(&self, pid: u32) -> bool {
        self.ended.contains(&pid) || self.left.iter().any(|(left, _)| *left == pid)
    }

    fn end(&mut self, project: &Project, contact: &Contact, pid: u32, process: &Process) {
        let answers = matches!(&project.served, Served::By(health) if health.pid == Some(pid));
        if answers && asked(contact) && process.ends_within(END) == End::Ended {
            return self.ended.push(pid);
        }
        if !answers && !is_control_server(pid) {
            let why =
                "it does not answer as a control server and may be another program; nothing was done to it";
            return self.left.push((pid, why.into()));
        }
        match process.end(END) {
            End::Ended => self.ended.push(pid),
            End::GoesOn => {
                self.left.push((pid, format!("it was asked to end and goes on after {} s", END.as_secs())));
            }
            End::Refused => self.left.push((pid, "it may not be ended by this user".into())),
        }
    }

    /// As a line.
    pub(crate) fn line(&self) -> String {
        if let Some((pid, why)) = self.left.first() {
            return format!("the control server (process {pid}) has not ended: {why}");
        }
        match self.ended.first() {
            Some(pid) => format!("the control server (process {pid}) has ended; `bir up` starts it again"),
            None if self.no_project => "no control server runs here: no project is set up".into(),
            None => "no control server runs here, and none starts until `bir up`".into(),
        }
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        json!({ "ended": !self.ended.is_empty(), "pid": self.ended.first(), "trouble": self.left.first().map(|(_, why)| why) })
    }

    /// Whether one goes on.
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }
}

/// Whether it has heard that it is to end.
fn asked(contact: &Contact) -> bool {
    let Ok(control) = Control::new(contact) else { return false };
    control.post_blocking::<Value>("/shutdown", &json!({ "reason": "down" }), HEARD).is_ok()
}

/// Whether a process runs our program, where the system tells.
fn is_control_server(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    // After an upgrade the system adds ` (deleted)`.
    program
        .file_name()
        .is_some_and(|name| name.to_string_lossy().trim_end_matches(" (deleted)") == "bir-hooks")
}
