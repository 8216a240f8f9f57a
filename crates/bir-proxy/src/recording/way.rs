//! The way to the control server of the project in which this proxy works: where it is said to be, whether it is there, and
//! what is done while it is not.

use crate::log;
use crate::replay::Poller;
use bir_control_client::{
    Contact, ControlError, Courier, Delivery, Errand, Inbox, Place, ReviveError, projects,
};
use bir_home::state_dir;
use bir_model::control::{Envelope, ProxyReport, Registration, StepReports};
use bir_record::recorder::{Fate, Heard, Link, Parcel, Sighting};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// A discovery file, and when it was written.
type Stamp = Option<(PathBuf, SystemTime)>;

pub(super) struct Way {
    directory: Option<PathBuf>,
    courier: Option<Courier>,
    /// Who was asked and has not answered.
    asked: Option<Contact>,
    /// Who answered last.
    contact: Option<Contact>,
    /// A parcel could not even be sent.
    failed: bool,
    /// What the last look went by.
    seen: Stamp,
    /// Why there is no answer; said once for each reason.
    told: Option<String>,
    /// Asks for work where replay is on.
    poller: Poller,
    /// Who was shown with the parcel that is on its way, and to whom.
    sent: Option<(Contact, Arc<Registration>)>,
}

impl Way {
    pub(super) fn new(directory: Option<PathBuf>, poller: Poller) -> Self {
        Self {
            directory,
            courier: None,
            asked: None,
            contact: None,
            failed: false,
            seen: None,
            told: None,
            poller,
            sent: None,
        }
    }

    /// The courier, who wakes the thread that first needs one: the recorder's.
    fn courier(&mut self) -> Option<&Courier> {
        if self.courier.is_none() {
            match Courier::start(std::thread::current()) {
                Ok(courier) => self.courier = Some(courier),
                Err(e) => self.tell_once(format!("no control server can be asked: {e}")),
            }
        }
        self.courier.as_ref()
    }

    fn ask(&mut self, contact: Contact) -> Sighting {
        if self.asked.is_some() {
            return Sighting::Asked;
        }
        let Some(courier) = self.courier() else { return Sighting::Installed };
        courier.send(Errand::Ask(contact.clone()));
        self.asked = Some(contact);
        Sighting::Asked
    }

    /// Nobody is there: somebody is brought to life, unless that is not wanted.
    fn revive(&self) -> Sighting {
        let Some(dir) = state_dir() else { return Sighting::Installed };
        match bir_control_client::revive(&dir) {
            Ok(()) => log::info!("the control server is started again"),
            Err(ReviveError::Stopped) => return Sighting::Stopped,
            Err(e) => log::debug!("the control server is not started: {e}"),
        }
        Sighting::Installed
    }

    fn answered(&mut self, answer: Result<bir_control_client::Health, ControlError>) -> Sighting {
        let Some(contact) = self.asked.take() else { return Sighting::Installed };
        match answer {
            Ok(health) => {
                self.contact = Some(contact);
                Sighting::Answered { api_version: health.api_version }
            }
            Err(e) => {
                log::debug!("the control server at {}: {e}", shown(&contact.url));
                // Who is named by the environment alone is somebody else's to start.
                if contact.file.is_some() { self.revive() } else { Sighting::Installed }
            }
        }
    }

    fn stamp(&self) -> Stamp {
        let file = projects::nearest(&state_dir()?, self.directory.as_deref()?)?;
        let written = file.metadata().and_then(|found| found.modified()).ok()?;
        Some((file, written))
    }

    fn tell_once(&mut self, why: String) {
        if self.told.as_ref() != Some(&why) {
            log::warn!("{why}");
            self.told = Some(why);
        }
    }
}

/// An address may hold what is nobody's business: only so much of it is said.
fn shown(url: &str) -> &str {
    let end = url.find(['?', '@']).unwrap_or(url.len());
    &url[..end]
}

/// Whether it is this message that is not wanted, by somebody who is there.
fn is_refused(error: &ControlError) -> bool {
    match error {
        ControlError::BadBody(_) => true,
        ControlError::Refused(status) => matches!(status.as_u16(), 400 | 403 | 413 | 415 | 422),
        _ => false,
    }
}

impl Link for Way {
    fn look(&mut self) -> Sighting {
        let variable = |name: &str| std::env::var(name).ok();
        let Some(directory) = self.directory.clone() else { return Sighting::Nothing };
        self.seen = self.stamp();
        match bir_control_client::find(state_dir().as_deref(), &directory, &variable) {
            Ok(Place::At(contact)) => self.ask(contact),
            Ok(Place::Asleep(_)) => self.revive(),
            Ok(Place::Nowhere) => Sighting::Nothing,
            Err(e) => {
                self.tell_once(e.to_string());
                self.revive()
            }
        }
    }

    fn has_moved(&mut self) -> bool {
        self.stamp() != self.seen
    }

    fn send(&mut self, parcel: Parcel) {
        let contact = self.contact.clone();
        let Some((contact, courier)) = contact.and_then(|contact| Some((contact, self.courier()?))) else {
            self.failed = true;
            return;
        };
        let Parcel { registration, reports } = parcel;
        courier.send(Errand::Bring {
            contact: contact.clone(),
            registration: Arc::clone(&registration),
            reports,
        });
        self.sent = Some((contact, registration));
    }

    fn heard(&mut self) -> Option<Heard> {
        if std::mem::take(&mut self.failed) {
            return Some(Heard::Brought(Fate::Gone));
        }
        match self.courier.as_ref()?.heard()? {
            Delivery::Asked(answer) => Some(Heard::Sighted(self.answered(answer))),
            Delivery::Brought(Ok(registered)) => {
                if let (Some(answer), Some((contact, who))) = (registered, self.sent.take()) {
                    self.poller.registered(&contact, who, &answer);
                }
                Some(Heard::Brought(Fate::Taken))
            }
            Delivery::Brought(Err(e)) if is_refused(&e) => {
                log::warn!("the control server refuses a report: {e}");
                Some(Heard::Brought(Fate::Refused))
            }
            Delivery::Brought(Err(e)) => {
                log::debug!("the control server took no report: {e}");
                Some(Heard::Brought(Fate::Gone))
            }
        }
    }

    fn leave(&mut self, registration: &Registration, reports: Vec<ProxyReport>) -> Result<(), String> {
        let dir = state_dir().ok_or("there is no state directory")?;
        let reports = StepReports { proxy_id: registration.proxy_id.clone(), reports };
        let message = Envelope::Proxy { registration: Box::new(registration.clone()), reports };
        Inbox::new(&dir).put(&[message]).map_err(|e| e.to_string())
    }
}
