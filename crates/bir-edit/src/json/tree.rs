//! Where each value of a JSON text stands, as `jsonc-parser` reads it.

use std::borrow::Cow;
use std::ops::Range;

use bir_model::Step;
use jsonc_parser::ast::{ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::{DEEPEST, EditError};

/// A value and where it stands, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Scalar,
    Object(Vec<Member>),
    Array(Vec<Node>),
}

/// A member of an object; its span goes from its key to the end of its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) key_end: usize,
    pub(super) value: Node,
}

impl Node {
    /// Where its members or elements stand; none of a scalar.
    pub(super) fn items(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Scalar => Vec::new(),
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
        }
    }

    /// The values in it.
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.kind {
            Kind::Scalar => Box::new(std::iter::empty()),
            Kind::Object(members) => Box::new(members.iter().map(|member| &member.value)),
            Kind::Array(elements) => Box::new(elements.iter()),
        }
    }

    /// The place in [`Self::items`] that a step leads to.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`] where a key is there more than once: which of them counts, each program decides for itself.
    pub(super) fn item(&self, text: &str, step: &Step) -> Result<Option<usize>, EditError> {
        match (&self.kind, step) {
            (Kind::Object(members), Step::Key(key)) => {
                let mut found = members.iter().enumerate().filter(|(_, member)| member.key == *key);
                let first = found.next();
                if let (Some((_, first)), Some((_, second))) = (first, found.next()) {
                    let (first, second) = (line(text, first.span.start), line(text, second.span.start));
                    return Err(EditError::Place(format!(
                        "the key {key:?} is there twice (lines {first} and {second}); remove one of the two"
                    )));
                }
                Ok(first.map(|(index, _)| index))
            }
            (Kind::Array(elements), Step::Index(index)) => Ok((*index < elements.len()).then_some(*index)),
            _ => Ok(None),
        }
    }

    /// The value at a place in [`Self::items`].
    pub(super) fn child(&self, item: usize) -> Option<&Self> {
        self.children().nth(item)
    }
}

/// Reads a text; nothing where it holds no value.
pub(super) fn read(text: &str, comments: bool) -> Result<Option<Node>, EditError> {
    read_at(text, comments, 1)
}

/// Reads a text that stands so deep in another one; the text itself counts as one.
fn read_at(text: &str, comments: bool, depth: usize) -> Result<Option<Node>, EditError> {
    let options = ParseOptions {
        allow_comments: comments,
        allow_trailing_commas: comments,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let tamed = tamed(text);
    let parsed =
        parse_to_ast(&tamed, &CollectOptions::default(), &options).map_err(|error| refused(&error))?;
    parsed.value.map(|value| node(text, &value, depth)).transpose()
}

fn node(text: &str, value: &Ast<'_>, depth: usize) -> Result<Node, EditError> {
    let range = value.range();
    let kind = match value {
        Ast::Object(_) | Ast::Array(_) if depth > DEEPEST => {
            return Err(too_deep(line(text, range.start)));
        }
        Ast::Object(object) => Kind::Object(
            object
                .properties
                .iter()
                .map(|member| {
                    let name = match &member.name {
                        ObjectPropName::String(name) => name.range,
                        ObjectPropName::Word(name) => name.range,
                    };
                    Ok(Member {
                        key: member.name.as_str().to_owned(),
                        span: member.range.start..member.range.end,
                        key_end: name.end,
                        value: node(text, &member.value, depth + 1)?,
                    })
                })
                .collect::<Result<_, EditError>>()?,
        ),
        Ast::Array(array) => Kind::Array(
            array
                .elements
                .iter()
                .map(|element| node(text, element, depth + 1))
                .collect::<Result<_, EditError>>()?,
        ),
        Ast::StringLit(_) | Ast::NumberLit(_) | Ast::BooleanLit(_) | Ast::NullKeyword(_) => Kind::Scalar,
    };
    Ok(Node { span: range.start..range.end, kind })
}

/// Follows a change of the text: what stood on `touched` has changed, and the text is `text` now. Only the smallest object or
/// array around it is read anew; a large file is not read for each edit.
///
/// # Errors
///
/// [`EditError`]: what stands there now is no value.
pub(super) fn follow(
    root: &mut Node,
    text: &str,
    touched: &Range<usize>,
    comments: bool,
    before: usize,
) -> Result<(), EditError> {
    let moved = Moved { touched, comments, text, grown: text.len().checked_signed_diff(before) };
    match moved.grown {
        Some(grown) if moved.lies_in(root) => moved.follow(root, grown, 1),
        _ => {
            *root = read(text, comments)?.ok_or(EditError::Unfaithful)?;
            Ok(())
        }
    }
}

/// A change that is followed.
struct Moved<'a> {
    touched: &'a Range<usize>,
    comments: bool,
    text: &'a str,
    grown: Option<isize>,
}

