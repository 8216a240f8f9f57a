//! That the second look finds what an edit must not do.

use serde_json::json;

use super::*;

fn set(at: &[&str], value: Value) -> Edit {
    Edit::Set { at: Place::keys(at.iter().copied()), value }
}

/// Whether a text is what an edit of another one makes.
fn made(old: &str, edit: &Edit, new: &str, format: Format) -> bool {
    exact(old, format).unwrap().carried_out(edit).unwrap().agrees(&exact(new, format).unwrap(), format)
}

#[test]
fn json_is_compared_by_what_is_written() {
    let b = set(&["b"], json!(2));
    for (old, new, agrees) in [
        (r#"{"a": 1.50}"#, r#"{"a": 1.50, "b": 2}"#, true),
        (r#"{"a": 1.50}"#, r#"{"b": 2, "a": 1.50}"#, false),
        (r#"{"a": 1.50}"#, r#"{"a": 1.5, "b": 2}"#, false),
        (r#"{"a": 1.50}"#, r#"{"a": 1.50, "b": 2.0}"#, false),
        (r#"{"a": 12345678901234567890123}"#, r#"{"a": 12345678901234567890124, "b": 2}"#, false),
        (r#"{"a": 0.1}"#, r#"{"a": 0.10000000000000001, "b": 2}"#, false),
        (r#"{"a": 1}"#, r#"{"a": "1", "b": 2}"#, false),
        (r#"{"a": {"x": 1, "y": 2}}"#, r#"{"a": {"y": 2, "x": 1}, "b": 2}"#, false),
        (r#"{"a": 1, "a": 2}"#, r#"{"a": 1, "a": 2, "b": 2}"#, true),
        (r#"{"a": 1, "a": 2}"#, r#"{"a": 2, "b": 2}"#, false),
        (r#"{"b": 1, "c": 1}"#, r#"{"b": 2, "c": 1}"#, true),
        (r#"{"b": 1, "c": 1}"#, r#"{"c": 1, "b": 2}"#, false),
        (r#"{"a": null}"#, r#"{"a": null, "b": 2, "c": null}"#, false),
        ("", r#"{"b": 2}"#, true),
        ("{/* \" */ \"a\": [1, // ]\n 2,],}", r#"{"a": [1, 2], "b": 2}"#, true),
    ] {
        assert_eq!(made(old, &b, new, Format::Jsonc), agrees, "{old} and {new}");
    }
}

#[test]
fn toml_is_compared_by_what_is_written() {
    let b = set(&["b"], json!(2));
    for (old, new, agrees) in [
        ("a = 1.50\n[t]\nx = 0x1F\n", "a = 1.50\nb = 2\n[t]\nx = 0x1F\n", true),
        ("a = 1.50\n[t]\nx = 0x1F\n", "b = 2\na = 1.50\n[t]\nx = 0x1F\n", true),
        ("a = 1.50\n", "a = 1.5\nb = 2\n", false),
        ("a = 0x1F\n", "a = 31\nb = 2\n", false),
        ("a = 2026-01-01\n", "a = \"2026-01-01\"\nb = 2\n", false),
        // A table has no order; an array of them has.
        ("a = 1\nc = 1\n", "c = 1\na = 1\nb = 2\n", true),
        ("[[a]]\nx = 1\n[[a]]\nx = 2\n", "b = 2\n[[a]]\nx = 2\n[[a]]\nx = 1\n", false),
        ("z.x = 1\na.y = 2\n", "z.x = 1\na.y = 2\nb = 2\n", true),
        ("a = [1]\n", "a = [1, 1]\nb = 2\n", false),
    ] {
        assert_eq!(made(old, &b, new, Format::Toml), agrees, "{old} and {new}");
    }
}

#[test]
fn yaml_is_compared_by_what_is_understood() {
    let b = set(&["b"], json!(2));
    for (old, new, agrees) in [
        ("a: 1 # x\n", "a: 1\nb: 2\n", true),
        ("a: &x [1]\nc: *x\n", "a: &x [1]\nc: *x\nb: 2\n", true),
        ("a: 1\n", "b: 2\na: 1\n", false),
        ("a: '1'\n", "a: 1\nb: 2\n", false),
        ("a: yes\n", "a: yes\nb: 2\n", true),
        ("a: yes\n", "a: 'yes'\nb: 2\n", true),
        ("a: yes\n", "a: true\nb: 2\n", false),
        ("1: x\n", "'1': x\nb: 2\n", false),
        ("a: ~\n", "a:\nb: 2\n", true),
        ("a: |\n  x\n", "a: x\nb: 2\n", false),
        ("# only\n", "# only\nb: 2\n", true),
        ("a: 1.50\n", "a: 1.50\nb: '2'\n", false),
    ] {
        assert_eq!(made(old, &b, new, Format::Yaml), agrees, "{old} and {new}");
    }
}

#[test]
fn an_edit_is_carried_out() {
    let step = |at: &str| serde_json::from_str::<Place>(at).unwrap();
    for (old, edit, new) in [
        (
            r#"{"a": {"b": [1]}}"#,
            Edit::Append { to: step(r#"["a", "b"]"#), value: json!(2) },
            r#"{"a": {"b": [1, 2]}}"#,
        ),
        (r#"{"a": {}}"#, Edit::Append { to: step(r#"["a", "b"]"#), value: json!(2) }, r#"{"a": {"b": [2]}}"#),
        ("[1]", Edit::Append { to: step("[]"), value: json!(2) }, "[1, 2]"),
        ("[[1], 2]", Edit::Remove { at: step("[0, 0]") }, "[[], 2]"),
        (r#"{"a": {"b": 1, "c": 2}}"#, Edit::Remove { at: step(r#"["a", "b"]"#) }, r#"{"a": {"c": 2}}"#),
        (r#"{"a": 1}"#, set(&["b", "c"], json!({"d": 1.0})), r#"{"a": 1, "b": {"c": {"d": 1.0}}}"#),
    ] {
        assert!(made(old, &edit, new, Format::Json), "{old} and {new}");
        assert!(!made(old, &edit, old, Format::Json), "{old}");
    }
}

#[test]
fn a_new_number_counts_by_its_value_where_it_is_no_whole_one() {
    assert!(made("", &set(&["b"], json!(1e300)), "b = 1e300\n", Format::Toml));
    assert!(made("", &set(&["b"], json!(2.5)), "b = 2.50\n", Format::Toml));
    assert!(!made("", &set(&["b"], json!(2)), "b = 2.0\n", Format::Toml));
    assert!(!made("", &set(&["b"], json!(9007199254740993_u64)), "b = 9007199254740992\n", Format::Toml));
}
