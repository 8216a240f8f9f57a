//! What is kept of the tools that a server declares, whatever it declares.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_model::tools::{LONGEST_SET, MOST_TOOLS, ToolSet};
use bir_record::Redactor;
use bir_record::redact::{RedactionKey, Rules};
use bir_record::tools::{Listing, SafeTools, hash};
use proptest::prelude::*;
use serde_json::{Value, json};

fn redactor() -> Redactor {
    let dir = tempfile::tempdir().unwrap();
    Redactor::new(RedactionKey::load_or_create(dir.path()).unwrap(), Rules::default()).0
}

fn read(redactor: &Redactor, result: &Value) -> SafeTools {
    read_text(redactor, &result.to_string())
}

fn read_text(redactor: &Redactor, result: &str) -> SafeTools {
    let mut listing = Listing::default();
    listing.add(None, result.as_bytes(), true);
    listing.read(redactor)
}

/// A secret by its shape.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

#[test]
fn names_schemas_and_hints_are_kept_and_nothing_that_is_for_people() {
    let set = read(
        &redactor(),
        &json!({"tools": [{
            "name": "book", "title": "Book", "description": "Books it.", "_meta": {"x": 1}, "icons": [],
            "annotations": {"title": "B", "readOnlyHint": false, "destructiveHint": "no", "idempotentHint": true},
            "outputSchema": {"type": "object"},
            "inputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema", "description": "d", "type": "object",
                "properties": {
                    "description": {"type": "string", "description": "d", "examples": ["e"], "minLength": 1},
                    "class": {"enum": ["economy", "first", 3, null], "default": "economy", "x-note": {"a": "b"}},
                    "to": {"anyOf": [{"type": ["string", "null"]}, {"$ref": "#/$defs/a"}]},
                },
                "required": ["to", "class", "to"], "additionalProperties": false, "$defs": {"a": {"const": 7}},
            },
        }, {"name": "bare"}]}),
    );
    assert_eq!(
        serde_json::to_value(set.set()).unwrap(),
        json!({"tools": [{"name": "bare"}, {
            "name": "book", "annotations": {"idempotentHint": true, "readOnlyHint": false},
            "inputSchema": {
                "$defs": {"a": {"const": 7}}, "additionalProperties": false,
                "properties": {
                    "description": {"minLength": 1, "type": "string"},
                    "class": {"default": "economy", "enum": ["economy", "first", 3, null]},
                    "to": {"anyOf": [{"type": ["string", "null"]}, {"$ref": "#/$defs/a"}]},
                },
                "required": ["class", "to"], "type": "object",
            },
        }]})
    );
    assert_eq!((set.hash(), set.hash().len()), (&*hash(set.set()), 64));
}

#[test]
fn secrets_in_defaults_enums_and_names_do_not_stay_and_the_hash_does() {
    let redactor = redactor();
    let result = json!({"tools": [{"name": "t", "inputSchema": {"properties": {
        "password": {"type": "string", "default": "hunter2-hunter2"},
        "key": {"enum": [TOKEN, "none"]},
        TOKEN: {"type": "string"},
        "url": {"default": format!("https://u:hunter2-hunter2@h/?token={TOKEN}"), "pattern": TOKEN},
        "list": {"items": {"properties": {"api_key": {"const": "hunter2-hunter2"}}}, "default": [{"secret": "hunter2-hunter2"}]},
    }, "required": [TOKEN], "x-internal": TOKEN}}]});
    let safe = read(&redactor, &result);
    let text = safe.set().canonical();
    assert!(!text.contains("hunter2") && !text.contains(&TOKEN[4..]), "{text}");
    assert!(text.contains("none") && text.contains("password"), "{text}");
    assert_eq!(read(&redactor, &result).hash(), safe.hash());
    let again = SafeTools::of(safe.set().clone(), &redactor);
    assert_eq!(again, safe, "what is redacted stays as it is");
}

