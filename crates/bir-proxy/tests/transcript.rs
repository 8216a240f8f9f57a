//! The same session without the proxy and through it: every byte that the host reads and every byte that the upstream
//! reads is the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Chunking, Eras, On, Script, StdioHost, Step};
use common::*;
use std::process::ChildStdin;

/// Frames that only survive a relay which changes nothing.
const ODD: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"x/custom\",\"params\":{\"a\" : 1e400 , \"b\":-0,\"c\":12345678901234567890,\"a\":2}}\n",
    "  {\t\"params\":{ } , \"method\"  :\"x/custom\",\"id\":\"1 2\",\"jsonrpc\":\"2.0\"}  \n",
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"id\":13,\"method\":\"ping\",\"method\":\"x/custom\"}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"x/custom\",\"params\":{\"s\":\"\\ud800 \\u00e9 é \u{2028} \u{1f600} \\/ \\u0000\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":15,\"method\":\"x/custom\",\"params\":[0.1e-7,1E5,1.0,true,null],\"member\":{\"of\":\"nobody\"}}\r\n",
    "\n",
    " \t \r\n",
    "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"x/custom\"}\n",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\",\"params\":{\"x\":1.10}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"unknown/method\",\"params\":null}\n",
    "{\"jsonrpc\":\"1.0\",\"id\":null,\"method\":\"ping\"}\n",
    "{\"Method\":\"ping\",\"ID\":1}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":18,\"error\":{\"code\":-1.0,\"message\":\"\",\"data\":[ ]}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":\"nobody asked\",\"result\":{}}\n",
    "[ {\"jsonrpc\":\"2.0\",\"id\":19,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"} ]\n",
    "[]\n",
    "{\"unterminated\n",
    "{}\n",
];

fn odd() -> Vec<u8> {
    ODD.concat().into_bytes()
}

fn opening(era: Eras) -> String {
    match era {
        Eras::Legacy => format!("{INIT}\n{INITIALIZED}\n"),
        _ => format!("{}\n", modern("0", "server/discover", "")),
    }
}

fn send(host: &mut StdioHost, line: impl AsRef<[u8]>) {
    host.send(line).unwrap();
}

