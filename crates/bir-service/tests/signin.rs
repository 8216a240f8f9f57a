#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Tokens, sign-in, people, devices, browsers.

mod common;

use bir_store::People as _;
use bir_store::model::Role;
use common::{Answer, HOST, ORIGIN, PASSWORD, World, request};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

async fn login(world: &World, email: &str, password: &str) -> Answer {
    world.bare("POST", "/auth/login", json!({"email": email, "password": password}).to_string()).await
}

async fn refresh(world: &World, token: &Value) -> Answer {
    world.bare("POST", "/auth/refresh", json!({"refreshToken": token}).to_string()).await
}

#[tokio::test]
async fn a_password_buys_a_pair_and_nothing_tells_who_exists() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "Me@Example.com").await;
    let answer = login(&world, "me@example.com", PASSWORD).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let pair = answer.json();
    assert_eq!(pair["user"]["id"], json!(me.id));
    assert!(pair["accessToken"].as_str().unwrap().starts_with("bir_acc_"));
    assert!(pair["refreshToken"].as_str().unwrap().starts_with("bir_ref_"));
    let access = pair["accessToken"].as_str().unwrap();
    let who = world.get(access, "/me").await.json();
    assert_eq!(
        (&who["user"]["email"], &who["tenant"]["name"], &who["scopes"]),
        (&json!("Me@Example.com"), &json!("ours"), &json!(["api"]))
    );
    assert!(!who.to_string().contains("argon2"));

    let wrong = login(&world, "me@example.com", "wrong").await;
    let unknown = login(&world, "nobody@example.com", "wrong").await;
    let (mut a, mut b) = (wrong.json(), unknown.json());
    assert_eq!(wrong.problem(), (401, "bad_credentials".into()));
    (a["requestId"], b["requestId"]) = (Value::Null, Value::Null);
    assert_eq!(a, b);
    world
        .store
        .change_user(
            world.tenant,
            me.id,
            bir_store::model::UserChange { disabled: Some(true), ..Default::default() },
        )
        .await
        .unwrap();
    assert_eq!(login(&world, "me@example.com", PASSWORD).await.problem(), (401, "bad_credentials".into()));
}

#[tokio::test]
async fn guessing_is_slow_for_an_account_and_for_an_address() {
    let world = World::with(|s| s.limits.login_account = 3).await;
    world.person(world.tenant, Role::Member, "me@example.com").await;
    for _ in 0..3 {
        assert_eq!(login(&world, "me@example.com", "wrong").await.status, 401);
    }
    assert_eq!(login(&world, " ME@example.com", PASSWORD).await.problem(), (429, "rate_limited".into()));
    assert_eq!(login(&world, "other@example.com", "wrong").await.status, 401);
    let world = World::with(|s| s.limits.login_address = 2).await;
    for n in 0..500 {
        let answer = login(&world, &format!("{n}@example.com"), "wrong").await;
        if answer.status == 429 {
            return assert_eq!(answer.problem(), (429, "rate_limited".into()));
        }
    }
    panic!("an address may guess as often as it likes");
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_its_reuse_ends_the_family() {
    let world = World::new().await;
    world.person(world.tenant, Role::Member, "me@example.com").await;
    let first = login(&world, "me@example.com", PASSWORD).await.json();
    let second = refresh(&world, &first["refreshToken"]).await.json();
    assert_ne!(first["refreshToken"], second["refreshToken"]);
    // Within the grace the very same pair comes again: its answer may have been lost.
    let same = refresh(&world, &first["refreshToken"]).await.json();
    assert_eq!(same, second);
    let access = second["accessToken"].as_str().unwrap();
    assert_eq!(world.get(access, "/me").await.status, 200);
    World::wait(11).await;
    assert_eq!(refresh(&world, &first["refreshToken"]).await.problem(), (401, "token_revoked".into()));
    assert_eq!(world.get(access, "/me").await.problem(), (401, "token_revoked".into()));
    assert_eq!(refresh(&world, &second["refreshToken"]).await.problem(), (401, "token_revoked".into()));
    for wrong in [json!("x"), json!(access)] {
        assert_eq!(refresh(&world, &wrong).await.problem(), (401, "unauthorized".into()));
    }
}

#[tokio::test]
async fn signing_out_ends_the_family_and_says_nothing_else() {
    let world = World::new().await;
    world.person(world.tenant, Role::Member, "me@example.com").await;
    let pair = login(&world, "me@example.com", PASSWORD).await.json();
    let access = pair["accessToken"].as_str().unwrap();
    assert_eq!(world.get(access, "/me").await.status, 200);
    // A refresh token is no access token.
    let as_access = world.get(pair["refreshToken"].as_str().unwrap(), "/me").await;
    assert_eq!(as_access.problem(), (401, "unauthorized".into()));
    let out = |token: Value| world.bare("POST", "/auth/logout", json!({"refreshToken": token}).to_string());
    assert_eq!(out(pair["refreshToken"].clone()).await.status, 204);
    assert_eq!(out(json!("unknown")).await.status, 204);
    assert_eq!(world.get(access, "/me").await.problem(), (401, "token_revoked".into()));
    assert_eq!(refresh(&world, &pair["refreshToken"]).await.problem(), (401, "token_revoked".into()));
}

#[tokio::test]
async fn tokens_expire() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    let soon = world.clock.0.load(Ordering::SeqCst) + 1_000;
    let token = world.token(world.tenant, me.id, &["api"], Some(soon)).await;
    assert_eq!(world.get(&token, "/me").await.status, 200);
    world.forward(1_000);
    assert_eq!(world.get(&token, "/me").await.problem(), (401, "token_expired".into()));
    let pair = login(&world, "me@example.com", PASSWORD).await.json();
    let access = pair["accessToken"].as_str().unwrap().to_owned();
    world.forward(3_600_000);
    assert_eq!(world.get(&access, "/me").await.problem(), (401, "token_expired".into()));
    let next = refresh(&world, &pair["refreshToken"]).await.json();
    world.forward(31 * 86_400_000);
    assert_eq!(refresh(&world, &next["refreshToken"]).await.problem(), (401, "token_expired".into()));
}

