//! What a store can do. Each database implements it in a module of its own.

mod scenarios;

pub use scenarios::Scenarios;

use crate::StoreError;
use crate::model::{
    Account, Appended, AuthToken, Deleted, NewToken, NewUser, Page, RunDetail, RunFilter, RunPage,
    SearchPage, Session, StepChange, StepPage, TenantRow, View,
};
use async_trait::async_trait;
use bir_model::record::{Record, Step, ToolsSeen};
use bir_model::tools::ToolSet;
use bir_model::{RunId, StepId, TenantId, TokenId, UserId};

/// Runs: appended by recorders, read by people.
#[async_trait]
pub trait Recordings {
    /// Books records in their order, in one transaction. Each has a verdict of its own: a record that cannot be booked does
    /// not keep the others out, and one that was booked before is a duplicate.
    async fn append(&self, who: &View, records: &[Record]) -> Result<Vec<Appended>, StoreError>;
    /// The newest runs first.
    async fn runs(&self, who: &View, filter: &RunFilter, page: &Page) -> Result<RunPage, StoreError>;
    /// One run with its newest state, without its steps. None: there is none that `who` may see.
    async fn run(&self, who: &View, run: RunId) -> Result<Option<RunDetail>, StoreError>;
    /// The rows of one run in their order, those with an index of at least `from`.
    async fn steps(&self, who: &View, run: RunId, from: u32, limit: u32) -> Result<StepPage, StoreError>;
    /// Rows whose tool, arguments, result or error hold the text (without regard to case), newest run first.
    async fn search(
        &self,
        who: &View,
        text: &str,
        filter: &RunFilter,
        page: &Page,
    ) -> Result<SearchPage, StoreError>;
    /// Changes what a row of one's own run holds (payloads, times, outcome); its id, run, index and type stay. Gives the row
    /// as it is now, None when there is none. Two changes at once do not undo each other.
    async fn amend(
        &self,
        who: &View,
        run: RunId,
        step: StepId,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError>;
    /// The records of one run, as they were appended, for an export: its beginning, the tools of its servers, its rows by index, `limit` of them
    /// behind the index `after` (None: from the beginning), its end, its losses. A part with fewer than `limit` rows
    /// ([`Record::Step`], [`Record::Final`]) is the last, and only the last holds the end and the losses.
    async fn records(
        &self,
        who: &View,
        run: RunId,
        after: Option<u32>,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError>;
    /// The tools that the servers of a run declared, the earliest first; a set is absent where its recorder sent it with a run
    /// that is gone.
    async fn tools_of_run(&self, who: &View, run: RunId) -> Result<Vec<ToolsSeen>, StoreError>;
    /// One's own sets of tools by their names; those that are not there are left out.
    async fn tool_sets(&self, who: &View, hashes: &[String]) -> Result<Vec<(String, ToolSet)>, StoreError>;
    /// The servers whose hints one believes, by name.
    async fn trusted_servers(&self, who: &View) -> Result<Vec<String>, StoreError>;
    /// Believes the hints of a server, or no longer. False: that is so already, or there are 1,000 of them.
    async fn trust_server(&self, who: &View, server: &str, trusts: bool) -> Result<bool, StoreError>;
    /// Deletes one run; the scenario that it belongs to stays. False: there is none that `who` may delete.
    async fn delete_run(&self, who: &View, run: RunId) -> Result<bool, StoreError>;
    /// Deletes the runs of one project.
    async fn delete_project(&self, who: &View, project: &str) -> Result<Deleted, StoreError>;
    /// Deletes what a person recorded.
    async fn delete_recordings_of(&self, who: &View, user: UserId) -> Result<Deleted, StoreError>;
    /// Deletes runs of every tenant that ended (or were last heard of) before `before`, ms since the Unix epoch; at most
    /// `limit` of them.
    async fn expire(&self, before: u64, limit: u32) -> Result<Deleted, StoreError>;
}

/// Tenants, people, tokens.
#[async_trait]
pub trait People {
    /// All tenants; for background jobs.
    async fn tenants(&self) -> Result<Vec<TenantRow>, StoreError>;
    /// Adds a tenant.
    async fn add_tenant(&self, name: &str) -> Result<TenantId, StoreError>;
    /// What the tenant's administrators decided; the default where nobody did.
    async fn tenant_settings(&self, tenant: TenantId) -> Result<crate::model::TenantSettings, StoreError>;
    /// Keeps what they decide. False: there is no such tenant.
    async fn set_tenant_settings(
        &self,
        tenant: TenantId,
        settings: crate::model::TenantSettings,
    ) -> Result<bool, StoreError>;
    /// Adds a person to a tenant. [`StoreError::Conflict`] when the e-mail address is taken.
    async fn add_user(&self, tenant: TenantId, user: NewUser) -> Result<UserId, StoreError>;
    /// By the e-mail address, without regard to case, whatever the tenant: for signing in.
    async fn account(&self, email: &str) -> Result<Option<Account>, StoreError>;
    /// One person of the tenant.
    async fn user(&self, tenant: TenantId, user: UserId) -> Result<Option<Account>, StoreError>;
    /// All people of the tenant.
    async fn users(&self, tenant: TenantId) -> Result<Vec<Account>, StoreError>;
    /// Changes name, role, password hash or whether the account is disabled; what is None stays.
    async fn change_user(
        &self,
        tenant: TenantId,
        user: UserId,
        change: crate::model::UserChange,
    ) -> Result<bool, StoreError>;
    /// Deletes a person with their tokens, sessions, runs and scenarios.
    async fn delete_user(&self, tenant: TenantId, user: UserId) -> Result<bool, StoreError>;

    /// Adds a token, whose hash is given.
    async fn add_token(&self, tenant: TenantId, token: NewToken) -> Result<TokenId, StoreError>;
    /// The token with that hash, with its owner, also when it has expired or was revoked.
    async fn token(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<Option<AuthToken>, StoreError>;
    /// Tokens of one person, or of the whole tenant.
    async fn tokens(&self, tenant: TenantId, owner: Option<UserId>) -> Result<Vec<AuthToken>, StoreError>;
    /// Revokes a token; of that person only, when one is named.
    async fn revoke_token(
        &self,
        tenant: TenantId,
        token: TokenId,
        owner: Option<UserId>,
    ) -> Result<bool, StoreError>;
    /// Notes that a token was used, at `at` ms since the Unix epoch.
    async fn touch_token(&self, tenant: TenantId, token: TokenId, at: u64) -> Result<(), StoreError>;
    /// Replaces a refresh token by its successor in one transaction. False: it was used, revoked or expired before.
    async fn rotate_token(&self, tenant: TenantId, old: &[u8; 32], new: NewToken)
    -> Result<bool, StoreError>;

    /// Adds a browser session, whose hash is given.
    async fn add_session(&self, tenant: TenantId, session: Session) -> Result<(), StoreError>;
    /// The session with that hash that has not expired at `now`.
    async fn session(
        &self,
        tenant: TenantId,
        hash: &[u8; 32],
        now: u64,
    ) -> Result<Option<(Session, Account)>, StoreError>;
    /// Ends a session.
    async fn end_session(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<(), StoreError>;
    /// Removes tokens and sessions of every tenant that expired before `before`, ms since the Unix epoch, revoked tokens
    /// without an end that were revoked before it, and tickets of executions that were made before it and never redeemed; at
    /// most `limit` of them. Gives how many. A refresh token that was used stays until it would have expired: coming again, it
    /// is a sign of a thief.
    async fn purge(&self, before: u64, limit: u32) -> Result<u64, StoreError>;
}

/// A store.
#[async_trait]
pub trait Store: Recordings + People + Scenarios + Send + Sync + std::fmt::Debug {
    /// Whether it answers.
    async fn ping(&self) -> Result<(), StoreError>;
    /// `sqlite` or `postgres`.
    fn kind(&self) -> &'static str;
    /// Waits for what is under way and closes the connections.
    async fn close(&self);
}
