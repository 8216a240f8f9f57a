//! Expressions as JavaScript: shown to people, edited by them, evaluated in the sandbox. What is emitted gives what [`eval`](crate::expr::eval)
//! gives, or throws where that fails.
//!
//! A body of logic is `return { … }` in front of which stand the helpers that it uses, so that it can be read by itself.

mod helpers;

use crate::expr::{At, Case, Clock, Expr, Op, Selector, Test, TimeForm, Type, Unit, UrlPart};
use helpers::{HELPERS, Helper};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The parameter in which the clock stands, `2026-11-30T08:00`. No name that a person gives looks like it.
pub const NOW: &str = "$now";

/// A value with expressions in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape<'a> {
    /// A value that holds none.
    Const(&'a Value),
    /// An expression.
    Expr(&'a Expr),
    /// An object.
    Object(Vec<(&'a str, Shape<'a>)>),
    /// A list.
    List(Vec<Shape<'a>>),
}

/// A function body that returns an object. `result` is the expression under which the result of the step is reached, where there is one.
#[must_use]
pub fn body(members: &[(&str, Shape<'_>)], result: Option<&str>) -> String {
    let mut emitter = Emitter { used: BTreeSet::new(), result: result.unwrap_or("undefined") };
    let mut text = String::new();
    for (name, shape) in members {
        let value = emitter.shape(shape, 1);
        let _ = writeln!(text, "  {}: {value},", property(name));
    }
    let mut out = String::new();
    for helper in HELPERS.iter().filter(|helper| emitter.used.contains(helper.name)) {
        let _ = writeln!(out, "{}", helper.text);
    }
    if members.is_empty() {
        out.push_str("return {};\n");
    } else {
        let _ = write!(out, "return {{\n{text}}};\n");
    }
    out
}

struct Emitter<'r> {
    used: BTreeSet<&'static str>,
    result: &'r str,
}

impl Emitter<'_> {
    /// Uses a helper, and those that it uses.
    fn helper(&mut self, name: &'static str) -> &'static str {
        if self.used.insert(name) {
            let needs =
                HELPERS.iter().find(|helper| helper.name == name).map_or(&[][..], |h: &Helper| h.needs);
            needs.iter().for_each(|name| {
                self.helper(name);
            });
        }
        name
    }

    fn call(&mut self, name: &'static str, arguments: &[String]) -> String {
        format!("{}({})", self.helper(name), arguments.join(", "))
    }

    fn shape(&mut self, shape: &Shape<'_>, depth: usize) -> String {
        let indent = "  ".repeat(depth);
        match shape {
            Shape::Const(value) => literal(value),
            Shape::Expr(expr) => self.expr(expr),
            Shape::Object(members) if members.is_empty() => "{}".into(),
            Shape::Object(members) => {
                let mut out = String::from("{\n");
                for (name, shape) in members {
                    let value = self.shape(shape, depth + 1);
                    let _ = writeln!(out, "{indent}  {}: {value},", property(name));
                }
                out + &indent + "}"
            }
            Shape::List(elements) => {
                let elements: Vec<_> = elements.iter().map(|shape| self.shape(shape, depth + 1)).collect();
                format!("[{}]", elements.join(", "))
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => literal(value),
            Expr::Param(name) => self.path("params".into(), &[At::Key(name.clone())]),
            Expr::Kept(key) => self.path("respParams".into(), &[At::Key(key.clone())]),
            Expr::Result(path) => self.path(self.result.to_owned(), path),
            Expr::Item(path) => self.path("item".into(), path),
            Expr::Clock(clock) => {
                let form = match clock {
                    Clock::Date => TimeForm::Date,
                    Clock::Time => TimeForm::Time,
                    Clock::DateTime => TimeForm::DateTime,
                };
                let now = self.path("params".into(), &[At::Key(NOW.into())]);
                self.call("showTime", &[now, form_word(form)])
            }
            Expr::Get { of, path } => {
                let of = self.expr(of);
                self.path(of, path)
            }
            Expr::Pick { from, by, path } => {
                let list = self.expr(from);
                let item = self.pick(list, by);
                self.path(item, path)
            }
            Expr::Concat(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.expr(part)).collect();
                self.call("join", &parts)
            }
            Expr::Cut { of, after, before } => {
                let of = self.expr(of);
                self.call("cut", &[of, quoted(after), quoted(before)])
            }
            Expr::Case { of, to } => {
                let of = self.expr(of);
                let helper = match to {
                    Case::Lower => "lower",
                    Case::Upper => "upper",
                    Case::Title => "title",
                    Case::Slug => "slug",
                    Case::Trimmed => "trimmed",
                };
                self.call(helper, &[of])
            }
            Expr::To { of, to } => {
                let of = self.expr(of);
                self.call(if *to == Type::Text { "toText" } else { "toNumber" }, &[of])
            }
            Expr::Time { of, form } => {
                let of = self.expr(of);
                self.call("showTime", &[of, form_word(*form)])
            }
            Expr::Add { of, amount, unit } => {
                let (of, amount) = (self.expr(of), self.expr(amount));
                match unit {
                    Unit::Number => self.call("plus", &[of, amount]),
                    unit => self.call("later", &[of, amount, quoted(unit_word(*unit))]),
                }
            }
            Expr::Round { of, digits } => {
                let of = self.expr(of);
                self.call("round", &[of, (*digits).min(12).to_string()])
            }
            Expr::Url { of, part } => {
                let of = self.expr(of);
                let part = match part {
                    UrlPart::Scheme => "scheme",
                    UrlPart::Host => "host",
                    UrlPart::Path => "path",
                    UrlPart::LastSegment => "lastSegment",
                };
                self.call("urlPart", &[of, quoted(part)])
            }
            Expr::Json { of, path } => {
                let of = self.expr(of);
                let read = self.call("readJson", &[of]);
                self.path(read, path)
            }
            Expr::Map { of, cases } => {
                let of = self.expr(of);
                let cases: Vec<_> =
                    cases.iter().map(|(from, to)| format!("[{}, {}]", literal(from), literal(to))).collect();
                self.call("oneOf", &[of, format!("[{}]", cases.join(", "))])
            }
            Expr::Amount { of, unit } => {
                let of = self.expr(of);
                self.call("amount", &[of, quoted(unit_word(*unit))])
            }
            Expr::Len(of) => {
                let of = self.expr(of);
                self.call("count", &[of])
            }
        }
    }

    fn pick(&mut self, list: String, by: &Selector) -> String {
        match by {
            Selector::First => self.call("nth", &[list, "0".into()]),
            Selector::Last => self.call("last", &[list]),
            Selector::Nth(index) => self.call("nth", &[list, index.to_string()]),
            Selector::Min(path) => {
                let size = self.path("item".into(), path);
                self.call("smallest", &[list, format!("(item) => {size}")])
            }
            Selector::Max(path) => {
                let size = self.path("item".into(), path);
                self.call("largest", &[list, format!("(item) => {size}")])
            }
            Selector::FirstThat(test) => {
                let test = self.test(test);
                self.call("firstThat", &[list, test])
            }
            Selector::Only(test) => {
                let test = self.test(test);
                self.call("only", &[list, test])
            }
        }
    }

    fn test(&mut self, test: &Test) -> String {
        let with = self.expr(&test.with);
        let path: Vec<String> = test.path.iter().map(step).collect();
        let op = match test.op {
            Op::Equal => "equal",
            Op::NotEqual => "notEqual",
            Op::SameText => "sameText",
            Op::Less => "less",
            Op::AtMost => "atMost",
            Op::Greater => "greater",
            Op::AtLeast => "atLeast",
        };
        let fits = self.call("fits", &["item".into(), format!("[{}]", path.join(", ")), quoted(op), with]);
        format!("(item) => {fits}")
    }

    fn path(&mut self, of: String, path: &[At]) -> String {
        if path.is_empty() {
            return of;
        }
        let steps: Vec<String> = path.iter().map(step).collect();
        let arguments = [vec![of], steps].concat();
        self.call("at", &arguments)
    }
}

fn step(at: &At) -> String {
    match at {
        At::Key(key) => quoted(key),
        At::Index(index) => index.to_string(),
    }
}

fn form_word(form: TimeForm) -> String {
    serde_json::to_string(&form).unwrap_or_default()
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "number",
        Unit::Days => "days",
        Unit::Months => "months",
        Unit::Minutes => "minutes",
    }
}

/// JSON is JavaScript, but that a member `__proto__` of a literal would set the prototype.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", property(name), literal(value)))
                .collect();
            if members.is_empty() { "{}".into() } else { format!("{{ {} }}", members.join(", ")) }
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A member's name as it stands in an object.
fn property(name: &str) -> String {
    let mut letters = name.bytes();
    let plain = letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'$')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
    match name {
        "__proto__" => "[\"__proto__\"]".into(),
        _ if plain => name.to_owned(),
        _ => quoted(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_reads_as_a_person_would_write_it() {
        let (city, price) = (Expr::Param("city".into()), Expr::Kept("s1_price".into()));
        let text = body(
            &[
                ("query", Shape::Expr(&city)),
                ("max-price", Shape::Expr(&price)),
                ("page", Shape::Const(&json!(1))),
            ],
            None,
        );
        assert!(text.starts_with("const fail = "), "{text}");
        assert!(
            text.ends_with("return {\n  query: at(params, \"city\"),\n  \"max-price\": at(respParams, \"s1_price\"),\n  page: 1,\n};\n"),
            "{text}"
        );
        assert_eq!(body(&[], None), "return {};\n");
    }

    #[test]
    fn every_helper_that_is_needed_is_there() {
        for helper in HELPERS {
            assert!(helper.text.starts_with(&format!("const {} = ", helper.name)), "{}", helper.name);
            for need in helper.needs {
                let (place, own) = (position(need), position(helper.name));
                assert!(place < own, "{} stands behind {}", need, helper.name);
            }
        }
        fn position(name: &str) -> usize {
            HELPERS.iter().position(|helper| helper.name == name).unwrap()
        }
    }
}
