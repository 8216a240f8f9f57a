//! Brings a proxy's reports to the control server, on a thread of its own: an answer may take as long as its budget, and whoever
//! sends has a queue to empty meanwhile.
//!
//! ```text
//!   recorder ── Errand ──▶ courier ── POST /proxy/register, /proxy/step ──▶ control server
//!        ◀── Delivery, unpark ──┘
//! ```
//!
//! It shows a registration that this control server has not seen from it before it brings reports, and again when it is asked
//! to (`409`). A connection that fails is made anew once, since one that was idle may have been closed by either side.

use crate::{BUDGET, Contact, Control, ControlError, Health};
use bir_model::control::{Registered, Registration, StepAnswer, StepReports};
use http::StatusCode;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Thread;

/// What the courier is sent for.
#[derive(Debug)]
pub enum Errand {
    /// Is somebody there?
    Ask(Contact),
    /// Introduce, if need be, and report, if there is something.
    Bring {
        /// To whom.
        contact: Contact,
        /// Who reports.
        registration: Arc<Registration>,
        /// What.
        reports: Arc<StepReports>,
    },
}

/// What became of an errand.
#[derive(Debug)]
pub enum Delivery {
    /// Somebody is there, or not.
    Asked(Result<Health, ControlError>),
    /// All of it is with the control server, or as far as is known nothing is.
    /// With what the introduction was answered, where there was one.
    Brought(Result<Option<Registered>, ControlError>),
}

/// A thread that runs errands, one after the other. It ends when this is dropped.
pub struct Courier {
    errands: Sender<Errand>,
    deliveries: Receiver<Delivery>,
}

impl Courier {
    /// Starts one; `wake` is unparked when there is something to hear.
    ///
    /// # Errors
    ///
    /// There is no thread or no runtime to be had.
    pub fn start(wake: Thread) -> io::Result<Self> {
        let (errands, sent) = channel();
        let (heard, deliveries) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("control".into()).spawn(move || {
            let mut known = None;
            for errand in sent {
                let delivery = runtime.block_on(run(errand, &mut known));
                if heard.send(delivery).is_err() {
                    break;
                }
                wake.unpark();
            }
            runtime.shutdown_background();
        })?;
        Ok(Self { errands, deliveries })
    }

    /// Sends it on an errand.
    pub fn send(&self, errand: Errand) {
        // The thread ends with this struct.
        let _ = self.errands.send(errand);
    }

    /// What was heard since; never waits.
    #[must_use]
    pub fn heard(&self) -> Option<Delivery> {
        self.deliveries.try_recv().ok()
    }
}

/// The control server that was spoken to last.
struct Known {
    contact: Contact,
    control: Control,
    /// What it was shown.
    shown: Option<Arc<Registration>>,
}

async fn run(errand: Errand, known: &mut Option<Known>) -> Delivery {
    match errand {
        Errand::Ask(contact) => Delivery::Asked(match at(contact, known) {
            Ok(known) => known.control.health().await,
            Err(e) => Err(e),
        }),
        Errand::Bring { contact, registration, reports } => {
            let brought = match at(contact, known) {
                Ok(known) => bring(known, &registration, &reports).await,
                Err(e) => Err(e),
            };
            if brought.is_err() {
                *known = None;
            }
            Delivery::Brought(brought)
        }
    }
}

fn at(contact: Contact, known: &mut Option<Known>) -> Result<&mut Known, ControlError> {
    match known {
        Some(known) if known.contact == contact => {}
        _ => *known = Some(Known { control: Control::new(&contact)?, contact, shown: None }),
    }
    known.as_mut().ok_or(ControlError::NotHere)
}

async fn bring(
    known: &mut Known,
    registration: &Arc<Registration>,
    reports: &StepReports,
) -> Result<Option<Registered>, ControlError> {
    let (mut asked_again, mut connected_again) = (false, false);
    loop {
        match try_to_bring(known, registration, reports).await {
            Err(ControlError::Refused(StatusCode::CONFLICT)) if !asked_again => {
                (known.shown, asked_again) = (None, true);
            }
            Err(ControlError::Unreachable(_)) if !connected_again => connected_again = true,
            done => return done,
        }
    }
}

async fn try_to_bring(
    known: &mut Known,
    registration: &Arc<Registration>,
    reports: &StepReports,
) -> Result<Option<Registered>, ControlError> {
    let mut registered = None;
    if known.shown.as_ref() != Some(registration) {
        registered = Some(known.control.post("/proxy/register", &**registration, BUDGET).await?);
        known.shown = Some(Arc::clone(registration));
    }
    if !reports.reports.is_empty() {
        let _: StepAnswer = known.control.post("/proxy/step", reports, BUDGET).await?;
    }
    Ok(registered)
}
