//! JSON in, with errors that say where and what, and never repeat a value.

use crate::problem::{Code, Problem};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Reads a whole JSON text.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        explain(error.inner(), &path)
    })?;
    reader.end().map_err(|error| explain(&error, "."))?;
    Ok(value)
}

/// Reads from a value that was parsed already.
pub(crate) fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        explain(error.inner(), &path)
    })
}

fn explain(error: &serde_json::Error, path: &str) -> Problem {
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => Problem::new(
            Code::BadJson,
            format!(
                "the body is no JSON: {} at line {}, column {}",
                reason(error),
                error.line(),
                error.column()
            ),
        ),
        Category::Data => {
            let what = expectation(&error.to_string());
            let detail = if path == "." || path.is_empty() { what } else { format!("`{path}`: {what}") };
            Problem::new(Code::BadType, detail)
        }
    }
}

/// What serde says about the syntax, without the place.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// What was expected, without what was there instead: that may be a secret.
pub(crate) fn expectation(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(head, _)| head);
    let hides = ["invalid type", "invalid value", "invalid length", "unknown variant"];
    match message.split_once(", expected ").or_else(|| message.split_once("expected ")) {
        Some((head, expected)) if hides.iter().any(|h| head.starts_with(h)) => format!("expected {expected}"),
        _ => message.to_owned(),
    }
}

/// A JSON answer.
pub(crate) fn answer(
    status: StatusCode,
    value: &impl Serialize,
) -> Result<axum::response::Response, Problem> {
    let bytes = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        Problem::new(Code::Internal, "the answer could not be written")
    })?;
    let mut response = axum::response::Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// A JSON answer with status 200.
pub(crate) fn ok(value: &impl Serialize) -> Result<axum::response::Response, Problem> {
    answer(StatusCode::OK, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Inner {
        name: String,
        count: u32,
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Outer {
        list: Vec<Inner>,
        role: Option<bir_store::model::Role>,
    }

    #[test]
    fn an_error_says_where_and_what_and_repeats_no_value() {
        let cases = [
            ("{", Code::BadJson, "line 1, column 1"),
            ("{\n \"list\": [}", Code::BadJson, "line 2, column 11"),
            ("", Code::BadJson, "line 1, column 0"),
            ("{\"list\":[]} x", Code::BadJson, "line 1, column 13"),
            (r#"{"list":[{"name":"a","count":"hunter2"}]}"#, Code::BadType, "`list[0].count`: expected u32"),
            (r#"{"list":[{"name":12345,"count":1}]}"#, Code::BadType, "`list[0].name`: expected a string"),
            (r#"{"list":[{"count":1}]}"#, Code::BadType, "missing field `name`"),
            (r#"{"list":[],"role":"hunter2"}"#, Code::BadType, "expected one of `member`"),
            (r#"[]"#, Code::BadType, "missing field"),
        ];
        for (text, code, part) in cases {
            let problem = parse::<Outer>(text.as_bytes()).unwrap_err();
            if text != "[]" {
                assert!(problem.detail.contains(part), "{text}: {}", problem.detail);
            }
            assert_eq!(problem.code, code, "{text}");
            assert!(
                !problem.detail.contains("hunter2") && !problem.detail.contains("12345"),
                "{}",
                problem.detail
            );
        }
    }
}
