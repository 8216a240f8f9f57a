//! Tokens and browser sessions. Both are looked up inside the tenant that they name.

use crate::StoreError;
use crate::model::{Account, AuthToken, NewToken, Session};
use crate::people::{ACCOUNT, ACCOUNT_COLUMNS, account, now};
use crate::sql::{Db, Row, TenantTx, name_of, values};
use bir_model::{TenantId, TokenId, UserId};

/// Sessions that are over and go when another one begins, at most.
const SWEPT: u32 = 100;

/// Columns of a token behind those of its owner, in this order.
const TOKEN: &str =
    "t.id, t.kind, t.name, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at, t.family";

fn auth_token(row: &Row) -> Result<AuthToken, StoreError> {
    const AT: usize = ACCOUNT_COLUMNS;
    Ok(AuthToken {
        id: TokenId::from_uuid(row.uuid(AT)?),
        owner: account(row)?,
        kind: row.named(AT + 1)?,
        name: row.text(AT + 2)?,
        scopes: row.json(AT + 3)?.unwrap_or_default(),
        created_at: row.number(AT + 4)?,
        expires_at: row.opt_number(AT + 5)?,
        revoked_at: row.opt_number(AT + 6)?,
        last_used_at: row.opt_number(AT + 7)?,
        family: row.opt_uuid(AT + 8)?,
    })
}

fn selected(condition: &str) -> String {
    format!(
        "SELECT {ACCOUNT}, {TOKEN} FROM tokens t JOIN users u ON u.tenant_id = t.tenant_id AND u.id = t.owner
         WHERE t.tenant_id = $1 AND {condition}"
    )
}

async fn insert(tx: &mut TenantTx, token: &NewToken) -> Result<TokenId, StoreError> {
    if crate::people::one(tx, token.owner).await?.is_none() {
        return Err(StoreError::Failed("the token's owner is not in this tenant".into()));
    }
    let id = TokenId::new();
    let scopes = serde_json::Value::from(token.scopes.clone()).to_string();
    let sql =
        "INSERT INTO tokens (tenant_id, id, owner, kind, name, hash, scopes, created_at, expires_at, family)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING";
    let values = values![
        tx.tenant(),
        id,
        token.owner,
        name_of(&token.kind),
        &token.name,
        &token.hash,
        scopes,
        now(),
        token.expires_at,
        token.family,
    ];
    if tx.run(sql, values).await? == 0 {
        return Err(StoreError::Conflict("such a token".into()));
    }
    Ok(id)
}

pub(crate) async fn add(db: &Db, tenant: TenantId, token: &NewToken) -> Result<TokenId, StoreError> {
    let mut tx = db.write(tenant).await?;
    let id = insert(&mut tx, token).await?;
    tx.commit().await?;
    Ok(id)
}

pub(crate) async fn by_hash(tx: &mut TenantTx, hash: &[u8; 32]) -> Result<Option<AuthToken>, StoreError> {
    let row = tx.row(selected("t.hash = $2"), values![tx.tenant(), hash]).await?;
    row.map(|row| auth_token(&row)).transpose()
}

pub(crate) async fn all(tx: &mut TenantTx, owner: Option<UserId>) -> Result<Vec<AuthToken>, StoreError> {
    let owner = owner.map(UserId::uuid);
    let condition = selected("($2 IS NULL OR t.owner = $2) ORDER BY t.created_at, t.id");
    tx.rows(condition, values![tx.tenant(), owner]).await?.iter().map(auth_token).collect()
}

/// With all tokens of the same sign-in.
pub(crate) async fn revoke(
    db: &Db,
    tenant: TenantId,
    token: TokenId,
    owner: Option<UserId>,
) -> Result<bool, StoreError> {
    let mut tx = db.write(tenant).await?;
    let owner = owner.map(UserId::uuid);
    let sql =
        "SELECT t.family FROM tokens t WHERE t.tenant_id = $1 AND t.id = $2 AND ($3 IS NULL OR t.owner = $3)";
    let Some(row) = tx.row(sql, values![tenant, token, owner]).await? else { return Ok(false) };
    let family = row.opt_uuid(0)?;
    let sql = "UPDATE tokens SET revoked_at = $3
               WHERE tenant_id = $1 AND revoked_at IS NULL AND (id = $2 OR family = $4)";
    tx.run(sql, values![tenant, token, now(), family]).await?;
    tx.commit().await?;
    Ok(true)
}

