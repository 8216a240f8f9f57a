//! The outermost step: request id, host, origin, panics, headers, metrics, log.
//!
//! **Host**: a page of another site can make a browser look up its own name as 127.0.0.1 (DNS rebinding) and then talk to a
//! hub on this machine as if it were that site. So a service on loopback answers to loopback names with its port, and to
//! its public name; a service with a public URL to that. **Origin**: what changes something must come from a page of ours, or
//! from no page.

use crate::guard::{Answered, is_safe};
use crate::problem::{Code, Problem};
use crate::settings::Settings;
use crate::state::State;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::panic::AssertUnwindSafe;
use std::time::Instant;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// An id from outside is taken when it is 8 to 64 letters, digits, dots, hyphens or underscores.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|v| v.to_str().ok()).filter(|text| {
        (8..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    });
    given.map_or_else(|| uuid::Uuid::now_v7().simple().to_string(), str::to_owned)
}

/// Host and port of a URL, lower case, with the scheme's port left out as browsers do.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    Some(host.strip_suffix(default).unwrap_or(&host).to_owned())
}

pub(crate) fn loopback_names(settings: &Settings) -> [String; 3] {
    let port = settings.listen.port();
    let name = |host: &str| if port == 80 { host.to_owned() } else { format!("{host}:{port}") };
    [name("127.0.0.1"), name("localhost"), name("[::1]")]
}

fn is_host_known(settings: &Settings, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let public = settings.public_url.as_deref().and_then(authority);
    if public.as_deref() == Some(host.as_str()) || loopback_names(settings).contains(&host) {
        return true;
    }
    // On an address of a network, without a public URL, there is no name to compare with.
    public.is_none() && !settings.listen.ip().is_loopback()
}

fn is_origin_known(settings: &Settings, origin: &str, host: &str) -> bool {
    let Some(from) = authority(origin) else { return false };
    let scheme = origin.split_once("://").map_or("", |(scheme, _)| scheme);
    match &settings.public_url {
        Some(url) if authority(url).as_deref() == Some(from.as_str()) => {
            url.split_once("://").is_some_and(|(s, _)| s == scheme)
        }
        _ => scheme == "http" && from == host.to_ascii_lowercase() && is_host_known(settings, &from),
    }
}

fn check(state: &State, request: &Request) -> Result<(), Problem> {
    let settings = &state.settings;
    let host = request.headers().get(header::HOST).and_then(|v| v.to_str().ok());
    let host =
        host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str)).unwrap_or_default();
    if !is_host_known(settings, host) {
        return Err(Problem::new(
            Code::BadHost,
            format!("this service is {}; set `--public-url` if it has another name", settings.base_url()),
        ));
    }
    if is_safe(request.method()) {
        return Ok(());
    }
    match request.headers().get(header::ORIGIN).map(|v| v.to_str().unwrap_or_default()) {
        Some(origin) if !is_origin_known(settings, origin, host) => {
            Err(Problem::new(Code::BadOrigin, "the request was made by a page of another site"))
        }
        _ => Ok(()),
    }
}

fn wants_page(request: &Request) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accept.contains("text/html")
}

static HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, bir_console::CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: with it browsers send `Origin: null` from our own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The edge, as the layer around everything.
pub(crate) async fn edge(
    axum::extract::State(state): axum::extract::State<State>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    let page = wants_page(&request);
    let gzip = crate::squeeze::is_taken(request.headers());
    let method = request.method().clone();
    let mut response = match check(&state, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(_) => {
                tracing::error!(request_id = id, "a handler panicked");
                Problem::new(Code::Internal, "the service failed at this request; its log says more")
                    .into_response()
            }
        },
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = write(response, &problem, &id, page);
    }
    if gzip {
        response = crate::squeeze::page(response).await;
    }
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.entry(name.clone()).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    note(&state, &method, &response, &id, began);
    response
}

fn write(mut response: Response, problem: &Problem, id: &str, page: bool) -> Response {
    let (kind, body) = if page {
        ("text/html; charset=utf-8", crate::pages::problem(problem, id))
    } else {
        ("application/problem+json", problem.body(id))
    };
    *response.body_mut() = body.into();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn note(state: &State, method: &Method, response: &Response, id: &str, began: Instant) {
    let took = began.elapsed();
    let route = response.extensions().get::<Answered>().map_or("-", |a| a.0);
    let status = response.status();
    state.metrics.request(method, route, status, took);
    let ms = took.as_millis();
    // The route's pattern and never the query: that may hold a ticket.
    if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(target: "request", %method, route, status = status.as_u16(), ms, request_id = id);
    } else {
        tracing::info!(target: "request", %method, route, status = status.as_u16(), ms, request_id = id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: &str, public: Option<&str>) -> Settings {
        Settings { public_url: public.map(str::to_owned), ..Settings::new(listen.parse().unwrap()) }
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        let local = settings("127.0.0.1:7411", None);
        for host in ["127.0.0.1:7411", "localhost:7411", "LocalHost:7411", "[::1]:7411"] {
            assert!(is_host_known(&local, host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7411",
            "127.0.0.1",
            "localhost:80",
            "127.0.0.1.evil.example:7411",
        ] {
            assert!(!is_host_known(&local, host), "{host}");
        }
        let public = settings("10.0.0.5:7411", Some("https://hub.example.com"));
        assert!(is_host_known(&public, "hub.example.com") && !is_host_known(&public, "other.example.com"));
        assert!(is_host_known(&settings("0.0.0.0:7411", None), "anything.example"));
    }

    #[test]
    fn only_our_own_pages_may_change_something() {
        let local = settings("127.0.0.1:7411", None);
        assert!(is_origin_known(&local, "http://127.0.0.1:7411", "127.0.0.1:7411"));
        for origin in [
            "null",
            "",
            "http://evil.example",
            "https://127.0.0.1:7411",
            "http://127.0.0.1:7412",
            "http://localhost:7411",
        ] {
            assert!(!is_origin_known(&local, origin, "127.0.0.1:7411"), "{origin}");
        }
        let public = settings("10.0.0.5:7411", Some("https://hub.example.com"));
        assert!(is_origin_known(&public, "https://hub.example.com", "hub.example.com"));
        assert!(is_origin_known(&public, "https://hub.example.com", "10.0.0.5:7411"));
        assert!(!is_origin_known(&public, "http://hub.example.com", "hub.example.com"));
    }

    #[test]
    fn an_id_from_outside_is_taken_when_it_is_well_formed() {
        let with = |text: &str| {
            request_id(&HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(text).unwrap())]))
        };
        assert_eq!(with("abc-123.x_Y"), "abc-123.x_Y");
        for wrong in ["short", "has space in it", "<script>alert", &"a".repeat(65)] {
            assert_ne!(with(wrong), wrong);
        }
    }
}
