//! The console on fixture data: `cargo run -p bir-console --example preview`. Prints where it listens.
//!
//! A stand-in for the hub, for looking at pages while one works on them, without a store. It serves every page, the fragments,
//! the assets and both event streams. A run that goes on gains a call each time `POST /preview/call` is sent, and ends with
//! `POST /preview/finish`; nothing happens by itself. The browser's test drives a real hub instead.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "an example stops at what it does not expect"
)]
#![allow(clippy::print_stdout, reason = "its address is what it prints")]

mod fixture;

use bir_console::{
    CONTENT_SECURITY_POLICY, Device, DeviceState, Filter, Message, RunView, RunsView, SignIn, Viewer, asset,
    device_page, message_page, run_list_rows, run_page, run_rows, runs_page, sign_in_page,
};
use fixture::Fixture;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Rows of one page.
const PAGE_ROWS: usize = 1_000;
/// Runs of one page.
const PAGE_RUNS: usize = 50;
/// Tokens of a turn.
const METRICS: &str = r#"{"models":{"claude-sonnet-4-5":{"inputTokens":212,"outputTokens":1840,"cacheReadTokens":41000,"requests":9}},"totals":{"inputTokens":212,"outputTokens":1840,"cacheReadTokens":41000,"requests":9},"source":"transcript"}"#;
/// How often a stream looks whether something changed.
const STREAM_LOOKS: Duration = Duration::from_millis(50);

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let fixture = Arc::new(Mutex::new(Fixture::new()));
    for stream in listener.incoming().flatten() {
        let fixture = Arc::clone(&fixture);
        std::thread::spawn(move || drop(answer(stream, &fixture)));
    }
}

