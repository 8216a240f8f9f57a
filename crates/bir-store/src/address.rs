//! The address of a store as a person writes it. A password in it is never repeated.

use crate::StoreError;
use sqlx::postgres::PgConnectOptions;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    /// A file.
    File(PathBuf),
    /// Gone when it is closed; for tests.
    Memory,
    /// A database of a server.
    Postgres(Box<PgConnectOptions>),
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let wrong = || StoreError::Address(shown(text));
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                ":memory:" => Ok(Self::Memory),
                "" => Err(wrong()),
                path if path.contains('\0') => Err(wrong()),
                path => Ok(Self::File(PathBuf::from(path))),
            };
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(text).map_err(|_| wrong())?;
            return Ok(Self::Postgres(Box::new(options)));
        }
        Err(wrong())
    }
}

/// The address without what may be secret: the password, and the parameters after `?`. Of what is no address at all only
/// the scheme is left.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN: usize = 200;
    let clean = |part: &str| part.chars().filter(|c| !c.is_control()).take(SHOWN).collect::<String>();
    let Some((scheme, rest)) = text.split_once(':') else { return clean(text) };
    match scheme {
        "sqlite" => clean(text),
        "postgres" | "postgresql" => {
            let rest = rest.trim_start_matches('/');
            let Some((before, after)) = rest.rsplit_once('@') else {
                // Without a host there is no telling a password from a host and a port.
                return format!("{}:…", clean(scheme));
            };
            let user = before.split(':').next().unwrap_or_default();
            let place = after.split(['?', '#']).next().unwrap_or_default();
            format!("{}://{}@{}", clean(scheme), clean(user), clean(place))
        }
        _ => format!("{}:…", clean(scheme)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_address_is_refused_and_its_password_is_not_repeated() {
        let wrong = [
            "",
            "hub.db",
            "sqlite:",
            "mysql://me:hunter2@host/db",
            "postgres:me:hunter2@host/db",
            "postgres://me:hunter2@host:port/db",
            "postgres://me:hunter2@host/db?sslmode=hunter2",
            "http://hunter2",
        ];
        for text in wrong {
            let error = Address::parse(text).unwrap_err();
            let message = error.to_string();
            assert!(matches!(error, StoreError::Address(_)), "{text}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
            assert!(message.contains("sqlite:PATH"), "{message}");
        }
    }

    #[test]
    fn right_addresses() {
        assert!(matches!(Address::parse("sqlite::memory:"), Ok(Address::Memory)));
        for text in ["sqlite:/a/b.db", "sqlite:///a/b.db", "sqlite:b.db"] {
            assert!(matches!(Address::parse(text), Ok(Address::File(_))), "{text}");
        }
        for text in ["postgres://me@host/db", "postgresql://me:secret@host:5433/db?sslmode=disable"] {
            assert!(matches!(Address::parse(text), Ok(Address::Postgres(_))), "{text}");
        }
        assert_eq!(shown("postgres://me:p@ss@host:5433/db?password=x"), "postgres://me@host:5433/db");
    }
}
