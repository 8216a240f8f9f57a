//! Who may say what to a control server, and what it costs to be refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::control::{HookWhat, ProxyReport, ProxyWhat, Registration, StepReports};
use bir_model::record::ServerInfo;
use common::{Client, Home, event, pre, wait};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn note() -> HookWhat {
    HookWhat::Note { name: "x".into() }
}

#[test]
fn nobody_without_the_token_of_a_project_changes_anything() {
    let home = Home::new();
    let server = home.serve();
    let client = home.client("a");
    let body = serde_json::to_vec(&event(&home.project("a"), "s", note())).unwrap();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = client.head(body.len());
        change(&mut lines);
        client.raw("POST /session/note", &lines, &body)
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<String>);
    let cases: [(&str, u16, &str, Change<'_>); 12] = [
        ("no token", 401, "unauthorized", &|lines| drop(lines.remove(1))),
        ("another token", 401, "unauthorized", &|lines| lines[1] = "Authorization: Bearer x".into()),
        ("another scheme", 401, "unauthorized", &|lines| lines[1] = lines[1].replace("Bearer", "Basic")),
        ("two tokens", 401, "unauthorized", &|lines| lines.push("Authorization: Bearer x".into())),
        ("a page", 403, "origin", &|lines| lines.push("Origin: http://127.0.0.1".into())),
        ("a page of nobody", 403, "origin", &|lines| lines.push("Origin: null".into())),
        ("a name that resolves here", 403, "bad_host", &|lines| lines[0] = "Host: evil.example".into()),
        ("another port", 403, "bad_host", &|lines| lines[0] = "Host: 127.0.0.1:1".into()),
        ("no type", 415, "media_type", &|lines| drop(lines.remove(2))),
        ("a form", 415, "media_type", &|lines| lines[2] = "Content-Type: text/plain".into()),
        ("another project's token", 403, "foreign_directory", &|lines| {
            lines[1] = format!("Authorization: Bearer {}", home.client("b").token);
        }),
        ("too long by its own account", 413, "too_large", &|lines| {
            lines[3] = format!("Content-Length: {}", 100 * 1024 * 1024);
        }),
    ];
    for (what, status, code, change) in cases {
        let (got, answer) = with(change);
        assert_eq!((got, answer["code"].as_str()), (status, Some(code)), "{what}: {answer}");
    }
    let head = client.head(body.len());
    for (request, status, code) in [
        ("POST /session/start", 422, "unfit"),
        ("POST /tool/pre", 422, "unfit"),
        ("POST /proxy/step", 422, "unfit"),
        ("GET /session/note", 405, "method"),
        ("POST /health", 405, "method"),
        ("POST /", 404, "no_route"),
    ] {
        let (got, answer) = client.raw(request, &head, &body);
        assert_eq!((got, answer["code"].as_str()), (status, Some(code)), "{request}: {answer}");
    }
    for broken in ["", "{", "[[[", "\u{0}", &"[".repeat(1_000_000), &format!("{{\"a\":{}1", "[".repeat(200))]
    {
        let (status, answer) =
            client.raw("POST /session/note", &client.head(broken.len()), broken.as_bytes());
        assert_eq!((status, answer["code"].as_str()), (400, Some("bad_json")));
    }
    assert_eq!(home.journals().len(), 0, "nothing was taken");
    assert_eq!(client.get("/health").1["sessions"].as_array().unwrap().len(), 0);
    // The same with everything right.
    assert_eq!(with(&|_| {}).0, 200);
    assert_eq!(with(&|lines| lines[0] = format!("Host: localhost:{}", client.port)).0, 200);
    assert_eq!(client.get("/health").1["sessions"][0]["sessionId"], "s");
    assert_eq!(home.client("b").get("/health").1["sessions"], serde_json::json!([]));
    server.end();
}

