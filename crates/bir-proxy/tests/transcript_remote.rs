//! The same session over stdio without the proxy, and through it over HTTP and SSE: every message that the host reads and
//! every message that the upstream reads is the same.
//!
//! Over HTTP messages have bodies instead of lines, and each POST may have a connection of its own. So what is compared
//! is messages; their order wherever the protocol fixes one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/raw_http.rs"]
mod raw_http;
#[path = "common/remote.rs"]
mod remote;

use bir_testkit::{Chunking, On, Script, Step};
use common::*;
use raw_http::*;
use remote::*;
use std::io::Write;
use std::process::ChildStdin;

/// Params that only survive a relay which changes nothing. `x/custom` is answered with the line as it came.
const ODD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":11,"method":"x/custom","params":{"a" : 1e400 , "b":-0,"c":12345678901234567890,"a":2,M}}"#,
    "  {\t\"params\":{M } , \"method\"  :\"x/custom\",\"id\":\"1 2\",\"jsonrpc\":\"2.0\"}  ",
    "{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"x/custom\",\"params\":{\"s\":\"\\ud800 \\u00e9 é \u{2028} \u{1f600} \\/ \\u0000 \\udc00\\ud800\",M}}",
    r#"{"jsonrpc":"2.0","id":15,"method":"x/custom","params":{"":[0.1e-7,1E5,1.0,true,null],M},"member":{"of":"nobody"}}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"unknown/method","params":{"x":null,M}}"#,
    r#"{"id":18,"method":"x/custom","params":{M}}"#,
    r#"{"jsonrpc":"1.0","id":19,"method":"x\/custom","params":{"x":1,"x":1,"X":[ [ ] , { } ],M},"params2":"\u0000"}"#,
    r#"{"\u006dethod":"x/custom","\u0069d":20,"jsonrpc":"2.0","p\u0061rams":{M}}"#,
    r#"{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"echo","arguments":[ 1.0,-0 , 1e400 ],"x":{},M}}"#,
    r#"{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"rawline","arguments":{"d":-9007199254740993},M}}"#,
    r#"{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"rpc_error",M}}"#,
    r#"{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"nobody's tool",M}}"#,
];

fn odd(stage: &Stage) -> Vec<String> {
    let meta = stage.meta();
    let fill = |line: &&str| line.replace(",M}", &format!(",{meta}}}")).replace("{M", &format!("{{{meta}"));
    ODD.iter().map(fill).collect()
}

#[test]
fn odd_requests_reach_the_upstream_and_their_answers_the_host() {
    let seen = same_over(&Leg::ALL, &Script::new(), |stage| {
        stage.open();
        for line in odd(stage) {
            stage.ask(&line);
            assert_eq!(stage.received().last(), Some(&line));
        }
    });
    assert!(seen.iter().all(|seen| seen.host.len() >= ODD.len()));
}

