use crate::StoreError;
use crate::model::{
    BaselineSample, Candidate, EditPage, EditRow, ExecutionPage, FeedPosition, Match, NewScenario, Page, Put,
    PutAs, Redeemed, RunPage, RunRole, RunScenario, ScenarioChange, ScenarioDetail, ScenarioFilter,
    ScenarioPage, ScenarioRunPage, ScenarioStep, ScenarioSummary, StepEdit, Ticket, View,
};
use async_trait::async_trait;
use bir_model::scenario::ExecutionReport;
use bir_model::{EditId, RunId, ScenarioId};

/// Scenarios: calculated from runs, matched, executed, edited.
///
/// A scenario belongs to its owner. Nobody else gets a row, [`View::whole_tenant`] or not: for them it is not there.
#[async_trait]
pub trait Scenarios {
    /// Keeps a calculated scenario with its steps and runs, all or nothing. None: the one whose place it takes is not there.
    ///
    /// [`StoreError::Taken`] when one of its runs belongs to another scenario, [`StoreError::Beside`] as [`PutAs::Beside`] says, [`StoreError::Revision`] when the one whose
    /// place it takes was changed meanwhile, [`StoreError::Refused`] when a part is too large or the owner is gone.
    async fn put_scenario(
        &self,
        who: &View,
        scenario: &NewScenario,
        put_as: PutAs,
    ) -> Result<Option<Put>, StoreError>;
    /// One scenario without its steps.
    async fn scenario(&self, who: &View, id: ScenarioId) -> Result<Option<ScenarioDetail>, StoreError>;
    /// The steps of one in their order, those with an index of at least `from`; at most 1,000, and fewer when they are large:
    /// behind 64 MiB of recorded values none follows. An empty part is behind the last.
    async fn scenario_steps(
        &self,
        who: &View,
        id: ScenarioId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<ScenarioStep>, StoreError>;
    /// The newest scenarios first.
    async fn scenarios(
        &self,
        who: &View,
        filter: &ScenarioFilter,
        page: &Page,
    ) -> Result<ScenarioPage, StoreError>;
    /// The scenarios that these runs, at most 500, belong to; a run that belongs to none, or is somebody else's, is not in it.
    async fn scenarios_of_runs(&self, who: &View, runs: &[RunId]) -> Result<Vec<RunScenario>, StoreError>;
    /// What matching needs of all scenarios, in the order in which they were changed, those behind `after`; at most 1,000, and
    /// fewer when their plans are large. An empty part is behind the last.
    ///
    /// Reading on from the last position gives what was changed since. Whoever does that begins some seconds earlier:
    /// transactions do not end in the order of their times. One that was deleted is not told; a ticket for it is not made.
    async fn candidates(
        &self,
        who: &View,
        after: Option<FeedPosition>,
        limit: u32,
    ) -> Result<Vec<Candidate>, StoreError>;
    /// One's own runs that belong to no scenario, the newest first, with their whole prompts.
    async fn runs_without_scenario(&self, who: &View, page: &Page) -> Result<RunPage, StoreError>;
    /// The same without those that are dismissed: what is to be calculated by itself.
    async fn runs_to_calculate(&self, who: &View, page: &Page) -> Result<RunPage, StoreError>;
    /// Whether a run is dismissed: it belonged to a scenario that its owner deleted, and nothing is calculated from it by itself. Putting it
    /// into a scenario takes that back.
    async fn is_dismissed(&self, who: &View, run: RunId) -> Result<bool, StoreError>;
    /// The runs of a scenario, the newest first.
    async fn scenario_runs(
        &self,
        who: &View,
        id: ScenarioId,
        page: &Page,
    ) -> Result<ScenarioRunPage, StoreError>;
    /// Has a run belong to a scenario, or gives it another role there. False: there is no such scenario or run of `who`.
    /// [`StoreError::Taken`] when it belongs to another one.
    async fn add_scenario_run(
        &self,
        who: &View,
        id: ScenarioId,
        run: RunId,
        role: RunRole,
    ) -> Result<bool, StoreError>;
    /// Changes a step, raises the revision and notes it in the history, all or nothing. None: there is no such scenario or
    /// step. [`StoreError::Revision`] when it was changed meanwhile.
    async fn edit_step(
        &self,
        who: &View,
        id: ScenarioId,
        step: u32,
        edit: &StepEdit,
    ) -> Result<Option<EditRow>, StoreError>;
    /// The history, the newest first.
    async fn edits(&self, who: &View, id: ScenarioId, page: &Page) -> Result<EditPage, StoreError>;
    /// One change of it.
    async fn edit(&self, who: &View, id: ScenarioId, edit: EditId) -> Result<Option<EditRow>, StoreError>;
    /// Changes level and approval. Gives the scenario as it is now, which may have another level than
    /// [`ScenarioChange::only_from`] (then nothing changed). None: it is not there.
    async fn change_scenario(
        &self,
        who: &View,
        id: ScenarioId,
        change: &ScenarioChange,
    ) -> Result<Option<ScenarioSummary>, StoreError>;
    /// Makes a ticket for a match; a run that has one for this scenario gets that one again, from whichever process it asks.
    /// None: the scenario is not there, or is not ready. Tickets wait for [`crate::model::TICKET_LIFE`], of one person at
    /// most [`crate::model::TICKETS_WAITING`]; a restart loses none.
    async fn issue_ticket(
        &self,
        who: &View,
        id: ScenarioId,
        matched: &Match,
    ) -> Result<Option<Ticket>, StoreError>;
    /// Those of these runs, at most 500, for which a ticket waits.
    async fn waiting(&self, who: &View, runs: &[RunId]) -> Result<Vec<RunId>, StoreError>;
    /// Books an execution under its ticket, once however often and from wherever it is told; a report without a ticket is an
    /// execution of its own each time.
    async fn redeem(
        &self,
        who: &View,
        id: ScenarioId,
        report: &ExecutionReport,
    ) -> Result<Redeemed, StoreError>;
    /// What was executed, of one scenario or of all, the newest first; tickets that nobody redeemed are not in it.
    async fn executions(
        &self,
        who: &View,
        id: Option<ScenarioId>,
        page: &Page,
    ) -> Result<ExecutionPage, StoreError>;
    /// What the task cost when the model did it by itself, the newest first, at most 500. Whether something was measured is
    /// for the reader to see. A run that was deleted stays in it with what it cost.
    async fn baseline(
        &self,
        who: &View,
        id: ScenarioId,
        limit: u32,
    ) -> Result<Vec<BaselineSample>, StoreError>;
    /// Deletes a scenario with its steps, history and executions; its runs stay, belong to none, and are dismissed. False: it is not
    /// there.
    async fn delete_scenario(&self, who: &View, id: ScenarioId) -> Result<bool, StoreError>;
    /// Deletes one's own scenarios, of one project or all, in the same way. Gives how many.
    async fn delete_scenarios(&self, who: &View, project: Option<&str>) -> Result<u64, StoreError>;
}
