//! What the records of one transaction come to.

use super::bulk::{Into, insert};
use super::{Undone, check, refused};
use crate::columns;
use crate::facets::Facets;
use crate::model::{Appended, View};
use crate::sql::{TenantTx, Value, placeholders, values};
use crate::toolsets::{self, Noted};
use bir_model::record::{EndReason, Finish, Lost, Record, RunStart, ToolsSeen};
use bir_model::{RunId, UserId};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Runs that are asked for in one statement.
const RUNS_ASKED: usize = 200;

/// A run that the records are about.
#[derive(Debug)]
pub(super) struct Run<'a> {
    owner: UserId,
    pub(super) started_at: u64,
    /// To be inserted.
    new: Option<&'a RunStart>,
    ended: Option<EndReason>,
    losses: i64,
    /// What is to be added when all is booked.
    pub(super) change: Change<'a>,
}

/// What changes of a run.
#[derive(Debug, Default)]
pub(super) struct Change<'a> {
    pub(super) calls: i64,
    pub(super) failed_calls: i64,
    pub(super) rows: i64,
    pub(super) last_at: u64,
    pub(super) lost_calls: u64,
    pub(super) losses: i64,
    pub(super) finish: Option<&'a Finish>,
    pub(super) touched: bool,
    /// A row that ended `unknown` ends otherwise now.
    pub(super) answered: bool,
}

impl Change<'_> {
    pub(super) fn heard(&mut self, at: u64) {
        self.last_at = self.last_at.max(at);
        self.touched = true;
    }
}

