use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use uuid::Uuid;

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is no id; it is `{prefix}` and a UUID")]
pub struct IdError {
    prefix: &'static str,
    text: String,
}

impl IdError {
    /// Only so much of a wrong id is repeated.
    const SHOWN: usize = 64;

    fn new(prefix: &'static str, text: &str) -> Self {
        Self { prefix, text: text.chars().filter(|c| !c.is_control()).take(Self::SHOWN).collect() }
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        #[expect(clippy::new_without_default, reason = "a default id would be another one each time")]
        impl $name {
            /// What its text begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new one; later ids sort after earlier ones (UUIDv7).
            #[must_use]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// From its UUID.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID without the prefix.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0.as_hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let uuid = text.strip_prefix($prefix).filter(|rest| rest.len() == uuid::fmt::Hyphenated::LENGTH);
                let uuid = uuid.and_then(|rest| Uuid::try_parse(rest).ok());
                uuid.map(Self).ok_or_else(|| IdError::new($prefix, text))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                // Whoever sent it knows the text; it may be anything, a secret too, and errors are logged.
                let unfit = |_: IdError| serde::de::Error::custom(concat!("expected `", $prefix, "` and a UUID"));
                text.parse().map_err(unfit)
            }
        }
    };
}

id! {
    /// Names a run. Made by the recorder, so that a run that is sent twice is booked once.
    RunId, "run_"
}
id! {
    /// Names one row of a step: a call has two, `tool_selected` and `tool_response`.
    StepId, "step_"
}
id! {
    /// Names a tenant.
    TenantId, "tenant_"
}
id! {
    /// Names a person.
    UserId, "user_"
}
id! {
    /// Names a token; not the token itself.
    TokenId, "token_"
}
id! {
    /// Names a scenario.
    ScenarioId, "scn_"
}
id! {
    /// Names a change of a scenario, made by hand or by taking one back.
    EditId, "sedit_"
}
id! {
    /// Names one execution of a scenario. It is made with the match and redeemed once.
    TicketId, "tkt_"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_nothing_else_is() {
        let id = RunId::new();
        assert_eq!(id.to_string().parse(), Ok(id));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<RunId>(&json).unwrap(), id);
        let uuid = id.uuid();
        let spellings = [
            String::new(),
            "run_".into(),
            uuid.to_string(),
            format!("step_{uuid}"),
            format!("run_{}", uuid.simple()),
            format!("run_{uuid}x"),
            format!("RUN_{uuid}"),
        ];
        for text in spellings {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_id_in_json_is_not_repeated() {
        let error = serde_json::from_str::<RunId>(r#""hunter2""#).unwrap_err().to_string();
        assert!(error.contains("expected `run_` and a UUID") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let ids: Vec<RunId> = (0..1000).map(|_| RunId::new()).collect();
        assert!(ids.is_sorted());
    }
}
