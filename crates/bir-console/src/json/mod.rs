//! Payloads as people read them.
//!
//! A payload is printed from its tokens: numbers, escapes, the order of members and repeated names stay as they came; only
//! the space between tokens is ours. What is no JSON is shown as the text that it is.

mod blocks;
mod gist;
mod layout;
mod tokens;

pub(crate) use blocks::{Block, blocks};
pub(crate) use gist::gist;

use crate::text::{Html, push_text};
use crate::units;
use layout::{Sink, lay_out};

/// A longer payload is shown as it came: recorded ones are cut at 64 KiB, so this is one that was imported.
const LONGEST_PRETTY: usize = 1024 * 1024;

/// A payload as HTML for a `<pre>`.
pub(crate) fn html(payload: &str) -> Html {
    let tokens = if payload.len() <= LONGEST_PRETTY { tokens::tokens(payload) } else { None };
    let Some(tokens) = tokens else { return crate::text::text(payload) };
    let mut sink = HtmlSink(String::with_capacity(payload.len() * 2));
    lay_out(payload, &tokens, &mut sink);
    Html::trusted(sink.0)
}

/// Whether the text is a JSON object or array.
pub(crate) fn is_structured(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && text.len() <= LONGEST_PRETTY
        && tokens::tokens(text).is_some()
}

struct HtmlSink(String);

impl Sink for HtmlSink {
    fn mark(&mut self, mark: &str) {
        self.0.push_str(mark);
    }

    fn line(&mut self, indent: usize) {
        self.0.push('\n');
        self.0.extend(std::iter::repeat_n(' ', indent));
    }

    fn key(&mut self, written: &str) {
        self.0.push_str("<span class=\"k\">");
        push_text(&mut self.0, written);
        self.0.push_str("</span>");
    }

    fn value(&mut self, written: &str) {
        push_text(&mut self.0, written);
    }

    fn cut(&mut self, original_bytes: u64) {
        self.0.push_str(" <span class=\"cut\">cut; it had ");
        self.0.push_str(&units::bytes(original_bytes));
        self.0.push_str("</span>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_text_whatever_it_holds() {
        for (payload, shown) in [
            (r#"{"a":"<script>"}"#, r#"{<span class="k">&quot;a&quot;</span>: &quot;&lt;script&gt;&quot;}"#),
            (r#"["</pre></details>"]"#, "[&quot;&lt;/pre&gt;&lt;/details&gt;&quot;]"),
            ("[\"\u{202e}\"]", "[&quot;<span class=\"hidden-char\">U+202E</span>&quot;]"),
            ("not <json>", "not &lt;json&gt;"),
            ("", ""),
            ("1.50e+10", "1.50e+10"),
            (
                r#"{"key":"[redacted:key:0123456789ab]"}"#,
                r#"{<span class="k">&quot;key&quot;</span>: &quot;<span class="redacted">[redacted:key:0123456789ab]</span>&quot;}"#,
            ),
        ] {
            assert_eq!(html(payload).to_string(), shown, "{payload}");
        }
    }

    #[test]
    fn what_was_cut_says_so_where_it_stands() {
        let shown = html(
            r#"{"data":{"truncated":true,"originalBytes":2485125},"truncated":false,"originalBytes":3}"#,
        );
        assert_eq!(shown.to_string().matches("class=\"cut\"").count(), 1);
        assert!(shown.to_string().contains("} <span class=\"cut\">cut; it had 2.37 MiB</span>"));
        assert!(!html(r#"{"truncated":"true","originalBytes":-1}"#).to_string().contains("class=\"cut\""));
    }
}
