//! A control server is asked with its token, on this machine alone, and never waited for beyond the budget.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_control_client::{Contact, ControlError, Health, Place, ask, find, key};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

/// Answers one request with `answer` (nothing: never), and tells what was asked.
fn server(answer: Option<&'static str>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut block = [0; 1024];
        while !asked.ends_with(b"\r\n\r\n") {
            match stream.read(&mut block) {
                Ok(0) | Err(_) => break,
                Ok(n) => asked.extend_from_slice(&block[..n]),
            }
        }
        let _ = tell.send(String::from_utf8_lossy(&asked).into_owned());
        match answer {
            Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
            None => drop(stream.read_to_end(&mut asked)),
        }
    });
    (url, told)
}

fn contact(url: &str) -> Contact {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("control")).unwrap();
    let file = dir.join("control").join(format!("{}.json", key(&dir)));
    std::fs::write(file, format!(r#"{{"url":"{url}","token":"tok-1"}}"#)).unwrap();
    match find(Some(&dir), Path::new(&dir), &|_| None).unwrap() {
        Place::At(contact) => contact,
        place => panic!("{place:?}"),
    }
}

#[test]
fn a_server_that_knows_the_token_is_there() {
    let (url, asked) = server(Some(
        "HTTP/1.1 200 OK\r\ncontent-length: 48\r\n\r\n{\"status\":\"ok\",\"apiVersion\":2,\"version\":\"0.9.1\"}",
    ));
    assert_eq!(ask(&contact(&url)).unwrap(), Health { api_version: Some(2), version: Some("0.9.1".into()) });
    let asked = asked.recv().unwrap().to_lowercase();
    assert!(asked.starts_with("get /health http/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: bearer tok-1\r\n"), "{asked}");
}

#[test]
fn nobody_and_somebody_else_are_told_apart() {
    let (url, _asked) = server(Some("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"));
    assert!(matches!(ask(&contact(&url)), Err(ControlError::Refused(s)) if s == 401));
    let (url, _asked) = server(Some("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"));
    assert!(matches!(ask(&contact(&url)), Err(ControlError::NotUnderstood)));
    let (url, _asked) = server(None);
    assert!(matches!(ask(&contact(&url)), Err(ControlError::Silent(_))));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(matches!(ask(&contact(&format!("http://{free}"))), Err(ControlError::Unreachable(_))));
}

#[test]
fn a_token_never_leaves_the_machine() {
    for url in
        ["http://192.0.2.1:80", "https://127.0.0.1:1", "http://example.com", "http://127.0.0.1.example.com"]
    {
        assert!(matches!(ask(&contact(url)), Err(ControlError::NotHere)), "{url}");
    }
    assert!(matches!(ask(&contact("nonsense")), Err(ControlError::BadUrl(_))));
}