pub(crate) async fn touch(db: &Db, tenant: TenantId, token: TokenId, at: u64) -> Result<(), StoreError> {
    let mut tx = db.write(tenant).await?;
    let sql = "UPDATE tokens SET last_used_at = $3
               WHERE tenant_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)";
    tx.run(sql, values![tenant, token, at]).await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn rotate(
    db: &Db,
    tenant: TenantId,
    old: &[u8; 32],
    new: &NewToken,
) -> Result<bool, StoreError> {
    let mut tx = db.write(tenant).await?;
    // Of two at once, the second waits here and then finds it revoked.
    let sql = "UPDATE tokens SET revoked_at = $3, last_used_at = $3
               WHERE tenant_id = $1 AND hash = $2 AND kind = 'refresh' AND owner = $4 AND revoked_at IS NULL
                 AND (expires_at IS NULL OR expires_at > $3)";
    if tx.run(sql, values![tenant, old, now(), new.owner]).await? == 0 {
        return Ok(false);
    }
    insert(&mut tx, new).await?;
    tx.commit().await?;
    Ok(true)
}

pub(crate) async fn add_session(db: &Db, tenant: TenantId, session: &Session) -> Result<(), StoreError> {
    let mut tx = db.write(tenant).await?;
    if crate::people::one(&mut tx, session.user).await?.is_none() {
        return Err(StoreError::Failed("the person is not in this tenant".into()));
    }
    let sql = "DELETE FROM sessions WHERE tenant_id = $1 AND hash IN (
                   SELECT s.hash FROM sessions s WHERE s.tenant_id = $1 AND s.expires_at <= $2 LIMIT $3)";
    tx.run(sql, values![tenant, now(), SWEPT]).await?;
    let sql = "INSERT INTO sessions (tenant_id, hash, user_id, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    let values = values![tenant, &session.hash, session.user, session.created_at, session.expires_at];
    if tx.run(sql, values).await? == 0 {
        return Err(StoreError::Conflict("such a session".into()));
    }
    Ok(tx.commit().await?)
}

pub(crate) async fn session(
    tx: &mut TenantTx,
    hash: &[u8; 32],
    at: u64,
) -> Result<Option<(Session, Account)>, StoreError> {
    let sql = format!(
        "SELECT {ACCOUNT}, s.created_at, s.expires_at FROM sessions s
         JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
         WHERE s.tenant_id = $1 AND s.hash = $2 AND s.expires_at > $3"
    );
    let Some(row) = tx.row(sql, values![tx.tenant(), hash, at]).await? else { return Ok(None) };
    let account = account(&row)?;
    let session = Session {
        hash: *hash,
        user: account.id,
        created_at: row.number(ACCOUNT_COLUMNS)?,
        expires_at: row.number(ACCOUNT_COLUMNS + 1)?,
    };
    Ok(Some((session, account)))
}

pub(crate) async fn end_session(db: &Db, tenant: TenantId, hash: &[u8; 32]) -> Result<(), StoreError> {
    let mut tx = db.write(tenant).await?;
    tx.run("DELETE FROM sessions WHERE tenant_id = $1 AND hash = $2", values![tenant, hash]).await?;
    Ok(tx.commit().await?)
}

/// In parts of one transaction each, so that nobody waits long for it.
pub(crate) async fn purge(db: &Db, before: u64, limit: u32) -> Result<u64, StoreError> {
    let mut gone = 0;
    for tenant in crate::people::tenants(db).await? {
        for sql in [
            "DELETE FROM sessions WHERE tenant_id = $1 AND hash IN (
                 SELECT s.hash FROM sessions s WHERE s.tenant_id = $1 AND s.expires_at < $2 LIMIT $3)",
            "DELETE FROM tokens WHERE tenant_id = $1 AND id IN (
                 SELECT t.id FROM tokens t WHERE t.tenant_id = $1
                     AND (t.expires_at < $2 OR (t.expires_at IS NULL AND t.revoked_at < $2)) LIMIT $3)",
            "DELETE FROM executions WHERE tenant_id = $1 AND claimed_at IS NULL AND id IN (
                 SELECT e.id FROM executions e WHERE e.tenant_id = $1 AND e.claimed_at IS NULL AND e.issued_at < $2 LIMIT $3)",
        ] {
            let left = u64::from(limit).saturating_sub(gone);
            if left == 0 {
                return Ok(gone);
            }
            let mut tx = db.write(tenant.id).await?;
            gone += tx.run(sql, values![tenant.id, before, left]).await?;
            tx.commit().await?;
        }
    }
    Ok(gone)
}
