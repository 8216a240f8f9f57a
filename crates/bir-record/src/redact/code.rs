//! Is what follows a name a value, or program code that says where a secret comes from?

use super::lex::spaces;

/// `self.token`, `getToken()`, `&str`, `[1]`: code that says where a secret comes from.
pub(super) fn is_code(value: &str, name: &str) -> bool {
    let first = value.as_bytes().first().copied().unwrap_or(b' ');
    matches!(first, b'(' | b'{' | b'[' | b'=')
        || (matches!(first, b'&' | b'|' | b'+' | b'!') && !generated(value))
        || value.contains('(')
        || said_again(value, name)
        || (value.contains('.') && value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b'_')))
        || value.contains("::")
        || value.contains("->")
}

/// A password that begins as an expression does: long, with digits.
fn generated(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_uppercase())
}

/// `this.password = password`.
fn said_again(value: &str, name: &str) -> bool {
    value == name
        || name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case(value) && last != name)
}

/// A type: it begins with a capital, or a sign that only code has follows. `String!` and `Optional[str]` are types too.
pub(super) fn is_type(bytes: &[u8], value: &str, end: usize) -> bool {
    let length = value.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = value.split_at(length);
    let capital =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().any(|b| b.is_ascii_lowercase());
    let parameters = rest.strip_prefix(['[', '<']).is_some_and(|inner| {
        inner.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'[' | b']' | b'<' | b'>' | b'.' | b'_'))
    });
    let follows = bytes.get(spaces(bytes, end)).copied();
    let signed = matches!(follows, Some(b',' | b')' | b';' | b'=' | b'<' | b'|' | b'?' | b'{' | b']'));
    capital && signed && (parameters || matches!(rest, "" | "!" | "?" | "[]" | "[]!" | "]!"))
}

/// Letters alone.
pub(super) fn word(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
}

/// `:token`, `@token`: a place of a statement that is prepared, or of a route.
pub(super) fn is_parameter(value: &str, name: &str, spaced: bool, query: bool) -> bool {
    let Some(rest) = value.strip_prefix([':', '@']) else { return false };
    let named = !rest.is_empty() && rest.len() <= 32 && word(rest);
    named && (spaced || rest.eq_ignore_ascii_case(name) || (query && value.starts_with(':')))
}

/// `*default`, which in YAML stands for what is written elsewhere.
pub(super) fn is_alias(value: &str) -> bool {
    value.strip_prefix('*').is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-'))
    })
}
