//! Passwords of `.netrc` files: `machine example.com login bob password x`, in a line or in several.

use super::look;
use super::placeholder::{self, Kind};
use super::shapes::Found;

/// Words that belong to one machine: three pairs and the machine.
const MOST_WORDS: usize = 8;

/// Finds the word after `password` in each entry.
pub(super) fn passwords(text: &str, mut found: impl FnMut(Found)) {
    let bytes = text.as_bytes();
    for at in memchr::memmem::find_iter(bytes, b"machine ") {
        if at > 0 && !bytes[at - 1].is_ascii_whitespace() {
            continue;
        }
        // `machine NAME`, then pairs of a key word and its value.
        let mut words = Words { text, at: at + 8 }.take(MOST_WORDS).skip(1);
        let mut login = false;
        while let (Some(key), Some(value)) = (words.next(), words.next()) {
            match text.get(key.0..key.1) {
                Some("password") if login => {
                    let said = text.get(value.0..value.1).unwrap_or_default();
                    // A quote or a backslash: it is no such file, but something around one.
                    let plain = said
                        .bytes()
                        .all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'\\' | b'`'));
                    if plain && !look::harmless(said) && placeholder::end_at(bytes, value.0).is_none() {
                        found(Found { start: value.0, end: value.1, kind: Kind::Key });
                    }
                }
                Some("login" | "account") => login = true,
                _ => break,
            }
        }
    }
}

/// The places of the words from `at` on.
struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.len() - rest.trim_ascii_start().len();
        let rest = self.text.get(start..)?;
        let length = rest.bytes().position(|b| b.is_ascii_whitespace()).unwrap_or(rest.len());
        self.at = start + length;
        (length > 0).then_some((start, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_after_password_alone() {
        let text = "machine a.example login bob password s3cret\nmachine b\n  login x\n  password t0p\nmachine gun password fight\n\
                    the machine has no password at all";
        let mut all = Vec::new();
        passwords(text, |f| all.push(&text[f.start..f.end]));
        assert_eq!(all, ["s3cret", "t0p"]);
    }
}
