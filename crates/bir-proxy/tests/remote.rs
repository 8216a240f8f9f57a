//! `bir-proxy --url` as a process, against a scripted HTTP server.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Head in lower case, and body.
type Request = (String, Vec<u8>);

struct Server {
    port: u16,
    seen: mpsc::Receiver<Request>,
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
    } else if head.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).ok()?;
            if length == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }
    Some((head, body))
}

impl Server {
    /// `answer` writes the answer to one request that is no part of the handshake; `false` closes the connection.
    fn start(answer: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to, seen) = mpsc::channel();
        let (answer, to) = (Arc::new(answer), Arc::new(Mutex::new(to)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, to) = (answer.clone(), to.clone());
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut reader) {
                        let _ = to.lock().unwrap().send(request.clone());
                        let text =
                            String::from_utf8_lossy(&request.1[..request.1.len().min(200)]).into_owned();
                        let keep = if text.contains("\"initialize\"") {
                            let body =
                                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#;
                            json(&mut stream, body, "Mcp-Session-Id: s-1\r\n")
                        } else if text.contains("notifications/initialized")
                            || request.0.starts_with("delete")
                        {
                            stream.write_all(b"HTTP/1.1 202 X\r\nContent-Length: 0\r\n\r\n").is_ok()
                        } else {
                            answer(&request, &mut stream)
                        };
                        if !keep {
                            return;
                        }
                    }
                });
            }
        });
        Self { port, seen }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn wait_for(&self, part: &str) -> Request {
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let request = self.seen.recv_timeout(left).unwrap_or_else(|_| panic!("no request with {part:?}"));
            if request.0.contains(part) || String::from_utf8_lossy(&request.1).contains(part) {
                return request;
            }
        }
    }
}

fn json(stream: &mut TcpStream, body: &str, headers: &str) -> bool {
    let head = format!(
        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).is_ok()
}

