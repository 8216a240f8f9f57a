//! A store in memory that does what the trait says.

use async_trait::async_trait;
use bir_model::record::{Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, TenantId, TokenId, UserId};
use bir_store::model::*;
use bir_store::{People, Recordings, Store, StoreError};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use uuid::Uuid;

#[derive(Debug, Clone)]
struct Run {
    tenant: TenantId,
    user: UserId,
    start: RunStart,
    records: Vec<Record>,
    steps: BTreeMap<u32, Step>,
    ids: HashSet<StepId>,
    finished: bool,
}

/// Id, what it was made of, where, when, when last used, when revoked.
type Token = (TokenId, NewToken, TenantId, u64, Option<u64>, Option<u64>);

#[derive(Debug, Default)]
struct Data {
    tenants: Vec<TenantRow>,
    users: Vec<Account>,
    tokens: Vec<Token>,
    sessions: Vec<(TenantId, Session)>,
    runs: HashMap<RunId, Run>,
}

#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    data: Mutex<Data>,
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
    fn data(&self) -> Result<std::sync::MutexGuard<'_, Data>, StoreError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("/secret/path/hub.db: disk is full".into()));
        }
        Ok(self.data.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Run {
    fn seen_by(&self, who: &View) -> bool {
        self.tenant == who.tenant && (who.whole_tenant || self.user == who.user)
    }

    fn detail(&self) -> RunDetail {
        let finish = self.records.iter().rev().find_map(|r| match r {
            Record::Finish(f) => Some(f),
            _ => None,
        });
        let losses: Vec<_> = self
            .records
            .iter()
            .filter_map(|r| match r {
                Record::Lost(l) => Some(l.clone()),
                _ => None,
            })
            .collect();
        let calls = self.steps.values().filter(|s| s.step_type == StepType::ToolSelected).count();
        let failed = self.steps.values().filter(|s| s.outcome.is_some_and(|o| o != Outcome::Ok)).count();
        RunDetail {
            summary: RunSummary {
                id: self.start.id,
                user: self.user,
                tier: self.start.tier,
                lossy: !losses.is_empty(),
                lost_calls: losses.iter().map(|l| l.calls).sum(),
                input: self.start.input.clone(),
                project: self.start.project.clone(),
                host: self.start.host.clone(),
                servers: self.start.servers.clone(),
                started_at: self.start.started_at,
                ended_at: finish.map(|f| f.at),
                end_reason: finish.map(|f| f.reason),
                last_at: self.steps.values().map(|s| s.at).max().unwrap_or(self.start.started_at),
                calls: calls as u32,
                failed_calls: failed as u32,
            },
            final_output: finish.and_then(|f| f.final_output.clone()),
            session_id: self.start.session_id.clone(),
            metadata: serde_json::to_value(&self.start.metadata).unwrap(),
            metrics: finish.and_then(|f| f.metrics.clone()),
            losses,
        }
    }

    fn passes(&self, f: &RunFilter) -> bool {
        let d = self.detail().summary;
        f.tier.is_none_or(|t| t == d.tier)
            && f.project.as_ref().is_none_or(|p| Some(p) == d.project.as_ref())
            && f.host.as_ref().is_none_or(|h| d.host.as_ref().is_some_and(|x| x.app == *h))
            && f.finished.is_none_or(|x| x == d.ended_at.is_some())
            && f.lossy.is_none_or(|x| x == d.lossy)
            && f.since.is_none_or(|x| d.started_at >= x)
            && f.until.is_none_or(|x| d.started_at < x)
            && f.server.as_ref().is_none_or(|s| d.servers.iter().any(|x| x.name == *s))
            && f.tool.as_ref().is_none_or(|t| self.steps.values().any(|s| s.tool_name == *t))
            && f.outcome.is_none_or(|o| self.steps.values().any(|s| s.outcome == Some(o)))
    }
}

fn cut<T: Clone>(all: &[T], page: &Page) -> Result<(Vec<T>, Option<String>), StoreError> {
    let from = page.cursor.as_ref().map_or(Ok(0), |c| c.parse::<usize>()).map_err(|_| StoreError::Cursor)?;
    let to = (from + page.limit as usize).min(all.len());
    let next = (to < all.len()).then(|| to.to_string());
    Ok((all.get(from..to).unwrap_or_default().to_vec(), next))
}

fn refused(code: &str) -> Appended {
    Appended::Refused { code: code.into(), detail: code.replace('_', " ") }
}

#[async_trait]
impl Recordings for MemoryStore {
    async fn append(&self, who: &View, records: &[Record]) -> Result<Vec<Appended>, StoreError> {
        assert!(!self.broken.load(Ordering::SeqCst), "the store is broken on purpose");
        let slow = self.slow.load(Ordering::SeqCst);
        if slow > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(slow)).await;
        }
        let mut data = self.data()?;
        let mut out = Vec::new();
        for record in records {
            if let Record::Run(start) = record {
                out.push(match data.runs.get(&start.id) {
                    Some(run) if run.tenant == who.tenant && run.user == who.user => Appended::Duplicate,
                    Some(_) => refused("foreign_run"),
                    None => {
                        let run = Run {
                            tenant: who.tenant,
                            user: who.user,
                            start: start.clone(),
                            records: vec![record.clone()],
                            steps: BTreeMap::new(),
                            ids: HashSet::new(),
                            finished: false,
                        };
                        data.runs.insert(start.id, run);
                        Appended::Booked
                    }
                });
                continue;
            }
            let Some(run) = data.runs.get_mut(&record.run_id()) else {
                out.push(refused("unknown_run"));
                continue;
            };
            if run.tenant != who.tenant || run.user != who.user {
                out.push(refused("foreign_run"));
                continue;
            }
            let verdict = match record {
                Record::Step(step) if run.ids.contains(&step.id) => Appended::Duplicate,
                Record::Step(step) if run.steps.contains_key(&step.step_index) => refused("index_taken"),
                Record::Step(step) => {
                    run.ids.insert(step.id);
                    run.steps.insert(step.step_index, step.clone());
                    Appended::Booked
                }
                Record::Final(a) if !run.ids.insert(a.id) => Appended::Duplicate,
                Record::Lost(l) if !run.ids.insert(l.id) => Appended::Duplicate,
                Record::Finish(_) if std::mem::replace(&mut run.finished, true) => Appended::Duplicate,
                _ => Appended::Booked,
            };
            if verdict == Appended::Booked {
                run.records.push(record.clone());
            }
            out.push(verdict);
        }
        Ok(out)
    }

    async fn runs(&self, who: &View, filter: &RunFilter, page: &Page) -> Result<RunPage, StoreError> {
        let data = self.data()?;
        let mut runs: Vec<_> = data
            .runs
            .values()
            .filter(|r| r.seen_by(who) && r.passes(filter))
            .map(|r| r.detail().summary)
            .collect();
        runs.sort_by_key(|r| std::cmp::Reverse((r.started_at, r.id)));
        let (runs, next) = cut(&runs, page)?;
        Ok(RunPage { runs, next })
    }

    async fn run(&self, who: &View, run: RunId) -> Result<Option<RunDetail>, StoreError> {
        Ok(self.data()?.runs.get(&run).filter(|r| r.seen_by(who)).map(Run::detail))
    }

    async fn steps(&self, who: &View, run: RunId, from: u32, limit: u32) -> Result<StepPage, StoreError> {
        let data = self.data()?;
        let Some(run) = data.runs.get(&run).filter(|r| r.seen_by(who)) else {
            return Ok(StepPage { steps: vec![], next: None });
        };
        let mut rest = run.steps.range(from..).map(|(_, s)| s.clone());
        let steps: Vec<_> = rest.by_ref().take(limit as usize).collect();
        Ok(StepPage { next: rest.next().map(|s| s.step_index), steps })
    }

    async fn search(
        &self,
        who: &View,
        text: &str,
        filter: &RunFilter,
        page: &Page,
    ) -> Result<SearchPage, StoreError> {
        let data = self.data()?;
        let needle = text.to_lowercase();
        let runs = data.runs.values().filter(|r| r.seen_by(who) && r.passes(filter));
        let steps: Vec<Step> = runs
            .flat_map(|r| r.steps.values())
            .filter(|s| {
                let texts = [
                    Some(&s.tool_name),
                    s.tool_input.as_ref(),
                    s.tool_output.as_ref(),
                    s.tool_error.as_ref(),
                ];
                texts.into_iter().flatten().any(|t| t.to_lowercase().contains(&needle))
            })
            .cloned()
            .collect();
        let (steps, next) = cut(&steps, page)?;
        Ok(SearchPage { steps, next })
    }

    async fn records(
        &self,
        who: &View,
        run: RunId,
        after: Option<u32>,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let data = self.data()?;
        let Some(run) = data.runs.get(&run).filter(|r| r.seen_by(who)) else { return Ok(vec![]) };
        let first: Vec<Record> = if after.is_none() { vec![Record::Run(run.start.clone())] } else { vec![] };
        let rows =
            run.steps.values().filter(|s| after.is_none_or(|a| s.step_index > a)).cloned().map(Record::Step);
        let rows: Vec<Record> = rows.take(limit as usize).collect();
        let is_last = rows.len() < limit as usize;
        let last =
            run.records.iter().filter(|r| is_last && !matches!(r, Record::Step(_) | Record::Run(_))).cloned();
        Ok(first.into_iter().chain(rows).chain(last).collect())
    }

    async fn amend(
        &self,
        who: &View,
        run: RunId,
        step: StepId,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        let mut data = self.data()?;
        let run = data.runs.get_mut(&run).filter(|r| r.tenant == who.tenant && r.user == who.user);
        let row = run.and_then(|r| r.steps.values_mut().find(|s| s.id == step));
        Ok(row.map(|row| {
            change.apply(row);
            row.clone()
        }))
    }

    async fn delete_run(&self, who: &View, run: RunId) -> Result<bool, StoreError> {
        let mut data = self.data()?;
        let may = data.runs.get(&run).is_some_and(|r| r.seen_by(who));
        Ok(may && data.runs.remove(&run).is_some())
    }

    async fn delete_project(&self, who: &View, project: &str) -> Result<Deleted, StoreError> {
        let mut data = self.data()?;
        let mut deleted = Deleted::default();
        data.runs.retain(|_, r| {
            let goes = r.seen_by(who) && r.start.project.as_deref() == Some(project);
            deleted.runs += u64::from(goes);
            deleted.steps += if goes { r.steps.len() as u64 } else { 0 };
            !goes
        });
        Ok(deleted)
    }

    async fn delete_recordings_of(&self, who: &View, user: UserId) -> Result<Deleted, StoreError> {
        let mut data = self.data()?;
        let mut deleted = Deleted::default();
        data.runs.retain(|_, r| {
            let goes = r.seen_by(who) && r.user == user;
            deleted.runs += u64::from(goes);
            deleted.steps += if goes { r.steps.len() as u64 } else { 0 };
            !goes
        });
        Ok(deleted)
    }

    async fn expire(&self, before: u64, limit: u32) -> Result<Deleted, StoreError> {
        let mut data = self.data()?;
        let old: Vec<_> =
            data.runs.values().filter(|r| r.detail().summary.last_at < before).map(|r| r.start.id).collect();
        let mut deleted = Deleted::default();
        for id in old.into_iter().take(limit as usize) {
            deleted.runs += 1;
            deleted.steps += data.runs.remove(&id).map_or(0, |r| r.steps.len() as u64);
        }
        Ok(deleted)
    }
}

