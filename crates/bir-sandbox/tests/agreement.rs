//! What is emitted says what is evaluated natively: the same value, or no value on either side.

use bir_plan::emit::{self, Shape};
use bir_plan::expr::{
    At, Case, Clock, Expr, Op, Path, Scope, Selector, Test, TimeForm, Type, Unit, UrlPart, as_number, eval,
};
use bir_plan::sandbox::{Job, Kind, Limits, Sandbox, Why};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

const NOW: &str = "2026-11-30T15:04";

/// Texts that mean something to some operation, and some that do not.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("2026-11-30".to_owned()),
        Just("2024-02-29".to_owned()),
        Just("2026-02-30".to_owned()),
        Just("0001-01-01".to_owned()),
        Just("08:00".to_owned()),
        Just("23:59:30".to_owned()),
        Just("2026-11-30T08:00".to_owned()),
        Just("2026-11-30T08:00:09.5+01:00".to_owned()),
        Just("2026-11-30 08:00Z".to_owned()),
        Just("https://example.com/a/b?c#d".to_owned()),
        Just("{\"k\":[1,{\"k\":\"x\"}]}".to_owned()),
        Just(" Straße İstanbul ΣΑΣ ".to_owned()),
        Just("PT1H30M".to_owned()),
        Just("P2W1DT24H".to_owned()),
        Just("P1Y".to_owned()),
        "P[0-9YMWDTH]{0,5}",
        Just("12.50".to_owned()),
        Just("-7".to_owned()),
        Just("1e3".to_owned()),
        Just(String::new()),
        "[0-9:T .-]{0,10}",
        "[a-c/ -]{0,6}",
        any::<String>().prop_map(|text| text.chars().take(5).collect()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        prop_oneof![
            Just(0.1),
            Just(-2.5),
            Just(1e21),
            Just(1.5e-7),
            Just(0.5),
            any::<f64>().prop_filter("finite", |f| f.is_finite())
        ]
        .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(
                (prop_oneof![Just("k"), Just("b"), Just("__proto__"), Just("0")], inner),
                0..4
            )
            .prop_map(|members| members
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

fn path() -> impl Strategy<Value = Path> {
    let at = prop_oneof![
        3 => Just(At::Key("k".into())),
        1 => Just(At::Key("b".into())),
        1 => Just(At::Key("__proto__".into())),
        1 => Just(At::Key("length".into())),
        2 => (0_usize..3).prop_map(At::Index),
    ];
    prop::collection::vec(at, 0..3)
}

fn boxed(inner: impl Strategy<Value = Expr>) -> impl Strategy<Value = Box<Expr>> {
    inner.prop_map(Box::new)
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        value().prop_map(Expr::Const),
        prop_oneof![Just("a"), Just("b"), Just("absent")].prop_map(|name| Expr::Param(name.into())),
        prop_oneof![Just("list"), Just("k"), Just("absent")].prop_map(|key| Expr::Kept(key.into())),
        path().prop_map(Expr::Result),
        prop_oneof![Just(Clock::Date), Just(Clock::Time), Just(Clock::DateTime)].prop_map(Expr::Clock),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let form = prop_oneof![
            Just(TimeForm::Date),
            Just(TimeForm::Time),
            Just(TimeForm::TimeWithSeconds),
            Just(TimeForm::DateTime),
            Just(TimeForm::DateTimeWithSeconds),
            Just(TimeForm::DateSpaceTime),
            Just(TimeForm::DotDate),
            Just(TimeForm::SlashDateMonthFirst),
            Just(TimeForm::SlashDateDayFirst),
            Just(TimeForm::CompactDate),
            Just(TimeForm::Year),
            Just(TimeForm::Month),
            Just(TimeForm::Day),
        ];
        let op = prop_oneof![
            Just(Op::Equal),
            Just(Op::NotEqual),
            Just(Op::SameText),
            Just(Op::Less),
            Just(Op::AtMost),
            Just(Op::Greater),
            Just(Op::AtLeast),
        ];
        let test =
            (path(), op, prop_oneof![2 => boxed(inner.clone()), 1 => boxed(path().prop_map(Expr::Item))])
                .prop_map(|(path, op, with)| Test { path, op, with })
                .boxed();
        let by = prop_oneof![
            Just(Selector::First),
            Just(Selector::Last),
            (0_usize..3).prop_map(Selector::Nth),
            path().prop_map(Selector::Min),
            path().prop_map(Selector::Max),
            test.clone().prop_map(Selector::Only),
            test.prop_map(Selector::FirstThat),
        ];
        let case = prop_oneof![
            Just(Case::Lower),
            Just(Case::Upper),
            Just(Case::Title),
            Just(Case::Slug),
            Just(Case::Trimmed),
        ];
        let unit = prop_oneof![Just(Unit::Number), Just(Unit::Days), Just(Unit::Months), Just(Unit::Minutes)];
        let part = prop_oneof![
            Just(UrlPart::Scheme),
            Just(UrlPart::Host),
            Just(UrlPart::Path),
            Just(UrlPart::LastSegment)
        ];
        let separator = prop_oneof![
            Just(String::new()),
            Just("/".to_owned()),
            Just("-".to_owned()),
            Just("T".to_owned())
        ];
        let of = || boxed(inner.clone());
        prop_oneof![
            (of(), path()).prop_map(|(of, path)| Expr::Get { of, path }),
            (of(), by, path()).prop_map(|(from, by, path)| Expr::Pick { from, by, path }),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Expr::Concat),
            (of(), separator.clone(), separator).prop_map(|(of, after, before)| Expr::Cut {
                of,
                after,
                before
            }),
            (of(), case).prop_map(|(of, to)| Expr::Case { of, to }),
            (of(), prop_oneof![Just(Type::Text), Just(Type::Number)])
                .prop_map(|(of, to)| Expr::To { of, to }),
            (of(), form).prop_map(|(of, form)| Expr::Time { of, form }),
            (of(), of(), unit).prop_map(|(of, amount, unit)| Expr::Add { of, amount, unit }),
            (of(), -2000_i64..2000, prop_oneof![Just(Unit::Days), Just(Unit::Months), Just(Unit::Minutes)])
                .prop_map(|(of, n, unit)| Expr::Add { of, amount: Box::new(Expr::Const(n.into())), unit }),
            (of(), 0_u8..4).prop_map(|(of, digits)| Expr::Round { of, digits }),
            (of(), part).prop_map(|(of, part)| Expr::Url { of, part }),
            (of(), path()).prop_map(|(of, path)| Expr::Json { of, path }),
            (of(), prop::collection::vec((value(), value()), 0..3))
                .prop_map(|(of, cases)| Expr::Map { of, cases }),
            (
                of(),
                prop_oneof![Just(Unit::Days), Just(Unit::Months), Just(Unit::Minutes), Just(Unit::Number)]
            )
                .prop_map(|(of, unit)| Expr::Amount { of, unit }),
            of().prop_map(Expr::Len),
        ]
    })
}

