//! What a tap is told, from transcripts of both eras.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_model::{Direction, Era};
use bir_tap::{Asked, Clock, Conversation, Event, Moment, Tap, Unanswered};
use bir_wire::{Limits, Scanner};
use std::cell::Cell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Moves on by one millisecond each time it is read.
struct Ticking(Instant, Cell<u64>);

impl Clock for Ticking {
    fn now(&self) -> Moment {
        let ms = self.1.get();
        self.1.set(ms + 1);
        Moment { epoch_ms: ms, instant: self.0 + Duration::from_millis(ms) }
    }
}

struct Told(Sender<String>);

impl Tap for Told {
    fn observe(&mut self, event: Event<'_>) {
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let line = match event {
            Event::Opening { era, client, .. } => {
                format!("opens {era}{}", client.map_or(String::new(), |c| format!(" by {}", text(c))))
            }
            Event::Connected { era, client, result, .. } => {
                let by = client.map_or(String::new(), |c| format!(" by {}", text(c)));
                format!("connected {era}{by} {}", text(result.head))
            }
            Event::Began { call, tool, host_call_id, arguments, client, replayed, at } => format!(
                "{} {}began {tool} {} {} at {}{}",
                call.0,
                if replayed { "replayed, " } else { "" },
                host_call_id.unwrap_or("-".into()),
                arguments.map_or("-".into(), |a| text(a.head)),
                at.epoch_ms,
                client.map_or(String::new(), |c| format!(" by {}", text(c))),
            ),
            Event::LegEnded { call, leg, result, .. } => {
                format!("{} leg {leg} ended {}", call.0, text(result.head))
            }
            Event::LegBegan { call, leg, input, .. } => {
                format!("{} leg {leg} began {}", call.0, input.map_or("-".into(), |i| text(i.head)))
            }
            Event::Ended { call, outcome, answer, ambiguous, .. } => {
                let guess = if ambiguous { " (guess)" } else { "" };
                format!("{} {outcome}{guess} {}", call.0, text(answer.head))
            }
            Event::Cancelled { call, .. } => format!("{} cancelled", call.0),
            Event::ToolsAsked { .. } => return,
            Event::ToolsListed { params, result, .. } => {
                format!("tools {} {}", params.map_or("-".into(), text), text(result.head))
            }
            Event::Lost { call, .. } => format!("{} lost", call.0),
        };
        self.0.send(line).unwrap();
    }
}

struct Wire {
    conversation: Conversation<Ticking>,
    told: Receiver<String>,
}

impl Wire {
    fn new() -> Self {
        let (tell, told) = channel();
        let mut conversation = Conversation::new(Ticking(Instant::now(), Cell::new(0)));
        conversation.attach(Box::new(Told(tell)));
        Self { conversation, told }
    }

    fn pass(&mut self, direction: Direction, line: &str) -> Option<Asked> {
        let mut scanner = Scanner::new(Limits::default());
        self.conversation.observe(direction, &scanner.finish_whole(line.as_bytes()))
    }

    fn host(&mut self, line: &str) {
        assert_eq!(self.pass(Direction::HostToUpstream, line), None);
    }

    fn upstream(&mut self, line: &str) -> Option<Asked> {
        self.pass(Direction::UpstreamToHost, line)
    }

    fn told(&self) -> Vec<String> {
        self.told.try_iter().collect()
    }
}

