use super::SqlStore;
use crate::model::*;
use crate::scenarios::{edit, executions, put, read, runs};
use crate::{Scenarios, StoreError, remove};
use async_trait::async_trait;
use bir_model::scenario::ExecutionReport;
use bir_model::{EditId, RunId, ScenarioId};

#[async_trait]
impl Scenarios for SqlStore {
    async fn put_scenario(
        &self,
        who: &View,
        scenario: &NewScenario,
        put_as: PutAs,
    ) -> Result<Option<Put>, StoreError> {
        put::put(&self.db, who, scenario, put_as).await
    }

    async fn scenario(&self, who: &View, id: ScenarioId) -> Result<Option<ScenarioDetail>, StoreError> {
        read::detail(&mut self.db.read(who.tenant).await?, who, id).await
    }

    async fn scenario_steps(
        &self,
        who: &View,
        id: ScenarioId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<ScenarioStep>, StoreError> {
        read::steps(&mut self.db.read(who.tenant).await?, who, id, from, limit).await
    }

    async fn scenarios(
        &self,
        who: &View,
        filter: &ScenarioFilter,
        page: &Page,
    ) -> Result<ScenarioPage, StoreError> {
        read::list(&mut self.db.read(who.tenant).await?, who, filter, page).await
    }

    async fn scenarios_of_runs(&self, who: &View, runs: &[RunId]) -> Result<Vec<RunScenario>, StoreError> {
        runs::scenarios_of(&mut self.db.read(who.tenant).await?, who, runs).await
    }

    async fn candidates(
        &self,
        who: &View,
        after: Option<FeedPosition>,
        limit: u32,
    ) -> Result<Vec<Candidate>, StoreError> {
        read::candidates(&mut self.db.read(who.tenant).await?, who, after, limit).await
    }

    async fn runs_without_scenario(&self, who: &View, page: &Page) -> Result<RunPage, StoreError> {
        runs::without(&mut self.db.read(who.tenant).await?, who, runs::Free::All, page).await
    }

    async fn runs_to_calculate(&self, who: &View, page: &Page) -> Result<RunPage, StoreError> {
        runs::without(&mut self.db.read(who.tenant).await?, who, runs::Free::ToCalculate, page).await
    }

    async fn is_dismissed(&self, who: &View, run: RunId) -> Result<bool, StoreError> {
        runs::is_dismissed(&mut self.db.read(who.tenant).await?, who, run).await
    }

    async fn scenario_runs(
        &self,
        who: &View,
        id: ScenarioId,
        page: &Page,
    ) -> Result<ScenarioRunPage, StoreError> {
        runs::of(&mut self.db.read(who.tenant).await?, who, id, page).await
    }

    async fn add_scenario_run(
        &self,
        who: &View,
        id: ScenarioId,
        run: RunId,
        role: RunRole,
    ) -> Result<bool, StoreError> {
        runs::add(&self.db, who, id, run, role).await
    }

    async fn edit_step(
        &self,
        who: &View,
        id: ScenarioId,
        step: u32,
        edit: &StepEdit,
    ) -> Result<Option<EditRow>, StoreError> {
        edit::step(&self.db, who, id, step, edit).await
    }

    async fn edits(&self, who: &View, id: ScenarioId, page: &Page) -> Result<EditPage, StoreError> {
        edit::edits(&mut self.db.read(who.tenant).await?, who, id, page).await
    }

    async fn edit(&self, who: &View, id: ScenarioId, edit: EditId) -> Result<Option<EditRow>, StoreError> {
        edit::one(&mut self.db.read(who.tenant).await?, who, id, edit).await
    }

    async fn change_scenario(
        &self,
        who: &View,
        id: ScenarioId,
        change: &ScenarioChange,
    ) -> Result<Option<ScenarioSummary>, StoreError> {
        edit::change(&self.db, who, id, change).await
    }

    async fn issue_ticket(
        &self,
        who: &View,
        id: ScenarioId,
        matched: &Match,
    ) -> Result<Option<Ticket>, StoreError> {
        executions::issue(&self.db, who, id, matched).await
    }

    async fn waiting(&self, who: &View, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        executions::waiting(&mut self.db.read(who.tenant).await?, who, runs).await
    }

    async fn redeem(
        &self,
        who: &View,
        id: ScenarioId,
        report: &ExecutionReport,
    ) -> Result<Redeemed, StoreError> {
        executions::redeem(&self.db, who, id, report).await
    }

    async fn executions(
        &self,
        who: &View,
        id: Option<ScenarioId>,
        page: &Page,
    ) -> Result<ExecutionPage, StoreError> {
        executions::list(&mut self.db.read(who.tenant).await?, who, id, page).await
    }

    async fn baseline(
        &self,
        who: &View,
        id: ScenarioId,
        limit: u32,
    ) -> Result<Vec<BaselineSample>, StoreError> {
        executions::baseline(&mut self.db.read(who.tenant).await?, who, id, limit).await
    }

    async fn delete_scenario(&self, who: &View, id: ScenarioId) -> Result<bool, StoreError> {
        remove::scenario(&self.db, who, id).await
    }

    async fn delete_scenarios(&self, who: &View, project: Option<&str>) -> Result<u64, StoreError> {
        remove::scenarios(&self.db, who, project).await
    }
}
