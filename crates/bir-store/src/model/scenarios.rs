//! Scenarios as a store keeps them. The plan is JSON that nobody here reads.

use bir_model::scenario::{Effect, ExecutionReport, Level, ScenarioState, StepEdits, Trust};
use bir_model::{EditId, RunId, ScenarioId, TicketId, UserId};
use serde::{Deserialize, Serialize};

/// As what a run belongs to a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRole {
    /// The scenario was calculated from it first, and its prompt is the scenario's.
    Source,
    /// A further run that it was calculated from, or may be.
    Example,
    /// It matched and was done by the model: what it cost is a sample of the baseline.
    Baseline,
    /// The scenario ran in it, so that it says nothing new.
    Replayed,
}

/// A calculated scenario, to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScenario {
    /// The run that it is calculated from.
    pub source_run: Option<RunId>,
    /// What it calls, in order, as one text; at most 16 MiB.
    pub family: String,
    /// The project of its run; at most 8 KiB.
    pub project: Option<String>,
    /// The working directory of its run; at most 8 KiB.
    pub cwd: Option<String>,
    /// The prompt of its run; at most 16 MiB.
    pub prompt: String,
    /// What it does, in words; at most 16 MiB.
    pub intent: Option<String>,
    /// How far its calculation is.
    pub state: ScenarioState,
    /// Why it is unusable; at most 16 MiB.
    pub reason: Option<String>,
    /// The plan and its wording, JSON; at most 64 MiB.
    pub plan: Option<String>,
    /// How far it runs by itself.
    pub level: Level,
    /// Why it does not run further; at most 16 MiB.
    pub level_reason: Option<String>,
    /// What the level stands on, JSON; at most 16 MiB.
    pub standing: Option<String>,
    /// The least trust of its values.
    pub confidence: Trust,
    /// Whether its owner has approved that it runs.
    pub approved: bool,
    /// From so many runs it was calculated.
    pub calculated_from: u32,
    /// Its steps, at most 10,000, each index once; together at most 256 MiB.
    pub steps: Vec<ScenarioStep>,
    /// Runs that belong to it, at most 10,000. Those that are not there, or are not the owner's, are left out.
    pub runs: Vec<(RunId, RunRole)>,
}

/// Where a calculated scenario goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutAs {
    /// It is new, and gets an id.
    New,
    /// It is new, and belongs to none of these, which are the newest of its family and project that are ready, at most
    /// [`BESIDE`]. Where another one is among those by now it is [`crate::StoreError::Beside`], so that of several
    /// processes only one makes the scenario of a task.
    Beside {
        /// Those that were looked at.
        seen: Vec<ScenarioId>,
    },
    /// In the place of this one: plan and steps are replaced, id, owner, history, executions and its runs stay.
    Instead {
        /// Which one.
        scenario: ScenarioId,
        /// Another revision than this one is [`crate::StoreError::Revision`].
        expected_revision: u64,
    },
}

/// So many scenarios of a family and project a run is tried with before it becomes one of its own.
pub const BESIDE: u32 = 8;

/// Where a calculated scenario went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Its id.
    pub id: ScenarioId,
    /// 1 for a new one, else one more than before.
    pub revision: u64,
}

/// A step of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioStep {
    /// From 0.
    pub index: u32,
    /// The server's key; none for a built-in tool. At most 4 KiB.
    pub server: Option<String>,
    /// The tool; at most 4 KiB.
    pub tool: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Why the call is made, for a reader; at most 16 MiB.
    pub reasoning: Option<String>,
    /// What was changed by hand, and who has frozen it; each body at most 16 MiB.
    pub edits: StepEdits,
    /// What it was given in the recording, as it came; at most 16 MiB.
    pub recorded_input: Option<String>,
    /// What it gave in the recording, as it came; at most 16 MiB.
    pub recorded_output: Option<String>,
}

