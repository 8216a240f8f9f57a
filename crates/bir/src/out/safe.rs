//! Text of others, made harmless for a terminal: control characters and those that change the direction or the look of
//! text are shown in a visible form.

use std::borrow::Cow;
use std::fmt::Write;

/// A text as a part of one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|c| show(c, &mut out));
    Cow::Owned(out)
}

/// A text of several lines: line feeds stay, tabs become spaces.
pub(crate) fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\t' => out.push_str("    "),
            c => show(c, &mut out),
        }
    }
    out
}

/// The last look before a page is sent: of the control characters only line feeds and the colours of [`super::paint`] pass.
/// What comes from others is made harmless where it is put in; this is for what was forgotten.
pub(crate) fn last_look(page: &str) -> Cow<'_, str> {
    if page.chars().all(|c| c == '\n' || !is_hidden(c)) {
        return Cow::Borrowed(page);
    }
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(c) = rest.chars().next() {
        if let Some(colour) = colour(rest) {
            out.push_str(colour);
            rest = &rest[colour.len()..];
            continue;
        }
        if c == '\n' {
            out.push(c)
        } else {
            show(c, &mut out)
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// The sequence that sets a colour at the beginning of a text.
fn colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then(|| &text[..end + 3])
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn show(c: char, out: &mut String) {
    match u32::from(c) {
        // The pictures of the control characters: `␛`, `␊`.
        low @ 0..=0x1f => out.extend(char::from_u32(0x2400 + low)),
        0x7f => out.push('\u{2421}'),
        code if is_hidden(c) => {
            let _ = write!(out, "\\u{{{code:x}}}");
        }
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, shown) in [
            ("plain — ü 日本 👩‍💻", "plain — ü 日本 👩‍💻"),
            ("a\u{1b}[2Jb", "a␛[2Jb"),
            ("a\u{1b}]0;title\u{7}", "a␛]0;title␇"),
            ("a\nb\tc\r", "a␊b␉c␍"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m␡"),
            ("pay \u{202e}001\u{2066}", "pay \\u{202e}001\\u{2066}"),
            ("a\u{200b}b\u{e0041}", "a\\u{200b}b\\u{e0041}"),
        ] {
            assert_eq!(line(text), shown);
        }
        assert_eq!(block("a\r\n\tb\u{1b}[31m\rc"), "a\n    b␛[31m␍c");
    }

    #[test]
    fn colours_pass_the_last_look_and_nothing_else_does() {
        for (page, passed) in [
            ("\u{1b}[31mred\u{1b}[0m\n", "\u{1b}[31mred\u{1b}[0m\n"),
            ("\u{1b}[1;38;5;1mx", "\u{1b}[1;38;5;1mx"),
            ("\u{1b}[2Jx\u{1b}[31", "␛[2Jx␛[31"),
            ("\u{1b}]8;;http://x\u{7}", "␛]8;;http://x␇"),
            ("\u{202e}\r\n", "\\u{202e}␍\n"),
        ] {
            assert_eq!(last_look(page), passed);
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            prop_assert!(line(&text).chars().all(|c| !is_hidden(c)));
            prop_assert!(block(&text).chars().all(|c| c == '\n' || !is_hidden(c)));
            let looked = last_look(&text);
            let escape = '\u{1b}';
            prop_assert!(looked.chars().all(|c| c == '\n' || c == escape || !is_hidden(c)));
            prop_assert!(looked.match_indices(escape).all(|(at, _)| colour(&looked[at..]).is_some()));
        }
    }
}
