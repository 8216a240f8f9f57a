//! Wrapped and unwrapped in the file itself: comments inside of a command line, and how each of its words is written, are there all
//! the time, and what comes back is what was there, byte for byte.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use bir_edit::Document;
use bir_hosts::config::{Found, FoundFile, Wrapping, any};
use bir_model::Edit;
use proptest::prelude::*;
use std::path::Path;

fn with() -> Wrapping {
    Wrapping {
        proxy: "/opt/bir/bir-proxy".into(),
        no_correlation: false,
        mcp_json: false,
        everywhere: false,
        host_named: true,
        named: true,
    }
}

/// The text with its server `a` wrapped, and that unwrapped again.
fn there_and_back(name: &str, text: &str) -> (String, String) {
    let file = any::file(&Path::new("/h").join(name), Path::new("/p"), text);
    let mut document = Document::parse(text.as_bytes(), file.format).unwrap();
    let found =
        Found { files: vec![FoundFile { file, value: document.value().clone() }], project: "/p".into() };
    let server = any::servers(&found).into_iter().find(|server| server.name == "a").unwrap();
    let made = any::wrap_in(&found, &server, &with()).unwrap();
    let edit = |document: &mut Document, edits: &[Edit]| {
        let outcome = document.edit_all(edits);
        assert!(outcome.is_ok(), "{outcome:?}: {edits:?}\n{text}");
        String::from_utf8(document.bytes()).unwrap()
    };
    let wrapped = edit(&mut document, &made.edits);
    let entry = made.place.of(document.value()).unwrap().clone();
    let back = any::unwrap_in(&entry, &made.place, &made.memo.unwrap()).unwrap();
    (wrapped, edit(&mut document, &back))
}

#[test]
fn comments_of_a_command_line_stay_where_they_are() {
    for (name, text, wrapped) in [
        (
            "mcp.jsonc",
            "{\"mcpServers\": {\"a\": {\n  \"command\": \"npx\", // why\n  \"args\": [ // in\n    \"-u\", // first\n    // key: s3cret\n    \"x\" // tail\n  ]\n}}}\n",
            "{\"mcpServers\": {\"a\": {\n  \"command\": \"/opt/bir/bir-proxy\", // why\n  \"args\": [ // in\n    \"--server-name\",\n    \"a\",\n    \"--scope\",\n    \"user\",\n    \"--\",\n    \"npx\",\n    \"-u\", // first\n    // key: s3cret\n    \"x\" // tail\n  ]\n}}}\n",
        ),
        (
            "opencode.jsonc",
            "{\"mcp\": {\"a\": {\n  \"type\": \"local\",\n  \"command\": [ // c1\n    \"npx\", // c2\n    // c3\n    \"-u\" // c4\n  ]}}}\n",
            "{\"mcp\": {\"a\": {\n  \"type\": \"local\",\n  \"command\": [ // c1\n    \"/opt/bir/bir-proxy\",\n    \"--server-name\",\n    \"a\",\n    \"--scope\",\n    \"user\",\n    \"--\",\n    \"npx\", // c2\n    // c3\n    \"-u\" // c4\n  ]}}}\n",
        ),
        (
            "config.toml",
            "[mcp_servers.a]\ncommand = 'npx' # why\nargs=['-u', # one\n '''x'''] # two\n",
            "[mcp_servers.a]\ncommand = \"/opt/bir/bir-proxy\" # why\nargs=[\"--server-name\", \"a\", \"--scope\", \"user\", \"--\", \"npx\", '-u', # one\n '''x'''] # two\n",
        ),
        (
            "hermes.yaml",
            "mcp_servers:\n  a:\n    command: npx # why\n    args: # in\n      - -u # first\n      # second\n      - 'x' # tail\n    # end\n",
            "mcp_servers:\n  a:\n    command: /opt/bir/bir-proxy # why\n    args: # in\n      - \"--server-name\"\n      - a\n      - \"--scope\"\n      - user\n      - \"--\"\n      - npx\n      - -u # first\n      # second\n      - 'x' # tail\n    # end\n",
        ),
    ] {
        let (there, back) = there_and_back(name, text);
        assert_eq!(there, wrapped);
        // How the program was quoted is not remembered: that is the one value that is written anew.
        assert_eq!(back, text.replace("command = 'npx'", "command = \"npx\""));
    }
}

