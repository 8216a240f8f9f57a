//! Which order is whose, and how each ends. Pure: times come with each event, in ms, and what is to be done goes out as actions.
//!
//! ```text
//!            ┌ a proxy that may take it polls ─▶ given ─┬─ its report ───────────────▶ ended
//!   submit ──┤                                          ├─ its time is over, withdrawn ▶ ended, and the proxy is told
//!            │                                          └─ the proxy has left ────────▶ ended: not known how
//!            └ its time is over, withdrawn, nobody left ─▶ ended: not sent
//! ```
//!
//! A proxy that is between two polls has not left: it brings a result, or asks again at once. Only after [`AWAY`] without a
//! word, or when its process is gone, has it.

use std::collections::{BTreeMap, VecDeque};

/// A proxy that has not been heard of for so long, and holds no poll, has left, ms. It comes back within 5 s when it lost us.
pub(super) const AWAY: u64 = 10_000;
/// Orders that wait or run at a time. A plan has one under way, or few.
pub(super) const MOST_ORDERS: usize = 256;
/// Proxies that poll. As many connections are held, which the server has twice of.
pub(super) const MOST_PROXIES: usize = 128;
/// Withdrawals that wait for one proxy's next poll. It has fewer orders than that.
const MOST_WITHDRAWN: usize = 64;

/// Names an order.
pub(super) type OrderId = String;
/// Names a proxy.
pub(super) type ProxyId = String;
/// Names one poll.
pub(super) type PollId = u64;

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A proxy asks. An earlier poll of it is answered: there is one held for each.
    Polls { proxy: ProxyId, poll: PollId, takes: bool, until: u64 },
    /// The connection of a held poll is gone.
    PollGone { proxy: ProxyId, poll: PollId },
    /// An order, with the proxies that may run it, the likeliest first.
    Submit { order: OrderId, candidates: Vec<ProxyId>, until: u64 },
    /// A proxy reports how an order ended. Accepted where [`Action::End`] follows.
    Reports { proxy: ProxyId, order: OrderId },
    /// Nobody waits for it any more.
    Withdraw { order: OrderId },
    /// It could not be written down, or whoever asked has gone: it is not given after all.
    NotGiven { order: OrderId },
    /// The proxy's process is gone.
    Left { proxy: ProxyId },
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Write it down, then answer the poll with it.
    Give { order: OrderId, proxy: ProxyId, poll: PollId },
    /// Answer the poll without an order.
    Release { poll: PollId, withdrawn: Vec<OrderId> },
    /// It has ended; nothing follows for it.
    End { order: OrderId, end: End },
}

/// How an order ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By the report that was just given.
    Reported,
    /// Its time was over. `given`: a proxy had it.
    TimedOut { given: bool },
    /// It was withdrawn.
    Withdrawn { given: bool },
    /// The proxy that had it has left, or the last one that might have taken it.
    Left { given: bool },
    /// No proxy that may run it asks for work.
    NoProxy,
    /// There are [`MOST_ORDERS`] of them, or there is one of this name.
    Crowded,
    /// It could not be given.
    NotGiven,
}

#[derive(Debug)]
struct Order {
    candidates: Vec<ProxyId>,
    until: u64,
    given_to: Option<ProxyId>,
}

#[derive(Debug)]
struct Proxy {
    held: Option<Held>,
    heard_at: u64,
    withdrawn: VecDeque<OrderId>,
}

#[derive(Debug)]
struct Held {
    poll: PollId,
    takes: bool,
    until: u64,
}

/// All orders and proxies.
#[derive(Debug, Default)]
pub(super) struct Queue {
    orders: BTreeMap<OrderId, Order>,
    /// Of those that are not given: in the order of submitting.
    waiting: VecDeque<OrderId>,
    proxies: BTreeMap<ProxyId, Proxy>,
    now: u64,
    actions: Vec<Action>,
}

