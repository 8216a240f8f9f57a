//! Evaluation.

use super::{At, Clock, Expr, Op, Selector, Test, Type, number, text, time};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use thiserror::Error;

/// What an expression may see.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The parameters.
    pub params: &'a Map<String, Value>,
    /// What earlier steps kept.
    pub kept: &'a Map<String, Value>,
    /// The result of this step.
    pub result: Option<&'a Value>,
    /// The element that is looked at.
    pub item: Option<&'a Value>,
    /// `2026-11-30T08:00`, in the user's zone.
    pub now: &'a str,
}

/// Why an expression has no value: the replay stops there. No value is in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvalError {
    /// Nothing is there.
    #[error("there is no {0}")]
    Absent(String),
    /// It is something else than what was recorded.
    #[error("{0}")]
    Type(&'static str),
    /// No element of a list fits.
    #[error("no element of the list fits")]
    NoneFits,
    /// More than one does, where one was asked for.
    #[error("more than one element of the list fits")]
    Ambiguous,
}

/// The value of an expression.
///
/// # Errors
///
/// [`EvalError`].
pub fn eval(expr: &Expr, scope: &Scope<'_>) -> Result<Value, EvalError> {
    view(expr, scope).map(Cow::into_owned)
}

/// The value of an expression, where it stands if it stands somewhere: a long list is not copied for one of its elements.
///
/// # Errors
///
/// [`EvalError`].
pub fn view<'a>(expr: &'a Expr, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
    let absent = |what: String| EvalError::Absent(what);
    Ok(match expr {
        Expr::Const(value) => Cow::Borrowed(value),
        Expr::Param(name) => {
            Cow::Borrowed(scope.params.get(name).ok_or_else(|| absent(format!("parameter `{name}`")))?)
        }
        Expr::Kept(key) => {
            Cow::Borrowed(scope.kept.get(key).ok_or_else(|| absent(format!("kept value `{key}`")))?)
        }
        Expr::Result(path) => Cow::Borrowed(at(scope.result.ok_or_else(|| absent("result".into()))?, path)?),
        Expr::Item(path) => Cow::Borrowed(at(scope.item.ok_or_else(|| absent("element".into()))?, path)?),
        Expr::Get { of, path } => part(view(of, scope)?, |value| at(value, path))?,
        Expr::Pick { from, by, path } => part(view(from, scope)?, |list| at(pick(list, by, scope)?, path))?,
        made => Cow::Owned(make(made, scope)?),
    })
}

/// A part of a value, borrowed if the whole is.
fn part<'a>(
    whole: Cow<'a, Value>,
    of: impl for<'v> Fn(&'v Value) -> Result<&'v Value, EvalError>,
) -> Result<Cow<'a, Value>, EvalError> {
    Ok(match whole {
        Cow::Borrowed(whole) => Cow::Borrowed(of(whole)?),
        Cow::Owned(whole) => Cow::Owned(of(&whole)?.clone()),
    })
}

