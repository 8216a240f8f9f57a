//! Shapes of files, and what an edit makes of them.

use super::*;
use crate::tried::{self, Doc, append, place, remove, set};
use bir_model::Format;
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> Result<Doc, EditError> {
    Doc::parse(text, Format::Yaml)
}

fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    tried::edited(text, Format::Yaml, edit)
}

const GOOSE: &str = r#"# Goose
GOOSE_MODEL: gpt  # which

extensions:   # all of them
    # The first one.
    dev:
        enabled: true
        type: stdio
        cmd: 'npx' # runs it
        args:
          - -y
          # the server
          - "server-dev" # here
          - C:\Users\é
        envs: {A: "1", "B": no}
        env_keys: []
        timeout: 300
    notes: # literal below
        enabled: false
        description: |
            first: line
              # no comment

            last line

        cmd: notes
        args: [ "a", b ]   # flow

    empty:
other: [1, # one
  2]
...
"#;

fn goose(from: &str, to: &str) -> String {
    assert_eq!(GOOSE.matches(from).count(), 1, "{from}");
    GOOSE.replace(from, to)
}

#[test]
fn a_configuration_of_goose_is_changed_where_it_is_meant() {
    let table = [
        (set("extensions/dev/cmd", json!("/opt/bir-proxy")), "'npx' #", "'/opt/bir-proxy' #"),
        (set("extensions/dev/cmd", json!("a\nb")), "'npx' #", r#""a\nb" #"#),
        (set("extensions/notes/cmd", json!("no")), "cmd: notes\n", "cmd: \"no\"\n"),
        (set("extensions/dev/timeout", json!(5)), "300", "5"),
        (set("extensions/dev/args/1", json!("x")), "\"server-dev\"", "\"x\""),
        (
            set("extensions/dev/args", json!(["x", "1"])),
            "- -y\n          # the server\n          - \"server-dev\" # here\n          - C:\\Users\\é\n",
            "- x\n          - \"1\"\n",
        ),
        (
            append("extensions/dev/args", json!("--flag")),
            "- C:\\Users\\é\n",
            "- C:\\Users\\é\n          - \"--flag\"\n",
        ),
        (remove("extensions/dev/args/0"), "          - -y\n", ""),
        (remove("extensions/dev/args/1"), "          - \"server-dev\" # here\n", ""),
        (
            set("extensions/dev/args", json!([])),
            "args:\n          - -y\n          # the server\n          - \"server-dev\" # here\n          - C:\\Users\\é\n",
            "args: []\n",
        ),
        (set("extensions/dev/envs/C", json!("x")), "\"B\": no}", "\"B\": no, C: x}"),
        (remove("extensions/dev/envs/A"), "A: \"1\", ", ""),
        (append("extensions/dev/env_keys", json!("K")), "env_keys: []\n", "env_keys:\n          - K\n"),
        (set("extensions/notes/args", json!(["x", "y z"])), "[ \"a\", b ]", "[x, \"y z\"]"),
        (append("extensions/notes/args", json!("x")), "b ]", "b, x ]"),
        (remove("extensions/notes/args/0"), "\"a\", ", ""),
        (
            set("extensions/notes/env", json!({"K": "v"})),
            "# flow\n",
            "# flow\n        env:\n            K: v\n",
        ),
        (remove("extensions/notes/cmd"), "        cmd: notes\n", ""),
        (
            remove("extensions/notes/description"),
            "        description: |\n            first: line\n              # no comment\n\n            last line\n",
            "",
        ),
        (
            set("extensions/notes/description", json!("x")),
            "|\n            first: line\n              # no comment\n\n            last line\n",
            "x\n",
        ),
        (set("extensions/empty", json!({"cmd": "x"})), "empty:\n", "empty:\n        cmd: x\n"),
        (set("extensions/empty/cmd", json!("x")), "empty:\n", "empty:\n        cmd: x\n"),
        (set("extensions/empty", json!(false)), "empty:\n", "empty: false\n"),
        (remove("extensions/empty"), "    empty:\n", ""),
        (
            set(
                "extensions/new",
                json!({"enabled": true, "cmd": "x", "args": ["a", "--", "b c"], "envs": {}}),
            ),
            "    empty:\n",
            "    empty:\n    new:\n        enabled: true\n        cmd: x\n        args:\n          - a\n          - \"--\"\n          - \"b c\"\n        envs: {}\n",
        ),
        (set("other", json!([3])), "[1, # one\n  2]", "[\n  3\n  ]"),
        (append("other", json!(3)), "  2]", "  2,\n  3]"),
        (set("GOOSE_MODEL", json!("1.0")), "gpt  #", "\"1.0\"  #"),
        (set("hooks/pre/cmd", json!("x")), "  2]\n", "  2]\nhooks:\n    pre:\n        cmd: x\n"),
        (
            set(
                "extensions/dev",
                json!({"enabled": true, "type": "stdio", "cmd": "y", "args": ["-y"], "env_keys": [], "timeout": 300}),
            ),
            "'npx' # runs it\n        args:\n          - -y\n          # the server\n          - \"server-dev\" # here\n          - C:\\Users\\é\n        envs: {A: \"1\", \"B\": no}\n",
            "'y' # runs it\n        args:\n          - \"-y\"\n",
        ),
    ];
    for (edit, from, to) in table {
        assert_eq!(edited(GOOSE, &edit), Ok(goose(from, to)), "{edit:?}");
    }
}

#[test]
fn every_shape_has_its_way() {
    let table = [
        ("", set("a/b", json!("c")), "a:\n  b: c\n"),
        ("# c\n", set("a", json!(1)), "# c\na: 1\n"),
        ("# c", set("a", json!(1)), "# c\na: 1"),
        ("---\n", set("a", json!(1)), "---\na: 1\n"),
        ("---\n# c\n...\n", set("a", json!(1)), "---\n# c\na: 1\n...\n"),
        ("{}\n", set("a", json!(1)), "a: 1\n"),
        ("{} # c\n", set("a", json!([1])), "a:\n  - 1 # c\n"),
        ("null\n", set("a", json!(1)), "a: 1\n"),
        ("a: 1\n", remove("a"), ""),
        ("a: 1", set("b", json!(2)), "a: 1\nb: 2"),
        ("a: 1\nb: 2", remove("b"), "a: 1"),
        ("a: {}\n", set("a/b", json!(1)), "a:\n  b: 1\n"),
        ("a: # c\n", set("a/b", json!(1)), "a: # c\n  b: 1\n"),
        ("a: ~ # c\n", set("a/b", json!(1)), "a: # c\n  b: 1\n"),
        ("a: null\nb: 1\n", append("a", json!(1)), "a:\n  - 1\nb: 1\n"),
        (
            "a: []\n",
            append("a", json!({"name": "x", "args": ["y"]})),
            "a:\n  - name: x\n    args:\n      - \"y\"\n",
        ),
        ("a:\n  b: 1\n", remove("a/b"), "a: {}\n"),
        ("a: # c\n  - b\n", remove("a/0"), "a: [] # c\n"),
        ("a:\n- b\n", append("a", json!("c")), "a:\n- b\n- c\n"),
        ("a:\n- b\n", set("c", json!(["d"])), "a:\n- b\nc:\n- d\n"),
        (
            "m:\n  - name: a\n    command: x\n\n  - name: b\n    command: y\n",
            set("m/0/command", json!("z")),
            "m:\n  - name: a\n    command: z\n\n  - name: b\n    command: y\n",
        ),
        (
            "m:\n  - name: a\n    command: x\n\n  - name: b\n",
            set("m/0/args", json!(["z"])),
            "m:\n  - name: a\n    command: x\n    args:\n      - z\n\n  - name: b\n",
        ),
        (
            "m:\n  - name: a\n    command: x\n  - name: b\n",
            remove("m/0/name"),
            "m:\n  - command: x\n  - name: b\n",
        ),
        ("m:\n  - name: a\n    command: x\n  - name: b\n", remove("m/0"), "m:\n  - name: b\n"),
        ("m:\n  - name: a\n", remove("m/0/name"), "m:\n  - {}\n"),
        ("m:\n  - name: a\n", set("m/0", json!("x")), "m:\n  - x\n"),
        ("m:\n  - x # c\n", set("m/0", json!({"a": 1, "b": 2})), "m:\n  - a: 1\n    b: 2 # c\n"),
        ("m:\n  -\n    # c\n    a: 1\n", set("m/0/b", json!(2)), "m:\n  -\n    # c\n    a: 1\n    b: 2\n"),
        ("m:\n  - - a\n    - b\n", remove("m/0/0"), "m:\n  - - b\n"),
        ("m:\n  - - a\n", append("m/0", json!("b")), "m:\n  - - a\n    - b\n"),
        ("m: {a: , b}\n", set("m/a", json!("x")), "m: {a: x , b}\n"),
        ("m: {a: , b}\n", set("m/b", json!("x")), "m: {a: , b: x}\n"),
        ("m: {a: , b}\n", remove("m/b"), "m: {a:}\n"),
        ("{\"a\": {\"b\": [\"x\"]}}\n", append("a/b", json!("y")), "{\"a\": {\"b\": [\"x\", \"y\"]}}\n"),
        ("{\"a\": {\"b\": [\"x\"]}}\n", set("a/c", json!("z")), "{\"a\": {\"b\": [\"x\"], \"c\": \"z\"}}\n"),
        (
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n",
            set("b/d", json!([])),
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2,\n    \"d\": []\n  }\n}\n",
        ),
        ("a: |\n  x\n\n# c\nb: 1\n", set("a", json!("w")), "a: w\n\n# c\nb: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", set("a", json!("w")), "a: w\nb: 1\n"),
        ("b: 1\na: |+\n  x\n\n", set("c", json!(1)), "b: 1\na: |+\n  x\n\nc: 1\n"),
        ("a: >-\n  x\n  y\nb: |2-\n    z\n", set("c", json!(1)), "a: >-\n  x\n  y\nb: |2-\n    z\nc: 1\n"),
        ("a: one\n  two # c\nb: 1\n", set("a", json!("x")), "a: x # c\nb: 1\n"),
        ("a:\n  one # c\nb: 1\n", set("a", json!("x")), "a:\n  x # c\nb: 1\n"),
        ("a:\n  one # c\nb: 1\n", set("a", json!(["x", "y"])), "a:\n  - x\n  - \"y\" # c\nb: 1\n"),
        ("a: x # c\nb: 1\n", set("a", json!({"z": 1})), "a: # c\n  z: 1\nb: 1\n"),
        ("a: \"x\n  y\" # c\n", set("a", json!("z")), "a: \"z\" # c\n"),
        ("a: &x 1\nb: *x\nc: 2\n", set("c", json!(3)), "a: &x 1\nb: *x\nc: 3\n"),
        ("a: &x 1\nb: *x\n", set("b", json!(3)), "a: &x 1\nb: 3\n"),
        (
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n",
            set("b/m", json!(3)),
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n  m: 3\n",
        ),
        ("a: &unused\n  k: 1\n", set("a/l", json!(3)), "a: &unused\n  k: 1\n  l: 3\n"),
        ("a: &u [1]\n", append("a", json!(2)), "a: &u [1, 2]\n"),
        ("a: !!str 12\nb: !mine 3\nc: 1\n", set("c", json!(2)), "a: !!str 12\nb: !mine 3\nc: 2\n"),
        ("1: a\nyes: b\n~: c\n[x]: d\ne: 1\n", set("e", json!(2)), "1: a\nyes: b\n~: c\n[x]: d\ne: 2\n"),
        ("? a\n: b\nc: 1\n", set("c", json!(2)), "? a\n: b\nc: 2\n"),
        ("\"a b\": 1\n'c': 2\n", set("c", json!(3)), "\"a b\": 1\n'c': 3\n"),
        ("%YAML 1.2\n---\na: 1\n", set("a", json!(2)), "%YAML 1.2\n---\na: 2\n"),
        ("a: 1\na: 2\nb: 1\n", set("b", json!(2)), "a: 1\na: 2\nb: 2\n"),
        ("é: ü\nb: 1 # ö\n", set("b", json!("ä")), "é: ü\nb: \"ä\" # ö\n"),
        ("- 1\n- 2\n", Edit::Append { to: Place::default(), value: json!(3) }, "- 1\n- 2\n- 3\n"),
    ];
    for (before, edit, after) in table {
        assert_eq!(edited(before, &edit).as_deref(), Ok(after), "{before:?} {edit:?}");
    }
}

#[test]
fn what_cannot_be_told_apart_is_refused_and_nothing_changes() {
    for (text, edit, why) in [
        ("a: &x\n  k: 1\nb: *x\n", set("b/k", json!(2)), "alias"),
        ("a: &x\n  k: 1\nb: *x\n", set("a/k", json!(2)), "alias"),
        ("a: &x\n  k: 1\nb: *x\n", set("a", json!(2)), "alias"),
        ("a: &x\n  k: 1\nb: *x\n", remove("a"), "alias"),
        ("a:\n  k: &x 1\nb: *x\n", remove("a"), "alias"),
        ("a:\n  k: &x 1\nb: *x\n", set("a/k", json!(2)), "alias"),
        ("a: &x [1]\nb: *x\n", append("b", json!(2)), "alias"),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", set("b/k", json!(2)), "merge"),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", remove("b/k"), "merge"),
        ("a: 1\na: 2\n", set("a", json!(3)), "twice"),
        ("a: {b: 1, b: 2}\n", remove("a/b"), "twice"),
        ("a: !mine\n  k: 1\n", set("a/k", json!(2)), "tag"),
        ("a: !!int 3\n", set("a", json!(2)), "tag"),
        ("? a\n: k: 1\n", set("a/k", json!(2)), "`?`"),
        ("a:\n  -\tk: 1\n", set("a/0/l", json!(2)), "tab"),
        ("a: 1\n", set("a/b", json!(2)), "no mapping"),
        ("- 1\n", set("a", json!(2)), "no mapping"),
        ("a: 1\n", append("a", json!(2)), "no sequence"),
        ("a: [1]\n", set("a/1", json!(2)), "no such"),
        ("a: 1\n", remove("b"), "nothing"),
        ("a: 1\n", remove("a/b"), "nothing"),
        ("a: [1]\n", remove("a/1"), "nothing"),
        ("", remove("a"), "nothing"),
        ("a: [b: 1]\n", set("a/0/b", json!(2)), "tag"),
        ("a: 1\rb: 2\n", set("a", json!(2)), "carriage"),
        ("a: 1\n", Edit::Remove { at: Place::default() }, "document itself"),
    ] {
        let mut yaml = parse(text).unwrap();
        match yaml.edit(&edit) {
            Err(EditError::Place(said)) => assert!(said.contains(why), "{text:?}: {said}"),
            other => panic!("{text:?} {edit:?}: {other:?}"),
        }
        assert_eq!(yaml.text(), text);
    }
}

