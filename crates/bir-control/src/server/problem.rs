//! Why something is refused, as `application/problem+json` (RFC 9457) with a code that stays.

use http::StatusCode;

/// A refusal. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The `Host` is no name of this machine: somebody has a name resolve to it.
    NotHere,
    /// A page in a browser asks.
    Browser,
    /// No token, or none that counts.
    Unauthorized,
    /// The directory is not in the token's project.
    ForeignDirectory,
    /// There is no such route.
    NoRoute,
    /// The route takes another method.
    Method,
    /// The order is not that proxy's, or it has ended.
    UnknownWork,
    /// The body is no JSON by its type.
    MediaType,
    /// The body is longer than is read.
    TooLarge,
    /// The body did not come in time.
    TooSlow,
    /// The body is no JSON.
    NoJson,
    /// The body is not what the route takes.
    Unfit,
    /// The proxy has to register first.
    UnknownProxy,
    /// The control server is about to end, or does not get on.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Problem {
    /// The code, which stays from release to release.
    pub(crate) fn code(self) -> &'static str {
        self.said().1
    }

    pub(crate) fn status(self) -> StatusCode {
        self.said().0
    }

    /// The whole body.
    pub(crate) fn body(self) -> Vec<u8> {
        let (status, code, title) = self.said();
        let body = serde_json::json!({ "title": title, "status": status.as_u16(), "code": code });
        body.to_string().into_bytes()
    }

    fn said(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::NotHere => (StatusCode::FORBIDDEN, "bad_host", "the host is no name of this machine"),
            Self::Browser => (StatusCode::FORBIDDEN, "origin", "pages in a browser are not answered"),
            Self::Unauthorized => {
                (StatusCode::UNAUTHORIZED, "unauthorized", "the token of a project is missing, or is none")
            }
            Self::ForeignDirectory => {
                (StatusCode::FORBIDDEN, "foreign_directory", "the directory is not in the token's project")
            }
            Self::NoRoute => (StatusCode::NOT_FOUND, "no_route", "there is no such route"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "method", "the route takes another method"),
            Self::UnknownWork => {
                (StatusCode::CONFLICT, "unknown_work", "the order is not this proxy's, or it has ended")
            }
            Self::MediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "the body has to be application/json")
            }
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is longer than this route takes")
            }
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not come within 5 s"),
            Self::NoJson => (StatusCode::BAD_REQUEST, "bad_json", "the body is no JSON"),
            Self::Unfit => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unfit", "the body is not what this route takes")
            }
            Self::UnknownProxy => (StatusCode::CONFLICT, "unknown_proxy", "the proxy has to register first"),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the control server ends, or does not get on",
            ),
            Self::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", "a fault of the control server")
            }
        }
    }
}
