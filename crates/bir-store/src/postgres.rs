//! A team's store: PostgreSQL 15 or newer, with row-level security.
//!
//! ```text
//!  owner role        owns the schema `bir`; used by `migrate` alone
//!  application role  USAGE on the schema, SELECT/INSERT/UPDATE/DELETE on its tables, EXECUTE on two functions, nothing else;
//!                    used by `open`, which refuses a role that could do more
//! ```
//!
//! Behind PgBouncer: session pooling, or version 1.21 and newer, because prepared statements are used.

use crate::sql::Db;
use crate::sql_store::SqlStore;
use crate::{Options, StoreError, migrations};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use std::time::Duration;

/// How long a server is waited for when it is connected to.
const CONNECT: Duration = Duration::from_secs(10);
/// Held while a schema is changed, so that two migrations do not run at once. An arbitrary number that is ours.
const MIGRATING: i64 = 0x6269_725f_6d69_6772;

/// Tables that belong to no tenant, so that they need no row-level security; the application may only read them.
pub(crate) const SHARED: [&str; 1] = ["schema_version"];

pub(crate) async fn open(
    place: &str,
    connect: PgConnectOptions,
    options: &Options,
) -> Result<SqlStore, StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(options.connections.max(1))
        .acquire_timeout(options.patience)
        .connect_with(connect.application_name("bir-hub"))
        .await
        .map_err(|error| unreachable(place, error))?;
    let checked = async {
        let mut connection = pool.acquire().await?;
        check_role(&mut connection).await?;
        check_schema(&mut connection, place).await
    };
    if let Err(error) = checked.await {
        pool.close().await;
        return Err(error);
    }
    Ok(SqlStore { db: Db::postgres(pool, options), writer: None })
}

/// Says where the trouble is. sqlx repeats no password, and `place` has none.
fn unreachable(place: &str, error: sqlx::Error) -> StoreError {
    match StoreError::from(error) {
        StoreError::Unavailable(why) => StoreError::Unavailable(format!("{place}: {why}")),
        StoreError::Failed(why) => StoreError::Failed(format!("{place}: {why}")),
        other => other,
    }
}

/// What would make a role able to step around row-level security.
async fn check_role(connection: &mut PgConnection) -> Result<(), StoreError> {
    let sql = "
        SELECT r.rolname, r.rolsuper, r.rolbypassrls, r.rolcreaterole,
               session_user <> current_user,
               EXISTS (SELECT 1 FROM pg_roles x
                       WHERE (x.rolsuper OR x.rolbypassrls OR x.rolcreaterole) AND x.oid <> r.oid
                         AND pg_has_role(r.oid, x.oid, 'MEMBER')),
               EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = 'bir' AND n.nspowner = r.oid)
               OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname = 'bir' AND c.relowner = r.oid)
               OR EXISTS (SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                          WHERE n.nspname = 'bir' AND p.proowner = r.oid),
               EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = 'bir' AND pg_has_role(r.oid, n.nspowner, 'MEMBER'))
               OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname = 'bir' AND pg_has_role(r.oid, c.relowner, 'MEMBER')),
               EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       WHERE n.nspname = 'bir' AND c.relkind IN ('r', 'p')
                         AND (has_table_privilege(r.oid, c.oid, 'TRUNCATE') OR has_table_privilege(r.oid, c.oid, 'TRIGGER')
                              OR has_table_privilege(r.oid, c.oid, 'REFERENCES')))
        FROM pg_roles r WHERE r.rolname = session_user";
    let row: PgRow = sqlx::query(sql).fetch_one(&mut *connection).await?;
    let role: String = row.try_get(0)?;
    let reasons = [
        (1, "is a superuser, whom row-level security does not bind"),
        (2, "has BYPASSRLS"),
        (3, "has CREATEROLE, with which it can join other roles"),
        (4, "acts as another role (SET ROLE)"),
        (6, "owns the hub's schema, a table or a function of it"),
        (7, "is a member of the role that owns the hub's tables"),
        (5, "is a member of a role that is a superuser, has BYPASSRLS or has CREATEROLE"),
        (8, "may TRUNCATE, or has TRIGGER or REFERENCES, on a table of the hub"),
    ];
    for (at, why) in reasons {
        if row.try_get::<bool, _>(at)? {
            return Err(StoreError::Role { role, why: why.to_owned() });
        }
    }
    Ok(())
}

