//! The store: what the traits ask for, each in the module that knows how.

mod scenarios;

use crate::model::{
    Account, Appended, AuthToken, Deleted, NewToken, NewUser, Page, RunDetail, RunFilter, RunPage,
    SearchPage, Session, StepChange, StepPage, TenantRow, TenantSettings, UserChange, View,
};
use crate::sql::Db;
use crate::writer::Writer;
use crate::{
    People, Recordings, Store, StoreError, amend, append, people, remove, runs, search, tokens, toolsets,
};
use async_trait::async_trait;
use bir_model::record::{Record, Step, ToolsSeen};
use bir_model::tools::ToolSet;
use bir_model::{RunId, StepId, TenantId, TokenId, UserId};

/// Runs and people in SQLite or PostgreSQL.
#[derive(Debug)]
pub(crate) struct SqlStore {
    pub(crate) db: Db,
    /// SQLite only: everybody's appends go through it.
    pub(crate) writer: Option<Writer>,
}

#[async_trait]
impl Recordings for SqlStore {
    async fn append(&self, who: &View, records: &[Record]) -> Result<Vec<Appended>, StoreError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        match &self.writer {
            Some(writer) => writer.append(who, records).await,
            None => append::append(&self.db, who, records).await,
        }
    }

    async fn runs(&self, who: &View, filter: &RunFilter, page: &Page) -> Result<RunPage, StoreError> {
        runs::list(&mut self.db.read(who.tenant).await?, who, filter, page).await
    }

    async fn run(&self, who: &View, run: RunId) -> Result<Option<RunDetail>, StoreError> {
        runs::detail(&mut self.db.read(who.tenant).await?, who, run).await
    }

    async fn steps(&self, who: &View, run: RunId, from: u32, limit: u32) -> Result<StepPage, StoreError> {
        runs::steps(&mut self.db.read(who.tenant).await?, who, run, from, limit).await
    }

    async fn search(
        &self,
        who: &View,
        text: &str,
        filter: &RunFilter,
        page: &Page,
    ) -> Result<SearchPage, StoreError> {
        search::search(&mut self.db.read(who.tenant).await?, who, text, filter, page).await
    }

    async fn amend(
        &self,
        who: &View,
        run: RunId,
        step: StepId,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        amend::amend(&self.db, who, run, step, change).await
    }

    async fn records(
        &self,
        who: &View,
        run: RunId,
        after: Option<u32>,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        runs::records(&mut self.db.read(who.tenant).await?, who, run, after, limit).await
    }

    async fn tools_of_run(&self, who: &View, run: RunId) -> Result<Vec<ToolsSeen>, StoreError> {
        let mut tx = self.db.read(who.tenant).await?;
        if !runs::visible(&mut tx, who, run).await? {
            return Ok(Vec::new());
        }
        toolsets::of_run(&mut tx, run).await
    }

    async fn tool_sets(&self, who: &View, hashes: &[String]) -> Result<Vec<(String, ToolSet)>, StoreError> {
        toolsets::sets(&mut self.db.read(who.tenant).await?, who, hashes).await
    }

    async fn trusted_servers(&self, who: &View) -> Result<Vec<String>, StoreError> {
        toolsets::trusted(&mut self.db.read(who.tenant).await?, who).await
    }

    async fn trust_server(&self, who: &View, server: &str, trusts: bool) -> Result<bool, StoreError> {
        toolsets::trust(&self.db, who, server, trusts).await
    }

    async fn delete_run(&self, who: &View, run: RunId) -> Result<bool, StoreError> {
        remove::run(&self.db, who, run).await
    }

    async fn delete_project(&self, who: &View, project: &str) -> Result<Deleted, StoreError> {
        remove::project(&self.db, who, project).await
    }

    async fn delete_recordings_of(&self, who: &View, user: UserId) -> Result<Deleted, StoreError> {
        remove::of_user(&self.db, who, user).await
    }

    async fn expire(&self, before: u64, limit: u32) -> Result<Deleted, StoreError> {
        remove::expired(&self.db, before, limit).await
    }
}

#[async_trait]
impl People for SqlStore {
    async fn tenants(&self) -> Result<Vec<TenantRow>, StoreError> {
        people::tenants(&self.db).await
    }

