//! One question to a scripted endpoint: what goes out, what comes back, and each way in which it goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_derive::{Answer, Brief, Config, Endpoint, Fault, Setting};
use bir_net::{Error, Proxies};
use bir_record::redact::{RedactionKey, Redactor, Rules};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEY: &str = "sk-canary-0123456789abcdef";

/// Reads one request, head and body.
fn request(stream: &mut impl Read) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    text.extend_from_slice(&body);
    Some(String::from_utf8_lossy(&text).into_owned())
}

type Seen = Arc<Mutex<Vec<String>>>;

/// A server of which each answer is what `answer` says for the number of the request; `None` never answers.
fn server(answer: impl Fn(usize) -> Option<Vec<u8>> + Send + Sync + 'static) -> (u16, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Seen::default();
    let (log, answer) = (seen.clone(), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (log, answer) = (log.clone(), answer.clone());
            std::thread::spawn(move || serve(stream, &log, &*answer));
        }
    });
    (port, seen)
}

fn serve(mut stream: TcpStream, log: &Seen, answer: &dyn Fn(usize) -> Option<Vec<u8>>) {
    while let Some(text) = request(&mut stream) {
        let number = {
            let mut log = log.lock().unwrap();
            log.push(text);
            log.len() - 1
        };
        match answer(number) {
            Some(bytes) => drop(stream.write_all(&bytes)),
            // Until the other side gives up.
            None => drop(stream.read(&mut [0])),
        }
    }
}

fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut all =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    all.extend_from_slice(body);
    all
}

