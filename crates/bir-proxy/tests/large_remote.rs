//! Messages of 64 MiB pass to and from remote servers in both directions, and the proxy holds next to nothing of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/raw_http.rs"]
mod raw_http;
#[path = "common/remote.rs"]
mod remote;

use bir_testkit::{HostCommand, Script};
use common::*;
use raw_http::*;
use remote::*;
use std::io::{BufRead, Write};
use std::net::TcpStream;
use std::sync::Mutex;

const SIZE: usize = 64 << 20;

/// What a message of [`SIZE`] may cost the proxy, its recording included, in KiB.
const MOST_KIB: u64 = 8 * 1024;

/// What the proxy may hold as a whole, in KiB.
const WHOLE_KIB: u64 = 16 * 1024;

/// A message of [`SIZE`] bytes and more that is cut at other places than the pieces in which it is read.
fn pieces<'a>(head: &'a str, tail: &'a str) -> impl Iterator<Item = Vec<u8>> + use<'a> {
    let odd = "é\u{1f600}\\u00e9 1e400 \\\" ".repeat(4_099).into_bytes();
    let times = SIZE / odd.len() + 1;
    std::iter::once(head.as_bytes().to_vec())
        .chain(std::iter::repeat_n(odd, times))
        .chain(std::iter::once(tail.as_bytes().to_vec()))
}

/// The bytes up to a newline, without it.
fn line_of(source: &mut impl BufRead) -> (u64, u64) {
    let mut sum = Sum::new();
    loop {
        let block = source.fill_buf().unwrap();
        assert!(!block.is_empty(), "stdout ended");
        let end = block.iter().position(|byte| *byte == b'\n');
        let n = end.unwrap_or(block.len());
        sum.add(&block[..n]);
        source.consume(n + usize::from(end.is_some()));
        if end.is_some() {
            return sum.end();
        }
    }
}

const LARGE_ANSWER: (&str, &str) =
    ("{\"jsonrpc\":\"2.0\", \"id\" : 1,\"result\":{\"s\":\"", "\"}, \"n\":-0}");