#[test]
fn odd_messages_of_the_host_reach_the_upstream() {
    const MESSAGES: &[&[u8]] = &[
        br#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"x":1.10}}"#,
        br#"{"jsonrpc":"2.0","id":12,"id":13,"method":"ping","method":"x/custom"}"#,
        br#"{"Method":"ping","ID":1}"#,
        br#"{"jsonrpc":"2.0","id":18,"error":{"code":-1.0,"message":"","data":[ ]}}"#,
        br#"{"jsonrpc":"2.0","id":"nobody asked","result":{}}"#,
        br#"[ {"jsonrpc":"2.0","id":19,"method":"ping"},{"jsonrpc":"2.0","method":"n"} ]"#,
        br#"{"jsonrpc":"1.0","id":null,"method":"ping"}"#,
        b"{\"id\":21,\"method\":\"x/custom\",\"params\":\"\xff\xc3\x28\"}",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"x/custom\"}".as_bytes(),
        b" \t{ } ",
        b"[]",
        b"{\"unterminated",
        b"not even JSON",
        b"{\"id\":22,\"method\":\"ping\"}",
    ];
    let server = RawServer::start(|asked, stream| {
        shake_hands(asked, stream).unwrap_or_else(|| {
            let known = asked.body.contains("\"id\":22");
            if known { json(stream, r#"{"id":22,"result":{}}"#) } else { whole(stream, 202, "", "") }
        })
    });
    let mut proxy = Streamed::start(&server.url(), "http");
    proxy.open();
    let bodies = || server.asked().into_iter().filter(|a| a.head.starts_with("post")).collect::<Vec<_>>();
    wait_until("the handshake is over", || bodies().len() == 2);
    for (n, message) in MESSAGES.iter().enumerate() {
        let stdin = proxy.stdin.as_mut().unwrap();
        // Blank lines, a carriage return, and no newline at the very end.
        let end: &[u8] = if n + 1 == MESSAGES.len() { b"" } else { b"\r\n\r\n \t\n\n" };
        stdin.write_all(&[message, end].concat()).unwrap();
        if end.is_empty() {
            proxy.stdin = None;
        }
        wait_until("it has arrived", || bodies().len() == n + 3);
        assert_eq!(bodies().pop().unwrap().sum, sum([message.to_vec()]), "{}", text(message));
    }
    let mut lines = Vec::new();
    loop {
        match proxy.line() {
            line if line.is_empty() => break,
            line => lines.push(line),
        }
    }
    assert_eq!(lines.last().unwrap(), r#"{"id":22,"result":{}}"#);
    // Each request has an answer under its own id: of a repeated one the last counts, as most readers of JSON have it.
    let ids: Vec<&str> =
        lines.iter().filter_map(|line| line.split("\"id\":").nth(1)?.split(',').next()).collect();
    assert_eq!(ids, ["13", "19", "null", "16", "22"]);
}

#[test]
fn odd_messages_reach_the_host() {
    // Each goes ahead of an answer, which makes an event stream of it.
    let odd: Vec<&str> = ODD
        .iter()
        .copied()
        .chain([
            r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"x":1.10}}"#,
            r#"{"Method":"ping","ID":1}"#,
            r#"{"jsonrpc":"2.0","id":"nobody asked","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":77,"error":{"code":-1.0,"message":"","data":[ ]}}"#,
            r#"{"jsonrpc":"2.0","id":12,"id":13,"method":"ping","method":"x/custom"}"#,
            r#"[ {"jsonrpc":"2.0","id":19,"method":"ping"},{"jsonrpc":"2.0","method":"n"} ]"#,
            "[]",
            "{}",
            " \t{ } ",
            r#"{"a":"unterminated}"#,
        ])
        .collect();
    let steps = odd.iter().map(|line| Step::message(*line));
    let answer = Step::answer("  { \"id\":${id} ,\t\"result\" : 1e400, \"id2\":${id}}  ");
    let script = Script::new().on(On::tool("odd"), steps.chain([answer]));
    let seen = same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        stage.send(stage.call("\"odd\"", "odd", "{}"));
        for line in &odd {
            assert_eq!(stage.next(), *line);
        }
        assert!(stage.next().contains("1e400"));
    });
    assert_eq!(seen.len(), Leg::ALL.len());
}