#[tokio::test]
async fn a_principal_is_believed_for_five_seconds_and_a_revocation_here_is_at_once() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    for _ in 0..5 {
        world.get(&me.token, "/me").await;
    }
    assert_eq!(world.store.look_ups.load(Ordering::SeqCst), 1);
    // Behind the back of this process, as another replica does it.
    let id = world.store.tokens(world.tenant, Some(me.id)).await.unwrap()[0].id;
    world.store.revoke_token(world.tenant, id, None).await.unwrap();
    assert_eq!(world.get(&me.token, "/me").await.status, 200);
    World::wait(5).await;
    assert_eq!(world.get(&me.token, "/me").await.problem(), (401, "token_revoked".into()));

    let other = world.token(world.tenant, me.id, &["api"], None).await;
    let made = world.post(&other, "/tokens", &json!({"name": "laptop", "scopes": ["record"]})).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    let text = made["token"].as_str().unwrap();
    assert!(text.starts_with("bir_pat_"));
    assert_eq!(world.get(text, "/me").await.status, 200);
    let list = world.get(&other, "/tokens").await;
    assert!(list.text().contains("laptop") && !list.text().contains(text));
    let path = format!("/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(world.call(&other, "DELETE", &path, "").await.status, 204);
    assert_eq!(world.get(text, "/me").await.problem(), (401, "token_revoked".into()));
}

#[tokio::test]
async fn others_tokens_are_not_there() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "s@example.net").await;
    let id = world.store.tokens(world.tenant, Some(admin.id)).await.unwrap()[0].id;
    let path = format!("/tokens/{id}");
    for who in [&me, &stranger] {
        assert_eq!(world.call(&who.token, "DELETE", &path, "").await.problem(), (404, "not_found".into()));
    }
    assert_eq!(world.get(&admin.token, "/tokens").await.json()["tokens"].as_array().unwrap().len(), 2);
    assert_eq!(world.get(&me.token, "/tokens").await.json()["tokens"].as_array().unwrap().len(), 1);
    assert_eq!(world.call(&admin.token, "DELETE", &path, "").await.status, 204);
}

