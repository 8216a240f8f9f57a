//! Any bytes through the redactor: what comes out is JSON within the limit, and the same when it is redacted again.

#![no_main]

use std::sync::LazyLock;

use bir_record::Raw;
use bir_record::redact::{MAX_PAYLOAD, MAX_TEXT, RedactionKey, Redactor, Rules};
use libfuzzer_sys::fuzz_target;

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0);

const SECRET: &str = "hUnt3rh4t2QzX9";

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let whole = choice & 1 == 0;
    let len = bytes.len() as u64 + if whole { 0 } else { 1000 };
    let first = REDACTOR.payload(Raw { head: bytes, len });
    assert!(first.json().len() <= MAX_PAYLOAD);
    assert!(whole || first.truncated());
    serde_json::from_str::<&serde_json::value::RawValue>(first.json()).unwrap();
    let again = REDACTOR.payload(Raw { head: first.json().as_bytes(), len: first.json().len() as u64 });
    assert_eq!(again.json(), first.json(), "payload, twice");

    let text = String::from_utf8_lossy(bytes);
    let once = REDACTOR.text(&text);
    assert!(once.as_str().len() <= MAX_TEXT && !once.as_str().contains('\0'));
    assert_eq!(REDACTOR.text(once.as_str()), once, "text, twice");
    let name = REDACTOR.name(&text);
    assert_eq!(REDACTOR.name(&name), name, "name, twice");

    // Whatever stands beside it, before or behind.
    if !text.contains(SECRET) {
        let beside = serde_json::json!({ "a": text, "password": SECRET, "z": text, "deep": [{ "api_key": [SECRET] }] });
        let json = beside.to_string();
        let kept = REDACTOR.payload(Raw { head: json.as_bytes(), len: json.len() as u64 });
        assert!(!kept.json().contains(SECRET), "{}", kept.json());
    }
});
