//! A store in memory that can be made to fail, to wait and to count.

use async_trait::async_trait;
use bir_model::record::{Record, Step, ToolsSeen};
use bir_model::scenario::ExecutionReport;
use bir_model::tools::ToolSet;
use bir_model::{EditId, RunId, ScenarioId, StepId, TenantId, TokenId, UserId};
use bir_store::model::*;
use bir_store::{Options, People, Recordings, Scenarios, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct MemoryStore {
    store: Arc<dyn Store>,
    /// While true, nothing answers.
    pub down: AtomicBool,
    /// While true, appending panics.
    pub broken: AtomicBool,
    /// ms that appending takes.
    pub slow: AtomicU64,
    /// How often a token was looked up.
    pub look_ups: AtomicU64,
}

impl MemoryStore {
    pub(crate) async fn new() -> Self {
        // A test that stops the clock may not run into the store's own limits.
        let options = Options { patience: Duration::from_secs(1 << 20), ..Options::default() };
        let store = bir_store::open("sqlite::memory:", options).await.unwrap();
        Self::over(store)
    }

    /// Around another store.
    pub(crate) fn over(store: Arc<dyn Store>) -> Self {
        let (down, broken) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { store, down, broken, slow: AtomicU64::new(0), look_ups: AtomicU64::new(0) }
    }

    /// The store, when it is to answer this.
    async fn asked(&self, what: &str) -> Result<&dyn Store, StoreError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("/secret/path/hub.db: disk is full".into()));
        }
        match what {
            "append" => {
                assert!(!self.broken.load(Ordering::SeqCst), "the store is broken on purpose");
                let slow = self.slow.load(Ordering::SeqCst);
                if slow > 0 {
                    tokio::time::sleep(Duration::from_millis(slow)).await;
                }
            }
            "token" => {
                self.look_ups.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
        Ok(&*self.store)
    }
}

/// Hands everything on.
macro_rules! hand_on {
    ($($trait:ident { $($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)+ })+) => {$(
        #[async_trait]
        impl $trait for MemoryStore {
            $(async fn $name(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
                self.asked(stringify!($name)).await?.$name($($arg),*).await
            })+
        }
    )+};
}

hand_on! {
    Recordings {
        append(who: &View, records: &[Record]) -> Vec<Appended>;
        runs(who: &View, filter: &RunFilter, page: &Page) -> RunPage;
        run(who: &View, run: RunId) -> Option<RunDetail>;
        steps(who: &View, run: RunId, from: u32, limit: u32) -> StepPage;
        search(who: &View, text: &str, filter: &RunFilter, page: &Page) -> SearchPage;
        amend(who: &View, run: RunId, step: StepId, change: &StepChange) -> Option<Step>;
        records(who: &View, run: RunId, after: Option<u32>, limit: u32) -> Vec<Record>;
        tools_of_run(who: &View, run: RunId) -> Vec<ToolsSeen>;
        tool_sets(who: &View, hashes: &[String]) -> Vec<(String, ToolSet)>;
        trusted_servers(who: &View) -> Vec<String>;
        trust_server(who: &View, server: &str, trusts: bool) -> bool;
        delete_run(who: &View, run: RunId) -> bool;
        delete_project(who: &View, project: &str) -> Deleted;
        delete_recordings_of(who: &View, user: UserId) -> Deleted;
        expire(before: u64, limit: u32) -> Deleted;
    }
    People {
        tenants() -> Vec<TenantRow>;
        add_tenant(name: &str) -> TenantId;
        tenant_settings(tenant: TenantId) -> TenantSettings;
        set_tenant_settings(tenant: TenantId, settings: TenantSettings) -> bool;
        add_user(tenant: TenantId, user: NewUser) -> UserId;
        account(email: &str) -> Option<Account>;
        user(tenant: TenantId, user: UserId) -> Option<Account>;
        users(tenant: TenantId) -> Vec<Account>;
        change_user(tenant: TenantId, user: UserId, change: UserChange) -> bool;
        delete_user(tenant: TenantId, user: UserId) -> bool;
        add_token(tenant: TenantId, token: NewToken) -> TokenId;
        token(tenant: TenantId, hash: &[u8; 32]) -> Option<AuthToken>;
        tokens(tenant: TenantId, owner: Option<UserId>) -> Vec<AuthToken>;
        revoke_token(tenant: TenantId, token: TokenId, owner: Option<UserId>) -> bool;
        touch_token(tenant: TenantId, token: TokenId, at: u64) -> ();
        rotate_token(tenant: TenantId, old: &[u8; 32], new: NewToken) -> bool;
        add_session(tenant: TenantId, session: Session) -> ();
        session(tenant: TenantId, hash: &[u8; 32], now: u64) -> Option<(Session, Account)>;
        end_session(tenant: TenantId, hash: &[u8; 32]) -> ();
        purge(before: u64, limit: u32) -> u64;
    }
    Scenarios {
        put_scenario(who: &View, scenario: &NewScenario, put_as: PutAs) -> Option<Put>;
        scenario(who: &View, id: ScenarioId) -> Option<ScenarioDetail>;
        scenario_steps(who: &View, id: ScenarioId, from: u32, limit: u32) -> Vec<ScenarioStep>;
        scenarios(who: &View, filter: &ScenarioFilter, page: &Page) -> ScenarioPage;
        scenarios_of_runs(who: &View, runs: &[RunId]) -> Vec<RunScenario>;
        candidates(who: &View, after: Option<FeedPosition>, limit: u32) -> Vec<Candidate>;
        runs_without_scenario(who: &View, page: &Page) -> RunPage;
        runs_to_calculate(who: &View, page: &Page) -> RunPage;
        is_dismissed(who: &View, run: RunId) -> bool;
        scenario_runs(who: &View, id: ScenarioId, page: &Page) -> ScenarioRunPage;
        add_scenario_run(who: &View, id: ScenarioId, run: RunId, role: RunRole) -> bool;
        edit_step(who: &View, id: ScenarioId, step: u32, edit: &StepEdit) -> Option<EditRow>;
        edits(who: &View, id: ScenarioId, page: &Page) -> EditPage;
        edit(who: &View, id: ScenarioId, edit: EditId) -> Option<EditRow>;
        change_scenario(who: &View, id: ScenarioId, change: &ScenarioChange) -> Option<ScenarioSummary>;
        issue_ticket(who: &View, id: ScenarioId, matched: &Match) -> Option<Ticket>;
        waiting(who: &View, runs: &[RunId]) -> Vec<RunId>;
        redeem(who: &View, id: ScenarioId, report: &ExecutionReport) -> Redeemed;
        executions(who: &View, id: Option<ScenarioId>, page: &Page) -> ExecutionPage;
        baseline(who: &View, id: ScenarioId, limit: u32) -> Vec<BaselineSample>;
        delete_scenario(who: &View, id: ScenarioId) -> bool;
        delete_scenarios(who: &View, project: Option<&str>) -> u64;
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.asked("ping").await?.ping().await
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
