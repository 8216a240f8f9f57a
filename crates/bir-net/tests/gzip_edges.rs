//! Gzip data as it is met: several members, padding behind them, and what is neither.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::Write;

use bir_net::{Error, Proxies};
use flate2::Compression;
use flate2::write::GzEncoder;
use support::*;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn members_follow_each_other_and_padding_is_no_member() {
    run(async {
        let server = Server::start(|_, request| {
            let (one, two) = (gzip("one"), gzip("two"));
            let body = match request.split("/x?").nth(1).and_then(|rest| rest.split(' ').next()).unwrap() {
                "padded" => [one, vec![0; 40_000]].concat(),
                "empty" => Vec::new(),
                "two" => [one, two].concat(),
                "padded-two" => [one, vec![0; 3], two].concat(),
                "junk" => [one, b"junk that is no gzip".to_vec()].concat(),
                _ => one[..one.len() - 3].to_vec(),
            };
            Some(ok("Content-Encoding: gzip\r\n", &body))
        });
        let client = client(Proxies::none());
        let ask = |which: &str| client.request(get(&format!("{}?{which}", server.url())));
        assert_eq!(text(ask("padded").await).await, "one");
        assert_eq!(text(ask("empty").await).await, "");
        assert_eq!(text(ask("two").await).await, "onetwo");
        assert_eq!(text(ask("padded-two").await).await, "onetwo");
        for which in ["junk", "cut"] {
            let error = ask(which).await.unwrap().head_of_body(1 << 20).await.unwrap_err();
            assert!(matches!(error, Error::BadGzip | Error::BodyLost), "{which}: {error}");
        }
    });
}

#[test]
fn an_encoding_that_is_not_registered_is_not_repeated() {
    run(async {
        let server = Server::start(|_, request| {
            let encoding = if request.contains("/x?br") { "br" } else { "SECRET" };
            Some(ok(&format!("Content-Encoding: {encoding}\r\n"), b"abc"))
        });
        let client = client(Proxies::none());
        for (query, told) in [("br", "the content encoding br"), ("other", "an unknown content encoding")] {
            let error = client.request(get(&format!("{}?{query}", server.url()))).await.err().unwrap();
            let error = error.to_string();
            assert!(error.contains(told) && !error.to_lowercase().contains("secret"), "{error}");
        }
    });
}