fn ok(body: &Value) -> Vec<u8> {
    reply("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
}

fn anthropic(text: &str) -> Vec<u8> {
    ok(
        &json!({"type": "message", "model": "claude-haiku-4-5-20251001", "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 120, "output_tokens": 9, "cache_read_input_tokens": 4}}),
    )
}

fn config(port: u16, more: &[(&str, &str)]) -> Config {
    let get = |name: &str| {
        let set = more.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        set.or(match name {
            "BIR_DERIVE_URL" => Some(format!("http://127.0.0.1:{port}/v1")),
            "BIR_DERIVE_API_KEY" => Some(KEY.to_owned()),
            // A busy machine answers late.
            "BIR_DERIVE_BUDGET_MS" => Some("20000".to_owned()),
            _ => None,
        })
    };
    match Setting::from_variables(get).unwrap() {
        Setting::On(config) => *config,
        Setting::Off(why) => panic!("{why}"),
    }
}

fn brief() -> Brief {
    let redactor = Redactor::new(RedactionKey::ephemeral(), Rules::default()).0;
    Brief::new("point at words", &json!({"prompt": "Weather in Rome"}), &redactor).unwrap()
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn ask(port: u16, more: &[(&str, &str)]) -> Answer {
    run(async { Endpoint::new(config(port, more), Proxies::none()).ask(&brief(), 150).await })
}

/// The fault, whose text holds neither the key nor anything that the endpoint said.
fn fault(answer: Answer) -> Fault {
    let shown = format!("{answer:?}");
    let fault = answer.text.unwrap_err();
    let shown = format!("{shown} {fault} {fault:?}");
    assert!(!shown.contains("canary"), "{shown}");
    fault
}

#[test]
fn both_protocols_are_spoken() {
    let (port, seen) = server(|_| Some(anthropic("Rome")));
    let answer = ask(port, &[]);
    let tokens = answer.tokens.unwrap();
    assert_eq!(answer.text.unwrap(), "Rome");
    assert_eq!((tokens.totals.input_tokens, tokens.totals.output_tokens), (120, 9));
    assert!(tokens.models.contains_key("claude-haiku-4-5-20251001") && tokens.totals.cache_read_tokens == 4);
    let sent = seen.lock().unwrap()[0].clone();
    assert!(
        sent.starts_with("POST /v1/messages HTTP/1.1\r\n") && sent.contains(&format!("x-api-key: {KEY}"))
    );
    let body: Value = serde_json::from_str(sent.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&body["max_tokens"], &body["system"]), (&json!(150), &json!("point at words")));
    assert!(
        sent.contains("anthropic-version")
            && body["messages"][0]["content"].as_str().unwrap().contains("Rome")
    );

    let (port, seen) = server(|_| {
        Some(ok(&json!({"choices": [{"message": {"role": "assistant", "content": "Rome"}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}}})))
    });
    let answer = ask(port, &[("BIR_DERIVE_PROTOCOL", "openai"), ("BIR_DERIVE_MODEL", "small")]);
    let tokens = answer.tokens.unwrap();
    assert_eq!((answer.text.unwrap().as_str(), tokens.models["small"].input_tokens), ("Rome", 60));
    assert_eq!((tokens.totals.cache_read_tokens, tokens.totals.output_tokens), (40, 7));
    let sent = seen.lock().unwrap()[0].clone();
    assert!(
        sent.starts_with("POST /v1/chat/completions ")
            && sent.contains(&format!("authorization: Bearer {KEY}"))
    );
}

#[test]
fn one_that_never_answers_ends_with_the_budget() {
    let (port, _) = server(|_| None);
    let answer = ask(port, &[("BIR_DERIVE_BUDGET_MS", "150")]);
    assert!(answer.is_unknown(), "what it spent is not known");
    assert!(matches!(fault(answer), Fault::NotInTime(budget) if budget == Duration::from_millis(150)));
}

#[test]
fn garbage_is_no_answer() {
    for body in [
        reply("200 OK", "", format!("key {KEY}").as_bytes()),
        reply("200 OK", "", b"{\"content\": "),
        reply("200 OK", "", b"{}"),
        reply("200 OK", "", b"[]"),
        ok(&json!({"content": [{"type": "image"}], "usage": {"input_tokens": 1}})),
        ok(&json!({"choices": [{"message": {"content": "of the other protocol"}}]})),
    ] {
        let (port, _) = server(move |_| Some(body.clone()));
        assert!(matches!(fault(ask(port, &[])), Fault::NotUnderstood));
    }
    let (port, _) = server(|_| Some(b"canary canary\r\n\r\n".to_vec()));
    assert!(matches!(fault(ask(port, &[])), Fault::Net(Error::NotHttp { .. })));
}

#[test]
fn a_huge_body_is_not_read_to_its_end() {
    let (port, _) = server(|_| Some(reply("200 OK", "", &vec![b'x'; 4 << 20])));
    assert!(matches!(fault(ask(port, &[])), Fault::TooLong));
}

#[test]
fn a_redirect_to_elsewhere_is_not_followed() {
    let (elsewhere, seen) = server(|_| Some(anthropic("Rome")));
    let to = format!("Location: http://127.0.0.1:{elsewhere}/v1/messages\r\n");
    let (port, _) = server(move |_| Some(reply("307 X", &to, b"")));
    let found = fault(ask(port, &[]));
    assert!(
        matches!(found, Fault::Net(Error::RedirectRefused { .. })) && !found.may_have_cost(),
        "{found:?}"
    );
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn it_is_tried_once_more_where_the_endpoint_says_so_in_time() {
    for (status, after) in [("429 Too Many", "Retry-After: 0\r\n"), ("529 Overloaded", ""), ("500 X", "")] {
        let (port, seen) = server(move |number| {
            Some(if number == 0 { reply(status, after, KEY.as_bytes()) } else { anthropic("Rome") })
        });
        assert_eq!(ask(port, &[]).text.unwrap(), "Rome", "{status}");
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
    for (status, after, tries) in [
        ("429 Too Many", "Retry-After: 0\r\n", 2),
        ("429 Too Many", "Retry-After: 3600\r\n", 1),
        ("429 Too Many", "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n", 1),
        ("503 X", "Retry-After: 0\r\n", 2),
        ("400 Bad", "", 1),
        ("401 No", "", 1),
    ] {
        let (port, seen) = server(move |_| Some(reply(status, after, KEY.as_bytes())));
        let found = fault(ask(port, &[]));
        let code: u16 = status[..3].parse().unwrap();
        assert!(matches!(found, Fault::Status(got) if got == code) && !found.may_have_cost(), "{found:?}");
        assert_eq!(seen.lock().unwrap().len(), tries, "{status} {after}");
    }
}

#[test]
fn one_that_is_lost_is_not_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let lost = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // Takes the request and closes.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(usize::from(request(&mut stream).is_some()), Ordering::SeqCst);
        }
    });
    let found = fault(ask(lost, &[]));
    assert!(matches!(found, Fault::Net(Error::Lost)) && found.may_have_cost(), "{found:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], key)
        .unwrap();
    let tls = Arc::new(tls);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Seen::default();
    let log = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream =
                rustls::StreamOwned::new(rustls::ServerConnection::new(tls.clone()).unwrap(), stream);
            if let Some(text) = request(&mut stream) {
                log.lock().unwrap().push(text);
            }
        }
    });
    let url = format!("https://localhost:{port}/v1");
    let found = fault(ask(port, &[("BIR_DERIVE_URL", url.as_str())]));
    assert!(matches!(found, Fault::Net(Error::Tls { .. })) && !found.may_have_cost(), "{found:?}");
    assert!(seen.lock().unwrap().is_empty(), "no key before the certificate");
}

#[test]
fn after_failures_it_is_left_alone() {
    let (port, seen) = server(|_| Some(reply("400 Bad", "", b"")));
    run(async {
        let endpoint = Endpoint::new(config(port, &[]), Proxies::none());
        for _ in 0..3 {
            assert!(matches!(endpoint.ask(&brief(), 150).await.text, Err(Fault::Status(400))));
        }
        assert!(endpoint.cools().is_some());
        let answer = endpoint.ask(&brief(), 150).await;
        assert!(!answer.is_unknown() && matches!(answer.text, Err(Fault::Cooling(_))));
    });
    assert_eq!(seen.lock().unwrap().len(), 3);
    // A refused key is not tried again at once.
    let (port, seen) = server(|_| Some(reply("401 No", "", b"")));
    run(async {
        let endpoint = Endpoint::new(config(port, &[]), Proxies::none());
        assert!(matches!(endpoint.ask(&brief(), 150).await.text, Err(Fault::Status(401))));
        assert!(matches!(endpoint.ask(&brief(), 150).await.text, Err(Fault::Cooling(_))));
    });
    assert_eq!(seen.lock().unwrap().len(), 1);
}
