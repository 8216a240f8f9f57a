//! An entry without the proxy again. Most of what it was stands in the wrapped entry itself; the rest is in the memo.

use super::entry::Wrapped;
use super::remote::{HEADER_ENV, HEADERS, is_our_variable};
use super::shape::{CommandAs, Shape};
use super::{Memo, Recall, Refusal, Was};
use bir_model::{Edit, Place};
use serde_json::{Map, Value};

/// The edits that take the proxy out of an entry; `place`: where it stands. What another program has added to it stays.
///
/// # Errors
///
/// The entry is not wrapped any more, or the memo does not fit it.
pub fn unwrap(shape: &Shape, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
    let Some(wrapped) = Wrapped::read(shape, entry) else {
        return Err(Refusal::new("unwrapped", "it is not wrapped any more"));
    };
    let mut edits = Vec::new();
    let mut remove = |at: Place| edits.push(Edit::Remove { at });
    let env = entry.get(shape.env).and_then(Value::as_object);
    // A command's environment was never touched.
    let ours = |name: &str| wrapped.behind.is_none() && is_our_variable(name);
    let env_goes = memo.added.iter().any(|key| key == shape.env)
        && env.is_some_and(|env| env.keys().all(|name| ours(name)));
    let env_is_set = memo.was.iter().any(|(key, _)| key == shape.env)
        && env.is_some_and(|env| env.keys().all(|name| ours(name)));
    for key in memo.added.iter().filter(|key| *key != shape.env && entry.get(*key).is_some()) {
        remove(place.key(key));
    }
    if env_goes {
        remove(place.key(shape.env));
    } else if !env_is_set {
        for name in env.into_iter().flat_map(Map::keys).filter(|name| ours(name)) {
            remove(place.key(shape.env).key(name));
        }
    }
    // Arguments that somebody has added behind a command that had none.
    if let CommandAs::Split { args, .. } = shape.command
        && memo.added.iter().any(|key| key == args)
        && let Some([_, added @ ..]) = wrapped.behind.as_deref()
        && !added.is_empty()
    {
        edits.push(Edit::Set { at: place.key(args), value: added.into() });
    }
    for (key, was) in &memo.was {
        if key == shape.env && !env_is_set {
            continue;
        }
        let value = match was {
            Was::Value(value) => value.clone(),
            Was::Recall(recall) => recalled(shape, entry, &wrapped, recall).ok_or_else(|| {
                Refusal::new("shape", format!("what its `{key}` was is not in it any more"))
            })?,
        };
        let at = place.key(key);
        let in_front = |stays: &Value| Some(entry.get(key)?.as_array()?.len() - stays.as_array()?.len());
        edits.push(match was {
            // What stands behind the proxy's own words is left as it is written.
            Was::Recall(Recall::Args | Recall::Command) if let Some(count) = in_front(&value) => {
                Edit::Cut { from: at, at: 0, count }
            }
            _ => Edit::Set { at, value },
        });
    }
    Ok(edits)
}

/// A member as the wrapped entry has it.
fn recalled(shape: &Shape, entry: &Value, wrapped: &Wrapped, recall: &Recall) -> Option<Value> {
    let behind = || wrapped.behind.as_deref()?.split_first();
    Some(match recall {
        Recall::Program => behind()?.0.as_str().into(),
        Recall::Args => behind()?.1.into(),
        Recall::Command => wrapped.behind.as_deref().filter(|line| !line.is_empty())?.into(),
        Recall::Url => wrapped.url(shape, entry)?.into(),
        Recall::Headers(names) => {
            let env = entry.get(shape.env);
            let variable = |name: &str| env.and_then(|env| env.get(name)).and_then(Value::as_str);
            let literal: Map<String, Value> = match variable(HEADERS) {
                Some(text) => serde_json::from_str(text).ok()?,
                None => Map::new(),
            };
            let alone = |name: &str| {
                let mut pairs = wrapped.options(HEADER_ENV).filter_map(|option| option.split_once(": "));
                let (_, from) = pairs.find(|(header, _)| *header == name)?;
                variable(from).map(Value::from)
            };
            let value =
                |name: &String| Some((name.clone(), literal.get(name).cloned().or_else(|| alone(name))?));
            Value::Object(names.iter().map(value).collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::carry_out;
    use super::*;
    use serde_json::json;

    fn memo(text: &str) -> Memo {
        serde_json::from_str(text).unwrap()
    }

    /// The entry without the proxy, or a refusal's code.
    fn of(entry: &Value, memo: &Memo) -> Result<String, &'static str> {
        let mut document = json!({ "a": entry });
        let edits =
            unwrap(&Shape::COMMON, entry, &Place::keys(["a"]), memo).map_err(|refusal| refusal.code)?;
        edits.iter().for_each(|edit| assert!(carry_out(&mut document, edit), "{edit:?}"));
        Ok(document["a"].to_string())
    }

    const COMMAND: &str = r#"{"was":[["command",{"recall":"program"}]],"added":["args"]}"#;
    const REMOTE: &str = r#"{"was":[["url",{"recall":"url"}],["headers",{"recall":{"headers":["A"]}}]],"added":["command","args","env"]}"#;

    #[test]
    fn what_another_program_has_added_stays() {
        let line = |args: &[&str]| json!({ "command": "/b/bir-proxy", "timeout": 3, "args": args, "env": { "K": "v" } });
        // The wrapped entry had no arguments, and gets some.
        assert_eq!(
            of(&line(&["--server-name", "x", "--", "files", "--more"]), &memo(COMMAND)).unwrap(),
            r#"{"command":"files","timeout":3,"env":{"K":"v"},"args":["--more"]}"#
        );
        assert_eq!(
            of(&line(&["--server-name", "x", "--", "files"]), &memo(COMMAND)).unwrap(),
            r#"{"command":"files","timeout":3,"env":{"K":"v"}}"#
        );
        let remote = |more: &str| {
            let mut env = json!({ "BIR_UPSTREAM_HEADERS": r#"{"A":"b"}"# });
            if !more.is_empty() {
                env[more] = "v".into();
            }
            json!({ "command": "bir-proxy", "args": ["--url", "http://h"], "env": env, "timeout": 3 })
        };
        assert_eq!(
            of(&remote(""), &memo(REMOTE)).unwrap(),
            r#"{"timeout":3,"url":"http://h","headers":{"A":"b"}}"#
        );
        assert_eq!(
            of(&remote("MORE"), &memo(REMOTE)).unwrap(),
            r#"{"env":{"MORE":"v"},"timeout":3,"url":"http://h","headers":{"A":"b"}}"#
        );
    }

    #[test]
    fn a_memo_that_does_not_fit_changes_nothing() {
        for (entry, memo_text, code) in [
            (json!({ "command": "files" }), COMMAND, "unwrapped"),
            (json!({ "url": "http://h" }), REMOTE, "unwrapped"),
            (json!({ "command": "bir-proxy", "args": ["--url", "http://h"] }), COMMAND, "shape"),
            (json!({ "command": "bir-proxy", "args": ["--", "x"] }), REMOTE, "shape"),
            (json!({ "command": "bir-proxy", "args": ["--url-env", "BIR_UPSTREAM_URL"] }), REMOTE, "shape"),
            (json!({ "command": "bir-proxy", "args": ["--url", "http://h"] }), REMOTE, "shape"),
            (
                json!({ "command": "bir-proxy", "args": ["--url", "http://h"], "env": { "BIR_UPSTREAM_HEADERS": "{" } }),
                REMOTE,
                "shape",
            ),
        ] {
            assert_eq!(of(&entry, &memo(memo_text)), Err(code), "{entry}");
        }
    }
}
