//! A character that both texts have and each spells in its own way: `\u0026` in the older one is `&` in the newer one, and a quote within a
//! text that the newer one writes as JSON within JSON has backslashes there.
//!
//! What such a character is stays in the newer text alone. A delta says where it stands there, and how the older text spells it, which
//! tells of it no more than that it can be spelled so.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Letters behind a backslash, and what each stands for: those of JSON, TOML and YAML.
const LETTERS: [(char, char); 18] = [
    ('"', '"'),
    ('\\', '\\'),
    ('/', '/'),
    ('b', '\u{8}'),
    ('f', '\u{c}'),
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('\t', '\t'),
    ('0', '\0'),
    ('a', '\u{7}'),
    ('v', '\u{b}'),
    ('e', '\u{1b}'),
    ('N', '\u{85}'),
    ('_', '\u{a0}'),
    ('L', '\u{2028}'),
    ('P', '\u{2029}'),
    (' ', ' '),
];
/// A text within a text within a text is as deep as wrapping goes.
const DEEPEST: usize = 3;

/// How a character is spelled. Of digits that are letters all are of one case; others cannot be described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spelling {
    /// As itself.
    Plain,
    /// A backslash and a letter or mark that stands for it alone.
    Letter,
    /// An apostrophe twice, as within apostrophes of YAML.
    Twice,
    /// `\x3d`.
    X,
    /// `\x3D`.
    UpperX,
    /// `\u003d`; beyond U+FFFF two of them.
    U,
    /// `\u003D`.
    UpperU,
    /// `\U0000003d`.
    LongU,
    /// `\U0000003D`.
    UpperLongU,
}

impl Spelling {
    /// A character in this spelling. None: it cannot be spelled so.
    pub(super) fn of(self, c: char) -> Option<String> {
        let code = u32::from(c);
        let units = || c.encode_utf16(&mut [0; 2]).to_vec().into_iter();
        Some(match self {
            Self::Plain => c.to_string(),
            Self::Letter => format!("\\{}", LETTERS.iter().find(|(_, of)| *of == c)?.0),
            Self::Twice => (c == '\'').then(|| "''".to_owned())?,
            Self::X => (code < 0x100).then(|| format!("\\x{code:02x}"))?,
            Self::UpperX => (code < 0x100).then(|| format!("\\x{code:02X}"))?,
            Self::U => units().map(|unit| format!("\\u{unit:04x}")).collect(),
            Self::UpperU => units().map(|unit| format!("\\u{unit:04X}")).collect(),
            Self::LongU => format!("\\U{code:08x}"),
            Self::UpperLongU => format!("\\U{code:08X}"),
        })
    }
}

/// What stands around a string of the older text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Double,
    Single,
    None,
}

/// A character of the older text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) old: Range<usize>,
    c: char,
    spelling: Spelling,
}

/// A character as it stands in the newer text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// None: its bytes are the same.
    pub(super) spelling: Option<Spelling>,
}

/// The characters of a piece of the older text. None: one of them cannot be read, or is spelled in a way that has no name.
pub(super) fn tokens(text: &str, range: Range<usize>, quotes: Quotes) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        let first = rest.chars().next()?;
        let (c, length) = match (quotes, first) {
            (Quotes::Double, '\\') => escaped(rest)?,
            (Quotes::Single, '\'') => rest.starts_with("''").then_some(('\'', 2))?,
            _ => (first, first.len_utf8()),
        };
        let written = &rest[..length];
        let spelling = spellings(written).into_iter().find(|one| one.of(c).as_deref() == Some(written))?;
        found.push(Token { old: at..at + length, c, spelling });
        at += length;
    }
    Some(found)
}

fn spellings(written: &str) -> Vec<Spelling> {
    match written.as_bytes() {
        [b'\\', b'x', ..] => vec![Spelling::X, Spelling::UpperX],
        [b'\\', b'u', ..] => vec![Spelling::U, Spelling::UpperU],
        [b'\\', b'U', ..] => vec![Spelling::LongU, Spelling::UpperLongU],
        [b'\\', _, ..] => vec![Spelling::Letter],
        _ => vec![Spelling::Plain, Spelling::Twice],
    }
}