#[test]
fn what_is_no_single_document_is_not_read() {
    let refused = |text: &str| parse(text).unwrap_err();
    assert!(matches!(refused("a: 1\n---\nb: 2\n"), EditError::Place(_)));
    assert_eq!(refused("a: 1\nb: [s3cret\n"), EditError::Syntax("not valid YAML at line 2, column 4".into()));
    for text in ["a:\n\t- x\n", "a: *nowhere\n", "a: b: c\n", "{a: 1", "a: \"x\n", "a: 1\n b: 2\n"] {
        assert!(matches!(refused(text), EditError::Syntax(_)), "{text:?}");
    }
}

#[test]
fn bombs_and_depth_are_bounded() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = level - 1;
        laughs += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 10].join(", "));
    }
    assert!(matches!(parse(&laughs), Err(EditError::Syntax(_))));
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
        format!("{}{}x{}", "- ".repeat(200), "[".repeat(200), "]".repeat(200)),
    ] {
        let _ = parse(&text);
    }
}

#[test]
fn what_json_does_not_have_is_left_out_of_the_value_or_a_string() {
    let yaml =
        parse("1: a\ntrue: b\n[c]: d\ne: .inf\nf: 2024-01-01\ng: no\nh: 18446744073709551616\n").unwrap();
    let value = yaml.0.value();
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["e", "f", "g", "h"]);
    assert_eq!((&value["e"], &value["f"], &value["g"]), (&json!(".inf"), &json!("2024-01-01"), &json!("no")));
    assert_eq!(parse("").unwrap().0.value(), &json!({}));
}

