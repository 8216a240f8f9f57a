//! What its signs give away: e-mail addresses, addresses of the web, paths, ids, and text in quotes.

use crate::{Entity, Kind};
use serde_json::Value;
use std::ops::Range;

/// Addresses, paths and ids: pieces between white space, without the punctuation around them. Their normal form is the text.
pub(crate) fn pieces(text: &str) -> Vec<Entity> {
    let mut found = Vec::new();
    for span in between_spaces(text) {
        let span = trimmed(text, span);
        if let Some(kind) = kind(&text[span.clone()]) {
            found.push(Entity { normal: Value::String(text[span.clone()].to_owned()), span, kind });
        }
    }
    found
}

fn between_spaces(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split(|c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '"' | '“' | '”' | '«' | '»' | '`')
    })
    .filter(|piece| !piece.is_empty())
    .map(move |piece| {
        let start = piece.as_ptr() as usize - text.as_ptr() as usize;
        start..start + piece.len()
    })
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let piece = &text[span.clone()];
    let front = piece.trim_start_matches(['(', '[', '<', '{', '\'', '‘']);
    let start = span.end - front.len();
    let back = front.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '>', '}', '\'', '’']);
    start..start + back.len()
}

fn kind(piece: &str) -> Option<Kind> {
    /// Longer ones are data, no mention.
    const LONGEST: usize = 2_048;
    if piece.len() < 2 || piece.len() > LONGEST {
        return None;
    }
    if is_url(piece) {
        return Some(Kind::Url);
    }
    if is_email(piece) {
        return Some(Kind::Email);
    }
    if is_path(piece) {
        return Some(Kind::Path);
    }
    is_id(piece).then_some(Kind::Id)
}

fn is_url(piece: &str) -> bool {
    let scheme = piece.split_once("://");
    let written = scheme.is_some_and(|(s, rest)| {
        s.len() >= 2 && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+') && !rest.is_empty()
    });
    written || (piece.starts_with("www.") && piece.len() > 6 && piece[4..].contains('.'))
}

fn is_email(piece: &str) -> bool {
    let Some((name, host)) = piece.split_once('@') else { return false };
    let named =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    let host_fits = host.split('.').count() >= 2
        && host.split('.').all(|p| !p.is_empty() && p.chars().all(|c| c.is_alphanumeric() || c == '-'));
    named && host_fits
}

/// `/etc/hosts`, `./a`, `~/a`, `C:\a`, `src/main.rs`, `notes.md`, `.env`.
fn is_path(piece: &str) -> bool {
    let plain = piece.chars().all(|c| {
        c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | ':' | '+' | '@' | '*')
    });
    // With a dash in front it is an option, or a path that is excluded.
    if !plain || piece.starts_with('-') {
        return false;
    }
    let letters = piece.chars().any(char::is_alphabetic);
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| piece.starts_with(root)) && piece.len() > 2;
    let drive = piece.len() > 3 && piece.as_bytes()[0].is_ascii_alphabetic() && piece[1..].starts_with(":\\");
    if letters && (rooted || drive) {
        return true;
    }
    // `.env`, and not the end of a sentence without a space.
    let hidden = piece.strip_prefix('.').is_some_and(|name| {
        name.len() > 1 && name.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-'))
    });
    if hidden {
        return true;
    }
    let (folder, file) = piece.rsplit_once('/').unwrap_or(("", piece));
    let Some((stem, ending)) = file.rsplit_once('.') else { return false };
    let short = (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let no_number = ending.bytes().any(|b| b.is_ascii_lowercase()) && stem.contains(char::is_alphanumeric);
    // "e.g" and "p.m" are no files.
    short && no_number && (stem.len() > 1 || !folder.is_empty())
}

/// `ABC-123`, `#42`, `9f86d081`, `user_17`, `7B`.
fn is_id(piece: &str) -> bool {
    if let Some(number) = piece.strip_prefix('#') {
        return number.bytes().all(|b| b.is_ascii_digit());
    }
    let plain =
        piece.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.' | b'/'));
    let (digits, letters) =
        (piece.bytes().any(|b| b.is_ascii_digit()), piece.bytes().any(|b| b.is_ascii_alphabetic()));
    plain && digits && letters && !is_measured(piece)
}

