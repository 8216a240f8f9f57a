//! The matrix of row-level security: each table of the schema × each command × whose rows. Tables, their columns and policies
//! are read from PostgreSQL's catalog, so a table that is new is in it, and one that nobody thought of makes it fail.
//!
//! The rows of two tenants are made through the store, one of each kind. A statement that is expected to do nothing is always
//! accompanied by the same statement on the tenant's own rows, which does something: a matrix cannot pass because of a typo.

use crate::common::{self, Database};
use bir_model::record::StepType;
use bir_model::scenario::StepEdits;
use bir_model::{Outcome, RunId, StepId, TenantId};
use bir_store::model::{Match, NewToken, PutAs, RunRole, Session, StepEdit, TokenKind};
use bir_store::{Options, Store};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row as _};

/// The one table that belongs to no tenant: read by everybody, written by the owner.
const SHARED: &str = "schema_version";
/// Unique across tenants on purpose: an e-mail address says which tenant a person belongs to.
const UNIQUE_EVERYWHERE: [&str; 1] = ["users_email_key_key"];
/// What has to be known before a tenant is; reviewed, and everything else that runs as its owner is a fault.
const DEFINERS: [&str; 2] = ["find_login", "tenant_list"];

/// One row of every kind.
async fn fill(store: &dyn Store, tenant: TenantId) {
    let who = common::person(store, tenant).await;
    let mark = tenant.uuid().as_bytes()[15];
    let token = NewToken {
        owner: who.user,
        kind: TokenKind::Personal,
        name: "t".into(),
        hash: [mark; 32],
        scopes: vec!["api".into()],
        expires_at: None,
        family: None,
    };
    store.add_token(tenant, token).await.unwrap();
    let session = Session { hash: [mark; 32], user: who.user, created_at: 1, expires_at: u64::MAX >> 12 };
    store.add_session(tenant, session).await.unwrap();
    let run = RunId::new();
    let records = [
        common::start(run, 50),
        common::row(run, StepId::new(), 0, StepType::ToolSelected, None),
        common::row(run, StepId::new(), 1, StepType::ToolResponse, Some(Outcome::Ok)),
        common::loss(run, 3),
        common::tools(run, "s", "t", 60, true),
    ];
    assert_eq!(common::book(store, &who, &records).await, ["booked"; 5]);
    assert!(store.trust_server(&who, "s", true).await.unwrap());
    let new = common::scenario("p", &[(run, RunRole::Source)]);
    let put = store.put_scenario(&who, &new, PutAs::New).await.unwrap().unwrap();
    let edit = StepEdit {
        expected_revision: put.revision,
        after: StepEdits::default(),
        forced: false,
        note: None,
        takes_back: None,
    };
    store.edit_step(&who, put.id, 1, &edit).await.unwrap().unwrap();
    store.issue_ticket(&who, put.id, &Match::default()).await.unwrap().unwrap();
}

/// How a statement of the hub's role ended.
#[derive(Debug, PartialEq)]
enum Did {
    Rows(u64),
    /// SQLSTATE.
    Refused(String),
}

const DENIED: &str = "42501";

/// Runs a statement inside a tenant and takes it back.
async fn attempt(app: &mut PgConnection, tenant: Option<&str>, sql: &str) -> Did {
    let mut tx = app.begin().await.unwrap();
    if let Some(tenant) = tenant {
        let set = "SELECT set_config('app.tenant_id', $1, true)";
        sqlx::query(set).bind(tenant).execute(&mut *tx).await.unwrap();
    }
    let did = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut *tx).await;
    let did = match did {
        Ok(done) => Did::Rows(done.rows_affected()),
        Err(sqlx::Error::Database(error)) => Did::Refused(error.code().unwrap_or_default().into_owned()),
        Err(error) => panic!("{sql}: {error}"),
    };
    tx.rollback().await.unwrap();
    did
}

/// What the catalog says about one table or view of the schema.
struct Table {
    oid: i64,
    name: String,
    kind: String,
    enabled: bool,
    forced: bool,
    owned: bool,
    /// The column that its policy compares with the tenant.
    key: Option<String>,
    too_much: bool,
}