/// The value of an expression that makes a new one.
fn make(expr: &Expr, scope: &Scope<'_>) -> Result<Value, EvalError> {
    match expr {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Kept(_)
        | Expr::Result(_)
        | Expr::Item(_)
        | Expr::Get { .. }
        | Expr::Pick { .. } => eval(expr, scope),
        Expr::Clock(clock) => {
            let form = match clock {
                Clock::Date => super::TimeForm::Date,
                Clock::Time => super::TimeForm::Time,
                Clock::DateTime => super::TimeForm::DateTime,
            };
            let now = time::read(scope.now).and_then(|now| now.shown(form));
            now.map(Value::from).ok_or(EvalError::Type("the clock says no time"))
        }
        Expr::Concat(parts) => {
            let texts = parts.iter().map(|part| as_text(&*view(part, scope)?));
            texts.collect::<Result<String, _>>().map(Value::from)
        }
        Expr::Cut { of, after, before } => {
            let whole = text_of(of, scope)?;
            let part = text::cut(&whole, after, before);
            part.map(Value::from).ok_or(EvalError::Type("the text has not the separators of the recording"))
        }
        Expr::Case { of, to } => Ok(text::case(&text_of(of, scope)?, *to).into()),
        Expr::To { of, to } => {
            let value = eval(of, scope)?;
            match to {
                Type::Text => as_text(&value).map(Value::from),
                Type::Number => as_number(&value).and_then(whole_number),
            }
        }
        Expr::Time { of, form } => {
            let shown = time::read(&text_of(of, scope)?).and_then(|when| when.shown(*form));
            shown.map(Value::from).ok_or(EvalError::Type("it is no time of the form that is needed"))
        }
        Expr::Add { of, amount, unit } => {
            let (of, amount) = (eval(of, scope)?, as_number(&eval(amount, scope)?)?);
            if *unit == super::Unit::Number {
                return whole_number(as_number(&of)? + amount);
            }
            let Value::String(text) = &of else { return Err(EvalError::Type("it is no time")) };
            if amount.fract() != 0.0 || amount.abs() > 1e9 {
                return Err(EvalError::Type("a time moves by whole units"));
            }
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            let later = time::read(text).and_then(|when| when.later(amount as i64, *unit)?.text());
            later.map(Value::from).ok_or(EvalError::Type("there is no such time"))
        }
        Expr::Round { of, digits } => {
            let scale = 10_f64.powi(i32::from((*digits).min(12)));
            let scaled = as_number(&eval(of, scope)?)? * scale;
            // Half away from zero, in the very operations that JavaScript is given.
            let rounded = (scaled.abs() + 0.5).floor() * if scaled < 0.0 { -1.0 } else { 1.0 };
            whole_number(rounded / scale)
        }
        Expr::Url { of, part } => {
            let address = text_of(of, scope)?;
            text::url(&address, *part).map(Value::from).ok_or(EvalError::Type("it is no address"))
        }
        Expr::Json { of, path } => {
            let read: Value = serde_json::from_str(&text_of(of, scope)?)
                .map_err(|_| EvalError::Type("the text is no JSON"))?;
            at(&read, path).cloned()
        }
        Expr::Map { of, cases } => {
            let value = eval(of, scope)?;
            let found = cases.iter().find(|(from, _)| same(from, &value));
            found.map(|(_, to)| to.clone()).ok_or(EvalError::Type("it is none of the known words"))
        }
        Expr::Amount { of, unit } => {
            let amount = time::amount(&text_of(of, scope)?, *unit);
            amount.map(Value::from).ok_or(EvalError::Type("it is no length of time of that unit"))
        }
        Expr::Len(of) => match &*view(of, scope)? {
            Value::Array(list) => Ok(list.len().into()),
            _ => Err(EvalError::Type("it is no list")),
        },
    }
}

fn at<'v>(value: &'v Value, path: &[At]) -> Result<&'v Value, EvalError> {
    path.iter().try_fold(value, |value, step| {
        let found = match (step, value) {
            (At::Key(key), Value::Object(members)) => members.get(key),
            (At::Index(index), Value::Array(list)) => list.get(*index),
            _ => None,
        };
        found.ok_or_else(|| match step {
            At::Key(key) => EvalError::Absent(format!("`{key}`")),
            At::Index(index) => EvalError::Absent(format!("element {index}")),
        })
    })
}

fn pick<'v>(list: &'v Value, by: &Selector, scope: &Scope<'_>) -> Result<&'v Value, EvalError> {
    let Value::Array(list) = list else { return Err(EvalError::Type("it is no list")) };
    match by {
        Selector::First => list.first().ok_or(EvalError::NoneFits),
        Selector::Last => list.last().ok_or(EvalError::NoneFits),
        Selector::Nth(index) => list.get(*index).ok_or(EvalError::NoneFits),
        Selector::Min(path) => extreme(list, path, Ordering::Less),
        Selector::Max(path) => extreme(list, path, Ordering::Greater),
        Selector::FirstThat(test) => {
            for item in list {
                if fits(item, test, scope)? {
                    return Ok(item);
                }
            }
            Err(EvalError::NoneFits)
        }
        Selector::Only(test) => {
            let mut found = None;
            for item in list {
                if fits(item, test, scope)? && found.replace(item).is_some() {
                    return Err(EvalError::Ambiguous);
                }
            }
            found.ok_or(EvalError::NoneFits)
        }
    }
}

