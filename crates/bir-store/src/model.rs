//! What goes into a store and comes out of it, beside the records themselves.

mod scenarios;

pub use scenarios::*;

use bir_model::record::{HostInfo, ServerInfo, Step};
use bir_model::{Outcome, RunId, TenantId, Tier, TokenId, UserId};
use serde::{Deserialize, Serialize};

/// On whose behalf something is read or written. A store shows nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The tenant.
    pub tenant: TenantId,
    /// The person who records. Runs are theirs.
    pub user: UserId,
    /// Whether runs of others in the tenant are seen, and may be deleted, too.
    pub whole_tenant: bool,
}

/// What became of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Appended {
    /// It is booked.
    Booked,
    /// It was booked before.
    Duplicate,
    /// It cannot be booked, ever: sending it again changes nothing.
    Refused {
        /// Stable: `unknown_run`, `foreign_run`, `index_taken`, `invalid`.
        code: String,
        /// For people.
        detail: String,
    },
}

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunFilter {
    /// How it was seen.
    pub tier: Option<Tier>,
    /// A server that took part.
    pub server: Option<String>,
    /// A tool that was called.
    pub tool: Option<String>,
    /// How some call of it ended.
    pub outcome: Option<Outcome>,
    /// The project's directory.
    pub project: Option<String>,
    /// The host, `claude-code` …
    pub host: Option<String>,
    /// Whether it is over.
    pub finished: Option<bool>,
    /// Whether something of it was lost.
    pub lossy: Option<bool>,
    /// Begun at or after, ms since the Unix epoch.
    pub since: Option<u64>,
    /// Begun before, ms since the Unix epoch.
    pub until: Option<u64>,
}

/// Which part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where the last part ended; opaque.
    pub cursor: Option<String>,
    /// At most so many, 1 to 500.
    pub limit: u32,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// Who recorded it.
    pub user: UserId,
    /// How it was seen.
    pub tier: Tier,
    /// Whether something of it was lost.
    pub lossy: bool,
    /// How many calls are known to be lost.
    pub lost_calls: u64,
    /// The prompt, where there is one; cut to 500 characters in lists.
    pub input: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The host.
    pub host: Option<HostInfo>,
    /// The servers.
    pub servers: Vec<ServerInfo>,
    /// ms since the Unix epoch.
    pub started_at: u64,
    /// ms since the Unix epoch; None while it goes on.
    pub ended_at: Option<u64>,
    /// Why it ended.
    pub end_reason: Option<bir_model::record::EndReason>,
    /// When the last row was heard of.
    pub last_at: u64,
    /// Calls that began.
    pub calls: u32,
    /// Calls that ended otherwise than `ok`.
    pub failed_calls: u32,
}

/// A part of a list of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// For the next part; None: this was the last.
    pub next: Option<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDetail {
    /// As in a list, with the whole prompt.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The final answer.
    pub final_output: Option<String>,
    /// The host's session.
    pub session_id: Option<String>,
    /// What else the recorder told, a JSON object.
    pub metadata: serde_json::Value,
    /// Cost and tokens.
    pub metrics: Option<serde_json::Value>,
    /// Losses: reason and number of calls, in the order in which they were booked.
    pub losses: Vec<bir_model::record::Lost>,
}

/// Rows of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepPage {
    /// The rows.
    pub steps: Vec<Step>,
    /// The next index to ask from; None: these were the last so far.
    pub next: Option<u32>,
}

/// Rows that were searched for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPage {
    /// The rows.
    pub steps: Vec<Step>,
    /// For the next part.
    pub next: Option<String>,
}

/// What is replaced in a row; None stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StepChange {
    /// The arguments as they ran.
    pub tool_input: Option<String>,
    /// The arguments as the model wrote them.
    pub model_input: Option<String>,
    /// The reasoning before the call.
    pub context: Option<String>,
    /// The result.
    pub tool_output: Option<String>,
    /// The error.
    pub tool_error: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// From beginning to end in microseconds.
    pub duration_us: Option<u64>,
    /// Bytes of the payload before anything was cut.
    pub original_bytes: Option<u64>,
    /// Whether something was cut.
    pub truncated: Option<bool>,
}

