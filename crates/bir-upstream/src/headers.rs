//! Headers that the person configured for a remote upstream.
//!
//! They come as a JSON object in `BIR_UPSTREAM_HEADERS` and as `--header 'K: V'`, which wins on a clash.
//! Their values are credentials as far as we know: they are never printed, go to the configured origin only,
//! and are marked sensitive for the HTTP layer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bir_model::is_reserved_header;
use bir_net::Credentials;
use http::{HeaderName, HeaderValue};

/// Why configured headers cannot be used. No text holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadersError {
    /// The variable is not JSON, or not an object.
    #[error("BIR_UPSTREAM_HEADERS is not a JSON object of header names and values ({0})")]
    NotAnObject(String),
    /// A value in the variable is not a string.
    #[error("BIR_UPSTREAM_HEADERS: the value of {0:?} must be a string")]
    NotAString(String),
    /// A name that HTTP does not allow.
    #[error("what begins with {0:?} is not a header name; a header is written 'Name: value'")]
    Name(String),
    /// A value that HTTP does not allow.
    #[error(
        "the value of the header {0:?} has characters that a header must not have (line breaks, control characters)"
    )]
    Value(String),
    /// A name that the relay itself sets.
    #[error("the header {0:?} is set by the relay itself and cannot be configured")]
    Reserved(String),
    /// A `--header` without a colon.
    #[error("--header needs the form 'Name: value'")]
    NoColon,
}

/// The configured headers.
#[derive(Debug, Clone, Default)]
pub struct UpstreamHeaders(Credentials);

impl UpstreamHeaders {
    /// Reads the value of `BIR_UPSTREAM_HEADERS` (if it is set and not blank) and each `--header`.
    ///
    /// # Errors
    ///
    /// [`HeadersError`], which names the header and never its value.
    pub fn from_sources<'a>(
        variable: Option<&str>,
        options: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, HeadersError> {
        let mut headers = Self::default();
        if let Some(text) = variable.map(str::trim).filter(|text| !text.is_empty()) {
            let value: serde_json::Value =
                serde_json::from_str(text).map_err(|error| HeadersError::NotAnObject(position(&error)))?;
            let serde_json::Value::Object(object) = value else {
                return Err(HeadersError::NotAnObject("it is JSON of another type".to_owned()));
            };
            for (name, value) in object {
                let serde_json::Value::String(value) = value else {
                    return Err(HeadersError::NotAString(name));
                };
                headers.set(&name, &value)?;
            }
        }
        for option in options {
            let (name, value) = option.split_once(':').ok_or(HeadersError::NoColon)?;
            headers.set(name.trim(), value)?;
        }
        Ok(headers)
    }

    /// The names in the value of `BIR_UPSTREAM_HEADERS`. None: it is no JSON object.
    #[must_use]
    pub fn names(variable: &str) -> Option<Vec<String>> {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(variable).ok()?;
        Some(object.into_iter().map(|(name, _)| name).collect())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), HeadersError> {
        let shown = || name.chars().take(80).collect::<String>();
        // What is no name may be a whole header whose colon was forgotten: no more of it is shown than its first word.
        let word = || name.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
        let unusable = |_| HeadersError::Name(word().chars().take(40).collect());
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(unusable)?;
        if is_reserved_header(parsed.as_str()) {
            return Err(HeadersError::Reserved(shown()));
        }
        let value =
            HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| HeadersError::Value(shown()))?;
        self.0.set(parsed, value);
        Ok(())
    }

    /// The headers as the HTTP client takes them.
    pub fn credentials(&self) -> &Credentials {
        &self.0
    }
}

/// What `Authorization` says of a user name and password as they stand in an address, percent-encoded (RFC 7617).
#[must_use]
pub fn basic(userinfo: &str) -> String {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let mut plain = decoded(user);
    plain.push(b':');
    plain.extend(decoded(password));
    format!("Basic {}", STANDARD.encode(plain))
}

/// Bytes that stand percent-encoded. What is no escape stays.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes();
    let mut decoded = Vec::new();
    while let [first, rest @ ..] = bytes {
        let escape = || {
            let digits =
                rest.get(..2).filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit))?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (byte, left) = match escape() {
            Some(byte) => (byte, rest.get(2..).unwrap_or_default()),
            None => (*first, rest),
        };
        decoded.push(byte);
        bytes = left;
    }
    decoded
}

/// Where JSON breaks off. The parser's own text is not used: it may quote what it read.
fn position(error: &serde_json::Error) -> String {
    format!("not JSON at line {}, column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_win_whatever_the_case() {
        let headers = UpstreamHeaders::from_sources(
            Some(r#"{"authorization":"Bearer one","X-Team":"a"}"#),
            ["Authorization:  Bearer two ", "X-Empty:"],
        )
        .unwrap();
        let mut names: Vec<_> = headers.credentials().names().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "x-empty", "x-team"]);
        let shown = format!("{headers:?}");
        assert!(shown.contains("redacted") && !shown.contains("Bearer"), "{shown}");
    }

    #[test]
    fn a_user_name_and_password_are_one_value() {
        assert_eq!(basic("Aladdin:open%20sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("u"), "Basic dTo=");
        assert_eq!(basic("%zz%:%"), format!("Basic {}", STANDARD.encode("%zz%:%")));
    }

    #[test]
    fn nothing_set_is_no_headers() {
        for variable in [None, Some(""), Some("  "), Some("{}")] {
            let headers = UpstreamHeaders::from_sources(variable, []).unwrap();
            assert_eq!(headers.credentials().names().count(), 0);
        }
    }

    #[test]
    fn errors_name_the_header_and_never_the_value() {
        for (variable, option) in [
            (r#"{"A":"s3cret""#, ""),
            (r#"["s3cret"]"#, ""),
            (r#"s3cret"#, ""),
            (r#"{"A":["s3cret"]}"#, ""),
            (r#"{"A b":"s3cret"}"#, ""),
            ("{\"A\":\"s3cret\\n\"}x", ""),
            ("{\"A\":\"s3cret\\nB: c\"}", ""),
            ("", "s3cret"),
            ("", "Host: s3cret"),
            ("", "mcp-session-id: s3cret"),
            ("", "Mcp-Param-X: s3cret"),
            ("", "Transfer-Encoding: s3cret"),
            ("", "bad name: s3cret"),
            ("", "Authorization Bearer s3cret:x"),
            (r#"{"Authorization Bearer s3cret":"x"}"#, ""),
        ] {
            let options = Some(option).filter(|option| !option.is_empty());
            let error = UpstreamHeaders::from_sources(Some(variable), options).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
