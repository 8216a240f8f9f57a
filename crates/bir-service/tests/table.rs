#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! The table of routes against the contract, and every route against every role.

mod common;

use bir_service::access::{Action, MATRIX, ROLES, Reach, reach};
use bir_service::routes::{Access, RULES};
use bir_store::model::Role;
use common::World;

/// The routes of the HTTP API, and what each needs. `–`: nothing.
const CONTRACT: &str = "\
GET /health –
GET /metrics ReadMetrics
GET /me Me
POST /recordings/batch Record
POST /recordings/runs Record
POST /recordings/runs/{id}/steps Record
PATCH /recordings/runs/{id}/steps/{step} Record
POST /recordings/runs/{id}/finish Record
GET /recordings/runs ReadRuns
GET /recordings/runs/{id} ReadRuns
GET /recordings/runs/{id}/steps ReadRuns
GET /recordings/runs/{id}/stream ReadRuns
GET /recordings/stream ReadRuns
GET /recordings/search ReadRuns
GET /recordings/export ReadRuns
POST /recordings/import Import
DELETE /recordings/runs/{id} DeleteRuns
DELETE /recordings/runs DeleteRuns
GET /recordings/runs/{id}/scenario ReadScenarios
POST /recordings/runs/{id}/calculate ChangeScenarios
GET /scenarios/trusted-servers ReadScenarios
PUT /scenarios/trusted-servers/{server} ChangeScenarios
DELETE /scenarios/trusted-servers/{server} ChangeScenarios
GET /scenarios ReadScenarios
POST /scenarios/match Execute
GET /scenarios/executions ReadScenarios
POST /scenarios/import ChangeScenarios
GET /scenarios/{id}/export ReadScenarios
GET /scenarios/{id} ReadScenarios
DELETE /scenarios/{id} ChangeScenarios
POST /scenarios/{id}/recalculate ChangeScenarios
POST /scenarios/{id}/derive Execute
GET /derivation Me
PUT /derivation ManagePeople
POST /scenarios/{id}/replay ReadScenarios
POST /scenarios/{id}/executions Execute
GET /scenarios/{id}/executions ReadScenarios
POST /scenarios/{id}/steps/{step}/check ReadScenarios
PATCH /scenarios/{id}/steps/{step} ChangeScenarios
GET /scenarios/{id}/edits ReadScenarios
POST /scenarios/{id}/edits/{edit}/revert ChangeScenarios
POST /scenarios/{id}/approve ChangeScenarios
POST /auth/login –
POST /auth/refresh –
POST /auth/logout –
POST /auth/device –
POST /auth/device/token –
POST /auth/ticket SignIn
GET /tokens Tokens
POST /tokens Tokens
DELETE /tokens/{id} Tokens
GET /people ReadPeople
POST /people ManagePeople
PATCH /people/{id} ManagePeople
DELETE /people/{id} ManagePeople
GET / Me
GET /runs ReadRuns
GET /runs/rows ReadRuns
GET /runs/{id} ReadRuns
GET /runs/{id}/rows ReadRuns
GET /signin –
POST /signin –
GET /signout SignIn
POST /signout SignIn
GET /device SignIn
POST /device SignIn
GET /static/{*path} –
";

fn action(access: Access) -> Option<Action> {
    match access {
        Access::Public => None,
        Access::May(action) | Access::Page(action) | Access::LocalOr(action) => Some(action),
    }
}

#[test]
fn every_route_of_the_contract_is_there_with_its_action_and_no_other_is() {
    let mut table = String::new();
    for rule in RULES {
        let needs = action(rule.access).map_or("–".to_owned(), |a| format!("{a:?}"));
        table.push_str(&format!("{} {} {needs}\n", rule.method, rule.path));
    }
    assert_eq!(table, CONTRACT);
}

/// Parts of pages, which nobody calls but the pages themselves.
const UNTOLD: [&str; 4] = ["/", "/runs/rows", "/runs/{id}/rows", "/static/{*path}"];