impl Moved<'_> {
    /// Whether it happened between the braces.
    fn lies_in(&self, node: &Node) -> bool {
        !matches!(node.kind, Kind::Scalar)
            && node.span.start < self.touched.start
            && self.touched.end < node.span.end
    }

    fn follow(&self, node: &mut Node, grown: isize, depth: usize) -> Result<(), EditError> {
        let index = node.children().position(|child| self.lies_in(child));
        let Some(index) = index else { return self.read_anew(node, grown, depth) };
        node.span.end = node.span.end.saturating_add_signed(grown);
        match &mut node.kind {
            Kind::Object(members) => {
                for member in members.iter_mut().skip(index + 1) {
                    member.shift(grown);
                }
                let member = members.get_mut(index).ok_or(EditError::Unfaithful)?;
                member.span.end = member.span.end.saturating_add_signed(grown);
                self.follow(&mut member.value, grown, depth + 1)
            }
            Kind::Array(elements) => {
                elements.iter_mut().skip(index + 1).for_each(|element| element.shift(grown));
                self.follow(elements.get_mut(index).ok_or(EditError::Unfaithful)?, grown, depth + 1)
            }
            Kind::Scalar => Err(EditError::Unfaithful),
        }
    }

    fn read_anew(&self, node: &mut Node, grown: isize, depth: usize) -> Result<(), EditError> {
        let span = node.span.start..node.span.end.saturating_add_signed(grown);
        let text = self.text.get(span.clone()).ok_or(EditError::Unfaithful)?;
        let mut anew = read_at(text, self.comments, depth)?.ok_or(EditError::Unfaithful)?;
        if anew.span != (0..text.len()) {
            return Err(EditError::Unfaithful);
        }
        anew.shift(isize::try_from(span.start).map_err(|_| EditError::Unfaithful)?);
        *node = anew;
        Ok(())
    }
}

fn shifted(span: &mut Range<usize>, by: isize) {
    *span = span.start.saturating_add_signed(by)..span.end.saturating_add_signed(by);
}

impl Node {
    fn shift(&mut self, by: isize) {
        shifted(&mut self.span, by);
        match &mut self.kind {
            Kind::Scalar => {}
            Kind::Object(members) => members.iter_mut().for_each(|member| member.shift(by)),
            Kind::Array(elements) => elements.iter_mut().for_each(|element| element.shift(by)),
        }
    }
}

impl Member {
    fn shift(&mut self, by: isize) {
        shifted(&mut self.span, by);
        self.key_end = self.key_end.saturating_add_signed(by);
        self.value.shift(by);
    }
}

