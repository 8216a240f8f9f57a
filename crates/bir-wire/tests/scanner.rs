//! The scanner against tables: fields, kinds, faults, and every split of every message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_wire::{Envelope, Fault, FaultKind, Field, Kind, Limits, Message, Scanner, Span};

/// Everything that can be asked about a message, so that two ways of reading it can be compared.
#[derive(Debug, PartialEq)]
struct Answer {
    kind: Kind,
    len: u64,
    envelope: Vec<String>,
    batch: Vec<Vec<String>>,
    batch_len: u64,
}

fn describe(envelope: &Envelope) -> Vec<String> {
    let mut lines =
        vec![format!("{:?} {} {:?}", envelope.span_of_element(), envelope.repeated(), envelope.kind())];
    for field in Field::ALL {
        if envelope.has(field) {
            lines.push(format!(
                "{field:?} {:?} {:?} {:?} {:?}",
                envelope.value_kind(field),
                envelope.span(field),
                envelope.raw(field).map(String::from_utf8_lossy),
                envelope.text(field),
            ));
        }
    }
    lines
}

fn answer(message: &Message<'_>) -> Answer {
    Answer {
        kind: message.kind(),
        len: message.len(),
        envelope: describe(message.envelope()),
        batch: message.batch().iter().map(describe).collect(),
        batch_len: message.batch_len(),
    }
}

fn whole(bytes: &[u8], limits: Limits) -> Answer {
    answer(&Scanner::new(limits).finish_whole(bytes))
}

const MESSAGES: &[&str] = &[
    "",
    "\n",
    " \r\n",
    "\u{feff}",
    "\u{feff}\n",
    "{}",
    "[]",
    "[1,2]",
    "[{}]",
    "null",
    "-0",
    " 1e400 ",
    "\"\\ud800\"",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":[{}]}}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"tools/list\"}\r\n",
    "\u{feff}{\"id\":12345678901234567890,\"result\":{\"isError\":true,\"content\":[{\"text\":\"é語😀\"}]}}\n",
    r#"{"id":1.0,"error":{"code":-32601,"message":"no \"such\" \u00e9\\"},"x":-0.5E+10}"#,
    r#"{"method":"notifications/cancelled","params":{"requestId":"a\u0041\n","reason":null}}"#,
    r#"{"\u0069d":7,"m\u0065thod":"x","p\u0061r\u0061ms":{"\u005fmeta":{"call\u0049d":"c"}}}"#,
    r#"{"id":1,"id":2,"method":"a","method":"b","params":{"name":"x"},"params":{"uri":"y"}}"#,
    r#"{"params":{"_meta":{"claudecode/toolUseId":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"result":{"resultType":"input_required","requestState":"s","protocolVersion":"v"},"id":null}"#,
    r#"{"method":"x","params":{"requestState":"s","inputResponses":{"a":[[[]]]},"protocolVersion":"2025-11-25"}}"#,
    r#"[{"id":1,"method":"a"}, 7, {"method":"n"},[],{"id":"é","result":[]}, {"id":1,"id":1}]"#,
    r#"{"id":true,"params":[1,{"name":"no"}],"result":"s","error":null}"#,
    "{\"a\":\"\u{1}\"}",
    "{\"a\":tru}",
    "{\"a\":truex}",
    "{\"a\":01}",
    "{\"a\":1.}",
    "{\"a\":-}",
    "{\"a\":1e}",
    "{\"a\":1e+}",
    "{\"a\":\"\\x\"}",
    "{\"a\":\"\\u00g0\"}",
    "{\"a\" 1}",
    "{\"a\":1,}",
    "[1,]",
    "[1 2]",
    "{]",
    "[}",
    "{\"a\":1]",
    "[{}}",
    "]",
    "{}}",
    "{}{}",
    "{",
    "{\"id\":1,\"method\":\"x",
    "tr",
    "-",
    "\"\\u12",
    "Server started on stdio",
    "[INFO] ready",
    "Content-Length: 17\r\n\r\n{}",
];

#[test]
fn every_split_gives_what_the_whole_gives() {
    for limits in [Limits::default(), Limits { keep: 5, scalar: 4, depth: 3, batch: 2 }] {
        for text in MESSAGES {
            let bytes = text.as_bytes();
            let expected = whole(bytes, limits);
            let mut scanner = Scanner::new(limits);
            for cut in 0..=bytes.len() {
                scanner.push(&bytes[..cut]);
                scanner.push(&bytes[cut..]);
                let message = scanner.finish();
                assert_eq!(answer(&message), expected, "{text:?} cut at {cut}");
                assert_eq!(message.head(), &bytes[..bytes.len().min(limits.keep)]);
                scanner.reset();

                scanner.push(&bytes[..cut]);
                assert_eq!(answer(&scanner.finish_whole(&bytes[cut..])), expected);
                scanner.reset();
            }
            for byte in bytes {
                scanner.push(&[*byte]);
            }
            assert_eq!(answer(&scanner.finish()), expected, "{text:?} byte by byte");
            assert_eq!(answer(&scanner.finish()), expected, "asked twice");
        }
    }
}

