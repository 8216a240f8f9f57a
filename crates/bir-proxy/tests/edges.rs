//! Servers and hosts that do what few do: half-closed pipes, non-blocking stdio, ignored signals, damaged caches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The proxy in front of a shell script.
fn proxy(options: &[&str], script: &str, argument: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir-proxy"));
    command.args(["--server-name", "x"]).args(options).args(["--", "sh", "-c", script]).arg(argument);
    command.env("BIR_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ask(child: &mut Child, line: &str) -> String {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
    let mut answer = String::new();
    let mut byte = [0];
    let stdout = child.stdout.as_mut().unwrap();
    while stdout.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        answer.push(char::from(byte[0]));
    }
    answer
}

/// Opens once with `--lazy`, and ends.
fn open_lazily(home: &Path, script: &str, argument: &Path) -> String {
    let mut child = proxy(&["--lazy"], script, argument).env("BIR_HOME", home).spawn().unwrap();
    let answer = ask(&mut child, INITIALIZE);
    drop(child.stdin.take());
    child.wait().unwrap();
    answer
}

/// Refuses `initialize` at its first start and accepts it at the next.
const REFUSES_ONCE: &str = r#"read l
if [ -e "$0" ]; then echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}'
else touch "$0"; echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"token expired"}}'; fi
cat > /dev/null"#;

#[test]
fn a_refusal_is_not_kept_for_later_starts() {
    let dir = tempfile::tempdir().unwrap();
    let (home, mark) = (dir.path().join("home"), dir.path().join("mark"));
    assert!(open_lazily(&home, REFUSES_ONCE, &mark).contains("token expired"));
    for _ in 0..2 {
        assert!(open_lazily(&home, REFUSES_ONCE, &mark).contains("protocolVersion"));
    }
}

#[test]
fn a_damaged_cache_is_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let (home, mark) = (dir.path().join("home"), dir.path().join("mark"));
    fs::write(&mark, "").unwrap();
    let sound = open_lazily(&home, REFUSES_ONCE, &mark);
    let file = fs::read_dir(home.join("handshakes")).unwrap().next().unwrap().unwrap().path();
    for damage in [
        "initialize 2025-11-25\t\"result\":{\"protoco",
        "initialize 2025-11-25\t",
        "initialize 2025-11-25\thello",
        "\u{0}",
    ] {
        fs::write(&file, damage).unwrap();
        assert_eq!(open_lazily(&home, REFUSES_ONCE, &mark), sound, "{damage:?}");
    }
}

const LARGE: usize = 1_000_000;
const ANSWERS_LARGE: &str = r#"read l; printf '{"jsonrpc":"2.0","id":1,"result":"'
head -c 1000000 /dev/zero | tr '\0' x; printf '"}\n'; cat > /dev/null"#;

fn non_blocking(end: &OwnedFd) {
    rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK).unwrap();
}

#[test]
fn non_blocking_stdio_is_read_and_written_to_its_end() {
    let (stdin_read, stdin_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (stdout_read, stdout_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    non_blocking(&stdin_read);
    non_blocking(&stdout_write);
    let mut command = proxy(&[], ANSWERS_LARGE, Path::new("-"));
    command.stdin(Stdio::from(stdin_read)).stdout(Stdio::from(stdout_write));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = fs::File::from(stdin_write);
    writeln!(stdin, "{PING}").unwrap();
    let mut line = Vec::new();
    BufReader::new(fs::File::from(stdout_read)).read_until(b'\n', &mut line).unwrap();
    assert_eq!(line.len(), r#"{"jsonrpc":"2.0","id":1,"result":""}"#.len() + LARGE + 1);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_server_that_closes_its_stdout_and_lives_on_is_answered_for_and_ended() {
    let mut child = proxy(&[], "read l; exec >&-; exec sleep 600", Path::new("-")).spawn().unwrap();
    assert!(ask(&mut child, PING).contains("MCP server \\\"x\\\" is not available"));
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("has closed its stdout"), "{said}");
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let echo = r#"while read l; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done"#;
    bir_testkit::procs::heed_signals();
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" HUP INT; exec "$0" "$@""#, env!("CARGO_BIN_EXE_bir-proxy")]);
    command.args(["--server-name", "x", "--", "sh", "-c", echo]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let answer = ask(&mut child, PING);
    let pid = rustix::process::Pid::from_child(&child);
    for signal in [rustix::process::Signal::HUP, rustix::process::Signal::INT] {
        rustix::process::kill_process(pid, signal).unwrap();
        assert_eq!(ask(&mut child, PING), answer);
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