/// Which scenarios.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScenarioFilter {
    /// How far their calculation is.
    pub state: Option<ScenarioState>,
    /// The project of their run.
    pub project: Option<String>,
    /// What they call, in order, as one text.
    pub family: Option<String>,
}

/// A scenario in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioSummary {
    /// Its id.
    pub id: ScenarioId,
    /// The run that it is calculated from; that one may be gone.
    pub source_run: Option<RunId>,
    /// What it calls, in order, as one text.
    pub family: String,
    /// The project of its run.
    pub project: Option<String>,
    /// The working directory of its run.
    pub cwd: Option<String>,
    /// How far its calculation is.
    pub state: ScenarioState,
    /// How far it runs by itself.
    pub level: Level,
    /// Why it does not run further.
    pub level_reason: Option<String>,
    /// What the level stands on, JSON. It is the hub's own, and told to nobody.
    #[serde(skip)]
    pub standing: Option<String>,
    /// The least trust of its values.
    pub confidence: Trust,
    /// From so many runs it was calculated.
    pub calculated_from: u32,
    /// So many steps.
    pub steps: u32,
    /// So many tickets were made for it: how often a prompt asked for it after its first run.
    pub matches: u64,
    /// Counts calculations, saves and undos.
    pub revision: u64,
    /// When its owner approved that it runs, ms since the Unix epoch.
    pub approved_at: Option<u64>,
    /// ms since the Unix epoch.
    pub created_at: u64,
    /// When it was last calculated, edited, approved or given another level, ms since the Unix epoch.
    pub updated_at: u64,
    /// When an execution of it was last told, ms since the Unix epoch.
    pub last_used_at: Option<u64>,
    /// Why it is unusable.
    pub reason: Option<String>,
    /// What it does, in words.
    pub intent: Option<String>,
    /// The prompt of its run; cut to 500 characters in lists.
    pub prompt: String,
}

/// A part of a list of scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioPage {
    /// The scenarios.
    pub scenarios: Vec<ScenarioSummary>,
    /// For the next part; None: this was the last.
    pub next: Option<String>,
}

/// One scenario, without its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioDetail {
    /// As in a list, with the whole prompt.
    #[serde(flatten)]
    pub summary: ScenarioSummary,
    /// The plan and its wording, JSON.
    pub plan: Option<String>,
}

/// How far the scenarios of a person were read for matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedPosition {
    /// When the last one that was read was changed, ms since the Unix epoch.
    pub updated_at: u64,
    /// Which one that was.
    pub id: ScenarioId,
}

/// A scenario as matching needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: ScenarioId,
    /// Only `ready` is matched; one that is something else by now is to be forgotten.
    pub state: ScenarioState,
    /// Counts calculations, saves and undos.
    pub revision: u64,
    /// How far it runs by itself.
    pub level: Level,
    /// Whether its owner has approved that it runs.
    pub approved: bool,
    /// The run that it is calculated from.
    pub source_run: Option<RunId>,
    /// What it calls, in order, as one text.
    pub family: String,
    /// The project of its run.
    pub project: Option<String>,
    /// The working directory of its run.
    pub cwd: Option<String>,
    /// When it was changed, ms since the Unix epoch.
    pub updated_at: u64,
    /// The prompt of its run.
    pub prompt: String,
    /// The plan and its wording, JSON; only of one that is ready.
    pub plan: Option<String>,
}

impl Candidate {
    /// The position behind it.
    #[must_use]
    pub fn position(&self) -> FeedPosition {
        FeedPosition { updated_at: self.updated_at, id: self.id }
    }
}

/// A run that belongs to a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioRun {
    /// The run.
    pub run: RunId,
    /// As what.
    pub role: RunRole,
    /// It was deleted; what is here is what was known then.
    pub gone: bool,
    /// ms since the Unix epoch.
    pub started_at: u64,
    /// ms since the Unix epoch.
    pub ended_at: Option<u64>,
    /// Cost and tokens.
    pub metrics: Option<serde_json::Value>,
}

