//! What reading a message costs, beside a search for its newline and serde_json.
//!
//! `cargo bench -p bir-wire` prints all of them in one run; throughput is in bytes of the message.

use std::hint::black_box;

use bir_wire::{Limits, Scanner};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a typed relay would read.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only the reading is measured")]
struct Typed<'a> {
    #[serde(borrow)]
    id: Option<&'a serde_json::value::RawValue>,
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    result: Option<&'a serde_json::value::RawValue>,
}

fn answer(content: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":17,\"result\":{{\"content\":[{content}],\"isError\":false}}}}\n")
        .into_bytes()
}

fn messages() -> Vec<(&'static str, Vec<u8>)> {
    const SIZE: usize = 10 << 20;
    let call = concat!(
        r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"search_issues","#,
        r#""arguments":{"query":"is:open label:bug","limit":20},"_meta":{"progressToken":42}}}"#,
        "\n"
    );
    let line = r#"    let total = items.iter().map(|item| item.price).sum::<u64>();\n\tif total > 0 { println!(\"{total}\"); }\n"#;
    let text = format!(r#"{{"type":"text","text":"{}"}}"#, line.repeat(SIZE / line.len()));
    let prose =
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 日本語の文章もここにあります。\\n";
    let prose = format!(r#"{{"type":"text","text":"{}"}}"#, prose.repeat(SIZE / prose.len()));
    let escapes = r"\u65e5\u672c\u8a9e text ";
    let escapes = format!(r#"{{"type":"text","text":"{}"}}"#, escapes.repeat(SIZE / escapes.len()));
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    let image = format!(r#"{{"type":"image","data":"{}"}}"#, base64.repeat(SIZE / base64.len()));
    let row =
        r#"{"id":1093,"open":true,"score":-0.25,"tags":["a","bug"],"user":{"name":"mona","admin":null}}"#;
    let rows = vec![row; SIZE / row.len()].join(",");
    vec![
        ("call_150B", call.as_bytes().to_vec()),
        ("code_10MB", answer(&text)),
        ("prose_10MB", answer(&prose)),
        ("escapes_10MB", answer(&escapes)),
        ("base64_10MB", answer(&image)),
        ("rows_10MB", answer(&rows)),
    ]
}

fn compare(criterion: &mut Criterion) {
    for (name, message) in messages() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(message.len() as u64));
        group.bench_function("scanner", |bench| {
            let mut scanner = Scanner::new(Limits::default());
            bench.iter(|| {
                let kind = scanner.finish_whole(black_box(&message)).kind();
                scanner.reset();
                kind
            });
        });
        group.bench_function("scanner_64KiB_chunks", |bench| {
            let mut scanner = Scanner::new(Limits::default());
            bench.iter(|| {
                for chunk in black_box(&message).chunks(64 << 10) {
                    scanner.push(chunk);
                }
                let kind = scanner.finish().kind();
                scanner.reset();
                kind
            });
        });
        group.bench_function("newline", |bench| {
            bench.iter(|| memchr::memchr(b'\n', black_box(&message)));
        });
        group.bench_function("serde_json_ignored", |bench| {
            bench.iter(|| serde_json::from_slice::<IgnoredAny>(black_box(&message)).is_ok());
        });
        group.bench_function("serde_json_typed", |bench| {
            bench.iter(|| serde_json::from_slice::<Typed<'_>>(black_box(&message)).is_ok());
        });
        group.finish();
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