fn next(host: &mut StdioHost) -> String {
    text(host.line(BUDGET).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn every_byte_of_odd_messages_reaches_the_upstream_in_both_eras() {
    for era in [Eras::Legacy, Eras::Modern] {
        let seen = same(&Script::era(era), |host| {
            host.write(opening(era)).unwrap();
            host.write(odd()).unwrap();
            host.write("not even JSON\n".as_bytes()).unwrap();
            host.write(b"{\"id\":21,\"method\":\"x/custom\",\"params\":\"\xff\xc3\x28\"}\n").unwrap();
            host.write("{\"id\":22,\"method\":\"ping\"}".as_bytes()).unwrap(); // no newline at the end
        });
        assert!(text(&seen.upstream).contains(&ODD.concat()));
        assert!(text(&seen.upstream).ends_with("{\"id\":22,\"method\":\"ping\"}"));
        assert!(text(&seen.host).lines().count() > 10, "{}", text(&seen.host));
    }
}

#[test]
fn every_byte_of_odd_messages_reaches_the_host_in_both_eras() {
    for era in [Eras::Legacy, Eras::Modern] {
        let script = Script::era(era)
            .on(On::tool("odd"), [Step::bytes(odd()), Step::answer("{ \"id\":${id} , \"result\" : 1e400}")])
            .on(On::eof(), [Step::bytes("{\"jsonrpc\":\"2.0\",\"method\":\"last words\"}")]);
        let seen = same(&script, |host| {
            host.write(opening(era)).unwrap();
            next(host);
            send(host, call("\"odd\"", "odd", "{}"));
            for _ in 0..=ODD.len() {
                next(host);
            }
        });
        assert!(text(&seen.host).contains(&ODD.concat()));
        assert!(text(&seen.host).ends_with("{\"jsonrpc\":\"2.0\",\"method\":\"last words\"}"));
    }
}

#[test]
fn line_ends_and_marks_of_the_upstream_stay() {
    let script = Script::new().framing(|f| {
        f.bom = true;
        f.line_end = "\r\n".into();
        f.before_each = "\n".into();
    });
    let seen = same(&script, |host| host.write(format!("{}{INIT}\r\n\r\n", opening(Eras::Legacy))).unwrap());
    assert!(seen.host.starts_with("\u{feff}\n{".as_bytes()));
    assert_eq!(text(&seen.host).matches("\r\n").count(), 2);
}

/// Waits until the other side has read everything that was written.
fn drained(stdin: &ChildStdin) {
    wait_until("the pipe is empty", || rustix::io::ioctl_fionread(stdin).unwrap() == 0);
}

#[test]
fn t2_an_emoji_cut_at_every_byte_by_the_host_stays_whole() {
    use std::io::Write as _;
    let line = call("1", "echo", "{\"s\":\"\u{1f600}\\ud83d\\ude00é\"}") + "\n";
    same(&Script::new(), |host| {
        let mut stdin = host.take_stdin().unwrap();
        for cut in 1..line.len() {
            stdin.write_all(&line.as_bytes()[..cut]).unwrap();
            drained(&stdin);
            stdin.write_all(&line.as_bytes()[cut..]).unwrap();
            assert!(next(host).contains("\u{1f600}"));
        }
    });
}

#[test]
fn t2_an_emoji_cut_at_every_byte_by_the_upstream_stays_whole() {
    for (era, small) in [(Eras::Legacy, true), (Eras::Modern, true), (Eras::Legacy, false)] {
        // 80 KB of it do not fit into what the relay holds at once.
        let emoji = "\u{1f600}é\u{2028}".repeat(if small { 1 } else { 9_000 });
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"s\":\"{emoji}\"}}}}");
        let from = frame.find('\u{1f600}').unwrap();
        let script = if small {
            (1..13).fold(Script::era(era), |script, n| {
                let cut = Chunking { at: vec![from + n - 2], every: 0, pause_ms: 10 };
                script.on(On::tool("cut").nth(n), [Step::Chunk(cut), Step::answer(frame.as_str())])
            })
        } else {
            Script::era(era).on(On::tool("cut"), [Step::chunk_every(4_095), Step::answer(frame.as_str())])
        };
        let rounds = if small { 12 } else { 1 };
        let seen = same(&script, |host| {
            for _ in 0..rounds {
                send(host, call("1", "cut", "{}"));
                assert_eq!(next(host), frame);
            }
        });
        assert_eq!(text(&seen.host).matches(&frame).count(), rounds);
    }
}

/// Seed of the map: everything that a host sends.
const FROM_HOST: [(&str, bool); 17] = [
    ("initialize", true),
    ("notifications/initialized", false),
    ("ping", true),
    ("tools/list", true),
    ("tools/call", true),
    ("prompts/list", true),
    ("prompts/get", true),
    ("resources/list", true),
    ("resources/templates/list", true),
    ("resources/read", true),
    ("resources/subscribe", true),
    ("resources/unsubscribe", true),
    ("completion/complete", true),
    ("logging/setLevel", true),
    ("notifications/cancelled", false),
    ("notifications/progress", false),
    ("notifications/roots/list_changed", false),
];

const FROM_UPSTREAM: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

const NOTIFICATIONS: [&str; 8] = [
    "notifications/message",
    "notifications/progress",
    "notifications/cancelled",
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
];

#[test]
fn every_method_of_the_host_and_its_answer_pass_in_both_eras() {
    for era in [Eras::Legacy, Eras::Modern] {
        let answers = |ok: bool| match ok {
            true => {
                "{\"id\" : ${id},\"result\":{\"line\":${line_text},\"n\":1.0,\"n\":-0},\"jsonrpc\":\"2.0\"}"
            }
            false => {
                "{\"jsonrpc\":\"2.0\",\"error\":{\"code\" : -32601,\"message\":\"no\",\"x\":1.0},\"id\":${id}}"
            }
        };
        let mut script = Script::era(era);
        for (method, is_request) in FROM_HOST {
            if is_request {
                script = script
                    .on(On::method(method).nth(1), [Step::answer(answers(true))])
                    .on(On::method(method).nth(2), [Step::answer(answers(false))]);
            }
        }
        let seen = same(&script, |host| {
            for (n, (method, is_request)) in FROM_HOST.into_iter().enumerate() {
                for round in 0..2 {
                    let params = format!("{{\"name\" : \"t\",\"odd\":{n}.0,\"round\":{round},{META}}}");
                    if is_request {
                        send(host, request(&format!("{n}{round}"), method, &params));
                        next(host);
                    } else {
                        send(host, format!("{{\"method\":\"{method}\" ,\"params\":{params}}}"));
                    }
                }
            }
        });
        assert_eq!(text(&seen.host).lines().count(), 26);
        assert_eq!(text(&seen.upstream).lines().count(), 34);
    }
}

#[test]
fn every_request_of_the_upstream_and_its_reply_pass() {
    for era in [Eras::Legacy, Eras::Modern] {
        let mut script = Script::era(era);
        for (n, method) in FROM_UPSTREAM.into_iter().chain(["ping", "x/unknown"]).enumerate() {
            let ask = |id: &str| Step::Ask {
                method: method.into(),
                params: Some("{\"odd\" : 1.0,\"s\":\"\\ud800\"}".into()),
                id: Some(id.into()),
                timeout_ms: 20_000,
            };
            // The host's ids and the upstream's are two spaces: 1 is in flight both ways.
            let answer = Step::answer("{\"id\":${id},\"result\":{\"reply\":${reply_line}}}");
            script = script.on(On::tool(&format!("t{n}")), [ask("1"), ask("\"1\""), answer]);
        }
        let seen = same(&script, |host| {
            for n in 0..5 {
                send(host, modern_call("1", &format!("t{n}"), "{}"));
                assert!(next(host).contains("\"id\":1,\"method\""));
                send(host, "{\"result\" :{\"a\":1e400}, \"id\":1}");
                assert!(next(host).contains("\"id\":\"1\",\"method\""));
                send(host, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1, \"message\":\"no\"},\"id\":\"1\"}");
                assert!(next(host).contains("\"reply\":{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1, \"mess"));
            }
        });
        assert_eq!(text(&seen.host).lines().count(), 15);
    }
}

#[test]
fn every_notification_of_the_upstream_passes() {
    for era in [Eras::Legacy, Eras::Modern] {
        let notify = |method: &&str| Step::notify(method, "{\"odd\" : 1.0,\"x\":{\"\":null}}");
        let steps: Vec<Step> = NOTIFICATIONS.iter().map(notify).chain([Step::Default]).collect();
        let script = Script::era(era).on(On::tool("echo"), steps);
        let seen = same(&script, |host| {
            send(host, modern_call("1", "echo", "{}"));
            for method in NOTIFICATIONS {
                assert!(next(host).contains(method));
            }
            assert!(next(host).contains("\"id\":1"));
        });
        assert_eq!(text(&seen.host).lines().count(), 9);
    }
}

#[test]
fn a_call_in_several_round_trips_passes() {
    let same_state = r#""requestState":"state of reverse: \"é\"""#;
    same(&Script::era(Eras::Modern), |host| {
        send(host, modern("\"d\"", "server/discover", ""));
        next(host);
        send(host, modern_call("1", "reverse", r#"{"method":"elicitation/create","params":{"a" : 1.0}}"#));
        let required = next(host);
        assert!(required.contains("input_required") && required.contains(same_state), "{required}");
        let answer = format!(
            r#""name":"reverse","arguments":{{"method":"elicitation/create"}},"inputResponses":{{"reverse":{{"action" : "accept","content":{{"n":1.0}}}}}},{same_state}"#
        );
        send(host, modern("2", "tools/call", &answer));
        assert!(next(host).contains(r#"\"action\" : \"accept\""#));
    });
}

#[test]
fn tasks_pass() {
    let script = Script::new()
        .server(|s| s.tasks = true)
        .on(On::tool("x"), [Step::wait_for("x/go"), Step::result("{\"content\":[ ],\"n\":1.0}")]);
    same(&script, |host| {
        host.write(opening(Eras::Legacy)).unwrap();
        next(host);
        send(host, request("1", "tools/call", r#"{"name":"x","task":{"ttl":60000.0}}"#));
        assert!(next(host).contains("working"));
        send(host, request("2", "tasks/get", r#"{"taskId":"task-1"}"#));
        assert!(next(host).contains("working"));
        send(host, r#"{"method":"x/go"}"#);
        assert!(next(host).contains("completed"));
        send(host, request("3", "tasks/result", r#"{"taskId":"task-1"}"#));
        assert!(next(host).contains("related-task"));
        for (id, method) in [("4", "tasks/list"), ("5", "tasks/cancel")] {
            send(host, request(id, method, r#"{"taskId":"task-1"}"#));
            next(host);
        }
    });
}

#[test]
fn subscriptions_pass() {
    same(&Script::era(Eras::Modern), |host| {
        send(host, modern("\"l:0\"", "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#));
        assert!(next(host).contains("subscriptions/acknowledged"));
        for id in ["2", "3"] {
            send(host, modern_call(id, "change", "{\"what\":\"tools\"}"));
            assert!(next(host).contains("list_changed"));
            assert!(next(host).contains(&format!("\"id\":{id}")));
        }
        send(host, r#"{"method":"notifications/cancelled","params":{"requestId":"l:0"}}"#);
    });
}

#[test]
fn t19_each_progress_arrives_before_the_next_one_is_sent() {
    for era in [Eras::Legacy, Eras::Modern] {
        // The upstream sends the next one only when the host has said that it has seen the last.
        let progress = |n: usize| {
            format!(
                "{{\"progressToken\":${{token}},\"progress\":{n}.0,\"total\":1e2,\"message\":\"\\u00e9\"}}"
            )
        };
        let mut steps = Vec::new();
        for n in 1..=15 {
            steps.push(Step::notify("notifications/progress", &progress(n)));
            steps.push(Step::wait_for_nth("x/seen", n));
        }
        steps.push(Step::result("{}"));
        let script = Script::era(era).on(On::tool("slow"), steps);
        let seen = same(&script, |host| {
            let params = r#"{"name":"slow","_meta":{"progressToken":"\u00e9 1.0","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
            send(host, request("1", "tools/call", params));
            for n in 1..=15 {
                assert!(next(host).contains(&format!("\"progress\":{n}.0")));
                send(host, r#"{"method":"x/seen"}"#);
            }
            assert!(next(host).contains("\"result\":{}"));
        });
        assert_eq!(text(&seen.host).matches(r#""progressToken":"\u00e9 1.0""#).count(), 15);
    }
}

#[test]
fn two_thousand_messages_in_flight_keep_their_order() {
    let lines: String =
        (0..2_000).map(|n| call(&n.to_string(), "echo", &format!("{{\"n\":{n}}}")) + "\n").collect();
    let seen = same(&Script::new(), |host| {
        let mut stdin = host.take_stdin().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| std::io::Write::write_all(&mut stdin, lines.as_bytes()).unwrap());
            for _ in 0..2_000 {
                next(host);
            }
        });
    });
    assert_eq!(text(&seen.host).lines().count(), 2_000);
}
