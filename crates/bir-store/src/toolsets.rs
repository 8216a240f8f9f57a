//! The tools of servers: kept once for each person and content, named by runs; and which servers a person trusts.

use crate::StoreError;
use crate::append::Undone;
use crate::model::View;
use crate::sql::{Db, TenantTx, Value, placeholders, values};
use bir_model::RunId;
use bir_model::record::ToolsSeen;
use bir_model::tools::ToolSet;

/// Servers that a person trusts at most.
const MOST_TRUSTED: i64 = 1_000;
/// Sets that one run names at most: of a server that changes its tools with every call the later ones are not kept.
const MOST_OF_RUN: i64 = 256;

/// What became of a record of tools.
pub(crate) enum Noted {
    New,
    Known,
    TooMany,
}

/// Books a record of tools of a run of `who`, which is there.
pub(crate) async fn note(tx: &mut TenantTx, who: &View, seen: &ToolsSeen) -> Result<Noted, Undone> {
    let (tenant, user) = (who.tenant, who.user);
    let count = "SELECT count(*) FROM run_tools WHERE tenant_id = $1 AND run_id = $2";
    let count = tx.row(count, values![tenant, seen.run_id]).await?.map(|row| row.int(0)).transpose()?;
    if count.unwrap_or(0) >= MOST_OF_RUN {
        return Ok(Noted::TooMany);
    }
    if let Some(set) = &seen.set {
        let sql = "INSERT INTO tool_sets (tenant_id, user_id, hash, tools) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        tx.run(sql, values![tenant, user, &seen.hash, set.canonical()]).await?;
    }
    let sql =
        "INSERT INTO run_tools (tenant_id, run_id, server, hash, user_id, at) VALUES ($1, $2, $3, $4, $5, $6)
               ON CONFLICT DO NOTHING";
    let new = tx.run(sql, values![tenant, seen.run_id, &seen.server, &seen.hash, user, seen.at]).await?;
    Ok(if new > 0 { Noted::New } else { Noted::Known })
}

/// The tools of a run that is visible, the earliest first, each with its set where that is there.
pub(crate) async fn of_run(tx: &mut TenantTx, run: RunId) -> Result<Vec<ToolsSeen>, StoreError> {
    let sql = "SELECT r.server, r.hash, r.at, s.tools FROM run_tools r LEFT JOIN tool_sets s
                   ON s.tenant_id = r.tenant_id AND s.user_id = r.user_id AND s.hash = r.hash
               WHERE r.tenant_id = $1 AND r.run_id = $2 ORDER BY r.at, r.server, r.hash";
    let mut seen = Vec::new();
    for row in tx.rows(sql, values![tx.tenant(), run]).await? {
        let set: Option<String> = row.opt_text(3)?;
        seen.push(ToolsSeen {
            run_id: run,
            server: row.text(0)?,
            hash: row.text(1)?,
            at: row.number(2)?,
            set: set.and_then(|json| serde_json::from_str(&json).ok()),
        });
    }
    Ok(seen)
}

/// Sets of one's own by their names; those that are not there are left out.
pub(crate) async fn sets(
    tx: &mut TenantTx,
    who: &View,
    hashes: &[String],
) -> Result<Vec<(String, ToolSet)>, StoreError> {
    let mut found = Vec::new();
    for hashes in hashes.chunks(100) {
        let sql = format!(
            "SELECT hash, tools FROM tool_sets WHERE tenant_id = $1 AND user_id = $2 AND hash IN ({})",
            placeholders(3, hashes.len())
        );
        let mut values = values![who.tenant, who.user];
        values.extend(hashes.iter().map(|hash| Value::from(hash.clone())));
        for row in tx.rows(sql, values).await? {
            if let Ok(set) = serde_json::from_str(&row.text(1)?) {
                found.push((row.text(0)?, set));
            }
        }
    }
    Ok(found)
}

/// Deletes what these runs name, and the sets that no run names any more. `list` are the placeholders of the runs in `these`,
/// whose first value is the tenant.
pub(crate) async fn part(tx: &mut TenantTx, list: &str, these: &[Value]) -> Result<(), StoreError> {
    let sql =
        format!("SELECT DISTINCT user_id, hash FROM run_tools WHERE tenant_id = $1 AND run_id IN ({list})");
    let mut named = Vec::new();
    for row in tx.rows(sql, these.to_vec()).await? {
        named.push((row.uuid(0)?, row.text(1)?));
    }
    let sql = format!("DELETE FROM run_tools WHERE tenant_id = $1 AND run_id IN ({list})");
    tx.run(sql, these.to_vec()).await?;
    // In one order, so that two that delete wait for each other and not both.
    named.sort();
    for (user, hash) in named {
        let sql = "DELETE FROM tool_sets WHERE tenant_id = $1 AND user_id = $2 AND hash = $3 AND NOT EXISTS (
                       SELECT 1 FROM run_tools r WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.hash = $3)";
        tx.run(sql, values![tx.tenant(), user, hash]).await?;
    }
    Ok(())
}

/// The servers that a person trusts, by name.
pub(crate) async fn trusted(tx: &mut TenantTx, who: &View) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT server FROM trusted_servers WHERE tenant_id = $1 AND user_id = $2 ORDER BY server";
    let rows = tx.rows(sql, values![who.tenant, who.user]).await?;
    rows.iter().map(|row| row.text(0)).collect()
}

/// Trusts a server, or no longer. False: that is so already, or there are too many.
pub(crate) async fn trust(db: &Db, who: &View, server: &str, trusts: bool) -> Result<bool, StoreError> {
    let mut tx = db.write(who.tenant).await?;
    let changed = if trusts {
        let sql = "INSERT INTO trusted_servers (tenant_id, user_id, server, since)
                   SELECT $1, $2, $3, $4 WHERE (
                       SELECT count(*) FROM trusted_servers WHERE tenant_id = $1 AND user_id = $2) < $5
                   ON CONFLICT DO NOTHING";
        tx.run(sql, values![who.tenant, who.user, server, crate::people::now(), MOST_TRUSTED]).await?
    } else {
        let sql = "DELETE FROM trusted_servers WHERE tenant_id = $1 AND user_id = $2 AND server = $3";
        tx.run(sql, values![who.tenant, who.user, server]).await?
    };
    tx.commit().await?;
    Ok(changed > 0)
}
