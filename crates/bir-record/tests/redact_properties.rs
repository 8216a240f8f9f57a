//! What redaction holds for any input: JSON stays JSON, twice is once, numbers keep their spelling, cutting keeps the limit, work is linear.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use bir_record::redact::{MAX_PAYLOAD, MAX_TEXT, RedactionKey, Redactor, Rules};
use bir_record::{Raw, Redacted};
use bir_testkit::secrets;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0);

/// Pieces of what the redactor looks for, and of what surrounds it.
const PIECES: &[&str] = &[
    "password",
    "token",
    "api_key",
    "env",
    "cookie",
    "Cookie: ",
    "Authorization: ",
    "Bearer ",
    "Basic ",
    "auth",
    "key",
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "\\n",
    "\n",
    "\r",
    "\t",
    " ",
    "  ",
    ":",
    "=",
    ": ",
    "=\"",
    "://",
    "@",
    "?",
    "&",
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    "[\"",
    "\"]",
    "{\"",
    "\":\"",
    "\"}",
    "(",
    ")",
    "<",
    ">",
    "</",
    "-",
    "--",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "-----END ",
    "sk-",
    "ghp_",
    "glpat-",
    "eyJ",
    ".",
    "AKIA",
    "AIza",
    "curl ",
    "-u ",
    "mysql -p",
    "machine a login b password ",
    "a1B2c3D4e5F6g7H8",
    "0123456789abcdefghij",
    "hunter2",
    "x",
    "é",
    "😀",
    "\0",
    "[redacted:key:0123456789ab]",
    "[redacted:",
    "${A}",
    "$(",
    "truncated",
    "originalBytes",
    "name",
    "value",
    "null",
    "1.50",
    "\\u0041",
    "\\ud800",
];

fn payload(bytes: &[u8]) -> Redacted {
    REDACTOR.payload(Raw { head: bytes, len: bytes.len() as u64 })
}

/// Redacts a whole value; what comes out is JSON, within the limit, and the same when it goes in again.
fn checked(bytes: &[u8]) -> Redacted {
    let first = payload(bytes);
    assert!(first.json().len() <= MAX_PAYLOAD);
    serde_json::from_str::<Value>(first.json()).unwrap_or_else(|e| panic!("{e}: {}", first.json()));
    let again = payload(first.json().as_bytes());
    assert_eq!(again.json(), first.json(), "twice, of {}", String::from_utf8_lossy(bytes));
    first
}

fn text() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![4 => proptest::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..24).prop_map(|all| all.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::vec((text(), inner.clone()), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
            // JSON within a string.
            inner.prop_map(|value| Value::String(value.to_string())),
        ]
    })
}

/// Inputs that once went wrong.
const FOUND: &[&str] = &[
    "\"eyJtruncated.\"",
    "eyJtruncated.",
    // Control characters beside a secret of an argument list.
    "[\"curl\",\"-u\",\"b\u{15}ob:S3cr3tValue\"]",
    // What takes the place of U+0000 counts as a letter.
    "{\"a\"token\":\"\0\"",
    // Escapes that are none.
    "\"\\ud800 \\u+041 \u{8}\"",
    // The colons of a placeholder.
    "[\"curl\",\"-u\",\"b\u{fffd}\u{fffd}\u{16c}\u{0}m&sig=e a lC pqss=3cr\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}3.2aloe\",\"-H\",\"C e\u{fffd}3cr\u{0}nar:\u{0}",
];