/// The character that an escape at the start of a text stands for, and the bytes of it.
fn escaped(text: &str) -> Option<(char, usize)> {
    let digits = |from: usize, count: usize| {
        let digits = text.get(from..from + count)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    match text[1..].chars().next()? {
        'x' => Some((char::from_u32(digits(2, 2)?)?, 4)),
        'U' => Some((char::from_u32(digits(2, 8)?)?, 10)),
        'u' => {
            let first = digits(2, 4)?;
            if let Some(c) = char::from_u32(first) {
                return Some((c, 6));
            }
            let second = digits(8, 4).filter(|_| text[6..].starts_with("\\u"))?;
            let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
            Some((char::decode_utf16(units).next()?.ok()?, 12))
        }
        letter => {
            let (_, c) = LETTERS.iter().find(|(one, _)| *one == letter)?;
            Some((*c, 1 + letter.len_utf8()))
        }
    }
}

/// The character that stands in a piece of the newer text, in whatever way.
pub(super) fn read(written: &[u8]) -> Option<char> {
    let mut text = std::str::from_utf8(written).ok()?.to_owned();
    for _ in 0..=DEEPEST {
        let mut all = text.chars();
        match (all.next(), all.next()) {
            (Some(c), None) => return Some(c),
            _ if text == "''" => return Some('\''),
            _ => text = serde_json::from_str(&format!("\"{text}\"")).ok()?,
        }
    }
    None
}

/// Where characters of the older text stand in the newer one, one behind the other: as they are, or as texts within texts are
/// written. A place is preferred where nothing of a word stands beside them.
pub(super) fn find(new: &[u8], tokens: &[Token]) -> Option<Vec<Found>> {
    let plain: String = tokens.iter().map(|token| token.c).collect();
    if plain.is_empty() {
        return None;
    }
    let mut tried: Vec<String> = Vec::new();
    for form in [0_u8, 1, 2, 3] {
        let forms: Vec<String> = tokens.iter().map(|token| written(token.c, form)).collect();
        let all = forms.concat();
        if tried.contains(&all) {
            continue;
        }
        if let Some(mut at) = place(new, all.as_bytes()) {
            let each = tokens.iter().zip(&forms).map(|(token, form)| {
                let new = at..at + form.len();
                at = new.end;
                let is_same = token.spelling.of(token.c).as_deref() == Some(form);
                Found { old: token.old.clone(), new, spelling: (!is_same).then_some(token.spelling) }
            });
            return Some(each.collect());
        }
        tried.push(all);
    }
    None
}

/// A character as itself, within a JSON text, within one that is within another, and within apostrophes.
fn written(c: char, form: u8) -> String {
    let inner = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    match form {
        0 => c.to_string(),
        1 => inner(&c.to_string()),
        2 => inner(&inner(&c.to_string())),
        _ => inner(&c.to_string()).replace('\'', "''"),
    }
}

/// A place where no part of a word stands beside the text; of one that is long enough, else any.
fn place(new: &[u8], text: &[u8]) -> Option<usize> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let mut any = None;
    let places = new.windows(text.len()).enumerate().filter(|(_, window)| *window == text);
    for (at, _) in places {
        let is_apart = !is_word(at.checked_sub(1).and_then(|before| new.get(before)));
        if is_apart && !is_word(new.get(at + text.len())) {
            return Some(at);
        }
        any = any.or(Some(at));
    }
    any.filter(|_| text.len() >= super::SHORTEST_SECRET)
}

/// The strings of a line that wrapping may spell anew: what stands between quotes of either kind and is not plain.
pub(super) fn strings(text: &str, line: Range<usize>) -> Vec<(Range<usize>, Quotes)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = line.start;
    while at < line.end {
        let quotes = match bytes[at] {
            b'"' => Quotes::Double,
            // One within a word is an apostrophe.
            b'\'' if at == line.start || !bytes[at - 1].is_ascii_alphanumeric() => Quotes::Single,
            _ => {
                at += 1;
                continue;
            }
        };
        let Some(end) = closing(bytes, at + 1..line.end, quotes) else {
            at += 1;
            continue;
        };
        let inside = at + 1..end;
        if text[inside.clone()].contains(['\\', '\'', '"']) {
            found.push((inside, quotes));
        }
        at = end + 1;
    }
    found
}

fn closing(bytes: &[u8], range: Range<usize>, quotes: Quotes) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        match (quotes, bytes[at]) {
            (Quotes::Double, b'\\') => at += 1,
            (Quotes::Double, b'"') => return Some(at),
            (Quotes::Single, b'\'') if bytes[at + 1..range.end].first() == Some(&b'\'') => at += 1,
            (Quotes::Single, b'\'') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read_and_written_again() {
        for (text, c) in [
            (r"\u0026", '&'),
            (r"\u003d", '='),
            (r"\u003D", '='),
            (r"\ud83d\ude00", '\u{1f600}'),
            (r"\UD83D\UDE00", '\0'),
            (r"\U0001f600", '\u{1f600}'),
            (r"\x70", 'p'),
            (r"\xE9", 'é'),
            (r"\/", '/'),
            (r"\n", '\n'),
            (r"\ ", ' '),
            (r"\e", '\u{1b}'),
            ("é", 'é'),
        ] {
            let Some(found) = tokens(text, 0..text.len(), Quotes::Double) else {
                assert_eq!(c, '\0', "{text}");
                continue;
            };
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!((found[0].c, found[0].spelling.of(c).as_deref()), (c, Some(text)));
        }
        for text in [r"\u00eF", r"\ud83d", r"\ud83dx", r"\q", "\\", r"\u12", r"\u+123"] {
            assert_eq!(tokens(text, 0..text.len(), Quotes::Double), None, "{text}");
        }
        let twice = tokens("it''s", 0..5, Quotes::Single).unwrap();
        assert_eq!(twice.iter().map(|token| token.c).collect::<String>(), "it's");
    }

    #[test]
    fn what_stands_in_texts_within_texts_is_read() {
        for c in ['"', '\\', '\'', '\n', 'é', '/', '\u{1f600}'] {
            for form in 0..4 {
                assert_eq!(read(written(c, form).as_bytes()), Some(c), "{c:?} {form}");
            }
        }
        for bytes in [b"".as_slice(), b"ab", b"\\q", b"\xff"] {
            assert_eq!(read(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn strings_are_told_by_their_quotes() {
        let of = |text: &str| {
            let all = strings(text, 0..text.len()).into_iter();
            all.map(|(at, _)| text[at].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(r#"{"a": "b\"c", "d": "\u0041"}"#), [r#"b\"c"#, r"\u0041"]);
        assert_eq!(of(r#"a: it's, b: 'it''s', c: 'x"y'"#), ["it''s", "x\"y"]);
        assert_eq!(of("a: 'never closed, \"nor \\"), Vec::<String>::new());
    }
}
