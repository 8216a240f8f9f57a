//! What a file has around its text, in every format: a byte order mark, line ends of one kind or of two, a final newline or none.

use bir_edit::{Document, EditError};
use bir_model::{Edit, Format, Place};
use serde_json::json;

fn set(at: &[&str]) -> Edit {
    Edit::Set { at: Place::keys(at.iter().copied()), value: json!("2") }
}

#[test]
fn what_stands_around_the_text_stays() {
    for (format, lines) in [
        (Format::Json, ["{", "  \"a\": {", "    \"x\": 1.50", "  },", "  \"z\": 0", "}"].as_slice()),
        (Format::Jsonc, ["{", "  // of a", "  \"a\": {", "    \"x\": 1.50, // of x", "  },", "}"].as_slice()),
        (Format::Toml, ["# of a", "[a]", "x = 1.50 # of x", "", "[z]", "y = 1"].as_slice()),
        (Format::Yaml, ["# of a", "a:", "  x: 1.50 # of x", "", "z:", "  y: 1"].as_slice()),
    ] {
        for mark in ["", "\u{feff}"] {
            for ends in [["\n", "\n"], ["\r\n", "\r\n"], ["\n", "\r\n"], ["\r\n", "\n"]] {
                for last in [true, false] {
                    let mut text = mark.to_owned();
                    for (index, line) in lines.iter().enumerate() {
                        text.push_str(line);
                        if last || index + 1 < lines.len() {
                            text.push_str(ends[index % 2]);
                        }
                    }
                    let mut document = Document::parse(text.as_bytes(), format).unwrap();
                    assert_eq!(document.bytes(), text.as_bytes());
                    document.edit(&set(&["a", "new"])).unwrap();
                    let between = String::from_utf8(document.bytes()).unwrap();
                    assert_eq!(between.starts_with('\u{feff}'), !mark.is_empty());
                    assert_eq!(between.ends_with('\n'), last, "{text:?} became {between:?}");
                    if ends[0] == ends[1] {
                        let other = between.matches('\n').count() - between.matches("\r\n").count();
                        assert_eq!(
                            other,
                            if ends[0] == "\n" { between.matches('\n').count() } else { 0 },
                            "{between:?}"
                        );
                    }
                    // Every old line is there with its end; JSON had to give one of them a comma.
                    let old: Vec<&str> = text.split_inclusive('\n').collect();
                    let missing = old.iter().filter(|line| !between.contains(**line)).count();
                    assert!(
                        missing <= usize::from(matches!(format, Format::Json)),
                        "{text:?} became {between:?}"
                    );
                    document.edit(&Edit::Remove { at: Place::keys(["a", "new"]) }).unwrap();
                    assert_eq!(String::from_utf8(document.bytes()).unwrap(), text, "by way of {between:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_utf_8_is_refused_in_every_format() {
    for format in [Format::Json, Format::Jsonc, Format::Toml, Format::Yaml] {
        for bytes in [b"\xff\xfea\0=\0".as_slice(), b"\xfe\xff\0a", b"a\0", b"\xe9"] {
            assert_eq!(Document::parse(bytes, format).unwrap_err(), EditError::NotUtf8);
        }
        assert_eq!(
            Document::parse(&vec![b'\n'; bir_edit::LONGEST + 1], format).unwrap_err(),
            EditError::TooLong
        );
        let mut empty = Document::parse(b"", format).unwrap();
        assert_eq!(*empty.value(), json!({}));
        let again = empty.clone();
        assert!(
            matches!(empty.edit(&Edit::Remove { at: Place::keys(["a"]) }), Err(EditError::Place(_))),
            "{format:?}"
        );
        assert_eq!(empty.bytes(), again.bytes());
        empty.edit(&set(&["a", "b"])).unwrap();
        assert_eq!(*empty.value(), json!({"a": {"b": "2"}}));
    }
}

#[test]
fn a_value_that_would_not_fit_makes_nothing_longer_than_is_taken() {
    let mut document = Document::parse(b"{}", Format::Json).unwrap();
    let value = json!("x".repeat(bir_edit::LONGEST));
    assert_eq!(document.edit(&Edit::Set { at: Place::keys(["a"]), value }), Err(EditError::TooLong));
    assert_eq!(document.bytes(), b"{}");
}