#[test]
fn fields_are_found_with_their_spans() {
    let text = concat!(
        r#" {"id":"a","method":"tools/call","params":{"_meta":{"callId":"c","progressToken":7},"name":"n","#,
        r#""arguments":{"_meta":{"callId":"no"}}}} "#
    );
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(text.as_bytes());
    let envelope = message.envelope();
    assert_eq!(message.kind(), Kind::Request);
    for (field, raw) in [
        (Field::Id, r#""a""#),
        (Field::Method, r#""tools/call""#),
        (Field::CallId, r#""c""#),
        (Field::ProgressToken, "7"),
        (Field::ToolName, r#""n""#),
    ] {
        assert_eq!(envelope.raw(field), Some(raw.as_bytes()), "{field:?}");
        assert_eq!(message.slice(envelope.span(field).unwrap()), Some(raw.as_bytes()), "{field:?}");
    }
    for (field, raw) in [
        (Field::Arguments, r#"{"_meta":{"callId":"no"}}"#),
        (Field::Meta, r#"{"callId":"c","progressToken":7}"#),
    ] {
        assert_eq!(envelope.raw(field), None);
        assert_eq!(message.slice(envelope.span(field).unwrap()), Some(raw.as_bytes()), "{field:?}");
    }
    assert_eq!(message.slice(envelope.span_of_element()), Some(text.trim().as_bytes()));
    assert!(!envelope.repeated() && !envelope.has(Field::Result));
}

#[test]
fn every_field_is_found_in_its_place_only() {
    type Place<'a> = (&'a str, &'a str, &'a [(&'a str, Field)]);
    let places: &[Place<'_>] = &[
        (
            "",
            "",
            &[
                ("id", Field::Id),
                ("method", Field::Method),
                ("params", Field::Params),
                ("result", Field::Result),
                ("error", Field::Error),
            ],
        ),
        (
            r#""params":{"#,
            "}",
            &[
                ("name", Field::ToolName),
                ("arguments", Field::Arguments),
                ("_meta", Field::Meta),
                ("uri", Field::Uri),
                ("requestId", Field::RequestId),
                ("requestState", Field::ParamsRequestState),
                ("inputResponses", Field::InputResponses),
                ("protocolVersion", Field::InitProtocolVersion),
                ("clientInfo", Field::InitClientInfo),
            ],
        ),
        (
            r#""params":{"_meta":{"#,
            "}}",
            &[
                ("progressToken", Field::ProgressToken),
                ("callId", Field::CallId),
                ("bir/callId", Field::BirCallId),
                ("claudecode/toolUseId", Field::ToolUseId),
                ("io.modelcontextprotocol/protocolVersion", Field::ProtocolVersion),
                ("io.modelcontextprotocol/clientInfo", Field::ClientInfo),
            ],
        ),
        (
            r#""result":{"#,
            "}",
            &[
                ("isError", Field::IsError),
                ("resultType", Field::ResultType),
                ("requestState", Field::ResultRequestState),
                ("protocolVersion", Field::ResultProtocolVersion),
            ],
        ),
        (r#""error":{"#, "}", &[("code", Field::ErrorCode)]),
        (r#""result":{"_meta":{"#, "}}", &[]),
        (r#""params":{"arguments":{"#, "}}", &[]),
        (r#""params":[{"#, "}]", &[]),
        (r#""other":{"#, "}", &[]),
    ];
    let keys: Vec<&str> = places.iter().flat_map(|p| p.2.iter().map(|(key, _)| *key)).collect();
    assert_eq!(places.iter().map(|p| p.2.len()).sum::<usize>(), Field::ALL.len());
    for (open, close, fields) in places {
        for key in &keys {
            let expected = fields.iter().find(|(k, _)| k == key).map(|(_, field)| *field);
            let escaped: String = key.bytes().map(|b| format!("\\u{b:04x}")).collect();
            for written in [(*key).to_owned(), escaped] {
                let text = format!("{{{open}\"{written}\":17{close}}}");
                let mut scanner = Scanner::default();
                for byte in text.bytes() {
                    scanner.push(&[byte]);
                }
                let message = scanner.finish();
                let found: Vec<Field> =
                    Field::ALL.into_iter().filter(|f| message.envelope().raw(*f) == Some(b"17")).collect();
                assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{text}");
            }
            let upper = format!("{{{open}\"{}\":17{close}}}", key.to_uppercase());
            let mut scanner = Scanner::default();
            let message = scanner.finish_whole(upper.as_bytes());
            assert!(Field::ALL.into_iter().all(|f| message.envelope().raw(f).is_none()), "{upper}");
        }
    }
}

#[test]
fn kinds() {
    for (text, kind) in [
        ("", Kind::Blank),
        ("\u{feff} \r\n", Kind::Blank),
        (r#"{"id":1,"method":"x"}"#, Kind::Request),
        (r#"{"id":null,"method":"x"}"#, Kind::Request),
        (r#"{"id":{},"method":"x","result":1}"#, Kind::Request),
        (r#"{"method":"x"}"#, Kind::Notification),
        (r#"{"method":1,"id":1}"#, Kind::Other),
        (r#"{"Method":"x","id":1}"#, Kind::Other),
        (r#"{"id":1,"result":null}"#, Kind::Response),
        (r#"{"id":1,"result":{},"error":null}"#, Kind::Response),
        (r#"{"id":1,"result":{},"error":{}}"#, Kind::ErrorResponse),
        (r#"{"error":{"code":1}}"#, Kind::ErrorResponse),
        (r#"{"id":1,"error":null}"#, Kind::Other),
        (r#"{"result":{}}"#, Kind::Other),
        ("{}", Kind::Other),
        ("[]", Kind::Other),
        ("[1,[{}]]", Kind::Other),
        ("[1,{}]", Kind::Batch),
        ("17", Kind::Other),
        ("\"text\"", Kind::Other),
    ] {
        assert_eq!(whole(text.as_bytes(), Limits::default()).kind, kind, "{text}");
    }
}

#[test]
fn faults_say_where_and_what() {
    for (bytes, at, what) in [
        (&b"Server started"[..], 0, FaultKind::Syntax),
        (b"[INFO] x", 1, FaultKind::Syntax),
        (b"Content-Length: 3\r\n", 0, FaultKind::Syntax),
        (b"{\"a\":1", 6, FaultKind::Truncated),
        (b"{\"a", 3, FaultKind::Truncated),
        (b"{\"a\xc3", 4, FaultKind::Truncated),
        (b"\xef\xbb", 2, FaultKind::Truncated),
        (b"\xef\xbb\x00", 2, FaultKind::Syntax),
        (b"{}\xef\xbb\xbf", 2, FaultKind::Syntax),
        (b"{]", 1, FaultKind::Nesting),
        (b"[[}", 2, FaultKind::Nesting),
        (b"{}}", 2, FaultKind::Nesting),
        (b"]", 0, FaultKind::Nesting),
        (b"{\"a\":\"\xff\"}", 6, FaultKind::Utf8),
        (b"{\"a\":\"\xc3\"}", 6, FaultKind::Utf8),
        (b"{\"a\":\"\xed\xa0\x80\"}", 6, FaultKind::Utf8),
        (b"{\"a\":\"\xc0\xaf\"}", 6, FaultKind::Utf8),
        (b"{\"a\":\"\xf4\x90\x80\x80\"}", 6, FaultKind::Utf8),
        (b"{\"a\":\"x\xc3\n\"}", 7, FaultKind::Utf8),
        (b"{\"a\":\"x\n\xff\"}", 7, FaultKind::Syntax),
        (b"{\"\xff\":1}", 2, FaultKind::Utf8),
        (b"{} x", 3, FaultKind::Syntax),
        (b"nul", 3, FaultKind::Truncated),
        (b"nulL", 3, FaultKind::Syntax),
        (b"+1", 0, FaultKind::Syntax),
        (b".5", 0, FaultKind::Syntax),
        (b"\0", 0, FaultKind::Syntax),
    ] {
        for cut in 0..=bytes.len() {
            let mut scanner = Scanner::default();
            scanner.push(&bytes[..cut]);
            scanner.push(&bytes[cut..]);
            let message = scanner.finish();
            assert_eq!(
                message.kind(),
                Kind::NotJson(Fault { at, what }),
                "{}",
                String::from_utf8_lossy(bytes)
            );
            assert_eq!(message.len(), bytes.len() as u64);
        }
    }
    assert_eq!(Fault { at: 3, what: FaultKind::Utf8 }.to_string(), "invalid UTF-8 at byte 3");
}

#[test]
fn what_was_found_before_a_fault_stays() {
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(br#"{"id":7,"method":"tools/call","params":{"name":"x","#);
    assert!(matches!(message.kind(), Kind::NotJson(f) if f.what == FaultKind::Truncated));
    assert_eq!(message.envelope().raw(Field::Id), Some(&b"7"[..]));
    assert!(message.envelope().text_is(Field::ToolName, "x"));
    assert!(message.envelope().has(Field::Params));
    assert_eq!(message.envelope().span(Field::Params), None);
}

#[test]
fn what_is_known_in_the_middle() {
    let mut scanner = Scanner::default();
    scanner.push(br#"{"id":7,"method":"tools/call","params":{"arguments":{"te"#);
    assert_eq!(scanner.so_far().raw(Field::Id), Some(&b"7"[..]));
    assert_eq!(scanner.so_far().kind(), Kind::Request);
    assert!(scanner.so_far().has(Field::Arguments));
    assert_eq!(scanner.so_far().span(Field::Arguments), None);
    assert_eq!(scanner.fault_so_far(), None);
    scanner.push(b"xt\":\x01");
    assert!(scanner.fault_so_far().is_some());
}

#[test]
fn repeated_keys_are_told_and_the_last_counts() {
    let text = r#"{"id":1,"params":{"name":"a","_meta":{"callId":"x"}},"\u0069d":"2","params":{"name":"b"}}"#;
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(text.as_bytes());
    let envelope = message.envelope();
    assert!(envelope.repeated());
    assert_eq!(envelope.raw(Field::Id), Some(&b"\"2\""[..]));
    assert!(envelope.text_is(Field::ToolName, "b"));
    assert!(!envelope.has(Field::Meta) && !envelope.has(Field::CallId));
    assert_eq!(message.slice(envelope.span(Field::Params).unwrap()), Some(&br#"{"name":"b"}"#[..]));

    for (text, repeated) in [
        (r#"{"params":{"name":"a","name":"a"}}"#, true),
        (r#"{"result":{"isError":true,"isError":false}}"#, true),
        (r#"{"params":{"arguments":{"a":1,"a":2}}}"#, false),
        (r#"{"other":1,"other":2}"#, false),
        (r#"{"id":1,"Id":2,"ID":3}"#, false),
        (r#"[{"id":1},{"id":1}]"#, false),
        (r#"[{"id":1},{"id":1,"id":1}]"#, true),
    ] {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.finish_whole(text.as_bytes()).envelope().repeated(), repeated, "{text}");
    }
}

#[test]
fn scalars_beyond_the_limit_have_a_span_and_no_text() {
    let limits = Limits { scalar: 6, ..Limits::default() };
    let text = r#"{"id":123456,"method":"12345","params":{"name":"1234"}}"#;
    let mut scanner = Scanner::new(limits);
    let message = scanner.finish_whole(text.as_bytes());
    let envelope = message.envelope();
    assert_eq!(envelope.raw(Field::Id), Some(&b"123456"[..]));
    assert_eq!(envelope.raw(Field::Method), None);
    assert_eq!(envelope.text(Field::Method), None);
    assert!(envelope.has(Field::Method));
    assert_eq!(envelope.span(Field::Method).map(Span::len), Some(7));
    assert_eq!(envelope.raw(Field::ToolName), Some(&b"\"1234\""[..]));
    assert_eq!(message.kind(), Kind::Request);
}

#[test]
fn a_batch_is_described_up_to_its_limit() {
    let text = format!("[{}]", vec![r#"{"id":1,"method":"x"}"#; 300].join(","));
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(text.as_bytes());
    assert_eq!((message.kind(), message.batch_len(), message.batch().len()), (Kind::Batch, 300, 256));
    assert!(message.batch().iter().all(|e| e.kind() == Kind::Request));
    let last = message.batch()[255].span_of_element();
    assert_eq!(message.slice(last), Some(&br#"{"id":1,"method":"x"}"#[..]));
}

#[test]
fn nesting_up_to_the_limit() {
    for (depth, fits) in
        [(1, true), (63, true), (64, true), (65, true), (999, true), (1000, true), (1001, false)]
    {
        let limits = Limits { depth: 1000, ..Limits::default() };
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let too_deep = Kind::NotJson(Fault { at: (1000 * open.len()) as u64, what: FaultKind::Nesting });
            let expected = if fits { Kind::Other } else { too_deep };
            assert_eq!(whole(text.as_bytes(), limits).kind, expected, "{depth} {open}");
        }
    }
}