/// An element without a number there says that the list is not what was recorded.
fn extreme<'v>(list: &'v [Value], path: &[At], wanted: Ordering) -> Result<&'v Value, EvalError> {
    let mut best: Option<(f64, &Value)> = None;
    for item in list {
        let size = as_number(at(item, path)?)?;
        if best.is_none_or(|(known, _)| size.partial_cmp(&known) == Some(wanted)) {
            best = Some((size, item));
        }
    }
    best.map(|(_, item)| item).ok_or(EvalError::NoneFits)
}

fn fits(item: &Value, test: &Test, scope: &Scope<'_>) -> Result<bool, EvalError> {
    let with = view(&test.with, &Scope { item: Some(item), ..*scope })?;
    match at(item, &test.path) {
        Ok(value) => Ok(compare(value, test.op, &with)),
        // An element that does not say it does not fit.
        Err(_) => Ok(false),
    }
}

/// Whether a comparison holds. Values that cannot be compared are not equal, and in no order.
#[must_use]
pub fn compare(value: &Value, op: Op, with: &Value) -> bool {
    let order = || match (as_number(value), as_number(with)) {
        (Ok(a), Ok(b)) => a.partial_cmp(&b),
        _ => None,
    };
    match op {
        Op::Equal => same(value, with),
        Op::NotEqual => !same(value, with),
        Op::SameText => match (value, with) {
            (Value::String(a), Value::String(b)) => {
                text::trimmed(a).to_lowercase() == text::trimmed(b).to_lowercase()
            }
            _ => same(value, with),
        },
        Op::Less => order() == Some(Ordering::Less),
        Op::AtMost => order().is_some_and(Ordering::is_le),
        Op::Greater => order() == Some(Ordering::Greater),
        Op::AtLeast => order().is_some_and(Ordering::is_ge),
    }
}

/// The same value; a number equals the text that spells it. Lists and objects are never the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Null, Value::Null) => true,
        (Value::Number(_), Value::Number(_) | Value::String(_)) | (Value::String(_), Value::Number(_)) => {
            matches!((as_number(a), as_number(b)), (Ok(a), Ok(b)) if a == b)
        }
        _ => false,
    }
}

fn text_of(expr: &Expr, scope: &Scope<'_>) -> Result<String, EvalError> {
    match view(expr, scope)?.into_owned() {
        Value::String(text) => Ok(text),
        _ => Err(EvalError::Type("it is no text")),
    }
}

fn as_text(value: &Value) -> Result<String, EvalError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => {
            number.as_f64().map(number::shown).ok_or(EvalError::Type("it is no text and no number"))
        }
        _ => Err(EvalError::Type("it is no text and no number")),
    }
}

fn as_number(value: &Value) -> Result<f64, EvalError> {
    number::as_number(value).ok_or(EvalError::Type("it is no number"))
}

fn whole_number(value: f64) -> Result<Value, EvalError> {
    number(value).ok_or(EvalError::Type("it is no number"))
}

#[cfg(test)]
mod tests {
    use super::super::{Case, TimeForm, Unit, UrlPart};
    use super::*;
    use serde_json::json;

    fn key(name: &str) -> Vec<At> {
        vec![At::Key(name.into())]
    }

    fn value(expr: &Expr) -> Result<Value, EvalError> {
        let params = json!({"city": "Rome", "limit": 100, "note": " Rome "});
        let kept = json!({"list": [{"id": 7, "price": "12.50", "city": "rome"}, {"id": 8, "price": 9, "city": "Oslo"}, {"id": 9, "price": 9}]});
        let result = json!({"a": {"b": [1, "x"]}, "raw": "{\"k\": [1, 2]}"});
        let scope = Scope {
            params: params.as_object().unwrap(),
            kept: kept.as_object().unwrap(),
            result: Some(&result),
            item: None,
            now: "2026-11-30T15:04",
        };
        eval(expr, &scope)
    }

