//! Edits of JSON in the shapes that people and programs write it in: what comes out, byte for byte, and what taking the edit back
//! leaves.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use bir_edit::{Document, EditError};
use bir_model::{Edit, Format, Place, Step};
use serde_json::{Value, json};

fn place(steps: &Value) -> Place {
    serde_json::from_value(steps.clone()).unwrap()
}

fn set(at: Value, value: Value) -> Edit {
    Edit::Set { at: place(&at), value }
}

fn append(to: Value, value: Value) -> Edit {
    Edit::Append { to: place(&to), value }
}

fn remove(at: Value) -> Edit {
    Edit::Remove { at: place(&at) }
}

fn edited(text: &str, format: Format, edit: &Edit) -> Result<String, EditError> {
    let mut document = Document::parse(text.as_bytes(), format)?;
    document.edit(edit)?;
    let bytes = document.bytes();
    let again = Document::parse(&bytes, format).unwrap();
    assert_eq!(again.value(), document.value());
    Ok(String::from_utf8(bytes).unwrap())
}

/// Name, text, edit, outcome.
type Row = (&'static str, &'static str, Edit, &'static str);

fn check(rows: Vec<Row>) {
    for (name, text, edit, expected) in rows {
        let outcome = edited(text, Format::Jsonc, &edit).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome, expected, "{name}");
        if Document::parse(text.as_bytes(), Format::Json).is_ok() {
            assert_eq!(edited(text, Format::Json, &edit).unwrap(), expected, "{name}, without comments");
        }
    }
}