impl Queue {
    /// Takes an event at its time.
    pub(super) fn hear(&mut self, now: u64, event: Event) -> Vec<Action> {
        self.now = self.now.max(now);
        self.pass();
        match event {
            Event::Polls { proxy, poll, takes, until } => self.polls(proxy, Held { poll, takes, until }),
            Event::PollGone { proxy, poll } => {
                if let Some(proxy) = self.proxies.get_mut(&proxy)
                    && proxy.held.take_if(|held| held.poll == poll).is_some()
                {
                    proxy.heard_at = self.now;
                }
            }
            Event::Submit { order, candidates, until } => self.submit(order, candidates, until),
            Event::Reports { proxy, order } => {
                let theirs = self.orders.get(&order).is_some_and(|o| o.given_to.as_ref() == Some(&proxy));
                if let Some(proxy) = self.proxies.get_mut(&proxy) {
                    proxy.heard_at = self.now;
                }
                if theirs {
                    self.end(&order, End::Reported);
                }
            }
            Event::Withdraw { order } => {
                if let Some(given) = self.take_back(&order) {
                    self.end(&order, End::Withdrawn { given });
                }
            }
            Event::NotGiven { order } => self.end(&order, End::NotGiven),
            Event::Left { proxy } => self.left(&proxy),
        }
        std::mem::take(&mut self.actions)
    }

    /// So late it is.
    pub(super) fn tick(&mut self, now: u64) -> Vec<Action> {
        self.now = self.now.max(now);
        self.pass();
        std::mem::take(&mut self.actions)
    }

    /// When a tick changes something.
    pub(super) fn due_at(&self) -> Option<u64> {
        let polls = self.proxies.values().map(|proxy| match &proxy.held {
            Some(held) => held.until,
            None => proxy.heard_at.saturating_add(AWAY),
        });
        polls.chain(self.orders.values().map(|order| order.until)).min()
    }

