//! The words of the older text that no piece of the newer one makes. A value may be a credential that no rule knows, so a word stands in a
//! delta only where it is a key of the configuration, the path of a command, or one that all configurations are made of.

use super::blocks::Part;
use crate::plan::held::names;
use bir_edit::Document;
use bir_model::Format;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;

/// A shorter word tells nobody anything.
const SHORT: usize = 4;
/// Words for kinds of servers, and those of the formats.
const KNOWN: [&str; 15] = [
    "true",
    "false",
    "null",
    "stdio",
    "local",
    "http",
    "https",
    "sse",
    "remote",
    "streamable-http",
    "streamableHttp",
    "streamable_http",
    "streamable",
    "builtin",
    "command",
];

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !"\"'`{}[](),:;=\\".contains(c)
}

/// Options that wrapping writes: an older wrapped text is told by a newer one, too.
const OURS: [&str; 8] = [
    "--server-name",
    "--scope",
    "--no-correlation",
    "--url",
    "--url-env",
    "--header-env",
    "--bearer-env",
    "--transport",
];

fn is_ours(word: &str) -> bool {
    OURS.contains(&word) || names(word, "bir-proxy") || names(word, "bir-hooks")
}

/// The words that a piece of text of its own has a part in, whole.
pub(super) fn bare(parts: &[Part], text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for part in parts.iter().filter(|part| part.new.is_none()) {
        let start = text[..part.old.start].rfind(|c| !is_word(c));
        let mut at = start.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let end = text[part.old.end..].find(|c| !is_word(c)).map_or(text.len(), |end| part.old.end + end);
        for word in text[at..end].split_inclusive(|c| !is_word(c)) {
            let range = at..at + word.trim_end_matches(|c| !is_word(c)).len();
            at += word.len();
            let is_in = range.start < part.old.end && range.end > part.old.start;
            if is_in && range.len() >= SHORT && found.last() != Some(&range) {
                found.push(range);
            }
        }
    }
    found
}

/// Words that may stand in a delta. Asked for the first time, the text is read for its keys.
pub(super) struct Harmless<'t> {
    text: &'t str,
    keys: Option<HashSet<String>>,
}

impl<'t> Harmless<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, keys: None }
    }

    pub(super) fn has(&mut self, range: &Range<usize>) -> bool {
        let word = &self.text[range.clone()];
        // `"\u006eode"`: the mark before it is a part of the word.
        let marked = self.text[..range.start].ends_with('\\').then(|| format!("\"\\{word}\""));
        let plain = marked.and_then(|text| serde_json::from_str::<String>(&text).ok());
        let word = plain.as_deref().unwrap_or(word);
        if KNOWN.contains(&word) || is_ours(word) {
            return true;
        }
        let keys = self.keys.get_or_insert_with(|| keys(self.text));
        // The head of a table of TOML is several keys.
        keys.contains(word) || word.split('.').all(|part| part.is_empty() || keys.contains(part))
    }
}

/// The words of the keys and commands of a configuration of any format; of what is none, none.
fn keys(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']);
    let formats: &[Format] = if is_json { &[Format::Jsonc] } else { &[Format::Toml, Format::Yaml] };
    let read = formats.iter().find_map(|format| Document::parse(text.as_bytes(), *format).ok());
    if let Some(document) = read {
        of_value(document.value(), &mut found);
    }
    found
}

/// A document is no deeper than its reader allows.
fn of_value(value: &Value, found: &mut HashSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let mut add = |text: &str| {
                    found.extend(text.split(|c| !is_word(c)).map(ToOwned::to_owned));
                };
                add(key);
                // Of one that is a whole line the first word.
                if let Some(line) = value.as_str().filter(|_| ["command", "cmd"].contains(&key.as_str())) {
                    line.split_whitespace().take(1).for_each(&mut add);
                }
                of_value(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| of_value(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_taken_whole_where_a_part_of_it_stands_alone() {
        let text = "{\"headers\": {\"X-Key\": \"ab\"}, \"word\": 1}";
        let at = |piece: &str| text.find(piece).unwrap();
        let parts = [
            Part { old: 0..at("ders"), new: Some(0) },
            Part { old: at("ders")..at("ord"), new: None },
            Part { old: at("ord")..text.len(), new: Some(0) },
        ];
        let words: Vec<&str> = bare(&parts, text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(words, ["headers", "X-Key", "word"]);
    }

    #[test]
    fn keys_are_harmless_in_every_format_and_values_are_not() {
        for text in [
            "// x\n{\"outer\": {\"inner key\": \"value\", \"command\": \"node\"}}",
            "[outer]\n\"inner key\" = \"value\"\ncommand = \"node -x\"\n",
            "outer:\n  inner key: value\n  command: node\n",
        ] {
            let mut has = |word: &str| {
                let text = format!("{text}{word}");
                let at = text.len() - word.len();
                Harmless { text: &text, keys: Some(keys(&text[..at])) }.has(&(at..text.len()))
            };
            assert!(
                ["outer", "inner", "http", "node", "--no-correlation", "/old/bir-proxy"]
                    .into_iter()
                    .all(&mut has),
                "{text}"
            );
            assert!(!has("value"), "{text}");
        }
        assert!(!Harmless::of("{ no text").has(&(5..9)));
        let spelled = r#"{"command": "\u006eode", "x": "\u0076alue"}"#;
        for (word, is_harmless) in [("u006eode", true), ("u0076alue", false)] {
            let at = spelled.find(word).unwrap();
            assert_eq!(Harmless::of(spelled).has(&(at..at + word.len())), is_harmless, "{word}");
        }
    }
}