/// A mapping or a sequence, with comments and layouts as people have them.
fn a_node(depth: u32, column: usize) -> BoxedStrategy<String> {
    let scalar = prop_oneof![
        "[a-z]{1,4}",
        Just("\"q # : x\"".to_owned()),
        Just("'it''s'".to_owned()),
        "[0-9]{1,2}",
        Just(String::new()),
        Just("{}".to_owned()),
        Just("[ x , {k: v}, \"y\" ]".to_owned()),
        Just("{ k: v, \"l\": [] } # in brackets".to_owned()),
        Just("C:\\x # a path".to_owned()),
        Just("yes".to_owned()),
        Just(format!("|\n{0}  text: |\n{0}   - no item\n\n{0}  # no comment", " ".repeat(column))),
        Just(format!("long\n{0}   lines", " ".repeat(column))),
        Just(format!("[\n{0}  a, # c\n{0}  b\n{0}  ]", " ".repeat(column))),
    ]
    .prop_map(|text| if text.is_empty() { text } else { format!(" {text}") });
    let scalar = (scalar, any::<bool>()).prop_map(|(text, comment)| {
        if comment && !text.contains(['\n', '#']) { format!("{text} # c") } else { text }
    });
    if depth == 0 {
        return scalar.prop_map(|text| format!("{text}\n")).boxed();
    }
    let scalar = scalar.prop_map(|text| format!("{text}\n")).boxed();
    let pad = " ".repeat(column);
    let gap = prop_oneof![4 => Just(String::new()), 1 => Just("\n".to_owned()), 1 => Just(format!("{pad}# between\n")), 1 => Just("# left\n".to_owned())];
    let mapping = (
        1_usize..5,
        proptest::collection::vec((gap.clone(), scalar.clone(), any::<bool>()), 1..4),
        a_node(depth - 1, column + 2),
        a_node(depth - 1, column + 4),
    )
        .prop_map({
            let pad = pad.clone();
            move |(_, members, narrow, wide)| {
                let mut out = "\n".to_owned();
                for (index, (gap, scalar, quoted)) in members.into_iter().enumerate() {
                    let key = if quoted { format!("\"k{index}\"") } else { format!("k{index}") };
                    out += &format!("{gap}{pad}{key}:{scalar}");
                }
                let (inner, other) =
                    if out.len().is_multiple_of(2) { (&narrow, &wide) } else { (&wide, &narrow) };
                out += &format!("{pad}inner:{inner}");
                if out.len().is_multiple_of(3) && other == &narrow {
                    out += &format!("{pad}other:{other}");
                }
                out
            }
        });
    let sequence = proptest::collection::vec((gap, scalar.clone()), 1..4).prop_map(move |items| {
        let mut out = "\n".to_owned();
        for (gap, scalar) in items {
            out += &format!("{gap}{pad}-{scalar}");
        }
        out + &format!("{pad}- name: x\n{pad}  args: [a]\n")
    });
    prop_oneof![scalar, mapping, sequence].boxed()
}

