//! Shapes of files, and what an edit makes of them.

use super::*;
use crate::tried::{self, Doc, append, remove, set};
use bir_model::Format;
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> Result<Doc, EditError> {
    Doc::parse(text, Format::Toml)
}

fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    tried::edited(text, Format::Toml, edit)
}

const CODEX: &str = r#"# Codex
model = "gpt-5"   # the model

[mcp_servers.files] # files
command = 'npx' # runs it
args = [
    "-y", # yes
    "server-files",
    'C:\Users\é',
]
env = { "A" = "1", B = "2" }
startup_timeout_sec = 10.0

# The second one.
# It is slow.
[mcp_servers."git.hub"]
url = "https://x" # there

[mcp_servers.plain]
command = "p"
env.KEY = "v"
when = 2026-01-02T03:04:05Z
far = inf

[[hooks.Stop]]
matcher = "*"
[[hooks.Stop.hooks]]
type = "command"

# [mcp_servers.off]
"#;

fn codex(from: &str, to: &str) -> String {
    assert_eq!(CODEX.matches(from).count(), 1, "{from}");
    CODEX.replace(from, to)
}

#[test]
fn values_are_replaced_in_their_place() {
    let table = [
        (set("mcp_servers/files/command", json!("/opt/bir-proxy")), "'npx'", "\"/opt/bir-proxy\""),
        (
            set("mcp_servers/files/args", json!(["a", "b"])),
            "    \"-y\", # yes\n    \"server-files\",\n    'C:\\Users\\é',\n]",
            "    \"a\",\n    \"b\",\n]",
        ),
        (
            set("mcp_servers/files/args", json!([])),
            "[\n    \"-y\", # yes\n    \"server-files\",\n    'C:\\Users\\é',\n]",
            "[]",
        ),
        (set("mcp_servers/files/args/1", json!("x")), "\"server-files\"", "\"x\""),
        (append("mcp_servers/files/args", json!("x")), "é',\n]", "é',\n    \"x\",\n]"),
        (remove("mcp_servers/files/args/0"), "    \"-y\", # yes\n", ""),
        (remove("mcp_servers/files/args/2"), "    'C:\\Users\\é',\n", ""),
        (set("mcp_servers/files/env/C", json!("3")), "B = \"2\" }", "B = \"2\", C = \"3\" }"),
        (set("mcp_servers/files/env/A", json!("3")), "\"1\"", "\"3\""),
        (remove("mcp_servers/files/env/A"), "\"A\" = \"1\", ", ""),
        (remove("mcp_servers/files/env/B"), ", B = \"2\"", ""),
        (set("mcp_servers/files/env", json!({"A": "1", "D": true})), "B = \"2\" }", "D = true }"),
        (set("mcp_servers/files/env", json!("x")), "{ \"A\" = \"1\", B = \"2\" }", "\"x\""),
        (set("mcp_servers/git.hub/url", json!("y")), "\"https://x\" #", "\"y\" #"),
        (remove("mcp_servers/git.hub/url"), "url = \"https://x\" # there\n", ""),
        (set("mcp_servers/git.hub/command", json!("y")), "# there\n", "# there\ncommand = \"y\"\n"),
        (
            set("mcp_servers/plain/env/K2", json!("w")),
            "env.KEY = \"v\"\n",
            "env.KEY = \"v\"\nenv.K2 = \"w\"\n",
        ),
        (remove("mcp_servers/plain/env/KEY"), "env.KEY = \"v\"\n", ""),
        (remove("mcp_servers/plain/env"), "env.KEY = \"v\"\n", ""),
        (set("model", json!("m")), "\"gpt-5\"", "\"m\""),
        (set("approval", json!("m")), "# the model\n", "# the model\napproval = \"m\"\n"),
        (set("hooks/Stop/0/matcher", json!("m")), "\"*\"", "\"m\""),
        (
            append("hooks/Stop", json!({"hooks": [{"type": "x"}]})),
            "# [mcp_servers.off]\n",
            "# [mcp_servers.off]\n\n[[hooks.Stop]]\n\n[[hooks.Stop.hooks]]\ntype = \"x\"\n",
        ),
        (
            remove("hooks"),
            "\n[[hooks.Stop]]\nmatcher = \"*\"\n[[hooks.Stop.hooks]]\ntype = \"command\"\n",
            "",
        ),
        (remove("hooks/Stop/0/hooks/0"), "[[hooks.Stop.hooks]]\ntype = \"command\"\n", ""),
        (
            remove("mcp_servers/git.hub"),
            "\n# The second one.\n# It is slow.\n[mcp_servers.\"git.hub\"]\nurl = \"https://x\" # there\n",
            "",
        ),
        (
            set("mcp_servers/new", json!({"command": "n", "args": ["a"], "env": {"K": "v"}})),
            "far = inf\n",
            "far = inf\n\n[mcp_servers.new]\ncommand = \"n\"\nargs = [\"a\"]\n\n[mcp_servers.new.env]\nK = \"v\"\n",
        ),
        (
            set("mcp_servers/git.hub", json!({"command": "n", "args": ["a"]})),
            "url = \"https://x\" # there\n",
            "command = \"n\"\nargs = [\"a\"]\n",
        ),
        (set("mcp_servers/plain/env", json!({"KEY": "w"})), "env.KEY = \"v\"", "env.KEY = \"w\""),
        (
            append("hooks/Start", json!({"a": 1})),
            "# [mcp_servers.off]\n",
            "# [mcp_servers.off]\n\n[[hooks.Start]]\na = 1\n",
        ),
        (set("x/y", json!({})), "# [mcp_servers.off]\n", "# [mcp_servers.off]\n\n[x.y]\n"),
        (
            set("mcp_servers/flag", json!(true)),
            "[mcp_servers.files] #",
            "[mcp_servers]\nflag = true\n\n[mcp_servers.files] #",
        ),
    ];
    for (edit, from, to) in table {
        assert_eq!(edited(CODEX, &edit), Ok(codex(from, to)), "{edit:?}");
    }
}