#[test]
fn a_member_is_added() {
    let b = || set(json!(["b"]), json!(2));
    let x = || set(json!(["s", "x"]), json!({"command": "p", "args": ["-y", "q"]}));
    check(vec![
        ("two spaces", "{\n  \"a\": 1\n}\n", b(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n"),
        ("four spaces", "{\n    \"a\": 1\n}", b(), "{\n    \"a\": 1,\n    \"b\": 2\n}"),
        ("tabs", "{\n\t\"a\": 1\n}\n", b(), "{\n\t\"a\": 1,\n\t\"b\": 2\n}\n"),
        ("CRLF", "{\r\n  \"a\": 1\r\n}\r\n", b(), "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"),
        ("mixed line ends", "{\r\n  \"a\": 1\n}\r\n", b(), "{\r\n  \"a\": 1,\n  \"b\": 2\n}\r\n"),
        ("a mark", "\u{feff}{\n  \"a\": 1\n}\n", b(), "\u{feff}{\n  \"a\": 1,\n  \"b\": 2\n}\n"),
        ("one line", "{\"a\": 1}", b(), "{\"a\": 1, \"b\": 2}"),
        ("one tight line", "{\"a\":1}", b(), "{\"a\":1,\"b\":2}"),
        ("one tight line of more", "{\"a\":1,\"c\":3}\n", b(), "{\"a\":1,\"c\":3,\"b\":2}\n"),
        ("one padded line", "{ \"a\": 1 }", b(), "{ \"a\": 1, \"b\": 2 }"),
        ("a trailing comma", "{\n  \"a\": 1,\n}\n", b(), "{\n  \"a\": 1,\n  \"b\": 2,\n}\n"),
        ("a trailing comma in one line", "{\"a\": 1,}", b(), "{\"a\": 1, \"b\": 2,}"),
        (
            "a comment behind the last",
            "{\n  \"a\": 1 // of a\n}\n",
            b(),
            "{\n  \"a\": 1, // of a\n  \"b\": 2\n}\n",
        ),
        (
            "a comment behind the last comma",
            "{\n  \"a\": 1, /* of */ // a\n}\n",
            b(),
            "{\n  \"a\": 1, /* of */ // a\n  \"b\": 2,\n}\n",
        ),
        (
            "a comment below the last",
            "{\n  \"a\": 1\n  // \"c\": 3\n}\n",
            b(),
            "{\n  \"a\": 1,\n  \"b\": 2\n  // \"c\": 3\n}\n",
        ),
        ("a comment in one line", "{\"a\": 1 /* of a */}", b(), "{\"a\": 1 /* of a */, \"b\": 2}"),
        (
            "a comment to the line end behind one line",
            "{ \"a\": 1 // of a\n}",
            b(),
            "{ \"a\": 1, // of a\n  \"b\": 2\n}",
        ),
        (
            "a comma on the next line",
            "{\n  \"a\": 1 // of a\n  ,\n}",
            b(),
            "{\n  \"a\": 1 // of a\n  ,\n  \"b\": 2,\n}",
        ),
        ("commas first", "{ \"a\": 1\n, \"c\": 3\n}", b(), "{ \"a\": 1\n, \"c\": 3, \"b\": 2\n}"),
        ("a closing brace behind the last", "{\n  \"a\": 1 }\n", b(), "{\n  \"a\": 1,\n  \"b\": 2 }\n"),
        ("spaces behind the last", "{\n  \"a\": 1  \n}\n", b(), "{\n  \"a\": 1,\n  \"b\": 2  \n}\n"),
        (
            "a brace in a text",
            "{\n  \"a\": \"}, // \\\"\"\n}\n",
            b(),
            "{\n  \"a\": \"}, // \\\"\",\n  \"b\": 2\n}\n",
        ),
        ("nothing", "", b(), "{\n  \"b\": 2\n}\n"),
        ("a line end", "\n", b(), "{\n  \"b\": 2\n}\n"),
        ("a mark alone", "\u{feff}", b(), "\u{feff}{\n  \"b\": 2\n}\n"),
        ("a Windows line end", "\r\n", b(), "{\r\n  \"b\": 2\r\n}\r\n"),
        ("a comment alone", "// mine\n", b(), "// mine\n{\n  \"b\": 2\n}\n"),
        ("a comment without a line end", "// mine", b(), "// mine\n{\n  \"b\": 2\n}\n"),
        ("an empty object", "{}", b(), "{\n  \"b\": 2\n}"),
        ("an empty object on two lines", "{\n}\n", b(), "{\n  \"b\": 2\n}\n"),
        ("an empty object with a comment", "{\n    // mine\n}\n", b(), "{\n    // mine\n    \"b\": 2\n}\n"),
        (
            "an empty object with a comment behind its brace",
            "{ // mine\n}\n",
            b(),
            "{ // mine\n  \"b\": 2\n}\n",
        ),
        ("an empty object with a comment in one line", "{ /* mine */ }\n", b(), "{ /* mine */ \"b\": 2 }\n"),
        (
            "objects are made",
            "{\n  \"a\": 1\n}\n",
            x(),
            "{\n  \"a\": 1,\n  \"s\": {\n    \"x\": {\n      \"command\": \"p\",\n      \"args\": [\n        \"-y\",\n        \"q\"\n      ]\n    }\n  }\n}\n",
        ),
        (
            "an empty object is filled",
            "{\n\t\"s\": {},\n\t\"l\": [\"1\", \"2\"]\n}\n",
            x(),
            "{\n\t\"s\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"p\",\n\t\t\t\"args\": [\"-y\", \"q\"]\n\t\t}\n\t},\n\t\"l\": [\"1\", \"2\"]\n}\n",
        ),
        (
            "an empty object of one line is filled in it",
            "{\"s\":{},\"n\":1}",
            x(),
            "{\"s\":{\"x\":{\"command\":\"p\",\"args\":[\"-y\",\"q\"]}},\"n\":1}",
        ),
        (
            "one line in many",
            "{\n  \"s\": { \"w\": { \"command\": \"p\" } }\n}\n",
            x(),
            "{\n  \"s\": { \"w\": { \"command\": \"p\" }, \"x\": { \"command\": \"p\", \"args\": [\"-y\", \"q\"] } }\n}\n",
        ),
        (
            "a colon with spaces around",
            "{\n  \"a\" : {\n    \"c\" : 1\n  }\n}\n",
            set(json!(["a", "b"]), json!({"d": 1})),
            "{\n  \"a\" : {\n    \"c\" : 1,\n    \"b\" : {\n      \"d\" : 1\n    }\n  }\n}\n",
        ),
        (
            "a key that needs escapes",
            "{}",
            set(json!(["a\"\n\u{1}é"]), json!("\\\u{7f}")),
            "{\n  \"a\\\"\\n\\u0001é\": \"\\\\\u{7f}\"\n}",
        ),
        (
            "a key written with escapes is found",
            "{\"\\u0061\": {}}",
            set(json!(["a", "b"]), json!(1)),
            "{\"\\u0061\": {\"b\": 1}}",
        ),
        (
            "a key with dots is one key",
            "{\n  \"amp.mcpServers\": {\n    \"a\": 1\n  }\n}",
            set(json!(["amp.mcpServers", "b"]), json!(2)),
            "{\n  \"amp.mcpServers\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}",
        ),
        (
            "half a pair and long numbers stay",
            "{\n  \"a\": \"\\ud83d\",\n  \"n\": [1.50, 123456789012345678901234567890, 1E5, -0]\n}\n",
            b(),
            "{\n  \"a\": \"\\ud83d\",\n  \"n\": [1.50, 123456789012345678901234567890, 1E5, -0],\n  \"b\": 2\n}\n",
        ),
        (
            "a null where an object is needed",
            "{\n  \"s\": null // none\n}\n",
            x(),
            "{\n  \"s\": {\n    \"x\": {\n      \"command\": \"p\",\n      \"args\": [\n        \"-y\",\n        \"q\"\n      ]\n    }\n  } // none\n}\n",
        ),
        ("nothing but a null", "null\n", b(), "{\n  \"b\": 2\n}\n"),
        (
            "a key twice elsewhere",
            "{\n  \"a\": {\"k\": 1, \"k\": 2},\n  \"z\": 0\n}\n",
            b(),
            "{\n  \"a\": {\"k\": 1, \"k\": 2},\n  \"z\": 0,\n  \"b\": 2\n}\n",
        ),
    ]);
}

#[test]
fn an_element_is_added() {
    let y = || append(json!(["l"]), json!("y"));
    let o = || append(json!(["l"]), json!({"y": 1}));
    check(vec![
        ("one line", "{\n  \"l\": [\"x\"]\n}\n", y(), "{\n  \"l\": [\"x\", \"y\"]\n}\n"),
        (
            "lines",
            "{\n  \"l\": [\n    \"x\"\n  ]\n}\n",
            y(),
            "{\n  \"l\": [\n    \"x\",\n    \"y\"\n  ]\n}\n",
        ),
        ("several in a line", "{\"l\": [\n  1, 2,\n  3, 4\n]}", y(), "{\"l\": [\n  1, 2,\n  3, 4, \"y\"\n]}"),
        ("empty", "{\n  \"l\": []\n}\n", y(), "{\n  \"l\": [\"y\"]\n}\n"),
        (
            "empty, an object",
            "{\n  \"l\": []\n}\n",
            o(),
            "{\n  \"l\": [\n    {\n      \"y\": 1\n    }\n  ]\n}\n",
        ),
        ("none", "{\n  \"a\": 1\n}\n", y(), "{\n  \"a\": 1,\n  \"l\": [\n    \"y\"\n  ]\n}\n"),
        (
            "braces behind one another",
            "{\n  \"l\": [{\n    \"x\": 1\n  }, {\n    \"x\": 2\n  }]\n}\n",
            o(),
            "{\n  \"l\": [{\n    \"x\": 1\n  }, {\n    \"x\": 2\n  }, {\n    \"y\": 1\n  }]\n}\n",
        ),
        ("a null where an array is needed", "{\"l\": null}", y(), "{\"l\": [\"y\"]}"),
        ("to the whole", "[1]", append(json!([]), json!(2)), "[1, 2]"),
        ("in an element", "[{\"l\":[1]}]", append(json!([0, "l"]), json!(2)), "[{\"l\":[1,2]}]"),
        ("a comment inside", "{\"l\": [ // none\n]}", y(), "{\"l\": [ // none\n  \"y\"\n]}"),
    ]);
}

#[test]
fn a_value_is_replaced() {
    let a = |value| set(json!(["a"]), value);
    check(vec![
        ("a scalar", "{ \"a\" :  1 , \"b\": 2}", a(json!("x")), "{ \"a\" :  \"x\" , \"b\": 2}"),
        ("the same", "{\"a\": {\n \"b\" : 1 }}", a(json!({"b": 1})), "{\"a\": {\n \"b\" : 1 }}"),
        ("the same number in other words", "{\"a\": 1.50}", a(json!(1.5)), "{\"a\": 1.5}"),
        (
            "an object on lines",
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
            a(json!({"c": 2})),
            "{\n  \"a\": {\n    \"c\": 2\n  }\n}",
        ),
        (
            "an array in a line",
            "{\n  \"a\": [\"b\"]\n}",
            a(json!(["c", "d"])),
            "{\n  \"a\": [\"c\", \"d\"]\n}",
        ),
        (
            "an array on lines",
            "{\n  \"a\": [\n    \"b\"\n  ]\n}",
            a(json!(["c", "d"])),
            "{\n  \"a\": [\n    \"c\",\n    \"d\"\n  ]\n}",
        ),
        (
            "nothing by an object",
            "{\n  \"a\": null\n}",
            a(json!({"c": {}})),
            "{\n  \"a\": {\n    \"c\": {}\n  }\n}",
        ),
        ("an element", "[1, [2, 3]]", set(json!([1, 0]), json!(true)), "[1, [true, 3]]"),
        ("a key twice in what is replaced", "{\"a\": {\"k\": 1, \"k\": 2}}", a(json!(1)), "{\"a\": 1}"),
    ]);
}

#[test]
fn a_member_is_taken_away() {
    let b = || remove(json!(["b"]));
    check(vec![
        ("the first", "{\n  \"b\": 1,\n  \"c\": 2\n}", b(), "{\n  \"c\": 2\n}"),
        (
            "the middle",
            "{\n  \"a\": 0, // of a\n  \"b\": 1, // of b\n  \"c\": 2\n}",
            b(),
            "{\n  \"a\": 0, // of a\n  \"c\": 2\n}",
        ),
        ("the last", "{\n  \"a\": 0, // of a\n  \"b\": 1 // of b\n}", b(), "{\n  \"a\": 0 // of a\n}"),
        ("the last with a comma", "{\n  \"a\": 0,\n  \"b\": 1,\n}", b(), "{\n  \"a\": 0,\n}"),
        ("the only one", "{\n  \"b\": 1\n}\n", b(), "{}\n"),
        ("the only one with a comma", "{\n  \"b\": 1,\n}\n", b(), "{}\n"),
        ("the only one below a comment", "{\n  // mine\n  \"b\": 1\n}\n", b(), "{\n  // mine\n}\n"),
        (
            "the only one below a comment with the brace",
            "{\n  // mine\n  \"b\": 1 }\n",
            b(),
            "{\n  // mine\n   }\n",
        ),
        ("the first in a line", "{\"b\": 1, \"c\": 2}", b(), "{\"c\": 2}"),
        ("the middle in a line", "{\"a\": 0, \"b\": 1, \"c\": 2}", b(), "{\"a\": 0, \"c\": 2}"),
        ("the last in a line", "{\"a\": 0, \"b\": 1}", b(), "{\"a\": 0}"),
        ("the last in a line with a comma", "{ \"a\": 0, \"b\": 1, }", b(), "{ \"a\": 0, }"),
        ("the only one in a line", "{ \"b\": 1 }", b(), "{ }"),
        ("commas first", "{ \"a\": 1\n, \"b\": 3\n, \"c\": 4 }", b(), "{ \"a\": 1\n, \"c\": 4 }"),
        ("commas first, the last", "{ \"a\": 1\n, \"b\": 3\n}", b(), "{ \"a\": 1\n}"),
        ("a comment before it in the line", "{\"a\": 0, /* of b */ \"b\": 1}", b(), "{\"a\": 0 /* of b */}"),
        ("on a line with the next", "{\n  \"b\": 1, \"c\": 2\n}", b(), "{\n  \"c\": 2\n}"),
        ("on a line with the one before", "{\n  \"a\": 0, \"b\": 1\n}", b(), "{\n  \"a\": 0\n}"),
        (
            "below a comment, before a brace",
            "{\n  \"a\": 0, // of a\n  \"b\": 1 }",
            b(),
            "{\n  \"a\": 0 // of a\n   }",
        ),
        ("CRLF", "{\r\n  \"a\": 0,\r\n  \"b\": 1\r\n}", b(), "{\r\n  \"a\": 0\r\n}"),
        ("an element", "[1, 2, 3]", remove(json!([1])), "[1, 3]"),
        ("an element on lines", "[\n  {\n    \"a\": 1\n  },\n  2\n]", remove(json!([0])), "[\n  2\n]"),
    ]);
}

#[test]
fn what_cannot_be_told_is_refused_and_nothing_changes() {
    for (text, edit, expected) in [
        (
            "{\n\"a\": {},\n\"b\": 1,\n\"a\": {}\n}",
            set(json!(["a", "x"]), json!(1)),
            "the key \"a\" is there twice (lines 2 and 4); remove one of the two",
        ),
        (
            "{\"a\": 1, \"\\u0061\": 2}",
            remove(json!(["a"])),
            "the key \"a\" is there twice (lines 1 and 1); remove one of the two",
        ),
        (
            "{\"l\": [{\"a\": 1, \"a\": 1}]}",
            set(json!(["l", 0, "a"]), json!(1)),
            "the key \"a\" is there twice (lines 1 and 1); remove one of the two",
        ),
        ("{\"a\": 1}", set(json!(["a", "b"]), json!(1)), "what should hold a.b is not an object"),
        ("{\"a\": [1]}", set(json!(["a", "b"]), json!(1)), "what should hold a.b is not an object"),
        ("{\"a\": {}}", set(json!(["a", 0]), json!(1)), "what should hold a[0] is not an array"),
        ("{\"a\": [1]}", set(json!(["a", 1]), json!(1)), "nothing stands at a[1]"),
        ("{\"a\": {}}", append(json!(["a"]), json!(1)), "a is not an array"),
        ("{\"a\": {}}", remove(json!(["a", "b c"])), "nothing stands at a[\"b c\"]"),
        ("{\"a\": {}}", remove(json!(["c", "b"])), "nothing stands at c"),
        ("", remove(json!(["c"])), "nothing stands at c"),
        ("[]", set(json!(["c"]), json!(1)), "what should hold c is not an object"),
        ("3", set(json!(["c"]), json!(1)), "what should hold c is not an object"),
        ("{}", set(json!([]), json!(1)), "a whole document is neither set nor removed"),
        ("{}", remove(json!([])), "a whole document is neither set nor removed"),
        ("{}", append(json!([]), json!(1)), "the document is not an array"),
        ("", append(json!([]), json!(1)), "the document is not an array"),
        ("{}", set(json!(["a", 0, "b"]), json!(1)), "what should hold a[0] is not an array"),
    ] {
        let mut document = Document::parse(text.as_bytes(), Format::Jsonc).unwrap();
        let before = document.value().clone();
        let error = document.edit(&edit).unwrap_err();
        assert!(matches!(error, EditError::Place(_)), "{text}: {error:?}");
        assert_eq!(error.to_string(), expected, "{text}");
        assert_eq!(document.bytes(), text.as_bytes());
        assert_eq!(*document.value(), before);
    }
}

#[test]
fn what_is_no_text_of_the_format_is_refused() {
    let utf16: Vec<u8> = "{\"a\": 1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [b"\xff\xfe".as_slice(), &utf16].concat();
    for (bytes, expected) in [
        (utf16.as_slice(), EditError::NotUtf8),
        (&marked, EditError::NotUtf8),
        (b"{\"a\": \"\xe9\"}", EditError::NotUtf8),
        (&vec![b' '; bir_edit::LONGEST + 1], EditError::TooLong),
    ] {
        assert_eq!(Document::parse(bytes, Format::Jsonc).unwrap_err(), expected);
    }
    for text in [
        "{\"a\": 01}",
        "{\"a\": 1.}",
        "{\"a\": .5}",
        "{\"a\": +1}",
        "{\"a\": NaN}",
        "{\"a\": 0x1}",
        "{\"a\": \"\n\"}",
        "{\"a\":\u{a0}1}",
        "{\"a\": 1,,}",
        "{,}",
        "[,]",
        "{\"a\": tru}",
        "nul",
        "{\"a\": 1e999}",
        "\u{feff}\u{feff}{}",
        "{\"a\": \"\\u12\"}",
    ] {
        for format in [Format::Json, Format::Jsonc] {
            let error = Document::parse(text.as_bytes(), format).unwrap_err();
            assert!(matches!(error, EditError::Syntax(_)), "{text}: {error:?}");
        }
    }
    for text in ["{\"a\": 1,}", "[1,]", "{} // x", "/**/", "{\"a\": /* x */ 1}"] {
        assert!(Document::parse(text.as_bytes(), Format::Jsonc).is_ok(), "{text}");
        assert!(
            matches!(Document::parse(text.as_bytes(), Format::Json), Err(EditError::Syntax(_))),
            "{text}"
        );
    }
}

#[test]
fn depth_is_bounded_in_files_and_in_values() {
    let at = Place((0..bir_edit::DEEPEST - 1).map(|_| Step::Index(0)).collect());
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut document = Document::parse(nested(bir_edit::DEEPEST).as_bytes(), Format::Json).unwrap();
    document.edit(&Edit::Append { to: at.clone(), value: json!(1) }).unwrap();
    assert_eq!(document.edit(&Edit::Append { to: at, value: json!([]) }), Err(EditError::Unfaithful));
    for text in
        [nested(bir_edit::DEEPEST + 1), nested(1_000_000), "[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)]
    {
        let error = Document::parse(text.as_bytes(), Format::Jsonc).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1 stands in more than 126 objects and arrays; bir reads no deeper"
        );
    }
}

#[test]
fn a_document_says_what_its_text_says() {
    let document = Document::parse(
        b"\xef\xbb\xbf// x\n{\"a\": [1, {\"b\": null,}], \"a\\n\": \"\\ud800\", \"k\": 1, \"k\": 2}",
        Format::Jsonc,
    )
    .unwrap();
    assert_eq!(*document.value(), json!({"a": [1, {"b": null}], "a\n": "\u{fffd}", "k": 2}));
    assert_eq!(document.format(), Format::Jsonc);
    assert_eq!(*Document::parse(b" /* x */ ", Format::Jsonc).unwrap().value(), json!({}));
}