async fn tables(admin: &mut PgConnection, app: &str) -> Vec<Table> {
    // Policies that are not for the owner alone; the column is what stands before the tenant's setting.
    let sql = r"
        SELECT c.oid::bigint AS oid, c.relname::text AS name, c.relkind::text AS kind,
               c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
               pg_has_role($1, c.relowner, 'MEMBER') AS owned,
               (SELECT min(substring(p.qual FROM '^\((\w+) = \(NULLIF\(current_setting\(''app\.tenant_id''')) FROM pg_policies p
                WHERE p.schemaname = 'bir' AND p.tablename = c.relname AND p.cmd = 'ALL'
                  AND p.roles = '{public}' AND p.qual = p.with_check) AS key,
               c.relkind IN ('r', 'p') AND (has_table_privilege($1, c.oid, 'TRUNCATE') OR has_table_privilege($1, c.oid, 'TRIGGER')
                   OR has_table_privilege($1, c.oid, 'REFERENCES')) AS too_much
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'bir' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY c.relname";
    let rows = sqlx::query(sql).bind(app).fetch_all(admin).await.unwrap();
    let table = |row: &sqlx::postgres::PgRow| Table {
        oid: row.get(0),
        name: row.get(1),
        kind: row.get(2),
        enabled: row.get(3),
        forced: row.get(4),
        owned: row.get(5),
        key: row.get(6),
        too_much: row.get(7),
    };
    rows.iter().map(table).collect()
}

async fn count(admin: &mut PgConnection, sql: String) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(admin).await.unwrap()
}

