//! An id in the arguments of a call whose host gives none: seed 01 phase 6's second rung, at the price of a permission decision.

use super::proxies::Proxies;
use super::session::Session;
use super::{call::Call, ids};
use bir_model::control::{HookEvent, Inject, Join};
use bir_record::SafeTold;

/// The host's mode in which nothing is decided for the user.
const PLAN: &str = "plan";

/// With which decision an id rides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call is allowed, and nobody is asked.
    Allow,
    /// The user is asked.
    Ask,
}

impl Decision {
    /// As the hook says it to the host.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
        }
    }
}

/// What the operator chose by `BIR_CORRELATION_DECISION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    /// The price.
    pub decision: Decision,
    /// Also where host and request already share an id.
    pub even_where_exact: bool,
}

/// The id for a call that a hook has just announced, where all that it takes is there.
pub(super) fn id_for(
    chosen: Option<Injection>,
    event: &HookEvent<SafeTold>,
    call: &Call,
    session: &Session,
    proxies: &Proxies,
) -> Option<Inject> {
    let chosen = chosen?;
    if event.permission_mode.as_deref() == Some(PLAN) {
        return None;
    }
    if event.join != Join::Fingerprint && !chosen.even_where_exact {
        return None;
    }
    let proxy = proxies.serving(session, &call.tool_name, call.server.as_deref(), call.tool.as_deref())?;
    if !proxy.registration.takes_call_id || session.deaf.contains(&proxy.registration.server.name) {
        return None;
    }
    let call_id = ids::injected(&session.id, &event.id);
    Some(Inject { call_id, decision: chosen.decision.as_str().to_owned() })
}