/// As JavaScript compares what JSON keeps of it.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => as_number(a) == as_number(b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|other| alike(v, other)))
        }
        _ => a == b,
    }
}

#[test]
fn emission_and_native_evaluation_agree() {
    let count = std::env::var("BIR_TEST_EXPRESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let sandbox = Sandbox::new(PathBuf::from(env!("CARGO_BIN_EXE_bir-sandbox")));
    let mut runner = TestRunner::new(Config { cases: count, failure_persistence: None, ..Config::default() });
    let cases = (expr(), value(), value(), value(), value());
    runner
        .run(&cases, |(expr, a, b, kept, result)| {
            let mut params = Map::from_iter([("a".to_owned(), a), ("b".to_owned(), b)]);
            let kept = json!({"list": [kept, {"k": 1}, {"k": "x", "b": "2026-11-30"}], "k": "Rome"});
            let kept = kept.as_object().cloned().unwrap_or_default();
            let scope = Scope { params: &params, kept: &kept, result: Some(&result), item: None, now: NOW };
            let native = eval(&expr, &scope);
            params.insert(emit::NOW.into(), NOW.into());
            let job = Job {
                kind: Kind::ToolOutput,
                body: emit::body(&[("v", Shape::Expr(&expr))], Some("toolOutput")),
                arguments: vec![result, params.into(), kept.into()],
                now_ms: None,
                limits: Limits::of_ms(5_000),
            };
            match (native, sandbox.evaluate(&job)) {
                (Ok(native), Ok(emitted)) => {
                    prop_assert!(alike(&native, &emitted["v"]), "{native} and {emitted}\n{}", job.body);
                }
                (Err(_), Err(error)) => prop_assert_eq!(error.why, Why::Threw, "{}\n{}", error, job.body),
                (native, emitted) => prop_assert!(false, "{native:?} and {emitted:?}\n{}", job.body),
            }
            Ok(())
        })
        .unwrap();
}
