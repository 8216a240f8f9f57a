//! Ids are the host's: whatever it wrote comes back, and answers find their requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, On, Script, Step};
use common::*;

const IDS: [&str; 14] = [
    "1",
    "\"1\"",
    "1.0",
    "-0",
    "1e400",
    "9007199254740993",
    "12345678901234567890",
    "\"é\"",
    "\"\\u00e9\"",
    "\"\"",
    "\"\\ud800\"",
    "\" 1\"",
    "\"bir:handshake-1\"",
    "null",
];

/// Answers arrive in the other order than the questions.
fn backwards(era: Eras, ids: &[&str]) -> Script {
    let held: Vec<Step> = ids.iter().rev().map(|id| answer(id, "held")).collect();
    Script::era(era).on(On::tool("hold"), []).on(On::tool("release"), held)
}

fn answer(id: &str, what: &str) -> Step {
    Step::answer(format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"was\":\"{what}\"}},\"id\" : {id} }}"))
}

#[test]
fn t11_every_id_comes_back_as_it_was_written_in_both_eras() {
    for era in [Eras::Legacy, Eras::Modern] {
        let seen = same(&backwards(era, &IDS), |host| {
            for id in IDS {
                host.send(modern_call(id, "hold", "{}")).unwrap();
            }
            host.send(modern_call("\"last\"", "release", "{}")).unwrap();
            for id in IDS.iter().rev() {
                let line = text(host.line(BUDGET).unwrap_or_else(|e| panic!("{id}: {e}")));
                assert!(line.ends_with(&format!("\"id\" : {id} }}")), "{id}: {line}");
            }
        });
        assert_eq!(text(&seen.host).lines().count(), IDS.len());
    }
}

#[test]
fn t11_each_id_in_flight_is_answered_by_itself_when_the_upstream_dies() {
    let mut front = front(Script::new().on(On::tool("hold"), [])).start().open();
    for id in IDS {
        front.send(call(id, "hold", "{}")).unwrap();
    }
    front.send(call("\"end\"", "crash", "{}")).unwrap();
    let mut got: Vec<String> = (0..=IDS.len()).map(|_| front.next()).collect();
    let mut expected: Vec<String> = IDS.iter().chain(&["\"end\""]).map(|id| lost_call(id)).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
    assert_eq!(front.status(), 3);
}

#[test]
fn t11_an_answer_ends_its_own_request_and_no_other() {
    // `1` is answered, the others are not: only they are answered for.
    let script = Script::new().on(On::tool("hold"), []);
    let mut front = front(script).start().open();
    for id in ["\"1\"", "1.0", "01e0"] {
        front.send(call(id, "hold", "{}")).unwrap();
    }
    assert!(front.ask(call("1", "echo", "{}")).contains("\"id\":1,"));
    front.send(call("2", "crash", "{}")).unwrap();
    let mut got: Vec<String> = (0..3).map(|_| front.next()).collect();
    got.sort();
    assert_eq!(got, ["\"1\"", "1.0", "2"].map(lost_call));
    assert_eq!(front.status(), 3);
}

#[test]
fn t8_two_requests_with_the_same_id_each_get_an_answer() {
    let script = Script::new()
        .on(On::tool("hold"), [])
        .on(On::tool("release"), [answer("7", "first"), answer("7", "second"), answer("8", "third")]);
    let seen = same(&script, |host| {
        host.send(call("7", "hold", "{}")).unwrap();
        host.send(request("7", "tools/list", "{}")).unwrap();
        host.send(call("8", "release", "{}")).unwrap();
        let lines: Vec<String> = (0..4).map(|_| text(host.line(BUDGET).unwrap())).collect();
        assert!(lines[0].contains("\"tools\""));
        assert!(lines[1].contains("first") && lines[2].contains("second") && lines[3].contains("third"));
    });
    assert_eq!(text(&seen.host).lines().count(), 4);
}

#[test]
fn t8_two_requests_with_the_same_id_are_both_answered_for() {
    let mut front = front(Script::new().on(On::tool("hold"), []).on(On::method("x/hold"), [])).start().open();
    front.send(call("7", "hold", "{}")).unwrap();
    front.send(request("7", "x/hold", "{}")).unwrap();
    front.send(call("8", "crash", "{}")).unwrap();
    let mut got: Vec<String> = (0..3).map(|_| front.next()).collect();
    got.sort();
    let mut expected = vec![lost_call("7"), lost_request("7"), lost_call("8")];
    expected.sort();
    assert_eq!(got, expected);
}

#[test]
fn the_ids_of_our_own_requests_are_free_for_the_host_in_every_mode() {
    for option in ["--restart", "--lazy"] {
        let mut front = front(Script::new()).option(option).start().open();
        for id in ["\"bir:handshake-1\"", "\"bir:handshake-2\"", "\"bir:\""] {
            assert!(front.ask(call(id, "echo", "{}")).contains(&format!("\"id\":{id},")), "{option}");
        }
        assert_eq!(front.finish(), 0);
    }
}
