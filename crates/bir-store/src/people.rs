//! Tenants and people.

use crate::model::{Account, NewUser, TenantRow, TenantSettings, UserChange};
use crate::sql::{Db, Row, TenantTx, name_of, values};
use crate::{StoreError, remove};
use bir_model::{TenantId, UserId};

/// An e-mail address in characters at most.
const MAX_EMAIL: usize = 320;
/// A name in characters at most.
const MAX_NAME: usize = 1000;

/// Columns of a person, in this order.
pub(crate) const ACCOUNT: &str =
    "u.id, u.tenant_id, u.email, u.name, u.role, u.password_hash, u.disabled, u.created_at";
/// How many columns that is.
pub(crate) const ACCOUNT_COLUMNS: usize = 8;

/// From the columns [`ACCOUNT`].
pub(crate) fn account(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        id: UserId::from_uuid(row.uuid(0)?),
        tenant: TenantId::from_uuid(row.uuid(1)?),
        email: row.text(2)?,
        name: row.text(3)?,
        role: row.named(4)?,
        password_hash: row.opt_text(5)?,
        disabled: row.bool(6)?,
        created_at: row.number(7)?,
    })
}

/// Now, ms since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// What two spellings of one address have in common.
fn key(email: &str) -> String {
    email.trim().to_lowercase()
}

fn short(what: &str, text: &str, limit: usize) -> Result<(), StoreError> {
    if text.chars().count() > limit {
        return Err(StoreError::Failed(format!("{what} has at most {limit} characters")));
    }
    Ok(())
}

pub(crate) async fn tenants(db: &Db) -> Result<Vec<TenantRow>, StoreError> {
    let rows = db.plain().await?.tenants().await?;
    rows.iter()
        .map(|row| Ok(TenantRow { id: TenantId::from_uuid(row.uuid(0)?), name: row.text(1)? }))
        .collect()
}

pub(crate) async fn add_tenant(db: &Db, name: &str) -> Result<TenantId, StoreError> {
    short("a tenant's name", name, MAX_NAME)?;
    let tenant = TenantId::new();
    let mut tx = db.write(tenant).await?;
    let sql = "INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3)";
    tx.run(sql, values![tenant, name, now()]).await?;
    tx.commit().await?;
    Ok(tenant)
}

/// What the tenant's administrators decided. What cannot be read is an error and no default: it may forbid something.
pub(crate) async fn settings(tx: &mut TenantTx) -> Result<TenantSettings, StoreError> {
    let row = tx.row("SELECT settings FROM tenants WHERE id = $1", values![tx.tenant()]).await?;
    let Some(row) = row else { return Ok(TenantSettings::default()) };
    serde_json::from_str(&row.text(0)?)
        .map_err(|e| StoreError::Failed(format!("a tenant's settings cannot be read: {e}")))
}

pub(crate) async fn set_settings(
    db: &Db,
    tenant: TenantId,
    settings: &TenantSettings,
) -> Result<bool, StoreError> {
    let text = serde_json::to_string(settings);
    let text = text.map_err(|e| StoreError::Failed(format!("a value is no JSON: {e}")))?;
    let mut tx = db.write(tenant).await?;
    let found = tx.run("UPDATE tenants SET settings = $2 WHERE id = $1", values![tenant, text]).await?;
    tx.commit().await?;
    Ok(found > 0)
}

pub(crate) async fn add_user(db: &Db, tenant: TenantId, user: NewUser) -> Result<UserId, StoreError> {
    short("an e-mail address", &user.email, MAX_EMAIL)?;
    short("a name", &user.name, MAX_NAME)?;
    let id = UserId::new();
    let mut tx = db.write(tenant).await?;
    let sql =
        "INSERT INTO users (tenant_id, id, email, email_key, name, role, password_hash, disabled, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
    let role = name_of(&user.role);
    let email = user.email.trim();
    let values = values![tenant, id, email, key(email), &user.name, role, user.password_hash, false, now()];
    if tx.run(sql, values).await? == 0 {
        return Err(StoreError::Conflict(format!("an account for {email}")));
    }
    tx.commit().await?;
    Ok(id)
}

