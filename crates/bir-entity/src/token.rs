//! A text cut into words, runs of digits and single signs, each with its bytes. Everything that recognises works on these, so the
//! text itself is read once.

use std::ops::Range;

/// What a token consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Letters.
    Word,
    /// ASCII digits.
    Digits,
    /// One other sign; white space is no token.
    Sign,
}

/// A piece of the text.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) span: Range<usize>,
    pub(crate) class: Class,
    pub(crate) text: &'a str,
    /// In lower case.
    pub(crate) lower: String,
    /// White space or the beginning of the text is before it.
    pub(crate) spaced: bool,
}

impl Token<'_> {
    /// Its first letter is a capital.
    pub(crate) fn is_capital(&self) -> bool {
        self.class == Class::Word && self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// Digits as a number; None: no digits, or too many.
    pub(crate) fn digits(&self) -> Option<u64> {
        (self.class == Class::Digits && self.text.len() <= 15).then(|| self.text.parse().ok()).flatten()
    }

    pub(crate) fn is(&self, sign: &str) -> bool {
        self.class == Class::Sign && self.text == sign
    }
}

/// All tokens, in their order.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let class = |c: char| {
        if c.is_ascii_digit() {
            Class::Digits
        } else if c.is_alphabetic() || is_mark(c) {
            Class::Word
        } else {
            Class::Sign
        }
    };
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut spaced = true;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() || c.is_control() {
            spaced = true;
            continue;
        }
        let (kind, end) = (class(c), at + c.len_utf8());
        match tokens.last_mut() {
            Some(last) if !spaced && kind != Class::Sign && last.class == kind => {
                last.span.end = end;
                last.text = &text[last.span.clone()];
            }
            _ => tokens.push(Token {
                span: at..end,
                class: kind,
                text: &text[at..end],
                lower: String::new(),
                spaced,
            }),
        }
        spaced = false;
    }
    for token in &mut tokens {
        token.lower = token.text.to_lowercase();
    }
    tokens
}

/// A combining mark belongs to the letter before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_digits_and_signs_stand_alone() {
        let texts = |text| tokens(text).iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts("Fly at 8:30pm, café"), ["Fly", "at", "8", ":", "30", "pm", ",", "café"]);
        assert_eq!(texts("\u{0}\t"), Vec::<String>::new());
        assert_eq!(texts("cafe\u{301}"), ["cafe\u{301}"]);
    }
}
