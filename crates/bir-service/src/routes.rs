//! The table of routes: method, path, who may, how often, how long. The router is built from it.

use crate::access::Action;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::throttle::Pace;
use crate::{auth, console, edge, guard, health, me, metrics, people, recordings, scenarios, tokens};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, patch, post, put};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Public,
    /// Who may do this.
    May(Action),
    /// A page for who may do this; others are sent to sign in.
    Page(Action),
    /// Programs on this machine, and who may do this.
    LocalOr(Action),
}

/// How long a route may take until its answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// As long as the limit for requests.
    Short,
    /// As long as bytes come in.
    Long,
}

/// One route.
#[derive(Debug)]
pub struct Rule {
    /// `GET` …
    pub method: &'static str,
    /// With `{name}` for what varies.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
    /// How often.
    pub pace: Pace,
    /// How long.
    pub span: Span,
}

const fn rule(method: &'static str, path: &'static str, access: Access, pace: Pace) -> Rule {
    Rule { method, path, access, pace, span: Span::Short }
}

const fn long(method: &'static str, path: &'static str, access: Access, pace: Pace) -> Rule {
    Rule { method, path, access, pace, span: Span::Long }
}

/// All routes.
pub static RULES: &[Rule] = {
    use Access::{LocalOr, May, Page, Public};
    use Action::*;
    use Pace::{Api, Free, Record as Recording, Stranger};
    &[
        rule("GET", "/health", Public, Free),
        rule("GET", "/metrics", LocalOr(ReadMetrics), Api),
        rule("GET", "/me", May(Me), Api),
        rule("POST", "/recordings/batch", May(Record), Recording),
        rule("POST", "/recordings/runs", May(Record), Recording),
        rule("POST", "/recordings/runs/{id}/steps", May(Record), Recording),
        rule("PATCH", "/recordings/runs/{id}/steps/{step}", May(Record), Recording),
        rule("POST", "/recordings/runs/{id}/finish", May(Record), Recording),
        rule("GET", "/recordings/runs", May(ReadRuns), Api),
        rule("GET", "/recordings/runs/{id}", May(ReadRuns), Api),
        rule("GET", "/recordings/runs/{id}/steps", May(ReadRuns), Api),
        rule("GET", "/recordings/runs/{id}/stream", May(ReadRuns), Api),
        rule("GET", "/recordings/stream", May(ReadRuns), Api),
        rule("GET", "/recordings/search", May(ReadRuns), Api),
        rule("GET", "/recordings/export", May(ReadRuns), Api),
        long("POST", "/recordings/import", May(Import), Api),
        rule("DELETE", "/recordings/runs/{id}", May(DeleteRuns), Api),
        rule("DELETE", "/recordings/runs", May(DeleteRuns), Api),
        rule("GET", "/recordings/runs/{id}/scenario", May(ReadScenarios), Api),
        rule("POST", "/recordings/runs/{id}/calculate", May(ChangeScenarios), Api),
        rule("GET", "/scenarios/trusted-servers", May(ReadScenarios), Api),
        rule("PUT", "/scenarios/trusted-servers/{server}", May(ChangeScenarios), Api),
        rule("DELETE", "/scenarios/trusted-servers/{server}", May(ChangeScenarios), Api),
        rule("GET", "/scenarios", May(ReadScenarios), Api),
        rule("POST", "/scenarios/match", May(Execute), Api),
        rule("GET", "/scenarios/executions", May(ReadScenarios), Api),
        rule("POST", "/scenarios/import", May(ChangeScenarios), Api),
        rule("GET", "/scenarios/{id}/export", May(ReadScenarios), Api),
        rule("GET", "/scenarios/{id}", May(ReadScenarios), Api),
        rule("DELETE", "/scenarios/{id}", May(ChangeScenarios), Api),
        rule("POST", "/scenarios/{id}/recalculate", May(ChangeScenarios), Api),
        rule("POST", "/scenarios/{id}/derive", May(Execute), Api),
        rule("GET", "/derivation", May(Me), Api),
        rule("PUT", "/derivation", May(ManagePeople), Api),
        rule("POST", "/scenarios/{id}/replay", May(ReadScenarios), Api),
        rule("POST", "/scenarios/{id}/executions", May(Execute), Recording),
        rule("GET", "/scenarios/{id}/executions", May(ReadScenarios), Api),
        rule("POST", "/scenarios/{id}/steps/{step}/check", May(ReadScenarios), Api),
        rule("PATCH", "/scenarios/{id}/steps/{step}", May(ChangeScenarios), Api),
        rule("GET", "/scenarios/{id}/edits", May(ReadScenarios), Api),
        rule("POST", "/scenarios/{id}/edits/{edit}/revert", May(ChangeScenarios), Api),
        rule("POST", "/scenarios/{id}/approve", May(ChangeScenarios), Api),
        rule("POST", "/auth/login", Public, Stranger),
        rule("POST", "/auth/refresh", Public, Stranger),
        rule("POST", "/auth/logout", Public, Stranger),
        rule("POST", "/auth/device", Public, Stranger),
        rule("POST", "/auth/device/token", Public, Stranger),
        rule("POST", "/auth/ticket", May(SignIn), Api),
        rule("GET", "/tokens", May(Tokens), Api),
        rule("POST", "/tokens", May(Tokens), Api),
        rule("DELETE", "/tokens/{id}", May(Tokens), Api),
        rule("GET", "/people", May(ReadPeople), Api),
        rule("POST", "/people", May(ManagePeople), Api),
        rule("PATCH", "/people/{id}", May(ManagePeople), Api),
        rule("DELETE", "/people/{id}", May(ManagePeople), Api),
        rule("GET", "/", Page(Me), Api),
        rule("GET", "/runs", Page(ReadRuns), Api),
        rule("GET", "/runs/rows", Page(ReadRuns), Api),
        rule("GET", "/runs/{id}", Page(ReadRuns), Api),
        rule("GET", "/runs/{id}/rows", Page(ReadRuns), Api),
        rule("GET", "/signin", Public, Stranger),
        rule("POST", "/signin", Public, Stranger),
        rule("GET", "/signout", Page(SignIn), Api),
        rule("POST", "/signout", Page(SignIn), Api),
        rule("GET", "/device", Page(SignIn), Api),
        rule("POST", "/device", Page(SignIn), Api),
        rule("GET", "/static/{*path}", Public, Free),
    ]
};

