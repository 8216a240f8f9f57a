//! The routes that browsers use: pages, forms, cookies. What the pages look like is in [`crate::pages`].

use crate::access::{Action, Reach, reach};
use crate::auth::login::check_password;
use crate::auth::session;
use crate::body;
use crate::guard::Caller;
use crate::pages;
use crate::principal::Shown;
use crate::problem::{Code, Problem};
use crate::query::{DEFAULT_LIMIT, Params};
use crate::recordings::run_id;
use crate::state::State;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Redirect, Response};
use bir_store::model::{Account, Page};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

/// Rows of a run on one page.
const ROWS: u32 = 1_000;

fn html(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn page(text: String) -> Response {
    html(StatusCode::OK, text)
}

/// Text as the value of a query parameter.
pub(crate) fn escape_query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A path of this service, and nothing that a browser takes for another site.
fn local_path(next: Option<&str>) -> String {
    let fit = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    };
    next.filter(fit).unwrap_or("/runs").to_owned()
}

async fn form(state: &State, body: Body) -> Result<Params, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes.min(64 << 10), limits.body_idle).await?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let uri: Uri = format!("/?{text}")
        .parse()
        .map_err(|_| Problem::new(Code::BadType, "the form is not well-formed"))?;
    Params::of(&uri)
}

/// Needs an `Origin`: without it the request is not known to come from one of our pages. The edge has refused wrong ones.
fn from_our_page(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    Err(Problem::new(Code::BadOrigin, "a form that changes something needs an `Origin`"))
}

/// `GET /`: to what one may see.
pub(crate) async fn home(caller: Caller) -> Redirect {
    let may = reach(caller.principal.account.role, Action::ReadRuns) != Reach::No;
    Redirect::to(if may { "/runs" } else { "/signout" })
}

/// A filter as the page's form sends it; words that are none of ours are no filter there.
fn filter(uri: &Uri) -> Result<pages::Filter, Problem> {
    let Query(filter) = Query::<pages::Filter>::try_from_uri(uri)
        .map_err(|_| Problem::new(Code::BadType, "the query is not well-formed"))?;
    Ok(filter)
}

async fn runs_view(state: &State, caller: &Caller, uri: &Uri) -> Result<pages::RunsView, Problem> {
    let filter = filter(uri)?;
    let now = state.clock.now();
    let page = Page { cursor: filter.cursor.clone(), limit: DEFAULT_LIMIT };
    let found = state.store.runs(&caller.view(), &filter.to_store(now), &page).await?;
    Ok(pages::RunsView::from_store(pages::viewer(caller), filter, found, now))
}

/// `GET /runs`.
pub(crate) async fn runs(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    Ok(page(pages::runs_page(&runs_view(&state, &caller, &uri).await?)))
}

/// `GET /runs/rows`: the rows of the list alone, for a page that is open.
pub(crate) async fn runs_rows(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    Ok(page(pages::run_list_rows(&runs_view(&state, &caller, &uri).await?)))
}

async fn run_view(
    state: &State,
    caller: &Caller,
    id: &str,
    uri: &Uri,
) -> Result<(pages::RunView, u32), Problem> {
    let id = run_id(id)?;
    let mut params = Params::of(uri)?;
    let from = u32::try_from(params.number("from")?.unwrap_or(0)).unwrap_or(u32::MAX);
    let found = state.store.run(&caller.view(), id).await?.ok_or_else(|| Problem::not_found("run"))?;
    // A page that is open asks for one call that it had no room for.
    let limit = params.number("limit")?.and_then(|n| u32::try_from(n).ok()).unwrap_or(ROWS).clamp(1, ROWS);
    let rows = state.store.steps(&caller.view(), id, from, limit).await?;
    let now = state.clock.now();
    Ok((pages::RunView::from_store(pages::viewer(caller), found, rows, from, now), from))
}

/// `GET /runs/:id`.
pub(crate) async fn run(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (view, _) = run_view(&state, &caller, &id, &uri).await?;
    Ok(page(pages::run_page(&view)))
}

/// `GET /runs/:id/rows`: what changed of it, for a page that is open.
pub(crate) async fn run_rows(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (view, from) = run_view(&state, &caller, &id, &uri).await?;
    Ok(page(pages::run_rows(&view, from)))
}