#[test]
fn ids_come_back_as_written_also_when_all_are_in_flight() {
    const IDS: [&str; 10] = [
        "1",
        "\"1\"",
        "1.0",
        "9007199254740993",
        "12345678901234567890",
        "\"é\"",
        "\"\\u00e9\"",
        "\"\"",
        "-0",
        "1e400",
    ];
    let error = "{\"error\":{\"code\":-1,\"message\":\"\"}, \"id\" : ${id} ,\"jsonrpc\":\"2.0\"}";
    let script = Script::new()
        .on(On::tool("held"), [Step::wait_for("x/go"), Step::result("{\"id\" : ${id}}")])
        .on(On::tool("bad"), [Step::answer(error)]);
    same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        for id in IDS {
            assert!(
                stage
                    .ask(stage.call(id, "echo", "{}"))
                    .starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},"))
            );
            assert!(stage.ask(stage.call(id, "bad", "{}")).contains(&format!("\"id\" : {id} ,")));
        }
    });
    same_over_in_any_order(&Leg::ALL, &script, |stage| {
        stage.open();
        let before = stage.received().len();
        for id in IDS {
            stage.send(stage.call(id, "held", "{}"));
        }
        stage.arrived(before + IDS.len());
        stage.send(r#"{"jsonrpc":"2.0","method":"x/go"}"#);
        for _ in IDS {
            assert!(stage.next().contains("\"result\":{\"id\""));
        }
    });
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

const FROM_UPSTREAM: [&str; 5] =
    ["sampling/createMessage", "elicitation/create", "roots/list", "ping", "x/unknown"];

const NOTIFICATIONS: [&str; 9] = [
    "notifications/message",
    "notifications/progress",
    "notifications/cancelled",
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
    "notifications/unknown",
];

#[test]
fn every_method_of_the_host_and_its_answers_pass() {
    let good = "{\"id\" : ${id},\"result\":{\"line\":${line_text},\"n\":1.0,\"n\":-0},\"jsonrpc\":\"2.0\"}";
    let bad = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\" : -32601,\"message\":\"no\",\"x\":1.0},\"id\":${id}}";
    let mut script = Script::new();
    for (method, is_request) in FROM_HOST {
        if is_request {
            // The first `initialize` is the handshake.
            let first = usize::from(method == "initialize");
            script = script.on(On::method(method).nth(first + 1), [Step::answer(good)]);
            script = script.on(On::method(method).nth(first + 2), [Step::answer(bad)]);
        }
    }
    for modern in [false, true] {
        let legs: &[Leg] = if modern { &Leg::MODERN } else { &Leg::LEGACY };
        let mut script = script.clone();
        if modern {
            script = script.on(On::method("initialize"), [Step::answer(good)]);
        }
        same_over(legs, &script, |stage| {
            stage.open();
            for (n, (method, is_request)) in FROM_HOST.into_iter().enumerate() {
                for round in 0..2 {
                    let params = format!("\"name\" : \"t\",\"uri\":\"a:\",\"odd\":{n}.0,\"round\":{round}");
                    if is_request {
                        stage.ask(stage.request(&format!("1{n}{round}"), method, &params));
                    } else {
                        let meta = stage.meta();
                        stage.tell(format!("{{\"method\":\"{method}\" ,\"params\":{{{params},{meta}}}}}"));
                    }
                }
            }
        });
    }
}

#[test]
fn every_request_of_the_upstream_and_its_reply_pass() {
    let mut script = Script::new();
    for (n, method) in FROM_UPSTREAM.into_iter().enumerate() {
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
    // The modern era has no requests of the upstream, but one that sends them has them relayed.
    same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        for n in 0..FROM_UPSTREAM.len() {
            stage.send(stage.call("1", &format!("t{n}"), "{}"));
            assert!(stage.next().contains("\"id\":1,\"method\""));
            stage.send("{\"result\" :{\"a\":1e400}, \"id\":1}");
            assert!(stage.next().contains("\"id\":\"1\",\"method\""));
            stage.send("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1, \"message\":\"no\"},\"id\":\"1\"}");
            assert!(stage.next().contains("\"reply\":{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1, \"mess"));
        }
    });
}

#[test]
fn t20_a_request_of_the_upstream_outside_of_any_call_is_asked_and_answered() {
    // It comes on the standalone stream, or on the one stream of HTTP+SSE.
    let script = Script::new().on(
        On::method("x/now"),
        [
            Step::ask("elicitation/create", "{\"message\":\"é\"}"),
            Step::notify("x/got", "{\"reply\":${reply_line}}"),
        ],
    );
    same_over(&Leg::LEGACY, &script, |stage| {
        stage.open();
        stage.send("{\"method\":\"x/now\"}");
        assert!(stage.next().contains("\"id\":\"ask-1\",\"method\":\"elicitation/create\""));
        stage.send("{\"id\":\"ask-1\",\"result\":{\"action\" : \"decline\"}}");
        assert!(stage.next().contains("\"action\" : \"decline\""));
    });
}

