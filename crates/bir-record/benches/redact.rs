//! What redaction costs: a small call and a result of 64 KiB, plain and with secrets.
//!
//! `cargo bench -p bir-record` prints them; throughput is in bytes of the value.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench fails by panicking")]

use std::hint::black_box;

use bir_record::Raw;
use bir_record::redact::{RedactionKey, Redactor, Rules};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;

/// A result of about 64 KiB: rows of text, as a search in files gives them.
fn result(secrets: bool) -> String {
    let mut text = String::new();
    let mut n = 0;
    while text.len() < 62 * 1024 {
        n += 1;
        text.push_str(&format!(
            "src/lib_{n}.rs:{n}:    let total = items.iter().map(|item| item.price).sum::<u64>();\n"
        ));
        if secrets && n % 20 == 0 {
            text.push_str(&format!(
                "API_KEY_{n}=aZ3kQ9xLm2Pq8RtV5wYb{n}\nuse ghp_{n:0>36} or postgres://app:hunter{n}@db/app\n"
            ));
        }
    }
    json!({"content": [{"type": "text", "text": text}], "isError": false}).to_string()
}

/// The same as many small values instead of one long text.
fn rows() -> String {
    let rows: Vec<_> = (0..700)
        .map(|n| json!({"id": n, "name": format!("row {n}"), "price": 2.50, "tags": ["a", "b"], "max_tokens": 5, "path": "/srv/app"}))
        .collect();
    json!({"structuredContent": {"rows": rows}}).to_string()
}

fn redact(c: &mut Criterion) {
    let (redactor, _) = Redactor::new(RedactionKey::of(&[7; 32]), Rules::default());
    let small =
        r#"{"query":"is:open label:bug","limit":20,"path":"/srv/app/src/main.rs","nextPageToken":"CAEQAA"}"#;
    let secret = r#"{"query":"is:open label:bug","limit":20,"headers":{"Authorization":"Bearer aZ3kQ9xLm2Pq8RtV5wYb"},"token":"hunter2hunter2"}"#;
    let cases = [
        ("small call, plain", small.to_owned()),
        ("small call, two secrets", secret.to_owned()),
        ("64 KiB text, plain", result(false)),
        ("64 KiB text, some 80 secrets", result(true)),
        ("64 KiB of small values, plain", rows()),
    ];
    for (name, json) in &cases {
        let mut group = c.benchmark_group("redact");
        group.throughput(Throughput::Bytes(json.len() as u64));
        group.bench_function(*name, |b| {
            b.iter(|| redactor.payload(Raw { head: black_box(json.as_bytes()), len: json.len() as u64 }));
        });
        group.finish();
    }
}

criterion_group!(benches, redact);
criterion_main!(benches);
