//! Placeholders that a host fills in: `${TOKEN}`, `${input:key}`, `{env:TOKEN}`, `$TOKEN`, `%TOKEN%`.
//!
//! In a command and its arguments they stay where they are, and the host fills them in as before. A header or an address moves into
//! the environment of the entry; there a placeholder may only go where the host is known to fill in the same syntax, since
//! the server would be sent the placeholder itself otherwise.

/// A way of writing placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `${…}`, whatever stands in it: `${TOKEN}`, `${env:TOKEN}`, `${input:key}`, `${{ secrets.TOKEN }}`.
    DollarBraces,
    /// `$TOKEN`.
    Dollar,
    /// `{env:TOKEN}`, `{file:path}`.
    Braces,
    /// `%TOKEN%`.
    Percent,
}

impl Syntax {
    /// Whether nobody writes it but for a placeholder.
    fn is_telling(self) -> bool {
        matches!(self, Self::DollarBraces | Self::Braces)
    }
}

/// Where a host fills in which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filled {
    /// In the variables of an entry.
    pub env: &'static [Syntax],
    /// In headers and addresses.
    pub remote: &'static [Syntax],
}

/// What moving a text from a header or an address to the environment means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// Nothing in it is filled in, here or there.
    Same,
    /// It is filled in there as it was here.
    Filled,
    /// It would become something else, or nobody knows.
    Unknown,
}

impl Filled {
    /// What moving a text means.
    pub(super) fn moved(&self, text: &str) -> Moved {
        let mut moved = Moved::Same;
        for syntax in syntaxes(text) {
            match (self.env.contains(&syntax), self.remote.contains(&syntax)) {
                (true, true) => moved = Moved::Filled,
                (false, false) if !syntax.is_telling() => {}
                _ => return Moved::Unknown,
            }
        }
        moved
    }

    /// Whether the host would change a text of ours in a command or its arguments.
    pub(super) fn changes(&self, text: &str) -> bool {
        let known = |syntax: &Syntax| self.env.contains(syntax) || self.remote.contains(syntax);
        syntaxes(text).iter().any(|syntax| syntax.is_telling() || known(syntax))
    }
}

/// What a text holds.
fn syntaxes(text: &str) -> Vec<Syntax> {
    let begins_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let after = |mark: char| text.split(mark).skip(1).collect::<Vec<_>>();
    let mut found = Vec::new();
    if text.split_once("${").is_some_and(|(_, rest)| rest.contains('}')) {
        found.push(Syntax::DollarBraces);
    }
    if after('$').into_iter().any(begins_name) {
        found.push(Syntax::Dollar);
    }
    if after('{')
        .iter()
        .any(|rest| rest.contains('}') && ["env:", "file:"].iter().any(|kind| rest.starts_with(kind)))
        && !found.contains(&Syntax::DollarBraces)
    {
        found.push(Syntax::Braces);
    }
    let named =
        |rest: &&str| begins_name(rest) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // The last piece has no `%` behind it.
    let mut pieces = after('%');
    pieces.pop();
    if pieces.iter().any(named) {
        found.push(Syntax::Percent);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Syntax::{Braces, Dollar, DollarBraces, Percent};
    use super::*;

    #[test]
    fn placeholders_are_told_from_other_text() {
        for (text, found) in [
            ("", &[][..]),
            ("plain 100% of $5 {x} %20a", &[]),
            ("Bearer ${TOKEN}", &[DollarBraces]),
            ("${input:key}", &[DollarBraces]),
            ("${env:TOKEN}", &[DollarBraces]),
            ("${{ secrets.X }}", &[DollarBraces]),
            ("${TOKEN:-none}", &[DollarBraces]),
            ("a$TOKEN", &[Dollar]),
            ("$TOKEN and ${TOKEN}", &[DollarBraces, Dollar]),
            ("{env:TOKEN}", &[Braces]),
            ("x{file:~/.t}y", &[Braces]),
            ("%TOKEN%", &[Percent]),
            ("%TO KEN%", &[]),
            ("${open", &[]),
        ] {
            assert_eq!(syntaxes(text), found, "{text}");
        }
    }

    #[test]
    fn a_placeholder_moves_only_where_it_is_filled_in_on_both_sides() {
        let of = |env, remote, text: &str| Filled { env, remote }.moved(text);
        let (none, both): (&[Syntax], &[Syntax]) = (&[], &[DollarBraces]);
        assert_eq!(of(both, both, "Bearer ${T}"), Moved::Filled);
        assert_eq!(of(both, both, "Bearer t"), Moved::Same);
        assert_eq!(of(both, none, "Bearer ${T}"), Moved::Unknown);
        assert_eq!(of(none, both, "Bearer ${T}"), Moved::Unknown);
        assert_eq!(of(none, none, "Bearer ${T}"), Moved::Unknown);
        assert_eq!(of(both, both, "{env:T}"), Moved::Unknown);
        // Dollars and percents are in passwords, too.
        assert_eq!(of(none, none, "pa$$word%x%"), Moved::Same);
        assert_eq!(of(&[Dollar], none, "pa$word"), Moved::Unknown);
        assert_eq!(of(&[Dollar], &[Dollar], "${T}$word"), Moved::Unknown);
    }
}
