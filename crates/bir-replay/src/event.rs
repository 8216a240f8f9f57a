//! What a plan is told. Every event comes with the time at which it was heard, ms since the Unix epoch.

use serde_json::Value;

/// A question that waits for a reply; whoever asks chooses the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// A tool, as a host names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRef {
    /// As the host renders it.
    pub name: String,
    /// The key of its server; none for a built-in tool.
    pub server: Option<String>,
    /// As the server names it, where the host tells.
    pub tool: Option<String>,
}

/// A call that the model is about to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Pre {
    /// The hook that waits.
    pub ask: AskId,
    /// The host's id of the call; some hosts have none.
    pub call: Option<String>,
    /// Which tool.
    pub tool: ToolRef,
    /// The arguments as the model wrote them; a placeholder stands where something was redacted.
    pub input: Value,
    /// It is made inside of a sub-agent.
    pub agent: bool,
    /// The host only plans: nothing is decided for the user.
    pub planning: bool,
    /// The id by which a proxy's report finds this call, where one has to be put into the arguments (`__bir_call_id__`).
    pub inject: Option<String>,
}

/// With which arguments a call ran.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// With these, as they ran: nothing of them is redacted.
    With(Value),
    /// Whether they are the pinned ones, where a keyed hash of them is told: what redaction has changed cannot be compared otherwise.
    AsPinned(bool),
    /// Nobody says.
    Untold,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// With a result, as the teller sees it.
    Result(Value),
    /// With an error of the tool, or of the protocol.
    Error(String),
    /// Nobody knows: it timed out, was cut off, or nothing came.
    Unknown(String),
    /// It was not made: refused, denied, or there is nobody to make it.
    NotMade(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The prompt was answered before the directive could go with it: the model knows nothing of the plan.
    Unannounced,
    /// The model is about to call `run_scenario`.
    ScenarioPre {
        /// The hook that waits.
        ask: AskId,
        /// The host's id of the call.
        call: Option<String>,
        /// The host only plans.
        planning: bool,
    },
    /// The call of `run_scenario` has come here.
    ScenarioRun {
        /// Who waits for its results.
        ask: AskId,
        /// The host's id of the call, where the host passes one.
        call: Option<String>,
    },
    /// The call of `run_scenario` has ended, in whichever way.
    ScenarioPost {
        /// The hook that waits.
        ask: AskId,
        /// The host's id of the call.
        call: Option<String>,
    },
    /// The caller of `run_scenario` waits no longer.
    ScenarioCancelled {
        /// Who waited.
        ask: AskId,
    },
    /// The model is about to call another tool.
    Pre(Pre),
    /// The host says that a call has ended, or was not made.
    Post {
        /// The hook that waits; none where nobody does.
        ask: Option<AskId>,
        /// The host's id of the call.
        call: Option<String>,
        /// With which arguments.
        ran: Ran,
        /// How.
        ended: Ended,
    },
    /// A proxy says that a call of the session has ended.
    Report {
        /// The host's id of the call, or the injected one.
        call: String,
        /// With which arguments.
        ran: Ran,
        /// How.
        ended: Ended,
    },
    /// What became of work that was sent out.
    Worked {
        /// Which.
        work: String,
        /// How it ended.
        ended: Ended,
    },
    /// Whoever waited has been answered by somebody else: the route's deadline has passed.
    AskLost(AskId),
    /// The turn is over.
    Sealed(Seal),
    /// Time has passed.
    Tick,
}

/// What is known at the end of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seal {
    /// What the turn cost; none where nobody can say.
    pub spent: Option<crate::usage::Spent>,
    /// Something goes on in the background: its cost is not in that.
    pub background: bool,
    /// The version of the prices with which the cost was made.
    pub pricing_version: String,
    /// The prompt, redacted.
    pub prompt: Option<String>,
}