#[test]
fn every_shape_has_its_way() {
    let table = [
        ("", set("a/b", json!({"c": 1})), "[a.b]\nc = 1\n"),
        ("", set("a", json!(1)), "a = 1\n"),
        ("# c", set("a", json!(1)), "# c\na = 1"),
        ("# c", set("a", json!({"b": 1})), "# c\n\n[a]\nb = 1"),
        ("# c\n", append("a/b", json!("x")), "# c\n\n[a]\nb = [\"x\"]\n"),
        ("a = 1", set("b", json!(2)), "a = 1\nb = 2"),
        ("a = 1", remove("a"), ""),
        ("a = 1\nb = 2", remove("b"), "a = 1"),
        ("a = 1\n\n[t]\nx = 1", remove("t"), "a = 1"),
        ("# top\n[t]\nx = 1\n", set("a", json!(1)), "# top\na = 1\n\n[t]\nx = 1\n"),
        ("# top\n[t]\nx = 1\n", remove("t"), "# top\n"),
        ("[s]\na = { x = 1 }\n", set("s/b", json!({"x": 2})), "[s]\na = { x = 1 }\nb = { x = 2 }\n"),
        ("[s]\n", set("s/b", json!({"x": 2})), "[s]\n\n[s.b]\nx = 2\n"),
        ("[s]\n# only a comment\n", set("s/b", json!(2)), "[s]\nb = 2\n# only a comment\n"),
        ("s = {}\n", set("s/b/c", json!(2)), "s = { b = { c = 2 } }\n"),
        ("s = { a = 1 } # c\n", set("s/b", json!([])), "s = { a = 1, b = [] } # c\n"),
        ("s = { a = 1 } # c\n", remove("s/a"), "s = {} # c\n"),
        ("s.a.command = 'x'\n", set("s/a/args", json!(["y"])), "s.a.command = 'x'\ns.a.args = [\"y\"]\n"),
        ("s.a.command = 'x'\n", set("s/b", json!({"c": 1})), "s.a.command = 'x'\ns.b = { c = 1 }\n"),
        ("s.a.x = 1\nt = 2\ns.a.y = 3\n", remove("s/a/y"), "s.a.x = 1\nt = 2\n"),
        ("s.a.x = 1\nt = 2\ns.a.y = 3\n", remove("s/a"), "t = 2\n"),
        (
            "[a.b]\nx = 1\n[c]\n[a.d]\ny = 1\n",
            set("a/b/z", json!(1)),
            "[a.b]\nx = 1\nz = 1\n[c]\n[a.d]\ny = 1\n",
        ),
        (
            "[a.b]\nx = 1\n[c]\n[a.d]\ny = 1\n",
            set("a/e", json!({})),
            "[a.b]\nx = 1\n[c]\n[a.d]\ny = 1\n\n[a.e]\n",
        ),
        ("[a.b]\nx = 1\n# c's\n[c]\n", set("a/e", json!({})), "[a.b]\nx = 1\n\n[a.e]\n# c's\n[c]\n"),
        ("[a.b]\nx = 1\n# b's\n\n[c]\n", set("a/e", json!({})), "[a.b]\nx = 1\n# b's\n\n[a.e]\n\n[c]\n"),
        ("[[h]]\na = 1\n\n[[h]]\na = 2\n", remove("h/0"), "\n[[h]]\na = 2\n"),
        ("[[h]]\na = 1\n\n[[h]]\na = 2\n", remove("h/1"), "[[h]]\na = 1\n"),
        (
            "[[h]]\na = 1\n\n[[h]]\na = 2\n",
            set("h/0/b", json!({"c": 1})),
            "[[h]]\na = 1\n\n[h.b]\nc = 1\n\n[[h]]\na = 2\n",
        ),
        ("[[h]]\na = 1\n", set("h", json!([{"a": 1}, {"a": 2}])), "[[h]]\na = 1\n\n[[h]]\na = 2\n"),
        ("[[h]]\na = 1\n\n[[h]]\na = 2\n", set("h", json!([{"a": 3}])), "[[h]]\na = 3\n"),
        ("[[h]]\na = 1\n", set("h", json!("x")), "h = \"x\"\n"),
        ("h = [{ a = 1 }]\n", append("h", json!({"b": 2})), "h = [{ a = 1 }, { b = 2 }]\n"),
        ("h = [{ a = 1 }]\n", set("h/0/a", json!(2)), "h = [{ a = 2 }]\n"),
        ("h = [{ a = 1 }]\n", remove("h/0"), "h = []\n"),
        ("  [t]\n  a = 1\n", set("t/b", json!(2)), "  [t]\n  a = 1\n  b = 2\n"),
        (
            "[t]\na = \"\"\"\n[x]\n# no comment\n\"\"\" # c\n",
            set("t/b", json!(2)),
            "[t]\na = \"\"\"\n[x]\n# no comment\n\"\"\" # c\nb = 2\n",
        ),
        ("[t]\na = '''\n[x]''' # c\nb = 1\n", set("t/a", json!("it's")), "[t]\na = \"it's\" # c\nb = 1\n"),
        ("\"a b\".'c' = 1\n", set("a b/d", json!(2)), "\"a b\".'c' = 1\n\"a b\".d = 2\n"),
        ("x = [ [1, 2], [3] ]\n", remove("x/0/1"), "x = [ [1], [3] ]\n"),
        ("[a]\nb = {\n  c = 1, # c\n}\n", set("a/b/d", json!(2)), "[a]\nb = {\n  c = 1, # c\n  d = 2,\n}\n"),
        ("t = 1\n", set("t", json!({"a": 1})), "t = { a = 1 }\n"),
        ("[t.a]\nx = 1\n", set("t", json!(1)), "t = 1\n"),
    ];
    for (before, edit, after) in table {
        assert_eq!(edited(before, &edit).as_deref(), Ok(after), "{before:?} {edit:?}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_and_nothing_changes() {
    for (text, edit) in [
        ("a = 1\n", set("a/b", json!(1))),
        ("a = [1]\n", set("a/b", json!(1))),
        ("a = [1]\n", set("a/1", json!(1))),
        ("a = 1\n", set("a", Value::Null)),
        ("a = 1\n", set("b", json!(u64::MAX))),
        ("a = 1\n", append("a", json!(1))),
        ("[a]\n", append("a", json!(1))),
        ("[[a]]\n", append("a", json!(1))),
        ("a = 1\n", remove("b")),
        ("a = 1\n", remove("a/b")),
        ("a = [1]\n", remove("a/1")),
        ("x = { a.b = 1 }\n", set("x/a/c", json!(1))),
        ("a = 1\n", Edit::Remove { at: Place::default() }),
        ("a = 1\n", Edit::Set { at: Place::default(), value: json!({}) }),
    ] {
        let mut toml = parse(text).unwrap();
        assert!(matches!(toml.edit(&edit), Err(EditError::Place(_))), "{text} {edit:?}");
        assert_eq!(toml.text(), text);
    }
}

#[test]
fn what_is_no_toml_is_refused_with_its_line_and_without_its_values() {
    for (text, message) in [
        ("a = 1\nb = s3cret\n", "not valid TOML at line 2, column 5"),
        ("a = 1\na = 2\n", "not valid TOML at line 2, column 1"),
        ("[a]\n[a]\n", "not valid TOML at line 2, column 2"),
    ] {
        assert_eq!(parse(text).unwrap_err(), EditError::Syntax(message.to_owned()), "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    for text in [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
    ] {
        assert!(parse(&text).is_err());
    }
}

#[test]
fn what_is_no_json_is_a_string() {
    let value = parse(CODEX).unwrap().1;
    assert_eq!(value["mcp_servers"]["plain"]["when"], json!("2026-01-02T03:04:05Z"));
    assert_eq!(value["mcp_servers"]["plain"]["far"], json!("inf"));
}

fn a_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\n".to_owned()),
        "# [a-z\\[\\]=é\"']{0,8}\n",
        "[a-e] = [0-9] +# c\n",
        "  [f-h]=\\[ ?[0-9]?, # x\n[0-9]\\]\n"
            .prop_map(|line| line.replace("[,", "[0,").replace("[ ,", "[0,")),
        "[a-e]\\.[i-k]\\.'m' = \\{ q = [0-9], 'r' = \"é\" \\}\n",
        "\\[[a-e](\\.[a-e]){0,2}\\] *(# t)?\n",
        "\\[\\[[v-z](\\.[v-z])?\\]\\]\n",
        Just("s = \"\"\"\n[x]\n\"\"\"\n".to_owned()),
    ]
}

fn a_document() -> impl Strategy<Value = String> {
    (proptest::collection::vec(a_line(), 0..14), any::<bool>())
        .prop_map(|(lines, ended)| {
            // Lines that would make the text invalid are left out.
            let mut text = String::new();
            for line in lines {
                let longer = format!("{text}{line}");
                if parse(&longer).is_ok() {
                    text = longer;
                }
            }
            if ended { text } else { text.trim_end_matches('\n').to_owned() }
        })
        .prop_filter("valid", |text| parse(text).is_ok())
}

fn places(value: &Value, at: &Place, out: &mut Vec<Place>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                out.push(at.key(key));
                places(value, &at.key(key), out);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                out.push(at.index(index));
                places(value, &at.index(index), out);
            }
        }
        _ => {}
    }
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!({"command": "x", "args": ["a"], "env": {"K": "v"}})),
        Just(json!([{"matcher": "*", "hooks": [{"type": "command"}]}])),
        Just(json!(["a", "b"])),
    ]
}