pub(crate) async fn by_email(db: &Db, email: &str) -> Result<Option<Account>, StoreError> {
    let Some(found) = db.plain().await?.find_login(&key(email)).await? else { return Ok(None) };
    let (tenant, id) = (TenantId::from_uuid(found.uuid(0)?), UserId::from_uuid(found.uuid(1)?));
    one(&mut db.read(tenant).await?, id).await
}

pub(crate) async fn one(tx: &mut TenantTx, user: UserId) -> Result<Option<Account>, StoreError> {
    let sql = format!("SELECT {ACCOUNT} FROM users u WHERE u.tenant_id = $1 AND u.id = $2");
    let row = tx.row(sql, values![tx.tenant(), user]).await?;
    row.map(|row| account(&row)).transpose()
}

pub(crate) async fn all(tx: &mut TenantTx) -> Result<Vec<Account>, StoreError> {
    let sql = format!("SELECT {ACCOUNT} FROM users u WHERE u.tenant_id = $1 ORDER BY u.created_at, u.id");
    tx.rows(sql, values![tx.tenant()]).await?.iter().map(account).collect()
}

pub(crate) async fn change(
    db: &Db,
    tenant: TenantId,
    user: UserId,
    change: UserChange,
) -> Result<bool, StoreError> {
    short("a name", change.name.as_deref().unwrap_or_default(), MAX_NAME)?;
    let mut tx = db.write(tenant).await?;
    let disabled = change.disabled.map(|disabled| i64::from(disabled).cast_unsigned());
    let sql = "UPDATE users SET name = COALESCE($3, name), role = COALESCE($4, role),
                   password_hash = COALESCE($5, password_hash),
                   disabled = CASE WHEN $6 IS NULL THEN disabled ELSE $6 = 1 END
               WHERE tenant_id = $1 AND id = $2";
    let role = change.role.map(|role| name_of(&role));
    let found = tx.run(sql, values![tenant, user, change.name, role, change.password_hash, disabled]).await?;
    tx.commit().await?;
    Ok(found > 0)
}

/// Scenarios and runs go first, in parts; who records meanwhile makes the last step fail, and it is begun again.
pub(crate) async fn delete(db: &Db, tenant: TenantId, user: UserId) -> Result<bool, StoreError> {
    const TRIES: u32 = 5;
    // Nobody signs in or records with a token of a disabled account, so that an end is reached.
    let off = UserChange { disabled: Some(true), ..UserChange::default() };
    if !change(db, tenant, user, off).await? {
        return Ok(false);
    }
    let who = crate::model::View { tenant, user, whole_tenant: false };
    for _ in 0..TRIES {
        remove::scenarios(db, &who, None).await?;
        remove::of_user(db, &who, user).await?;
        let mut tx = db.write(tenant).await?;
        if tx.is_postgres() {
            // New runs and scenarios of this person wait for the end of this transaction, and then find nobody.
            let sql = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR UPDATE";
            tx.rows(sql, values![tenant, user]).await?;
        }
        let left = "SELECT 1 FROM runs WHERE tenant_id = $1 AND user_id = $2
                    UNION ALL SELECT 1 FROM scenarios WHERE tenant_id = $1 AND user_id = $2 LIMIT 1";
        if tx.row(left, values![tenant, user]).await?.is_some() {
            continue;
        }
        for sql in [
            "DELETE FROM tokens WHERE tenant_id = $1 AND owner = $2",
            "DELETE FROM sessions WHERE tenant_id = $1 AND user_id = $2",
        ] {
            tx.run(sql, values![tenant, user]).await?;
        }
        let gone =
            tx.run("DELETE FROM users WHERE tenant_id = $1 AND id = $2", values![tenant, user]).await?;
        tx.commit().await?;
        return Ok(gone > 0);
    }
    Err(StoreError::Unavailable("the person still records; try again".into()))
}
