//! Steps and final answers.

use super::bulk::{Into, insert};
use super::plan::Plan;
use super::{Undone, refused};
use crate::columns;
use crate::model::Appended;
use crate::sql::{TenantTx, Value, placeholders, values};
use bir_model::record::{Record, Step, StepType};
use bir_model::{Outcome, RunId, StepId};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// Records with the same id are tried one after the other, so many times; what is left is looked up only.
const ROUNDS: u32 = 3;
/// Rows that are asked for in one statement.
const ROWS_ASKED: usize = 100;

/// A row as far as it says whether another one is the same.
#[derive(Debug, Clone)]
struct Seen {
    id: StepId,
    run: RunId,
    index: u32,
    kind: String,
    unknown: bool,
}

/// The parts of a record that make it a row: id, run, index, type.
type Key = (StepId, RunId, u32, &'static str);

fn key(record: &Record) -> Option<Key> {
    match record {
        Record::Step(step) => Some((step.id, step.run_id, step.step_index, step.step_type.as_str())),
        Record::Final(answer) => Some((answer.id, answer.run_id, answer.step_index, columns::FINAL)),
        _ => None,
    }
}

fn is_failure(step: &Step) -> bool {
    step.step_type == StepType::ToolResponse && step.outcome.is_some_and(|outcome| outcome != Outcome::Ok)
}

impl Plan<'_> {
    pub(super) async fn insert_rows(&mut self, tx: &mut TenantTx) -> Result<(), Undone> {
        let mut pending = std::mem::take(&mut self.rows);
        for _ in 0..ROUNDS {
            if pending.is_empty() {
                return Ok(());
            }
            let mut ids = HashSet::with_capacity(pending.len());
            let (now, later): (Vec<usize>, Vec<usize>) = pending
                .into_iter()
                .partition(|at| key(&self.records[*at]).is_some_and(|(id, ..)| ids.insert(id)));
            let mut rows = Vec::with_capacity(now.len());
            for at in &now {
                match &self.records[*at] {
                    Record::Step(step) => rows.push(columns::of_step(self.who.tenant, step)?),
                    Record::Final(answer) => rows.push(columns::of_final(self.who.tenant, answer)),
                    _ => {}
                }
            }
            let into = Into { table: "steps", columns: &columns::STEP_WRITTEN, returning: "id" };
            let mut inserted: HashSet<Uuid> = HashSet::with_capacity(now.len());
            for row in insert(tx, &into, rows).await? {
                inserted.insert(row.uuid(0)?);
            }
            let mut lost = Vec::new();
            for at in now {
                match key(&self.records[at]) {
                    Some((id, ..)) if inserted.contains(&id.uuid()) => self.booked(at),
                    _ => lost.push(at),
                }
            }
            // Nothing is deleted inside this transaction: what is neither there nor went in was deleted by another one.
            if self.compare(tx, &lost).await? {
                return Err(Undone::Again);
            }
            pending = later;
        }
        self.compare(tx, &pending).await?;
        Ok(())
    }

    /// A row went in.
    fn booked(&mut self, at: usize) {
        self.verdicts[at] = Some(Appended::Booked);
        let record = &self.records[at];
        let Some(run) = self.runs.get_mut(&record.run_id()) else { return };
        run.change.rows += 1;
        match record {
            Record::Step(step) => {
                run.change.heard(step.at);
                run.change.calls += i64::from(step.step_type == StepType::ToolSelected);
                run.change.failed_calls += i64::from(is_failure(step));
                self.facets.of_step(step);
            }
            Record::Final(answer) => run.change.heard(answer.at),
            _ => {}
        }
    }

    /// Says about rows that did not go in why. True: for one of them there is no reason.
    async fn compare(&mut self, tx: &mut TenantTx, rows: &[usize]) -> Result<bool, Undone> {
        let mut puzzling = false;
        for rows in rows.chunks(ROWS_ASKED) {
            let keys: Vec<_> = rows.iter().filter_map(|at| Some((*at, key(&self.records[*at])?))).collect();
            let mut by_id: HashMap<StepId, Seen> = HashMap::new();
            let mut by_index: HashSet<(RunId, u32)> = HashSet::new();
            for seen in look(tx, &keys).await? {
                by_index.insert((seen.run, seen.index));
                by_id.insert(seen.id, seen);
            }
            for (at, (id, run, index, kind)) in keys {
                let verdict = match by_id.get_mut(&id) {
                    Some(seen) if seen.run == run && seen.index == index && seen.kind == kind => {
                        match &self.records[at] {
                            // A real answer beats the one of somebody who gave the call up, never the reverse.
                            Record::Step(step)
                                if seen.unknown && step.outcome.is_some_and(|o| o != Outcome::Unknown) =>
                            {
                                seen.unknown = false;
                                self.answer(tx, step).await?;
                                Appended::Booked
                            }
                            _ => Appended::Duplicate,
                        }
                    }
                    Some(_) => refused("invalid", "its id names another row"),
                    None if by_index.contains(&(run, index)) => {
                        refused("index_taken", format!("another row of the run has the index {index}"))
                    }
                    None => {
                        puzzling = true;
                        continue;
                    }
                };
                self.verdicts[at] = Some(verdict);
            }
        }
        Ok(puzzling)
    }

    /// Puts a real answer in the place of an unknown one.
    async fn answer(&mut self, tx: &mut TenantTx, step: &Step) -> Result<(), Undone> {
        overwrite(tx, step).await?;
        self.facets.of_step(step);
        if let Some(run) = self.runs.get_mut(&step.run_id) {
            run.change.heard(step.at);
            run.change.answered = true;
            // The unknown one counted as a failure.
            run.change.failed_calls += i64::from(is_failure(step)) - 1;
        }
        Ok(())
    }
}

