//! Random messages, edits and streams against the slow implementations of `reference`.

#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod reference;

use bir_wire::{Edits, Envelope, Field, Kind, Limits, Message, Scanner, Span};
use proptest::prelude::*;
use proptest::sample::select;

const KEYS: &[&str] = &[
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "arguments",
    "_meta",
    "uri",
    "requestId",
    "requestState",
    "inputResponses",
    "protocolVersion",
    "progressToken",
    "callId",
    "claudecode/toolUseId",
    "io.modelcontextprotocol/protocolVersion",
    "isError",
    "resultType",
    "code",
    "a",
    "Id",
    "méthode",
    "",
];

fn space() -> impl Strategy<Value = &'static str> {
    select(&["", "", "", " ", "\t", "\r\n", "  \n "][..])
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        select(
            &["0", "-0", "1e400", "-1E-400", "12345678901234567890", "1.0", "0.1e+7", "9007199254740993"][..]
        )
        .prop_map(str::to_owned),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ !#-\\[\\]-~]{0,12}",
        1 => "[é語😀\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{10ffff}]{1,9}",
        1 => select(&["\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0000", "\\u0022"][..])
            .prop_map(str::to_owned),
        1 => "[a-z]{60,90}",
    ];
    let pieces = prop::collection::vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()));
    // Half a pair is valid JSON that no Rust string can hold; as a value only, so that keys can be compared.
    prop_oneof![20 => pieces, 1 => Just("\"x\\ud800y\"".to_owned())]
}

fn key() -> impl Strategy<Value = String> {
    (select(KEYS), any::<[bool; 8]>()).prop_map(|(key, escaped)| {
        let written: String = key
            .char_indices()
            .map(
                |(n, c)| if escaped[n % 8] && escaped[0] { format!("\\u{:04X}", c as u32) } else { c.into() },
            )
            .collect();
        format!("\"{written}\"")
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (space(), key(), space(), space(), value, space())
        .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
    (prop::collection::vec(member, 0..6), space()).prop_map(|(members, a)| {
        if members.is_empty() { format!("{{{a}}}") } else { format!("{{{}}}", members.join(",")) }
    })
}

fn json() -> impl Strategy<Value = String> {
    let scalar =
        prop_oneof![number(), string(), select(&["true", "false", "null"][..]).prop_map(str::to_owned),];
    scalar.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            1 => (prop::collection::vec(inner, 0..4), space()).prop_map(|(v, a)| format!("[{a}{}]", v.join(","))),
        ]
    })
}

/// A member that is a tracked container, so that its inner fields come up often.
fn message() -> impl Strategy<Value = String> {
    let meta = object(json()).prop_map(|o| format!("\"_meta\":{o}"));
    let params = (meta, object(json())).prop_map(|(meta, object)| match &object[1..] {
        "}" => format!("{{{meta}}}"),
        rest if rest.trim() == "}" => object.clone(),
        rest => format!("{{{meta},{rest}"),
    });
    let members = (params, object(json()), json(), any::<bool>(), space(), space());
    let object = members
        .prop_map(|(params, object, id, last, a, b)| {
            let inner = object[1..object.len() - 1].trim();
            let comma = if inner.is_empty() { "" } else { "," };
            if last {
                format!("{a}{{{inner}{comma}\"params\":{params},\"id\":{id}}}{b}")
            } else {
                format!("{a}{{\"id\":{id},\"params\":{params}{comma}{inner}}}{b}")
            }
        })
        .boxed();
    let batch =
        prop::collection::vec(object.clone(), 0..4).prop_map(|elements| format!("[{}]", elements.join(",")));
    prop_oneof![4 => object, 1 => batch, 1 => json()]
}

fn chunked<'a>(scanner: &'a mut Scanner, bytes: &[u8], cuts: &[usize]) -> Message<'a> {
    let mut rest = bytes;
    for cut in cuts.iter().cycle().take(if cuts.is_empty() { 0 } else { bytes.len() }) {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        scanner.push(chunk);
        rest = after;
    }
    scanner.push(rest);
    scanner.finish()
}