#[test]
fn every_notification_of_the_upstream_passes() {
    let notify = |method: &str| Step::notify(method, "{\"odd\" : 1.0,\"x\":{\"\":null}}");
    let steps: Vec<Step> = NOTIFICATIONS.into_iter().map(notify).chain([Step::Default]).collect();
    let script = Script::new().on(On::tool("echo"), steps);
    same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        stage.send(stage.call("1", "echo", "{}"));
        for method in NOTIFICATIONS {
            assert!(stage.next().contains(method));
        }
        assert!(stage.next().contains("\"id\":1"));
    });
}

#[test]
fn what_belongs_to_no_call_arrives_on_the_standalone_stream() {
    let script = Script::new().on(
        On::method("x/now"),
        [Step::Changed("tools".into()), Step::notify("notifications/message", "{\"data\" : 1.0}")],
    );
    same_over(&Leg::LEGACY, &script, |stage| {
        stage.open();
        for _ in 0..3 {
            stage.send("{\"method\":\"x/now\"}");
            assert!(stage.next().contains("notifications/tools/list_changed"));
            assert!(stage.next().contains("{\"data\" : 1.0}"));
        }
    });
    same_over_in_any_order(&Leg::LEGACY, &Script::new(), |stage| {
        stage.open();
        for id in ["1", "2"] {
            stage.send(stage.call(id, "change", "{\"what\":\"prompts\"}"));
            let both = [stage.next(), stage.next()].concat();
            assert!(both.contains("prompts/list_changed") && both.contains("\"changed\""), "{both}");
        }
    });
}

#[test]
fn t19_each_progress_arrives_before_the_next_one_is_sent() {
    // The upstream sends the next one only when the host has said that it has seen the last.
    let progress = |n: usize| {
        format!("{{\"progressToken\":${{token}},\"progress\":{n}.0,\"total\":1e2,\"message\":\"\\u00e9\"}}")
    };
    let mut steps = Vec::new();
    for n in 1..=15 {
        steps.push(Step::notify("notifications/progress", &progress(n)));
        steps.push(Step::wait_for_nth("x/seen", n));
    }
    steps.push(Step::result("{}"));
    same_over(&Leg::ALL, &Script::new().on(On::tool("slow"), steps), |stage| {
        stage.open();
        let meta = if stage.is_modern() { META.trim_start_matches("\"_meta\":{") } else { "\"x\":1}" };
        let token = "\"_meta\":{\"progressToken\":\"\\u00e9 1.0\",";
        stage.send(request("1", "tools/call", &format!("{{\"name\":\"slow\",{token}{meta}}}")));
        for n in 1..=15 {
            let line = stage.next();
            assert!(line.contains(&format!("\"progress\":{n}.0")), "{line}");
            assert!(line.contains("\"progressToken\":\"\\u00e9 1.0\""), "{line}");
            stage.tell(r#"{"method":"x/seen"}"#);
        }
        assert!(stage.next().contains("\"result\":{}"));
    });
}

/// Waits until the other side has read everything that was written.
fn drained(stdin: &ChildStdin) {
    wait_until("the pipe is empty", || rustix::io::ioctl_fionread(stdin).unwrap() == 0);
}

#[test]
fn t2_an_emoji_cut_at_every_byte_by_the_host_stays_whole() {
    for legs in [&Leg::LEGACY[..], &Leg::MODERN] {
        same_over(legs, &Script::new(), |stage| {
            stage.open();
            let line = stage.call("1", "echo", "{\"s\":\"\u{1f600}\\ud83d\\ude00é\"}") + "\n";
            let from = line.find("{\"s\"").unwrap();
            let mut stdin = stage.host.take_stdin().unwrap();
            for cut in from..line.len() {
                stdin.write_all(&line.as_bytes()[..cut]).unwrap();
                drained(&stdin);
                stdin.write_all(&line.as_bytes()[cut..]).unwrap();
                assert!(stage.next().contains("\u{1f600}"));
            }
        });
    }
}

#[test]
fn t2_an_emoji_cut_at_every_byte_by_the_upstream_stays_whole() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"s\":\"\u{1f600}é\u{2028}\"}}";
    let from = frame.find('\u{1f600}').unwrap();
    // What an event stream has in front of the message: "event: message\r\nid: 1-1\r\ndata: ".
    let cuts = from - 2..from + 10 + 32;
    let mut script = Script::new();
    for (n, cut) in cuts.clone().enumerate() {
        let cut = Chunking { at: vec![cut], every: 0, pause_ms: 3 };
        script = script.on(On::tool("cut").nth(n + 1), [Step::Chunk(cut), Step::answer(frame)]);
    }
    let each = Chunking { at: cuts.clone().collect(), every: 0, pause_ms: 1 };
    script = script.on(On::tool("each"), [Step::Chunk(each), Step::answer(frame)]);
    same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        for _ in cuts.clone() {
            assert_eq!(stage.ask(stage.call("1", "cut", "{}")), frame);
        }
        assert_eq!(stage.ask(stage.call("1", "each", "{}")), frame);
    });
}