/// Whether the schema is the one that this version knows, with row-level security on each table.
async fn check_schema(connection: &mut PgConnection, place: &str) -> Result<(), StoreError> {
    let newest = migrations::newest(migrations::POSTGRES);
    // Looked up in the catalog: by its name the table cannot be asked for by who may not use the schema.
    let usable: Option<bool> = sqlx::query_scalar(
        "SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'bir' AND c.relname = 'schema_version' AND c.relkind = 'r'",
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(usable) = usable else {
        return Err(StoreError::Older { place: place.to_owned(), found: 0, known: newest });
    };
    if !usable {
        let role: String =
            sqlx::query_scalar("SELECT session_user::text").fetch_one(&mut *connection).await?;
        let why = "may not use the schema `bir`; run `bir-hub migrate` and name this role there".to_owned();
        return Err(StoreError::Role { role, why });
    }
    let found = migrations::postgres_version(connection).await?;
    migrations::known(place, found, newest)?;
    if found < newest {
        return Err(StoreError::Older { place: place.to_owned(), found, known: newest });
    }
    let open: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'bir' AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
           AND c.relname <> ALL($1)",
    )
    .bind(SHARED.map(str::to_owned).to_vec())
    .fetch_all(&mut *connection)
    .await?;
    if let Some(table) = open.first() {
        return Err(StoreError::Failed(format!(
            "the table `{table}` in {place} has no row-level security any more; run `bir-hub migrate` or put it back"
        )));
    }
    Ok(())
}

/// Brings the database to the newest schema, as its owner, and gives `app_role` what it needs and nothing else.
///
/// # Errors
/// The database does not answer, its schema is newer, the application's role does not exist or is the owner itself.
pub(crate) async fn migrate(place: &str, owner: PgConnectOptions, app_role: &str) -> Result<(), StoreError> {
    let connecting = PgConnection::connect_with(&owner);
    let connected = tokio::time::timeout(CONNECT, connecting).await;
    let connected =
        connected.map_err(|_| StoreError::Unavailable(format!("{place}: no answer in {CONNECT:?}")))?;
    let mut connection = connected.map_err(|error| unreachable(place, error))?;
    let done = migrate_with(&mut connection, place, app_role).await;
    // Done or not, the server ends what is left when the connection goes.
    let _ = connection.close().await;
    done
}

async fn migrate_with(connection: &mut PgConnection, place: &str, app_role: &str) -> Result<(), StoreError> {
    let mut tx = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATING).execute(&mut *tx).await?;
    let role: Option<(bool, String)> = sqlx::query_as(
        "SELECT pg_has_role(oid, current_user::regrole, 'MEMBER'), quote_ident(rolname) FROM pg_roles WHERE rolname = $1",
    )
    .bind(app_role)
    .fetch_optional(&mut *tx)
    .await?;
    let Some((owner, quoted)) = role else {
        return Err(StoreError::Role {
            role: app_role.to_owned(),
            why: "does not exist; the database's administrator makes it with CREATE ROLE … LOGIN PASSWORD …"
                .to_owned(),
        });
    };
    if owner {
        let why = "is the owner of the hub's tables, or a member of it".to_owned();
        return Err(StoreError::Role { role: app_role.to_owned(), why });
    }
    migrations::postgres(&mut tx, place).await?;
    grant(&mut tx, &quoted).await?;
    tx.commit().await?;
    Ok(())
}

/// Everything is taken away first, because a privilege that was given once (TRUNCATE) is not bound by any policy.
async fn grant(tx: &mut PgConnection, role: &str) -> Result<(), StoreError> {
    let shared = SHARED.map(|table| format!("bir.{table}")).join(", ");
    let statements = [
        "REVOKE ALL ON SCHEMA bir FROM PUBLIC".to_owned(),
        "REVOKE ALL ON ALL TABLES IN SCHEMA bir FROM PUBLIC".to_owned(),
        "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA bir FROM PUBLIC".to_owned(),
        format!("REVOKE ALL ON SCHEMA bir FROM {role}"),
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA bir FROM {role}"),
        format!("REVOKE ALL ON ALL SEQUENCES IN SCHEMA bir FROM {role}"),
        format!("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA bir FROM {role}"),
        format!("GRANT USAGE ON SCHEMA bir TO {role}"),
        format!("GRANT SELECT ON {shared} TO {role}"),
        format!("GRANT EXECUTE ON FUNCTION bir.tenant_list(), bir.find_login(TEXT) TO {role}"),
    ];
    for sql in statements {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *tx).await?;
    }
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'bir' AND c.relkind = 'r' AND c.relname <> ALL($1)",
    )
    .bind(SHARED.map(str::to_owned).to_vec())
    .fetch_all(&mut *tx)
    .await?;
    for table in tables {
        let sql = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON bir.{table} TO {role}");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *tx).await?;
    }
    Ok(())
}