proptest! {
    #[test]
    fn a_member_that_is_added_and_removed_leaves_no_trace(text in a_document(), value in a_value(), pick in any::<prop::sample::Index>()) {
        let old = parse(&text).unwrap();
        let mut holders = vec![Place::default()];
        places(&old.1, &Place::default(), &mut holders);
        holders.retain(|at| at.of(&old.1).is_some_and(Value::is_object));
        let at = pick.get(&holders).key("new");
        // A table that only its parts' headers make gets a header of its own for a pair.
        let explicit = write::is_sections(&value) || !matches!(Layout::of(&text).unwrap().find(&pick.get(&holders).clone()), Found::Table)
            || Layout::of(&text).unwrap().header(pick.get(&holders)).is_some();
        let mut toml = parse(&text).unwrap();
        let dotted = matches!(Layout::of(&text).unwrap().find(pick.get(&holders)), Found::Dotted);
        prop_assert_eq!(toml.edit(&Edit::Set { at: at.clone(), value }).is_ok(), !dotted, "{}", text);
        if dotted {
            return Ok(());
        }
        // Whole lines stay, in their order, but for the one that is changed.
        toml.edit(&Edit::Remove { at }).unwrap();
        if explicit {
            prop_assert_eq!(toml.text(), text);
        }
    }

    #[test]
    fn a_value_that_is_set_and_set_back_leaves_the_other_lines(text in a_document(), value in a_value(), pick in any::<prop::sample::Index>()) {
        let old = parse(&text).unwrap();
        let mut scalars = Vec::new();
        places(&old.1, &Place::default(), &mut scalars);
        scalars.retain(|at| at.of(&old.1).is_some_and(|v| v.is_number() || v.is_string()));
        if scalars.is_empty() {
            return Ok(());
        }
        let at = pick.get(&scalars).clone();
        let back = at.of(&old.1).unwrap().clone();
        let mut toml = parse(&text).unwrap();
        toml.edit(&Edit::Set { at: at.clone(), value }).unwrap();
        toml.edit(&Edit::Set { at, value: back }).unwrap();
        prop_assert_eq!(&toml.1, &old.1);
        if !text.contains("\"\"\"") {
            let words = |text: &str| text.replace(['\'', '"'], "");
            prop_assert_eq!(words(&toml.text()), words(&text));
        }
    }

    #[test]
    fn a_member_that_is_removed_takes_nothing_else(text in a_document(), pick in any::<prop::sample::Index>()) {
        let old = parse(&text).unwrap();
        let mut all = Vec::new();
        places(&old.1, &Place::default(), &mut all);
        if all.is_empty() {
            return Ok(());
        }
        let mut toml = parse(&text).unwrap();
        toml.edit(&Edit::Remove { at: pick.get(&all).clone() }).unwrap();
        // What is left is a part of what was there.
        let mut old = text.chars();
        prop_assert!(toml.text().chars().all(|c| old.any(|o| o == c)), "{}", toml.text());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}=.,\"'#\\n ab1]{0,40}") {
        if let Ok(mut toml) = parse(&text) {
            let before = toml.text();
            if toml.edit(&set("a/b", json!("x"))).is_err() {
                prop_assert_eq!(toml.text(), before);
            }
        }
    }
}