#[tokio::test]
async fn people_come_change_and_go() {
    let world = World::new().await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "s@example.net").await;
    let new = json!({"email": "n@example.com", "name": "N", "role": "member", "password": "long enough"});
    let added = world.post(&admin.token, "/people", &new).await;
    assert_eq!(added.status, 201, "{}", added.text());
    let id = added.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(world.post(&admin.token, "/people", &new).await.problem(), (409, "conflict".into()));
    for (wrong, part) in
        [(json!({"email": "n"}), "`email`"), (json!({"email": "x@y", "password": "short"}), "`password`")]
    {
        let answer = world.post(&admin.token, "/people", &wrong).await;
        assert_eq!(answer.problem(), (422, "invalid".into()));
        assert!(answer.text().contains(part));
    }
    let path = format!("/people/{id}");
    let pair = login(&world, "n@example.com", "long enough").await.json();
    let access = pair["accessToken"].as_str().unwrap();
    assert_eq!(world.get(access, "/people").await.problem(), (403, "forbidden".into()));
    let change = |who: &common::Person, path: &str, body: Value| {
        let (token, path, world) = (who.token.clone(), path.to_owned(), &world);
        async move { world.call(&token, "PATCH", &path, body.to_string()).await }
    };
    assert_eq!(change(&stranger, &path, json!({"role": "admin"})).await.problem(), (404, "not_found".into()));
    assert_eq!(change(&admin, &path, json!({"role": "admin"})).await.json()["role"], "admin");
    assert_eq!(world.get(access, "/people").await.status, 200);
    assert_eq!(change(&admin, &path, json!({"disabled": true})).await.status, 200);
    assert_eq!(world.get(access, "/people").await.problem(), (401, "token_revoked".into()));
    assert_eq!(refresh(&world, &pair["refreshToken"]).await.problem(), (401, "token_revoked".into()));
    // The last admin that can sign in stays one.
    let own = format!("/people/{}", admin.id);
    assert_eq!(change(&admin, &own, json!({"role": "member"})).await.problem(), (409, "conflict".into()));
    assert_eq!(change(&admin, &own, json!({"disabled": true})).await.problem(), (409, "conflict".into()));
    assert_eq!(world.call(&admin.token, "DELETE", &own, "").await.problem(), (409, "conflict".into()));
    assert_eq!(world.call(&stranger.token, "DELETE", &path, "").await.problem(), (404, "not_found".into()));
    assert_eq!(world.call(&admin.token, "DELETE", &path, "").await.status, 204);
    assert_eq!(world.get(&admin.token, "/people").await.json()["people"].as_array().unwrap().len(), 1);
}

/// Signs a browser in with a ticket; gives its cookie.
async fn browser(world: &World, token: &str) -> String {
    let url = world.post(token, "/auth/ticket", &json!({})).await.json()["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(ORIGIN).unwrap();
    let answer = world.bare("GET", path, "").await;
    assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (303, "/runs"));
    let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("Secure"),
        "{cookie}"
    );
    // A ticket is good once.
    let again = world.bare("GET", path, "").await;
    assert!(again.status == 403 && !again.headers.contains_key("set-cookie"));
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_ticket_signs_a_browser_in_and_the_button_out() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    let cookie = browser(&world, &me.token).await;
    let get = |path: &'static str| world.send(request("GET", path, &[("cookie", &cookie)], ""));
    assert_eq!(get("/runs").await.status, 200);
    assert_eq!(get("/recordings/runs").await.status, 200);
    assert_eq!(get("/runs/rows").await.status, 200);
    assert_eq!(get("/").await.status, 303);
    let post = |path: &'static str, headers: &[(&str, &str)]| {
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        let request = request("POST", path, &all, "");
        world.send(request)
    };
    for origin in [None, Some("http://evil.example"), Some("null")] {
        let headers: Vec<_> = origin.map(|o| ("origin", o)).into_iter().collect();
        assert_eq!(post("/signout", &headers).await.problem(), (403, "bad_origin".into()), "{origin:?}");
        assert_eq!(post("/auth/ticket", &headers).await.problem(), (403, "bad_origin".into()), "{origin:?}");
    }
    assert_eq!(get("/runs").await.status, 200);
    let out = post("/signout", &[("origin", ORIGIN)]).await;
    assert!(out.status == 303 && out.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(get("/recordings/runs").await.problem(), (401, "unauthorized".into()));
    let to_sign_in = get("/runs?tool=a%20b").await;
    assert_eq!(to_sign_in.headers["location"], "/signin?next=/runs%3Ftool%3Da%2520b");
}

#[tokio::test]
async fn a_ticket_gets_old() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    let url =
        world.post(&me.token, "/auth/ticket", &json!({})).await.json()["url"].as_str().unwrap().to_owned();
    world.forward(60_000);
    assert_eq!(world.bare("GET", url.strip_prefix(ORIGIN).unwrap(), "").await.status, 403);
}

#[tokio::test]
async fn a_form_signs_in_and_stays_on_this_site() {
    let world = World::with(|s| s.public_url = Some("https://hub.example.com".into())).await;
    world.person(world.tenant, Role::Member, "me@example.com").await;
    let form = |body: &str, origin: Option<&str>| {
        let mut headers =
            vec![("host", "hub.example.com"), ("content-type", "application/x-www-form-urlencoded")];
        headers.extend(origin.map(|o| ("origin", o)));
        let request = request("POST", "/signin", &headers, body.to_owned());
        world.send(request)
    };
    let right = "email=me%40example.com&password=correct+horse+battery&next=%2Fruns%3Ftool%3Dx";
    let origin = Some("https://hub.example.com");
    let done = form(right, origin).await;
    assert_eq!((done.status.as_u16(), done.headers["location"].to_str().unwrap()), (303, "/runs?tool=x"));
    assert!(done.headers["set-cookie"].to_str().unwrap().contains("; Secure"));
    let away = form(&right.replace("%2Fruns%3Ftool%3Dx", "%2F%2Fevil.example"), origin).await;
    assert_eq!(away.headers["location"], "/runs");
    let wrong = form("email=me%40example.com&password=wrong", origin).await;
    assert!(
        wrong.status == 401
            && wrong.text().contains("me@example.com")
            && !wrong.headers.contains_key("set-cookie")
    );
    assert_eq!(form(right, None).await.problem(), (403, "bad_origin".into()));
    assert_eq!(form(right, Some("https://evil.example")).await.problem(), (403, "bad_origin".into()));
}