#[test]
fn what_is_beyond_the_limits_is_left_out_and_says_so() {
    let redactor = redactor();
    let long = json!({"enum": (0..20_000).map(|n| format!("word{n}")).collect::<Vec<_>>()});
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"items": deep});
    }
    let set = read(
        &redactor,
        &json!({"tools": [
            {"name": "long", "inputSchema": long}, {"name": "deep", "inputSchema": deep}, {"name": "x".repeat(300)},
            {"name": "none", "inputSchema": [1]}, {"title": "nameless"}, {"name": 7}, "no tool", null,
        ]}),
    );
    let told: Vec<_> =
        set.set().tools.iter().map(|t| (t.name.as_str(), t.input_schema.is_some(), t.left_out)).collect();
    assert_eq!(told, [("deep", false, true), ("long", false, true), ("none", false, true)]);
    assert_eq!(set.set().left_out, 5);

    let many =
        json!({"tools": (0..MOST_TOOLS + 7).map(|n| json!({"name": format!("t{n}")})).collect::<Vec<_>>()});
    let set = read(&redactor, &many);
    assert_eq!((set.set().tools.len(), set.set().left_out), (MOST_TOOLS, 7));

    let big = json!({"enum": (0..2_000).map(|n| format!("the word {n} of many")).collect::<Vec<_>>()});
    let many = json!({"tools": (0..60).map(|n| json!({"name": format!("t{n}"), "inputSchema": big})).collect::<Vec<_>>()});
    let set = read(&redactor, &many);
    assert!(set.set().canonical().len() <= LONGEST_SET + 64 && set.set().left_out > 0);
    assert_eq!(set.set().tools.len() + set.set().left_out as usize, 60);

    // Nested as deep as bytes go, in one tool: the others stay.
    let nested = format!(
        r#"{{"tools":[{{"name":"a"}},{{"name":"b","inputSchema":{}1{}}},{{"name":"c"}}]}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let set = read_text(&redactor, &nested);
    let told: Vec<_> = set.set().tools.iter().map(|t| (t.name.as_str(), t.left_out)).collect();
    assert_eq!(told, [("a", false), ("b", true), ("c", false)]);
}

#[test]
fn pages_go_on_begin_anew_and_may_be_cut() {
    let redactor = redactor();
    let names = |listing: &Listing| {
        let safe = listing.read(&redactor);
        let names: Vec<_> = safe.set().tools.iter().map(|tool| tool.name.clone()).collect();
        (names.join(" "), safe.set().left_out)
    };
    let mut listing = Listing::default();
    listing.add(Some(b"{\"_meta\":{}}"), br#"{"nextCursor":"1","tools":[{"name":"b"},{"name":"a"}]}"#, true);
    assert_eq!(names(&listing), ("a b".into(), 1));
    listing.add(
        Some(b"{\"cursor\":\"1\"}"),
        br#"{"tools":[{"name":"c"},{"name":"a"}],"nextCursor":null}"#,
        true,
    );
    assert_eq!(names(&listing), ("a b c".into(), 0));
    listing.add(Some(b"no json"), br#"{"tools":[{"name":"d"},{"name":"e"},{"nam"#, false);
    assert_eq!(names(&listing), ("d e".into(), 1));
    listing = Listing::default();
    listing.add(Some(b"{\"cursor\":\"9\"}"), br#"{"tools":[{"name":"z"}]}"#, true);
    assert_eq!(names(&listing), ("z".into(), 1), "its beginning was not seen");
    for _ in 0..1_000 {
        listing.add(Some(b"{\"cursor\":\"9\"}"), &[b' '; 64 << 10], true);
    }
    assert!(format!("{listing:?}").contains("65 pages") || listing.read(&redactor).set().left_out > 0);
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "properties",
        "items",
        "enum",
        "default",
        "type",
        "required",
        "anyOf",
        "$defs",
        "name",
        "password",
        "token",
        "not",
        "const",
        "x",
        "inputSchema",
        "pattern",
        "dependentRequired",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        words.clone().prop_map(Value::from),
        Just(Value::from(TOKEN)),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_declared_nothing_fails_no_token_stays_and_reading_again_changes_nothing(
        schema in any_json(), annotations in any_json(), cut in 0usize..400
    ) {
        let redactor = redactor();
        let text = json!({"tools": [{"name": "a", "inputSchema": schema, "annotations": annotations}, schema]}).to_string();
        let safe = read_text(&redactor, &text);
        prop_assert!(!safe.set().canonical().contains(&TOKEN[4..]));
        let read_back: ToolSet = serde_json::from_str(&safe.set().canonical()).unwrap();
        prop_assert_eq!(hash(&read_back), safe.hash());
        let again = SafeTools::of(read_back, &redactor);
        prop_assert_eq!(again.hash(), safe.hash());
        let mut end = cut.min(text.len());
        while !text.is_char_boundary(end) { end -= 1; }
        let _ = read_text(&redactor, &text[..end]);
    }
}
