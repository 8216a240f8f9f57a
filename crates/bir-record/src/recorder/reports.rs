//! From calls to what the control server is told of them. Pure, like [`runs`](super::runs), and bound by the same rule: a call
//! whose beginning was not seen here is not told here, so that no call is both in the session's run and in one of our own.
//!
//! ```text
//!   Began ─▶ report `began`, at once      Ended · Cancelled · Lost ─▶ report `ended`, with its rounds
//! ```

use super::keep::Scrub;
use super::rows::{MOST_LEGS, name};
use super::told::{Told as Event, Value, What};
use crate::Redacted;
use bir_model::Outcome;
use bir_model::control::{Compared, ProxyReport, ProxyWhat, Told, ToldLeg};
use bir_tap::{CallKey, Moment};
use std::collections::BTreeMap;

/// What stands for the arguments of a call that was sent without any: hosts tell their hooks an empty object then.
const NO_ARGUMENTS: &[u8] = b"{}";

#[derive(Default)]
pub(super) struct Reports {
    /// Names calls and losses.
    next: u64,
    open: BTreeMap<CallKey, Open>,
}

struct Open {
    number: u64,
    tool: String,
    call_id: Option<String>,
    fingerprint: Option<Compared>,
    replayed: bool,
    began: Moment,
    legs: Vec<ToldLeg>,
}

impl Reports {
    /// Whether this call is told here.
    pub(super) fn has(&self, call: CallKey) -> bool {
        self.open.contains_key(&call)
    }

    /// One event of a call; gives what is to be told of it.
    pub(super) fn told(&mut self, event: Event, scrub: &impl Scrub) -> Option<ProxyReport> {
        let Event { call, at, what } = event;
        match what {
            What::Began { tool, host_call_id, arguments, replayed } => {
                let (id, arguments) = (host_call_id.as_deref(), arguments.as_ref());
                (!scrub.excludes(&tool, arguments.map(Value::raw)))
                    .then(|| self.began(call, at, &tool, id, arguments, replayed, scrub))
            }
            What::LegEnded { leg, result } => {
                let open = self.open.get_mut(&call)?;
                if open.legs.len() == MOST_LEGS {
                    open.legs.pop();
                }
                let asked = scrub.payload(result.raw()).into();
                open.legs.push(ToldLeg {
                    leg,
                    asked,
                    asked_at: at.epoch_ms,
                    answered: None,
                    answered_at: None,
                });
                None
            }
            What::LegBegan { input } => {
                let leg = self.open.get_mut(&call)?.legs.last_mut()?;
                leg.answered = input.map(|input| scrub.payload(input.raw()).into());
                leg.answered_at = Some(at.epoch_ms);
                None
            }
            What::Ended { outcome, answer, ambiguous } => {
                let open = self.open.remove(&call)?;
                Some(open.ends(at, outcome, ambiguous, Some(scrub.payload(answer.raw()))))
            }
            What::Cancelled => self.ends(call, at, Outcome::Cancelled),
            What::Lost => self.ends(call, at, Outcome::Unknown),
        }
    }

    /// A call of which nothing more will be heard.
    pub(super) fn ends(&mut self, call: CallKey, at: Moment, outcome: Outcome) -> Option<ProxyReport> {
        Some(self.open.remove(&call)?.ends(at, outcome, false, None))
    }

    /// Every call that is open is heard of no more.
    pub(super) fn end_all(&mut self, at: Moment) -> impl Iterator<Item = ProxyReport> + use<> {
        let open = std::mem::take(&mut self.open);
        open.into_values().map(move |open| open.ends(at, Outcome::Unknown, false, None))
    }

    /// Calls of which nothing was kept.
    pub(super) fn lost(&mut self, calls: u64, reason: &str, at: Moment) -> ProxyReport {
        ProxyReport {
            call: self.number(),
            tool: String::new(),
            call_id: None,
            fingerprint: None,
            replayed: false,
            at: at.epoch_ms,
            what: ProxyWhat::Lost { calls, reason: reason.to_owned() },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call's parts, as they were told")]
    fn began(
        &mut self,
        key: CallKey,
        at: Moment,
        tool: &str,
        host_call_id: Option<&str>,
        arguments: Option<&Value>,
        replayed: bool,
        scrub: &impl Scrub,
    ) -> ProxyReport {
        let whole = arguments.map_or(Some(NO_ARGUMENTS), Value::whole);
        let open = Open {
            number: self.number(),
            tool: name(scrub, tool),
            call_id: host_call_id.map(|id| name(scrub, id)),
            fingerprint: whole.and_then(|json| scrub.compared(json)),
            replayed,
            began: at,
            legs: Vec::new(),
        };
        let input = arguments.map(|arguments| scrub.payload(arguments.raw()).into());
        let report = open.report(at, ProxyWhat::Began { input });
        // A key that is used again belongs to the new call; of the old one nothing can be told any more.
        self.open.insert(key, open);
        report
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

impl Open {
    fn ends(
        mut self,
        at: Moment,
        outcome: Outcome,
        ambiguous: bool,
        answer: Option<Redacted>,
    ) -> ProxyReport {
        let answer = answer.map(Told::from);
        let (output, error) = if outcome == Outcome::RpcError { (None, answer) } else { (answer, None) };
        let duration_us = Some(u64::try_from(at.since(&self.began).as_micros()).unwrap_or(u64::MAX));
        let legs = std::mem::take(&mut self.legs);
        self.report(at, ProxyWhat::Ended { outcome, output, error, duration_us, ambiguous, legs })
    }

    fn report(&self, at: Moment, what: ProxyWhat) -> ProxyReport {
        ProxyReport {
            call: self.number,
            tool: self.tool.clone(),
            call_id: self.call_id.clone(),
            fingerprint: self.fingerprint.clone(),
            replayed: self.replayed,
            at: at.epoch_ms,
            what,
        }
    }
}