fn a_document() -> impl Strategy<Value = String> {
    let start = prop_oneof![Just(""), Just("# top\n"), Just("---\n"), Just("# top\n\n")];
    let end = prop_oneof![3 => Just(""), 1 => Just("# end\n"), 1 => Just("...\n"), 1 => Just("\n\n")];
    (start, a_node(2, 2), a_node(2, 1), end, any::<bool>())
        .prop_map(|(start, one, two, end, ended)| {
            let text = format!("{start}one:{one}# middle\ntwo:{two}{end}");
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
        "[a-z0-9:# ~.-]{0,6}".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!({"command": "x", "args": ["a", "no"], "env": {"K": "v", "L": {}}})),
        Just(json!([{"matcher": "*", "hooks": [{"type": "command"}]}])),
        Just(json!(["a", "b"])),
        Just(json!([])),
    ]
}

proptest! {
    #[test]
    fn what_is_added_and_removed_leaves_no_trace(text in a_document(), value in a_value(), pick in any::<prop::sample::Index>()) {
        let mut yaml = parse(&text).unwrap();
        let mut holders = vec![Place::default()];
        places(&yaml.1, &Place::default(), &mut holders);
        // What is empty is written anew, and comes back as `{}` or `[]` alone.
        holders.retain(|at| match at.of(&yaml.1) {
            Some(Value::Object(members)) => !members.is_empty(),
            Some(Value::Array(values)) => !values.is_empty(),
            _ => false,
        });
        let holder = pick.get(&holders);
        let at = match holder.of(&yaml.1) {
            Some(Value::Array(values)) => {
                let at = holder.index(values.len());
                yaml.edit(&Edit::Append { to: holder.clone(), value }).unwrap();
                at
            }
            _ => {
                let at = holder.key("new");
                yaml.edit(&Edit::Set { at: at.clone(), value }).unwrap();
                at
            }
        };
        yaml.edit(&Edit::Remove { at }).unwrap();
        prop_assert_eq!(yaml.text(), text);
    }

    #[test]
    fn what_is_set_and_set_back_leaves_the_other_lines(text in a_document(), value in a_value(), pick in any::<prop::sample::Index>()) {
        let old = parse(&text).unwrap();
        let mut scalars = Vec::new();
        places(&old.1, &Place::default(), &mut scalars);
        scalars.retain(|at| at.of(&old.1).is_some_and(|v| v.is_number() || v.is_string()));
        if scalars.is_empty() {
            return Ok(());
        }
        let at = pick.get(&scalars).clone();
        let back = at.of(&old.1).unwrap().clone();
        let mut yaml = parse(&text).unwrap();
        yaml.edit(&Edit::Set { at: at.clone(), value }).unwrap();
        yaml.edit(&Edit::Set { at, value: back }).unwrap();
        prop_assert_eq!(&yaml.1, &old.1);
        // All other lines are there, in their order; the value itself may have had several.
        let new = yaml.text();
        let common = new.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
        let new_tail: Vec<&str> = new.lines().skip(common + 1).collect();
        let old_tail: Vec<&str> = text.lines().collect();
        prop_assert!(old_tail.ends_with(&new_tail), "{}\n=>\n{}", text, new);
    }

    #[test]
    fn what_is_removed_takes_nothing_else(text in a_document(), pick in any::<prop::sample::Index>()) {
        let old = parse(&text).unwrap();
        let mut all = Vec::new();
        places(&old.1, &Place::default(), &mut all);
        let at = pick.get(&all).clone();
        let mut yaml = parse(&text).unwrap();
        yaml.edit(&Edit::Remove { at }).unwrap();
        let new = yaml.text().replacen(" {}", "", 1).replacen(" []", "", 1);
        let mut chars = text.chars();
        let text_without = text.replacen(" {}", "", 1).replacen(" []", "", 1);
        let mut without = text_without.chars();
        prop_assert!(yaml.text().chars().all(|c| chars.any(|o| o == c)) || new.chars().all(|c| without.any(|o| o == c)), "{}\n=>\n{}", text, yaml.text());
    }

    #[test]
    fn what_is_written_is_read_by_either_version(words in proptest::collection::vec(any::<String>(), 0..4)) {
        for text in ["a: b\n", "a: {c: d}\n", "a: 'b'\n", "a: \"b\"\n", "a:\n  - b\n"] {
            let mut yaml = parse(text).unwrap();
            yaml.edit(&Edit::Set { at: place("a"), value: json!(words) }).unwrap();
            prop_assert_eq!(&yaml.1["a"], &json!(words));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}:,\"'#\\n ab1|>&*!?-]{0,40}") {
        if let Ok(mut yaml) = parse(&text) {
            let before = yaml.text();
            if yaml.edit(&set("a/b", json!("x"))).is_err() {
                prop_assert_eq!(yaml.text(), before);
            }
        }
    }
}
