//! Compressed bodies, streamed bodies, redirects, proxies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::Write;

use bir_net::{Client, ClientOptions, Credentials, Error, Proxies, RequestBody, Target};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue};
use support::*;

fn gzip(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for part in parts {
        encoder.write_all(part).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces.push(encoder.finish().unwrap());
    pieces
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut all = format!("{:x}\r\n", bytes.len()).into_bytes();
    all.extend_from_slice(bytes);
    all.extend_from_slice(b"\r\n");
    all
}

#[test]
fn gzip_is_decoded_wherever_it_is_cut() {
    run(async {
        let plain = "{\"a\":\"\u{1f600}\"}\n".repeat(50);
        let packed: Vec<u8> = gzip(&[plain.as_bytes()]).concat();
        let length = packed.len();
        let server = Server::start(move |_, request| {
            let cut: usize = request.split("/x?").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            let mut all =
                b"HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for part in [&packed[..cut], &packed[cut..]].into_iter().filter(|part| !part.is_empty()) {
                all.extend(chunk(part));
            }
            all.extend_from_slice(b"0\r\n\r\n");
            Some(all)
        });
        let client = client(Proxies::none());
        for cut in 0..length {
            assert_eq!(text(client.request(get(&format!("{}?{cut}", server.url()))).await).await, plain);
        }
        assert!(server.seen()[0].contains("accept-encoding: gzip"));
    });
}

#[test]
fn a_flushed_event_arrives_before_the_stream_ends() {
    run(async {
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let server = Server::raw(move |_, mut stream, _| {
            read_request(&mut stream);
            let pieces = gzip(&[b"data: one\n\n", b"data: two\n\n"]);
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
                .unwrap();
            stream.write_all(&chunk(&pieces[0])).unwrap();
            gate.lock().unwrap().recv().unwrap();
            stream.write_all(&chunk(&pieces[1])).unwrap();
            stream.write_all(&chunk(&pieces[2])).unwrap();
            stream.write_all(b"0\r\n\r\n").unwrap();
        });
        let client = client(Proxies::none());
        let mut response = client.request(get(&server.url())).await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "data: one\n\n");
        go.send(()).unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "data: two\n\n");
        assert!(response.chunk().await.unwrap().is_none());
    });
}

#[test]
fn damaged_cut_and_unknown_encodings_are_errors() {
    run(async {
        let client = client(Proxies::none());
        let mut broken = gzip(&[b"hello"]).concat();
        let cut = broken[..broken.len() - 4].to_vec();
        broken[12] ^= 0xff;
        for (body, encoding) in [(broken, "gzip"), (cut, "gzip"), (b"x".to_vec(), "br")] {
            let server =
                Server::start(move |_, _| Some(ok(&format!("Content-Encoding: {encoding}\r\n"), &body)));
            let outcome = match client.request(get(&server.url())).await {
                Ok(response) => response.head_of_body(100).await.map(drop),
                Err(error) => Err(error),
            };
            let error = outcome.unwrap_err();
            assert!(
                matches!(error, Error::BadGzip | Error::BodyLost | Error::UnknownEncoding { .. }),
                "{encoding}: {error:?}"
            );
        }
    });
}

#[test]
fn a_streamed_body_arrives_chunked_and_one_without_end_breaks_the_request() {
    run(async {
        let (done, outcome) = std::sync::mpsc::channel();
        let server = Server::raw(move |_, mut stream, _| {
            use std::io::Read;
            read_request(&mut stream);
            let mut body = Vec::new();
            let mut buffer = [0; 4096];
            while !body.ends_with(b"0\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(length) if length > 0 => body.extend_from_slice(&buffer[..length]),
                    _ => break,
                }
            }
            let whole = body.ends_with(b"0\r\n\r\n");
            let _ = stream.write_all(&ok("", b"x"));
            done.send(whole).unwrap();
        });
        let client = client(Proxies::none());
        for end in [true, false] {
            let mut request = get(&server.url());
            request.method = http::Method::POST;
            let (sender, body) = RequestBody::stream();
            request.body = body;
            let pending = client.start(request).await.unwrap();
            let supply = async {
                sender.push(Bytes::from_static(b"hello")).await.unwrap();
                if end {
                    sender.end().await.unwrap();
                }
            };
            let (outcome_here, ()) = tokio::join!(pending.response(), supply);
            assert_eq!(outcome_here.is_ok(), end);
            let seen = tokio::task::spawn_blocking({
                let whole = outcome.recv_timeout(std::time::Duration::from_secs(10));
                move || whole
            });
            assert_eq!(seen.await.unwrap().unwrap(), end);
        }
    });
}

fn redirect(status: u16, to: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\nLocation: {to}\r\nContent-Length: 5\r\n\r\nmoved").into_bytes()
}