/// What answers a rule. None: nobody does, which a test finds.
fn handler(rule: &Rule) -> Option<MethodRouter<State>> {
    Some(match (rule.method, rule.path) {
        ("GET", "/health") => get(health::health),
        ("GET", "/metrics") => get(metrics::show),
        ("GET", "/me") => get(me::me),
        ("POST", "/recordings/batch") => post(recordings::batch::take),
        ("POST", "/recordings/runs") => post(recordings::single::begin),
        ("POST", "/recordings/runs/{id}/steps") => post(recordings::single::step),
        ("PATCH", "/recordings/runs/{id}/steps/{step}") => patch(recordings::single::amend),
        ("POST", "/recordings/runs/{id}/finish") => post(recordings::single::finish),
        ("GET", "/recordings/runs") => get(recordings::read::list),
        ("GET", "/recordings/runs/{id}") => get(recordings::read::detail),
        ("GET", "/recordings/runs/{id}/steps") => get(recordings::read::steps),
        ("GET", "/recordings/runs/{id}/stream") => get(recordings::stream::run),
        ("GET", "/recordings/stream") => get(recordings::stream::all),
        ("GET", "/recordings/search") => get(recordings::read::search),
        ("GET", "/recordings/export") => get(recordings::transfer::export),
        ("POST", "/recordings/import") => post(recordings::transfer::import),
        ("DELETE", "/recordings/runs/{id}") => delete(recordings::remove::one),
        ("DELETE", "/recordings/runs") => delete(recordings::remove::many),
        ("GET", "/recordings/runs/{id}/scenario") => get(scenarios::read::of_run),
        ("POST", "/recordings/runs/{id}/calculate") => post(scenarios::calculate::run),
        ("GET", "/scenarios/trusted-servers") => get(scenarios::tools::list),
        ("PUT", "/scenarios/trusted-servers/{server}") => put(scenarios::tools::trust),
        ("DELETE", "/scenarios/trusted-servers/{server}") => delete(scenarios::tools::untrust),
        ("GET", "/scenarios") => get(scenarios::read::list),
        ("POST", "/scenarios/match") => post(scenarios::ask::ask),
        ("GET", "/scenarios/executions") => get(scenarios::executions::of_all),
        ("POST", "/scenarios/import") => post(scenarios::carry::import),
        ("GET", "/scenarios/{id}/export") => get(scenarios::carry::export),
        ("GET", "/scenarios/{id}") => get(scenarios::read::one),
        ("DELETE", "/scenarios/{id}") => delete(scenarios::change::remove),
        ("POST", "/scenarios/{id}/recalculate") => post(scenarios::calculate::again),
        ("POST", "/scenarios/{id}/derive") => post(scenarios::ask::derive),
        ("GET", "/derivation") => get(scenarios::help::show),
        ("PUT", "/derivation") => put(scenarios::help::set),
        ("POST", "/scenarios/{id}/replay") => post(scenarios::ask::replay),
        ("POST", "/scenarios/{id}/executions") => post(scenarios::executions::take),
        ("GET", "/scenarios/{id}/executions") => get(scenarios::executions::list),
        ("POST", "/scenarios/{id}/steps/{step}/check") => post(scenarios::change::check),
        ("PATCH", "/scenarios/{id}/steps/{step}") => patch(scenarios::change::edit),
        ("GET", "/scenarios/{id}/edits") => get(scenarios::read::edits),
        ("POST", "/scenarios/{id}/edits/{edit}/revert") => post(scenarios::change::revert),
        ("POST", "/scenarios/{id}/approve") => post(scenarios::change::approve),
        ("POST", "/auth/login") => post(auth::login::login),
        ("POST", "/auth/refresh") => post(auth::login::refresh),
        ("POST", "/auth/logout") => post(auth::login::logout),
        ("POST", "/auth/device") => post(auth::device::begin),
        ("POST", "/auth/device/token") => post(auth::device::poll),
        ("POST", "/auth/ticket") => post(auth::ticket::make),
        ("GET", "/tokens") => get(tokens::list),
        ("POST", "/tokens") => post(tokens::make),
        ("DELETE", "/tokens/{id}") => delete(tokens::revoke),
        ("GET", "/people") => get(people::list),
        ("POST", "/people") => post(people::add),
        ("PATCH", "/people/{id}") => patch(people::change),
        ("DELETE", "/people/{id}") => delete(people::remove),
        ("GET", "/") => get(console::home),
        ("GET", "/runs") => get(console::runs),
        ("GET", "/runs/rows") => get(console::runs_rows),
        ("GET", "/runs/{id}") => get(console::run),
        ("GET", "/runs/{id}/rows") => get(console::run_rows),
        ("GET", "/signin") => get(console::sign_in_page),
        ("POST", "/signin") => post(console::sign_in),
        ("GET", "/signout") => get(console::sign_out_page),
        ("POST", "/signout") => post(console::sign_out),
        ("GET", "/device") => get(console::device_page),
        ("POST", "/device") => post(console::device),
        ("GET", "/static/{*path}") => get(console::asset),
        _ => return None,
    })
}

async fn no_route() -> Problem {
    Problem::new(Code::NotFound, "there is no such address on this hub; the API is described in docs/hub.md")
}

async fn no_method() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the route exists, but not with this method")
}

/// The router, and the rules that nothing answers (none, says a test).
pub(crate) fn build(state: State) -> (Router, Vec<&'static Rule>) {
    let mut router = Router::new();
    let mut unanswered = Vec::new();
    for rule in RULES {
        match handler(rule) {
            Some(handler) => {
                let guard = from_fn_with_state((state.clone(), rule), guard::guard);
                router = router.route(rule.path, handler.route_layer(guard));
            }
            None => unanswered.push(rule),
        }
    }
    let router = router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(state.clone(), edge::edge))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(state);
    (router, unanswered)
}
