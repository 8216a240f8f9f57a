//! Stands before every route: who, whether they may, how often, how long.

use crate::access::{Action, Reach, covered, reach};
use crate::principal::{Principal, Shown};
use crate::problem::{Code, Problem};
use crate::routes::{Access, Rule, Span};
use crate::state::State;
use axum::extract::{FromRequestParts, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use bir_store::model::View;
use http::header;
use http::request::Parts;
use http::{HeaderMap, Method};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The address at the other end of the connection, where the server told it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The route that answered, for metrics and logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered(pub(crate) &'static str);

/// Somebody who may do what the route does.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Arc<Principal>,
    pub(crate) reach: Reach,
    pub(crate) shown: Shown,
}

impl Caller {
    /// On whose behalf the store is asked.
    pub(crate) fn view(&self) -> View {
        View {
            tenant: self.principal.account.tenant,
            user: self.principal.account.id,
            whole_tenant: self.reach == Reach::Tenant,
        }
    }
}

impl FromRequestParts<State> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        // A route that asks for a caller and has none is a fault of the table; its test finds it.
        caller.ok_or_else(|| Problem::new(Code::Internal, "the route does not say who may use it"))
    }
}

/// Whether a method changes nothing.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The caller's address; an unknown one counts as one address.
pub(crate) fn address(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |p| p.0.ip())
}

/// Who asks, and how far they reach with the action.
pub(crate) async fn admit(state: &State, headers: &HeaderMap, action: Action) -> Result<Caller, Problem> {
    let shown = Shown::of(headers)?.ok_or_else(|| {
        Problem::new(Code::Unauthorized, "no token was sent; the header is `Authorization: Bearer TOKEN`")
    })?;
    recheck(state, shown, action).await
}

/// The same with what was shown before, for streams that go on.
pub(crate) async fn recheck(state: &State, shown: Shown, action: Action) -> Result<Caller, Problem> {
    let principal = state.principals.resolve(&*state.store, &*state.clock, &shown).await?;
    if !covered(&principal.scopes, action) {
        return Err(Problem::new(
            Code::Forbidden,
            format!("the token's scopes ({}) do not cover this", principal.scopes.join(", ")),
        ));
    }
    match reach(principal.account.role, action) {
        Reach::No => {
            Err(Problem::new(Code::Forbidden, "your role does not allow this; an admin may change it"))
        }
        reach => Ok(Caller { principal, reach, shown }),
    }
}

/// Whether metrics may be read without a token: both ends are this machine, and nobody in between passed it on.
fn is_local(state: &State, request: &Request) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    // A proxy on this machine may pass on the name that the world asked for, and nothing else.
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    crate::edge::loopback_names(&state.settings).contains(&host.to_ascii_lowercase())
        && state.settings.listen.ip().is_loopback()
        && request.extensions().get::<Peer>().is_some_and(|p| p.0.ip().is_loopback())
        && !forwarded.iter().any(|name| request.headers().contains_key(*name))
}

fn to_sign_in(request: &Request) -> Response {
    let wanted = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let next = crate::console::escape_query(wanted);
    Redirect::to(&format!("/signin?next={next}")).into_response()
}

async fn decide(
    state: &State,
    rule: &'static Rule,
    request: &mut Request,
) -> Result<Option<Response>, Problem> {
    let action = match rule.access {
        Access::Public => {
            if rule.pace == crate::throttle::Pace::Stranger {
                state.throttle.stranger(address(request))?;
            }
            return Ok(None);
        }
        Access::LocalOr(_) if is_local(state, request) => return Ok(None),
        Access::LocalOr(action) | Access::May(action) | Access::Page(action) => action,
    };
    let caller = match admit(state, request.headers(), action).await {
        Err(problem)
            if matches!(rule.access, Access::Page(_))
                && problem.status() == http::StatusCode::UNAUTHORIZED =>
        {
            if is_safe(request.method()) {
                return Ok(Some(to_sign_in(request)));
            }
            return Err(problem);
        }
        other => other?,
    };
    // A cookie is sent by a browser whoever asks for it, so what changes something must say where it comes from. The edge
    // has refused a wrong origin; here a missing one is.
    let by_cookie = matches!(caller.shown, Shown::Cookie(_));
    if by_cookie && !is_safe(request.method()) && !request.headers().contains_key(header::ORIGIN) {
        return Err(Problem::new(
            Code::BadOrigin,
            "a browser's request that changes something needs an `Origin`",
        ));
    }
    state.throttle.known(rule.pace, caller.principal.key)?;
    request.extensions_mut().insert(caller);
    Ok(None)
}

/// The guard itself, as a layer of one route.
pub(crate) async fn guard(
    axum::extract::State((state, rule)): axum::extract::State<(State, &'static Rule)>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match decide(&state, rule, &mut request).await {
        Ok(Some(response)) => response,
        Err(problem) => problem.into_response(),
        Ok(None) => match rule.span {
            Span::Long => next.run(request).await,
            Span::Short => within(&state, request, next).await,
        },
    };
    response.extensions_mut().insert(Answered(rule.path));
    response
}

async fn within(state: &State, request: Request, next: Next) -> Response {
    let Ok(_turn) = state.requests.try_acquire() else {
        let busy = "too many requests are under way; try again in a moment";
        return Problem::new(Code::RateLimited, busy).after(1).into_response();
    };
    let budget = state.settings.limits.request;
    match tokio::time::timeout(budget, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("the request was not done within {} s", budget.as_secs());
            Problem::new(Code::Timeout, detail).into_response()
        }
    }
}