async fn signed_in(state: &State, account: &Account, next: Option<&str>) -> Result<Response, Problem> {
    let cookie = session::begin(state, account).await?;
    let mut response = Redirect::to(&local_path(next)).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// `GET /signin`: the form, or a ticket that is used up.
pub(crate) async fn sign_in_page(
    axum::extract::State(state): axum::extract::State<State>,
    method: Method,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let next = params.text("next");
    // Whoever looks whether a link is alive does not use it up.
    let Some(ticket) = params.text("ticket").filter(|_| method != Method::HEAD) else {
        return Ok(page(pages::sign_in("", None, next.as_deref())));
    };
    let gone = "This link was used before, or is too old. On this machine `bir up` prints a new one; or sign in here.";
    let Some((tenant, user)) = state.tickets.take(&ticket, state.clock.now()) else {
        return Ok(html(StatusCode::FORBIDDEN, pages::sign_in("", Some(gone), next.as_deref())));
    };
    match state.store.user(tenant, user).await?.filter(|a| !a.disabled) {
        Some(account) => signed_in(&state, &account, next.as_deref()).await,
        None => Ok(html(StatusCode::FORBIDDEN, pages::sign_in("", Some(gone), next.as_deref()))),
    }
}

/// `POST /signin`.
pub(crate) async fn sign_in(
    axum::extract::State(state): axum::extract::State<State>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    from_our_page(&headers)?;
    let mut form = form(&state, body).await?;
    let email = form.text("email").unwrap_or_default();
    let password = form.text("password").unwrap_or_default();
    let next = form.text("next");
    match check_password(&state, &email, password).await {
        Ok(account) => signed_in(&state, &account, next.as_deref()).await,
        Err(problem) if matches!(problem.code, Code::BadCredentials | Code::RateLimited) => {
            let text = pages::sign_in(&email, Some(&problem.detail), next.as_deref());
            Ok(html(problem.status(), text))
        }
        Err(problem) => Err(problem),
    }
}

/// `GET /signout`: says how, because a link must not sign anybody out.
pub(crate) async fn sign_out_page(caller: Caller) -> Response {
    let who = &caller.principal.account.email;
    let text = format!("You are signed in as {who}. The button at the top of the pages signs you out.");
    page(pages::signed_in(&caller, &text))
}

/// `POST /signout`.
pub(crate) async fn sign_out(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
) -> Result<Response, Problem> {
    let mut response = Redirect::to("/signin").into_response();
    if let Shown::Cookie(cookie) = &caller.shown {
        response.headers_mut().insert(header::SET_COOKIE, session::end(&state, cookie).await?);
    }
    Ok(response)
}

/// `GET /device`.
pub(crate) async fn device_page(caller: Caller, uri: Uri) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let code = params.text("code").unwrap_or_default();
    Ok(page(pages::device(&caller, &code, None)))
}

/// `POST /device`.
pub(crate) async fn device(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    from_our_page(&headers)?;
    let mut form = form(&state, body).await?;
    let code = form.text("user_code").unwrap_or_default();
    let allow = match form.text("decision").as_deref() {
        Some("allow") => true,
        Some("deny") => false,
        _ => return Err(Problem::new(Code::BadType, "`decision`: expected allow or deny")),
    };
    let account = &caller.principal.account;
    let by = allow.then_some((account.tenant, account.id));
    if !state.devices.decide(state.clock.now(), &code, by) {
        let text = "No device waits with this code. It may be misspelt or too old.";
        return Ok(html(StatusCode::NOT_FOUND, pages::device(&caller, &code, Some(text))));
    }
    tracing::info!(user = %account.id, allow, "a device was decided about");
    Ok(page(pages::device_decided(&caller, allow)))
}

/// `GET /static/…`.
pub(crate) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = pages::asset(&path).ok_or_else(|| Problem::not_found("file"))?;
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|v| v.as_bytes() == asset.etag.as_bytes());
    let mut response = Response::new(Body::from(if known { &[][..] } else { asset.bytes }));
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let out = response.headers_mut();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    out.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    // Asked for anew each time, and answered from the browser's own copy: an upgrade shows at once.
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_one_stays_on_this_site() {
        assert_eq!(local_path(Some("/runs/x?a=b")), "/runs/x?a=b");
        for wrong in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "javascript:x",
            "/\r\nx",
        ] {
            assert_eq!(local_path(Some(wrong)), "/runs", "{wrong}");
        }
        assert_eq!(local_path(None), "/runs");
    }

    #[test]
    fn a_path_survives_as_a_parameter() {
        assert_eq!(escape_query("/device?code=A&b=ü"), "/device%3Fcode%3DA%26b%3D%C3%BC");
    }
}
