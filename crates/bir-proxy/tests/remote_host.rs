//! `bir-proxy --url` and a host that leaves, reads slowly, or writes more than the server takes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(40);
const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

/// What the server does with a call: the head of the request and the open connection.
type OnCall = fn(&str, &mut BufReader<TcpStream>);

struct Server {
    url: String,
    calls: mpsc::Receiver<()>,
}

/// A legacy server: the handshake is answered, a call is told and given to `on_call` with its body unread.
fn server(on_call: OnCall) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
    let (tell, calls) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || serve(&mut BufReader::new(stream), &tell, on_call));
        }
    });
    Server { url, calls }
}

fn serve(reader: &mut BufReader<TcpStream>, tell: &mpsc::Sender<()>, on_call: OnCall) -> Option<()> {
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        let chunked = head.contains("transfer-encoding: chunked");
        reader.read_exact(&mut body).ok()?;
        let text = String::from_utf8_lossy(&body).into_owned();
        if chunked || text.contains("tools/call") {
            let _ = tell.send(());
            on_call(&text, reader);
        } else if text.contains("\"initialize\"") {
            answer(reader, "200", r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#);
        } else if head.starts_with("get") {
            answer(reader, "405", "");
        } else {
            answer(reader, "202", "");
        }
    }
}

fn answer(reader: &mut BufReader<TcpStream>, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = reader.get_mut().write_all(format!("{head}{body}").as_bytes());
}

/// Never answers and never reads on.
fn hang(_: &str, reader: &mut BufReader<TcpStream>) {
    std::thread::sleep(PATIENCE);
    let _ = reader.get_ref().shutdown(std::net::Shutdown::Both);
}

fn start(url: &str) -> (Child, ChildStdin) {
    bir_testkit::procs::heed_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir-proxy"));
    command
        .args(["--server-name", "t", "--url", url])
        .env("BIR_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
    for name in ["BIR_LOG", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "BIR_OFF"] {
        command.env_remove(name);
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(HANDSHAKE.as_bytes()).unwrap();
    (child, stdin)
}

/// Everything on stderr once the proxy has ended, which it must.
fn end_of(mut child: Child) -> String {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the proxy does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

fn call(id: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"x\"}}}}\n")
}

fn large_call(id: usize) -> Vec<u8> {
    let mut line =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"t":""#).into_bytes();
    line.resize(line.len() + (24 << 20), b'y');
    line.extend_from_slice(b"\"}}\n");
    line
}

#[test]
fn a_host_that_leaves_in_the_middle_of_a_large_message_is_noticed() {
    let server = server(hang);
    let (child, mut stdin) = start(&server.url);
    // Written until the pipe is full, then the host is gone with what it had to say.
    let writer = std::thread::spawn(move || {
        use std::os::fd::AsFd;
        let flags = rustix::fs::fcntl_getfl(stdin.as_fd()).unwrap();
        rustix::fs::fcntl_setfl(stdin.as_fd(), flags | rustix::fs::OFlags::NONBLOCK).unwrap();
        let line = large_call(1);
        let (mut rest, mut full_since) = (&line[..], Instant::now());
        while full_since.elapsed() < Duration::from_secs(1) {
            match stdin.write(rest) {
                Ok(length) => (rest, full_since) = (&rest[length..], Instant::now()),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        assert!(!rest.is_empty(), "the server took it all");
    });
    server.calls.recv_timeout(PATIENCE).unwrap();
    writer.join().unwrap();
    let said = end_of(child);
    assert!(said.contains("the host has hung up"), "{said}");
}

#[test]
fn many_calls_without_an_answer_do_not_keep_the_end_from_being_read() {
    let server = server(hang);
    let (child, mut stdin) = start(&server.url);
    let calls: String = (1..=1500).map(call).collect();
    stdin.write_all(calls.as_bytes()).unwrap();
    for id in 1..=1500 {
        let cancel =
            format!("{{\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n");
        stdin.write_all(cancel.as_bytes()).unwrap();
    }
    // All of it was read and called back: nothing is left to wait for.
    drop(stdin);
    let said = end_of(child);
    assert!(!said.contains("had no answer"), "{said}");
}

#[test]
fn an_upload_that_was_refused_early_does_not_block_the_host() {
    let server = server(|text, reader| {
        if text.is_empty() {
            answer(reader, "413", "");
            hang(text, reader);
        }
        answer(reader, "200", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    });
    let (mut child, mut stdin) = start(&server.url);
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(stdout.next().unwrap().unwrap().contains("protocolVersion"));
    stdin.write_all(&large_call(1)).unwrap();
    let refused = stdout.next().unwrap().unwrap();
    assert!(refused.contains("\"id\":1,") && refused.contains("HTTP 413"), "{refused}");
    stdin.write_all(call(2).as_bytes()).unwrap();
    assert_eq!(stdout.next().unwrap().unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    drop(stdin);
    end_of(child);
}

#[test]
fn an_answer_is_whole_though_the_host_reads_it_after_the_end() {
    // More than a pipe holds, less than what is held back whole.
    const SIZE: usize = 200_000;
    let server = server(|text, reader| {
        let id = if text.contains("\"id\":1,") { 1 } else { 2 };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(SIZE));
        answer(reader, "200", &body);
    });
    let (mut child, mut stdin) = start(&server.url);
    stdin.write_all((call(1) + &call(2)).as_bytes()).unwrap();
    drop(stdin);
    for _ in 0..2 {
        server.calls.recv_timeout(PATIENCE).unwrap();
    }
    // Both answers are on their way into a pipe that is full, and the session is over.
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it still has something to write");
    let mut written = String::new();
    child.stdout.take().unwrap().read_to_string(&mut written).unwrap();
    let lengths: Vec<_> = written.lines().skip(1).map(str::len).collect();
    assert_eq!(lengths, [SIZE + 36, SIZE + 36]);
    assert_eq!(end_of(child), "");
}
