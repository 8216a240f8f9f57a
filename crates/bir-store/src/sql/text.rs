//! Texts as both databases hold them: U+0000 is written as two characters, and so is the character that marks it.
//!
//! The mark is a noncharacter, which no program writes into a text that it means to show. SQLite could hold U+0000, but its
//! `LIKE` stops there.

const MARK: char = '\u{10FFFE}';

/// For the database.
pub(crate) fn encode(text: String) -> String {
    // One after the other: a single character is looked for many bytes at a time, two together are not.
    if !text.contains('\0') && !text.contains(MARK) {
        return text;
    }
    let mut encoded = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\0' => encoded.extend([MARK, '0']),
            MARK => encoded.extend([MARK, '1']),
            c => encoded.push(c),
        }
    }
    encoded
}

/// From the database. A mark that lost its second character when a text was cut is dropped.
pub(crate) fn decode(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut decoded = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            MARK => decoded.extend(match chars.next() {
                Some('0') => Some('\0'),
                Some('1') => Some(MARK),
                _ => None,
            }),
            c => decoded.push(c),
        }
    }
    decoded
}

/// A pattern for `LIKE … ESCAPE '\'` that matches texts that hold `needle`, and maybe others: characters whose case the
/// databases do not know are left open. The second value says whether a match has to be looked at again.
pub(crate) fn like(needle: &str) -> (String, bool) {
    /// Characters of a pattern; SQLite refuses patterns of more than 50,000 bytes.
    const LONGEST: usize = 1000;
    let needle = encode(needle.to_owned());
    let mut pattern = String::from("%");
    let mut again = false;
    for (at, c) in needle.chars().enumerate() {
        if at == LONGEST {
            again = true;
            break;
        }
        match c {
            '%' | '_' | '\\' => pattern.extend(['\\', c]),
            c if c.is_ascii() || c == MARK => pattern.push(c),
            // Another case of it may be longer, as with ß and İ.
            _ => {
                again = true;
                if !pattern.ends_with('%') || pattern.ends_with("\\%") {
                    pattern.push('%');
                }
            }
        }
    }
    if !pattern.ends_with('%') || pattern.ends_with("\\%") {
        pattern.push('%');
    }
    (pattern, again)
}

/// Whether `text` holds `folded`, which is in lower case.
pub(crate) fn holds(text: &str, folded: &str) -> bool {
    lower(text).contains(folded)
}

/// In lower case, as far as Unicode knows.
pub(crate) fn lower(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in ["", "a", "\0", "a\0b\0", "\u{10FFFE}", "\u{10FFFE}0\0\u{10FFFE}1", "ä\u{FFFF}"] {
            let encoded = encode(text.to_owned());
            assert!(!encoded.contains('\0'));
            assert_eq!(decode(encoded), text);
        }
        assert_eq!(decode("ab\u{10FFFE}".into()), "ab");
    }

    #[test]
    fn wildcards_are_only_characters() {
        assert_eq!(like("50%_\\x"), ("%50\\%\\_\\\\x%".into(), false));
        assert_eq!(like("100%"), ("%100\\%%".into(), false));
        assert_eq!(like("Über"), ("%ber%".into(), true));
        assert_eq!(like("aÄb"), ("%a%b%".into(), true));
        assert_eq!(like(""), ("%".into(), false));
        assert!(like(&"x".repeat(100_000)).0.len() < 1100);
    }
}
