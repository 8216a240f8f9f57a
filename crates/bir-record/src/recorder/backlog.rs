//! Reports that the control server has not taken yet. Pure.
//!
//! ```text
//!   add ─▶ waiting ── next ─▶ on its way ── taken ─▶ gone
//!             │                   └── refused ─▶ one by one, then counted as lost
//!             └── too many, or nobody there ─▶ waiting: to the inbox, in one piece
//! ```

use bir_model::control::{ProxyReport, ProxyWhat, StepReports, Told};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Most reports that wait in memory (seed 01's `STEP_BACKLOG`); more of them go to the disk.
pub(super) const STEP_BACKLOG: usize = 250;
/// Most bytes of payload that wait in memory: 4 MiB.
const BACKLOG_BYTES: usize = 4 << 20;
/// Bytes of payload in one parcel at which it is closed: 512 KiB.
const PARCEL_BYTES: usize = 512 << 10;

#[derive(Default)]
pub(super) struct Backlog {
    waiting: VecDeque<ProxyReport>,
    bytes: usize,
    on_its_way: Option<Arc<StepReports>>,
    /// A parcel was refused: the next ones hold one report, so that no other is lost with the one that is meant.
    single: usize,
}

impl Backlog {
    pub(super) fn add(&mut self, report: ProxyReport) {
        self.bytes += bytes(&report);
        self.waiting.push_back(report);
    }

    /// Whether somebody has to take what waits.
    pub(super) fn is_full(&self) -> bool {
        let sent = self.on_its_way.as_ref().map_or(0, |sent| sent.reports.len());
        self.waiting.len() + sent > STEP_BACKLOG || self.bytes > BACKLOG_BYTES
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next parcel's reports, as many as fit; they are on their way until their fate is told.
    pub(super) fn next(&mut self, proxy_id: &str) -> Arc<StepReports> {
        debug_assert!(self.on_its_way.is_none());
        let most = if self.single > 0 { 1 } else { STEP_BACKLOG };
        let (mut reports, mut size) = (Vec::new(), 0);
        while let Some(report) = self.waiting.pop_front_if(|_| reports.len() < most && size < PARCEL_BYTES) {
            size += bytes(&report);
            reports.push(report);
        }
        self.bytes -= size;
        let parcel = Arc::new(StepReports { proxy_id: proxy_id.to_owned(), reports });
        self.on_its_way = Some(Arc::clone(&parcel));
        parcel
    }

    /// What was on its way is with the control server.
    pub(super) fn taken(&mut self) {
        self.on_its_way = None;
        self.single = self.single.saturating_sub(1);
    }

    /// The control server does not want what was on its way. Gives the calls that are lost by it.
    pub(super) fn refused(&mut self) -> u64 {
        self.single = self.single.saturating_sub(1);
        match &self.on_its_way {
            Some(sent) if sent.reports.len() > 1 => {
                self.single = sent.reports.len();
                self.put_back();
                0
            }
            sent => {
                let lost = sent.as_ref().map_or(0, |sent| calls(&sent.reports));
                self.on_its_way = None;
                lost
            }
        }
    }

    /// Nobody took what was on its way, as far as is known: it waits again, before everything else.
    pub(super) fn put_back(&mut self) {
        let Some(sent) = self.on_its_way.take() else { return };
        for report in sent.reports.iter().rev() {
            self.bytes += bytes(report);
            self.waiting.push_front(report.clone());
        }
    }

    /// Takes everything that waits.
    pub(super) fn waiting(&mut self) -> Vec<ProxyReport> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into()
    }
}

/// How many calls are in reports, with those that are told as lost.
pub(super) fn calls(reports: &[ProxyReport]) -> u64 {
    let told = |report: &ProxyReport| match report.what {
        ProxyWhat::Lost { calls, .. } => calls,
        _ => 0,
    };
    let named: BTreeSet<u64> =
        reports.iter().filter(|r| !matches!(r.what, ProxyWhat::Lost { .. })).map(|r| r.call).collect();
    reports.iter().map(told).sum::<u64>() + named.len() as u64
}

/// Bytes of payload of a report.
fn bytes(report: &ProxyReport) -> usize {
    let of = |told: &Option<Told>| told.as_ref().map_or(0, |told| told.text.len());
    match &report.what {
        ProxyWhat::Began { input } => of(input),
        ProxyWhat::Ended { output, error, legs, .. } => {
            let legs = legs.iter().map(|leg| leg.asked.text.len() + of(&leg.answered));
            of(output) + of(error) + legs.sum::<usize>()
        }
        ProxyWhat::Lost { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(call: u64, size: usize) -> ProxyReport {
        let input = Told { text: "x".repeat(size), ..Told::default() };
        ProxyReport {
            call,
            tool: "t".into(),
            call_id: None,
            fingerprint: None,
            replayed: false,
            at: 0,
            what: ProxyWhat::Began { input: Some(input) },
        }
    }

    fn of(backlog: &mut Backlog) -> Vec<u64> {
        backlog.next("p").reports.iter().map(|report| report.call).collect()
    }

    #[test]
    fn what_waits_leaves_in_its_order_and_in_parcels_of_reasonable_size() {
        let mut backlog = Backlog::default();
        (0..6).for_each(|call| backlog.add(report(call, PARCEL_BYTES / 2)));
        assert_eq!(of(&mut backlog), [0, 1]);
        backlog.taken();
        assert_eq!(of(&mut backlog), [2, 3]);
        backlog.add(report(6, 0));
        backlog.put_back();
        assert_eq!(backlog.bytes, 4 * (PARCEL_BYTES / 2));
        assert_eq!(backlog.waiting().iter().map(|r| r.call).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
        assert_eq!((backlog.is_waiting(), backlog.bytes), (false, 0));
        assert!(of(&mut backlog).is_empty(), "it introduces alone");
    }

    #[test]
    fn too_many_and_too_large_are_too_much() {
        let mut backlog = Backlog::default();
        (0..STEP_BACKLOG as u64).for_each(|call| backlog.add(report(call, 10)));
        assert!(!backlog.is_full());
        assert_eq!(of(&mut backlog).len(), STEP_BACKLOG);
        assert!(!backlog.is_full());
        backlog.add(report(999, 10));
        assert!(backlog.is_full(), "what is on its way has not been taken");
        assert_eq!(backlog.waiting().len(), 1);
        assert!(!backlog.is_full());
        backlog.taken();
        backlog.add(report(0, BACKLOG_BYTES + 1));
        assert!(backlog.is_full());
    }

    #[test]
    fn what_is_refused_costs_itself_alone() {
        let mut backlog = Backlog::default();
        (0..3).for_each(|call| backlog.add(report(call, 10)));
        assert_eq!(of(&mut backlog), [0, 1, 2]);
        assert_eq!(backlog.refused(), 0);
        backlog.add(report(3, 10));
        assert_eq!(of(&mut backlog), [0]);
        backlog.taken();
        assert_eq!(of(&mut backlog), [1]);
        assert_eq!(backlog.refused(), 1);
        assert_eq!(of(&mut backlog), [2]);
        backlog.taken();
        backlog.add(report(4, 10));
        assert_eq!(of(&mut backlog), [3, 4], "the others leave together again");
    }

    #[test]
    fn calls_are_counted_once_and_losses_for_what_they_say() {
        let lost = ProxyReport { what: ProxyWhat::Lost { calls: 7, reason: "disk".into() }, ..report(9, 0) };
        assert_eq!(calls(&[report(1, 0), report(1, 5), report(2, 0), lost]), 9);
    }
}