#[test]
fn what_once_went_wrong() {
    for input in FOUND {
        checked(input.as_bytes());
        let once = REDACTOR.text(input);
        assert_eq!(REDACTOR.text(once.as_str()), once);
        let name = REDACTOR.name(input);
        assert_eq!(REDACTOR.name(&name), name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_stays_json_and_twice_is_once(value in value(), spaced: bool) {
        checked(if spaced { format!("{value:#}") } else { value.to_string() }.as_bytes());
    }

    #[test]
    fn texts_twice_are_texts_once(text in text()) {
        checked(text.as_bytes());
        let once = REDACTOR.text(&text);
        prop_assert_eq!(&REDACTOR.text(once.as_str()), &once, "of {:?}", text);
        let name = REDACTOR.name(&text);
        prop_assert_eq!(REDACTOR.name(&name), name, "of {:?}", text);
    }

    #[test]
    fn any_bytes_whole_or_cut_become_json(bytes in proptest::collection::vec(any::<u8>(), 0..400), more in 0_u64..100) {
        checked(&bytes);
        let cut = REDACTOR.payload(Raw { head: &bytes, len: bytes.len() as u64 + more });
        prop_assert_eq!(cut.original_bytes(), bytes.len() as u64 + more);
        serde_json::from_str::<Value>(cut.json()).unwrap();
    }

    #[test]
    fn a_value_cut_anywhere_is_closed_and_marked(value in value(), at in any::<proptest::sample::Index>()) {
        let json = json!({ "first": 1, "rest": value }).to_string();
        let head = &json.as_bytes()[..at.index(json.len())];
        let cut = REDACTOR.payload(Raw { head, len: json.len() as u64 });
        prop_assert!(cut.truncated());
        prop_assert_eq!(cut.original_bytes(), json.len() as u64);
        serde_json::from_str::<Value>(cut.json()).unwrap();
        prop_assert!(cut.json().contains("\"truncated\":true,\"originalBytes\":"));
        checked(cut.json().as_bytes());
    }

    #[test]
    fn a_secret_at_any_depth_is_gone(
        around in value(),
        path in proptest::collection::vec(0_u8..4, 0..9),
        secret in "[a-z]{3}[A-Z]{3}[0-9]{4}[a-zA-Z0-9]{6,20}",
        name in proptest::sample::select(vec!["password", "accessToken", "x-api-key", "CLIENT_SECRET", "basic_auth", "db.password"]),
    ) {
        prop_assume!(!around.to_string().contains(&secret));
        let mut value = json!({ name: secret, "beside": around });
        let mut strings = 0;
        for step in path {
            value = match step {
                0 => json!([around, value, 1]),
                1 => json!({ "a": value, "b": around }),
                // A string of JSON, as deep as is promised.
                2 if strings < 3 => { strings += 1; json!({ "body": value.to_string() }) }
                3 if strings < 3 => { strings += 1; json!({ "message": format!("failed: {value} (see above)") }) }
                _ => json!([value]),
            };
        }
        let out = checked(value.to_string().as_bytes());
        prop_assert!(!out.json().contains(&secret), "{}", out.json());
    }

    #[test]
    fn equal_secrets_are_equal_and_different_ones_differ(a in "[a-zA-Z0-9]{8,40}", b in "[a-zA-Z0-9]{8,40}") {
        prop_assume!(a != b);
        let text = json!({ "password": a, "z": [{ "db_password": b, "t": format!("PASSWORD={a}") }], "s": json!({ "password": a }).to_string() }).to_string();
        let out = payload(text.as_bytes());
        let all: Vec<&str> = out.json().split("[redacted:").skip(1).map(|t| &t[..t.find(']').unwrap()]).collect();
        prop_assert_eq!(all.len(), 4);
        prop_assert!(all[0] == all[2] && all[0] == all[3] && all[0] != all[1], "{}", out.json());
    }

    #[test]
    fn numbers_keep_their_spelling(whole in 0_u32..100_000, zeros in 0_usize..4, exponent in 0_u32..400) {
        let numbers = format!("{whole}.5{},-{whole},{whole}e+{exponent},{whole}E{exponent}", "0".repeat(zeros));
        let json = format!(r#"{{"a":[{numbers}],"max_tokens":{whole}.{}0,"password":{whole}7654321.50,"s":"{{\"n\":2.50,\"token\":\"s3cr3ts3cr3t\"}}"}}"#, "0".repeat(zeros));
        let out = payload(json.as_bytes());
        prop_assert!(out.json().contains(&format!("[{numbers}]")), "{}", out.json());
        let tokens = format!("\"max_tokens\":{whole}.{}0,", "0".repeat(zeros));
        prop_assert!(out.json().contains(&tokens));
        let within = r#"{\"n\":2.50,"#;
        prop_assert!(out.json().contains(within));
        prop_assert!(!out.json().contains("7654321"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_too_large_is_cut_to_the_limit_and_says_so(
        parts in proptest::collection::vec((text(), 1_usize..30_000, any::<bool>()), 1..12),
    ) {
        let list: Vec<Value> = parts
            .iter()
            .map(|(text, times, whole)| {
                let long: String = text.chars().cycle().take(if text.is_empty() { 0 } else { *times }).collect();
                if *whole { Value::String(long) } else { json!({ "name": text, "content": long, "password": long }) }
            })
            .collect();
        let json = json!({ "content": list, "isError": false }).to_string();
        let out = checked(json.as_bytes());
        prop_assert_eq!(out.original_bytes(), json.len() as u64);
        // A text may hold the word; within one its quotation marks are escaped.
        let says_so = out.json().contains("\"truncated\":true,\"originalBytes\":");
        prop_assert_eq!(out.truncated(), says_so);
        let text = REDACTOR.text(&json);
        prop_assert!(text.as_str().len() <= MAX_TEXT);
    }
}

/// Texts that make a redactor look again and again at what it knows already.
const WEARY: &[&str] = &[
    "cookie:",
    "cookie: ",
    "Cookie: a ",
    "cookie:path=",
    "PASSWORD=='x",
    "PASSWORD==",
    "--user=",
    "--user=a:",
    "password: |\n ",
    "setPassword('",
    "PASSWORD 'x ",
    "password\t",
    " value=\"",
    "h:5432:a:",
    "setx token ",
    "response=\"",
    "12345678:",
    "authorization:",
    "authorization: x",
    "Authorization: Bearer",
    "token:",
    "token=",
    "token=\"",
    "token='x ",
    "token=\\\"",
    "token=\\\\\"",
    "password: (",
    "://",
    "a://",
    "a:b://",
    "a://b:c/",
    "eyJ",
    "eyJ.",
    "sk-",
    "glpat-",
    "bearer ",
    "basic a/",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "--token ",
    "--token \"",
    " -u",
    " -u x",
    "curl -u ",
    "mysql -p",
    "<password>",
    "<a>",
    "[",
    "{",
    "[[\"a\",",
    "{\"a\":",
    "[\"",
    "{\"",
    "[{\"a\":[",
    "\\",
    "\\\"",
    "{\"v\":\"a\",",
    "\"v\":\"a\",",
    "{\"value\":\"a\",\"x\":",
    "[redacted:",
    "machine ",
    "machine a login b ",
    "password\n",
    ";a=",
    "AKIA0123456789ABCDEF ",
    "api key: ",
    "?sig=",
    "=",
    ":",
    "env={",
    "env={\"a\":",
    "{\"secret\":{\"a\":",
    "a\t",
    " ",
];

/// Nanoseconds of this thread on a processor, so that other work on the machine does not count.
fn spent(work: impl Fn()) -> u64 {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
    };
    (0..2)
        .map(|_| {
            let before = now();
            work();
            now() - before
        })
        .min()
        .unwrap()
}

/// Eight times as much takes about eight times as long; it would be 64 times as long if work grew with the square.
#[test]
fn work_is_linear() {
    const SMALL: usize = 4 * 1024;
    const TIMES: usize = 8;
    let mut slow = Vec::new();
    for unit in WEARY {
        for escaped in [false, true] {
            let input = |size: usize| {
                let text = unit.repeat(size / unit.len());
                if escaped { Value::String(text).to_string() } else { text }
            };
            let (small, large) = (input(SMALL), input(SMALL * TIMES));
            let few = spent(|| drop(payload(small.as_bytes()))).max(2_000_000);
            let many = spent(|| drop(payload(large.as_bytes())));
            if many > few * 3 * TIMES as u64 {
                slow.push(format!("{unit:?} (escaped: {escaped}): {few} ns, then {many} ns"));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn the_sets_of_the_kit_are_the_same_twice() {
    for sample in secrets::hidden(9, 500) {
        checked(sample.json.as_bytes());
    }
}
