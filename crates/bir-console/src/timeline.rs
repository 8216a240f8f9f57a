//! From the rows of a run to what happened: calls in the order of their starting, losses where they were found.
//!
//! A call takes two rows, an even index for its beginning and the next for its end. Either may be missing here: the end of
//! a call that still runs, the beginning where a page starts in the middle or a row was lost.
//! A loss follows the call that had begun last when the loss was found; one before every call stands first.

use crate::view::Run;
use bir_model::record::{EndReason, Lost, Step, StepType};
use bir_model::{CallRows, Outcome, RunId};

/// The rows of one page, in order.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    /// What happened.
    pub(crate) items: Vec<Item<'a>>,
    /// From the beginning of the run to the last thing known of it, in µs; what bars are measured against.
    pub(crate) axis_us: u64,
    /// Calls that are known to be lost later than the last call of this page, when further pages follow.
    pub(crate) lost_later: u64,
}

/// One entry.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// A call.
    Call(Call<'a>),
    /// Something that is missing, and the index of the call that it follows.
    Loss(&'a Lost, u32),
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It ended so.
    Ended(Outcome),
    /// It runs.
    Running,
    /// The run is over, and nothing says how the call ended.
    NoEnd,
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The even index.
    pub(crate) index: u32,
    /// The row that begins it.
    pub(crate) begin: Option<&'a Step>,
    /// The row that ends it.
    pub(crate) end: Option<&'a Step>,
    /// How it stands.
    pub(crate) state: State,
    /// From the beginning of the run, in µs.
    pub(crate) start_us: u64,
    /// How long it took, or has been taking, in µs.
    pub(crate) duration_us: u64,
}

impl<'a> Call<'a> {
    /// What both of its rows say.
    pub(crate) fn rows(&self) -> CallRows<'a> {
        CallRows { begin: self.begin, end: self.end }
    }

    /// Whether it ended otherwise than `ok`.
    pub(crate) fn failed(&self) -> bool {
        !matches!(self.state, State::Running | State::Ended(Outcome::Ok))
    }
}

/// What the timeline needs to know of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// ms since the Unix epoch.
    pub(crate) started_at: u64,
    /// When the last row was heard of, ms since the Unix epoch.
    pub(crate) last_at: u64,
    /// Whether the run is over.
    pub(crate) ended: bool,
    /// ms since the Unix epoch.
    pub(crate) now: u64,
    /// Whether this part begins with the run's first row.
    pub(crate) first: bool,
    /// Whether rows follow that are not in this part.
    pub(crate) more: bool,
}

impl<'a> Timeline<'a> {
    /// Pairs the rows and puts the losses between them.
    pub(crate) fn new(steps: &'a [Step], losses: &'a [Lost], frame: Frame) -> Self {
        let mut calls = pair(steps, frame);
        let axis_us = axis(&mut calls, frame);
        let mut losses: Vec<&Lost> = losses.iter().collect();
        losses.sort_by_key(|l| l.at);
        let began: Vec<(u32, u64)> =
            calls.iter().map(|c| (c.index, frame.started_at + c.start_us / 1_000)).collect();
        let mut items: Vec<Item<'a>> = calls.into_iter().map(Item::Call).collect();
        let mut lost_later = 0;
        let mut shift = 0;
        for loss in losses {
            // Calls are in the order of starting, so the first that began later ends those before.
            let before = began.partition_point(|(_, at)| *at <= loss.at);
            if before == 0 && !frame.first {
                continue;
            }
            if before == began.len() && frame.more {
                lost_later = loss.calls.saturating_add(lost_later);
                continue;
            }
            let follows = before.checked_sub(1).and_then(|i| began.get(i)).map_or(0, |(index, _)| *index);
            items.insert(before + shift, Item::Loss(loss, follows));
            shift += 1;
        }
        Self { items, axis_us, lost_later }
    }
}

fn pair(steps: &[Step], frame: Frame) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::with_capacity(steps.len().div_ceil(2));
    for step in steps {
        let index = step.step_index & !1;
        if calls.last().is_none_or(|c| c.index != index) {
            let state = if frame.ended { State::NoEnd } else { State::Running };
            calls.push(Call { index, begin: None, end: None, state, start_us: 0, duration_us: 0 });
        }
        if let Some(call) = calls.last_mut() {
            match step.step_type {
                StepType::ToolSelected => call.begin = Some(step),
                StepType::ToolResponse => {
                    call.end = Some(step);
                    call.state = State::Ended(step.outcome.unwrap_or(Outcome::Unknown));
                }
            }
        }
    }
    calls
}

