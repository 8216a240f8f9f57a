//! Headers of a remote server, from `NAME: VALUE` to the JSON object that the proxy reads.

use bir_model::is_reserved_header;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use thiserror::Error;

/// What is wrong with a header. Its value may be a secret and is never shown.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum HeaderError {
    #[error("a `--header` has no colon; write 'NAME: VALUE'")]
    NoColon,
    #[error("`--header {0}: …` has a name that HTTP does not allow; use letters, digits and dashes")]
    Name(String),
    #[error("`--header {0}: …` is set by the proxy itself and cannot be configured; leave it out")]
    Reserved(String),
    #[error("`--header {0}: …` has a value with control characters; write it on one line")]
    Value(String),
    #[error("header {0} is given twice; give it once")]
    Twice(String),
}

/// The headers as one JSON object; nothing if there are none.
pub(crate) fn parse_all(given: &[String]) -> Result<Option<String>, HeaderError> {
    let mut out = Map::new();
    for h in given {
        let (name, value) = h.split_once(':').ok_or(HeaderError::NoColon)?;
        let (name, value) = (name.trim(), value.trim());
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(HeaderError::Name(name.escape_debug().to_string()));
        }
        if is_reserved_header(name) {
            return Err(HeaderError::Reserved(name.into()));
        }
        if HeaderValue::from_str(value).is_err() && HeaderValue::from_bytes(value.as_bytes()).is_err() {
            return Err(HeaderError::Value(name.into()));
        }
        if out.keys().any(|k| k.eq_ignore_ascii_case(name)) {
            return Err(HeaderError::Twice(name.into()));
        }
        out.insert(name.into(), value.into());
    }
    Ok(if out.is_empty() { None } else { Some(Value::Object(out).to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(h: &[&str]) -> Result<Option<String>, HeaderError> {
        parse_all(&h.iter().map(|s| s.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn headers_become_one_json_object() {
        assert_eq!(parse(&[]), Ok(None));
        let json = parse(&["Authorization: Bearer a:b\"c", "X-Empty:"]).unwrap().unwrap();
        assert_eq!(json, r#"{"Authorization":"Bearer a:b\"c","X-Empty":""}"#);
    }

    #[test]
    fn mistakes_are_named_without_the_value() {
        for (h, e) in [
            (&["hunter2"][..], HeaderError::NoColon),
            (&["A B: hunter2"], HeaderError::Name("A B".into())),
            (&[": hunter2"], HeaderError::Name(String::new())),
            (&["Host: hunter2"], HeaderError::Reserved("Host".into())),
            (&["content-type: hunter2"], HeaderError::Reserved("content-type".into())),
            (&["Mcp-Param-Region: hunter2"], HeaderError::Reserved("Mcp-Param-Region".into())),
            (&["A: hun\nter2"], HeaderError::Value("A".into())),
            (&["Key: a", "KEY: hunter2"], HeaderError::Twice("KEY".into())),
        ] {
            let got = parse(h).unwrap_err();
            assert_eq!(got, e);
            assert!(!got.to_string().contains("ter2"));
        }
    }
}