#[test]
fn a_hundred_mebibytes_cost_nothing() {
    let home = Home::new();
    let server = home.serve();
    let client = home.client("a");
    let piece = vec![b' '; 64 * 1024];
    for lines in [client.head(100 * 1024 * 1024), {
        let mut lines = client.head(0);
        lines[3] = "Transfer-Encoding: chunked".into();
        lines
    }] {
        let chunked = lines[3].starts_with('T');
        let mut stream = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        let head = format!("POST /session/note HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        let mut sent = 0;
        for _ in 0..1600 {
            let frame = if chunked { format!("{:x}\r\n", piece.len()) } else { String::new() };
            let end: &[u8] = if chunked { b"\r\n" } else { b"" };
            if [frame.as_bytes(), &piece, end].iter().any(|part| stream.write_all(part).is_err()) {
                break;
            }
            sent += piece.len();
        }
        // What the buffers of two sockets hold is sent without being read.
        assert!(sent < 32 * 1024 * 1024, "{sent} bytes were read");
        assert_eq!(client.get("/health").0, 200);
    }
    assert!(home.journals().is_empty());
    server.end();
}

#[test]
fn who_does_not_go_on_is_let_go() {
    let home = Home::new();
    let server = home.serve();
    let client = home.client("a");
    let begun = [
        "POST /session".to_owned(),
        format!("POST /session/note HTTP/1.1\r\n{}\r\n\r\n{{", client.head(100).join("\r\n")),
    ];
    for begun in begun {
        let mut stream = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        let (start, mut answer) = (Instant::now(), Vec::new());
        let _ = stream.read_to_end(&mut answer);
        assert!(start.elapsed() < Duration::from_secs(10));
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{:?}", String::from_utf8(answer));
    }
    server.end();
}

#[test]
fn a_proxy_registers_first_and_speaks_of_its_project_alone() {
    let home = Home::new();
    let server = home.serve();
    let (a, b) = (home.client("a"), home.client("b"));
    let report: ProxyReport = ProxyReport {
        call: 0,
        tool: "t".into(),
        call_id: None,
        fingerprint: None,
        replayed: false,
        at: 1,
        what: ProxyWhat::Began { input: None },
    };
    let reports = StepReports { proxy_id: "p".into(), reports: vec![report.clone(), report] };
    assert_eq!(a.post("/proxy/step", &reports).0, 409);
    let registration = Registration {
        api_version: 1,
        version: "1".into(),
        proxy_id: "p".into(),
        server: ServerInfo { name: "s".into(), ..ServerInfo::default() },
        pid: 0,
        parent_pid: 0,
        cwd: home.project("a").join("sub"),
        host: None,
        host_session: None,
        takes_call_id: false,
        tools: None,
    };
    assert_eq!(b.post("/proxy/register", &registration).0, 403);
    assert_eq!(a.post("/proxy/step", &reports).0, 409);
    let (status, answer) = a.post("/proxy/register", &registration);
    assert_eq!((status, &answer["apiVersion"], &answer["version"]), (200, &1.into(), &"0.1.0".into()));
    assert_eq!(b.post("/proxy/step", &reports).0, 403);
    assert_eq!(a.post("/proxy/step", &reports), (200, serde_json::json!({ "taken": 2 })));
    server.end();
}

#[test]
fn a_project_that_is_set_up_meanwhile_is_served() {
    let home = Home::new();
    let server = home.serve();
    let dir = home.project("c");
    std::fs::create_dir(&dir).unwrap();
    bir_control_client::projects::add(&home.state(), &dir).unwrap();
    let start = Instant::now();
    wait("the url", || home.discovery("c").url.is_some());
    assert!(start.elapsed() < Duration::from_secs(5));
    let client: Client = home.client("c");
    assert_eq!(client.tell(&event(&dir, "s", pre("1"))).0, 200);
    bir_control_client::projects::remove(&home.state(), &dir).unwrap();
    wait("the refusal", || client.get("/health").0 == 401);
    server.end();
}

#[test]
fn a_session_is_of_the_project_in_which_it_began() {
    let home = Home::new();
    let server = home.serve();
    let (a, b) = (home.client("a"), home.client("b"));
    assert_eq!(a.tell(&event(&home.project("a"), "s", pre("c1"))).0, 200);
    let forged = event(&home.project("b"), "s", HookWhat::SessionEnd { reason: "x".into() });
    let (status, answer) = b.tell(&forged);
    assert_eq!((status, answer["code"].as_str()), (403, Some("foreign_directory")), "{answer}");
    // It may go wherever it likes.
    assert_eq!(a.tell(&event(&home.project("b"), "s", pre("c2"))).0, 200);
    server.end();
    let calls: Vec<_> =
        home.spooled().iter().filter_map(|record| record["callId"].as_str().map(str::to_owned)).collect();
    assert_eq!(calls, ["c1", "c2"]);
}
