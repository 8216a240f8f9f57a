use super::{Row, Value};
use crate::{Options, StoreError};
use bir_model::TenantId;
use sqlx::{AssertSqlSafe, Connection as _, PgPool, Postgres, Sqlite, SqlitePool};

/// The databases that a store is made of.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    /// One connection that writes, and some that read; the same one for a database in memory.
    Sqlite { write: SqlitePool, read: SqlitePool },
    /// A pool of equals, and how long a statement may take (ms, as text).
    Postgres { pool: PgPool, statement_timeout: String },
}

impl Db {
    pub(crate) fn postgres(pool: PgPool, options: &Options) -> Self {
        Self::Postgres { pool, statement_timeout: options.statement_timeout.as_millis().to_string() }
    }

    /// A transaction that reads inside a tenant.
    pub(crate) async fn read(&self, tenant: TenantId) -> Result<TenantTx, StoreError> {
        let tx = match self {
            Self::Sqlite { read, .. } => Transaction::Sqlite(begin_sqlite(read, "BEGIN").await?),
            Self::Postgres { .. } => self.begin_postgres(&tenant.uuid().to_string()).await?,
        };
        Ok(TenantTx { tx, tenant })
    }

    /// A transaction that writes inside a tenant.
    pub(crate) async fn write(&self, tenant: TenantId) -> Result<TenantTx, StoreError> {
        let tx = match self {
            // The lock is taken at once: a reader that becomes a writer could fail without waiting.
            Self::Sqlite { write, .. } => Transaction::Sqlite(begin_sqlite(write, "BEGIN IMMEDIATE").await?),
            Self::Postgres { .. } => self.begin_postgres(&tenant.uuid().to_string()).await?,
        };
        Ok(TenantTx { tx, tenant })
    }

    /// After a deletion: what was deleted leaves the log of SQLite, too, unless somebody still reads it there.
    pub(crate) async fn forget(&self) {
        if let Self::Sqlite { write, .. } = self
            && let Err(error) = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(write).await
        {
            tracing::warn!(%error, "what was deleted stays in the database's log until it is written next");
        }
    }

    /// A transaction that is in no tenant.
    pub(crate) async fn plain(&self) -> Result<PlainTx, StoreError> {
        let tx = match self {
            Self::Sqlite { read, .. } => Transaction::Sqlite(begin_sqlite(read, "BEGIN").await?),
            Self::Postgres { .. } => self.begin_postgres("").await?,
        };
        Ok(PlainTx { tx })
    }

    async fn begin_postgres(&self, tenant: &str) -> Result<Transaction, StoreError> {
        let Self::Postgres { pool, statement_timeout } = self else {
            return Err(StoreError::Failed("not a PostgreSQL store".into()));
        };
        let mut tx = pool.begin().await?;
        // All three end with the transaction, so nothing of a tenant stays on a connection of the pool.
        sqlx::query(
            "SELECT set_config('app.tenant_id', $1, true), set_config('statement_timeout', $2, true),
                    set_config('search_path', 'bir', true)",
        )
        .bind(tenant)
        .bind(statement_timeout)
        .execute(&mut *tx)
        .await?;
        Ok(Transaction::Postgres(tx))
    }
}

/// Begins a transaction, on another connection when this one is of no use any more.
///
/// When the disk refuses a write, SQLite rolls back by itself, and the driver, whose own ROLLBACK then fails, takes the
/// transaction for one that goes on: every later one on that connection would be refused, long after there is room again.
async fn begin_sqlite(
    pool: &SqlitePool,
    statement: &'static str,
) -> Result<sqlx::Transaction<'static, Sqlite>, sqlx::Error> {
    match pool.begin_with(statement).await {
        Err(sqlx::Error::InvalidSavePointStatement) => {
            // It may be on its way back into the pool, so one is waited for; the others are those that are idle.
            let mut held = vec![pool.acquire().await?];
            held.extend(std::iter::from_fn(|| pool.try_acquire()));
            for mut connection in held {
                // What was queued for it comes first.
                connection.ping().await?;
                if connection.is_in_transaction() {
                    // The pool makes another one. (The database in memory knows no disk that could refuse.)
                    connection.close().await?;
                }
            }
            pool.begin_with(statement).await
        }
        begun => begun,
    }
}

