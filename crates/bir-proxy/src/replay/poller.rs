//! Asks the control server for work, runs it, and reports. A thread of its own, started where replay is on.
//!
//! A poll is always held, also while calls run: it says that we are there, and it is how we hear that a call is withdrawn.
//!
//! | answer | next poll |
//! |---|---|
//! | an order, a withdrawal, or nothing after the time that it was held | at once |
//! | nothing at once | 1 s later, doubling up to [`SLOW`] |
//! | replay is off | [`SLOW`] later |
//! | nobody | 250 ms later, doubling up to 5 s; where a discovery file says is looked up anew |
//! | it does not know us | at once, after an introduction |

use super::own::OwnCalls;
use crate::log;
use bir_control_client::{BUDGET, Contact, Control, ControlError, Place, Replay};
use bir_model::control::{Registered, Registration, WorkAnswer, WorkEnd, WorkOrder, WorkPoll, WorkReport};
use http::StatusCode;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// Calls of ours that run side by side.
const MOST: usize = 4;
/// How long an answer may take beyond the time for which it is held.
const SLACK: Duration = Duration::from_secs(5);
/// The longest time for which a poll is held, whatever the control server says.
const LONGEST_HOLD: Duration = Duration::from_secs(60);
/// How a poll is held where nobody says how long.
const HOLD: Duration = Duration::from_secs(25);
/// An answer that comes sooner than this was not held.
const AT_ONCE: Duration = Duration::from_millis(500);
/// The slow pace.
const SLOW: Duration = Duration::from_secs(30);
/// The first pauses, and the longest where nobody is there.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long the report of a call may take: it may be long.
const REPORTING: Duration = Duration::from_secs(10);
/// Tries to report. Between them the control server may have been replaced; it knows nothing of the order then.
const TRIES: u32 = 3;

/// Starts polling when it is told to, once.
pub(crate) struct Poller {
    own: Arc<OwnCalls>,
    directory: Option<PathBuf>,
    who: Arc<Mutex<Option<Arc<Registration>>>>,
    started: bool,
}

impl Poller {
    pub(crate) fn new(own: Arc<OwnCalls>, directory: Option<PathBuf>) -> Self {
        Self { own, directory, who: Arc::default(), started: false }
    }

    /// A control server has answered an introduction.
    pub(crate) fn registered(&mut self, contact: &Contact, who: Arc<Registration>, answer: &Registered) {
        if !answer.replay || Replay::of_environment() == Replay::Never {
            return;
        }
        *self.who.lock().unwrap_or_else(PoisonError::into_inner) = Some(who);
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let hold = answer.poll_hold_ms.map_or(HOLD, Duration::from_millis).min(LONGEST_HOLD);
        let (own, who, directory, contact) =
            (Arc::clone(&self.own), Arc::clone(&self.who), self.directory.clone(), contact.clone());
        let run = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(e) => return log::warn!("replay: there is no runtime: {e}"),
            };
            let polling = Polling {
                own,
                who,
                directory,
                hold,
                control: RefCell::new(None),
                running: RefCell::default(),
                ended: Notify::new(),
                said: Cell::new(false),
            };
            tokio::task::LocalSet::new().block_on(&runtime, Rc::new(polling).run(contact));
        };
        match std::thread::Builder::new().name("replay".into()).spawn(run) {
            Ok(_) => log::info!("replay is on: work is asked for"),
            Err(e) => log::warn!("replay: there is no thread: {e}"),
        }
    }
}

struct Polling {
    own: Arc<OwnCalls>,
    who: Arc<Mutex<Option<Arc<Registration>>>>,
    directory: Option<PathBuf>,
    hold: Duration,
    control: RefCell<Option<Control>>,
    /// Orders that run, with the means to withdraw them.
    running: RefCell<HashMap<String, oneshot::Sender<()>>>,
    ended: Notify,
    /// That nobody is there was said.
    said: Cell<bool>,
}

impl Polling {
    /// Never ends: the process does.
    async fn run(self: Rc<Self>, contact: Contact) {
        self.meet(&contact);
        let (mut pause, mut retry) = (FIRST_PAUSE, FIRST_RETRY);
        loop {
            let (takes, since) = (self.running.borrow().len() < MOST, Instant::now());
            let answer = tokio::select! {
                answer = self.poll(takes) => answer,
                // Only a poll that takes nothing is given up for another: with one that does an order might be lost.
                () = self.ended.notified(), if !takes => continue,
            };
            match answer {
                Ok(WorkAnswer { replay: false, .. }) => tokio::time::sleep(SLOW).await,
                Ok(WorkAnswer { work, cancel, .. }) => {
                    self.said.set(false);
                    retry = FIRST_RETRY;
                    let is_empty = work.is_none() && cancel.is_empty();
                    for id in cancel {
                        self.running.borrow_mut().remove(&id).map(|withdraw| withdraw.send(()));
                    }
                    if let Some(order) = work {
                        self.start(order);
                    }
                    if is_empty && since.elapsed() < AT_ONCE.min(self.hold) {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(SLOW);
                    } else {
                        pause = FIRST_PAUSE;
                    }
                }
                Err(ControlError::Refused(StatusCode::CONFLICT)) if self.introduce().await => {}
                Err(ControlError::Refused(status)) if !is_gone(status) => tokio::time::sleep(SLOW).await,
                Err(e) => {
                    if !self.said.replace(true) {
                        log::info!("replay: no work for now: {e}");
                    }
                    tokio::time::sleep(retry).await;
                    retry = (retry * 2).min(LAST_RETRY);
                    self.meet_again();
                }
            }
        }
    }