/// Everything that is wrong, one line each.
async fn complaints(database: &mut Database, tenants: [TenantId; 2]) -> Vec<String> {
    let [ours, theirs] = tenants.map(|tenant| tenant.uuid().to_string());
    let mut app = database.connect_app().await;
    let mut wrong = Vec::new();
    for table in tables(&mut database.admin, &database.app.clone()).await {
        let name = format!("bir.{}", table.name);
        let mut say = |what: String| wrong.push(format!("{}: {what}", table.name));
        if table.owned {
            say("the hub's role owns it".into());
        }
        if table.too_much {
            say("the hub's role may TRUNCATE, TRIGGER or REFERENCES".into());
        }
        if table.kind != "r" {
            say(format!("is of the kind `{}`, which the policies of tables do not bind", table.kind));
            continue;
        }
        for tenant in [None, Some(&*ours)] {
            let did = attempt(&mut app, tenant, &format!("TRUNCATE {name} CASCADE")).await;
            if did != Did::Refused(DENIED.into()) {
                say(format!("TRUNCATE: {did:?}"));
            }
        }
        if table.name == SHARED {
            for sql in [format!("DELETE FROM {name}"), format!("INSERT INTO {name} SELECT * FROM {name}")] {
                let did = attempt(&mut app, Some(&ours), &sql).await;
                if did != Did::Refused(DENIED.into()) {
                    say(format!("{sql}: {did:?}"));
                }
            }
            continue;
        }
        if !(table.enabled && table.forced) {
            say("row-level security is not enabled and forced".into());
        }
        let Some(key) = &table.key else {
            say("has no policy for all commands that compares a column with the tenant".into());
            continue;
        };
        let mut empty = false;
        for tenant in [&ours, &theirs] {
            let sql = format!("SELECT count(*) FROM {name} WHERE {key} = '{tenant}'");
            empty |= count(&mut database.admin, sql).await == 0;
        }
        if empty {
            say("has no rows of both tenants; add some to `fill`".into());
            continue;
        }
        let copy: String = sqlx::query_scalar(AssertSqlSafe(format!(
            "SELECT quote_literal(to_jsonb(t)) FROM {name} t WHERE {key} = '{theirs}' LIMIT 1"
        )))
        .fetch_one(&mut database.admin)
        .await
        .unwrap();
        let insert =
            format!("INSERT INTO {name} SELECT * FROM jsonb_populate_record(NULL::{name}, {copy}::jsonb)");
        let all =
            count(&mut database.admin, format!("SELECT count(*) FROM {name} WHERE {key} = '{ours}'")).await;
        let all = u64::try_from(all).unwrap();
        let denied = || Did::Refused(DENIED.into());
        let (none, own) = (None, Some(&*ours));
        // The hub's role, in whose tenant, does what, and that happens.
        let cases = [
            (own, format!("SELECT * FROM {name}"), Did::Rows(all)),
            (own, format!("SELECT * FROM {name} WHERE {key} = '{theirs}'"), Did::Rows(0)),
            (own, format!("UPDATE {name} SET {key} = {key}"), Did::Rows(all)),
            (own, format!("UPDATE {name} SET {key} = {key} WHERE {key} = '{theirs}'"), Did::Rows(0)),
            (own, format!("UPDATE {name} SET {key} = '{theirs}'"), denied()),
            (own, format!("DELETE FROM {name} WHERE {key} = '{theirs}'"), Did::Rows(0)),
            (own, insert.clone(), denied()),
            (own, format!("{insert} ON CONFLICT DO NOTHING"), denied()),
            (none, format!("SELECT * FROM {name}"), Did::Rows(0)),
            (none, format!("UPDATE {name} SET {key} = {key}"), Did::Rows(0)),
            (none, format!("DELETE FROM {name}"), Did::Rows(0)),
            (none, insert.clone(), denied()),
            // A setting that is there and empty, as it is on a connection after its first transaction.
            (Some(""), format!("SELECT * FROM {name}"), Did::Rows(0)),
            (Some(""), insert.clone(), denied()),
            // The very same row is let through by the policy in its own tenant: there it is only there already.
            (Some(&*theirs), insert.clone(), Did::Refused("23505".into())),
        ];
        for (tenant, sql, expected) in cases {
            let did = attempt(&mut app, tenant, &sql).await;
            if did != expected {
                let whose =
                    tenant.map_or("no tenant", |tenant| if tenant == ours { "ours" } else { "theirs" });
                say(format!(
                    "{whose}: {}: {did:?}, not {expected:?}",
                    sql.chars().take(80).collect::<String>()
                ));
            }
        }
        // Rows that others hang on cannot go either, but it is the reference that holds them.
        let did = attempt(&mut app, own, &format!("DELETE FROM {name}")).await;
        if did != Did::Rows(all) && did != Did::Refused("23503".into()) {
            say(format!("DELETE of our own rows: {did:?}"));
        }
        let mut off = app.begin().await.unwrap();
        common::run(&mut off, "SET LOCAL row_security = off").await;
        let sql = format!("SELECT * FROM {name}");
        let read = sqlx::query(AssertSqlSafe(sql)).execute(&mut *off).await;
        if !read.is_err_and(|e| e.as_database_error().and_then(|e| e.code()).as_deref() == Some(DENIED)) {
            say("row_security = off is let through".into());
        }
        off.rollback().await.unwrap();
        // A reference or a unique index across tenants tells whether another tenant has something.
        let sql = "SELECT k.conname::text FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = $2
                   WHERE k.conrelid = $1::bigint::oid AND k.contype = 'f' AND k.conkey[1] <> a.attnum";
        for name in names(&mut database.admin, sql, &table, key).await {
            say(format!("the reference {name} does not begin with {key}"));
        }
        let sql = "SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                   JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = $2
                   WHERE i.indrelid = $1::bigint::oid AND i.indisunique AND i.indkey[0] <> a.attnum";
        for name in names(&mut database.admin, sql, &table, key).await {
            if !UNIQUE_EVERYWHERE.contains(&&*name) {
                say(format!("the unique index {name} does not begin with {key}"));
            }
        }
    }
    wrong.extend(functions(&mut database.admin, &database.app).await);
    app.close().await.unwrap();
    wrong
}

async fn names(admin: &mut PgConnection, sql: &'static str, table: &Table, key: &str) -> Vec<String> {
    sqlx::query_scalar(sql).bind(table.oid).bind(key).fetch_all(admin).await.unwrap()
}