impl StepChange {
    /// Applies it to a row.
    pub fn apply(&self, step: &mut Step) {
        let texts = [
            (&self.tool_input, &mut step.tool_input),
            (&self.model_input, &mut step.model_input),
            (&self.context, &mut step.context),
            (&self.tool_output, &mut step.tool_output),
            (&self.tool_error, &mut step.tool_error),
        ];
        for (new, old) in texts {
            if new.is_some() {
                old.clone_from(new);
            }
        }
        step.outcome = self.outcome.or(step.outcome);
        step.duration_us = self.duration_us.or(step.duration_us);
        step.original_bytes = self.original_bytes.or(step.original_bytes);
        step.truncated = self.truncated.unwrap_or(step.truncated);
    }
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Runs.
    pub runs: u64,
    /// Rows of them.
    pub steps: u64,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRow {
    /// The tenant.
    pub id: TenantId,
    /// Its name.
    pub name: String,
}

/// What a tenant's administrators decide. What is not kept is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TenantSettings {
    /// No model endpoint is asked for anything of this tenant, whatever the operator has configured.
    pub forbid_model_help: bool,
}

/// What a person may do in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Records, and sees their own.
    Member,
    /// Everything in the tenant.
    Admin,
    /// Sees everything in the tenant, and changes nothing.
    Auditor,
    /// Runs the hub: health and usage, not what was recorded.
    Operator,
}

/// A person to be added.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Signs in with it.
    pub email: String,
    /// Shown.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// PHC string of argon2id; None: cannot sign in with a password.
    pub password_hash: Option<String>,
}

/// What changes of a person; None stays.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    /// Shown.
    pub name: Option<String>,
    /// What they may do.
    pub role: Option<Role>,
    /// PHC string of argon2id.
    pub password_hash: Option<String>,
    /// Cannot sign in, and their tokens do not work.
    pub disabled: Option<bool>,
}

/// A person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The person.
    pub id: UserId,
    /// Their tenant.
    pub tenant: TenantId,
    /// Signs in with it.
    pub email: String,
    /// Shown.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// PHC string of argon2id.
    pub password_hash: Option<String>,
    /// Cannot sign in.
    pub disabled: bool,
    /// ms since the Unix epoch.
    pub created_at: u64,
}

/// What kind of token it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Made by a person, long-lived, shown once.
    Personal,
    /// From signing in; short-lived.
    Access,
    /// From signing in; buys the next access token, once.
    Refresh,
}

/// A token to be added.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whose it is.
    pub owner: UserId,
    /// What kind.
    pub kind: TokenKind,
    /// For people.
    pub name: String,
    /// SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// `api`, `record` …
    pub scopes: Vec<String>,
    /// ms since the Unix epoch; None: never.
    pub expires_at: Option<u64>,
    /// Tokens of one sign-in; revoking one revokes all.
    pub family: Option<uuid::Uuid>,
}

/// A token with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthToken {
    /// The token.
    pub id: TokenId,
    /// Whose it is.
    pub owner: Account,
    /// What kind.
    pub kind: TokenKind,
    /// For people.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// ms since the Unix epoch.
    pub created_at: u64,
    /// ms since the Unix epoch.
    pub expires_at: Option<u64>,
    /// ms since the Unix epoch.
    pub revoked_at: Option<u64>,
    /// ms since the Unix epoch.
    pub last_used_at: Option<u64>,
    /// Tokens of one sign-in.
    pub family: Option<uuid::Uuid>,
}

/// A signed-in browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie's secret.
    pub hash: [u8; 32],
    /// Who.
    pub user: UserId,
    /// ms since the Unix epoch.
    pub created_at: u64,
    /// ms since the Unix epoch.
    pub expires_at: u64,
}