fn not_found(request: &Request, stream: &mut TcpStream) -> bool {
    let status = if request.0.starts_with("get") { 405 } else { 404 };
    stream.write_all(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
}

struct Proxy {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

fn command(args: &[&str]) -> Command {
    bir_testkit::procs::heed_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir-proxy"));
    command
        .args(["--server-name", "t"])
        .args(args)
        .env("BIR_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
    for name in
        ["BIR_UPSTREAM_HEADERS", "BIR_LOG", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "BIR_OFF"]
    {
        command.env_remove(name);
    }
    command
}

impl Proxy {
    fn start(url: &str) -> Self {
        let mut child = command(&["--url", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    fn send(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn shake_hands(&mut self) {
        self.send(INITIALIZE);
        assert!(self.line().contains("protocolVersion"));
        self.send(INITIALIZED);
    }

    fn exit_code(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(start.elapsed() < PATIENCE, "the proxy does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn peak_memory_kib(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x","arguments":{{}}}}}}"#)
}

#[test]
fn end_of_input_lets_a_call_finish_and_deletes_the_session() {
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let server = Server::start(move |request, stream| {
        if !request.0.starts_with("post") {
            return not_found(request, stream);
        }
        gate.lock().unwrap().recv().unwrap();
        json(stream, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "")
    });
    let mut proxy = Proxy::start(&server.url());
    proxy.shake_hands();
    proxy.send(&call(1));
    server.wait_for("tools/call");
    proxy.stdin = None;
    go.send(()).unwrap();
    assert_eq!(proxy.line(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(server.wait_for("delete /mcp").0.contains("mcp-session-id: s-1"));
    assert_eq!(proxy.exit_code(), 0);
    assert_eq!(proxy.line(), "", "nothing else was written");
}

#[test]
fn a_signal_ends_it_while_a_call_hangs() {
    for (signal, status) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let server = Server::start(|request, stream| {
            if !request.0.starts_with("post") {
                return not_found(request, stream);
            }
            let _ = stream.read(&mut [0]);
            false
        });
        let mut proxy = Proxy::start(&server.url());
        proxy.shake_hands();
        proxy.send(&call(1));
        server.wait_for("tools/call");
        assert!(
            Command::new("kill").args([signal, &proxy.child.id().to_string()]).status().unwrap().success()
        );
        server.wait_for("delete /mcp");
        assert_eq!(proxy.exit_code(), status, "{signal}");
        assert_eq!(proxy.line(), "", "no answer is invented");
    }
}

#[test]
fn a_closed_stdout_ends_it() {
    let server = Server::start(|request, stream| match request.0.starts_with("post") {
        true => json(stream, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, ""),
        false => not_found(request, stream),
    });
    let mut child = command(&["--url", &server.url()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    stdin.write_all(format!("{}\n", call(1)).as_bytes()).unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_64_mib_answer_costs_no_memory_and_other_lines_stay_whole() {
    const SIZE: usize = 64 << 20;
    let server = Server::start(|request, stream| {
        let text = String::from_utf8_lossy(&request.1).into_owned();
        if !request.0.starts_with("post") {
            return not_found(request, stream);
        }
        if text.contains("\"id\":2") {
            return json(stream, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "");
        }
        let head = r#"{"jsonrpc":"2.0","id":1,"result":{"t":""#;
        let length = head.len() + SIZE + 3;
        let http = format!(
            "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{head}"
        );
        let block = vec![b'x'; 1 << 20];
        stream.write_all(http.as_bytes()).is_ok()
            && (0..SIZE >> 20).all(|_| stream.write_all(&block).is_ok())
            && stream.write_all(b"\"}}").is_ok()
    });
    let mut proxy = Proxy::start(&server.url());
    proxy.shake_hands();
    proxy.send(&call(1));
    proxy.send(&call(2));
    let mut lengths = [proxy.line().len(), proxy.line().len()];
    lengths.sort_unstable();
    assert_eq!(lengths, [36, SIZE + 42]);
    let peak = proxy.peak_memory_kib();
    assert!(peak < 24 * 1024, "{peak} KiB");
}

#[test]
fn a_large_answer_that_breaks_off_ends_its_line_before_the_error() {
    let server = Server::start(|request, stream| {
        if !request.0.starts_with("post") {
            return not_found(request, stream);
        }
        let head = "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n{\"id\":1,\"result\":\"";
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'x'; 1 << 20]);
        let _ = stream.shutdown(std::net::Shutdown::Both);
        false
    });
    let mut proxy = Proxy::start(&server.url());
    proxy.shake_hands();
    proxy.send(&call(1));
    let torn = proxy.line();
    assert!(torn.starts_with("{\"id\":1,\"result\":\"xx") && torn.len() <= (1 << 20) + 18);
    let answer = proxy.line();
    assert!(
        answer.starts_with(r#"{"jsonrpc":"2.0","id":1,"error""#) && answer.contains("unknown"),
        "{answer}"
    );
}

#[test]
fn a_large_message_of_the_host_is_streamed() {
    let server = Server::start(|request, stream| {
        if !request.0.starts_with("post") {
            return not_found(request, stream);
        }
        json(stream, &format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, request.1.len()), "")
    });
    let mut proxy = Proxy::start(&server.url());
    proxy.shake_hands();
    let text = "y".repeat(24 << 20);
    let line = format!(
        r#"{{"method":"tools/call","params":{{"name":"x","arguments":{{"t":"{text}"}}}},"jsonrpc":"2.0","id":7}}"#
    );
    proxy.send(&line);
    assert_eq!(proxy.line(), format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, line.len()));
    assert!(server.wait_for("\"tools/call\"").0.contains("transfer-encoding: chunked"));
    let peak = proxy.peak_memory_kib();
    assert!(peak < 24 * 1024, "{peak} KiB");
}

#[test]
fn an_endless_line_before_any_handshake_is_refused_and_the_next_one_works() {
    let server = Server::start(not_found);
    let mut proxy = Proxy::start(&server.url());
    let mut stdin = proxy.stdin.take().unwrap();
    let block = vec![b'z'; 1 << 20];
    stdin.write_all(br#"{"jsonrpc":"2.0","params":{"t":""#).unwrap();
    (0..96).for_each(|_| stdin.write_all(&block).unwrap());
    stdin.write_all(b"\"},\"id\":5,\"method\":\"x\"}\n").unwrap();
    let answer = proxy.line();
    assert!(answer.contains("\"id\":5,\"error\"") && answer.contains("too large"), "{answer}");
    stdin.write_all(format!("{INITIALIZE}\n").as_bytes()).unwrap();
    assert!(proxy.line().contains("protocolVersion"));
    assert!(proxy.peak_memory_kib() < 160 * 1024, "what was held is bounded");
}

#[test]
fn the_beginning_of_a_message_is_never_sent_as_a_whole_one() {
    for size in [100, 3 << 20] {
        let server = Server::start(not_found);
        let mut proxy = Proxy::start(&server.url());
        proxy.shake_hands();
        server.wait_for("notifications/initialized");
        let begun =
            format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"t":"{}"#, "x".repeat(size));
        proxy.stdin.as_mut().unwrap().write_all(begun.as_bytes()).unwrap();
        proxy.stdin = None;
        assert_eq!(proxy.exit_code(), 0);
        let seen: Vec<_> = server.seen.try_iter().collect();
        assert!(seen.iter().any(|(head, _)| head.starts_with("delete")), "{seen:?}");
        assert!(seen.iter().all(|(_, body)| !String::from_utf8_lossy(body).contains("tools/call")));
    }
}

#[test]
fn sockets_and_files_work_as_pipes_do() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let server = Server::start(not_found);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let stdio = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
    let mut child = command(&["--url", &server.url()])
        .stdin(stdio())
        .stdout(stdio())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(theirs);
    (&ours).write_all(format!("{INITIALIZE}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(&ours).read_line(&mut line).unwrap();
    assert!(line.contains("protocolVersion"));
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());

    let folder = std::env::temp_dir().join(format!("bir-remote-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in"), folder.join("out"));
    std::fs::write(&input, format!("{INITIALIZE}\n{INITIALIZED}\n{}", call(1))).unwrap();
    let status = command(&["--url", &server.url()])
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let written = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(status.success());
    let lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 2, "{written}");
    assert!(lines[0].contains("protocolVersion") && lines[1].contains("\"id\":1,\"error\""), "{written}");
}

#[test]
fn an_sse_upstream_that_does_not_open_is_the_end() {
    let server = Server::start(not_found);
    let mut child = command(&["--url", &server.url(), "--transport", "sse"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{INITIALIZE}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(
        out,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32000,\"message\":\"upstream answered HTTP 405\"}}\n"
    );
    assert_eq!(err, "bir-proxy[t]: the event stream could not be opened: upstream answered HTTP 405\n");
}

#[test]
fn what_cannot_be_is_one_line_and_a_status() {
    for (args, variable, part) in [
        (&["--url", "nonsense"][..], None, "http://"),
        (&["--url", "http://u:s3cret@h/"], None, "BIR_UPSTREAM_HEADERS"),
        (&["--url", "http://h/", "--header", "Host: s3cret"], None, "set by the relay itself"),
        (&["--url", "http://h/"], Some("{\"A\": s3cret}"), "BIR_UPSTREAM_HEADERS is not a JSON object"),
        (&["--url-env", "NO_SUCH"], None, "the variable NO_SUCH is not set"),
        (&["--url", "http://h/", "--bearer-env", "NO_SUCH"], None, "the variable NO_SUCH is not set"),
        (&["--url", "http://h/", "--bearer-env", "s3-cret"], None, "takes the name of a variable"),
        (
            &["--url-env", "BIR_UPSTREAM_HEADERS"],
            Some("s3cret://h"),
            "`--url-env`: the URL must begin with http",
        ),
    ] {
        let mut command = command(args);
        if let Some(variable) = variable {
            command.env("BIR_UPSTREAM_HEADERS", variable);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len(), err.lines().count()),
            (Some(2), 0, 1),
            "{err}"
        );
        assert!(err.contains(part) && !err.contains("s3cret"), "{err}");
    }
}

/// What the server is sent under these names (in small letters), and what the log says, with these options and variables; `PORT` in
/// a variable is the server's.
fn sent(options: &[&str], variables: &[(&str, &str)], names: [&str; 3]) -> ([String; 3], String) {
    let server = Server::start(not_found);
    let mut command = command(options);
    for (name, value) in variables {
        command.env(name, value.replace("PORT", &server.port.to_string()));
    }
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let mut child = command.stdin(input).stdout(Stdio::null()).stderr(output).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{INITIALIZE}\n").as_bytes()).unwrap();
    let (head, _) = server.wait_for("\"initialize\"");
    drop(stdin);
    let err = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    let value = |name: &str| {
        let of =
            |line: &str| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned);
        head.lines().find_map(of).unwrap_or_else(|| "-".into())
    };
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    (names.map(|name| if name == "path" { path.clone() } else { value(name) }), err)
}

#[test]
fn address_and_headers_come_from_variables() {
    let url = ("U", "http://127.0.0.1:PORT/mcp?key=1");
    let names = ["path", "authorization", "x-a"];
    let of = |options: &[&str], variables: &[(&str, &str)]| {
        let (values, err) = sent(options, &[&[url], variables].concat(), names);
        assert_eq!(err, "", "{options:?}");
        values.join(" | ")
    };
    assert_eq!(of(&["--url-env", "U"], &[]), "/mcp?key=1 | - | -");
    let options = ["--url-env", "U", "--bearer-env", "T", "--header-env", "X-A: A"];
    assert_eq!(of(&options, &[("T", "t"), ("A", "a: b")]), "/mcp?key=1 | bearer t | a: b");
    // One variable for both, and what an option says counts more than the object.
    let json = ("BIR_UPSTREAM_HEADERS", "{\"X-A\":\"x\",\"Authorization\":\"y\"}");
    let options = ["--url-env", "U", "--header-env", "Authorization: A", "--header-env", "x-a: A"];
    assert_eq!(of(&options, &[("A", "a"), json]), "/mcp?key=1 | a | a");
    let options = ["--url-env", "U", "--header-env", "X-A: A", "--header", "X-A: b"];
    assert_eq!(of(&options, &[("A", "a"), json]), "/mcp?key=1 | y | b");
}

#[test]
fn a_user_name_in_the_address_is_sent_as_a_header() {
    let variables = [("U", "http://u:p@127.0.0.1:PORT/mcp")];
    let (values, _) = sent(&["--url-env", "U"], &variables, ["path", "authorization", "x-a"]);
    assert_eq!(values, ["/mcp", "basic dtpw", "-"]);
    let configured = [variables[0], ("BIR_UPSTREAM_HEADERS", "{\"authorization\":\"own\"}")];
    assert_eq!(sent(&["--url-env", "U"], &configured, ["path", "authorization", "x-a"]).0[1], "own");
    let options = ["--url-env", "U", "--header", "Authorization: given"];
    assert_eq!(sent(&options, &configured, ["path", "authorization", "x-a"]).0[1], "given");
}

#[test]
fn a_header_without_a_value_is_left_out_and_said() {
    let variables = [("U", "http://127.0.0.1:PORT/mcp"), ("EMPTY", ""), ("A", "a")];
    let options = [
        "--url-env",
        "U",
        "--header-env",
        "X-B: NO_SUCH",
        "--header-env",
        "X-C: EMPTY",
        "--header-env",
        "X-A: A",
    ];
    let (values, err) = sent(&options, &variables, ["x-a", "x-b", "x-c"]);
    assert_eq!(values, ["a", "-", "-"]);
    let line = |variable: &str, header: &str| {
        format!(
            "bir-proxy[t]: the variable {variable} is not set or empty; the header {header} is not sent\n"
        )
    };
    assert_eq!(err, line("NO_SUCH", "X-B") + &line("EMPTY", "X-C"));
}
