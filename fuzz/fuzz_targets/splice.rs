//! Keys removed from and inserted into any object, against the members as serde_json reads them.

#![no_main]

use bir_wire::{Edits, Span};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/bir-wire/tests/reference/mod.rs"]
mod reference;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let whole = Span { start: 0, end: bytes.len() as u64 };
    let mut edits = Edits::new();
    let removed: Vec<&str> = ["a", "b", "id"]
        .into_iter()
        .enumerate()
        .filter(|(n, _)| choice >> n & 1 == 1)
        .map(|(_, k)| k)
        .collect();
    let inserted: Vec<&str> = ["a", "x\"\n"]
        .into_iter()
        .enumerate()
        .filter(|(n, _)| choice >> (n + 3) & 1 == 1)
        .map(|(_, k)| k)
        .collect();
    for key in &inserted {
        edits.insert_key(whole, key, b"[1]");
    }
    for key in &removed {
        edits.remove_key(whole, key);
    }
    let mut out = Vec::new();
    let done = edits.apply(bytes, &mut out);
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let Ok(reference::Members(members)) = serde_json::from_str::<reference::Members<'_>>(text) else {
        return;
    };
    if text.trim() != text {
        return;
    }
    done.unwrap();
    let mut expected: Vec<(String, &str)> = inserted.iter().map(|key| ((*key).to_owned(), "[1]")).collect();
    expected.extend(
        members
            .iter()
            .filter(|(key, _)| !removed.contains(&&**key))
            .map(|(key, value)| (key.to_string(), value.get())),
    );
    let out = String::from_utf8(out).unwrap();
    let reference::Members(members) = serde_json::from_str(&out).unwrap();
    let got: Vec<(String, &str)> =
        members.iter().map(|(key, value)| (key.to_string(), value.get())).collect();
    assert_eq!(got, expected);
});
