//! The way from foreign text to HTML.
//!
//! Templates print [`Html`] as it is and escape everything else. An `Html` is made here and by the JSON printer alone:
//! `<`, `>`, `&` and quotes become entities, and characters that hide or reorder others become visible.

use askama::filters::HtmlSafe;
use std::fmt;

/// Text that is HTML already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl HtmlSafe for Html {}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Html {
    /// Takes markup that the caller vouches for.
    pub(crate) fn trusted(markup: String) -> Self {
        Self(markup)
    }
}

/// Where a placeholder of redaction begins.
const PLACEHOLDER: &str = "[redacted:";

/// A placeholder is never longer: kind and twelve digits.
const LONGEST_PLACEHOLDER: usize = 48;

/// Foreign text as HTML.
pub(crate) fn text(raw: &str) -> Html {
    let mut out = String::with_capacity(raw.len() + raw.len() / 8);
    push_text(&mut out, raw);
    Html(out)
}

/// The same, cut after so many characters.
pub(crate) fn text_up_to(raw: &str, characters: usize) -> Html {
    match raw.char_indices().nth(characters) {
        None => text(raw),
        Some((end, _)) => {
            let mut html = text(raw[..end].trim_end());
            html.0.push('…');
            html
        }
    }
}

/// Foreign text on one line for an attribute's value, where markup cannot stand: what is hidden is written `U+202E`. The
/// template escapes it.
pub(crate) fn plain(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\n' | '\t' | '\r' => out.push(' '),
            c if hidden(c) => {
                use fmt::Write as _;
                let _ = write!(out, "U+{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Appends foreign text, with placeholders of redaction marked as such.
pub(crate) fn push_text(out: &mut String, raw: &str) {
    let mut rest = raw;
    while let Some(at) = rest.find(PLACEHOLDER) {
        push_escaped(out, &rest[..at]);
        rest = &rest[at..];
        match placeholder(rest) {
            Some(end) => {
                out.push_str("<span class=\"redacted\">");
                push_escaped(out, &rest[..end]);
                out.push_str("</span>");
                rest = &rest[end..];
            }
            None => {
                push_escaped(out, &rest[..PLACEHOLDER.len()]);
                rest = &rest[PLACEHOLDER.len()..];
            }
        }
    }
    push_escaped(out, rest);
}

/// The length of the placeholder `[redacted:KIND:HEX12]` that the text begins with.
fn placeholder(text: &str) -> Option<usize> {
    let end = text.bytes().take(LONGEST_PLACEHOLDER).position(|b| b == b']')?;
    let (kind, digits) = text.get(PLACEHOLDER.len()..end)?.split_once(':')?;
    let kind_is_one = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let digits_are = digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    (kind_is_one && digits_are).then_some(end + 1)
}

fn push_escaped(out: &mut String, raw: &str) {
    for c in raw.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if hidden(c) => push_hidden(out, c),
            c => out.push(c),
        }
    }
}

fn push_hidden(out: &mut String, c: char) {
    use fmt::Write as _;
    let _ = write!(out, "<span class=\"hidden-char\">U+{:04X}</span>", u32::from(c));
}

/// Whether a character shows nothing of itself, or changes how others are shown: controls, marks of direction, joiners
/// and spaces without width, invisible operators, variation selectors beyond the common ones, tags, the byte order mark.
pub(crate) fn hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_text_is_text() {
        for (raw, html) in [
            ("plain", "plain"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("</details>", "&lt;/details&gt;"),
            ("a \"b\" 'c' & d", "a &quot;b&quot; &#39;c&#39; &amp; d"),
            ("two\nlines\r\nthree", "two\nlines\nthree"),
            ("\u{1b}[31m", "<span class=\"hidden-char\">U+001B</span>[31m"),
            ("safe\u{202e}gpj.exe", "safe<span class=\"hidden-char\">U+202E</span>gpj.exe"),
            ("zero\u{200b}width", "zero<span class=\"hidden-char\">U+200B</span>width"),
            ("👩‍👩‍👧 देवनागरी", "👩‍👩‍👧 देवनागरी"),
        ] {
            assert_eq!(text(raw).to_string(), html, "{raw:?}");
        }
    }

    #[test]
    fn placeholders_are_marked_and_what_only_begins_like_one_is_not() {
        let marked = |inner: &str| format!("<span class=\"redacted\">{inner}</span>");
        for (raw, html) in [
            ("[redacted:key:0123456789ab]", marked("[redacted:key:0123456789ab]")),
            (
                "Bearer [redacted:bearer:00ff00ff00ff] and more",
                format!("Bearer {} and more", marked("[redacted:bearer:00ff00ff00ff]")),
            ),
            (
                "[redacted:[redacted:api-key:0123456789ab]",
                format!("[redacted:{}", marked("[redacted:api-key:0123456789ab]")),
            ),
            ("[redacted:<b>:0123456789ab]", "[redacted:&lt;b&gt;:0123456789ab]".into()),
            ("[redacted:key:123]", "[redacted:key:123]".into()),
            ("[redacted:key:0123456789ab", "[redacted:key:0123456789ab".into()),
            ("[redacted:", "[redacted:".into()),
            ("[redacted:ключ:0123456789ab]", "[redacted:ключ:0123456789ab]".into()),
        ] {
            assert_eq!(text(raw).to_string(), html, "{raw:?}");
        }
    }

    #[test]
    fn a_cut_text_is_cut_between_characters() {
        assert_eq!(text_up_to("äöü", 3).to_string(), "äöü");
        assert_eq!(text_up_to("äöü<", 3).to_string(), "äöü…");
        assert_eq!(text_up_to("one two", 4).to_string(), "one…");
    }

    #[test]
    fn an_attribute_has_one_line_and_nothing_hidden() {
        assert_eq!(plain("a\nb\u{202e}c\u{0}"), "a bU+202EcU+0000");
    }

    proptest! {
        #[test]
        fn nothing_of_a_foreign_text_is_markup(raw in any::<String>()) {
            let html = text(&raw).to_string();
            let own = html.replace("<span class=\"redacted\">", "").replace("<span class=\"hidden-char\">", "").replace("</span>", "");
            prop_assert!(!own.contains(['<', '>', '"', '\'']));
            prop_assert!(!html.chars().any(hidden));
        }
    }
}