/// Reads one request and answers it; the connection ends with it.
fn answer(mut stream: TcpStream, fixture: &Mutex<Fixture>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        if let Some(n) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = n.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if method == "GET" && path.starts_with("/recordings/") {
        return events(&mut stream, path, fixture);
    }
    let (status, kind, body) = match method {
        "GET" => page(path, &decoded(query), &mut fixture.lock().unwrap()),
        _ => posted(path, &decoded(&String::from_utf8_lossy(&body)), &mut fixture.lock().unwrap()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

type Answer = (&'static str, &'static str, Vec<u8>);

fn html(page: String) -> Answer {
    ("200 OK", "text/html; charset=utf-8", page.into_bytes())
}

fn viewer() -> Option<Viewer> {
    Some(Viewer { name: "ada@example.com".into(), can_sign_out: true })
}

fn page(path: &str, query: &BTreeMap<String, String>, fixture: &mut Fixture) -> Answer {
    if let Some(file) = path.strip_prefix("/static/").and_then(asset) {
        return ("200 OK", file.content_type, file.bytes.to_vec());
    }
    match path.trim_start_matches('/').split('/').collect::<Vec<_>>()[..] {
        [""] | ["runs"] => html(runs_page(&runs_view(query, fixture))),
        ["runs", "rows"] => html(run_list_rows(&runs_view(query, fixture))),
        ["runs", id] => match run_view(id, query, fixture) {
            Some(view) => html(run_page(&view)),
            None => not_found(),
        },
        ["runs", id, "rows"] => match run_view(id, query, fixture) {
            Some(view) => html(run_rows(&view, view.from)),
            None => not_found(),
        },
        ["signin"] => {
            let error = query.get("error").map(|_| "The e-mail address or the password is wrong.".to_owned());
            html(sign_in_page(&SignIn { email: String::new(), error, next: query.get("next").cloned() }))
        }
        ["device"] => {
            let user_code = query.get("user_code").cloned().unwrap_or_default();
            html(device_page(&Device {
                viewer: viewer(),
                state: DeviceState::Ask { user_code, error: None },
            }))
        }
        _ => not_found(),
    }
}

fn posted(path: &str, form: &BTreeMap<String, String>, fixture: &mut Fixture) -> Answer {
    match path {
        "/preview/call" => fixture.call(),
        "/preview/begin" => fixture.begin(),
        "/preview/end" => fixture.end(),
        "/preview/run" => fixture.new_run(),
        "/preview/finish" => fixture.finish(),
        "/signin" => {
            return html(sign_in_page(&SignIn {
                email: form.get("email").cloned().unwrap_or_default(),
                error: Some("The e-mail address or the password is wrong.".into()),
                next: None,
            }));
        }
        "/device" => {
            let allowed = form.get("decision").is_some_and(|d| d == "allow");
            let state = if allowed { DeviceState::Allowed } else { DeviceState::Denied };
            return html(device_page(&Device { viewer: viewer(), state }));
        }
        _ => return not_found(),
    }
    ("200 OK", "text/plain", Vec::new())
}

fn not_found() -> Answer {
    let (_, kind, body) = html(message_page(&Message {
        viewer: viewer(),
        status: Some(404),
        title: "There is no such page".into(),
        text: "The run may have been deleted, or it belongs to somebody else.".into(),
        link: Some(("To the runs".into(), "/runs".into())),
        request_id: Some("01J9Z3".into()),
    }));
    ("404 Not Found", kind, body)
}

fn runs_view(query: &BTreeMap<String, String>, fixture: &mut Fixture) -> RunsView {
    let filter: Filter = serde_json::from_value(serde_json::to_value(query).unwrap()).unwrap();
    let skip: usize = filter.cursor.as_deref().and_then(|c| c.parse().ok()).unwrap_or(0);
    let now = fixture.now();
    let matching: Vec<_> = fixture.runs.iter().filter(|r| fixture::matches(r, &filter)).collect();
    let runs = matching.iter().skip(skip).take(PAGE_RUNS).map(|r| r.run.clone()).collect();
    let next = (matching.len() > skip + PAGE_RUNS).then(|| (skip + PAGE_RUNS).to_string());
    RunsView { viewer: viewer(), runs, filter, next, now }
}

fn run_view(id: &str, query: &BTreeMap<String, String>, fixture: &mut Fixture) -> Option<RunView> {
    let number = |key: &str| query.get(key).and_then(|n| n.parse::<u32>().ok());
    let from = number("from").unwrap_or(0);
    let limit = number("limit").map_or(PAGE_ROWS, |n| n as usize);
    let now = fixture.now();
    let it = fixture.runs.iter().find(|r| r.run.id.to_string() == id)?;
    let rest: Vec<_> = it.steps.iter().filter(|s| s.step_index >= from).collect();
    Some(RunView {
        viewer: viewer(),
        run: it.run.clone(),
        final_output: it.final_output.clone(),
        session_id: Some("5b1c6f0e-session".into()),
        metadata: Some(r#"{"join":"call_id"}"#.into()),
        metrics: Some(METRICS.into()).filter(|_: &String| it.run.input.is_some()),
        losses: it.losses.clone(),
        steps: rest.iter().take(limit).map(|s| (*s).clone()).collect(),
        from,
        next: rest.get(limit).map(|s| s.step_index),
        now,
    })
}

/// An event stream: says that something changed whenever the fixture's version has.
fn events(stream: &mut TcpStream, path: &str, fixture: &Mutex<Fixture>) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n: open\n\n"
    )?;
    let run = path.strip_prefix("/recordings/runs/").and_then(|p| p.strip_suffix("/stream"));
    let mut seen = fixture.lock().unwrap().version;
    loop {
        std::thread::sleep(STREAM_LOOKS);
        let (version, over) = {
            let fixture = fixture.lock().unwrap();
            let over = fixture
                .runs
                .iter()
                .any(|r| Some(r.run.id.to_string().as_str()) == run && r.run.ended_at.is_some());
            (fixture.version, over)
        };
        if over {
            return write!(stream, "event: end\ndata: {{}}\n\n");
        }
        // A comment shows whether anybody still listens.
        if version == seen {
            write!(stream, ":\n\n")?
        } else {
            write!(stream, "event: run\ndata: {{}}\n\n")?
        }
        seen = version;
    }
}

/// The fields of a query or a form.
fn decoded(query: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        let (mut out, mut bytes) = (Vec::new(), text.bytes());
        while let Some(b) = bytes.next() {
            match b {
                b'+' => out.push(b' '),
                b'%' => {
                    let pair = [bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                    out.push(u8::from_str_radix(&String::from_utf8_lossy(&pair), 16).unwrap_or(b'?'));
                }
                b => out.push(b),
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let fields = query.split('&').filter_map(|field| field.split_once('='));
    fields.map(|(name, value)| (decode(name), decode(value))).collect()
}