/// `8pm`, `3rd`, `5km`, `8h30`, `1h30min`, `24-hour`, `3-year-old`: numbers and the few letters of a unit, which others read.
fn is_measured(piece: &str) -> bool {
    let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | '-'));
    let unit = rest.len() < piece.len() && rest.len() <= 3 && rest.bytes().all(|b| b.is_ascii_lowercase());
    let mut parts = piece.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    let length = piece.split_once('-').is_some_and(|(count, unit)| {
        count.bytes().all(|b| b.is_ascii_digit())
            && crate::calendar::time_unit(unit.trim_end_matches("-old"), crate::words::Language::English)
                .is_some()
    });
    unit || length
        || (piece.as_bytes()[0].is_ascii_digit()
            && parts.all(|part| matches!(part, "h" | "hr" | "hrs" | "m" | "min" | "mins" | "s" | "d")))
}

/// Texts in quotes; the normal form is without them.
pub(crate) fn quoted(text: &str) -> Vec<Entity> {
    /// What is longer was no quotation.
    const LONGEST: usize = 2_000;
    let mut found = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |(_, c)| *c);
        match open {
            Some((close, from)) if at - from > LONGEST => {
                open = None;
                let _ = close;
            }
            Some((close, from)) if c == close && !(close == '\'' && after.is_alphanumeric()) => {
                let inner = &text[from..at];
                let first = text[..from].chars().next_back().map_or(0, char::len_utf8);
                if !inner.trim().is_empty() {
                    let span = from - first..at + c.len_utf8();
                    found.push(Entity { span, kind: Kind::Quoted, normal: Value::String(inner.to_owned()) });
                }
                open = None;
            }
            Some(_) => {}
            None => {
                let close = match c {
                    '"' => Some('"'),
                    '“' => Some('”'),
                    '„' => Some('“'),
                    '«' => Some('»'),
                    '`' => Some('`'),
                    '‘' if !before.is_alphanumeric() => Some('’'),
                    '\'' if !before.is_alphanumeric() && after.is_alphanumeric() => Some('\''),
                    _ => None,
                };
                open = close.map(|close| (close, at + c.len_utf8()));
            }
        }
        before = c;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_give_kinds_away() {
        for (piece, expected) in [
            ("a.b+c@example.org", Some(Kind::Email)),
            ("a@b", None),
            ("https://example.org/x?y=1", Some(Kind::Url)),
            ("www.example.org", Some(Kind::Url)),
            ("/etc/hosts", Some(Kind::Path)),
            ("~/a", Some(Kind::Path)),
            ("src/main.rs", Some(Kind::Path)),
            ("notes.md", Some(Kind::Path)),
            ("C:\\a\\b", Some(Kind::Path)),
            ("e.g", None),
            ("and/or", None),
            ("ABC-123", Some(Kind::Id)),
            ("#42", Some(Kind::Id)),
            ("9f86d081", Some(Kind::Id)),
            ("7B", Some(Kind::Id)),
            ("8pm", None),
            ("5km", None),
            ("2026-11-30", None),
            ("8h30", None),
            ("3.5", None),
            ("word", None),
            ("-notes.md", None),
            (".env", Some(Kind::Path)),
            (".gitignore", Some(Kind::Path)),
            ("...and", None),
        ] {
            assert_eq!(kind(piece), expected, "{piece}");
        }
    }

    #[test]
    fn quotes_close_where_they_were_opened() {
        let texts = |text: &str| {
            quoted(text).iter().map(|e| e.normal.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts("say \"hello world\" to 'Bob's dog'"), ["hello world", "Bob's dog"]);
        assert_eq!(texts("„Guten Tag“ und «bonjour»"), ["Guten Tag", "bonjour"]);
        assert_eq!(texts("don't and can't"), Vec::<String>::new());
        assert_eq!(texts("\"open"), Vec::<String>::new());
        let text = "a “b” c";
        assert_eq!(&text[quoted(text)[0].span.clone()], "“b”");
    }
}