/// Halves of a surrogate pair, which JavaScript writes where it cuts a text inside of an emoji, replaced by an escape of the
/// same length that a string of Rust can hold. Spans in it are spans in the text.
pub(crate) fn tamed(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr(bytes, at) {
        match surrogate(bytes, found) {
            Some(0xd800..=0xdbff) => match surrogate(bytes, found + 6) {
                Some(0xdc00..=0xdfff) => at = found + 12,
                _ => {
                    lone.push(found);
                    at = found + 6;
                }
            },
            Some(_) => {
                lone.push(found);
                at = found + 6;
            }
            // An escape is a backslash and what follows it, a second backslash for one.
            None => at = found + 2,
        }
    }
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in lone {
        out.push_str(text.get(from..found).unwrap_or_default());
        out.push_str("\\ufffd");
        from = found + 6;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

fn memchr(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.iter().position(|&byte| byte == b'\\').map(|found| from + found)
}

fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let code = digits.iter().try_fold(0, |code, &digit| Some(code * 16 + char::from(digit).to_digit(16)?))?;
    (0xd800..=0xdfff).contains(&code).then_some(code)
}

/// The line of a byte, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

fn too_deep(line: usize) -> EditError {
    EditError::Syntax(format!(
        "line {line} stands in more than {DEEPEST} objects and arrays; bir reads no deeper"
    ))
}

/// The parser's error in our words: it may quote the text, which may be a secret.
fn refused(error: &ParseError) -> EditError {
    let what = match error.kind() {
        ParseErrorKind::NestingDepthExceeded => return too_deep(error.line_display()),
        ParseErrorKind::CommentsNotAllowed => "a comment, which this file's host does not take; remove it",
        ParseErrorKind::TrailingCommasNotAllowed => {
            "a comma behind the last member, which this file's host does not take; remove it"
        }
        ParseErrorKind::MultipleRootJsonValues => "something behind the end of the JSON",
        ParseErrorKind::ExpectedComma => "a comma is missing",
        ParseErrorKind::ExpectedColonAfterObjectKey => "a colon is missing behind a key",
        ParseErrorKind::ExpectedObjectValue => "a value is missing behind a key",
        ParseErrorKind::ExpectedStringObjectProperty => "a key without quotes",
        ParseErrorKind::SingleQuotedStringsNotAllowed => "a text in single quotes",
        ParseErrorKind::UnterminatedArray => "an array that does not end",
        ParseErrorKind::UnterminatedObject => "an object that does not end",
        ParseErrorKind::UnterminatedCommentBlock => "a comment that does not end",
        ParseErrorKind::String(_) => "a text that does not end, or an escape that JSON does not know",
        ParseErrorKind::UnexpectedWord => "a word without quotes",
        _ => "something that is no JSON",
    };
    EditError::Syntax(format!("line {}, column {}: {what}", error.line_display(), error.column_display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_replaced_and_spans_hold() {
        for (text, expected) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\ud83d\\ude00""#, r#""\ufffd\\ude00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\u00e9""#, r#""\u00e9""#),
            (r#""\u+123""#, r#""\u+123""#),
        ] {
            assert_eq!(tamed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_said_with_line_and_column_and_without_its_text() {
        for (text, comments, expected) in [
            (
                "{\n  // x\n}",
                false,
                "line 2, column 3: a comment, which this file's host does not take; remove it",
            ),
            (
                "{\"a\": 1,}",
                false,
                "line 1, column 8: a comma behind the last member, which this file's host does not take; remove it",
            ),
            ("{\"a\" 1}", true, "line 1, column 6: a colon is missing behind a key"),
            ("{\"a\": 1 \"b\": 2}", true, "line 1, column 8: a comma is missing"),
            ("{\"a\": 1", true, "line 1, column 1: an object that does not end"),
            ("[1", true, "line 1, column 1: an array that does not end"),
            ("{} {}", true, "line 1, column 4: something behind the end of the JSON"),
            ("{a: 1}", true, "line 1, column 2: a key without quotes"),
            ("{\"a\": 'sk-1'}", true, "line 1, column 7: a text in single quotes"),
            ("{\"a\": sk-1}", true, "line 1, column 7: something that is no JSON"),
            (
                "{\"a\": \"sk-1",
                true,
                "line 1, column 7: a text that does not end, or an escape that JSON does not know",
            ),
            (
                "{\"a\": \"\\x41\"}",
                true,
                "line 1, column 8: a text that does not end, or an escape that JSON does not know",
            ),
            ("/* x", true, "line 1, column 1: a comment that does not end"),
            ("{\"a\":}", true, "line 1, column 6: something that is no JSON"),
        ] {
            assert_eq!(read(text, comments).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_change_is_followed_as_if_all_had_been_read_anew() {
        let old = r#"{"a": [1, {"b": [], "c": {"d": "x"}}, 2], /* , */ "e": {"f": null}, "g": [[[]]]}"#;
        for (at, cut, put) in [
            (old.find("[]").unwrap() + 1, 0, "7, {\"n\": 1}"),
            (old.find("\"x\"").unwrap(), 3, "{\"deep\": [1]}"),
            (old.find("null").unwrap(), 4, "1"),
            (old.find("2]").unwrap(), 1, "22222"),
            (old.find("[[[").unwrap(), 6, "0"),
            (old.find("/*").unwrap(), 8, ""),
            (1, 0, "\"z\": 0, "),
        ] {
            let new = format!("{}{put}{}", &old[..at], &old[at + cut..]);
            let mut root = read(old, true).unwrap().unwrap();
            follow(&mut root, &new, &(at..at + cut), true, old.len()).unwrap();
            assert_eq!(Some(root), read(&new, true).unwrap(), "{new}");
        }
        let mut root = read(old, true).unwrap().unwrap();
        let broken = old.replacen("[1", "[1 1", 1);
        assert!(follow(&mut root, &broken, &(7..7), true, old.len()).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEEPEST), false).is_ok());
        for depth in [DEEPEST + 1, 600, 1_000_000] {
            assert!(
                read(&nested(depth), false).unwrap_err().to_string().contains("bir reads no deeper"),
                "{depth}"
            );
        }
        assert!(
            read(&"{\"a\":".repeat(1_000_000), true).unwrap_err().to_string().contains("bir reads no deeper")
        );
    }
}
