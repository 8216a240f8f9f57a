//! Where lines break: what fits on one line stays on one, everything else has a line for each member.

use super::tokens::{Kind, Token};

/// A value that is not wider stays on one line.
const WIDTH: usize = 88;

/// Spaces for each level.
const STEP: usize = 2;

/// Deeper levels are not indented further, so that the space stays proportional to the payload.
const DEEPEST: usize = 24;

/// What the layout is written to.
pub(crate) trait Sink {
    /// A bracket, a comma with its space, a colon with its space.
    fn mark(&mut self, mark: &str);
    /// A new line with so many spaces.
    fn line(&mut self, indent: usize);
    /// A member's name as written.
    fn key(&mut self, written: &str);
    /// A scalar as written.
    fn value(&mut self, written: &str);
    /// The object that ended just now stands for something that was cut.
    fn cut(&mut self, original_bytes: u64);
}

/// What is known of the brackets before anything is written.
struct Brackets {
    /// For each opening token how wide its value is on one line; 0 for the others.
    widths: Vec<usize>,
    /// Closing tokens of truncation markers with the original size, in order.
    cuts: Vec<(usize, u64)>,
}

#[derive(Default)]
struct Frame {
    opened_by: usize,
    width_before: usize,
    truncated: bool,
    original_bytes: Option<u64>,
}

fn measure(text: &str, tokens: &[Token]) -> Brackets {
    let mut found = Brackets { widths: vec![0; tokens.len()], cuts: Vec::new() };
    let mut frames: Vec<Frame> = Vec::new();
    let mut width = 0;
    let mut key = "";
    for (i, token) in tokens.iter().enumerate() {
        let written = &text[token.start..token.end];
        match token.kind {
            Kind::Open => {
                frames.push(Frame { opened_by: i, width_before: width, ..Frame::default() });
                width += 1;
                key = "";
            }
            Kind::Close => {
                width += 1;
                if let Some(frame) = frames.pop() {
                    found.widths[frame.opened_by] = width - frame.width_before;
                    if let (true, Some(bytes)) = (frame.truncated, frame.original_bytes) {
                        found.cuts.push((i, bytes));
                    }
                }
            }
            Kind::Comma | Kind::Colon => width += 2,
            Kind::Key => {
                key = written;
                width += written.len();
            }
            Kind::Value => {
                width += written.len();
                if let Some(frame) = frames.last_mut() {
                    match key {
                        "\"truncated\"" => frame.truncated = written == "true",
                        "\"originalBytes\"" => frame.original_bytes = written.parse().ok(),
                        _ => {}
                    }
                }
                key = "";
            }
        }
    }
    found
}

/// Writes the tokens of `text` with line breaks and indentation.
pub(crate) fn lay_out(text: &str, tokens: &[Token], sink: &mut impl Sink) {
    let brackets = measure(text, tokens);
    let mut cuts = brackets.cuts.iter().peekable();
    // For each open bracket, whether its members have lines of their own.
    let mut broken: Vec<bool> = Vec::new();
    let indent = |depth: usize| depth.min(DEEPEST) * STEP;
    for (i, token) in tokens.iter().enumerate() {
        let written = &text[token.start..token.end];
        match token.kind {
            Kind::Open => {
                let within_flat = broken.last() == Some(&false);
                let fits = within_flat || indent(broken.len()) + brackets.widths[i] <= WIDTH;
                sink.mark(written);
                broken.push(!fits);
                if !fits {
                    sink.line(indent(broken.len()));
                }
            }
            Kind::Close => {
                if broken.pop() == Some(true) {
                    sink.line(indent(broken.len()));
                }
                sink.mark(written);
                if let Some((_, bytes)) = cuts.next_if(|(at, _)| *at == i) {
                    sink.cut(*bytes);
                }
            }
            Kind::Comma if broken.last() == Some(&true) => {
                sink.mark(",");
                sink.line(indent(broken.len()));
            }
            Kind::Comma => sink.mark(", "),
            Kind::Colon => sink.mark(": "),
            Kind::Key => sink.key(written),
            Kind::Value => sink.value(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Plain(String);

    impl Sink for Plain {
        fn mark(&mut self, mark: &str) {
            self.0.push_str(mark);
        }
        fn line(&mut self, indent: usize) {
            self.0.push('\n');
            self.0.push_str(&" ".repeat(indent));
        }
        fn key(&mut self, written: &str) {
            self.0.push_str(written);
        }
        fn value(&mut self, written: &str) {
            self.0.push_str(written);
        }
        fn cut(&mut self, _: u64) {}
    }

    fn pretty(text: &str) -> Option<String> {
        let mut sink = Plain::default();
        lay_out(text, &tokens(text)?, &mut sink);
        Some(sink.0)
    }

    #[test]
    fn layouts() {
        let long = "x".repeat(90);
        for (text, shown) in [
            ("{}", "{}".to_owned()),
            ("[ ]", "[]".to_owned()),
            ("{\"a\":1,\"b\":[1,2]}", "{\"a\": 1, \"b\": [1, 2]}".to_owned()),
            ("1.0", "1.0".to_owned()),
            ("{\"a\":1,\"a\":1.00}", "{\"a\": 1, \"a\": 1.00}".to_owned()),
            (
                &format!("{{\"a\":\"{long}\",\"b\":[1,2]}}"),
                format!("{{\n  \"a\": \"{long}\",\n  \"b\": [1, 2]\n}}"),
            ),
            (&format!("[[\"{long}\"]]"), format!("[\n  [\n    \"{long}\"\n  ]\n]")),
        ] {
            assert_eq!(pretty(text).as_ref(), Some(&shown), "{text}");
        }
    }

    #[test]
    fn deep_nesting_stays_proportional() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        assert!(pretty(&deep).unwrap().len() < 60 * deep.len());
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
                proptest::collection::vec((any::<String>(), inner), 0..8)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_tokens_stay_as_they_are(value in json(), spaced in any::<bool>()) {
            let text = if spaced { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let shown = pretty(&text).unwrap();
            let written = |text: &str| {
                tokens(text).unwrap().iter().map(|t| text[t.start..t.end].to_owned()).collect::<Vec<_>>()
            };
            prop_assert_eq!(written(&shown), written(&text));
            prop_assert_eq!(pretty(&shown).unwrap(), shown);
        }
    }
}