/// Replaces everything of a row but what names it.
pub(crate) async fn overwrite(tx: &mut TenantTx, step: &Step) -> Result<u64, Undone> {
    // The first five columns are tenant, id, run, index and type.
    const NAMED: usize = 5;
    let changed: Vec<String> = columns::STEP_WRITTEN
        .iter()
        .enumerate()
        .skip(NAMED)
        .map(|(at, column)| format!("{column} = ${}", at + 1))
        .collect();
    let sql = format!(
        "UPDATE steps SET {} WHERE tenant_id = $1 AND id = $2 AND run_id = $3 AND step_index = $4 AND step_type = $5",
        changed.join(", ")
    );
    Ok(tx.run(sql, columns::of_step(tx.tenant(), step)?).await?)
}

/// The rows that have the id, or the run and index, of one of these.
async fn look(tx: &mut TenantTx, keys: &[(usize, Key)]) -> Result<Vec<Seen>, Undone> {
    let mut found = Vec::new();
    if keys.is_empty() {
        return Ok(found);
    }
    let columns = "SELECT id, run_id, step_index, step_type, outcome FROM steps WHERE tenant_id = $1";
    let mut ids: Vec<Value> = values![tx.tenant()];
    ids.extend(keys.iter().map(|(_, (id, ..))| Value::from(*id)));
    let mut places: Vec<Value> = values![tx.tenant()];
    places.extend(keys.iter().flat_map(|(_, (_, run, index, _))| values![*run, *index]));
    let pairs: Vec<String> = (0..keys.len()).map(|n| format!("(${},${})", 2 + 2 * n, 3 + 2 * n)).collect();
    let queries = [
        (format!("{columns} AND id IN ({})", placeholders(2, keys.len())), ids),
        (format!("{columns} AND (run_id, step_index) IN (VALUES {})", pairs.join(",")), places),
    ];
    for (sql, values) in queries {
        for row in tx.rows(sql, values).await? {
            let outcome: Option<String> = row.opt_text(4)?;
            found.push(Seen {
                id: StepId::from_uuid(row.uuid(0)?),
                run: RunId::from_uuid(row.uuid(1)?),
                index: row.number32(2)?,
                kind: row.text(3)?,
                unknown: outcome.as_deref() == Some(Outcome::Unknown.as_str()),
            });
        }
    }
    Ok(found)
}
