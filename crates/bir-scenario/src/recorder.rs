//! The control server of the directory: whether there is one, what it answers, and what is done while there is none.

use crate::log;
use crate::words::Went;
use bir_control_client::{Contact, Control, ControlError, Place, ReviveError};
use bir_model::control::{ScenarioAnswer, ScenarioHello, ScenarioRun, WorkAnswer};
use std::path::PathBuf;
use std::time::Duration;

/// How long a hello may take.
const HELLO: Duration = Duration::from_secs(1);

/// Where it is looked for.
#[derive(Clone)]
pub(crate) struct Recorder {
    directory: PathBuf,
}

impl Recorder {
    /// That of the working directory. None: there is no such directory.
    pub(crate) fn here() -> Option<Self> {
        std::env::current_dir().ok().map(|directory| Self { directory })
    }

    /// The control server that says that it serves this directory.
    pub(crate) fn contact(&self) -> Option<Contact> {
        let variable = |name: &str| std::env::var(name).ok();
        match bir_control_client::find(bir_home::state_dir().as_deref(), &self.directory, &variable) {
            Ok(Place::At(contact)) => Some(contact),
            Ok(Place::Asleep(_) | Place::Nowhere) | Err(_) => None,
        }
    }

    /// Says that we are there. A recorder that has died is started again, unless that is not wanted.
    pub(crate) async fn hello(&self, contact: &Contact, hello: &ScenarioHello) -> bool {
        let Ok(control) = Control::new(contact) else { return false };
        match control.post::<WorkAnswer>("/scenario/hello", hello, HELLO).await {
            Ok(_) => true,
            Err(ControlError::Unreachable(_)) if contact.file.is_some() => {
                revive();
                false
            }
            Err(_) => false,
        }
    }

    /// Has the plan of a call run, and waits for its results.
    pub(crate) async fn run(&self, run: &ScenarioRun, budget: Duration) -> Went {
        let Some(contact) = self.contact() else { return Went::Nobody };
        let control = match Control::new(&contact) {
            Ok(control) => control,
            Err(e) => return Went::Failed(e.to_string()),
        };
        // Asked first: nobody who is not there has run anything.
        match control.health().await {
            Err(ControlError::Unreachable(_)) => return Went::Nobody,
            Err(e) => return Went::Failed(e.to_string()),
            Ok(_) => {}
        }
        match control.post::<ScenarioAnswer>("/scenario/run", run, budget).await {
            Ok(answer) => Went::Answered(answer),
            Err(e) => Went::Failed(e.to_string()),
        }
    }
}

fn revive() {
    let Some(dir) = bir_home::state_dir() else { return };
    match bir_control_client::revive(&dir) {
        Ok(()) => log("scenario.recorder_revive: the control server is started again"),
        Err(ReviveError::Stopped | ReviveError::TooSoon) => {}
        Err(e) => log(&format!("scenario.recorder_revive: it is not started: {e}")),
    }
}
