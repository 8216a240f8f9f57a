//! Keys that have the shape of a credential by the recorder's rules: names of servers, headers and variables, members.
//!
//! Any other key is taken for harmless. One of these is shown nowhere and kept nowhere, so an entry of which the ledger or the arguments of
//! the proxy would have to hold it is left alone.

use super::secrets::{HIDDEN, RULES, holds_credentials, is_environment, masked_text, names_variable};
use bir_hosts::config::{Refusal, Server};
use bir_model::{Place, Step};
use serde_json::Value;

/// The code of the refusal.
pub(super) const CODE: &str = "credential";

/// Whether a key is one.
pub(crate) fn is_shaped(key: &str) -> bool {
    RULES.shapes(key).is_some()
}

/// A key as it is shown.
pub(crate) fn key(key: &str) -> String {
    if is_shaped(key) { HIDDEN.into() } else { key.to_owned() }
}

/// A sentence, in which a key may be named, as it is shown.
pub(crate) fn sentence(text: &str) -> String {
    RULES.shapes(text).map_or_else(|| text.to_owned(), |known| masked_text(text, &known))
}

/// A place as it is shown.
pub(crate) fn place(place: &Place) -> Place {
    let step = |step: &Step| match step {
        Step::Key(text) => Step::Key(key(text)),
        Step::Index(index) => Step::Index(*index),
    };
    Place(place.0.iter().map(step).collect())
}

/// The credentials that the keys of a document hold.
pub(super) fn of_keys(value: &Value, found: &mut impl Extend<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                found.extend(RULES.shapes(key).into_iter().flatten());
                of_keys(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| of_keys(item, found)),
        _ => {}
    }
}

/// Why a server cannot be wrapped without one of them being kept, or seen by others.
pub(super) fn refusal(server: &Server) -> Option<Refusal> {
    let refused = |what: &str| {
        let why =
            format!("{what} looks like a credential, and would be kept in clear; give it another name first");
        Some(Refusal::new(CODE, why))
    };
    let in_place = |step: &Step| matches!(step, Step::Key(key) if is_shaped(key));
    if is_shaped(&server.name) {
        return refused("its name");
    }
    if server.place.0.iter().any(in_place) {
        return refused("a name above its entry");
    }
    for (member, value) in server.entry.as_object().into_iter().flatten() {
        let has_names = holds_credentials(member) || names_variable(member);
        let names = value.as_object().filter(|_| has_names && !is_environment(member));
        if names.into_iter().flatten().any(|(name, _)| is_shaped(name)) {
            return refused("the name of a header");
        }
        if names_variable(member) && texts(value).any(is_shaped) {
            return refused("what should be the name of a variable");
        }
    }
    None
}

/// A text, or those that a list or an object holds.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let of_list = value.as_array().into_iter().flatten();
    let of_object = value.as_object().into_iter().flat_map(|members| members.values());
    std::iter::once(value).chain(of_list).chain(of_object).filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    #[test]
    fn shapes_alone_count_in_keys() {
        for (text, is) in [
            (TOKEN, true),
            ("X-ghp_abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("AKIA2E4XK7QJ5MZPW3RT", true),
            ("token", false),
            ("apikey", false),
            ("secrets", false),
            ("passwords", false),
            ("pw", false),
            ("env", false),
            ("Authorization", false),
            ("GITHUB_TOKEN", false),
            ("/home/user/project", false),
        ] {
            assert_eq!(is_shaped(text), is, "{text}");
            assert_eq!(key(text), if is { HIDDEN } else { text });
        }
        assert_eq!(
            sentence(&format!("no host has a server named `{TOKEN}`")),
            "no host has a server named `[hidden]`"
        );
    }
}
