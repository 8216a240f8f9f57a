//! The control server, ended and not started again by whoever misses it.

use super::look::{contact, health};
use crate::error::CommandError;
use crate::home::block_on;
use crate::hub::process::{End, Process};
use bir_control_client::{Contact, Control, Discovery, projects, stopped_file};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// How long it may take to be gone after it was asked, and again after a signal.
const END: Duration = Duration::from_secs(3);
/// Beside its lock a control server says where it is, in the folder of the discovery files.
const LOCK: &str = "serve.json";
/// How long it may take to say that it has heard.
const HEARD: Duration = Duration::from_secs(2);

/// Hooks and proxies that are set up do not end with it.
const GO_ON: &str =
    "hosts that go on record calls over MCP by themselves until `bir up`; `bir off` stops recording";

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
    let said: Vec<_> = projects::list(state_dir).into_iter().map(|(_, said)| said).collect();
    let mut down = Down { no_project: said.is_empty(), ..Down::default() };
    // One that serves no project is known by the file of its lock alone.
    let lock = Discovery::read(&projects::folder(state_dir).join(LOCK)).ok();
    let contacts: Vec<Contact> = said.into_iter().chain(lock).filter_map(contact).collect();
    // Held before they are confirmed, so that what is confirmed is what is ended.
    let pids: BTreeSet<u32> = contacts.iter().filter_map(|contact| contact.pid).collect();
    let held: Vec<_> = pids.into_iter().filter_map(|pid| Some((pid, Process::of(pid)?))).collect();
    for (pid, process) in held {
        let mut answering = None;
        for contact in contacts.iter().filter(|contact| contact.pid == Some(pid)) {
            let health = block_on(async { Ok(health(contact).await) })?;
            if health.is_ok_and(|health| health.pid == Some(pid)) {
                answering = Some(contact);
                break;
            }
        }
        down.end(answering, pid, &process);
    }
    Ok(down)
}

impl Down {
    /// Ends a process. `answering`: it has said by this contact that it is a control server.
    fn end(&mut self, answering: Option<&Contact>, pid: u32, process: &Process) {
        if answering.is_some_and(asked) && process.ends_within(END) == End::Ended {
            return self.ended.push(pid);
        }
        if answering.is_none() && !is_control_server(pid) {
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
            Some(pid) => format!("the control server (process {pid}) has ended; {GO_ON}"),
            None if self.no_project => "no control server runs here: no project is set up".into(),
            None => format!("no control server runs here; {GO_ON}"),
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
