//! A hook's JSON as it came: members are looked up, and what they hold keeps its bytes.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object in their order.
pub struct Payload<'a>(Vec<(String, &'a RawValue)>);

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Payload({} members)", self.0.len())
    }
}

impl<'a> Payload<'a> {
    /// Reads an object. None: it is none.
    #[must_use]
    pub fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The members in their order, with the JSON of each value.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    /// The JSON of the first of these members that is there and not null. Of two members of one name the last counts.
    #[must_use]
    pub fn raw(&self, names: &[&str]) -> Option<&'a str> {
        let of = |name: &&str| self.0.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.get());
        names.iter().filter_map(of).find(|json| *json != "null")
    }

    /// The text of the first of these members that is there. None: it is no string, or an empty one.
    #[must_use]
    pub fn text(&self, names: &[&str]) -> Option<String> {
        self.raw(names).and_then(text_of).filter(|text| !text.is_empty())
    }

    /// As [`Payload::text`], but an empty string is one.
    #[must_use]
    pub fn any_text(&self, names: &[&str]) -> Option<String> {
        self.raw(names).and_then(text_of)
    }

    /// A whole number that is not negative; of one with a fraction the whole part.
    #[must_use]
    pub fn number(&self, names: &[&str]) -> Option<u64> {
        let json = self.raw(names)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped, and that is meant"
        )]
        json.parse().ok().or_else(|| json.parse::<f64>().ok().map(|number| number.max(0.0) as u64))
    }

    /// Whether a member is `true`.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.raw(&[name]) == Some("true")
    }

    /// The members of an object within.
    #[must_use]
    pub fn object(&self, names: &[&str]) -> Option<Self> {
        self.raw(names).and_then(Self::read)
    }

    /// The JSON of the items of a list within; none where it is no list.
    #[must_use]
    pub fn list(&self, names: &[&str]) -> Vec<&'a str> {
        let items: Option<Vec<&RawValue>> = self.raw(names).and_then(|json| serde_json::from_str(json).ok());
        items.unwrap_or_default().into_iter().map(RawValue::get).collect()
    }
}

/// The text of a JSON string. One that holds what is no text (half of a surrogate pair) is taken as it is written.
pub(crate) fn text_of(json: &str) -> Option<String> {
    let written = json.strip_prefix('"')?.strip_suffix('"')?;
    Some(serde_json::from_str(json).unwrap_or_else(|_| written.to_owned()))
}

impl<'de: 'a, 'a> Deserialize<'de> for Payload<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bytes_and_the_last_of_two_counts() {
        let json = r#"{"n": 1.50, "s":"a\u0041","o":{ "b":1, "a":[2 , 3]},"s":"b","e":"","z":null,"f":2.9,"half":"\ud800x"}"#;
        let payload = Payload::read(json).unwrap();
        assert_eq!(payload.raw(&["n"]), Some("1.50"));
        assert_eq!(payload.text(&["nope", "s"]).as_deref(), Some("b"));
        assert_eq!(payload.raw(&["o"]), Some(r#"{ "b":1, "a":[2 , 3]}"#));
        assert_eq!(payload.object(&["o"]).unwrap().list(&["a"]), ["2", "3"]);
        assert_eq!((payload.text(&["e"]), payload.any_text(&["e"]).as_deref()), (None, Some("")));
        assert_eq!(payload.raw(&["z", "n"]), Some("1.50"));
        assert_eq!(payload.number(&["f"]), Some(2));
        assert_eq!(payload.text(&["half"]).as_deref(), Some("\\ud800x"));
        for none in ["", "[]", "1", "{", "{}x", "\"a\""] {
            assert!(Payload::read(none).is_none(), "{none}");
        }
    }
}
