//! Redacted payloads between two of our programs: from who saw them to the control server, which takes them for raw until its
//! own redactor has been over them, whoever sent them.

use crate::redact::Redactor;
use crate::{Raw, Redacted, RedactedText};
use bir_model::control::{PayloadKind, Told};
use serde::{Serialize, Serializer};

impl From<Redacted> for Told {
    fn from(redacted: Redacted) -> Self {
        Self { text: redacted.json, original_bytes: redacted.original_bytes, truncated: redacted.truncated }
    }
}

impl From<RedactedText> for Told {
    fn from(text: RedactedText) -> Self {
        Self { original_bytes: text.0.len() as u64, text: text.0, truncated: false }
    }
}

/// A payload that came from another of our programs and may reach a disk. Made by [`Redactor::again`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeTold(Told);

impl SafeTold {
    /// It as a JSON value.
    #[must_use]
    pub fn json(&self) -> Redacted {
        Redacted {
            json: self.0.text.clone(),
            original_bytes: self.0.original_bytes,
            truncated: self.0.truncated,
        }
    }

    /// It as a text.
    #[must_use]
    pub fn text(&self) -> RedactedText {
        RedactedText(self.0.text.clone())
    }

    /// The text as it stands.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl Serialize for SafeTold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Redactor {
    /// Redacts what another program says it has redacted. What it had no need to change stays as it is.
    #[must_use]
    pub fn again(&self, kind: PayloadKind, told: Told) -> SafeTold {
        let (text, cut) = match kind {
            PayloadKind::Json => {
                let raw = Raw { head: told.text.as_bytes(), len: told.text.len() as u64 };
                let again = self.payload(raw);
                (again.json, again.truncated)
            }
            PayloadKind::Text => (self.text(&told.text).0, false),
        };
        let original_bytes = told.original_bytes.max(told.text.len() as u64);
        SafeTold(Told { text, original_bytes, truncated: told.truncated || cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{RedactionKey, Rules};

    #[test]
    fn what_was_redacted_stays_and_what_was_not_is() {
        let redactor = Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0;
        let json = br#"{"password":"hunter2secret","n":1.50,"a":"plain"}"#;
        let once = redactor.payload(Raw { head: json, len: 90_000 });
        let again = redactor.again(PayloadKind::Json, once.clone().into());
        assert_eq!(again.json(), once);
        let told = |text: &str| Told { text: text.into(), original_bytes: 0, truncated: false };
        let raw = redactor.again(PayloadKind::Json, told(r#"{"password":"hunter2secret"}"#));
        assert!(!raw.as_str().contains("hunter2secret"));
        let text =
            redactor.again(PayloadKind::Text, told("use ghp_0123456789abcdefghijklmnopqrstuvwxyz now"));
        assert!(!text.as_str().contains("ghp_0123"), "{}", text.as_str());
        assert!(
            serde_json::from_str::<serde_json::Value>(
                redactor.again(PayloadKind::Json, told("{\"a\":")).as_str()
            )
            .is_ok()
        );
    }
}
