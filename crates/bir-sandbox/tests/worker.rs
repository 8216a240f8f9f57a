//! The worker as a process: what no engine stops is killed, and the next job finds a new one.

use bir_plan::sandbox::{Job, Kind, Limits, Sandbox, Why};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn sandbox() -> Sandbox {
    Sandbox::new(PathBuf::from(env!("CARGO_BIN_EXE_bir-sandbox")))
}

fn job(body: &str) -> Job {
    let limits = Limits { time_ms: 300, ..Limits::default() };
    Job {
        kind: Kind::ToolInput,
        body: body.into(),
        arguments: vec![json!({"text": "x".repeat(1 << 10), "n": 1}), json!({})],
        now_ms: None,
        limits,
    }
}

#[test]
fn what_does_not_listen_is_killed_and_the_next_job_runs() {
    let sandbox = sandbox();
    let good = job("return { n: params.n + 1 }");
    assert_eq!(sandbox.evaluate(&good), Ok(json!({"n": 2})));
    for body in [
        "while (true) {}",
        "return { x: new Array(2 ** 32 - 1).join('') }",
        "const s = 'a'.repeat(1 << 22); let n = 0; for (;;) n += s.indexOf('a'.repeat(1 << 21) + 'b'); return { n }",
        "let x = 3n; for (;;) x = x ** 7n",
        "return { x: /^(\\w+\\s?)*$/.test('xxxxx'.repeat(40) + '!') }",
    ] {
        let began = Instant::now();
        let error = sandbox.evaluate(&job(body)).unwrap_err();
        assert!(matches!(error.why, Why::Time | Why::Memory | Why::Threw | Why::Died), "{body}: {error:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{body}");
        assert_eq!(sandbox.evaluate(&good), Ok(json!({"n": 2})), "after {body}");
    }
}

#[test]
fn a_bad_body_is_refused_unread_and_others_are_not() {
    let sandbox = sandbox();
    assert_eq!(sandbox.evaluate(&job("for (;;);")).unwrap_err().why, Why::Time);
    let refused = sandbox.evaluate(&job("for (;;);")).unwrap_err();
    assert_eq!(refused.why, Why::Refused);
    assert!(
        refused.message.contains("10 min") && refused.message.contains("longer than 300 ms"),
        "{refused}"
    );
    assert!(sandbox.evaluate(&job("return {}")).is_ok());
}

#[test]
fn a_worker_that_is_not_there_is_no_fault_of_a_body() {
    let sandbox = Sandbox::new("/no/such/bir-sandbox".into());
    for _ in 0..2 {
        let error = sandbox.evaluate(&job("return {}")).unwrap_err();
        assert_eq!(error.why, Why::Unavailable);
        assert!(error.message.contains("/no/such/bir-sandbox"), "{error}");
    }
    // One that ends at once has died, twice.
    let sandbox = Sandbox::new("/bin/true".into());
    assert_eq!(sandbox.evaluate(&job("return {}")).unwrap_err().why, Why::Died);
}

#[test]
fn nothing_of_this_process_is_there() {
    let seen = sandbox().evaluate(&job(
        "return { names: Object.getOwnPropertyNames(globalThis).filter(n => /^(process|require|std|os|bjson|print|console|set[A-Z].*|fetch|performance|scriptArgs|Atomics|SharedArrayBuffer|WeakRef|FinalizationRegistry|navigator|WebAssembly)$/.test(n)) }",
    ));
    assert_eq!(seen, Ok(json!({"names": []})));
}

/// Pieces of bodies, right and wrong, put together at random.
fn bodies() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("return ".to_owned()),
        Just("{ a: params.n }".to_owned()),
        Just("params.text.split('x')".to_owned()),
        Just("while (true) ".to_owned()),
        Just("for (const k in params) ".to_owned()),
        Just("function f() { return f() } f();".to_owned()),
        Just("new Proxy({}, { get: () => { throw 1 } })".to_owned()),
        Just("Object.defineProperty(Object.prototype, 'then', { get() { return () => 1 } });".to_owned()),
        Just("(() => { try { null.x } finally { return {} } })()".to_owned()),
        Just("[].concat(...Array(1e5).fill([1]))".to_owned()),
        Just("new Uint8Array(1 << 28)".to_owned()),
        Just("/(a|a)*b/.exec('a'.repeat(30))".to_owned()),
        Just("async () => { await 1 }".to_owned()),
        Just("function* g() { yield* g() } [...g()];".to_owned()),
        Just("JSON.parse('['.repeat(1e5))".to_owned()),
        Just("class A extends (class { constructor() { return new A() } }) {} new A();".to_owned()),
        "[ -~\\n]{0,12}",
        any::<String>().prop_map(|text| text.chars().take(8).collect()),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// How many; `BIR_TEST_BODIES` raises it (100,000 in the long tests).
#[test]
fn whatever_the_body_there_is_an_answer_and_the_worker_goes_on() {
    let count = std::env::var("BIR_TEST_BODIES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let sandbox = sandbox();
    let mut runner = TestRunner::new(Config { cases: count, failure_persistence: None, ..Config::default() });
    runner
        .run(&bodies(), |body| {
            let mut job = job(&body);
            job.limits = Limits { time_ms: 30, memory: 16 << 20, ..job.limits };
            let answer = sandbox.evaluate(&job);
            if let Err(error) = &answer {
                prop_assert!(!matches!(error.why, Why::Died | Why::Unavailable), "{body:?}: {error:?}");
                prop_assert!(!error.message.is_empty());
            } else {
                prop_assert!(answer.as_ref().is_ok_and(serde_json::Value::is_object), "{body:?}");
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(sandbox.evaluate(&job("return { n: 1 }")), Ok(json!({"n": 1})));
}