/// A part of the runs of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRunPage {
    /// The runs.
    pub runs: Vec<ScenarioRun>,
    /// For the next part; None: this was the last.
    pub next: Option<String>,
}

/// The scenario that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunScenario {
    /// The run.
    pub run: RunId,
    /// As what.
    pub role: RunRole,
    /// The scenario.
    pub scenario: ScenarioSummary,
}

/// A change of a step by hand, that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEdit {
    /// The revision that was checked; another one is [`crate::StoreError::Revision`].
    pub expected_revision: u64,
    /// The edited parts of the step afterwards, all of them; each body at most 16 MiB.
    pub after: StepEdits,
    /// It is saved in spite of the report.
    pub forced: bool,
    /// Why; at most 16 MiB.
    pub note: Option<String>,
    /// It takes back this one.
    pub takes_back: Option<EditId>,
}

/// A change in the history of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRow {
    /// Its id.
    pub id: EditId,
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// Of which step.
    pub step_index: u32,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// Who.
    pub by: UserId,
    /// The edited parts of the step before it.
    pub before: StepEdits,
    /// And after it.
    pub after: StepEdits,
    /// It was saved in spite of the report.
    pub forced: bool,
    /// Why.
    pub note: Option<String>,
    /// Of the scenario, after it.
    pub revision: u64,
    /// It takes back this one.
    pub takes_back: Option<EditId>,
}

/// A part of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPage {
    /// The changes.
    pub edits: Vec<EditRow>,
    /// For the next part; None: this was the last.
    pub next: Option<String>,
}

/// What changes of a scenario beside its plan; None stays. It raises no revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioChange {
    /// How far it runs by itself, and why not further (at most 16 MiB).
    pub level: Option<(Level, Option<String>)>,
    /// What the level stands on, JSON (at most 16 MiB); only with a level.
    pub standing: Option<String>,
    /// Only if it has this level and stands on this; one that was taken away meanwhile is not given back.
    pub only_from: Option<(Level, Option<String>)>,
    /// Whether its owner has approved that it runs.
    pub approved: Option<bool>,
}

/// A match for which a ticket is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// The run that began with it.
    pub run: Option<RunId>,
    /// What was asked; at most 16 MiB.
    pub prompt: Option<String>,
}

/// A ticket waits so long for its execution to be told, ms: 7 days, since a recorder keeps reports while the hub is away.
pub const TICKET_LIFE: u64 = 7 * 24 * 60 * 60 * 1_000;
/// So many tickets of one person wait; the oldest go first.
pub const TICKETS_WAITING: u32 = 1_000;

/// A ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Its id, which will be the execution's.
    pub id: TicketId,
    /// So many tickets were made for the scenario, this one included.
    pub matches: u64,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// It is booked.
    Booked {
        /// Under this id.
        ticket: TicketId,
        /// The run that the ticket was made for.
        run: Option<RunId>,
    },
    /// Its ticket was redeemed before; nothing changed.
    Duplicate,
    /// There is no such scenario, or no such ticket of it; one that waited longer than [`TICKET_LIFE`], too.
    Unknown,
}

/// An execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its id, the ticket's.
    pub id: TicketId,
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// The run that it happened in; that one may be gone.
    pub run: Option<RunId>,
    /// When the ticket was made, ms since the Unix epoch.
    pub issued_at: u64,
    /// When it was redeemed, ms since the Unix epoch.
    pub claimed_at: u64,
    /// What was told; its prompt is the match's where it told none.
    pub report: ExecutionReport,
}

/// A part of a list of executions.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionPage {
    /// The executions.
    pub executions: Vec<Execution>,
    /// For the next part; None: this was the last.
    pub next: Option<String>,
}

/// What a task cost when the model did it by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineSample {
    /// A run that the scenario was calculated from, or that matched.
    Run(ScenarioRun),
    /// An execution that was declined or gave up at once. The run that it happened in is not told a second time.
    Execution(Box<Execution>),
}
