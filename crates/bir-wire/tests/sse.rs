//! The event stream decoder against tables, at every split.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod reference;

use bir_wire::sse::{Decoder, LONGEST_VALUE, Part, encode_event};
use reference::{Event, Stream, decode};

/// id, event, retry, data
type Row = (Option<&'static str>, Option<&'static str>, Option<u64>, Option<&'static str>);

fn event((id, event, retry, data): Row) -> Event {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    Event { id: bytes(id), event: bytes(event), retry, data: bytes(data) }
}

const STREAMS: &[(&str, &[Row])] = &[
    ("", &[]),
    ("\n\n\r\n\r\r", &[]),
    ("data: x\n\n", &[(None, None, None, Some("x"))]),
    ("data:x\r\rdata: y\r\n\r\n", &[(None, None, None, Some("x")), (None, None, None, Some("y"))]),
    ("data:  two spaces \n\n", &[(None, None, None, Some(" two spaces "))]),
    ("data: a\ndata: b\r\ndata:\rdata\n\n", &[(None, None, None, Some("a\nb\n\n"))]),
    ("data\n\n", &[(None, None, None, Some(""))]),
    ("id: 1\ndata:\n\n", &[(Some("1"), None, None, Some(""))]),
    ("id: 1\n\nid\ndata: é😀\n\n", &[(Some("1"), None, None, None), (Some(""), None, None, Some("é😀"))]),
    ("id: a\0b\ndata: x\n\n", &[(None, None, None, Some("x"))]),
    ("id: 1\nid: a\0b\ndata: x\n\n", &[(Some("1"), None, None, Some("x"))]),
    ("event: endpoint\ndata: /messages?id=1\n\n", &[(None, Some("endpoint"), None, Some("/messages?id=1"))]),
    ("event: a\nevent: b\nevent\ndata: x\n\n", &[(None, Some(""), None, Some("x"))]),
    ("retry: 3000\n\n", &[(None, None, Some(3000), None)]),
    ("retry: 1\nretry: 2x\nretry:\nretry: -3\nretry:  4\n\n", &[(None, None, Some(1), None)]),
    ("retry: 99999999999999999999999\n\n", &[(None, None, Some(u64::MAX), None)]),
    (": ping\n\n:\n:data: x\n\n", &[]),
    (": ping\ndata: x\n: ping\ndata: y\n\n", &[(None, None, None, Some("x\ny"))]),
    ("\u{feff}data: x\n\n", &[(None, None, None, Some("x"))]),
    ("\u{feff}\u{feff}data: x\n\n", &[]),
    ("\u{feff}\n\ndata: \u{feff}\n\n", &[(None, None, None, Some("\u{feff}"))]),
    ("Data: x\ndata : x\n data: x\ndat: x\ndatum: x\nids: 1\n\n", &[]),
    ("data: x:y: z\n\n", &[(None, None, None, Some("x:y: z"))]),
    ("data: cut\n", &[]),
    ("data: x\n\nid: 9\ndata: cut", &[(None, None, None, Some("x"))]),
];

#[test]
fn streams_at_every_split() {
    for (text, rows) in STREAMS {
        let bytes = text.as_bytes();
        let expected = reference::sse(bytes);
        assert_eq!(expected.events, rows.iter().copied().map(event).collect::<Vec<_>>(), "{text:?}");
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(decode(&mut Decoder::new(), &[first, second]), expected, "{text:?} cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&mut Decoder::new(), &single), expected, "{text:?} byte by byte");
    }
}

#[test]
fn half_a_byte_order_mark_is_an_unknown_field() {
    for text in
        [&b"\xef\xbbdata: x\n\ndata: y\n\n"[..], b"\xefdata: x\n\ndata: y\n\n", b"\xef\n\ndata: y\n\n"]
    {
        for cut in 0..text.len() {
            let stream = decode(&mut Decoder::new(), &[&text[..cut], &text[cut..]]);
            assert_eq!(stream.events, [event((None, None, None, Some("y")))]);
        }
    }
}

#[test]
fn an_unfinished_event_is_told_and_leaves_no_trace_in_the_next_body() {
    let mut decoder = Decoder::new();
    let first = decode(&mut decoder, &[b"id: 1\nretry: 5\ndata: a\n\nid: 2\nevent: x\ndata: cut\r"]);
    assert!(first.unfinished);
    assert_eq!((first.last_id.as_deref(), first.retry), (Some(&b"1"[..]), Some(5)));
    // The line feed is not the other half of the last body's carriage return, and the mark counts again.
    let second = decode(&mut decoder, &["\u{feff}\ndata: b\n\n".as_bytes()]);
    assert_eq!(second.events, [event((None, None, None, Some("b")))]);
    assert!(!second.unfinished);
    assert_eq!((second.last_id.as_deref(), second.retry), (Some(&b"1"[..]), Some(5)));
    assert!(!Decoder::new().finish());
}

#[test]
fn long_ids_and_types_are_ignored_and_told() {
    for (length, kept) in [(LONGEST_VALUE, true), (LONGEST_VALUE + 1, false)] {
        for name in ["id", "event"] {
            let stream = format!("id: 0\n\n{name}: {}\ndata: x\n\n", "i".repeat(length));
            for size in [1, 100, stream.len()] {
                let mut decoder = Decoder::new();
                let mut ends = Vec::new();
                for chunk in stream.as_bytes().chunks(size) {
                    let mut rest = chunk;
                    while let Some(part) = decoder.next(&mut rest) {
                        if let Part::End(end) = part {
                            let long = if name == "id" { end.id } else { end.event };
                            ends.push((long.map(<[u8]>::len), end.oversized));
                        }
                    }
                }
                assert_eq!(ends[1], (kept.then_some(length), !kept), "{name} {length} {size}");
                let last = decoder.last_event_id().map(<[u8]>::len);
                assert_eq!(last, Some(if kept && name == "id" { length } else { 1 }));
            }
        }
    }
}

#[test]
fn large_data_streams_and_is_not_kept() {
    let mut decoder = Decoder::new();
    let mut length = 0u64;
    let block = vec![b'x'; 1 << 20];
    let mut chunks: Vec<&[u8]> = vec![b"data: "];
    chunks.extend(vec![&*block; 64]);
    chunks.push(b"\n\n");
    for chunk in chunks {
        let mut rest = chunk;
        while let Some(part) = decoder.next(&mut rest) {
            match part {
                Part::Data(bytes) => length += bytes.len() as u64,
                Part::End(end) => assert_eq!(end.data_len, 64 << 20),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(length, 64 << 20);
}

#[test]
fn encoded_events_are_read_back() {
    for (data, back) in [
        ("", ""),
        ("x", "x"),
        ("a\nb", "a\nb"),
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        (" s:\n", " s:\n"),
        ("\r\n", "\n"),
    ] {
        let mut out = Vec::new();
        encode_event(&mut out, Some("i\n7"), Some("message\r"), data.as_bytes());
        encode_event(&mut out, None, None, b"{}");
        let Stream { events, .. } = decode(&mut Decoder::new(), &[&out]);
        let first = Event {
            id: Some(b"i7".to_vec()),
            event: Some(b"message".to_vec()),
            retry: None,
            data: Some(back.as_bytes().to_vec()),
        };
        assert_eq!(events, [first, event((None, None, None, Some("{}")))]);
    }
}
