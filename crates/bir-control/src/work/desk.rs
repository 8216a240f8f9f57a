//! The I/O around queue, routes and the file. Lives on the server's thread; nothing of it is borrowed over a wait.

use super::POLL_HOLD_MS;
use super::ahead::{Ahead, Unsettled};
use super::queue::{Action, End, Event, OrderId, PollId, ProxyId, Queue};
use super::route::{Route, Seat, Wanted, route};
use super::scenario::Deliverers;
use super::works::{Asked, Outcome, Unsent, Work, Works};
use crate::log::Log;
use crate::process::Process;
use bir_control_client::Replay;
use bir_model::control::{ScenarioHello, WorkAnswer, WorkEnd, WorkOrder, WorkPoll, WorkReport};
use serde::de::IgnoredAny;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, oneshot};

/// Longest arguments of a call, in bytes: as long as the body of any other message.
const LONGEST_ARGUMENTS: usize = 4 * 1024 * 1024;
/// How often is looked whether the proxies that have orders still live.
const LOOK: Duration = Duration::from_millis(250);
/// Processes of proxies that are remembered.
const MOST_PROCESSES: usize = 1024;
/// The longest budget of one order, so that nothing is waited for without end.
const LONGEST_BUDGET: Duration = Duration::from_secs(3600);

/// Who may run what, asked of the thread that knows.
pub(crate) trait Registry {
    /// The proxies of a project, oldest first, and its sessions that go on.
    fn seats(&self, project: &Path) -> impl Future<Output = Option<(Vec<Seat>, Vec<String>)>>;
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reported {
    /// It is taken.
    Taken,
    /// The order is not that proxy's, or it has ended.
    TooLate,
}

pub(crate) struct Desk {
    state_dir: PathBuf,
    replay: Replay,
    log: Log,
    inner: RefCell<Inner>,
    deliverers: RefCell<Deliverers>,
    /// What the next deadline is may have changed.
    changed: Notify,
}

struct Inner {
    queue: Queue,
    ahead: Ahead,
    orders: HashMap<OrderId, InFlight>,
    polls: HashMap<PollId, oneshot::Sender<WorkAnswer>>,
    processes: HashMap<ProxyId, Option<Process>>,
    next_poll: PollId,
    /// How the order ended whose report is being heard.
    reported: Option<WorkEnd>,
    closed: bool,
}

struct InFlight {
    work: Work,
    until: u64,
    given: bool,
    done: oneshot::Sender<Outcome>,
}

impl Desk {
    /// A desk that has heard what an earlier one left, and the handle to it.
    pub(crate) fn new(
        state_dir: &Path,
        replay: Replay,
        log: Log,
    ) -> (Rc<Self>, Works, mpsc::Receiver<Asked>) {
        let ahead = Ahead::open(state_dir);
        for one in ahead.unsettled() {
            let Unsettled { work, server, tool, .. } = one;
            log.warn(&format!(
                "replay: what became of {tool} of {server} is unknown ({work}); it is not tried again"
            ));
        }
        let inner = Inner {
            queue: Queue::default(),
            ahead,
            orders: HashMap::new(),
            polls: HashMap::new(),
            processes: HashMap::new(),
            next_poll: 0,
            reported: None,
            closed: false,
        };
        let (works, asked) = Works::new();
        let desk = Self {
            state_dir: state_dir.to_path_buf(),
            replay,
            log,
            inner: RefCell::new(inner),
            deliverers: RefCell::default(),
            changed: Notify::new(),
        };
        (Rc::new(desk), works, asked)
    }

    /// Whether replay is on in a directory.
    pub(crate) fn is_on(&self, dir: &Path) -> bool {
        self.replay.is_on(&self.state_dir, dir)
    }

    /// Somebody says that it delivers results.
    pub(crate) fn hello(&self, project: &Path, hello: &ScenarioHello) {
        self.deliverers.borrow_mut().hello(project, hello, Instant::now());
    }