/// A transaction of either database. Dropped without `commit` it is rolled back.
enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    async fn rows(&mut self, sql: String, values: Vec<Value>) -> Result<Vec<Row>, sqlx::Error> {
        // Only fixed texts and placeholders are put together to SQL in this crate; what comes from outside is a `Value`.
        let sql = AssertSqlSafe(sql);
        match self {
            Self::Sqlite(tx) => {
                let rows = sqlx::query_with(sql, Value::sqlite(values)?).fetch_all(&mut **tx).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(tx) => {
                let rows = sqlx::query_with(sql, Value::postgres(values)?).fetch_all(&mut **tx).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    async fn run(&mut self, sql: String, values: Vec<Value>) -> Result<u64, sqlx::Error> {
        let sql = AssertSqlSafe(sql);
        match self {
            Self::Sqlite(tx) => {
                Ok(sqlx::query_with(sql, Value::sqlite(values)?).execute(&mut **tx).await?.rows_affected())
            }
            Self::Postgres(tx) => {
                Ok(sqlx::query_with(sql, Value::postgres(values)?).execute(&mut **tx).await?.rows_affected())
            }
        }
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        }
    }
}

/// A transaction inside one tenant: in PostgreSQL no other tenant's rows exist for it.
pub(crate) struct TenantTx {
    tx: Transaction,
    tenant: TenantId,
}

impl TenantTx {
    /// The tenant, for `tenant_id = $1`: PostgreSQL would do without, SQLite would not.
    pub(crate) fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// The same transaction inside another tenant. SQLite only, whose writer books for all tenants in one transaction.
    pub(crate) fn enter(&mut self, tenant: TenantId) -> Result<(), StoreError> {
        if self.is_postgres() && tenant != self.tenant {
            return Err(StoreError::Failed("a transaction stays in its tenant".into()));
        }
        self.tenant = tenant;
        Ok(())
    }

    /// Has the connection plan its statements anew, those behind foreign keys among them. A plan that was made while the
    /// tables were empty may walk a whole tenant for each row: every index looks equally good then, and PostgreSQL keeps
    /// the plan until the tables are first analyzed.
    pub(crate) async fn plan_anew(&mut self) -> Result<(), sqlx::Error> {
        if self.is_postgres() {
            self.tx.run("DISCARD PLANS".into(), Vec::new()).await?;
        }
        Ok(())
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.tx, Transaction::Postgres(_))
    }

    /// Rows of a query.
    pub(crate) async fn rows(
        &mut self,
        sql: impl Into<String>,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, sqlx::Error> {
        self.tx.rows(sql.into(), values).await
    }

    /// The first row of a query.
    pub(crate) async fn row(
        &mut self,
        sql: impl Into<String>,
        values: Vec<Value>,
    ) -> Result<Option<Row>, sqlx::Error> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// How many rows a statement changed.
    pub(crate) async fn run(
        &mut self,
        sql: impl Into<String>,
        values: Vec<Value>,
    ) -> Result<u64, sqlx::Error> {
        self.tx.run(sql.into(), values).await
    }

    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.tx.commit().await
    }
}

/// A transaction that is in no tenant, and can be asked two things only.
pub(crate) struct PlainTx {
    tx: Transaction,
}

impl PlainTx {
    /// All tenants: id, name.
    pub(crate) async fn tenants(&mut self) -> Result<Vec<Row>, StoreError> {
        let sql = match self.tx {
            Transaction::Sqlite(_) => "SELECT id, name FROM tenants ORDER BY id",
            Transaction::Postgres(_) => "SELECT id, name FROM bir.tenant_list()",
        };
        Ok(self.tx.rows(sql.into(), Vec::new()).await?)
    }

    /// Where an e-mail address belongs: tenant, user.
    pub(crate) async fn find_login(&mut self, key: &str) -> Result<Option<Row>, StoreError> {
        let sql = match self.tx {
            Transaction::Sqlite(_) => "SELECT tenant_id, id FROM users WHERE email_key = $1",
            Transaction::Postgres(_) => "SELECT tenant_id, id FROM bir.find_login($1)",
        };
        Ok(self.tx.rows(sql.into(), vec![key.into()]).await?.into_iter().next())
    }
}