/// A command line in a format, written in one of many ways.
#[derive(Debug, Clone)]
struct Line {
    words: Vec<(u8, u8)>,
    tall: bool,
    end: &'static str,
    last_comma: bool,
    before: bool,
}

fn line() -> impl Strategy<Value = Line> {
    let words = prop::collection::vec(any::<(u8, u8)>(), 0..5);
    (words, any::<bool>(), any::<bool>(), any::<bool>(), prop::sample::select(vec!["\n", "\r\n"]))
        .prop_map(|(words, tall, last_comma, before, end)| Line { words, tall, end, last_comma, before })
}

impl Line {
    /// Words with their spelling; `mark` begins a comment.
    fn list(&self, first: Option<&str>, spellings: [&str; 4], mark: &str, dashes: bool) -> String {
        let end = self.end;
        let spelt = self.words.iter().map(|(n, how)| (spellings[usize::from(*n) % 4], *how));
        let words: Vec<(&str, u8)> = first.map(|first| (first, 1)).into_iter().chain(spelt).collect();
        if words.is_empty() {
            return if dashes { " []".into() } else { "[]".into() };
        }
        let mut list = String::from(if dashes { "" } else { "[" });
        if self.tall && self.before {
            list += &format!(" {mark} in, \"]");
        }
        for (n, (word, how)) in words.iter().enumerate() {
            let comma = if !dashes && (self.last_comma || n + 1 < words.len()) { "," } else { "" };
            if self.tall {
                list += end;
                if how % 3 == 0 {
                    list += &format!("      {mark} of it{end}");
                }
                list += if dashes { "      - " } else { "      " };
            } else if n > 0 {
                list += " ";
            }
            list += &format!("{word}{comma}");
            if self.tall && how % 2 == 0 {
                list += &format!(" {mark} behind, ]");
            }
        }
        if self.tall && !dashes {
            list += end;
        }
        list + if dashes { "" } else { "]" }
    }

    /// Files of hosts with this line.
    fn files(&self) -> Vec<(&'static str, String)> {
        let end = self.end;
        let json = [r#""-u""#, r#""\u0041\/b""#, r#""{\"token\":\"abcdef123456zz\"}""#, r#""--""#];
        let toml = ["'-u'", "'''it's'''", r#""{\"token\":\"abcdef123456zz\"}""#, r#""\u0041""#];
        let yaml = ["-u", "'x # y'", r#""{\"t\":1}""#, "npx"];
        let (jsonc, vector) =
            (self.list(None, json, "//", false), self.list(Some(r#""npx""#), json, "//", false));
        let (toml, flow) = (self.list(None, toml, "#", false), self.list(None, yaml, "#", false));
        let block = match self.tall {
            true => self.list(None, yaml, "#", true),
            false => format!(" {flow} # c"),
        };
        let strict = Self { tall: false, last_comma: false, ..self.clone() }.list(None, json, "//", false);
        vec![
            (
                "a.json",
                format!("{{\"mcpServers\":{{\"a\":{{\"command\":\"npx\",{end}\"args\": {strict}}}}}}}"),
            ),
            (
                "a.jsonc",
                format!(
                    "{{\"mcpServers\": {{\"a\": {{{end}    \"args\": {jsonc},{end}    \"command\": \"npx\" // c{end}}}}}}}{end}"
                ),
            ),
            (
                "b.jsonc",
                format!("{{\"mcp\": {{\"a\": {{\"type\": \"local\",{end}    \"command\": {vector}}}}}}}"),
            ),
            ("a.toml", format!("[mcp_servers.a]{end}command = \"npx\" # c{end}args = {toml} # d{end}")),
            ("b.toml", format!("[mcp_servers]{end}a = {{ command = \"npx\", args = {toml} }} # d{end}")),
            (
                "a.yaml",
                format!(
                    "mcp_servers:{end}  a:{end}    command: npx # c{end}    args:{block}{end}    z: 1{end}"
                ),
            ),
            (
                "b.yml",
                format!(
                    "extensions:{end}  a:{end}    type: stdio{end}    args:{block}{end}    cmd: npx{end}"
                ),
            ),
        ]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_entry_comes_back_as_it_was_written(line in line()) {
        for (name, text) in line.files() {
            let (wrapped, back) = there_and_back(name, &text);
            prop_assert_eq!(&back, &text, "{}", name);
            let comments = |text: &str| text.matches("of it").count() + text.matches("behind, ]").count();
            prop_assert_eq!(comments(&wrapped), comments(&text), "{}", wrapped);
        }
    }
}