    /// A poll of a proxy that is known. Dropping the future means that the connection is gone.
    pub(crate) async fn poll(self: &Rc<Self>, seat: &Seat, poll: &WorkPoll) -> WorkAnswer {
        let nothing = WorkAnswer { replay: true, ..WorkAnswer::default() };
        let (answer, given) = oneshot::channel();
        let hold = poll.hold_ms.min(POLL_HOLD_MS);
        let id = {
            let mut inner = self.inner.borrow_mut();
            if inner.closed {
                return nothing;
            }
            inner.next_poll += 1;
            let id = inner.next_poll;
            inner.polls.insert(id, answer);
            if inner.processes.len() >= MOST_PROCESSES {
                let at_work: Vec<_> = inner.queue.at_work().cloned().collect();
                inner.processes.retain(|proxy, _| at_work.contains(proxy));
            }
            inner.processes.entry(seat.proxy.clone()).or_insert_with(|| Process::of(seat.pid));
            id
        };
        let _held = Holding { desk: self, proxy: &seat.proxy, poll: id };
        let until = crate::now().saturating_add(hold);
        self.hear(Event::Polls { proxy: seat.proxy.clone(), poll: id, takes: poll.takes, until });
        given.await.unwrap_or(nothing)
    }

    /// A report of a proxy that is known.
    pub(crate) fn report(&self, report: WorkReport) -> Reported {
        let WorkReport { proxy_id, work_id, end } = report;
        self.inner.borrow_mut().reported = Some(end);
        self.hear(Event::Reports { proxy: proxy_id, order: work_id });
        // What was taken is used up.
        match self.inner.borrow_mut().reported.take() {
            None => Reported::Taken,
            Some(_) => Reported::TooLate,
        }
    }

