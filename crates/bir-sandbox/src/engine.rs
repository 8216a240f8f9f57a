//! One body in one QuickJS runtime of its own.
//!
//! The engine asks from time to time whether it may go on, inside of its regular expressions too; some native functions do not ask (a join
//! of four billion elements), for which the process that started us has the last word.

use bir_plan::sandbox::{JobLine, LogicError, Reply, Why};
use rquickjs::context::intrinsic;
use rquickjs::{Context, Ctx, Error, Exception, Function, Object, Runtime, Value};
use std::time::Instant;

const PRELUDE: &str = include_str!("prelude.js");

/// The language, without `performance`, weak references and `DOMException`.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// The name under which a body stands in a stack trace.
const FILE: &str = "logic.js";

/// Evaluates one.
pub(crate) fn answer(job: &JobLine) -> Reply {
    Reply { id: job.id, result: evaluate(job) }
}

fn evaluate(job: &JobLine) -> Result<String, LogicError> {
    if job.arguments.len() != job.kind.arguments().len() {
        return Err(LogicError::new(
            Why::Threw,
            format!("{} takes {} arguments", job.kind.as_str(), job.kind.arguments().len()),
        ));
    }
    let cannot = |e: Error| LogicError::new(Why::Memory, format!("the engine did not start: {e}"));
    let runtime = Runtime::new().map_err(cannot)?;
    runtime.set_memory_limit(job.limits.memory);
    runtime.set_max_stack_size(job.limits.stack);
    let context = Context::builder().with::<Language>().build(&runtime).map_err(cannot)?;
    let deadline = Instant::now() + job.limits.time();
    runtime.set_interrupt_handler(Some(Box::new(move || Instant::now() >= deadline)));
    let over = || Instant::now() >= deadline;
    context.with(|ctx| {
        run(&ctx, job).map_err(|failure| match failure {
            _ if over() => {
                LogicError::new(Why::Time, format!("it took longer than {} ms", job.limits.time_ms))
            }
            Failure::Known(error) => error,
            Failure::Engine(phase) => explain(&ctx, phase),
        })
    })
}

/// Where it was when the engine stopped.
#[derive(Clone, Copy)]
enum Phase {
    Compile,
    Run,
}

enum Failure {
    Known(LogicError),
    Engine(Phase),
}

fn run(ctx: &Ctx<'_>, job: &JobLine) -> Result<String, Failure> {
    let known = |why, message: &str| Failure::Known(LogicError::new(why, message));
    let at_start = |_| Failure::Engine(Phase::Run);
    let prelude: Function<'_> = ctx.eval(PRELUDE).map_err(at_start)?;
    #[expect(clippy::cast_precision_loss, reason = "JavaScript has no other numbers for times")]
    let now = job.now_ms.map(|ms| ms as f64);
    let guards: Object<'_> = match now {
        Some(ms) => prelude.call((ms,)),
        None => prelude.call((Value::new_null(ctx.clone()),)),
    }
    .map_err(at_start)?;
    let whole: Function<'_> = guards.get("whole").map_err(at_start)?;
    let verdict: Function<'_> = guards.get("verdict").map_err(at_start)?;

    // The body has lines of its own, so that a place in it is one line off and no column.
    let text = format!("function ({}) {{\n{}\n}}", job.kind.arguments().join(", "), job.body);
    let mut options = rquickjs::context::EvalOptions::default();
    (options.strict, options.filename) = (false, Some(FILE.to_owned()));
    let compiled: Value<'_> =
        ctx.eval_with_options(format!("({text})"), options).map_err(|_| Failure::Engine(Phase::Compile))?;
    if !whole.call::<_, bool>((compiled.clone(), text.as_str())).map_err(at_start)? {
        return Err(known(Why::Syntax, "it is not one function body: a brace closes too early"));
    }
    let function = compiled.into_function().ok_or_else(|| known(Why::Syntax, "it is no function body"))?;

    let mut arguments = rquickjs::function::Args::new(ctx.clone(), job.arguments.len());
    for argument in &job.arguments {
        let value = ctx.json_parse(argument.as_str()).map_err(at_start)?;
        arguments.push_arg(value).map_err(at_start)?;
    }
    let result: Value<'_> = function.call_arg(arguments).map_err(at_start)?;
    match verdict.call::<_, String>((result.clone(),)).map_err(at_start)?.as_str() {
        "" => {}
        "thenable" => {
            return Err(known(
                Why::Thenable,
                "it returned a promise, or something with a `then`; return the object itself",
            ));
        }
        _ => return Err(known(Why::NotPlain, "it has to return a plain object")),
    }
    let json = ctx.json_stringify(result).map_err(at_start)?;
    let json = json.ok_or_else(|| known(Why::Result, "what it returned is no JSON"))?;
    let json = json.to_string().map_err(at_start)?;
    if json.len() > job.limits.result {
        return Err(known(
            Why::Result,
            &format!("what it returned is {} bytes long, and {} are kept", json.len(), job.limits.result),
        ));
    }
    Ok(json)
}

