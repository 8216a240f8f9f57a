//! `Mcp-Param-*`: arguments that a tool wants to see in headers as well (`x-mcp-header` in its schema).

use crate::http1::Request;
use crate::raw;
use crate::serve::headers::decode;

/// Deepest nesting of `properties` that is looked at.
const DEEPEST: usize = 16;

/// One declaration of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    path: Vec<String>,
    header: String,
    number: bool,
}

/// The declarations of an input schema; only those that a chain of `properties` leads to count.
pub(super) fn declared(schema: &[u8]) -> Vec<Declared> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found);
    found
}

fn walk(schema: &[u8], path: &mut Vec<String>, found: &mut Vec<Declared>) {
    if path.len() > DEEPEST {
        return;
    }
    for (key, property) in raw::get(schema, "properties").map(raw::members).unwrap_or_default() {
        path.push(raw::string(key).unwrap_or_default());
        if let Some(name) = raw::get(property, "x-mcp-header").and_then(raw::string) {
            let kind = raw::get(property, "type").and_then(raw::string).unwrap_or_default();
            let number = matches!(kind.as_str(), "integer" | "number");
            found.push(Declared { path: path.clone(), header: format!("Mcp-Param-{name}"), number });
        }
        walk(property, path, found);
        path.pop();
    }
}

/// What is wrong with the request's `Mcp-Param-*` headers; `None` when they say what the arguments say.
pub(super) fn mismatch(declared: &[Declared], request: &Request) -> Option<String> {
    let arguments = raw::path(&request.body, &["params", "arguments"]).unwrap_or(b"{}");
    for Declared { path, header, number } in declared {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(value) = raw::path(arguments, &keys) else { continue };
        let text = match value.first() {
            Some(b'"') => raw::string(value).unwrap_or_default(),
            // Objects, arrays and null are for the server to judge.
            Some(b'{' | b'[' | b'n') | None => continue,
            Some(_) => String::from_utf8_lossy(value).into_owned(),
        };
        let Some(sent) = request.header(header) else {
            return Some(format!("Header mismatch: {header} is missing, the body has {}", path.join(".")));
        };
        let Some(sent) = decode(sent) else {
            return Some(format!("Header mismatch: {header} is not valid base64"));
        };
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '.'));
        let equal = match (number, sent.parse::<f64>(), text.parse::<f64>()) {
            (true, Ok(sent_number), Ok(number)) if plain(&sent) => sent_number == number,
            _ => sent == text,
        };
        if !equal {
            return Some(format!("Header mismatch: {header} is '{sent}', the body says '{text}'"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &[u8] = br#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
        "plain":{"type":"string"}}}"#;

    fn problem(arguments: &str, headers: &[(&str, &str)]) -> Option<String> {
        let request = Request {
            body: format!("{{\"params\":{{\"arguments\":{arguments}}}}}").into_bytes(),
            headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Request::default()
        };
        mismatch(&declared(SCHEMA), &request)
    }

    #[test]
    fn headers_are_compared_with_arguments() {
        assert_eq!(problem(r#"{"plain":"x"}"#, &[]), None);
        assert_eq!(problem(r#"{"region":null}"#, &[("mcp-param-region", "x")]), None);
        assert_eq!(problem(r#"{"region":"eu"}"#, &[("mcp-param-region", "eu")]), None);
        assert_eq!(problem(r#"{"region":"\u00e9"}"#, &[("Mcp-Param-Region", "=?base64?w6k=?=")]), None);
        assert_eq!(problem(r#"{"deep":{"n":42}}"#, &[("mcp-param-n", "42.0")]), None);
        for headers in [&[][..], &[("mcp-param-region", "us")], &[("mcp-param-region", "=?base64?*?=")]] {
            assert!(problem(r#"{"region":"eu"}"#, headers).is_some());
        }
        assert!(problem(r#"{"deep":{"n":42}}"#, &[("mcp-param-n", "4e1")]).is_some());
    }
}