#[async_trait]
impl People for MemoryStore {
    async fn tenants(&self) -> Result<Vec<TenantRow>, StoreError> {
        Ok(self.data()?.tenants.clone())
    }

    async fn add_tenant(&self, name: &str) -> Result<TenantId, StoreError> {
        let id = TenantId::new();
        self.data()?.tenants.push(TenantRow { id, name: name.into() });
        Ok(id)
    }

    async fn add_user(&self, tenant: TenantId, user: NewUser) -> Result<UserId, StoreError> {
        let mut data = self.data()?;
        if data.users.iter().any(|u| u.email.eq_ignore_ascii_case(&user.email)) {
            return Err(StoreError::Conflict(format!("a person with the address {}", user.email)));
        }
        let id = UserId::new();
        data.users.push(Account {
            id,
            tenant,
            email: user.email,
            name: user.name,
            role: user.role,
            password_hash: user.password_hash,
            disabled: false,
            created_at: 1,
        });
        Ok(id)
    }

    async fn account(&self, email: &str) -> Result<Option<Account>, StoreError> {
        Ok(self.data()?.users.iter().find(|u| u.email.eq_ignore_ascii_case(email)).cloned())
    }

    async fn user(&self, tenant: TenantId, user: UserId) -> Result<Option<Account>, StoreError> {
        Ok(self.data()?.users.iter().find(|u| u.tenant == tenant && u.id == user).cloned())
    }

