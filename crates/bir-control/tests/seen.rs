//! Who has come is still known when the control server that they came to is gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_control_client::Seen;
use bir_model::control::{API_VERSION, HookEvent, HookWhat, Registration};
use bir_model::record::{HostInfo, ServerInfo};
use common::{Home, event, wait};
use std::path::Path;

fn registration(cwd: &Path, server: &str, app: &str) -> Registration {
    Registration {
        api_version: API_VERSION,
        version: "0.0.9".into(),
        proxy_id: uuid::Uuid::now_v7().to_string(),
        server: ServerInfo { name: server.into(), ..ServerInfo::default() },
        pid: 1,
        parent_pid: std::process::id(),
        cwd: cwd.into(),
        host: (!app.is_empty()).then(|| HostInfo { app: app.into(), ..HostInfo::default() }),
        host_session: None,
        takes_call_id: false,
        tools: None,
    }
}

#[test]
fn registrations_and_sessions_are_noted_by_project() {
    let home = Home::new();
    let (a, b) = (home.project("a"), home.project("b"));
    let server = home.serve();
    let began = |cwd: &Path, session: &str, at: u64| HookEvent {
        at,
        ..event(cwd, session, HookWhat::SessionStart { source: "startup".into() })
    };
    assert_eq!(home.client("a").tell(&began(&a.join("sub"), "s", 1_000)).0, 200);
    home.client("a").tell(&began(&a, "s", 2_000));
    for (dir, client) in [(&a, home.client("a")), (&b, home.client("b"))] {
        let told = client.post("/proxy/register", &registration(&dir.join("sub"), "files", "claude-code"));
        assert_eq!(told.0, 200, "{told:?}");
    }
    home.client("a").post("/proxy/register", &registration(&a, "git", ""));
    // A second passes at most before it is written, whoever asks.
    wait("the note", || Seen::read(&home.state()).proxies.len() == 3);
    let seen = Seen::read(&home.state());
    let files = seen.registration(&a, "files").unwrap();
    assert_eq!((files.version.as_str(), files.host.as_deref()), ("0.0.9", Some("claude-code")));
    assert!(seen.registration(&b, "files").is_some() && seen.registration(&b, "git").is_none());
    assert_eq!(seen.registration(&a, "git").unwrap().host, None);
    assert_eq!(seen.session(&a, "claude-code"), Some(1_000), "the same session does not begin twice");
    assert_eq!(seen.session(&b, "claude-code"), None);
    server.end();

    // The next one goes on with it, and what it was told last is written before it ends.
    let server = home.serve();
    home.client("b").tell(&began(&b, "t", 3_000));
    server.end();
    let seen = Seen::read(&home.state());
    assert_eq!((seen.proxies.len(), seen.session(&b, "claude-code")), (3, Some(3_000)));
    assert_eq!(seen.session(&a, "claude-code"), Some(1_000));
}
