//! Which tools there are, as the thread is told of it.

use super::*;

fn session(sighting: Sighting) -> Session {
    Session::at(Scope::Any, sighting, |now| now)
}

fn listed(session: &mut Session, cursor: Option<&str>, result: &str) {
    let params = cursor.map(|cursor| format!("{{\"cursor\":\"{cursor}\"}}"));
    session.tap.observe(Event::ToolsListed {
        params: params.as_deref().map(str::as_bytes),
        result: Payload { head: result.as_bytes(), len: result.len() as u64 },
        at: Moment { epoch_ms: 0, instant: Instant::now() },
    });
}

fn tools(session: &Session) -> Vec<String> {
    session.kept.lines().into_iter().filter(|line| line.starts_with("tools")).collect()
}

fn rows(session: &Session) -> usize {
    session.kept.records().iter().filter(|record| matches!(record, Record::Step(_))).count()
}

#[test]
fn a_run_says_its_tools_before_its_first_call_and_once_for_each_content() {
    let mut session = session(Sighting::Nothing);
    listed(&mut session, None, r#"{"tools":[{"name":"b"}],"nextCursor":"x"}"#);
    listed(&mut session, Some("x"), r#"{"tools":[{"name":"a"}]}"#);
    assert!(session.kept.records().is_empty(), "there was no call");
    session.call(0, "{}");
    session.until("the call is kept", |s| rows(s) == 2);
    assert!(
        session.kept.lines()[1].starts_with("tools of files: a b and 0 more"),
        "{:?}",
        session.kept.lines()
    );
    // The host asks again; nothing has changed.
    listed(&mut session, None, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#);
    session.call(1, "{}");
    session.until("the second call is kept", |s| rows(s) == 4);
    assert_eq!(tools(&session).len(), 1);
    // It has changed, and goes back.
    listed(&mut session, None, r#"{"tools":[{"name":"c"}],"nextCursor":"y"}"#);
    session.call(2, "{}");
    session.until("the third call is kept", |s| rows(s) == 6);
    listed(&mut session, Some("y"), r#"{"tools":[{"name":"d"}]}"#);
    session.call(3, "{}");
    session.until("the fourth call is kept", |s| rows(s) == 8);
    let (told, ..) = {
        let told = tools(&session);
        (told, session.close(Farewell::Clean))
    };
    assert_eq!(
        told,
        ["tools of files: a b and 0 more", "tools of files: c and 1 more", "tools of files: c d and 0 more"]
    );
}

#[test]
fn a_session_without_a_list_and_one_that_is_broken_are_recorded_all_the_same() {
    for result in ["", "[]", "{\"tools\":7}", "{\"tools\":[{\"name\":\"a\"},{\"na", "\u{0}\u{1}"] {
        let mut session = session(Sighting::Nothing);
        if !result.is_empty() {
            listed(&mut session, None, result);
        }
        session.call(0, "{}");
        session.until("the call is kept", |s| rows(s) == 2);
    }
}

#[test]
fn a_control_server_is_introduced_to_them_and_again_when_they_change() {
    let mut session = session(ANSWERS);
    listed(&mut session, None, r#"{"tools":[{"name":"a"}]}"#);
    session.call(0, "{}");
    session.until("it is told", |s| s.desk.get(|desk| desk.taken.len() == 2));
    let shown = |s: &Session| {
        s.desk.get(|desk| {
            let known = desk.registrations.last().unwrap();
            let set = known.tools.as_ref().unwrap();
            assert_eq!(known.server.tools.as_deref(), Some(&*crate::tools::hash(set)));
            set.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        })
    };
    assert_eq!(shown(&session), ["a"]);
    listed(&mut session, None, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#);
    session.call(1, "{}");
    session.until("it is told", |s| s.desk.get(|desk| desk.taken.len() == 4));
    assert_eq!(shown(&session), ["a", "b"]);
}

#[test]
fn who_is_switched_off_holds_no_list() {
    let mut session = session(Sighting::Nothing);
    session.queue.set_deaf(true);
    listed(&mut session, None, r#"{"tools":[{"name":"a"}]}"#);
    assert!(session.queue.take_listing().is_none());
    session.queue.set_deaf(false);
    listed(&mut session, None, r#"{"tools":[{"name":"a"}]}"#);
    assert!(session.queue.take_listing().is_some() && session.queue.take_listing().is_none());
}
