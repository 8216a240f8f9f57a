//! Enums whose members have one name, on the wire and in the store.

use thiserror::Error;

/// Why a text is none of the words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected one of: {}", .0.trim_end())]
pub struct WordError(pub(super) &'static str);

/// An enum with `as_str`, `Display`, `FromStr` and serde of one name for each member, in the order of the members.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $member,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$member),+];

            /// The name on the wire and in the store.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::scenario::WordError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|word| word.as_str() == text);
                found.ok_or($crate::scenario::WordError(concat!($($word, " "),+)))
            }
        }
    };
}

pub(super) use words;
