//! Comparing values without keeping them: a keyed hash of a JSON value before redaction.

use super::Redactor;
use bir_model::control::Compared;
use ring::hmac;
use serde_json::Value;

/// Longest value that is compared, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;

impl Redactor {
    /// What two programs with the same key make of equal values, whatever the order of members, the white space and the
    /// spelling of strings and numbers. None: it is no JSON, or longer than 4 MiB.
    #[must_use]
    pub fn compared(&self, json: &[u8]) -> Option<Compared> {
        if json.len() > LONGEST {
            return None;
        }
        let value: Value = serde_json::from_slice(json).ok()?;
        let mut context = hmac::Context::with_key(self.key.hmac());
        context.update(b"compared\0");
        feed(&value, &mut context);
        let tag = context.sign();
        let hex = tag.as_ref().iter().take(16).fold(String::with_capacity(32), |mut hex, byte| {
            let _ = std::fmt::Write::write_fmt(&mut hex, format_args!("{byte:02x}"));
            hex
        });
        Some(Compared(hex))
    }
}

/// Every part with its kind and length before it, so that no two values feed the same bytes. The parser bounds the depth.
fn feed(value: &Value, to: &mut hmac::Context) {
    let mut text = |kind: u8, text: &str| {
        to.update(&[kind]);
        to.update(&(text.len() as u64).to_le_bytes());
        to.update(text.as_bytes());
    };
    match value {
        Value::Null => to.update(b"z"),
        Value::Bool(yes) => to.update(if *yes { b"t" } else { b"f" }),
        // A host may write 1.0 where the model wrote 1.
        Value::Number(number) => match number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15) {
            Some(whole) => text(b'n', &format!("{whole:.0}")),
            None => text(b'n', &number.to_string()),
        },
        Value::String(string) => text(b's', string),
        Value::Array(items) => {
            to.update(b"[");
            to.update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| feed(item, to));
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            to.update(b"{");
            to.update(&(sorted.len() as u64).to_le_bytes());
            for (name, value) in sorted {
                to.update(&(name.len() as u64).to_le_bytes());
                to.update(name.as_bytes());
                feed(value, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{RedactionKey, Redactor, Rules};

    #[test]
    fn equal_values_compare_equal_and_others_do_not() {
        let redactor = Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0;
        let of = |json: &str| redactor.compared(json.as_bytes()).unwrap();
        let same = of(r#"{"b":[1,"x\u0041"],"a":null}"#);
        assert_eq!(of(r#" { "a" : null, "b":[1.0, "xA"] }"#), same);
        assert_eq!(same.0.len(), 32);
        for other in
            [r#"{"b":[1,"xA"]}"#, r#"{"b":["1","xA"],"a":null}"#, r#"{"b":[1],"xA":[],"a":null}"#, "{}", "[]"]
        {
            assert_ne!(of(other), same, "{other}");
        }
        assert_ne!(of("0.5"), of("0"));
        assert!(redactor.compared(b"{").is_none());
        let another = Redactor::new(RedactionKey::of(&[8; 32]), Rules::default()).0;
        assert_ne!(another.compared(b"{}").unwrap(), of("{}"), "without the key it says nothing");
    }
}