/// Longest message that is passed on, characters.
const MESSAGE: usize = 500;

/// What the engine has thrown.
fn explain(ctx: &Ctx<'_>, phase: Phase) -> LogicError {
    let thrown = ctx.catch();
    // With no memory left there is none for an error either.
    if thrown.is_null() || thrown.is_undefined() {
        return LogicError::new(Why::Memory, "it took too much memory, or threw nothing");
    }
    let Some(exception) = thrown.clone().into_object().and_then(Exception::from_object) else {
        let said = thrown.as_string().and_then(|text| text.to_string().ok());
        let said = said.unwrap_or_else(|| format!("a value of type {}", thrown.type_name()));
        return LogicError::new(Why::Threw, format!("it threw {}", shortened(&said)));
    };
    let message = exception.message().unwrap_or_default();
    let name: String = exception.as_object().get("name").unwrap_or_default();
    let why = match (phase, name.as_str()) {
        _ if message.contains("out of memory") => Why::Memory,
        _ if message.contains("stack") && matches!(name.as_str(), "RangeError" | "InternalError") => {
            Why::Stack
        }
        (Phase::Compile, _) => Why::Syntax,
        (Phase::Run, _) => Why::Threw,
    };
    let shown =
        if name.is_empty() { shortened(&message) } else { format!("{name}: {}", shortened(&message)) };
    let place = place(&exception.stack().unwrap_or_default());
    LogicError {
        why,
        message: if shown.is_empty() { "it threw an error without a message".into() } else { shown },
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first place of a stack trace that lies in the body, as the body counts.
fn place(stack: &str) -> Option<(u32, u32)> {
    let (_, rest) = stack.split_once(&format!("{FILE}:"))?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    let line: u32 = numbers.next()?.parse().ok()?;
    let column = numbers.next()?.parse().ok()?;
    (line > 1).then(|| (line - 1, column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_plan::sandbox::{Kind, Limits};
    use serde_json::json;

    fn job(kind: Kind, body: &str) -> JobLine {
        let arguments = vec![json!({"a": 1, "list": [3, 1, 2]}).to_string(); kind.arguments().len()];
        JobLine {
            id: 1,
            kind,
            body: body.into(),
            arguments,
            now_ms: None,
            limits: Limits { time_ms: 500, result: 64 << 10, ..Limits::default() },
        }
    }

    fn evaluate_body(body: &str) -> Result<serde_json::Value, LogicError> {
        evaluate(&job(Kind::ToolInput, body)).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_body_returns_a_plain_object() {
        for (body, value) in [
            ("return { x: params.a + 1 };", json!({"x": 2})),
            ("const sorted = [...params.list].sort(); return { sorted };", json!({"sorted": [1, 2, 3]})),
            ("return Object.create(null, { x: { value: 1, enumerable: true } })", json!({"x": 1})),
            (
                "return { x: undefined, n: NaN, d: new Date('2026-11-30T10:00:00Z') } // ends in a comment",
                json!({"n": null, "d": "2026-11-30T10:00:00.000Z"}),
            ),
            ("return { m: /(\\d+)-(?<y>\\d+)/.exec('12-34').groups.y }", json!({"m": "34"})),
            (
                "return JSON.parse('{\"__proto__\": {\"polluted\": 1}}')",
                json!({"__proto__": {"polluted": 1}}),
            ),
            (
                "return { zone: new Date(0).getTimezoneOffset(), old: new Date(2026, 0, 1).toISOString() }",
                json!({"zone": 0, "old": "2026-01-01T00:00:00.000Z"}),
            ),
        ] {
            assert_eq!(evaluate_body(body), Ok(value), "{body}");
        }
    }

    #[test]
    fn each_failure_has_its_name() {
        for (body, why) in [
            ("return", Why::NotPlain),
            ("return 1", Why::NotPlain),
            ("return [1]", Why::NotPlain),
            ("return new Map()", Why::NotPlain),
            ("return () => 1", Why::NotPlain),
            ("return Promise.resolve({})", Why::Thenable),
            ("return { then() {} }", Why::Thenable),
            ("return (async () => ({}))()", Why::Thenable),
            ("return { a: 1n }", Why::Threw),
            ("return params.nothing.here", Why::Threw),
            ("throw 'a text'", Why::Threw),
            ("throw { toString() { while (true); } }", Why::Threw),
            ("return { x: ", Why::Syntax),
            ("}), (function () { return {}", Why::Syntax),
            ("} || function () { return {}", Why::Syntax),
            ("return {} }; globalThis.x = function () { return {}", Why::Syntax),
            ("while (true) {}", Why::Time),
            ("for (;;) try { throw 1 } catch {}", Why::Time),
            ("return { m: /^(a+)+$/.test('a'.repeat(40) + 'b') }", Why::Time),
            ("return { get x() { while (true); } }", Why::Time),
            ("return { toJSON() { while (true); } }", Why::Time),
            ("return new Proxy({}, { getPrototypeOf() { while (true); } })", Why::Time),
            ("const f = () => f() + 1; return f()", Why::Stack),
            ("let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o", Why::Stack),
            ("const all = []; for (;;) all.push(new Array(1e5).fill(7))", Why::Memory),
            ("let s = 'x'; for (;;) s += s", Why::Threw),
            ("return { big: 'x'.repeat(100 << 10) }", Why::Result),
            ("return { now: Date.now() }", Why::Threw),
            ("return { now: new Date() }", Why::Threw),
            ("return { now: new (new Date(0).constructor)() }", Why::Threw),
            ("return { now: Date() }", Why::Threw),
            ("return { random: Math.random() }", Why::Threw),
            ("return { p: performance.now() }", Why::Threw),
            ("return { e: process.env }", Why::Threw),
            ("return { f: require('fs') }", Why::Threw),
            ("return { f: fetch('http://127.0.0.1') }", Why::Threw),
        ] {
            let error = evaluate_body(body).unwrap_err();
            let memory = why == Why::Memory || body.contains("s += s");
            assert!(
                error.why == why || (memory && matches!(error.why, Why::Memory | Why::Time | Why::Threw)),
                "{body}: {error:?}"
            );
            assert!(!error.message.is_empty() && error.message.len() < 3_000, "{body}");
        }
        let deep = format!("return {{ x: {}1{} }}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(matches!(evaluate_body(&deep).unwrap_err().why, Why::Stack | Why::Syntax));
    }

    #[test]
    fn a_mistake_has_its_place_in_the_body() {
        let error = evaluate_body("const a = 1;\n  return { x: a.b.c };").unwrap_err();
        assert_eq!((error.line, error.column.is_some()), (Some(2), true), "{error:?}");
        assert!(error.to_string().starts_with("line 2, column "), "{error}");
        let error = evaluate_body("const a = 1;\nconst = 2;").unwrap_err();
        assert_eq!((error.why, error.line), (Why::Syntax, Some(2)), "{error:?}");
    }

    #[test]
    fn the_clock_is_the_one_that_was_given() {
        let mut with = job(
            Kind::Params,
            "return { now: Date.now(), day: new Date().toISOString().slice(0, 10), is: new Date() instanceof Date }",
        );
        with.now_ms = Some(1_796_000_000_000);
        let value: serde_json::Value = serde_json::from_str(&evaluate(&with).unwrap()).unwrap();
        assert_eq!(value, json!({"now": 1_796_000_000_000_i64, "day": "2026-11-30", "is": true}));
    }

    #[test]
    fn one_body_leaves_nothing_to_the_next() {
        let tricks = "Object.prototype.leak = 1; globalThis.leak = 1; JSON.stringify = () => 'x'; Array.isArray = () => true; \
             Function.prototype.toString = () => ''; Object.getPrototypeOf = () => null; return { a: 1 }";
        assert_eq!(evaluate_body(tricks), Ok(json!({"a": 1})));
        assert_eq!(
            evaluate_body("return { leak: typeof leak, own: 'leak' in {} }"),
            Ok(json!({"leak": "undefined", "own": false}))
        );
    }
}