fn same(one: &Message<'_>, other: &Message<'_>) {
    assert_eq!(one.kind(), other.kind());
    assert_eq!(one.len(), other.len());
    assert_eq!(one.envelope(), other.envelope());
    assert_eq!(one.batch(), other.batch());
    assert_eq!(one.batch_len(), other.batch_len());
}

fn check(envelope: &Envelope, whole: &str) {
    let element = envelope.span_of_element();
    let element = &whole[element.start as usize..element.end as usize];
    assert_eq!(element, element.trim());
    let (found, repeated) = reference::fields(whole, element).unwrap();
    let ours: reference::Found = Field::ALL
        .into_iter()
        .filter_map(|f| envelope.span(f).map(|span| (f, span.start..span.end)))
        .collect();
    assert_eq!(ours, found, "{element}");
    assert_eq!(envelope.repeated(), repeated);
    for (field, span) in found {
        let text = &whole[span.start as usize..span.end as usize];
        let scalar = !text.starts_with(['{', '[']);
        assert_eq!(envelope.raw(field), scalar.then_some(text.as_bytes()));
        assert_eq!(envelope.is_null(field), text == "null");
        if let Ok(exact) = serde_json::from_str::<String>(text) {
            assert_eq!(envelope.text(field).as_deref(), Some(&*exact));
            assert!(envelope.text_is(field, &exact) && !envelope.text_is(field, &format!("{exact}x")));
        } else {
            assert_eq!(envelope.text(field).is_some(), text.starts_with('"'));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fields_are_those_that_serde_json_finds(
        text in message(),
        cuts in prop::collection::vec(1usize..9, 0..4),
    ) {
        prop_assert!(reference::is_json(text.as_bytes()), "{text}");
        let mut one = Scanner::default();
        let whole = one.finish_whole(text.as_bytes());
        prop_assert!(!matches!(whole.kind(), Kind::NotJson(_) | Kind::Blank), "{:?} {text}", whole.kind());
        if whole.batch_len() == 0 {
            check(whole.envelope(), &text);
        }
        for element in whole.batch() {
            check(element, &text);
        }
        let mut other = Scanner::default();
        same(&whole, &chunked(&mut other, text.as_bytes(), &cuts));
        let tiny = Limits { keep: 9, scalar: 5, depth: 4, batch: 1 };
        let (mut one, mut other) = (Scanner::new(tiny), Scanner::new(tiny));
        same(&one.finish_whole(text.as_bytes()), &chunked(&mut other, text.as_bytes(), &cuts));
    }

    #[test]
    fn damaged_messages_are_judged_as_serde_json_does(
        text in message(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..3),
        cuts in prop::collection::vec(1usize..9, 0..4),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte, how) in damage {
            let at = at.index(bytes.len().max(1));
            let byte = if how == 3 { b"{}[]\",:\\0-e.\xff\xc3"[usize::from(byte) % 14] } else { byte };
            match how {
                0 if at < bytes.len() => { bytes.remove(at); }
                1 => bytes.truncate(at),
                2 if at < bytes.len() => bytes[at] = byte,
                _ => bytes.insert(at.min(bytes.len()), byte),
            }
        }
        let mut one = Scanner::default();
        let whole = one.finish_whole(&bytes);
        let valid = !matches!(whole.kind(), Kind::NotJson(_) | Kind::Blank);
        prop_assert_eq!(valid, reference::is_json(&bytes), "{:?} {}", whole.kind(), String::from_utf8_lossy(&bytes));
        let mut other = Scanner::default();
        same(&whole, &chunked(&mut other, &bytes, &cuts));
    }

    #[test]
    fn edits_change_what_they_name_and_nothing_else(
        object in object(json()),
        before in space(),
        after in space(),
        removed in prop::collection::vec(select(KEYS), 0..6),
        inserted in prop::collection::vec(select(KEYS), 0..3),
        replaced in any::<Option<prop::sample::Index>>(),
    ) {
        let message = format!("{before}{object}{after}");
        let span = Span { start: before.len() as u64, end: (before.len() + object.len()) as u64 };
        let reference::Members(members) = serde_json::from_str(&object).unwrap();
        let kept: Vec<usize> = (0..members.len()).filter(|n| !removed.contains(&&*members[*n].0)).collect();
        let replaced = replaced.filter(|_| !kept.is_empty()).map(|index| kept[index.index(kept.len())]);

        let mut edits = Edits::new();
        for key in &removed {
            edits.remove_key(span, key);
        }
        for key in &inserted {
            edits.insert_key(span, key, b" {\"new\":1e999} ");
        }
        if let Some(n) = replaced {
            let value = members[n].1.get();
            let start = (value.as_ptr() as usize - object.as_ptr() as usize + before.len()) as u64;
            edits.replace(Span { start, end: start + value.len() as u64 }, b"-0.0");
        }
        let mut out = b"x".to_vec();
        edits.apply(message.as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let (head, tail) = (format!("x{before}{{"), format!("}}{after}"));
        prop_assert!(out.starts_with(&head) && out.ends_with(&tail));

        let mut expected: Vec<(&str, &str)> = inserted.iter().map(|key| (*key, "{\"new\":1e999}")).collect();
        expected.extend(kept.iter().map(|&n| {
            (&*members[n].0, if replaced == Some(n) { "-0.0" } else { members[n].1.get() })
        }));
        let reference::Members(got) = serde_json::from_str(&out[1..]).unwrap();
        let got: Vec<(&str, &str)> = got.iter().map(|(key, value)| (&**key, value.get())).collect();
        prop_assert_eq!(got, expected);
        if removed.is_empty() && inserted.is_empty() && replaced.is_none() {
            prop_assert_eq!(&out[1..], message);
        }
    }

    #[test]
    fn removing_what_was_inserted_gives_the_message_back(object in object(json()), value in json()) {
        let mut edits = Edits::new();
        edits.insert_key(Span { start: 0, end: object.len() as u64 }, "not there", value.as_bytes());
        let mut longer = Vec::new();
        edits.apply(object.as_bytes(), &mut longer).unwrap();
        edits.clear();
        edits.remove_key(Span { start: 0, end: longer.len() as u64 }, "not there");
        let mut again = Vec::new();
        edits.apply(&longer, &mut again).unwrap();
        prop_assert_eq!(String::from_utf8(again).unwrap(), object);
    }

    #[test]
    fn streams_are_read_as_lines_would_be(
        lines in prop::collection::vec(
            prop_oneof![
                4 => "(data|id|event|retry|x|dat|dataa|: ping)(:| |: |:  )?[a-z0-9é\u{feff}\0]{0,9}",
                3 => Just(String::new()),
                1 => "retry: [0-9]{1,22}",
            ],
            0..12,
        ),
        ends in prop::collection::vec(select(&["\n", "\r", "\r\n"][..]), 12),
        mark in any::<bool>(),
        cuts in prop::collection::vec(1usize..9, 0..4),
    ) {
        let mut text = String::from(if mark { "\u{feff}" } else { "" });
        for (line, end) in lines.iter().zip(ends) {
            text.push_str(line);
            text.push_str(end);
        }
        text.truncate(text.trim_end_matches('\n').len());
        let mut decoder = bir_wire::sse::Decoder::new();
        let mut rest = text.as_bytes();
        let mut chunks = Vec::new();
        for cut in cuts.iter().cycle().take(if cuts.is_empty() { 0 } else { rest.len() }) {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks.push(rest);
        prop_assert_eq!(reference::decode(&mut decoder, &chunks), reference::sse(text.as_bytes()));
    }
}