    /// The proxies that have orders now.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &ProxyId> {
        self.orders.values().filter_map(|order| order.given_to.as_ref())
    }

    /// Nothing is to be given any more: every poll is answered.
    pub(super) fn close(&mut self) -> Vec<Action> {
        let polls: Vec<_> = self.proxies.values_mut().filter_map(|proxy| proxy.held.take()).collect();
        polls.into_iter().map(|held| Action::Release { poll: held.poll, withdrawn: Vec::new() }).collect()
    }

    fn polls(&mut self, id: ProxyId, held: Held) {
        if !self.proxies.contains_key(&id) && self.proxies.len() >= MOST_PROXIES {
            return self.actions.push(Action::Release { poll: held.poll, withdrawn: Vec::new() });
        }
        let now = self.now;
        let proxy = self.proxies.entry(id.clone()).or_insert_with(|| Proxy {
            held: None,
            heard_at: now,
            withdrawn: VecDeque::new(),
        });
        proxy.heard_at = now;
        if let Some(earlier) = proxy.held.take() {
            self.actions.push(Action::Release { poll: earlier.poll, withdrawn: Vec::new() });
        }
        if !proxy.withdrawn.is_empty() {
            let withdrawn = std::mem::take(&mut proxy.withdrawn).into();
            return self.actions.push(Action::Release { poll: held.poll, withdrawn });
        }
        let next =
            |order: &&OrderId| self.orders.get(*order).is_some_and(|order| order.candidates.contains(&id));
        let next = if held.takes { self.waiting.iter().find(next).cloned() } else { None };
        match next {
            Some(order) => self.give(order, id, held.poll),
            None if held.until <= now => {
                self.actions.push(Action::Release { poll: held.poll, withdrawn: Vec::new() });
            }
            None => proxy.held = Some(held),
        }
    }

    fn submit(&mut self, id: OrderId, candidates: Vec<ProxyId>, until: u64) {
        if self.orders.contains_key(&id) || self.orders.len() >= MOST_ORDERS {
            return self.actions.push(Action::End { order: id, end: End::Crowded });
        }
        let candidates: Vec<_> = candidates.into_iter().filter(|id| self.proxies.contains_key(id)).collect();
        if candidates.is_empty() {
            return self.actions.push(Action::End { order: id, end: End::NoProxy });
        }
        if until <= self.now {
            return self.actions.push(Action::End { order: id, end: End::TimedOut { given: false } });
        }
        let takes = |id: &&ProxyId| {
            self.proxies.get(*id).is_some_and(|proxy| proxy.held.as_ref().is_some_and(|held| held.takes))
        };
        let ready = candidates.iter().find(takes).cloned();
        self.orders.insert(id.clone(), Order { candidates, until, given_to: None });
        self.waiting.push_back(id.clone());
        let held = ready.as_ref().and_then(|ready| self.proxies.get_mut(ready)?.held.take());
        if let (Some(proxy), Some(held)) = (ready, held) {
            self.give(id, proxy, held.poll);
        }
    }

    fn give(&mut self, order: OrderId, proxy: ProxyId, poll: PollId) {
        self.waiting.retain(|waiting| *waiting != order);
        if let Some(known) = self.proxies.get_mut(&proxy) {
            known.heard_at = self.now;
        }
        if let Some(given) = self.orders.get_mut(&order) {
            given.given_to = Some(proxy.clone());
            self.actions.push(Action::Give { order, proxy, poll });
        }
    }

    /// Tells the proxy that has it, if one has. Returns whether one has; `None`: there is no such order.
    fn take_back(&mut self, order: &OrderId) -> Option<bool> {
        let Some(id) = self.orders.get(order)?.given_to.clone() else { return Some(false) };
        if let Some(proxy) = self.proxies.get_mut(&id) {
            if proxy.withdrawn.len() >= MOST_WITHDRAWN {
                proxy.withdrawn.pop_front();
            }
            proxy.withdrawn.push_back(order.clone());
            if let Some(held) = proxy.held.take() {
                proxy.heard_at = self.now;
                let withdrawn = std::mem::take(&mut proxy.withdrawn).into();
                self.actions.push(Action::Release { poll: held.poll, withdrawn });
            }
        }
        Some(true)
    }

    fn end(&mut self, order: &OrderId, end: End) {
        if self.orders.remove(order).is_some() {
            self.waiting.retain(|waiting| waiting != order);
            self.actions.push(Action::End { order: order.clone(), end });
        }
    }

    fn left(&mut self, id: &ProxyId) {
        let Some(proxy) = self.proxies.remove(id) else { return };
        if let Some(held) = proxy.held {
            self.actions.push(Action::Release { poll: held.poll, withdrawn: Vec::new() });
        }
        let mut ended = Vec::new();
        for (name, order) in &mut self.orders {
            if order.given_to.as_ref() == Some(id) {
                ended.push((name.clone(), true));
            } else {
                order.candidates.retain(|candidate| candidate != id);
                if order.given_to.is_none() && order.candidates.is_empty() {
                    ended.push((name.clone(), false));
                }
            }
        }
        for (order, given) in ended {
            self.end(&order, End::Left { given });
        }
    }

    /// What is over by now, whatever else happens at this moment.
    fn pass(&mut self) {
        let now = self.now;
        for proxy in self.proxies.values_mut() {
            if let Some(held) = proxy.held.take_if(|held| held.until <= now) {
                proxy.heard_at = now;
                self.actions.push(Action::Release { poll: held.poll, withdrawn: Vec::new() });
            }
        }
        let late: Vec<_> =
            self.orders.iter().filter(|(_, order)| order.until <= now).map(|(id, _)| id.clone()).collect();
        for order in late {
            if let Some(given) = self.take_back(&order) {
                self.end(&order, End::TimedOut { given });
            }
        }
        let away = |proxy: &Proxy| proxy.held.is_none() && proxy.heard_at.saturating_add(AWAY) <= now;
        let gone: Vec<_> =
            self.proxies.iter().filter(|(_, proxy)| away(proxy)).map(|(id, _)| id.clone()).collect();
        for proxy in gone {
            self.left(&proxy);
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
