//! Reporting to a control server, and what happens where there is none any more: every call is told once, in one place.

use super::*;
use crate::recorder::backlog::{STEP_BACKLOG, calls};
use crate::recorder::negotiation::WINDOW;
use bir_model::control::ProxyWhat;
use std::collections::BTreeMap;

/// A report in one line.
fn told(report: &ProxyReport) -> String {
    let text = |told: &Option<bir_model::control::Told>| told.as_ref().map_or("-", |t| &t.text).to_owned();
    match &report.what {
        ProxyWhat::Began { input } => format!("{} began {} {}", report.call, report.tool, text(input)),
        ProxyWhat::Ended { outcome, output, error, ambiguous, legs, .. } => {
            let guess = if *ambiguous { " (guess)" } else { "" };
            let legs: String = legs
                .iter()
                .map(|leg| format!(" leg {} {} → {}", leg.leg, leg.asked.text, text(&leg.answered)))
                .collect();
            format!("{} {outcome} {} {}{legs}{guess}", report.call, text(output), text(error))
        }
        ProxyWhat::Lost { calls, reason } => format!("lost {calls} {reason}"),
    }
}

fn lines(reports: &[ProxyReport]) -> Vec<String> {
    reports.iter().map(told).collect()
}

fn session(sighting: Sighting) -> Session {
    Session::at(Scope::Any, sighting, |now| now)
}

fn taken(session: &Session) -> Vec<String> {
    session.desk.get(|desk| lines(&desk.taken))
}

fn inbox(session: &Session) -> Vec<String> {
    session.desk.get(|desk| lines(&desk.inbox))
}

