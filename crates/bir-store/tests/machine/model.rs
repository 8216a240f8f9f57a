//! What a store has to hold, in the fewest words: maps in memory, one record after the other.

use bir_model::record::{EndReason, Finish, Lost, Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, UserId};
use bir_store::model::{RunFilter, StepChange};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub owner: UserId,
    pub start: RunStart,
    /// Steps and final answers by their index.
    pub rows: BTreeMap<u32, Record>,
    pub finish: Option<Finish>,
    pub losses: Vec<Lost>,
    pub last_at: u64,
}

fn name(record: &Record) -> (StepId, &'static str) {
    match record {
        Record::Step(step) => (step.id, step.step_type.as_str()),
        Record::Final(answer) => (answer.id, "final"),
        _ => unreachable!(),
    }
}

impl Run {
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.rows.values().filter_map(|row| match row {
            Record::Step(step) => Some(step),
            _ => None,
        })
    }

    pub(crate) fn calls(&self) -> usize {
        self.steps().filter(|step| step.step_type == StepType::ToolSelected).count()
    }

    pub(crate) fn failed(&self) -> usize {
        let failed = |step: &&Step| step.outcome.is_some_and(|outcome| outcome != Outcome::Ok);
        self.steps().filter(|step| step.step_type == StepType::ToolResponse).filter(failed).count()
    }

    pub(crate) fn export(&self) -> Vec<Record> {
        let mut records = vec![Record::Run(self.start.clone())];
        records.extend(self.rows.values().cloned());
        records.extend(self.finish.clone().map(Record::Finish));
        records.extend(self.losses.iter().cloned().map(Record::Lost));
        records
    }

    pub(crate) fn passes(&self, filter: &RunFilter) -> bool {
        let is = |asked: &Option<String>, found: bool| asked.is_none() || found;
        is(&filter.tool, self.steps().any(|step| Some(&step.tool_name) == filter.tool.as_ref()))
            && is(&filter.server, self.steps().any(|step| step.server == filter.server))
            && is(&filter.project, self.start.project == filter.project)
            && filter.tier.is_none_or(|tier| tier == self.start.tier)
            && filter.outcome.is_none_or(|outcome| self.steps().any(|step| step.outcome == Some(outcome)))
            && filter.finished.is_none_or(|finished| finished == self.finish.is_some())
            && filter.lossy.is_none_or(|lossy| lossy != self.losses.is_empty())
            && filter.since.is_none_or(|since| self.start.started_at >= since)
            && filter.until.is_none_or(|until| self.start.started_at < until)
    }

    fn heard(&mut self, at: u64) {
        self.last_at = self.last_at.max(at);
    }

    fn add_row(&mut self, index: u32, row: &Record, at: u64, id_elsewhere: bool) -> &'static str {
        let holder = self.rows.iter().find(|(_, old)| name(old).0 == name(row).0).map(|(at, _)| *at);
        match (holder, self.rows.get(&index)) {
            _ if id_elsewhere => "invalid",
            (Some(held), Some(old)) if held == index && name(old).1 == name(row).1 => {
                let gave_up = matches!(old, Record::Step(step) if step.outcome == Some(Outcome::Unknown));
                let answer =
                    matches!(row, Record::Step(step) if step.outcome.is_some_and(|o| o != Outcome::Unknown));
                if !(gave_up && answer) {
                    return "duplicate";
                }
                self.rows.insert(index, row.clone());
                self.heard(at);
                "booked"
            }
            (Some(_), _) => "invalid",
            (None, Some(_)) => "index_taken",
            (None, None) => {
                self.rows.insert(index, row.clone());
                self.heard(at);
                "booked"
            }
        }
    }
}

/// The runs of one tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tenant(pub(crate) BTreeMap<RunId, Run>);

impl Tenant {
    /// Books one record; says what the store has to say.
    pub(crate) fn append(&mut self, who: UserId, record: &Record) -> &'static str {
        let id = record.run_id();
        if let Record::Run(start) = record
            && !self.0.contains_key(&id)
        {
            let run = Run {
                owner: who,
                start: start.clone(),
                rows: BTreeMap::new(),
                finish: None,
                losses: Vec::new(),
                last_at: start.started_at,
            };
            self.0.insert(id, run);
            return "booked";
        }
        let elsewhere = self.0.iter().filter(|(other, _)| **other != id).any(|(_, run)| match record {
            Record::Step(_) | Record::Final(_) => run.rows.values().any(|row| name(row).0 == name(record).0),
            Record::Lost(lost) => run.losses.iter().any(|other| other.id == lost.id),
            _ => false,
        });
        let Some(run) = self.0.get_mut(&id) else { return "unknown_run" };
        if run.owner != who {
            return "foreign_run";
        }
        match record {
            Record::Run(_) => "duplicate",
            Record::Step(step) => run.add_row(step.step_index, record, step.at, elsewhere),
            Record::Final(answer) => run.add_row(answer.step_index, record, answer.at, elsewhere),
            Record::Finish(finish) => {
                let given_up = |finish: &Finish| finish.reason == EndReason::Abandoned;
                if run.finish.as_ref().is_some_and(|old| !given_up(old) || given_up(finish)) {
                    return "duplicate";
                }
                run.finish = Some(finish.clone());
                run.heard(finish.at);
                "booked"
            }
            // The machine makes none.
            Record::Tools(_) => "invalid",
            Record::Lost(lost) => {
                if elsewhere || run.losses.iter().any(|old| old.id == lost.id) {
                    return "duplicate";
                }
                run.losses.push(lost.clone());
                run.heard(lost.at);
                "booked"
            }
        }
    }

    pub(crate) fn amend(&mut self, who: UserId, run: RunId, id: StepId, change: &StepChange) -> Option<Step> {
        let run = self.0.get_mut(&run).filter(|run| run.owner == who)?;
        run.rows.values_mut().find_map(|row| match row {
            Record::Step(step) if step.id == id => {
                change.apply(step);
                Some(step.clone())
            }
            _ => None,
        })
    }

    /// Deletes what `goes` names; gives how many runs and steps.
    pub(crate) fn delete(&mut self, goes: impl Fn(&Run) -> bool) -> (u64, u64) {
        let mut deleted = (0, 0);
        self.0.retain(|_, run| {
            if !goes(run) {
                return true;
            }
            deleted = (deleted.0 + 1, deleted.1 + run.steps().count() as u64);
            false
        });
        deleted
    }
}