/// What runs with its owner's rights goes around every policy.
async fn functions(admin: &mut PgConnection, app: &str) -> Vec<String> {
    let sql = "SELECT p.proname::text, p.prosecdef,
                      COALESCE(array_to_string(p.proconfig, ' '), '') LIKE '%search_path=bir, pg_temp%',
                      has_function_privilege($1, p.oid, 'EXECUTE'),
                      EXISTS (SELECT 1 FROM aclexplode(COALESCE(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)
               FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'bir' ORDER BY 1";
    let rows: Vec<(String, bool, bool, bool, bool)> =
        sqlx::query_as(sql).bind(app).fetch_all(admin).await.unwrap();
    let mut wrong = Vec::new();
    for (name, definer, pinned, may, everybody) in rows {
        if definer && (!pinned || !DEFINERS.contains(&&*name)) {
            wrong.push(format!(
                "{name}: runs as its owner and is not among those that were looked at, or has no search path"
            ));
        }
        if everybody || !may {
            wrong.push(format!("{name}: everybody may call it, or the hub's role may not"));
        }
    }
    wrong
}

async fn two_tenants(database: &Database) -> [TenantId; 2] {
    let store = bir_store::open(&database.app_url, Options::default()).await.unwrap();
    let tenants = [store.add_tenant("ours").await.unwrap(), store.add_tenant("theirs").await.unwrap()];
    for tenant in tenants {
        fill(&*store, tenant).await;
    }
    store.close().await;
    tenants
}

#[tokio::test]
async fn no_command_on_any_table_reaches_another_tenant() {
    let Some(mut database) = Database::new("bir-store: the matrix of row-level security").await else {
        return;
    };
    let tenants = two_tenants(&database).await;
    let found = tables(&mut database.admin, &database.app.clone()).await;
    assert!(found.iter().filter(|table| table.key.is_some()).count() >= 13, "the catalog was not read");
    assert_eq!(complaints(&mut database, tenants).await, Vec::<String>::new());
    database.end().await;
}

/// Each fault that a new migration could bring in is found, and its name said.
#[tokio::test]
async fn a_table_that_nobody_thought_of_is_found() {
    let Some(mut database) = Database::new("bir-store: the matrix finds a new table").await else { return };
    let tenants = two_tenants(&database).await;
    let mut owner = database.connect_owner().await;
    let policy = "tenant_id = NULLIF(current_setting('app.tenant_id', true), '')::uuid";
    let mut found = Vec::new();
    let both = format!("('{}'), ('{}')", tenants[0].uuid(), tenants[1].uuid());
    let steps = [
        ("CREATE TABLE bir.notes (tenant_id UUID NOT NULL, note TEXT)".to_owned(), "has no policy"),
        ("ALTER TABLE bir.notes ENABLE ROW LEVEL SECURITY".to_owned(), "not enabled and forced"),
        ("ALTER TABLE bir.notes FORCE ROW LEVEL SECURITY".to_owned(), "has no policy"),
        (format!("CREATE POLICY tenant ON bir.notes USING ({policy}) WITH CHECK ({policy})"), "has no rows of both tenants"),
        (
            format!(
                "ALTER TABLE bir.notes NO FORCE ROW LEVEL SECURITY; INSERT INTO bir.notes (tenant_id) VALUES {both};
                 ALTER TABLE bir.notes FORCE ROW LEVEL SECURITY; ALTER TABLE bir.notes ADD COLUMN id INT UNIQUE"
            ),
            "the unique index notes_id_key",
        ),
        (
            "CREATE POLICY careless ON bir.notes FOR SELECT USING (TRUE)".to_owned(),
            "ours: SELECT * FROM bir.notes: Rows(2), not Rows(1)",
        ),
        ("CREATE VIEW bir.all_runs AS SELECT * FROM bir.runs".to_owned(), "all_runs: is of the kind `v`"),
        (
            "CREATE FUNCTION bir.peek() RETURNS BIGINT LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM bir.runs'".to_owned(),
            "peek: runs as its owner",
        ),
    ];
    for (sql, expected) in steps {
        common::run(&mut owner, &sql).await;
        bir_store::migrate(&database.owner_url, &database.app).await.unwrap();
        found = complaints(&mut database, tenants).await;
        assert!(found.iter().any(|line| line.contains(expected)), "after {sql}: {found:#?}");
    }
    let grant = format!("GRANT TRUNCATE ON bir.notes TO {}", database.app);
    common::run(&mut owner, &grant).await;
    let truncated = complaints(&mut database, tenants).await;
    assert!(truncated.iter().any(|line| line == "notes: TRUNCATE: Rows(0)"), "{truncated:#?}");
    assert!(truncated.len() > found.len());
    owner.close().await.unwrap();
    database.end().await;
}
