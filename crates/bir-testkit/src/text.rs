//! `Text`: exact bytes inside a JSON script, with placeholders.
//!
//! In a script file a text is written in one of three ways:
//!
//! | written as | means |
//! |---|---|
//! | any JSON value | that value, byte for byte as it stands in the file (`1.0`, `1e400` and odd spacing stay) |
//! | `{"$text": "…"}` | the decoded string: for text that is not JSON |
//! | `{"$base64": "…"}` | any bytes |
//!
//! Placeholders: `${name}` is replaced by the raw bytes of that name. Because a bare `${id}` is not JSON,
//! `"${=id}"` (with its quotes) is replaced too, quotes included. Unknown names stay as they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::raw;

/// Exact bytes from a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(pub Vec<u8>);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Text {
    fn from(bytes: &[u8; N]) -> Self {
        Self(bytes.to_vec())
    }
}

impl Text {
    /// The bytes with the placeholders filled in.
    pub(crate) fn fill(&self, names: &[(&str, &[u8])]) -> Vec<u8> {
        let text = &self.0[..];
        let mut out = Vec::with_capacity(text.len() + 64);
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let filled = names.iter().find_map(|(name, value)| {
                let quoted = format!("\"${{={name}}}\"");
                let bare = format!("${{{name}}}");
                [quoted, bare]
                    .iter()
                    .find(|mark| rest.starts_with(mark.as_bytes()))
                    .map(|m| (m.len(), *value))
            });
            match filled {
                Some((length, value)) => {
                    out.extend_from_slice(value);
                    at += length;
                }
                None => {
                    out.push(text[at]);
                    at += 1;
                }
            }
        }
        out
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match std::str::from_utf8(&self.0) {
            Ok(text) if is_plain_json(text) => text.to_owned(),
            Ok(text) => format!("{{\"$text\":{}}}", raw::quote(text.as_bytes())),
            Err(_) => format!("{{\"$base64\":\"{}\"}}", STANDARD.encode(&self.0)),
        };
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Whether the text may stand in a script as itself: valid JSON without space around it (a parser would
/// drop that) and not in the form of an escape.
fn is_plain_json(text: &str) -> bool {
    text.trim() == text
        && text != "null"
        && raw::get(text.as_bytes(), "$text").is_none()
        && raw::get(text.as_bytes(), "$base64").is_none()
        && RawValue::from_string(text.to_owned()).is_ok_and(|value| value.get() == text)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        let bytes = value.get().as_bytes();
        if let Some(text) = raw::get(bytes, "$text") {
            return raw::string(text)
                .map(Self::from)
                .ok_or_else(|| D::Error::custom("$text must be a string"));
        }
        if let Some(coded) = raw::get(bytes, "$base64") {
            let coded = raw::string(coded).ok_or_else(|| D::Error::custom("$base64 must be a string"))?;
            return STANDARD.decode(coded).map(Self).map_err(D::Error::custom);
        }
        Ok(Self(bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_keeps_every_byte() {
        for bytes in [
            &br#"{"a" : 1.0,"a":1e400, "b":"\ud800"}"#[..],
            b"not json ${id}",
            b" {} ",
            b"null",
            b"",
            b"\xff\xfe",
            br#"{"$text":"x"}"#,
        ] {
            let text = Text(bytes.to_vec());
            let written = serde_json::to_string(&text).unwrap();
            assert_eq!(serde_json::from_str::<Text>(&written).unwrap(), text, "{written}");
        }
    }

    #[test]
    fn placeholders_are_filled_verbatim() {
        let names: [(&str, &[u8]); 2] = [("id", b"1.0"), ("token", b"\"t\"")];
        let text = Text::from(r#"{"id":${id},"t":"${=token}","x":"${=other}${unknown}"}"#);
        assert_eq!(text.fill(&names), br#"{"id":1.0,"t":"t","x":"${=other}${unknown}"}"#);
    }
}