#[test]
fn a_legacy_session_is_told_call_by_call() {
    let mut wire = Wire::new();
    wire.host(r#"{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover"}"#);
    assert!(!wire.conversation.is_established());
    assert_eq!(
        wire.upstream(r#"{"id":"server-discover-probe-1","error":{"code":-32601,"message":"no"}}"#),
        Some(Asked::Discover)
    );
    assert!(!wire.conversation.is_established(), "a refused probe opens nothing");
    wire.host(r#"{"method":"initialize","params":{"protocolVersion":"2025-11-25"},"id":0}"#);
    assert_eq!(
        wire.upstream(r#"{"result":{"protocolVersion":"2025-11-25"},"id":0}"#),
        Some(Asked::Initialize)
    );
    assert_eq!(wire.conversation.era(), Some(Era::Legacy));
    assert!(wire.conversation.is_established());
    wire.host(
        r#"{"method":"tools/call","params":{"name":"f\u0061il","arguments":{"a": 1e400},"_meta":{"claudecode/toolUseId":"toolu_1"}},"id":2}"#,
    );
    wire.host(r#"{"method":"tools/call","params":{"name":"x","_meta":{"callId":"call_2"}},"id":"2"}"#);
    wire.upstream(r#"{"id":"2","result":{"content":[],"isError":true}}"#);
    wire.upstream(r#"{"id":2,"error":{"code":-32602,"message":"m"}}"#);
    assert_eq!(
        wire.told(),
        [
            "opens modern",
            "opens legacy",
            r#"connected legacy {"protocolVersion":"2025-11-25"}"#,
            r#"0 began fail toolu_1 {"a": 1e400} at 3"#,
            "1 began x call_2 - at 4",
            r#"1 tool_error {"content":[],"isError":true}"#,
            r#"0 rpc_error {"code":-32602,"message":"m"}"#,
        ]
    );
}

#[test]
fn a_host_that_opens_with_a_call_is_established() {
    let mut wire = Wire::new();
    assert!(!wire.conversation.is_established());
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    assert!(wire.conversation.is_established());
    wire.host(r#"{"id":2,"method":"initialize"}"#);
    assert!(!wire.conversation.is_established());
}

#[test]
fn the_legs_of_a_modern_call_are_one_call() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"ask","arguments":{"q":1}}}"#);
    wire.host(r#"{"id":2,"method":"tools/call","params":{"name":"ask","arguments":{"q":2}}}"#);
    wire.upstream(
        r#"{"id":1,"result":{"resultType":"input_required","inputRequests":{},"requestState":"s-1"}}"#,
    );
    wire.upstream(r#"{"id":2,"result":{"resultType":"input_required","requestState":"s-2"}}"#);
    // The second call goes on first; its state says which it is, however its text is escaped.
    wire.host(
        r#"{"id":3,"method":"tools/call","params":{"name":"ask","arguments":{"q":2},"inputResponses":{"n":"B"},"requestState":"\u0073-2"}}"#,
    );
    wire.upstream(r#"{"id":3,"result":{"resultType":"complete","content":[]}}"#);
    wire.host(
        r#"{"id":4,"method":"tools/call","params":{"name":"ask","inputResponses":{},"requestState":"s-1"}}"#,
    );
    wire.upstream(r#"{"id":4,"result":{"content":[]}}"#);
    let told = wire.told();
    let of = |call: &str| {
        told.iter().filter(|t| t.starts_with(call)).map(|t| t.split(" {").next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("0 "), ["0 began ask -", "0 leg 1 ended", "0 leg 2 began", "0 ok"]);
    assert_eq!(of("1 "), ["1 began ask -", "1 leg 1 ended", "1 leg 2 began", "1 ok"]);
    assert_eq!(told.len(), 8);
}

#[test]
fn a_cancel_counts_once_and_only_before_the_answer() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    wire.host(r#"{"method":"notifications/cancelled","params":{"requestId":"1"}}"#);
    wire.host(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    wire.upstream(r#"{"id":1,"result":{}}"#);
    wire.host(r#"{"id":2,"method":"tools/call","params":{"name":"b"}}"#);
    wire.upstream(r#"{"id":2,"result":{}}"#);
    wire.host(r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(wire.told(), ["0 began a - - at 0", "0 cancelled", "1 began b - - at 2", "1 ok {}"]);
}

#[test]
fn repeated_ids_in_flight_are_a_guess_and_say_so() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"b"}}"#);
    wire.upstream(r#"{"id":1,"result":{"n":1}}"#);
    wire.upstream(r#"{"id":1,"result":{"n":2}}"#);
    wire.upstream(r#"{"id":1,"result":{"n":3}}"#);
    assert_eq!(wire.told()[2..], [r#"0 ok (guess) {"n":1}"#, r#"1 ok {"n":2}"#]);
}

#[test]
fn batches_are_followed_element_by_element() {
    let mut wire = Wire::new();
    wire.host(r#"[{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}},{"method":"n"},{"id":2,"method":"ping"}]"#);
    assert_eq!(wire.conversation.open_requests(), 2);
    wire.upstream(r#"[{"id":2,"result":{}},{"id":1,"result":{"y":2}}]"#);
    assert_eq!(wire.told(), [r#"0 began a - {"x":1} at 0"#, r#"0 ok {"y":2}"#]);
    assert_eq!(wire.conversation.open_requests(), 0);
}

#[test]
fn what_is_lost_is_named_and_can_be_answered() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    wire.host(r#"{"id":"1","method":"tools/list"}"#);
    wire.host(r#"{"id":5,"method":"tools/call","params":{"name":"ask"}}"#);
    wire.upstream(r#"{"id":5,"result":{"resultType":"input_required"}}"#);
    // The upstream's own requests and answers to nothing are none of the host's.
    wire.upstream(r#"{"id":1,"method":"roots/list"}"#);
    wire.upstream(r#"{"id":77,"result":{}}"#);
    let mut unanswered = wire.conversation.take_unanswered();
    unanswered.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(
        unanswered,
        [
            Unanswered { id: b"\"1\"".to_vec(), asked: Asked::ToolsList },
            Unanswered { id: b"1".to_vec(), asked: Asked::ToolsCall },
        ]
    );
    assert_eq!(wire.told()[3..], ["0 lost", "1 lost"]);
    assert!(wire.conversation.take_unanswered().is_empty());
}

#[test]
fn large_payloads_keep_their_head_and_say_their_length() {
    struct Lengths(Sender<(usize, u64, bool)>);
    impl Tap for Lengths {
        fn observe(&mut self, event: Event<'_>) {
            if let Event::Began { arguments: Some(a), .. } = event {
                self.0.send((a.head.len(), a.len, a.is_complete())).unwrap();
            }
        }
    }
    let (tell, told) = channel();
    let mut conversation = Conversation::new(Ticking(Instant::now(), Cell::new(0)));
    conversation.attach(Box::new(Lengths(tell)));
    let head = r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":""#;
    let body = "y".repeat(1 << 20);
    let mut scanner = Scanner::new(Limits { keep: 1000, ..Limits::default() });
    scanner.push(head.as_bytes());
    scanner.push(body.as_bytes());
    conversation.observe(Direction::HostToUpstream, &scanner.finish_whole(b"\"}}}\n"));
    let start = head.find(r#"{"x""#).unwrap();
    assert_eq!(told.try_recv().unwrap(), (1000 - start, (6 + (1 << 20) + 2) as u64, false));
}

#[test]
fn an_answer_to_an_upstream_that_is_gone_is_nobodys() {
    let mut wire = Wire::new();
    let answer = |wire: &mut Wire, line: &str| {
        let mut scanner = Scanner::new(Limits::default());
        wire.conversation.is_orphan(&scanner.finish_whole(line.as_bytes()))
    };
    wire.upstream(r#"{"id":1,"method":"elicitation/create"}"#);
    wire.upstream(r#"{"id":2,"method":"roots/list"}"#);
    wire.host(r#"{"id":2,"result":{}}"#);
    wire.conversation.take_unanswered();
    wire.upstream(r#"{"id":1,"method":"elicitation/create"}"#);
    assert!(!answer(&mut wire, r#"{"id":2,"result":{}}"#), "answered before");
    assert!(
        answer(&mut wire, r#"{"id":1,"result":{"action":"accept"}}"#),
        "the first answer is for the first"
    );
    assert!(!answer(&mut wire, r#"{"id":1,"result":{}}"#));
}

#[test]
fn subscriptions_are_open_and_no_answer_is_due() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":"listen:0","method":"subscriptions/listen"}"#);
    wire.host(r#"{"id":1,"method":"ping"}"#);
    assert_eq!(wire.conversation.open_requests(), 1);
}

#[test]
fn an_answer_with_a_byte_that_is_not_utf_8_is_an_answer() {
    let mut wire = Wire::new();
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let mut scanner = Scanner::new(Limits::default());
    let message = scanner.finish_whole(b"{\"id\":1,\"result\":{\"t\":\"caf\xe9\"}}");
    wire.conversation.observe(Direction::UpstreamToHost, &message);
    assert_eq!(wire.conversation.open_requests(), 0);
}

#[test]
fn the_host_is_named_by_its_opening_or_by_its_call() {
    let mut wire = Wire::new();
    let opening = r#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"h","version":"1"}}}"#;
    wire.host(opening);
    wire.upstream(r#"{"id":0,"result":{}}"#);
    // The opening of another start may be somebody else's, or nobody's.
    wire.host(r#"{"id":1,"method":"initialize","params":{}}"#);
    wire.upstream(r#"{"id":1,"result":{}}"#);
    let meta = r#""_meta":{"io.modelcontextprotocol/clientInfo":{"name":"m"}}"#;
    wire.host(&format!("{{\"id\":2,\"method\":\"server/discover\",\"params\":{{{meta}}}}}"));
    wire.upstream(r#"{"id":2,"result":{}}"#);
    wire.host(&format!("{{\"id\":3,\"method\":\"tools/call\",\"params\":{{\"name\":\"a\",{meta}}}}}"));
    let long = "x".repeat(20_000);
    wire.host(&format!(r#"{{"id":4,"method":"initialize","params":{{"clientInfo":{{"name":"{long}"}}}}}}"#));
    wire.upstream(r#"{"id":4,"result":{}}"#);
    assert_eq!(
        wire.told(),
        [
            r#"opens legacy by {"name":"h","version":"1"}"#,
            r#"connected legacy by {"name":"h","version":"1"} {}"#,
            "opens legacy",
            "connected legacy {}",
            r#"opens modern by {"name":"m"}"#,
            r#"connected modern by {"name":"m"} {}"#,
            r#"0 began a - - at 6 by {"name":"m"}"#,
            "opens legacy",
            "connected legacy {}",
        ]
    );
}

#[test]
fn calls_of_our_own_are_told_in_their_place_and_delay_nothing() {
    let mut wire = Wire::new();
    let replay = |wire: &mut Wire, id: &str| {
        let line = format!(
            r#"{{"id":"{id}","method":"tools/call","params":{{"name":"a","arguments":{{"n":1e400}}}}}}"#
        );
        wire.conversation.replay_began(id, &Scanner::new(Limits::default()).finish_whole(line.as_bytes()))
    };
    let answered = |wire: &mut Wire, call, line: &str| {
        wire.conversation
            .replay_answered(call, &Scanner::new(Limits::default()).finish_whole(line.as_bytes()));
    };
    wire.host(r#"{"id":1,"method":"tools/call","params":{"name":"h"}}"#);
    let ours: Vec<_> = ["bir:1", "bir:2", "bir:3", "bir:4", "bir:5"].map(|id| replay(&mut wire, id)).into();
    assert_eq!(wire.conversation.open_requests(), 1, "the end of a session waits for the host's alone");
    assert_eq!(wire.conversation.take_unanswered().len(), 1, "nobody answers the host for ours");
    answered(&mut wire, ours[0], r#"{"id":"bir:1","result":{"isError":true}}"#);
    answered(&mut wire, ours[1], r#"{"id":"bir:2","error":{"code":1}}"#);
    answered(&mut wire, ours[2], r#"{"id":"bir:3","result":{"resultType":"input_required"}}"#);
    answered(&mut wire, ours[3], r#"{"id":"bir:4"}"#);
    wire.conversation.replay_cancelled(ours[4]);
    let told = wire.told();
    assert_eq!(told[0], "0 began h - - at 0", "{told:?}");
    assert_eq!(told[1], r#"1 replayed, began a bir:1 {"n":1e400} at 1"#);
    let ends: Vec<_> = told[6..].iter().map(|line| line.split(" at ").next().unwrap()).collect();
    assert_eq!(ends.len(), 7, "{told:#?}");
    assert!(ends[1].starts_with("1 ") && ends[2].starts_with("2 "), "{ends:?}");
    assert!(ends[3].starts_with("3 leg 1 ended") && ends[4].starts_with("3 cancelled"), "{ends:?}");
}

#[test]
fn lists_of_tools_are_told_with_the_place_that_was_asked_for() {
    let mut wire = Wire::new();
    wire.host(r#"{"method":"tools/list","id":1}"#);
    wire.host(r#"{"method":"tools/list","params":{"cursor":"b"},"id":2}"#);
    let long = "x".repeat(17 << 10);
    wire.host(&format!(r#"{{"method":"tools/list","params":{{"cursor":"{long}"}},"id":3}}"#));
    wire.host(r#"{"method":"tools/list","params":{},"id":4}"#);
    wire.upstream(r#"{"id":2,"result":{"tools":[2]}}"#);
    wire.upstream(r#"{"id":1,"result":{"tools":[1],"nextCursor":"b"}}"#);
    wire.upstream(r#"{"id":3,"result":{}}"#);
    wire.upstream(r#"{"id":4,"error":{"code":-32603,"message":"m"}}"#);
    wire.upstream(r#"{"id":4,"result":{"tools":[]}}"#);
    let told =
        [r#"tools {"cursor":"b"} {"tools":[2]}"#, r#"tools - {"tools":[1],"nextCursor":"b"}"#, "tools - {}"];
    assert_eq!(wire.told(), told);
}
