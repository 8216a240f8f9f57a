//! What is sent: a text of ours, and one JSON value that the redactor has seen as a whole, with its names, so that a value under a name
//! that says secret goes wherever it stands.

use bir_record::Raw;
use bir_record::redact::Redactor;
use serde_json::Value;

/// Bytes of the value at most; a longer one is not sent.
pub const LONGEST: usize = 32 * 1024;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    system: &'static str,
    user: String,
}

impl Brief {
    /// A question. None: what would be sent is too long, or something of it had to be cut.
    #[must_use]
    pub fn new(system: &'static str, question: &Value, redactor: &Redactor) -> Option<Self> {
        let text = question.to_string();
        if text.len() > LONGEST {
            return None;
        }
        let redacted = redactor.payload(Raw { head: text.as_bytes(), len: text.len() as u64 });
        // Placeholders are longer than what they stand for, sometimes.
        let fits = !redacted.truncated() && redacted.json().len() <= 2 * LONGEST;
        fits.then(|| Self { system, user: redacted.json().to_owned() })
    }

    /// What the model is told to do.
    #[must_use]
    pub fn system(&self) -> &str {
        self.system
    }

    /// The redacted value, JSON.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_record::redact::{RedactionKey, Rules};
    use serde_json::json;

    #[test]
    fn a_secret_goes_by_its_name_and_by_its_shape() {
        let rules = Rules { patterns: vec!["EMP-\\d{6}".into()], ..Rules::default() };
        let redactor = Redactor::new(RedactionKey::ephemeral(), rules).0;
        let question = json!({"prompt": "log in with password: hunter2canary as EMP-123456",
            "known": {"api_key": "plaincanary", "city": "Rome"}, "results": [{"env": {"X": "envcanary"}}]});
        let brief = Brief::new("say", &question, &redactor).unwrap();
        assert!(!brief.user().contains("canary") && !brief.user().contains("123456"), "{}", brief.user());
        assert!(brief.user().contains("Rome") && serde_json::from_str::<Value>(brief.user()).is_ok());
        let long = json!({"prompt": "word ".repeat(LONGEST)});
        assert_eq!(Brief::new("say", &long, &redactor), None);
    }
}
