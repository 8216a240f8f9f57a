//! The tokens of one JSON value, as spans of its text.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `{` or `[`
    Open,
    /// `}` or `]`
    Close,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// A member's name with its quotes.
    Key,
    /// A string with its quotes, a number, `true`, `false` or `null`.
    Value,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after it.
    pub(crate) end: usize,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    CommaOrClose,
    Nothing,
}

/// The tokens, in order. None: the text is not one JSON value. Nesting is as deep as it likes; nothing recurses.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        if matches!(first, b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
            continue;
        }
        let value = matches!(expect, Expect::Value | Expect::ValueOrClose);
        let close = matches!(expect, Expect::ValueOrClose | Expect::KeyOrClose | Expect::CommaOrClose);
        let (kind, end) = match first {
            b'{' | b'[' if value => {
                open.push(first);
                expect = if first == b'{' { Expect::KeyOrClose } else { Expect::ValueOrClose };
                (Kind::Open, at + 1)
            }
            // `{` and `}`, `[` and `]` are two apart in ASCII.
            b'}' | b']' if close && open.pop()? + 2 == first => {
                expect = after_value(&open);
                (Kind::Close, at + 1)
            }
            b',' if expect == Expect::CommaOrClose && !open.is_empty() => {
                expect = if open.last() == Some(&b'{') { Expect::Key } else { Expect::Value };
                (Kind::Comma, at + 1)
            }
            b':' if expect == Expect::Colon => {
                expect = Expect::Value;
                (Kind::Colon, at + 1)
            }
            b'"' if matches!(expect, Expect::Key | Expect::KeyOrClose) => {
                expect = Expect::Colon;
                (Kind::Key, string_end(bytes, at)?)
            }
            b'"' if value => {
                expect = after_value(&open);
                (Kind::Value, string_end(bytes, at)?)
            }
            _ if value => {
                expect = after_value(&open);
                (Kind::Value, scalar_end(bytes, at)?)
            }
            _ => return None,
        };
        out.push(Token { kind, start: at, end });
        at = end;
    }
    (expect == Expect::Nothing).then_some(out)
}

fn after_value(open: &[u8]) -> Expect {
    if open.is_empty() { Expect::Nothing } else { Expect::CommaOrClose }
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn scalar_end(bytes: &[u8], start: usize) -> Option<usize> {
    let is_end =
        |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"');
    let end = bytes[start..].iter().position(is_end).map_or(bytes.len(), |n| start + n);
    let word = &bytes[start..end];
    let number = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
    let looks_right = matches!(word, b"true" | b"false" | b"null")
        || (word.iter().all(number) && word.iter().any(u8::is_ascii_digit));
    looks_right.then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_json_has_no_tokens() {
        for text in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{1:2}",
            "[1 2]",
            "1 2",
            "nul",
            "\"a",
            "\"\\\"",
            "[1}",
            "{]",
            "{\"a\":1]",
            ",",
            "[,1]",
            "tru e",
            "-",
            "é",
            "\"a\\",
        ] {
            assert_eq!(tokens(text), None, "{text}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(tokens(&deep).unwrap().len(), 200_000);
    }

    proptest! {
        #[test]
        fn a_text_that_serde_reads_has_tokens(text in "[\\[\\]{}:,\"a1 \\\\.-]{0,24}") {
            if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                prop_assert!(tokens(&text).is_some());
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = tokens(&text);
        }
    }
}
