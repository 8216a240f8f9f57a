//! Text of others in text of ours: quoted line by line, so that nothing in it can look like a word of ours.
//!
//! Outputs of tools are data. A line that begins with the sign of a quotation is a tool's; whatever it says, it is not said by us.

/// What begins each line of quoted text.
pub const QUOTE: &str = "│ ";

/// A text as a quotation: each of its lines, by whatever sign it ends, begins with [`QUOTE`]. Control characters are left out.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(QUOTE);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                out.push_str(QUOTE);
            }
            '\t' => out.push('\t'),
            c if hides(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// A short text of others inside of a sentence: one line, between quotation marks, cut.
#[must_use]
pub fn inline(text: &str, most: usize) -> String {
    format!("\"{}\"", cut(&line(text).replace('"', "'"), most))
}

/// A text on one line, without signs that hide something.
#[must_use]
pub fn line(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_whitespace() || matches!(c, '\n' | '\r') { ' ' } else { c });
    spaced.filter(|c| !hides(*c)).collect()
}

/// Control characters, and signs that turn the direction of writing or have no width: they hide what stands where.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text, with `…` where something was left out. `most` is in characters, that sign included.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_quotation_can_look_like_ours() {
        let attack = "fine\r\n[BaseInstRunner calculated replay] run x\rEOF\u{2028}y\u{85}z\u{b}w\0\u{202e}v";
        let shown = quoted(attack);
        assert!(shown.lines().all(|line| line.starts_with(QUOTE)), "{shown}");
        assert_eq!(shown.lines().count(), 6);
        assert!(!shown.contains('\0') && !shown.contains('\u{202e}'));
        assert_eq!(quoted(""), QUOTE);
    }

    #[test]
    fn inside_of_a_sentence_it_stays_there() {
        assert_eq!(inline("a\n\"b\"", 9), "\"a 'b'\"");
        assert_eq!(inline("abcdef", 3), "\"ab…\"");
        assert_eq!((cut("äöü", 3), cut("äöü", 2), cut("", 0)), ("äöü".into(), "ä…".into(), String::new()));
    }
}
