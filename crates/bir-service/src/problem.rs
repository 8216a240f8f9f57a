//! What goes wrong, as `application/problem+json` with a stable code.
//!
//! A handler returns a [`Problem`]; the edge writes the body, because only it knows the request's id. What the store
//! said goes to the log, not to the caller: it may name files and addresses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bir_store::StoreError;
use http::{HeaderValue, StatusCode, header};
use std::borrow::Cow;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:literal $status:literal $title:literal,)*) => {
        /// Names a problem. The texts never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// As it stands in the body.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Self::$name => $text,)* } }
            /// The usual HTTP status.
            #[must_use]
            pub fn status(self) -> StatusCode {
                let number: u16 = match self { $(Self::$name => $status,)* };
                StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            /// For people.
            #[must_use]
            pub fn title(self) -> &'static str { match self { $(Self::$name => $title,)* } }
        }
    };
}

codes! {
    /// The body is no JSON.
    BadJson "bad_json" 400 "The body is not valid JSON",
    /// A member, parameter or id has the wrong type or value.
    BadType "bad_type" 400 "A value has the wrong type",
    /// A value is of the right type and still not acceptable.
    Invalid "invalid" 422 "A value is not acceptable",
    /// The cursor is not one of this list.
    BadCursor "bad_cursor" 400 "The cursor is not valid here",
    /// The `Host` is not this service's.
    BadHost "bad_host" 421 "This service is not known by that name",
    /// A browser sent it from another site.
    BadOrigin "bad_origin" 403 "The request comes from another site",
    /// No or unknown credentials.
    Unauthorized "unauthorized" 401 "Sign in first",
    /// The token was good once.
    TokenExpired "token_expired" 401 "The token has expired",
    /// The token was taken back.
    TokenRevoked "token_revoked" 401 "The token was revoked",
    /// E-mail address and password do not go together.
    BadCredentials "bad_credentials" 401 "The e-mail address or the password is wrong",
    /// Known, and not allowed.
    Forbidden "forbidden" 403 "You may not do this",
    /// There is no such thing, or none for the caller.
    NotFound "not_found" 404 "There is no such thing",
    /// The route exists, the method does not.
    MethodNotAllowed "method_not_allowed" 405 "The method is not allowed here",
    /// The request did not arrive, or was not done, in time.
    Timeout "timeout" 408 "The request took too long",
    /// It exists already, or something else is in the way.
    Conflict "conflict" 409 "Something is in the way",
    /// More bytes than are taken.
    TooLarge "too_large" 413 "The body is too large",
    /// More lines than are taken.
    TooManyLines "too_many_lines" 413 "The batch has too many lines",
    /// Too often.
    RateLimited "rate_limited" 429 "Too many requests",
    /// The store does not answer.
    StoreUnavailable "store_unavailable" 503 "The store does not answer",
    /// The person has not decided about the device yet.
    AuthorizationPending "authorization_pending" 428 "The sign-in is not confirmed yet",
    /// The device asks too often.
    SlowDown "slow_down" 429 "Ask less often",
    /// The device code is too old, or unknown.
    ExpiredToken "expired_token" 410 "The device code has expired",
    /// The person said no.
    AccessDenied "access_denied" 403 "The sign-in was refused",
    /// The code and the mark that are asked for are the step's already.
    NothingToChange "nothing_to_change" 400 "Nothing would change",
    /// More bytes than a change may have.
    PayloadTooLarge "payload_too_large" 413 "The change is too large",
    /// The change does not reproduce the recording, or is a copy of it.
    EditRefused "edit_refused" 422 "The change was not saved",
    /// What comes later would break.
    UndoRefused "undo_refused" 422 "The change was not taken back",
    /// The scenario was changed meanwhile.
    RevisionConflict "revision_conflict" 409 "The scenario was changed meanwhile",
    /// Somebody has changed it by hand.
    ScenarioHasEdits "scenario_has_edits" 409 "The scenario was changed by hand",
    /// It has no plan.
    ScenarioNotReady "scenario_not_ready" 409 "The scenario cannot be run",
    /// Edited logic cannot be evaluated.
    LogicSandboxUnavailable "logic_sandbox_unavailable" 503 "Edited logic cannot be evaluated here",
    /// A fault of the service.
    Internal "internal" 500 "The service failed",
}

/// A problem on its way to the caller.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Which.
    pub code: Code,
    /// What, why, and what to do; never a secret, never whether somebody else's thing exists.
    pub detail: Cow<'static, str>,
    /// Seconds after which trying again makes sense.
    pub retry_after: Option<u32>,
    /// Where the usual status is not exact enough (507 for a full disk).
    pub status: Option<StatusCode>,
    /// Members beside the usual ones.
    pub more: Vec<(&'static str, serde_json::Value)>,
}

impl Problem {
    /// A problem with its explanation.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), retry_after: None, status: None, more: Vec::new() }
    }

    /// The same, worth trying again after so many seconds.
    #[must_use]
    pub fn after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same with a member more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: serde_json::Value) -> Self {
        self.more.push((name, value));
        self
    }

    /// There is none, or none for you; both sound alike.
    pub fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what}, or it is not yours"))
    }

    /// The status that is sent.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| self.code.status())
    }

    /// The body.
    #[must_use]
    pub fn body(&self, request_id: &str) -> String {
        let mut body = serde_json::json!({
            "type": format!("urn:bir:problem:{}", self.code.as_str()),
            "title": self.code.title(),
            "status": self.status().as_u16(),
            "code": self.code.as_str(),
            "detail": self.detail,
            "requestId": request_id,
        });
        for (name, value) in &self.more {
            body[*name] = value.clone();
        }
        body.to_string()
    }
}

/// Seconds after which a store that did not answer is asked again.
const STORE_RETRY: u32 = 5;

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(what) => Self::new(Code::Conflict, format!("{what} exists already")),
            error @ StoreError::Revision { .. } => Self::new(Code::RevisionConflict, error.to_string()),
            error @ (StoreError::Taken { .. } | StoreError::Beside(_)) => {
                Self::new(Code::Conflict, error.to_string())
            }
            StoreError::Refused(why) => Self::new(Code::Invalid, why),
            StoreError::Cursor => Self::new(
                Code::BadCursor,
                "the cursor does not belong to this list; leave it out to begin again",
            ),
            StoreError::Unavailable(why) => {
                tracing::warn!(why, "the store does not answer");
                let mut problem = Self::new(
                    Code::StoreUnavailable,
                    "the store does not answer; nothing of this request was kept, send it again later",
                );
                let lower = why.to_ascii_lowercase();
                if lower.contains("disk is full") || lower.contains("no space left") {
                    problem.status = Some(StatusCode::INSUFFICIENT_STORAGE);
                    problem.detail =
                        "the hub's disk is full; nothing of this request was kept, send it again later"
                            .into();
                }
                problem.after(STORE_RETRY)
            }
            other => {
                tracing::error!(error = %other, "the store failed");
                Self::new(Code::Internal, "the store failed; the hub's log says why")
            }
        }
    }
}

impl From<crate::clock::NoRandomness> for Problem {
    fn from(error: crate::clock::NoRandomness) -> Self {
        tracing::error!(%error, "no secret can be made");
        Self::new(Code::Internal, "the hub's machine gives no randomness")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}