/// The documentation's paths, as the table writes them.
fn documented() -> Vec<String> {
    let text = include_str!("../../../docs/hub.md");
    let (_, routes) = text.split_once("## Routes").unwrap();
    let mut paths = Vec::new();
    for word in routes.split(|c: char| c.is_whitespace() || "'`\"<>,;".contains(c)) {
        let path = word.strip_prefix("H/").map(|rest| format!("/{rest}"));
        let Some(path) = path.or_else(|| word.starts_with('/').then(|| word.to_owned())) else { continue };
        let path = path.split(['?', ')']).next().unwrap();
        let path = path.replace("run_UUID", "{id}").replace("step_UUID", "{step}").replace("/ID", "/{id}");
        paths.push(
            path.replace("/steps/N", "/steps/{step}")
                .replace("/EDIT", "/{edit}")
                .replace("/KEY", "/{server}"),
        );
    }
    paths
}

#[test]
fn every_route_is_documented_and_no_other_is() {
    let documented = documented();
    for rule in RULES.iter().filter(|rule| !UNTOLD.contains(&rule.path)) {
        assert!(documented.iter().any(|path| path == rule.path), "docs/hub.md says nothing of {}", rule.path);
    }
    assert!(documented.len() >= 25, "{documented:?}");
    for path in documented {
        assert!(
            RULES.iter().any(|rule| rule.path == path),
            "docs/hub.md tells of {path}, and there is no such route"
        );
    }
}

#[test]
fn every_action_is_needed_by_a_route() {
    for (needed, _) in MATRIX {
        assert!(RULES.iter().any(|r| action(r.access) == Some(needed)), "{needed:?}");
    }
}

fn concrete(path: &str) -> String {
    path.replace("{id}", "run_00000000-0000-7000-8000-000000000000")
        .replace("{step}", "step_00000000-0000-7000-8000-000000000000")
        .replace("{edit}", "sedit_00000000-0000-7000-8000-000000000000")
        .replace("{*path}", "console.css")
}

#[tokio::test]
async fn every_route_refuses_strangers_and_the_roles_that_may_not() {
    let world = World::new().await;
    let mut people = Vec::new();
    for (i, role) in ROLES.into_iter().enumerate() {
        people.push((role, world.person(world.tenant, role, &format!("p{i}@example.com")).await));
    }
    for rule in RULES {
        let path = concrete(rule.path);
        let bare = world.bare(rule.method, &path, "").await;
        match rule.access {
            Access::Public => assert_ne!(bare.status, 401, "{} {path}", rule.method),
            Access::Page(_) if rule.method == "GET" => {
                assert_eq!(bare.status, 303, "{path}");
                assert!(bare.headers["location"].to_str().unwrap().starts_with("/signin?next=/"), "{path}");
            }
            _ => assert_eq!(bare.problem(), (401, "unauthorized".into()), "{} {path}", rule.method),
        }
        let Some(needed) = action(rule.access) else { continue };
        for (role, person) in &people {
            // Streams of a run that is not there end with 404; the one of all runs would go on.
            if rule.path == "/recordings/stream" && reach(*role, needed) != Reach::No {
                continue;
            }
            let answer = world.call(&person.token, rule.method, &path, "").await;
            let refused = answer.status == 403 && answer.text().contains("\"forbidden\"");
            // An admin's token may not delete the person that it stands for, and so on: those are other codes.
            assert_eq!(
                refused,
                reach(*role, needed) == Reach::No,
                "{role:?} {} {path}: {}",
                rule.method,
                answer.text()
            );
            assert_ne!(answer.status, 500, "{} {path}: {}", rule.method, answer.text());
        }
    }
}

#[tokio::test]
async fn a_recording_token_records_and_nothing_else() {
    let world = World::new().await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let token = world.token(world.tenant, admin.id, &["record"], None).await;
    for rule in RULES {
        let Some(needed) = action(rule.access) else { continue };
        let answer = world.call(&token, rule.method, &concrete(rule.path), "").await;
        let may = matches!(needed, Action::Record | Action::Execute | Action::Me);
        assert_eq!(
            !(answer.status == 403 && answer.text().contains("\"forbidden\"")),
            may,
            "{} {}: {}",
            rule.method,
            rule.path,
            answer.text()
        );
    }
}

#[tokio::test]
async fn an_unknown_route_and_a_wrong_method_are_problems_too() {
    let world = World::new().await;
    assert_eq!(world.bare("GET", "/nothing", "").await.problem(), (404, "not_found".into()));
    assert_eq!(world.bare("PUT", "/recordings/runs", "").await.problem(), (405, "method_not_allowed".into()));
    let page = world.send(common::request("GET", "/nothing", &[("accept", "text/html")], "")).await;
    assert!(page.status == 404 && page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
}
