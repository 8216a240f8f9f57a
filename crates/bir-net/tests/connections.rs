//! Dialling, keeping and losing connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bir_net::{Client, ClientOptions, Error, Proxies};
use support::*;

#[test]
fn an_idle_connection_is_used_again() {
    run(async {
        let server = Server::start(|number, _| Some(ok("", number.to_string().as_bytes())));
        let client = client(Proxies::none());
        for _ in 0..5 {
            assert_eq!(text(client.request(get(&server.url())).await).await, "0");
        }
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_connection_that_the_server_closed_is_noticed_before_a_request_is_written() {
    run(async {
        let (closed, was_closed) = mpsc::channel();
        let server = Server::raw(move |number, mut stream, seen| {
            while let Some(request) = read_request(&mut stream) {
                seen.lock().unwrap().push(request);
                stream.write_all(&ok("", b"x")).unwrap();
                if number < 3 {
                    drop(stream);
                    closed.send(()).unwrap();
                    return;
                }
            }
        });
        let client = client(Proxies::none());
        for expected in 1..=4 {
            // A POST, which would not be sent twice if it had been written.
            assert_eq!(text(client.request(post(&server.url(), "{}")).await).await, "x");
            assert_eq!(server.seen().len(), expected);
            if expected < 4 {
                was_closed.recv_timeout(Duration::from_secs(10)).unwrap();
            }
        }
        assert_eq!(server.connections(), 4);
    });
}

#[test]
fn a_request_that_was_written_and_lost_is_not_sent_again() {
    run(async {
        let server = Server::start(|number, request| {
            let _ = number;
            if request.contains("first") { Some(ok("", b"x")) } else { None }
        });
        let client = client(Proxies::none());
        assert_eq!(text(client.request(post(&server.url(), "first")).await).await, "x");
        let error = client.request(post(&server.url(), "second")).await.err().unwrap();
        assert!(matches!(error, Error::Lost) && error.may_have_acted(), "{error:?}");
        assert_eq!(server.seen().len(), 2);
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn an_answer_that_breaks_off_is_told_from_one_that_never_came() {
    run(async {
        let server = Server::raw(|_, mut stream, _| {
            read_request(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").unwrap();
        });
        let client = client(Proxies::none());
        let response = client.request(get(&server.url())).await.unwrap();
        assert!(matches!(response.head_of_body(100).await, Err(Error::BodyLost)));
        let server = Server::raw(|_, mut stream, _| {
            read_request(&mut stream);
            stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n").unwrap();
        });
        let error = client.request(get(&server.url())).await.err().unwrap();
        assert!(matches!(error, Error::NotHttp { .. }), "{error:?}");
    });
}

#[test]
fn dropping_a_response_closes_its_connection() {
    run(async {
        let (closed, was_closed) = mpsc::channel();
        let server = Server::raw(move |_, mut stream, _| {
            read_request(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").unwrap();
            closed.send(read_request(&mut stream).is_none()).unwrap();
        });
        let client = client(Proxies::none());
        let mut response = client.request(get(&server.url())).await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "a");
        drop(response);
        let seen = tokio::task::spawn_blocking(move || was_closed.recv_timeout(Duration::from_secs(10)));
        assert!(seen.await.unwrap().unwrap());
    });
}

#[test]
fn refused_unresolvable_and_black_holes_are_told_apart() {
    run(async {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let client = client(Proxies::none());
        let error = client.request(get(&format!("http://127.0.0.1:{port}/"))).await.err().unwrap();
        assert!(matches!(&error, Error::Refused { .. }) && !error.may_have_acted(), "{error:?}");
        let error = client.request(get("http://no-such-host.invalid/")).await.err().unwrap();
        assert!(matches!(&error, Error::Dns { .. } | Error::ConnectTimeout { .. }), "{error:?}");
    });
}

/// A listener whose queue is full and that never accepts, as a firewall that drops packets.
#[test]
fn a_black_hole_ends_within_the_budget() {
    run(async {
        let listener = tokio::net::TcpSocket::new_v4().unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut fill = Vec::new();
        for _ in 0..8 {
            let connect = tokio::net::TcpStream::connect(address);
            if let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(200), connect).await {
                fill.push(stream);
            }
        }
        let budget = Duration::from_millis(300);
        let client = Client::new(ClientOptions { connect_timeout: budget, ..ClientOptions::default() });
        let start = Instant::now();
        let error = client.request(get(&format!("http://{address}/"))).await.err().unwrap();
        assert!(matches!(error, Error::ConnectTimeout { .. }), "{error:?}");
        assert!(start.elapsed() >= budget, "the whole budget was used");
    });
}

#[test]
fn the_servers_keep_alive_limit_is_honoured() {
    run(async {
        let server =
            Server::start(|number, _| Some(ok("Keep-Alive: timeout=1\r\n", number.to_string().as_bytes())));
        let client = client(Proxies::none());
        assert_eq!(text(client.request(get(&server.url())).await).await, "0");
        assert_eq!(text(client.request(get(&server.url())).await).await, "1");
    });
}