#[test]
fn t2_an_answer_of_hundreds_of_kilobytes_cut_anywhere_stays_whole() {
    // More than is held before a message streams.
    let emoji = "\u{1f600}é\u{2028}\\ud83d\\ude00".repeat(14_000);
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"s\":\"{emoji}\"}}}}");
    assert!(frame.len() > 256 * 1024);
    let script = Script::new().on(On::tool("cut"), [Step::chunk_every(4_095), Step::answer(frame.as_str())]);
    same_over(&Leg::ALL, &script, |stage| {
        stage.open();
        assert!(stage.ask(stage.call("1", "cut", "{}")) == frame);
        assert!(stage.ask(stage.call("\"2\"", "ping", "{}")).contains("\"id\":\"2\""));
    });
}

/// The message as a relay of lines must write it whose upstream breaks lines after each `,`, `{` and `[`.
fn spread(message: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
    for c in message.chars() {
        out.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ',' | '{' | '[' if !inside => out.push(' '),
            _ => {}
        }
    }
    out
}

#[test]
fn line_breaks_between_tokens_become_spaces_and_nothing_else_changes() {
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"a,b":"{\\\",[\n","n":[1e400,-0]}}"#;
    let answer = r#"{"id":${id},"result":{"x":"a, {b","y":[{},[ ]],"u":"\u000a\\"}}"#;
    for legs in [&[Leg::Json, Leg::Events, Leg::Sse, Leg::FoundSse][..], &Leg::MODERN] {
        let script = Script::new()
            .on(On::tool("late"), [Step::message(progress), Step::answer(answer)])
            .on(On::tool("short"), [Step::answer(answer)]);
        let play = |stage: &mut Stage| {
            stage.open();
            stage.ask(stage.call("1", "late", "{}"));
            stage.next();
            stage.ask(stage.call("\"a,b\"", "short", "{}"));
        };
        let mut plain = script.clone();
        plain.era = legs[0].era();
        let mut direct = Stage::direct(&plain);
        play(&mut direct);
        let direct = direct.finish();
        for leg in legs {
            let mut stage = Stage::through(&script.clone().http(|http| http.answer.multiline = true), *leg);
            play(&mut stage);
            let seen = stage.finish();
            let expected: Vec<String> = direct.host.iter().map(|line| spread(line)).collect();
            assert_eq!(seen.host, expected, "{leg:?}");
            assert_eq!(seen.upstream, direct.upstream, "{leg:?}");
        }
    }
}