    /// Serves the handle and the deadlines until the future is dropped.
    pub(crate) async fn run(
        self: &Rc<Self>,
        registry: &Rc<impl Registry + 'static>,
        mut asked: mpsc::Receiver<Asked>,
    ) {
        let serving = async {
            while let Some(asked) = asked.recv().await {
                match asked {
                    Asked::Do { work, answer } => {
                        let (desk, registry) = (Rc::clone(self), Rc::clone(registry));
                        tokio::task::spawn_local(async move { desk.work(work, answer, &*registry).await });
                    }
                    Asked::Unsettled(answer) => {
                        let _ = answer.send(self.inner.borrow().ahead.unsettled());
                    }
                    Asked::Settle(work) => {
                        if let Err(e) = self.inner.borrow_mut().ahead.settle(&work, crate::now()) {
                            self.log.warn(&format!("control/orders.jsonl: {e}"));
                        }
                    }
                    Asked::Delivers { project, answer } => {
                        let _ = answer.send(self.deliverers.borrow().delivers(&project, Instant::now()));
                    }
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! { () = serving => {}, () = self.watch() => {} }
    }

    /// The end: polls are answered, and whoever waits for an order hears that it is not known, or that it was never sent.
    pub(crate) fn close(&self) {
        let actions = {
            let mut inner = self.inner.borrow_mut();
            inner.closed = true;
            inner.queue.close()
        };
        self.act(actions);
        // Of what was handed out the file keeps the intent: the next control server reports it.
        for (_, order) in self.inner.borrow_mut().orders.drain() {
            let why = || "the control server has ended".to_owned();
            let outcome = if order.given {
                Outcome::Unknown { why: why() }
            } else {
                Outcome::NotSent(Unsent::Unavailable)
            };
            let _ = order.done.send(outcome);
        }
    }

    /// Keeps the deadlines, and looks whether the proxies that have orders live.
    async fn watch(&self) {
        loop {
            let (due, at_work) = {
                let inner = self.inner.borrow();
                (inner.queue.due_at(), inner.queue.at_work().next().is_some())
            };
            let due = due.map(|due| Duration::from_millis(due.saturating_sub(crate::now())));
            let wait = due.into_iter().chain(at_work.then_some(LOOK)).min();
            let sleep = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! { () = sleep => {}, () = self.changed.notified() => {} }
            for proxy in self.dead() {
                self.log.info("replay: a proxy has left while it had work");
                self.hear(Event::Left { proxy });
            }
            let actions = self.inner.borrow_mut().queue.tick(crate::now());
            self.act(actions);
        }
    }

    /// Proxies that have orders and whose process is gone.
    fn dead(&self) -> Vec<ProxyId> {
        let inner = self.inner.borrow();
        let is_dead = |proxy: &&ProxyId| {
            inner.processes.get(*proxy).copied().flatten().is_some_and(|process| !process.is_alive())
        };
        inner.queue.at_work().filter(is_dead).cloned().collect()
    }

    /// One work from its submission to its end.
    async fn work(&self, work: Work, mut answer: oneshot::Sender<Outcome>, registry: &impl Registry) {
        let refuse = |answer: oneshot::Sender<Outcome>, why| drop(answer.send(Outcome::NotSent(why)));
        let is_object = work.arguments.trim_start().starts_with('{')
            && serde_json::from_str::<IgnoredAny>(&work.arguments).is_ok();
        if !is_object || work.arguments.len() > LONGEST_ARGUMENTS {
            return refuse(answer, Unsent::BadArguments);
        }
        if !self.is_on(&work.project) {
            return refuse(answer, Unsent::Off);
        }
        let budget = u64::try_from(work.budget.min(LONGEST_BUDGET).as_millis()).unwrap_or(u64::MAX);
        let until = crate::now().saturating_add(budget);
        let Some((mut seats, sessions)) = registry.seats(&work.project).await else {
            return refuse(answer, Unsent::Unavailable);
        };
        // One whose process is gone may still stand in the list, and would be the newest.
        let can_tell = Process::of(std::process::id()).is_some();
        seats.retain(|seat| !can_tell || Process::of(seat.pid).is_some());
        let wanted = Wanted { server: &work.server, session: work.session.as_deref() };
        let candidates = match route(wanted, &seats, &sessions) {
            Route::To(candidates) => candidates,
            Route::NotItsOwn => return refuse(answer, Unsent::NotItsOwn),
        };
        let Some(order) = crate::projects::secret().map(|secret| secret.secret().to_owned()) else {
            return refuse(answer, Unsent::Unavailable);
        };
        let (done, ended) = oneshot::channel();
        {
            let mut inner = self.inner.borrow_mut();
            if inner.closed {
                return refuse(answer, Unsent::Unavailable);
            }
            inner.orders.insert(order.clone(), InFlight { work, until, given: false, done });
        }
        self.hear(Event::Submit { order: order.clone(), candidates, until });
        tokio::select! {
            biased;
            outcome = ended => {
                let gone = || Outcome::Unknown { why: "the control server has ended".into() };
                let _ = answer.send(outcome.unwrap_or_else(|_| gone()));
            }
            () = answer.closed() => self.hear(Event::Withdraw { order }),
        }
    }

    fn hear(&self, event: Event) {
        let actions = self.inner.borrow_mut().queue.hear(crate::now(), event);
        self.act(actions);
        self.changed.notify_one();
    }

    fn act(&self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Give { order, proxy, poll } => self.give(&order, &proxy, poll),
                Action::Release { poll, withdrawn } => {
                    let answer = WorkAnswer { work: None, cancel: withdrawn, replay: true };
                    let poll = self.inner.borrow_mut().polls.remove(&poll);
                    poll.map(|poll| poll.send(answer));
                }
                Action::End { order, end } => self.end(&order, end),
            }
        }
    }

    /// Writes an order down, and then hands it out.
    fn give(&self, order: &OrderId, proxy: &ProxyId, poll: PollId) {
        let given = {
            let mut inner = self.inner.borrow_mut();
            let Inner { ahead, orders, polls, .. } = &mut *inner;
            match (orders.get_mut(order), polls.remove(&poll)) {
                (Some(known), Some(poll)) => {
                    let now = crate::now();
                    match ahead.intend(intent(order, proxy, &known.work, now)) {
                        Ok(()) => {
                            known.given = true;
                            let work = WorkOrder {
                                work_id: order.clone(),
                                tool_name: known.work.tool.clone(),
                                arguments: std::mem::take(&mut known.work.arguments),
                                timeout_ms: known.until.saturating_sub(now),
                            };
                            let answer = WorkAnswer { work: Some(work), cancel: Vec::new(), replay: true };
                            // Whoever asked has gone in this moment: nothing left.
                            poll.send(answer).is_ok()
                        }
                        Err(e) => {
                            self.log.error(&format!("replay: an order is not handed out: {e}"));
                            let _ = poll.send(WorkAnswer { replay: true, ..WorkAnswer::default() });
                            false
                        }
                    }
                }
                _ => false,
            }
        };
        if !given {
            self.hear(Event::NotGiven { order: order.clone() });
        }
    }

    fn end(&self, order: &OrderId, end: End) {
        let mut inner = self.inner.borrow_mut();
        let Some(known) = inner.orders.remove(order) else { return };
        let outcome = match end {
            End::Reported => match inner.reported.take() {
                Some(WorkEnd::NotSent { why }) => Outcome::NotSent(Unsent::Proxy(why)),
                Some(WorkEnd::Unknown { why }) => Outcome::Unknown { why },
                Some(end) => Outcome::Ended(end),
                None => Outcome::Unknown { why: "the report says nothing".into() },
            },
            End::TimedOut { given: true } => Outcome::Ended(WorkEnd::Timeout),
            End::TimedOut { given: false } => Outcome::NotSent(Unsent::TimedOut),
            End::Withdrawn { given: true } => Outcome::Ended(WorkEnd::Cancelled),
            End::Withdrawn { given: false } => Outcome::NotSent(Unsent::Withdrawn),
            End::Left { given: true } => Outcome::Unknown { why: "the proxy left before it reported".into() },
            End::Left { given: false } => Outcome::NotSent(Unsent::Left),
            End::NoProxy => Outcome::NotSent(Unsent::NoProxy),
            End::Crowded => Outcome::NotSent(Unsent::Crowded),
            End::NotGiven => Outcome::NotSent(Unsent::NotGiven),
        };
        if known.given {
            let how = match end {
                End::Reported => "reported",
                End::TimedOut { .. } => "timeout",
                End::Withdrawn { .. } => "withdrawn",
                End::NotGiven => "not_given",
                End::Left { .. } | End::NoProxy | End::Crowded => "unknown",
            };
            if let Err(e) = inner.ahead.ended(order, how, crate::now()) {
                self.log.warn(&format!("control/orders.jsonl: {e}; the next start will call it unknown"));
            }
        }
        drop(inner);
        // Who withdrew it does not listen.
        let _ = known.done.send(outcome);
    }
}

fn intent(order: &OrderId, proxy: &ProxyId, work: &Work, at: u64) -> Unsettled {
    let Work { server, tool, session, plan, step, .. } = work.clone();
    Unsettled { work: order.clone(), server, tool, proxy: proxy.clone(), session, plan, step, at }
}

/// A poll that is held. Dropped with the connection, or when it was answered.
struct Holding<'a> {
    desk: &'a Desk,
    proxy: &'a ProxyId,
    poll: PollId,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let was_open = self.desk.inner.borrow_mut().polls.remove(&self.poll).is_some();
        if was_open {
            self.desk.hear(Event::PollGone { proxy: self.proxy.clone(), poll: self.poll });
        }
    }
}
