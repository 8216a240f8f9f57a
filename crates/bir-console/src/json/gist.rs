//! A payload in one line, for a row that is folded: `path: /home/ada/stale.md, head: 160`.
//!
//! It is made from the payload's beginning alone, which need not be whole, and whatever it is given it takes as text.

/// So many characters of a payload are looked at.
const READ: usize = 400;

/// The line. Empty where there is nothing to say. Foreign text: to be escaped like the payload itself.
pub(crate) fn gist(payload: &str) -> String {
    let mut chars = payload.trim().chars().take(READ);
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    if !payload.trim_start().starts_with(['{', '[']) {
        return folded(chars);
    }
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => push_escape(&mut out, chars.next(), depth),
            '"' => {
                quoted = !quoted;
                if depth > 1 {
                    out.push('"');
                }
            }
            c if quoted => out.push(c),
            '{' | '[' => {
                depth += 1;
                if depth > 1 {
                    out.push(c);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth > 0 {
                    out.push(c);
                }
            }
            ',' | ':' => out.extend([c, ' ']),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    folded(out.chars())
}

/// What stands behind a backslash: white space becomes a space, and quotes are themselves where the string has lost its own.
fn push_escape(out: &mut String, escaped: Option<char>, depth: usize) {
    match escaped {
        Some('n' | 't' | 'r') => out.push(' '),
        Some(c @ ('"' | '\\' | '/')) if depth <= 1 => out.push(c),
        Some(c) => out.extend(['\\', c]),
        None => {}
    }
}

/// White space as single spaces.
fn folded(text: impl Iterator<Item = char>) -> String {
    let text: String = text.collect();
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gists() {
        for (payload, line) in [
            ("{}", ""),
            ("[]", ""),
            ("", ""),
            (r#"{"path":"/home/ada","head":160}"#, "path: /home/ada, head: 160"),
            (
                r#"{"sql":"select 1\n\tfrom \"t\"","params":["a",{"b":null}]}"#,
                r#"sql: select 1 from "t", params: ["a", {"b": null}]"#,
            ),
            (r#"["a", 2]"#, "a, 2"),
            (r#"{"a":"c:\\x\/y"}"#, r"a: c:\x/y"),
            ("not\n json ", "not json"),
            (r#""a text""#, r#""a text""#),
            (r#"{"cut":"in the mid"#, "cut: in the mid"),
        ] {
            assert_eq!(gist(payload), line, "{payload}");
        }
    }

    proptest! {
        #[test]
        fn a_gist_is_one_short_line(payload in any::<String>()) {
            let line = gist(&payload);
            prop_assert!(!line.contains(['\n', '\t']) && line.chars().count() <= 2 * READ);
        }
    }
}