#[test]
fn a_pretty_printed_body_becomes_one_line() {
    let json = [("Content-Type", "application/json; charset=utf-8")];
    let body = "\u{feff}\r\n{\r\n\t\"jsonrpc\": \"2.0\",\n\n  \"id\": 7,\n  \"result\": {\n    \"a\": [\n 1.0,\n\"\\n\"\n]\n  }\n}\r\n\n";
    let line = "{  \t\"jsonrpc\": \"2.0\",    \"id\": 7,   \"result\": {     \"a\": [  1.0, \"\\n\" ]   } }";
    for leg in [Leg::Json, Leg::Modern] {
        let script = Script::new().on(On::tool("pretty"), [Step::http(200, &json, body)]);
        let mut stage = Stage::through(&script, leg);
        stage.open();
        assert_eq!(stage.ask(stage.call("7", "pretty", "{}")), line);
        assert_eq!(stage.finish().status, 0);
    }
}

#[test]
fn multi_line_events_with_every_line_end_become_one_line() {
    for end in ["\n", "\r\n", "\r"] {
        let events = format!(
            ": hello{end}id: 9{end}data: {{\"jsonrpc\":\"2.0\",{end}data:\"method\":\"notifications/message\",{end}data:  \"params\":{{}}}}{end}{end}event: message{end}data:{{\"jsonrpc\":\"2.0\"{end}data: ,\"id\":7{end}data: ,\"result\":{{}}}}{end}{end}"
        );
        let http = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{events}",
            events.len()
        );
        for leg in [Leg::Json, Leg::Modern] {
            let script = Script::new()
                .on(On::tool("x"), [Step::chunk_every(1), Step::Connection(http.as_str().into())]);
            let mut stage = Stage::through(&script, leg);
            stage.open();
            let first = stage.ask(stage.call("7", "x", "{}"));
            assert_eq!(first, r#"{"jsonrpc":"2.0", "method":"notifications/message",  "params":{}}"#);
            assert_eq!(stage.next(), r#"{"jsonrpc":"2.0" ,"id":7 ,"result":{}}"#);
        }
    }
}

#[test]
fn gzip_late_headers_and_first_events_without_data_change_nothing() {
    let play = |stage: &mut Stage| {
        stage.open();
        assert!(stage.ask(stage.call("1", "echo", "{\"s\":\"é\u{1f600}\" }")).contains("\u{1f600}"));
        stage.ask(stage.request("2", "tools/list", ""));
    };
    // A leg sets the shape that it stands for; what is set here stays.
    let gzip = Script::new().http(|http| {
        http.answer.gzip = true;
        http.answer.delay_headers_ms = 30;
    });
    same_over(&Leg::ALL, &gzip, play);
    let prime = Script::new().http(|http| http.answer.prime = true);
    same_over(&[Leg::Events, Leg::ModernEvents], &prime, play);
}

#[test]
fn a_call_in_several_round_trips_passes() {
    let same_state = r#""requestState":"state of reverse: \"é\"""#;
    same_over(&Leg::MODERN, &Script::new(), |stage| {
        stage.ask(modern("\"d\"", "server/discover", ""));
        stage.send(modern_call("1", "reverse", r#"{"method":"elicitation/create","params":{"a" : 1.0}}"#));
        let required = stage.next();
        assert!(required.contains("input_required") && required.contains(same_state), "{required}");
        let answer = format!(
            r#""name":"reverse","arguments":{{"method":"elicitation/create"}},"inputResponses":{{"reverse":{{"action" : "accept","content":{{"n":1.0}}}}}},{same_state}"#
        );
        assert!(stage.ask(modern("2", "tools/call", &answer)).contains(r#"\"action\" : \"accept\""#));
    });
}

#[test]
fn subscriptions_pass() {
    let listen = modern("\"l:0\"", "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let seen = same_over_in_any_order(&Leg::MODERN, &Script::new(), |stage| {
        assert!(stage.ask(&listen).contains("subscriptions/acknowledged"));
        for id in ["2", "3"] {
            stage.send(modern_call(id, "change", "{\"what\":\"tools\"}"));
            let both = [stage.next(), stage.next()].concat();
            assert!(both.contains("list_changed") && both.contains(&format!("\"id\":{id}")), "{both}");
        }
    });
    assert!(seen.iter().all(|seen| seen.host.len() == 5));
    for leg in Leg::MODERN {
        let mut stage = Stage::through(&Script::new(), leg);
        assert!(stage.ask(&listen).contains("subscriptions/acknowledged"));
        stage.send(r#"{"method":"notifications/cancelled","params":{"requestId":"l:0"}}"#);
        stage.wait_event("http_gone");
        assert!(stage.ask(modern_call("2", "change", "{\"what\":\"tools\"}")).contains("\"id\":2"));
        assert_eq!(stage.finish().upstream.len(), 2, "a closed stream is the cancellation");
    }
}

#[test]
fn tasks_pass() {
    let script = Script::new()
        .server(|s| s.tasks = true)
        .on(On::tool("x"), [Step::wait_for("x/go"), Step::result("{\"content\":[ ],\"n\":1.0}")]);
    same_over_in_any_order(&Leg::LEGACY, &script, |stage| {
        stage.open();
        assert!(
            stage
                .ask(request("1", "tools/call", r#"{"name":"x","task":{"ttl":60000.0}}"#))
                .contains("working")
        );
        assert!(stage.ask(request("2", "tasks/get", r#"{"taskId":"task-1"}"#)).contains("working"));
        stage.tell(r#"{"method":"x/go"}"#);
        assert!(stage.next().contains("notifications/tasks/status"));
        assert!(stage.ask(request("3", "tasks/result", r#"{"taskId":"task-1"}"#)).contains("related-task"));
        for (id, method) in [("4", "tasks/list"), ("5", "tasks/cancel")] {
            stage.ask(request(id, method, r#"{"taskId":"task-1"}"#));
        }
    });
}

#[test]
fn a_cancellation_is_posted_in_the_legacy_era_and_closes_the_stream_in_the_modern_one() {
    let script = Script::new()
        .on(On::tool("slow"), [Step::notify("x/begun", "{}"), Step::wait_for("x/late"), Step::result("{ }")]);
    let cancel = r#"{"method":"notifications/cancelled" ,"params":{"requestId":"é","reason":"\ud800"}}"#;
    let seen = same_over(&Leg::LEGACY, &script, |stage| {
        stage.open();
        assert!(stage.ask(stage.call("\"é\"", "slow", "{}")).contains("x/begun"));
        stage.tell(cancel);
        assert!(stage.ask(stage.call("2", "echo", "{}")).contains("\"id\":2"));
        stage.send(r#"{"method":"x/late"}"#);
        assert!(stage.next().contains("{ }"), "the upstream did not heed it, and its answer passes");
    });
    assert!(seen.iter().all(|seen| seen.upstream.iter().any(|message| message == cancel)));
    let script = Script::new().on(On::tool("slow"), [Step::notify("x/begun", "{}"), Step::Hang]);
    for leg in Leg::MODERN {
        let mut stage = Stage::through(&script, leg);
        assert!(stage.ask(stage.call("\"é\"", "slow", "{}")).contains("x/begun"));
        stage.send(cancel);
        stage.wait_event("http_gone");
        assert!(stage.ask(stage.call("2", "echo", "{}")).contains("\"id\":2"));
        let seen = stage.finish();
        assert_eq!((seen.upstream.len(), seen.host.len(), seen.status), (2, 2, 0));
    }
}

#[test]
fn two_hundred_requests_in_flight_all_come_back() {
    same_over_in_any_order(&Leg::ALL, &Script::new(), |stage| {
        stage.open();
        for n in 0..200 {
            stage.send(stage.call(&n.to_string(), "echo", &format!("{{\"n\" : {n}.0}}")));
        }
        for _ in 0..200 {
            stage.next();
        }
    });
}