/// The records with what is known about them.
pub(super) struct Plan<'a> {
    pub(super) who: View,
    pub(super) records: &'a [Record],
    pub(super) verdicts: Vec<Option<Appended>>,
    pub(super) runs: BTreeMap<RunId, Run<'a>>,
    pub(super) facets: Facets,
    /// Steps and final answers, by their positions among the records.
    pub(super) rows: Vec<usize>,
    losses: Vec<(usize, &'a Lost)>,
    tools: Vec<(usize, &'a ToolsSeen)>,
}

impl<'a> Plan<'a> {
    pub(super) async fn new(tx: &mut TenantTx, who: &View, records: &'a [Record]) -> Result<Self, Undone> {
        let mut plan = Self {
            who: *who,
            records,
            verdicts: vec![None; records.len()],
            runs: known(tx, records).await?,
            facets: Facets::default(),
            rows: Vec::new(),
            losses: Vec::new(),
            tools: Vec::new(),
        };
        let mut lives = None;
        for (at, record) in records.iter().enumerate() {
            if matches!(record, Record::Run(run) if !plan.runs.contains_key(&run.id)) && lives.is_none() {
                lives = Some(exists(tx, who).await?);
            }
            plan.verdicts[at] = plan.judge(at, lives == Some(true));
        }
        Ok(plan)
    }

    /// The verdict on one record; None when the database has to be asked.
    fn judge(&mut self, at: usize, lives: bool) -> Option<Appended> {
        let record = &self.records[at];
        if let Err(why) = check::check(record) {
            return Some(refused("invalid", why));
        }
        let Some(run) = self.runs.get_mut(&record.run_id()) else {
            let Record::Run(start) = record else {
                return Some(refused("unknown_run", "its run is not here; send the run's beginning first"));
            };
            if !lives {
                return Some(refused("invalid", "the person who records is not in this tenant any more"));
            }
            let change = Change { touched: true, last_at: start.started_at, ..Change::default() };
            self.runs.insert(
                start.id,
                Run {
                    owner: self.who.user,
                    started_at: start.started_at,
                    new: Some(start),
                    ended: None,
                    losses: 0,
                    change,
                },
            );
            self.facets.of_run(start);
            return Some(Appended::Booked);
        };
        if run.owner != self.who.user {
            return Some(refused("foreign_run", "the run is another person's"));
        }
        match record {
            Record::Run(_) => Some(Appended::Duplicate),
            Record::Step(_) | Record::Final(_) => {
                self.rows.push(at);
                None
            }
            Record::Finish(finish) => {
                // Whoever closed the run in the recorder's place gives way to the recorder.
                let takes = match run.ended {
                    None => true,
                    Some(ended) => ended == EndReason::Abandoned && finish.reason != EndReason::Abandoned,
                };
                if !takes {
                    return Some(Appended::Duplicate);
                }
                run.ended = Some(finish.reason);
                run.change.finish = Some(finish);
                run.change.heard(finish.at);
                Some(Appended::Booked)
            }
            Record::Lost(lost) => {
                self.losses.push((at, lost));
                None
            }
            Record::Tools(seen) => {
                self.tools.push((at, seen));
                None
            }
        }
    }

    pub(super) async fn insert_runs(&mut self, tx: &mut TenantTx) -> Result<(), Undone> {
        let mut rows = Vec::new();
        for run in self.runs.values().filter_map(|run| run.new) {
            rows.push(columns::of_run(self.who.tenant, self.who.user, run)?);
        }
        let wanted = rows.len();
        let into = Into { table: "runs", columns: &columns::RUN_WRITTEN, returning: "id" };
        let inserted = insert(tx, &into, rows).await?;
        if inserted.len() == wanted { Ok(()) } else { Err(Undone::Again) }
    }

    pub(super) async fn insert_tools(&mut self, tx: &mut TenantTx) -> Result<(), Undone> {
        // In one order, so that two that book the same sets wait for each other and not both.
        let mut tools = std::mem::take(&mut self.tools);
        tools.sort_by(|a, b| a.1.hash.cmp(&b.1.hash));
        for (at, seen) in tools {
            self.verdicts[at] = Some(match toolsets::note(tx, &self.who, seen).await? {
                Noted::New => {
                    if let Some(run) = self.runs.get_mut(&seen.run_id) {
                        run.change.heard(seen.at);
                    }
                    Appended::Booked
                }
                Noted::Known => Appended::Duplicate,
                Noted::TooMany => refused("invalid", "the run names as many sets of tools as it may"),
            });
        }
        Ok(())
    }

    pub(super) async fn insert_losses(&mut self, tx: &mut TenantTx) -> Result<(), Undone> {
        let mut rows = Vec::new();
        let mut seen = HashSet::new();
        for (_, lost) in &self.losses {
            if let Some(run) = self.runs.get_mut(&lost.run_id).filter(|_| seen.insert(lost.id)) {
                run.losses += 1;
                rows.push(columns::of_lost(self.who.tenant, run.losses, lost));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let columns = ["tenant_id", "id", "run_id", "seq", "calls", "records", "reason", "at"];
        let into = Into { table: "losses", columns: &columns, returning: "id" };
        let mut inserted = HashSet::new();
        for row in insert(tx, &into, rows).await? {
            inserted.insert(row.uuid(0)?);
        }
        for (at, lost) in &self.losses {
            // The first one with an id was booked; one more is a duplicate.
            let booked = inserted.remove(&lost.id.uuid());
            self.verdicts[*at] = Some(if booked { Appended::Booked } else { Appended::Duplicate });
            if let Some(run) = self.runs.get_mut(&lost.run_id).filter(|_| booked) {
                run.change.losses += 1;
                run.change.lost_calls += lost.calls;
                run.change.heard(lost.at);
            }
        }
        Ok(())
    }

    /// Facets and counts; then the verdicts stand.
    pub(super) async fn finish(mut self, tx: &mut TenantTx) -> Result<Vec<Appended>, Undone> {
        let tenant = self.who.tenant;
        let mut rows = Vec::new();
        for (id, hash, facet) in std::mem::take(&mut self.facets).sorted() {
            if let Some(run) = self.runs.get(&id) {
                rows.push(values![tenant, id, hash, facet.kind, facet.value, run.started_at]);
            }
        }
        let columns = ["tenant_id", "run_id", "hash", "kind", "value", "started_at"];
        insert(tx, &Into { table: "run_facets", columns: &columns, returning: "hash" }, rows).await?;
        for (id, run) in self.runs.iter().filter(|(_, run)| run.change.touched) {
            update(tx, *id, &run.change).await?;
        }
        let unsettled = || refused("invalid", "its id or index is used twice among these records");
        Ok(self.verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(unsettled)).collect())
    }
}

/// The runs that records are about, as far as there are any.
async fn known<'a>(tx: &mut TenantTx, records: &[Record]) -> Result<BTreeMap<RunId, Run<'a>>, Undone> {
    // Sorted, so that two transactions that lock the same runs do it in the same order.
    let ids: BTreeSet<RunId> = records.iter().map(Record::run_id).collect();
    let ids: Vec<RunId> = ids.into_iter().collect();
    let mut runs = BTreeMap::new();
    for ids in ids.chunks(RUNS_ASKED) {
        let lock = if tx.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!(
            "SELECT id, user_id, started_at, end_reason, loss_count FROM runs
             WHERE tenant_id = $1 AND id IN ({}) ORDER BY id{lock}",
            placeholders(2, ids.len())
        );
        let mut values = values![tx.tenant()];
        values.extend(ids.iter().map(|id| Value::from(*id)));
        for row in tx.rows(sql, values).await? {
            let run = Run {
                owner: UserId::from_uuid(row.uuid(1)?),
                started_at: row.number(2)?,
                new: None,
                ended: row.opt_named(3)?,
                losses: row.int(4)?,
                change: Change::default(),
            };
            runs.insert(RunId::from_uuid(row.uuid(0)?), run);
        }
    }
    Ok(runs)
}

/// Whether the person who records is there: somebody who was deleted a moment ago leaves no new runs behind.
async fn exists(tx: &mut TenantTx, who: &View) -> Result<bool, Undone> {
    let sql = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2";
    Ok(tx.row(sql, values![who.tenant, who.user]).await?.is_some())
}

async fn update(tx: &mut TenantTx, id: RunId, change: &Change<'_>) -> Result<(), Undone> {
    let tenant = tx.tenant();
    let sql =
        "UPDATE runs SET calls = calls + $3, failed_calls = failed_calls + $4, row_count = row_count + $5,
                   last_at = CASE WHEN last_at < $6 THEN $6 ELSE last_at END,
                   lossy = (lossy OR $7), lost_calls = lost_calls + $8, loss_count = loss_count + $9
               WHERE tenant_id = $1 AND id = $2";
    let values = values![
        tenant,
        id,
        change.calls,
        change.failed_calls,
        change.rows,
        change.last_at,
        change.losses > 0,
        change.lost_calls,
        change.losses,
    ];
    tx.run(sql, values).await?;
    if let Some(finish) = change.finish {
        let sql = "UPDATE runs SET ended_at = $3, end_reason = $4, final_output = $5, metrics = $6
                   WHERE tenant_id = $1 AND id = $2";
        let metrics = finish.metrics.as_ref().map(ToString::to_string);
        let reason = columns::end_reason(finish.reason);
        tx.run(sql, values![tenant, id, finish.at, reason, &finish.final_output, metrics]).await?;
    }
    if change.answered {
        forget_outcome(tx, id, bir_model::Outcome::Unknown.as_str()).await?;
    }
    Ok(())
}

/// A run is no longer found by an outcome that none of its rows has any more.
pub(crate) async fn forget_outcome(tx: &mut TenantTx, run: RunId, outcome: &str) -> Result<(), sqlx::Error> {
    let facet = crate::facets::Facet::new("outcome", outcome);
    let sql = "DELETE FROM run_facets WHERE tenant_id = $1 AND run_id = $2 AND hash = $3 AND NOT EXISTS (
                   SELECT 1 FROM steps s WHERE s.tenant_id = $1 AND s.run_id = $2 AND s.outcome = $4)";
    tx.run(sql, values![tx.tenant(), run, facet.hash(), facet.value]).await?;
    Ok(())
}