    fn pick(by: Selector) -> Result<Value, EvalError> {
        value(&Expr::Pick { from: Box::new(Expr::Kept("list".into())), by, path: key("id") })
    }

    fn test(path: &str, op: Op, with: Expr) -> Test {
        Test { path: key(path), op, with: Box::new(with) }
    }

    #[test]
    fn lists_are_picked_from() {
        let city = || Expr::Param("city".into());
        assert_eq!(pick(Selector::First), Ok(json!(7)));
        assert_eq!(pick(Selector::Last), Ok(json!(9)));
        assert_eq!(pick(Selector::Nth(3)), Err(EvalError::NoneFits));
        assert_eq!(pick(Selector::Min(key("price"))), Ok(json!(8)));
        assert_eq!(pick(Selector::Max(key("price"))), Ok(json!(7)));
        assert_eq!(pick(Selector::Max(key("city"))), Err(EvalError::Type("it is no number")));
        assert_eq!(pick(Selector::Only(test("city", Op::SameText, city()))), Ok(json!(7)));
        assert_eq!(pick(Selector::Only(test("city", Op::Equal, city()))), Err(EvalError::NoneFits));
        assert_eq!(
            pick(Selector::Only(test("price", Op::AtMost, Expr::Const(json!(9))))),
            Err(EvalError::Ambiguous)
        );
        assert_eq!(
            pick(Selector::FirstThat(test("price", Op::Less, Expr::Const(json!("10"))))),
            Ok(json!(8))
        );
    }

    #[test]
    fn values_are_made() {
        let of = |name: &str| Box::new(Expr::Param(name.into()));
        let result = |path: Vec<At>| Expr::Result(path);
        for (expr, expected) in [
            (result(vec![At::Key("a".into()), At::Key("b".into()), At::Index(1)]), json!("x")),
            (
                Expr::Concat(vec![
                    Expr::Param("city".into()),
                    Expr::Const(json!("-")),
                    Expr::Param("limit".into()),
                ]),
                json!("Rome-100"),
            ),
            (Expr::Case { of: of("note"), to: Case::Trimmed }, json!("Rome")),
            (Expr::To { of: of("limit"), to: Type::Text }, json!("100")),
            (Expr::Clock(Clock::Date), json!("2026-11-30")),
            (
                Expr::Add {
                    of: Box::new(Expr::Clock(Clock::Date)),
                    amount: Box::new(Expr::Const(json!(1))),
                    unit: Unit::Days,
                },
                json!("2026-12-01"),
            ),
            (
                Expr::Add { of: of("limit"), amount: Box::new(Expr::Const(json!(0.5))), unit: Unit::Number },
                json!(100.5),
            ),
            (
                Expr::Time { of: Box::new(Expr::Clock(Clock::DateTime)), form: TimeForm::TimeWithSeconds },
                json!("15:04:00"),
            ),
            (Expr::Round { of: Box::new(Expr::Const(json!(-2.5))), digits: 0 }, json!(-3)),
            (
                Expr::Url { of: Box::new(Expr::Const(json!("https://x.org/a?b"))), part: UrlPart::Path },
                json!("/a"),
            ),
            (
                Expr::Json {
                    of: Box::new(result(key("raw"))),
                    path: vec![At::Key("k".into()), At::Index(1)],
                },
                json!(2),
            ),
            (Expr::Map { of: of("city"), cases: vec![(json!("Rome"), json!("FCO"))] }, json!("FCO")),
            (Expr::Len(Box::new(Expr::Kept("list".into()))), json!(3)),
        ] {
            assert_eq!(value(&expr), Ok(expected), "{expr:?}");
            let stored = serde_json::to_string(&expr).unwrap();
            assert_eq!(serde_json::from_str::<Expr>(&stored).unwrap(), expr, "{stored}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(value(&Expr::Param("x".into())), Err(EvalError::Absent("parameter `x`".into())));
        assert_eq!(value(&Expr::Result(key("x"))).unwrap_err().to_string(), "there is no `x`");
        assert!(
            value(&Expr::Item(Vec::new())).is_err()
                && value(&Expr::Len(Box::new(Expr::Param("city".into())))).is_err()
        );
    }
}