#[test]
fn redirects_keep_the_body_and_lose_credentials_at_another_origin() {
    run(async {
        let other = Server::start(|_, _| Some(ok("", b"other")));
        let to = other.url();
        let server = Server::start(move |_, request| {
            Some(if request.starts_with("POST /x ") {
                redirect(308, "/y?z=1")
            } else if request.starts_with("POST /y") {
                redirect(307, &to)
            } else {
                ok("", b"?")
            })
        });
        let client = client(Proxies::none());
        let mut request = post(&server.url(), "BODY");
        let mut credentials = Credentials::none();
        credentials.set(HeaderName::from_static("x-api-key"), HeaderValue::from_static("k3y"));
        credentials.set(AUTHORIZATION, HeaderValue::from_static("Bearer t0ken"));
        request.credentials = credentials;
        request.headers.insert(COOKIE, HeaderValue::from_static("c=1"));
        request.headers.insert("mcp-session-id", HeaderValue::from_static("s1"));
        request.headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        let response = client.request(request).await.unwrap();
        assert_eq!(response.target().port(), other.port);
        assert_eq!(text(Ok(response)).await, "other");
        let seen = server.seen();
        assert!(seen[1].contains("k3y") && seen[1].contains("t0ken") && seen[1].ends_with("BODY"));
        let seen = other.seen();
        for secret in ["k3y", "t0ken", "c=1", "s1"] {
            assert!(!seen[0].contains(secret), "{}", seen[0]);
        }
        assert!(seen[0].contains("2025-11-25") && seen[0].ends_with("BODY"));
        assert_eq!(server.connections(), 1, "a redirect's short body does not cost the connection");
    });
}

#[test]
fn a_redirect_loop_and_a_streamed_body_are_refused() {
    run(async {
        let server = Server::start(|_, _| Some(redirect(307, "/x")));
        let client = client(Proxies::none());
        let error = client.request(post(&server.url(), "x")).await.err().unwrap();
        assert!(error.to_string().contains("more than 10"), "{error}");
        assert_eq!(server.seen().len(), 11);
        let server = Server::start(|_, _| Some(redirect(307, "/x?secret")));
        let mut request = post(&server.url(), "");
        let (sender, body) = RequestBody::stream();
        request.body = body;
        let pending = client.start(request).await.unwrap();
        let (outcome, _) = tokio::join!(pending.response(), async {
            let _ = sender.push(Bytes::from_static(b"x")).await;
            let _ = sender.end().await;
        });
        let error = outcome.err().unwrap().to_string();
        assert!(error.contains("cannot be sent twice") && !error.contains("secret"), "{error}");
    });
}

fn through(port: u16) -> Proxies {
    let address = format!("http://user:p%40ss@127.0.0.1:{port}");
    Proxies::from_variables(|name| matches!(name, "http_proxy" | "https_proxy").then(|| address.clone()))
}

#[test]
fn a_plain_proxy_gets_the_absolute_form_and_its_credentials() {
    run(async {
        let proxy = Server::start(|_, _| Some(ok("", b"via")));
        let client = client(through(proxy.port));
        assert_eq!(text(client.request(get("http://example.test/a?b")).await).await, "via");
        let seen = proxy.seen();
        assert!(seen[0].starts_with("GET http://example.test/a?b HTTP/1.1\r\n"), "{}", seen[0]);
        assert!(seen[0].contains("host: example.test\r\n"));
        assert!(seen[0].contains("proxy-authorization: Basic dXNlcjpwQHNz\r\n"));
        // This machine is never reached through a proxy.
        let server = Server::start(|_, _| Some(ok("", b"direct")));
        assert_eq!(text(client.request(get(&server.url())).await).await, "direct");
        assert_eq!(proxy.seen().len(), 1);
    });
}

#[test]
fn a_proxy_that_refuses_connect_is_named() {
    run(async {
        let proxy =
            Server::start(|_, _| Some(b"HTTP/1.1 407 No\r\nContent-Length: 6\r\n\r\nSECRET".to_vec()));
        let client = client(through(proxy.port));
        let error = client.request(get("https://example.test/")).await.err().unwrap();
        assert!(matches!(error, Error::ProxyRefused { status: 407, .. }), "{error:?}");
        assert!(!error.to_string().contains("SECRET") && !error.to_string().contains("p@ss"));
        assert!(proxy.seen()[0].starts_with("CONNECT example.test:443 HTTP/1.1\r\n"));
    });
}

#[test]
fn a_redirect_from_elsewhere_does_not_reach_this_machine() {
    run(async {
        let inner = Server::start(|_, _| Some(ok("", b"inner")));
        let to = inner.url();
        // The proxy stands for the far origin, which sends the client to the loopback address.
        let proxy = Server::start(move |_, _| Some(redirect(307, &to)));
        let client = client(through(proxy.port));
        let error = client.request(post("http://example.test/", "x")).await.err().unwrap();
        assert!(matches!(error, Error::Internal { .. }), "{error:?}");
        assert_eq!(inner.connections(), 0);
    });
}

#[test]
fn targets_never_show_their_query() {
    let target = Target::parse("http://h/p?token=s3cret").unwrap();
    assert!(!format!("{target:?}{target}").contains("s3cret"));
}

#[test]
fn a_client_that_stays_takes_its_body_to_no_other_origin() {
    run(async {
        let other = Server::start(|_, _| Some(ok("", b"other")));
        let to = other.url();
        let server = Server::start(move |_, request| {
            Some(match request.contains("/y") {
                true => ok("", b"here"),
                false if request.contains("away") => redirect(307, &to),
                false => redirect(308, "/y"),
            })
        });
        let client = Client::staying(ClientOptions::default());
        assert_eq!(text(client.request(post(&server.url(), "{}")).await).await, "here");
        let refused = client.request(post(&server.url(), "away")).await.err();
        assert!(matches!(refused, Some(Error::RedirectRefused { .. })), "{refused:?}");
        assert_eq!(other.connections(), 0);
    });
}
