//! Keeping what was calculated: a new scenario, or another plan in the place of one that is there.

use super::{again, columns, family_hash, limits, locked, project_hash, read, runs};
use crate::StoreError;
use crate::append::Undone;
use crate::append::bulk::{Into, insert};
use crate::model::{BESIDE, NewScenario, Put, PutAs, ScenarioFilter, ScenarioStep, View};
use crate::people::now;
use crate::sql::{Db, TenantTx, Value, values};
use bir_model::ScenarioId;
use bir_model::scenario::ScenarioState;

pub(crate) async fn put(
    db: &Db,
    who: &View,
    scenario: &NewScenario,
    put_as: PutAs,
) -> Result<Option<Put>, StoreError> {
    limits::scenario(scenario)?;
    again!(once(db, who, scenario, &put_as))
}

async fn once(db: &Db, who: &View, scenario: &NewScenario, put_as: &PutAs) -> Result<Option<Put>, Undone> {
    let mut tx = db.write(who.tenant).await?;
    let put = match *put_as {
        PutAs::New | PutAs::Beside { .. } => Put { id: ScenarioId::new(), revision: 1 },
        PutAs::Instead { scenario: id, expected_revision: expected } => {
            let Some(found) = locked(&mut tx, who, id).await? else { return Ok(None) };
            if found != expected {
                return Err(StoreError::Revision { expected, found }.into());
            }
            Put { id, revision: found + 1 }
        }
    };
    match put_as {
        PutAs::New => add(&mut tx, who, put, scenario).await?,
        PutAs::Beside { seen } => {
            alone(&mut tx, who, scenario, seen).await?;
            add(&mut tx, who, put, scenario).await?;
        }
        PutAs::Instead { .. } => replace(&mut tx, who, put, scenario).await?,
    }
    steps(&mut tx, put.id, &scenario.steps).await?;
    // In an order that every transaction keeps, so that two do not wait for each other.
    let mut named = scenario.runs.clone();
    named.sort_by_key(|(run, _)| *run);
    for (run, role) in named {
        runs::join(&mut tx, who, put.id, run, role).await?;
    }
    tx.commit().await?;
    Ok(Some(put))
}

/// The values of a scenario that a calculation gives, from `$5` on: those before are tenant, id, owner, revision.
fn given(who: &View, put: Put, scenario: &NewScenario) -> Vec<Value> {
    values![
        who.tenant,
        put.id,
        who.user,
        put.revision,
        scenario.source_run,
        &scenario.family,
        family_hash(&scenario.family),
        &scenario.project,
        scenario.project.as_deref().map(project_hash),
        &scenario.cwd,
        scenario.state.as_str(),
        scenario.level.as_str(),
        &scenario.level_reason,
        scenario.confidence.as_str(),
        scenario.calculated_from,
        scenario.steps.len() as u64,
        &scenario.reason,
        &scenario.intent,
        &scenario.prompt,
        &scenario.plan,
        scenario.approved,
        now(),
        &scenario.standing,
    ]
}

/// The columns of [`given`] from `$5` to `$20`.
const GIVEN: [&str; 16] = [
    "source_run_id",
    "family",
    "family_hash",
    "project",
    "project_hash",
    "cwd",
    "state",
    "level",
    "level_reason",
    "confidence",
    "run_count",
    "step_count",
    "reason",
    "intent",
    "prompt",
    "plan",
];

/// Whether none but `seen` is of the same family and project, and nobody makes one until the end of the transaction.
async fn alone(
    tx: &mut TenantTx,
    who: &View,
    scenario: &NewScenario,
    seen: &[ScenarioId],
) -> Result<(), Undone> {
    if tx.is_postgres() {
        // Whoever makes another scenario of this person waits here, and finds this one.
        let sql = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE";
        tx.row(sql, values![who.tenant, who.user]).await?;
    }
    let filter = ScenarioFilter {
        state: Some(ScenarioState::Ready),
        project: scenario.project.clone(),
        family: Some(scenario.family.clone()),
    };
    let (sql, values) = read::beside_query(who, &filter, BESIDE);
    for row in tx.rows(sql, values).await? {
        let id = ScenarioId::from_uuid(row.uuid(0)?);
        if row.opt_text(1)? == scenario.project && !seen.contains(&id) {
            return Err(StoreError::Beside(id).into());
        }
    }
    Ok(())
}

async fn add(tx: &mut TenantTx, who: &View, put: Put, scenario: &NewScenario) -> Result<(), Undone> {
    // Somebody who was deleted a moment ago leaves nothing behind.
    let sql = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2";
    if tx.row(sql, values![who.tenant, who.user]).await?.is_none() {
        return Err(StoreError::Refused("its owner is not there any more".into()).into());
    }
    let places = crate::sql::placeholders(5, GIVEN.len());
    let sql = format!(
        "INSERT INTO scenarios (tenant_id, id, user_id, revision, {}, approved_at, created_at, updated_at, standing)
         VALUES ($1, $2, $3, $4, {places}, CASE WHEN $21 THEN $22 END, $22, $22, $23)",
        GIVEN.join(", ")
    );
    tx.run(sql, given(who, put, scenario)).await?;
    Ok(())
}

async fn replace(tx: &mut TenantTx, who: &View, put: Put, scenario: &NewScenario) -> Result<(), Undone> {
    let set: Vec<String> =
        GIVEN.iter().enumerate().map(|(at, column)| format!("{column} = ${}", at + 5)).collect();
    let sql = format!(
        "UPDATE scenarios SET revision = $4, {}, updated_at = $22, standing = $23,
             approved_at = CASE WHEN $21 THEN COALESCE(approved_at, $22) END
         WHERE tenant_id = $1 AND id = $2 AND user_id = $3",
        set.join(", ")
    );
    tx.run(sql, given(who, put, scenario)).await?;
    let sql = "DELETE FROM scenario_steps WHERE tenant_id = $1 AND scenario_id = $2";
    tx.run(sql, values![who.tenant, put.id]).await?;
    Ok(())
}

async fn steps(tx: &mut TenantTx, id: ScenarioId, steps: &[ScenarioStep]) -> Result<(), Undone> {
    let rows = steps.iter().map(|step| {
        values![
            tx.tenant(),
            id,
            step.index,
            &step.server,
            &step.tool,
            step.effect.as_str(),
            step.edits.mark.map(bir_model::scenario::Mark::as_str),
            &step.reasoning,
            &step.edits.input_logic,
            &step.edits.output_logic,
            &step.recorded_input,
            &step.recorded_output,
        ]
    });
    let rows: Vec<Vec<Value>> = rows.collect();
    let into = Into { table: "scenario_steps", columns: &columns::STEP_WRITTEN, returning: "step_index" };
    let inserted = insert(tx, &into, rows).await?;
    if inserted.len() == steps.len() { Ok(()) } else { Err(Undone::Again) }
}
