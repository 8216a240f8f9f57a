//! Messages of 64 MiB pass in both directions, and the proxy holds next to nothing of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, HostCommand, On, Script, Step};
use common::*;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read, Write as _};
use std::process::Stdio;

const SIZE: usize = 64 << 20;

/// What the proxy may have held at most, in KiB.
const MOST_KIB: u64 = 8 * 1024;

/// A line of `SIZE` bytes and more that is cut at other places than the pieces in which it is read.
fn pieces(head: &str) -> impl Iterator<Item = Vec<u8>> {
    let odd = "é😀\\u00e9 1e400 \\\" ".repeat(4_099).into_bytes();
    let times = SIZE / odd.len() + 1;
    std::iter::once(head.as_bytes().to_vec())
        .chain(std::iter::repeat_n(odd, times))
        .chain(std::iter::once(b"\"}}\n".to_vec()))
}

fn hash(pieces: impl Iterator<Item = Vec<u8>>) -> (u64, u64) {
    let (mut hasher, mut len) = (DefaultHasher::new(), 0);
    for piece in pieces {
        piece.iter().for_each(|byte| hasher.write_u8(*byte));
        len += piece.len() as u64;
    }
    (hasher.finish(), len)
}

/// The bytes of a source up to and with a newline.
fn line_of(source: &mut impl Read) -> (u64, u64) {
    let (mut hasher, mut len, mut block) = (DefaultHasher::new(), 0, vec![0; 64 * 1024]);
    loop {
        let n = source.read(&mut block).unwrap();
        assert!(n > 0, "ended after {len} bytes");
        block[..n].iter().for_each(|byte| hasher.write_u8(*byte));
        len += n as u64;
        if block[n - 1] == b'\n' {
            return (hasher.finish(), len);
        }
    }
}

const HEAD: &str = "{\"jsonrpc\":\"2.0\", \"id\" : 1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":\"";

/// `cat` answers with what it is asked: the line goes through the proxy twice.
#[test]
fn t16_a_line_of_64_mib_passes_both_ways_and_costs_the_proxy_single_megabytes() {
    let expected = hash(pieces(HEAD));
    assert!(expected.1 > SIZE as u64);
    let tree = unique();
    let inner = HostCommand::new("cat");
    let argv = proxy(&[], &inner).argv();
    let home = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(&argv[0])
        .args(&argv[1..])
        .env("BIR_HOME", home.path())
        .env("PROXY_TEST_TREE", &tree)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in pieces(HEAD) {
            stdin.write_all(&piece).unwrap();
        }
        stdin
    });
    assert_eq!(line_of(&mut stdout), expected);
    let stdin = writer.join().unwrap();
    let peak = peak_kib(child.id());
    assert!(peak < MOST_KIB, "{peak} KiB");
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(left(&tree, BUDGET), []);
}

#[test]
fn an_answer_of_64_mib_from_a_server_of_either_era_passes() {
    for era in [Eras::Legacy, Eras::Modern] {
        let mut front = front(Script::era(era)).start_counting();
        front.send(modern_call("1", "sized", &format!("{{\"n\":{SIZE}}}"))).unwrap();
        let kind = if era == Eras::Modern { "\"resultType\":\"complete\"," } else { "" };
        let around = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{kind}\"content\":[{{\"type\":\"text\",\"text\":\"\"}}]}}}}\n"
        );
        let expected = (SIZE + around.len()) as u64;
        assert_eq!(front.wait_stdout_len(expected, BUDGET * 2), expected);
        let peak = peak_kib(front.pid());
        assert!(peak < MOST_KIB, "{peak} KiB");
        assert_eq!(front.finish(), 0);
        assert_eq!(front.stdout_len(), expected);
    }
}

#[test]
fn both_directions_can_be_full_at_once() {
    // The upstream sends 8 MiB for each call while the host is still writing 8 MiB of them.
    let script = Script::new().on(On::tool("both"), [Step::Size(8 << 20)]);
    let mut front = front(script).start_counting();
    let argument = format!("\"{}\"", "a".repeat(8 << 20));
    for id in 0..3 {
        front.send(call(&id.to_string(), "both", &argument)).unwrap();
    }
    let around =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}}\n".len();
    let expected = 3 * ((8 << 20) + around) as u64;
    assert_eq!(front.wait_stdout_len(expected, BUDGET * 2), expected);
    assert_eq!(front.finish(), 0);
}
