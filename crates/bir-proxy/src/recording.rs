//! The recorder's view of this program: where it runs, whether it may, and the log.

use crate::args::Relay;
use crate::log;
use bir_control_client::{Contact, Health, Place};
use bir_home::state_dir;
use bir_record::recorder::{
    Farewell, Level, MAX_COPY, Options, ProxyTap, Recorder, Scope, Sighting, Surroundings,
};
use bir_wire::Limits;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Makes the recorder and its tap, unless nothing is to be recorded. Nothing is read or started before the first call.
pub(crate) fn prepare(relay: &Relay) -> Option<(Recorder, ProxyTap)> {
    if !relay.record {
        log::info!("nothing is recorded, as `--no-record` says");
        return None;
    }
    Some(Recorder::new(Options {
        server: relay.server_name.as_str().to_owned(),
        standalone: relay.standalone,
        scope: relay.scope.unwrap_or(Scope::Any),
        state_dir: state_dir(),
        surroundings: Box::new(Here { directory: std::env::current_dir().ok(), question: None, told: None }),
        say: Arc::new(|level, text| match level {
            Level::Warn => log::warn!("{text}"),
            Level::Info => log::info!("{text}"),
            Level::Debug => log::debug!("{text}"),
        }),
    }))
}

/// Bytes of the head of a message that streams that are kept: enough for what a log tells, and where there is a recorder
/// for what it copies.
pub(crate) fn keep(recorded: bool) -> usize {
    if recorded { MAX_COPY } else { Limits::default().keep }
}

/// Ends the recording as the relay has ended.
pub(crate) fn close(recorder: Recorder) {
    let farewell = if crate::watch::was_signalled() { Farewell::Signal } else { Farewell::Clean };
    recorder.close(farewell);
}

struct Here {
    directory: Option<PathBuf>,
    /// A control server was asked whether it is there, and this is where the answer comes.
    question: Option<Receiver<Option<Health>>>,
    /// Why there is no answer; said once for each reason.
    told: Option<String>,
}

impl Here {
    /// Asks on a thread of its own: an answer may take as long as its budget, and calls come meanwhile.
    fn ask(&mut self, contact: Contact) {
        let (answer, question) = sync_channel(1);
        let ask = move || {
            let asked = bir_control_client::ask(&contact);
            if let Err(e) = &asked {
                log::debug!("the control server at {}: {e}", shown(&contact.url));
            }
            let _ = answer.send(asked.ok());
        };
        if std::thread::Builder::new().name("control".into()).spawn(ask).is_ok() {
            self.question = Some(question);
        }
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

impl Surroundings for Here {
    fn project(&mut self) -> Option<PathBuf> {
        self.directory.as_deref().map(bir_control_client::project_of)
    }

    fn look(&mut self) -> Sighting {
        let variable = |name: &str| std::env::var(name).ok();
        let Some(directory) = self.directory.clone() else { return Sighting::Nothing };
        let contact = match bir_control_client::find(state_dir().as_deref(), &directory, &variable) {
            Ok(Place::At(contact)) => contact,
            Ok(Place::Asleep(_)) => return Sighting::Installed,
            Ok(Place::Nowhere) => return Sighting::Nothing,
            Err(e) => {
                self.tell_once(e.to_string());
                return Sighting::Installed;
            }
        };
        match self.question.take().map(|question| (question.try_recv(), question)) {
            Some((Ok(Some(health)), _)) => Sighting::Answered { api_version: health.api_version },
            Some((Err(TryRecvError::Empty), question)) => {
                self.question = Some(question);
                Sighting::Installed
            }
            Some(_) | None => {
                self.ask(contact);
                Sighting::Installed
            }
        }
    }

    fn is_off(&mut self) -> bool {
        bir_home::off::is_off()
    }
}
