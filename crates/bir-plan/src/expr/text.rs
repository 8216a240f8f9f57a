//! Texts: parts, cases, addresses.

use super::{Case, UrlPart};

/// What JavaScript's `trim` takes away.
fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// A part between two separators; None: one of them is not there.
pub(super) fn cut<'t>(text: &'t str, after: &str, before: &str) -> Option<&'t str> {
    let rest = if after.is_empty() { text } else { text.split_once(after)?.1 };
    if before.is_empty() { Some(rest) } else { Some(rest.split_once(before)?.0) }
}

pub(super) fn case(text: &str, to: Case) -> String {
    match to {
        Case::Lower => text.to_lowercase(),
        Case::Upper => text.to_uppercase(),
        Case::Trimmed => trimmed(text).to_owned(),
        Case::Title => {
            let mut begins = true;
            let mut out = String::with_capacity(text.len());
            for c in text.chars() {
                if begins {
                    out.extend(c.to_uppercase());
                } else {
                    out.push(c);
                }
                begins = c == ' ';
            }
            out
        }
        Case::Slug => {
            let lower = text.to_lowercase();
            let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
            words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
        }
    }
}

/// A part of an address; None: it is none of the form `scheme://host/path`.
pub(super) fn url(text: &str, part: UrlPart) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, tail) = rest.split_at(end);
    let path = &tail[..tail.find(['?', '#']).unwrap_or(tail.len())];
    Some(match part {
        UrlPart::Scheme => scheme,
        UrlPart::Host => host,
        UrlPart::Path => path,
        UrlPart::LastSegment => path.rsplit_once('/').map_or(path, |(_, last)| last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cases_and_addresses() {
        assert_eq!(cut("a/b/c", "/", ""), Some("b/c"));
        assert_eq!(cut("a/b/c", "", "/"), Some("a"));
        assert_eq!(cut("a/b/c", "/", "/"), Some("b"));
        assert_eq!(cut("abc", "/", ""), None);
        assert_eq!(case("new york", Case::Title), "New York");
        assert_eq!(case(" Über Café, 2! ", Case::Slug), "ber-caf-2");
        assert_eq!(case("\u{a0} x\n", Case::Trimmed), "x");
        let address = "https://example.com:8443/a/b?c=d#e";
        for (part, expected) in [
            (UrlPart::Scheme, "https"),
            (UrlPart::Host, "example.com:8443"),
            (UrlPart::Path, "/a/b"),
            (UrlPart::LastSegment, "b"),
        ] {
            assert_eq!(url(address, part), Some(expected));
        }
        assert_eq!(url("https://example.com", UrlPart::Path), Some(""));
        assert_eq!(url("mailto:a@b", UrlPart::Host), None);
    }
}