/// Gives each call its place in time, and returns the length of the axis.
fn axis(calls: &mut [Call<'_>], frame: Frame) -> u64 {
    let since = |at: u64| at.saturating_sub(frame.started_at).saturating_mul(1_000);
    let horizon = since(if frame.ended { frame.last_at } else { frame.now });
    for call in &mut *calls {
        let measured = call.end.and_then(|e| e.duration_us);
        let ended = call.end.map(|e| since(e.at));
        call.start_us = match (call.begin, ended) {
            (Some(begin), _) => since(begin.at),
            (None, Some(end)) => end.saturating_sub(measured.unwrap_or(0)),
            (None, None) => 0,
        };
        let until = ended.unwrap_or(if call.state == State::Running { horizon } else { call.start_us });
        call.duration_us = measured.unwrap_or(until.saturating_sub(call.start_us));
    }
    let last_end = calls.iter().map(|c| c.start_us.saturating_add(c.duration_us)).max().unwrap_or(0);
    // An idle run ends half an hour after its last call: that is nothing to look at. Further pages need the whole run.
    let length = if frame.more || !frame.first { last_end.max(since(frame.last_at)) } else { last_end };
    length.max(1)
}

/// A run without a call for so long is idle, and ended then; see [`EndReason::Idle`]. In ms.
const IDLE: u64 = 30 * 60_000;

/// When something happened last in a run, in ms: the wait that ended an idle run is no part of what happened.
pub(crate) fn last_heard(run: &Run) -> u64 {
    match run.end_reason {
        Some(EndReason::Idle) => run.last_at.saturating_sub(IDLE).max(run.started_at),
        _ => run.last_at,
    }
}

/// How long a run took, or has been going on, in µs.
pub(crate) fn run_duration(run: &Run, now: u64) -> u64 {
    let end = match run.end_reason {
        Some(EndReason::Idle) => last_heard(run),
        _ => run.ended_at.unwrap_or(now),
    };
    end.saturating_sub(run.started_at).saturating_mul(1_000)
}

/// The page of a run, from its first row or from another.
pub(crate) fn run_path(id: RunId, from: u32) -> String {
    if from == 0 { format!("/runs/{id}") } else { format!("/runs/{id}?from={from}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::StepId;

    const BEGAN: u64 = 1_000_000;
    const FRAME: Frame = Frame {
        started_at: BEGAN,
        last_at: BEGAN + 500,
        ended: true,
        now: BEGAN + 900,
        first: true,
        more: false,
    };

    fn row(run: RunId, index: u32, at: u64, outcome: Option<Outcome>, us: Option<u64>) -> Step {
        let kind = if index.is_multiple_of(2) { "tool_selected" } else { "tool_response" };
        let mut step: Step = serde_json::from_value(serde_json::json!({
            "id": StepId::new(), "runId": run, "stepIndex": index, "stepType": kind, "toolName": "t", "at": BEGAN + at
        }))
        .unwrap();
        step.outcome = outcome;
        step.duration_us = us;
        step
    }

    fn lost(run: RunId, at: u64, calls: u64) -> Lost {
        Lost {
            run_id: run,
            id: StepId::new(),
            calls,
            records: calls * 2,
            reason: "backlog".into(),
            at: BEGAN + at,
        }
    }

    fn shape(t: &Timeline<'_>) -> Vec<String> {
        t.items
            .iter()
            .map(|item| match item {
                Item::Call(c) => format!("{}:{:?} {}+{}", c.index, c.state, c.start_us, c.duration_us),
                Item::Loss(l, after) => format!("lost {} after {after}", l.calls),
            })
            .collect()
    }

    #[test]
    fn rows_become_calls_and_losses_stand_where_they_were_found() {
        let run = RunId::new();
        let steps = [
            row(run, 0, 10, None, None),
            row(run, 1, 40, Some(Outcome::Ok), Some(30_500)),
            row(run, 2, 20, None, None),
            row(run, 5, 90, Some(Outcome::ToolError), Some(5_000)),
            row(run, 6, 95, None, None),
            row(run, 7, 99, Some(Outcome::Unknown), None),
        ];
        let losses = [lost(run, 200, 3), lost(run, 5, 1), lost(run, 22, 2)];
        let t = Timeline::new(&steps, &losses, FRAME);
        assert_eq!(
            shape(&t),
            [
                "lost 1 after 0",
                "0:Ended(Ok) 10000+30500",
                "2:NoEnd 20000+0",
                "lost 2 after 2",
                "4:Ended(ToolError) 85000+5000",
                "6:Ended(Unknown) 95000+4000",
                "lost 3 after 6",
            ]
        );
        assert_eq!(t.axis_us, 99_000);
    }

    #[test]
    fn a_call_without_an_end_runs_while_the_run_does() {
        let run = RunId::new();
        let steps = [row(run, 0, 100, None, None)];
        let t = Timeline::new(&steps, &[], Frame { ended: false, ..FRAME });
        assert_eq!(shape(&t), ["0:Running 100000+800000"]);
        assert_eq!(t.axis_us, 900_000);
    }

    #[test]
    fn a_page_in_the_middle_leaves_other_pages_their_losses() {
        let run = RunId::new();
        let steps = [row(run, 10, 100, None, None), row(run, 12, 200, None, None)];
        let losses = [lost(run, 50, 1), lost(run, 150, 2), lost(run, 250, 4)];
        let t = Timeline::new(&steps, &losses, Frame { first: false, more: true, ..FRAME });
        assert_eq!(shape(&t), ["10:NoEnd 100000+0", "lost 2 after 10", "12:NoEnd 200000+0"]);
        assert_eq!(t.lost_later, 4);
        assert_eq!(t.axis_us, 500_000);
    }

    #[test]
    fn clocks_that_go_backwards_and_extreme_numbers_are_borne() {
        let run = RunId::new();
        let mut steps = [row(run, 0, 0, None, None), row(run, 1, 0, Some(Outcome::Ok), Some(u64::MAX))];
        steps[0].at = 0;
        steps[1].at = u64::MAX;
        let t = Timeline::new(&steps, &[], FRAME);
        assert_eq!(t.items.len(), 1);
        let t = Timeline::new(&[], &[], FRAME);
        assert_eq!((t.items.len(), t.axis_us), (0, 1));
    }
}