    async fn add_tenant(&self, name: &str) -> Result<TenantId, StoreError> {
        people::add_tenant(&self.db, name).await
    }

    async fn tenant_settings(&self, tenant: TenantId) -> Result<TenantSettings, StoreError> {
        people::settings(&mut self.db.read(tenant).await?).await
    }

    async fn set_tenant_settings(
        &self,
        tenant: TenantId,
        settings: TenantSettings,
    ) -> Result<bool, StoreError> {
        people::set_settings(&self.db, tenant, &settings).await
    }

    async fn add_user(&self, tenant: TenantId, user: NewUser) -> Result<UserId, StoreError> {
        people::add_user(&self.db, tenant, user).await
    }

    async fn account(&self, email: &str) -> Result<Option<Account>, StoreError> {
        people::by_email(&self.db, email).await
    }

    async fn user(&self, tenant: TenantId, user: UserId) -> Result<Option<Account>, StoreError> {
        people::one(&mut self.db.read(tenant).await?, user).await
    }

    async fn users(&self, tenant: TenantId) -> Result<Vec<Account>, StoreError> {
        people::all(&mut self.db.read(tenant).await?).await
    }

    async fn change_user(
        &self,
        tenant: TenantId,
        user: UserId,
        change: UserChange,
    ) -> Result<bool, StoreError> {
        people::change(&self.db, tenant, user, change).await
    }

    async fn delete_user(&self, tenant: TenantId, user: UserId) -> Result<bool, StoreError> {
        people::delete(&self.db, tenant, user).await
    }

    async fn add_token(&self, tenant: TenantId, token: NewToken) -> Result<TokenId, StoreError> {
        tokens::add(&self.db, tenant, &token).await
    }

    async fn token(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<Option<AuthToken>, StoreError> {
        tokens::by_hash(&mut self.db.read(tenant).await?, hash).await
    }

    async fn tokens(&self, tenant: TenantId, owner: Option<UserId>) -> Result<Vec<AuthToken>, StoreError> {
        tokens::all(&mut self.db.read(tenant).await?, owner).await
    }

    async fn revoke_token(
        &self,
        tenant: TenantId,
        token: TokenId,
        owner: Option<UserId>,
    ) -> Result<bool, StoreError> {
        tokens::revoke(&self.db, tenant, token, owner).await
    }

    async fn touch_token(&self, tenant: TenantId, token: TokenId, at: u64) -> Result<(), StoreError> {
        tokens::touch(&self.db, tenant, token, at).await
    }

    async fn rotate_token(
        &self,
        tenant: TenantId,
        old: &[u8; 32],
        new: NewToken,
    ) -> Result<bool, StoreError> {
        tokens::rotate(&self.db, tenant, old, &new).await
    }

    async fn add_session(&self, tenant: TenantId, session: Session) -> Result<(), StoreError> {
        tokens::add_session(&self.db, tenant, &session).await
    }

    async fn session(
        &self,
        tenant: TenantId,
        hash: &[u8; 32],
        now: u64,
    ) -> Result<Option<(Session, Account)>, StoreError> {
        tokens::session(&mut self.db.read(tenant).await?, hash, now).await
    }

    async fn end_session(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<(), StoreError> {
        tokens::end_session(&self.db, tenant, hash).await
    }

    async fn purge(&self, before: u64, limit: u32) -> Result<u64, StoreError> {
        tokens::purge(&self.db, before, limit).await
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn ping(&self) -> Result<(), StoreError> {
        // An unknown tenant: nothing is found, and everything was asked.
        let nobody = UserId::from_uuid(uuid::Uuid::nil());
        let tenant = TenantId::from_uuid(uuid::Uuid::nil());
        people::one(&mut self.db.read(tenant).await?, nobody).await.map(|_| ())
    }

    fn kind(&self) -> &'static str {
        match self.db {
            Db::Sqlite { .. } => "sqlite",
            Db::Postgres { .. } => "postgres",
        }
    }

    async fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
        match &self.db {
            Db::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Db::Postgres { pool, .. } => pool.close().await,
        }
    }
}