    async fn poll(&self, takes: bool) -> Result<WorkAnswer, ControlError> {
        let (control, proxy_id) = self.to_whom()?;
        let hold_ms = u64::try_from(self.hold.as_millis()).unwrap_or(u64::MAX);
        control.post("/proxy/poll", &WorkPoll { proxy_id, hold_ms, takes }, self.hold + SLACK).await
    }

    /// Says who we are. False: it was not taken.
    async fn introduce(&self) -> bool {
        let who = self.who();
        let (Some(who), Ok((control, _))) = (who, self.to_whom()) else { return false };
        let answer: Result<Registered, _> = control.post("/proxy/register", &*who, BUDGET).await;
        // One that has replay off answers the next poll so.
        answer.is_ok()
    }

    fn start(self: &Rc<Self>, order: WorkOrder) {
        let (withdraw, withdrawn) = oneshot::channel();
        self.running.borrow_mut().insert(order.work_id.clone(), withdraw);
        let polling = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let work_id = order.work_id.clone();
            let end = execute(&polling.own, order, withdrawn).await;
            log::debug!("replay: a call has ended: {}", named(&end));
            polling.running.borrow_mut().remove(&work_id);
            polling.ended.notify_one();
            polling.report(work_id, end).await;
        });
    }

    async fn report(&self, work_id: String, end: WorkEnd) {
        let Some(who) = self.who() else { return };
        let report = WorkReport { proxy_id: who.proxy_id.clone(), work_id, end };
        for _ in 0..TRIES {
            let Ok((control, _)) = self.to_whom() else { return };
            match control.post::<WorkAnswer>("/proxy/result", &report, REPORTING).await {
                Ok(_) => return,
                // It has given up on it.
                Err(ControlError::Refused(status)) if !status.is_server_error() => return,
                Err(e) => log::debug!("replay: a report is not taken: {e}"),
            }
            tokio::time::sleep(FIRST_RETRY).await;
        }
    }

    fn who(&self) -> Option<Arc<Registration>> {
        self.who.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn to_whom(&self) -> Result<(Control, String), ControlError> {
        let who = self.who().map(|who| who.proxy_id.clone());
        self.control.borrow().clone().zip(who).ok_or(ControlError::NotHere)
    }

    fn meet(&self, contact: &Contact) {
        *self.control.borrow_mut() = Control::new(contact).ok();
    }

    /// The one that was spoken to may have been replaced.
    fn meet_again(&self) {
        let variable = |name: &str| std::env::var(name).ok();
        let Some(directory) = &self.directory else { return };
        let place = bir_control_client::find(bir_home::state_dir().as_deref(), directory, &variable);
        if let Ok(Place::At(contact)) = place {
            self.meet(&contact);
        }
    }
}

/// Somebody else may be there soon.
fn is_gone(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED
        || status == StatusCode::CONFLICT
        || status == StatusCode::SERVICE_UNAVAILABLE
}

/// Runs an order. It ends within its time, whatever the server does.
async fn execute(own: &Arc<OwnCalls>, order: WorkOrder, withdrawn: oneshot::Receiver<()>) -> WorkEnd {
    // A little sooner than the control server, so that it hears how it stands.
    let budget = Duration::from_millis(order.timeout_ms);
    let budget = budget.saturating_sub((budget / 10).min(Duration::from_secs(1)));
    let mut begun = match own.begin(&order) {
        Ok(begun) => begun,
        Err(why) => return WorkEnd::NotSent { why },
    };
    let (reason, sent) = tokio::select! {
        biased;
        end = &mut begun.end => {
            return end.unwrap_or_else(|_| WorkEnd::Unknown { why: "the relay has ended".into() });
        }
        Ok(()) = withdrawn => ("withdrawn", WorkEnd::Cancelled),
        () = tokio::time::sleep(budget) => ("its time is over", WorkEnd::Timeout),
    };
    match begun.withdraw(reason) {
        Some(true) => sent,
        Some(false) => WorkEnd::NotSent { why: format!("{reason} before it was sent") },
        // It ended in this moment.
        None => (&mut begun.end).await.unwrap_or(sent),
    }
}

fn named(end: &WorkEnd) -> &'static str {
    match end {
        WorkEnd::Result { .. } => "result",
        WorkEnd::Error { .. } => "error",
        WorkEnd::InputRequired { .. } => "input required",
        WorkEnd::Timeout => "timeout",
        WorkEnd::Unknown { .. } => "unknown",
        WorkEnd::TooLarge { .. } => "too large",
        WorkEnd::Cancelled => "cancelled",
        WorkEnd::NotSent { .. } => "not sent",
    }
}
