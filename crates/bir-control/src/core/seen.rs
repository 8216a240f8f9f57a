//! Who has come, noted for `bir doctor` in `control/seen.json`: at most one write a second, and nothing that is told waits for it.

use super::Core;
use crate::ledger::{Ledger, Transcripts};
use crate::projects::resolved;
use bir_control_client::Seen;
use bir_control_client::seen::{SeenProxy, SeenSession};
use bir_model::control::{HookEvent, Registration};
use bir_record::SafeTold;
use std::path::{Path, PathBuf};

/// The file's content, and whether it is still to be written.
pub(super) struct Noted {
    seen: Seen,
    unwritten: bool,
}

impl Noted {
    /// What earlier control servers have noted.
    pub(super) fn read(state_dir: &Path) -> Self {
        Self { seen: Seen::read(state_dir), unwritten: false }
    }

    /// Writes what is new. What cannot be written is tried again with the next call.
    pub(super) fn write(&mut self, state_dir: &Path) {
        if self.unwritten && self.seen.write(state_dir).is_ok() {
            self.unwritten = false;
        }
    }
}

impl<L: Ledger, T: Transcripts> Core<L, T> {
    /// A proxy has registered.
    pub(super) fn note_proxy(&mut self, registration: &Registration) {
        let Some(project) = self.set_up_for(&registration.cwd) else { return };
        let host = registration.host.as_ref().map(|host| host.app.clone()).filter(|app| !app.is_empty());
        let new = self.noted.seen.registered(SeenProxy {
            project,
            server: registration.server.name.clone(),
            host,
            version: registration.version.clone(),
            at: crate::now(),
        });
        self.noted.unwritten |= new;
    }

    /// An event came; the first one of a session is its start, as far as is known here.
    pub(super) fn note_session(&mut self, event: &HookEvent<SafeTold>) {
        if self.of_session.contains_key(&event.session_id) {
            return;
        }
        let Some(project) = self.set_up_for(&event.cwd) else { return };
        let new = self.noted.seen.began(SeenSession { project, host: event.host.app.clone(), at: event.at });
        self.noted.unwritten |= new;
    }

    /// The project that covers a directory: the nearest one that is set up.
    fn set_up_for(&self, dir: &Path) -> Option<PathBuf> {
        let dir = resolved(dir)?;
        let above = self.around.projects.iter().filter(|project| dir.starts_with(project));
        above.max_by_key(|project| project.components().count()).map(|project| project.to_path_buf())
    }
}
