//! When two inputs run the same kind of statements.

use crate::sink::is_run_place;
use serde_json::{Map, Value};

/// Verbs that change something, wherever they stand in a statement: one that only begins with a harmless word does not hide them.
const CHANGES: [&str; 16] = [
    "insert", "update", "delete", "drop", "alter", "truncate", "create", "merge", "grant", "revoke",
    "replace", "call", "exec", "execute", "attach", "copy",
];

/// Whether a call runs what the step runs: every statement of it, with the same verbs.
///
/// # Errors
///
/// Why not.
pub fn same(called: &Map<String, Value>, input: &Map<String, Value>) -> Result<(), &'static str> {
    if called.is_empty() {
        return Ok(());
    }
    let places = input.keys().chain(called.keys().filter(|name| !input.contains_key(*name)));
    let mut found = false;
    for place in places.filter(|name| is_run_place(name)) {
        let of = |from: &Map<String, Value>| from.get(place).map(verbs).unwrap_or_default();
        let (called, step) = (of(called), of(input));
        if called != step {
            return Err("it runs other statements");
        }
        found |= !step.is_empty();
    }
    if found { Ok(()) } else { super::of_any(called, input) }
}

/// For each statement its verb, and what else it does.
fn verbs(value: &Value) -> Vec<Vec<String>> {
    match value {
        Value::String(text) => statements(text),
        Value::Array(elements) => elements.iter().flat_map(verbs).collect(),
        Value::Null => Vec::new(),
        // Nobody knows what it would run.
        other => vec![vec![other.to_string()]],
    }
}

fn statements(text: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(std::mem::take(word).to_lowercase());
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' | '`' => {
                end_word(&mut word, &mut words);
                // A verb in a literal is none.
                for inner in chars.by_ref() {
                    if inner == c {
                        break;
                    }
                }
            }
            '-' if chars.peek() == Some(&'-') => {
                end_word(&mut word, &mut words);
                while chars.next().is_some_and(|c| c != '\n') {}
            }
            '/' if chars.peek() == Some(&'*') => {
                end_word(&mut word, &mut words);
                chars.next();
                let mut before = ' ';
                for inner in chars.by_ref() {
                    if before == '*' && inner == '/' {
                        break;
                    }
                    before = inner;
                }
            }
            ';' => {
                end_word(&mut word, &mut words);
                out.extend(of_words(std::mem::take(&mut words)));
            }
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            _ => end_word(&mut word, &mut words),
        }
    }
    end_word(&mut word, &mut words);
    out.extend(of_words(words));
    out
}

fn of_words(words: Vec<String>) -> Option<Vec<String>> {
    let verb = words.first()?.clone();
    let rest = words.into_iter().skip(1).filter(|word| CHANGES.contains(&word.as_str()));
    Some(std::iter::once(verb).chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn statements_are_compared_by_what_they_do() {
        for (called, step, expected) in [
            (json!("SELECT a FROM b"), json!("select c from d where e = 1"), true),
            (json!("DELETE FROM b"), json!("select c from d"), false),
            (json!("select 1; delete from b"), json!("select 1"), false),
            (json!("select 1"), json!("select 1; delete from b"), false),
            (
                json!("with x as (delete from b returning *) select * from x"),
                json!("with x as (select 1) select * from x"),
                false,
            ),
            (json!("/* x */ select 1 -- delete"), json!("select 2"), true),
            (json!("select 'delete; drop'"), json!("select 2"), true),
            (json!("select 1;"), json!("select 2"), true),
            (json!(""), json!("select 2"), false),
            (json!(["select 1", "select 2"]), json!("select 1; select 2"), true),
            (json!({"x": 1}), json!("select 1"), false),
        ] {
            let of = |value: &Value| json!({"sql": value}).as_object().cloned().unwrap();
            assert_eq!(same(&of(&called), &of(&step)).is_ok(), expected, "{called} {step}");
        }
    }

    #[test]
    fn an_empty_statement_need_not_be_given_but_nothing_else_may_run_there() {
        let of = |value: Value| value.as_object().cloned().unwrap();
        let step = of(json!({"sql": "select 1", "script": "", "db": "x"}));
        assert!(same(&of(json!({"sql": "select 2"})), &step).is_ok());
        assert!(same(&of(json!({"sql": "select 2", "script": "drop it"})), &step).is_err());
        assert!(same(&of(json!({"db": "x"})), &step).is_err());
        assert!(same(&of(json!({"db": "x"})), &of(json!({"db": "x"}))).is_ok());
        assert!(same(&Map::new(), &step).is_ok());
    }
}