/// Writes the large answer: as a body of known length, or as one event of a chunked stream.
fn large_answer(stream: &mut TcpStream, events: bool) -> bool {
    let (head, tail) = LARGE_ANSWER;
    let length: usize = pieces(head, tail).map(|piece| piece.len()).sum();
    if !events {
        let http =
            format!("HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        return stream.write_all(http.as_bytes()).is_ok()
            && pieces(head, tail).all(|piece| stream.write_all(&piece).is_ok());
    }
    let http = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let event = std::iter::once(b"data: ".to_vec()).chain(pieces(head, tail)).chain([b"\n\n".to_vec()]);
    stream.write_all(http.as_bytes()).is_ok()
        && write_chunks(stream, event)
        && stream.write_all(b"0\r\n\r\n").is_ok()
}

fn write_chunks(stream: &mut TcpStream, pieces: impl Iterator<Item = Vec<u8>>) -> bool {
    pieces.into_iter().all(|piece| {
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
        stream.write_all(&chunk).is_ok()
    })
}

#[test]
fn t16_an_answer_of_64_mib_passes_and_costs_single_megabytes() {
    let expected = sum(pieces(LARGE_ANSWER.0, LARGE_ANSWER.1));
    assert!(expected.0 > SIZE as u64);
    for (modern, events) in [(false, false), (false, true), (true, false), (true, true)] {
        let server = RawServer::start(move |asked, stream| {
            shake_hands(asked, stream).unwrap_or_else(|| large_answer(stream, events))
        });
        let mut proxy = Streamed::start(&server.url(), "http");
        if modern {
            proxy.discover();
            proxy.send(&modern_call("1", "x", "{}"));
        } else {
            proxy.open();
            proxy.send(&call("1", "x", "{}"));
        }
        assert_eq!(line_of(&mut proxy.stdout), expected, "modern: {modern}, events: {events}");
        proxy.end(MOST_KIB);
    }
}

#[test]
fn t16_a_request_of_64_mib_passes_and_costs_single_megabytes() {
    let head = "{\"jsonrpc\":\"2.0\", \"id\" : 1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",";
    for is_modern in [false, true] {
        let head = if is_modern {
            format!("{head}{META},\"arguments\":\"")
        } else {
            format!("{head}\"arguments\":\"")
        };
        let expected = sum(pieces(&head, "\"}}"));
        let server = RawServer::start(|asked, stream| {
            shake_hands(asked, stream).unwrap_or_else(|| {
                json(stream, &format!("{{\"id\":1,\"result\":[{},{}]}}", asked.sum.0, asked.sum.1))
            })
        });
        let mut proxy = Streamed::start(&server.url(), "http");
        if is_modern {
            proxy.discover();
        } else {
            proxy.open();
        }
        let stdin = proxy.stdin.as_mut().unwrap();
        pieces(&head, "\"}}\n").for_each(|piece| stdin.write_all(&piece).unwrap());
        assert_eq!(proxy.line(), format!("{{\"id\":1,\"result\":[{},{}]}}", expected.0, expected.1));
        proxy.end(MOST_KIB);
    }
}

#[test]
fn t16_messages_of_64_mib_pass_over_sse_in_both_directions() {
    let (events, wire) = std::sync::mpsc::channel::<Vec<u8>>();
    let (wire, events) = (Mutex::new(Some(wire)), Mutex::new(events));
    let server = RawServer::start(move |asked, stream| {
        if asked.head.starts_with("get") {
            let Some(wire) = wire.lock().unwrap().take() else { return false };
            let head =
                "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            let first = b"event: endpoint\ndata: /post?x=1\n\n".to_vec();
            return stream.write_all(head.as_bytes()).is_ok()
                && write_chunks(stream, std::iter::once(first).chain(wire));
        }
        let events = events.lock().unwrap();
        let say = |message: String| events.send(format!("data: {message}\n\n").into_bytes()).is_ok();
        let accepted = whole(stream, 202, "", "");
        if asked.body.contains("initialize\"") {
            say(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"}}"#.into());
        } else if asked.body.contains("large") {
            let (head, tail) = LARGE_ANSWER;
            let event =
                std::iter::once(b"data: ".to_vec()).chain(pieces(head, tail)).chain([b"\n\n".to_vec()]);
            event.for_each(|piece| events.send(piece).unwrap());
        } else if asked.body.contains("tools/call") {
            say(format!("{{\"id\":1,\"result\":[{},{}]}}", asked.sum.0, asked.sum.1));
        }
        accepted
    });
    let mut proxy = Streamed::start(&server.url(), "sse");
    proxy.open();
    proxy.send(&call("1", "large", "{}"));
    assert_eq!(line_of(&mut proxy.stdout), sum(pieces(LARGE_ANSWER.0, LARGE_ANSWER.1)));
    let head = "{\"jsonrpc\":\"2.0\", \"id\" : 1,\"method\":\"tools/call\",\"params\":{\"arguments\":\"";
    let stdin = proxy.stdin.as_mut().unwrap();
    pieces(head, "\"}}\n").for_each(|piece| stdin.write_all(&piece).unwrap());
    let expected = sum(pieces(head, "\"}}"));
    assert_eq!(proxy.line(), format!("{{\"id\":1,\"result\":[{},{}]}}", expected.0, expected.1));
    proxy.end(MOST_KIB);
}

#[test]
fn t16_a_32_mib_answer_of_a_scripted_server_is_the_same_over_every_leg() {
    const SIZE: u64 = 32 << 20;
    for modern in [false, true] {
        let legs: &[Leg] = if modern { &Leg::MODERN } else { &[Leg::Json, Leg::Events, Leg::Sse] };
        for leg in legs {
            let mut stage = Stage::with(&Script::new(), *leg, HostCommand::count_stdout);
            let before = if modern {
                0
            } else {
                stage.send(INIT);
                stage.arrived(1);
                stage.tell(INITIALIZED);
                stage.host.wait_stdout_len(1, BUDGET);
                stage.host.stdout_len()
            };
            stage.send(stage.call("1", "sized", &format!("{{\"n\":{SIZE}}}")));
            let kind = if modern { "\"resultType\":\"complete\"," } else { "" };
            let around = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{kind}\"content\":[{{\"type\":\"text\",\"text\":\"\"}}]}}}}\n"
            );
            let expected = before + SIZE + around.len() as u64;
            assert_eq!(stage.host.wait_stdout_len(expected, BUDGET * 2), expected, "{leg:?}");
            let peak = peak_kib(stage.host.pid());
            assert!(peak < WHOLE_KIB, "{leg:?}: {peak} KiB");
            assert_eq!(stage.host.finish(BUDGET).unwrap(), 0);
            assert_eq!(stage.host.stdout_len(), expected);
        }
    }
}