/// Where each call is, by the id that its host gave it: its rows in runs of one's own, its reports that were taken or are in
/// the inbox. Told twice is told once.
fn places(session: &Session) -> BTreeMap<String, [usize; 2]> {
    let mut places: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for record in session.kept.records() {
        if let Record::Step(step) = record {
            places.entry(step.call_id.unwrap()).or_default()[0] += 1;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for report in session.desk.get(|desk| [desk.taken.clone(), desk.inbox.clone()].concat()) {
        if let Some(id) = report.call_id.clone()
            && seen.insert(format!("{} {}", report.call, matches!(report.what, ProxyWhat::Began { .. })))
        {
            places.entry(id).or_default()[1] += 1;
        }
    }
    places
}

fn said(session: &Session, what: &str) -> usize {
    session.around.said.lock().unwrap().iter().filter(|said| said.starts_with(what)).count()
}

/// The end, with the session left to look at.
fn close(session: &Session, farewell: Farewell) {
    session.queue.close(farewell);
    session.queue.wait_done(Duration::from_secs(30));
}

#[test]
fn what_passes_is_reported_as_it_happens_and_nothing_else_is_kept() {
    for scope in [Scope::Any, Scope::User] {
        let mut session = Session::at(scope, ANSWERS, |now| now);
        session.began(0, "a", "{\"n\":1}");
        session.until("the beginning is told while the call is open", |s| taken(s).len() == 1);
        session.ended(0);
        session.began(1, "hidden", "{}");
        session.ended(1);
        session.began(2, "my secret tool", "{}");
        session.until("the next call is told", |s| taken(s).len() == 3);
        close(&session, Farewell::Clean);
        let expected = ["0 began a {\"n\":1}", "0 ok {} -", "1 began my [redacted] tool {}", "1 unknown - -"];
        assert_eq!(taken(&session), expected, "{scope:?}");
        let (first, end) = session.desk.get(|desk| (desk.taken[0].clone(), desk.taken[1].clone()));
        for report in [&first, &end] {
            assert_eq!(report.call_id.as_deref(), Some("toolu_0"));
            assert_eq!(report.fingerprint.as_ref().unwrap().0, "#{\"n\":1}");
        }
        assert!(matches!(end.what, ProxyWhat::Ended { duration_us: Some(_), .. }));
        assert!(session.kept.lines().is_empty());
        assert!(!session.kept.events().contains(&"ship"), "the control server ships");
        assert_eq!(inbox(&session), ["1 unknown - -"], "what had not been taken at the end is safe first");
        assert_eq!(said(&session, "tier.bound"), 1);
    }
}

#[test]
fn a_report_has_everything_that_was_seen() {
    let mut reports = super::super::reports::Reports::default();
    let at = Moment { epoch_ms: 7, instant: Instant::now() };
    let mut tell = |call, what| reports.told(Told { call: CallKey(call), at, what }, &Plain);
    let long = Value::of(Payload { head: b"[1,", len: 90 });
    let began = What::Began { tool: "a".into(), host_call_id: None, arguments: Some(long), replayed: false };
    let began = tell(0, began).unwrap();
    assert_eq!((began.at, began.fingerprint.is_none()), (7, true), "not all of it was kept");
    assert!(tell(0, What::LegEnded { leg: 1, result: value("ask") }).is_none());
    assert!(tell(0, What::LegBegan { input: Some(value("yes")) }).is_none());
    let (outcome, answer) = (Outcome::RpcError, value("{\"code\":1}"));
    let end = tell(0, What::Ended { outcome, answer, ambiguous: true }).unwrap();
    assert_eq!(told(&end), "0 rpc_error - {\"code\":1} leg 1 ask → yes (guess)");
    assert!(tell(0, What::Cancelled).is_none(), "it is over");
    assert!(tell(5, What::Lost).is_none(), "it never began");
    let none = What::Began { tool: "b".into(), host_call_id: None, arguments: None, replayed: false };
    assert_eq!(tell(1, none).unwrap().fingerprint.unwrap().0, "#{}", "as hosts tell it to their hooks");
    assert_eq!(told(&tell(1, What::Cancelled).unwrap()), "1 cancelled - -");
}

#[test]
fn who_speaks_with_whom_is_told_when_it_is_known() {
    let mut session = session(ANSWERS);
    session.call(0, "{}");
    session.until("it is told", |s| taken(s).len() == 2);
    let at = Moment { epoch_ms: 0, instant: Instant::now() };
    let result = br#"{"serverInfo":{"name":"srv","version":"3"}}"#;
    let result = Payload { head: result, len: result.len() as u64 };
    session.tap.observe(Event::Connected {
        era: Era::Legacy,
        client: Some(br#"{"name":"host"}"#),
        result,
        at,
    });
    session.call(1, "{}");
    session.until("it is told", |s| taken(s).len() == 4);
    let seen = session.desk.get(|desk| desk.registrations.clone());
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!((seen[0].host.as_ref(), seen[0].server.name.as_str()), (None, "files"));
    assert_eq!(seen[1].host.as_ref().unwrap().app, "host");
    assert_eq!((seen[1].server.title.as_deref(), seen[1].server.era), (Some("srv"), Some(Era::Legacy)));
    assert_eq!(seen[0].proxy_id, seen[1].proxy_id);
    assert_eq!(seen[0].proxy_id.len(), 36);
}

#[test]
fn in_a_project_that_is_set_up_nothing_is_kept_before_it_is_known_where() {
    for (scope, sign) in [(Scope::Any, Sighting::Installed), (Scope::User, Sighting::Asked)] {
        let mut session = Session::at(scope, sign, |now| now);
        session.call(0, "{}");
        session.until("it was looked for", |s| s.desk.get(|desk| desk.looks > 0));
        assert!(session.kept.events().is_empty() && inbox(&session).is_empty());
        session.desk.change(|desk| {
            desk.sighting = ANSWERS;
            desk.heard.push_back(Heard::Sighted(ANSWERS));
        });
        session.until("it is told", |s| taken(s).len() == 2);
        assert!(session.kept.lines().is_empty());
    }
}

#[test]
fn a_session_that_ends_before_anybody_came_is_left_in_the_inbox() {
    for farewell in [Farewell::Clean, Farewell::Signal] {
        let mut session = session(Sighting::Installed);
        session.call(0, "{}");
        session.began(1, "b", "{}");
        close(&session, farewell);
        assert_eq!(inbox(&session), ["0 began t {}", "0 ok {} -", "1 began b {}", "1 unknown - -"]);
        assert!(session.kept.lines().is_empty());
    }
}

#[test]
fn where_nobody_will_come_the_run_is_ones_own_at_once() {
    let long_ago = |now: Instant| now.checked_sub(WINDOW).unwrap_or(now);
    let other = Sighting::Answered { api_version: Some(API_VERSION + 1) };
    for (sighting, window_is_over) in
        [(Sighting::Stopped, false), (other, false), (Sighting::Installed, true), (Sighting::Asked, true)]
    {
        let window = move |now| if window_is_over { long_ago(now) } else { now };
        let mut session = Session::at(Scope::Any, sighting.clone(), window);
        session.call(0, "{}");
        close(&session, Farewell::Clean);
        assert_eq!(session.kept.lines().len(), 4, "{sighting:?}");
        assert!(session.kept.lines().iter().all(|line| !line.starts_with("lost")));
        assert!(inbox(&session).is_empty() && taken(&session).is_empty());
        assert_eq!(said(&session, "tier.downgrade"), 0);
    }
}

#[test]
fn one_report_that_nobody_took_is_told_again_to_the_next_in_its_order() {
    let mut session = session(ANSWERS);
    session.desk.change(|desk| desk.fates = [Fate::Gone, Fate::Taken].into());
    session.call(0, "{}");
    session.until("it is told", |s| taken(s).len() == 2);
    close(&session, Farewell::Clean);
    assert_eq!(taken(&session), ["0 began t {}", "0 ok {} -"]);
    assert!(inbox(&session).is_empty(), "the successor was there");
    assert_eq!(said(&session, "tier.downgrade"), 0);
}

#[test]
fn where_nobody_answers_what_is_untaken_is_brought_to_the_inbox() {
    let mut session = session(ANSWERS);
    session.call(0, "{}");
    session.until("it is told", |s| taken(s).len() == 2);
    session.desk.change(|desk| {
        desk.fates = [Fate::Gone].into();
        desk.sighting = Sighting::Installed;
    });
    session.call(1, "{}");
    session.until("it is safe", |s| inbox(s).len() == 2);
    // It comes back, and what was left is not told again by us.
    session.desk.change(|desk| {
        desk.fates = [Fate::Taken].into();
        desk.sighting = ANSWERS;
    });
    session.call(2, "{}");
    session.until("it is told", |s| taken(s).len() == 4);
    close(&session, Farewell::Clean);
    assert_eq!(inbox(&session), ["1 began t {}", "1 ok {} -"]);
    assert_eq!(taken(&session)[2..], ["2 began t {}", "2 ok {} -"]);
    assert_eq!((said(&session, "tier.downgrade"), said(&session, "tier.bound")), (0, 1));
    assert!(session.kept.lines().is_empty());
}

/// Calls that are open while the owner changes: each ends where it began.
#[test]
fn a_downgrade_and_a_return_put_no_call_into_two_runs() {
    let mut session = session(ANSWERS);
    session.call(0, "{}");
    session.began(1, "over the downgrade", "{}");
    session.until("they are told", |s| taken(s).len() == 3);
    session.desk.change(|desk| {
        desk.fates = [Fate::Gone].into();
        desk.sighting = Sighting::Stopped;
    });
    session.call(2, "{}");
    session.until("the downgrade", |s| said(s, "tier.downgrade") == 1);
    assert_eq!(inbox(&session), ["2 began t {}", "2 ok {} -"]);
    session.ended(1);
    session.until("its end is safe", |s| inbox(s).len() == 3);
    session.call(3, "{}");
    session.began(4, "over the return", "{}");
    session.until("they are kept", |s| s.kept.lines().len() == 5);
    session.desk.change(|desk| {
        desk.fates = [Fate::Taken].into();
        (desk.sighting, desk.has_moved) = (ANSWERS, true);
    });
    let mut key = 100;
    while said(&session, "tier.bound") < 2 {
        session.call(key, "{}");
        key += 1;
        std::thread::sleep(Duration::from_millis(20));
        assert!(key < 1_000, "it never comes back");
    }
    let open = session.kept.lines();
    assert!(!open.iter().any(|line| line.starts_with("finish")), "a call is open: {open:?}");
    session.ended(4);
    session.until("the run is over", |s| s.kept.lines().last().unwrap() == "finish Closed");
    session.call(5, "{}");
    session.until("it is told", |s| places(s).get("toolu_5") == Some(&[0, 2]));
    close(&session, Farewell::Clean);

    let lines = session.kept.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("run standalone")).count(), 1, "one run");
    assert_eq!(lines.iter().filter(|line| line.starts_with("finish")).count(), 1);
    assert_eq!(lines[1], "lost 0 downgrade", "it says that it is not everything");
    let places = places(&session);
    assert_eq!(places.len() as u64, 6 + (key - 100));
    for (call, place) in places {
        assert!(place == [2, 0] || place == [0, 2], "{call} is in {place:?}");
    }
}

/// Whatever fate the parcels meet, in whatever order: each call is told once, in one place.
#[test]
fn a_control_server_that_comes_and_goes_loses_and_doubles_nothing() {
    for seed in 0..6_u64 {
        let mut session = session(ANSWERS);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut open = Vec::new();
        for key in 0..400 {
            session.began(key, "t", "{}");
            open.push(key);
            while open.len() > 8 || (next(2) == 0 && !open.is_empty()) {
                let at = next(open.len() as u64) as usize;
                session.ended(open.swap_remove(at));
            }
            if next(12) == 0 {
                let (fate, sighting) = match next(5) {
                    0 => (Fate::Gone, Sighting::Stopped),
                    1 => (Fate::Gone, Sighting::Installed),
                    2 => (Fate::Gone, ANSWERS),
                    _ => (Fate::Taken, ANSWERS),
                };
                session.desk.change(|desk| {
                    desk.fates = [fate].into();
                    (desk.sighting, desk.has_moved) = (sighting, true);
                });
                std::thread::sleep(Duration::from_millis(next(4)));
            }
        }
        close(&session, if seed % 2 == 0 { Farewell::Clean } else { Farewell::Signal });
        let places = places(&session);
        assert_eq!(places.len(), 400, "seed {seed}");
        for (call, place) in places {
            assert!(place == [2, 0] || place == [0, 2], "seed {seed}: {call} is in {place:?}");
        }
    }
}

#[test]
fn more_than_may_wait_in_memory_is_brought_to_the_disk() {
    let mut session = session(ANSWERS);
    session.desk.change(|desk| desk.holds = true);
    session.call(0, "{}");
    session.until("a parcel is on its way", |s| s.queue.is_empty() && s.desk.get(|desk| desk.looks) == 1);
    let last = STEP_BACKLOG as u64;
    for key in 1..=last {
        session.call(key, "{}");
        if key % 50 == 0 {
            session.until("they are taken in", |s| s.queue.is_empty());
        }
    }
    session.until("the rest is safe", |s| inbox(s).len() >= STEP_BACKLOG);
    close(&session, Farewell::Signal);
    assert_eq!(places(&session).len() as u64, last + 1, "with what was on its way when the end came");
    assert!(places(&session).values().all(|place| *place == [0, 2]));
}

#[test]
fn what_nobody_could_keep_is_told_to_the_next() {
    let mut session = session(ANSWERS);
    session.desk.change(|desk| {
        desk.fates = [Fate::Gone].into();
        (desk.sighting, desk.inbox_refuses) = (ANSWERS, true);
    });
    session.call(0, "{}");
    session.until("it is lost", |s| said(s, "reports are lost") == 1);
    session.desk.change(|desk| {
        desk.fates = [Fate::Taken].into();
        desk.inbox_refuses = false;
    });
    session.until("it is told", |s| taken(s).iter().any(|line| line.starts_with("lost")));
    close(&session, Farewell::Clean);
    let (lost, rest) = session.desk.get(|desk| {
        let lost: Vec<_> =
            desk.taken.iter().filter(|r| matches!(r.what, ProxyWhat::Lost { .. })).cloned().collect();
        (calls(&lost), desk.taken.len() - lost.len())
    });
    assert!(lost >= 1 && rest <= 1, "the call is counted");
    let numbers = session.desk.get(|desk| desk.taken.iter().map(|r| r.call).collect::<Vec<_>>());
    assert!(!numbers.contains(&0) || rest == 1, "a loss has a number of its own: {numbers:?}");
}

#[test]
fn what_the_queue_or_the_store_could_not_take_is_told() {
    let mut session = session(ANSWERS);
    session.opens.store(false, Ordering::Relaxed);
    session.call(0, "{}");
    session.until("it was tried", |s| said(s, "nothing is recorded for now") == 1);
    session.opens.store(true, Ordering::Relaxed);
    let mut key = 1;
    session.until("there is something to tell with", |s| s.queue.is_empty());
    while taken(&session).is_empty() {
        session.call(key, "{}");
        key += 1;
        std::thread::sleep(Duration::from_millis(50));
        assert!(key < 1_000);
    }
    session
        .until("the loss is told", |s| taken(s).iter().any(|l| l.starts_with("lost") && l.ends_with("disk")));
}

#[test]
fn a_report_that_is_refused_costs_itself() {
    let mut session = session(ANSWERS);
    session.desk.change(|desk| desk.fates = [Fate::Taken, Fate::Refused, Fate::Taken].into());
    session.began(0, "a", "{}");
    session.until("it is told", |s| taken(s).len() == 1);
    session.ended(0);
    session.until("its end is lost", |s| taken(s).len() == 2);
    assert_eq!(taken(&session), ["0 began a {}", "lost 1 refused"]);
}

#[test]
fn switching_off_ends_what_is_open_and_tells_it() {
    let mut session = session(ANSWERS);
    session.began(0, "a", "{}");
    session.until("it is told", |s| taken(s).len() == 1);
    session.around.off.store(true, Ordering::Relaxed);
    let mut key = 1;
    while !session.queue.is_deaf() {
        session.call(key, "{}");
        key += 1;
        std::thread::sleep(Duration::from_millis(50));
        assert!(key < 1_000, "it goes on");
    }
    session.until("its end is told", |s| taken(s).contains(&"0 unknown - -".to_owned()));
    let before = taken(&session).len();
    session.call(key, "{}");
    session.around.off.store(false, Ordering::Relaxed);
    session.until("it hears again", |s| !s.queue.is_deaf());
    session.call(key + 1, "{}");
    session.until("it is told", |s| taken(s).len() == before + 2);
}

#[test]
fn while_it_is_off_nobody_is_looked_for() {
    let mut session = session(Sighting::Installed);
    session.around.off.store(true, Ordering::Relaxed);
    session.call(0, "{}");
    session.until("it is off", |s| s.queue.is_deaf());
    close(&session, Farewell::Clean);
    assert_eq!(session.desk.get(|desk| desk.looks), 0);
    assert!(inbox(&session).is_empty());
}

#[test]
fn who_takes_ids_is_known_before_the_first_call_and_says_whether_any_may_come() {
    let tools_asked = |session: &mut Session| {
        session.tap.observe(Event::ToolsAsked { at: Moment { epoch_ms: 0, instant: Instant::now() } });
    };
    let ids = Arc::new(AtomicBool::new(false));
    let mut bound = Session::with(Scope::Any, ANSWERS, |now| now, Some(ids.clone()));
    tools_asked(&mut bound);
    bound.until("it is introduced", |s| s.desk.get(|desk| desk.registrations.len() == 1));
    assert!(ids.load(Ordering::Relaxed) && taken(&bound).is_empty());
    bound.around.off.store(true, Ordering::Relaxed);
    let mut key = 0;
    while ids.load(Ordering::Relaxed) {
        bound.call(key, "{}");
        key += 1;
        std::thread::sleep(Duration::from_millis(50));
        assert!(key < 1_000, "none may come while it is off");
    }

    for sighting in [Sighting::Nothing, Sighting::Stopped] {
        let ids = Arc::new(AtomicBool::new(true));
        let mut alone = Session::with(Scope::Any, sighting, |now| now, Some(ids.clone()));
        tools_asked(&mut alone);
        alone.until("none may come to one that is alone", |_| !ids.load(Ordering::Relaxed));
        assert!(alone.kept.lines().is_empty(), "there was no call");
    }

    // Who is asked may be gone for good: until that is known, it is as it was.
    for (answer, may_come) in [(Sighting::Stopped, false), (Sighting::Installed, true)] {
        let ids = Arc::new(AtomicBool::new(!may_come));
        let mut asked = Session::with(Scope::Any, Sighting::Asked, |now| now, Some(ids.clone()));
        tools_asked(&mut asked);
        asked.until("it was looked for", |s| s.desk.get(|desk| desk.looks > 1));
        assert_eq!(ids.load(Ordering::Relaxed), !may_come, "{answer:?} is not known yet");
        asked.desk.change(|desk| {
            desk.sighting = answer.clone();
            desk.heard.push_back(Heard::Sighted(answer.clone()));
        });
        asked.until("it says whether any may come", |_| ids.load(Ordering::Relaxed) == may_come);
    }

    let mut other = session(ANSWERS);
    tools_asked(&mut other);
    close(&other, Farewell::Clean);
    assert_eq!(other.desk.get(|desk| desk.looks), 0, "all others begin with the first call");
}
