//! What the tests of the store share: a PostgreSQL database with its two roles, people, records.
#![allow(dead_code, reason = "each test file uses a part of it")]

use bir_model::record::{Lost, Record, RunStart, Step, StepType, ToolsSeen};
use bir_model::scenario::{Effect, Level, Mark, ScenarioState, StepEdits, Trust};
use bir_model::{Outcome, RunId, StepId, TenantId, Tier, UserId};
use bir_store::Store;
use bir_store::model::{Appended, NewScenario, NewUser, Role, RunRole, ScenarioStep, View};
use bir_testkit::postgres::Postgres;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// A database of its own, with an owner and a role for the hub. A server that was named may be used by others, so all three
/// have names that nobody else has.
pub(crate) struct Database {
    server: Postgres,
    pub owner: String,
    pub app: String,
    pub database: String,
    pub owner_url: String,
    pub app_url: String,
    /// A superuser in this database.
    pub admin: PgConnection,
}

impl Database {
    /// None: there is no PostgreSQL, and that was said for `test`. The schema is not there yet.
    pub(crate) async fn empty(test: &str) -> Option<Self> {
        let server = Postgres::start(test)?;
        let tag = UserId::new().uuid().simple().to_string();
        let (owner, app, database) = (format!("o{tag}"), format!("a{tag}"), format!("d{tag}"));
        let mut first = PgConnection::connect(server.url()).await.unwrap();
        for sql in [
            format!("CREATE ROLE {owner} LOGIN PASSWORD 'x'"),
            format!("CREATE ROLE {app} LOGIN PASSWORD 'x'"),
            format!("CREATE DATABASE {database} OWNER {owner}"),
        ] {
            run(&mut first, &sql).await;
        }
        first.close().await.unwrap();
        let (owner_url, app_url) =
            (server.url_of(&owner, "x", &database), server.url_of(&app, "x", &database));
        let admin = PgConnection::connect(&server.url_in(&database)).await.unwrap();
        Some(Self { server, owner, app, database, owner_url, app_url, admin })
    }

    /// With the newest schema.
    pub(crate) async fn new(test: &str) -> Option<Self> {
        let database = Self::empty(test).await?;
        bir_store::migrate(&database.owner_url, &database.app).await.unwrap();
        Some(database)
    }

    /// Runs a statement as the superuser; `{app}` and `{owner}` are put in.
    pub(crate) async fn as_admin(&mut self, sql: &str) {
        let sql = sql.replace("{app}", &self.app).replace("{owner}", &self.owner);
        run(&mut self.admin, &sql).await;
    }

    pub(crate) async fn connect_owner(&self) -> PgConnection {
        PgConnection::connect(&self.owner_url).await.unwrap()
    }

    pub(crate) async fn connect_app(&self) -> PgConnection {
        PgConnection::connect(&self.app_url).await.unwrap()
    }

    /// Leaves nothing behind on a server that was named.
    pub(crate) async fn end(self) {
        self.admin.close().await.unwrap();
        let mut last = PgConnection::connect(self.server.url()).await.unwrap();
        for sql in [
            format!("DROP DATABASE {} WITH (FORCE)", self.database),
            format!("DROP ROLE {}", self.owner),
            format!("DROP ROLE {}", self.app),
        ] {
            run(&mut last, &sql).await;
        }
    }
}

pub(crate) async fn run(connection: &mut PgConnection, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

pub(crate) async fn person(store: &dyn Store, tenant: TenantId) -> View {
    let email = format!("{}@example.com", UserId::new());
    let user = NewUser { email, name: "A".into(), role: Role::Member, password_hash: None };
    let user = store.add_user(tenant, user).await.unwrap();
    View { tenant, user, whole_tenant: false }
}

pub(crate) fn start(id: RunId, at: u64) -> Record {
    let run =
        json!({"id": id, "tier": Tier::Standalone, "startedAt": at, "project": "/p", "metadata": {"n": 1.5}});
    Record::Run(serde_json::from_value::<RunStart>(run).unwrap())
}

pub(crate) fn row(run: RunId, id: StepId, index: u32, kind: StepType, outcome: Option<Outcome>) -> Record {
    let step = json!({"id": id, "runId": run, "stepIndex": index, "stepType": kind, "toolName": "a\0b", "server": "s",
        "toolInput": "{\"n\":1.0,\"t\":\"50% \\u0000\"}", "outcome": outcome, "at": 100 + u64::from(index)});
    Record::Step(serde_json::from_value::<Step>(step).unwrap())
}

pub(crate) fn loss(run: RunId, calls: u64) -> Record {
    Record::Lost(Lost {
        run_id: run,
        id: StepId::new(),
        calls,
        records: 2 * calls,
        reason: "backlog".into(),
        at: 200,
    })
}

pub(crate) fn code(verdict: &Appended) -> &str {
    match verdict {
        Appended::Booked => "booked",
        Appended::Duplicate => "duplicate",
        Appended::Refused { code, .. } => code,
    }
}

pub(crate) async fn book(store: &dyn Store, who: &View, records: &[Record]) -> Vec<String> {
    store.append(who, records).await.unwrap().iter().map(|verdict| code(verdict).to_owned()).collect()
}

/// A scenario of two steps, ready to be matched.
pub(crate) fn scenario(prompt: &str, runs: &[(RunId, RunRole)]) -> NewScenario {
    let step = |index, mark| ScenarioStep {
        index,
        server: Some("s".into()),
        tool: format!("tool{index}"),
        effect: Effect::Read,
        reasoning: Some("because".into()),
        edits: StepEdits { mark, ..StepEdits::default() },
        recorded_input: Some(r#"{"n":1.0,"nul":"\u0000"}"#.into()),
        recorded_output: Some(format!("raw\0{index}")),
    };
    NewScenario {
        source_run: runs.first().map(|(run, _)| *run),
        family: "s/tool0 s/tool1".into(),
        project: Some("/p".into()),
        cwd: Some("/p/sub".into()),
        prompt: prompt.into(),
        intent: Some("what it does".into()),
        state: ScenarioState::Ready,
        reason: None,
        plan: Some(r#"{"n":1.0}"#.into()),
        level: Level::L0,
        level_reason: Some("one run".into()),
        standing: None,
        confidence: Trust::Low,
        approved: false,
        calculated_from: 1,
        steps: vec![step(0, None), step(1, Some(Mark::Calculation))],
        runs: runs.to_vec(),
    }
}

/// A run says that a server has a tool of this name; `whole`: with the set.
pub(crate) fn tools(run: RunId, server: &str, tool: &str, at: u64, whole: bool) -> Record {
    let set =
        serde_json::from_value(json!({"tools": [{"name": tool, "inputSchema": {"const": "a\0b"}}]})).unwrap();
    let hash = format!("{:0>64x}", tool.len());
    Record::Tools(ToolsSeen {
        run_id: run,
        server: server.into(),
        hash,
        at,
        set: Some(set).filter(|_| whole),
    })
}