    async fn users(&self, tenant: TenantId) -> Result<Vec<Account>, StoreError> {
        Ok(self.data()?.users.iter().filter(|u| u.tenant == tenant).cloned().collect())
    }

    async fn change_user(
        &self,
        tenant: TenantId,
        user: UserId,
        change: UserChange,
    ) -> Result<bool, StoreError> {
        let mut data = self.data()?;
        let Some(u) = data.users.iter_mut().find(|u| u.tenant == tenant && u.id == user) else {
            return Ok(false);
        };
        if let Some(name) = change.name {
            u.name = name;
        }
        u.role = change.role.unwrap_or(u.role);
        u.password_hash = change.password_hash.or(u.password_hash.take());
        u.disabled = change.disabled.unwrap_or(u.disabled);
        Ok(true)
    }

    async fn delete_user(&self, tenant: TenantId, user: UserId) -> Result<bool, StoreError> {
        let mut data = self.data()?;
        let before = data.users.len();
        data.users.retain(|u| u.tenant != tenant || u.id != user);
        let gone = data.users.len() < before;
        if gone {
            data.tokens.retain(|(_, t, ..)| t.owner != user);
            data.sessions.retain(|(_, s)| s.user != user);
            data.runs.retain(|_, r| r.user != user);
        }
        Ok(gone)
    }