#[tokio::test]
async fn a_device_is_signed_in_by_a_person_with_a_browser() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "me@example.com").await;
    let cookie = browser(&world, &me.token).await;
    let begin = || async { world.bare("POST", "/auth/device", "{}").await.json() };
    let poll =
        |code: Value| world.bare("POST", "/auth/device/token", json!({"deviceCode": code}).to_string());
    let decide = |code: &str, decision: &str| {
        let headers = [("cookie", cookie.as_str()), ("origin", ORIGIN)];
        let request = request("POST", "/device", &headers, format!("user_code={code}&decision={decision}"));
        world.send(request)
    };
    let grant = begin().await;
    let code = grant["userCode"].as_str().unwrap();
    assert_eq!(grant["verificationUri"], format!("http://{HOST}/device"));
    assert_eq!(poll(grant["deviceCode"].clone()).await.problem(), (428, "authorization_pending".into()));
    assert_eq!(poll(grant["deviceCode"].clone()).await.problem(), (429, "slow_down".into()));
    let page = world.send(request("GET", "/device?code=ABCD-EFGH", &[("cookie", &cookie)], "")).await;
    assert!(page.status == 200 && page.text().contains("ABCD-EFGH"));
    assert_eq!(decide("WRNG-CODE", "allow").await.status, 404);
    assert_eq!(decide(&code.to_lowercase(), "allow").await.status, 200);
    let pair = poll(grant["deviceCode"].clone()).await.json();
    assert_eq!(pair["user"]["id"], json!(me.id));
    assert_eq!(world.get(pair["accessToken"].as_str().unwrap(), "/me").await.status, 200);
    assert_eq!(poll(grant["deviceCode"].clone()).await.problem(), (410, "expired_token".into()));
    let grant = begin().await;
    decide(grant["userCode"].as_str().unwrap(), "deny").await;
    assert_eq!(poll(grant["deviceCode"].clone()).await.problem(), (403, "access_denied".into()));
    let grant = begin().await;
    world.forward(600_000);
    assert_eq!(poll(grant["deviceCode"].clone()).await.problem(), (410, "expired_token".into()));
}

#[tokio::test]
async fn the_edge_knows_its_names_and_says_how_to_treat_its_answers() {
    let world = World::new().await;
    let rebound = world.send(request("GET", "/health", &[("host", "evil.example:7411")], "")).await;
    assert_eq!(rebound.problem(), (421, "bad_host".into()));
    let cross = world.send(request("POST", "/auth/login", &[("origin", "http://evil.example")], "{}")).await;
    assert_eq!(cross.problem(), (403, "bad_origin".into()));
    let health = world.send(request("GET", "/health", &[("x-request-id", "given-by-a-proxy.1")], "")).await;
    assert_eq!(health.headers["x-request-id"], "given-by-a-proxy.1");
    let body = health.json();
    assert_eq!(
        (&body["status"], &body["apiVersion"], &body["store"], &body["version"]),
        (&json!("ok"), &json!(1), &json!("memory"), &json!("0.0.0-test"))
    );
    assert!(body["instance"].as_str().is_some_and(|i| i.len() == 32));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
    ] {
        assert_eq!(health.headers[name], value);
    }
    let csp = health.headers["content-security-policy"].to_str().unwrap();
    assert!(csp.contains("frame-ancestors 'none'") && !csp.contains("unsafe"), "{csp}");
    for wrong in ["Basic eA==", "Bearer", "Bearer x", "bir_pat_x"] {
        let answer = world.send(request("GET", "/me", &[("authorization", wrong)], "")).await;
        assert_eq!(answer.problem(), (401, "unauthorized".into()), "{wrong}");
        assert!(answer.headers.contains_key("www-authenticate"));
    }
    let asset = world.bare("GET", "/static/console.css", "").await;
    assert!(asset.status == 200 && asset.headers["content-type"].to_str().unwrap().starts_with("text/css"));
    let etag = asset.headers["etag"].to_str().unwrap().to_owned();
    let known = world.send(request("GET", "/static/console.css", &[("if-none-match", &etag)], "")).await;
    assert!(known.status == 304 && known.bytes.is_empty());
    assert_eq!(world.bare("GET", "/static/../Cargo.toml", "").await.problem(), (404, "not_found".into()));
}