    async fn add_token(&self, tenant: TenantId, token: NewToken) -> Result<TokenId, StoreError> {
        let id = TokenId::new();
        self.data()?.tokens.push((id, token, tenant, 1, None, None));
        Ok(id)
    }

    async fn token(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<Option<AuthToken>, StoreError> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        let data = self.data()?;
        let found = data.tokens.iter().find(|(_, t, at, ..)| *at == tenant && t.hash == *hash);
        Ok(found.and_then(|row| auth_token(&data, row)))
    }

    async fn tokens(&self, tenant: TenantId, owner: Option<UserId>) -> Result<Vec<AuthToken>, StoreError> {
        let data = self.data()?;
        let rows =
            data.tokens.iter().filter(|(_, t, at, ..)| *at == tenant && owner.is_none_or(|o| o == t.owner));
        Ok(rows.filter_map(|row| auth_token(&data, row)).collect())
    }

    async fn revoke_token(
        &self,
        tenant: TenantId,
        token: TokenId,
        owner: Option<UserId>,
    ) -> Result<bool, StoreError> {
        let mut data = self.data()?;
        let found = data
            .tokens
            .iter()
            .find(|(id, t, at, ..)| *id == token && *at == tenant && owner.is_none_or(|o| o == t.owner));
        let Some(family) = found.map(|(_, t, ..)| t.family) else { return Ok(false) };
        for (id, t, _, _, revoked, _) in &mut data.tokens {
            if *id == token || (family.is_some() && t.family == family) {
                revoked.get_or_insert(2);
            }
        }
        Ok(true)
    }

    async fn touch_token(&self, _: TenantId, token: TokenId, at: u64) -> Result<(), StoreError> {
        let mut data = self.data()?;
        if let Some(row) = data.tokens.iter_mut().find(|row| row.0 == token) {
            row.5 = Some(at);
        }
        Ok(())
    }

    async fn rotate_token(
        &self,
        tenant: TenantId,
        old: &[u8; 32],
        new: NewToken,
    ) -> Result<bool, StoreError> {
        let mut data = self.data()?;
        let row = data
            .tokens
            .iter_mut()
            .find(|(_, t, at, _, revoked, _)| *at == tenant && t.hash == *old && revoked.is_none());
        let Some(row) = row else { return Ok(false) };
        row.4 = Some(3);
        data.tokens.push((TokenId::new(), new, tenant, 1, None, None));
        Ok(true)
    }

    async fn add_session(&self, tenant: TenantId, session: Session) -> Result<(), StoreError> {
        self.data()?.sessions.push((tenant, session));
        Ok(())
    }

    async fn session(
        &self,
        tenant: TenantId,
        hash: &[u8; 32],
        now: u64,
    ) -> Result<Option<(Session, Account)>, StoreError> {
        let data = self.data()?;
        let found = data.sessions.iter().find(|(t, s)| *t == tenant && s.hash == *hash && s.expires_at > now);
        Ok(found
            .and_then(|(_, s)| data.users.iter().find(|u| u.id == s.user).map(|u| (s.clone(), u.clone()))))
    }

    async fn end_session(&self, tenant: TenantId, hash: &[u8; 32]) -> Result<(), StoreError> {
        self.data()?.sessions.retain(|(t, s)| *t != tenant || s.hash != *hash);
        Ok(())
    }

    async fn purge(&self, before: u64, limit: u32) -> Result<u64, StoreError> {
        let mut data = self.data()?;
        let mut gone = 0;
        data.sessions.retain(|(_, session)| {
            let goes = session.expires_at < before && gone < u64::from(limit);
            gone += u64::from(goes);
            !goes
        });
        data.tokens.retain(|(_, token, .., revoked_at)| {
            let over = token.expires_at.or(*revoked_at).is_some_and(|at| at < before);
            let goes = over && gone < u64::from(limit);
            gone += u64::from(goes);
            !goes
        });
        Ok(gone)
    }
}

fn auth_token(
    data: &Data,
    (id, t, _, created, revoked, used): &(TokenId, NewToken, TenantId, u64, Option<u64>, Option<u64>),
) -> Option<AuthToken> {
    let owner = data.users.iter().find(|u| u.id == t.owner)?.clone();
    Some(AuthToken {
        id: *id,
        owner,
        kind: t.kind,
        name: t.name.clone(),
        scopes: t.scopes.clone(),
        created_at: *created,
        expires_at: t.expires_at,
        revoked_at: *revoked,
        last_used_at: *used,
        family: t.family.map(|f: Uuid| f),
    })
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.data().map(|_| ())
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    async fn close(&self) {}
}
