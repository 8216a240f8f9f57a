//! Edits of a message's bytes that leave every other byte alone.
//!
//! A relay edits little: a key is taken out of an object, one is put in, a value is replaced. Re-encoding a parsed
//! message would change numbers, escapes, order and white space; here the edits are collected as spans and the
//! message is copied once with them.
//!
//! ```
//! use bir_wire::{Edits, Field, Scanner};
//!
//! let message = br#"{ "id": 1.0, "method": "tools/call", "params": {"name": "a", "arguments": {"x": 1e400, "y": 2}} }"#;
//! let mut scanner = Scanner::default();
//! let envelope = scanner.finish_whole(message).envelope();
//! let mut edits = Edits::new();
//! edits.replace(envelope.span(Field::Id).unwrap(), b"77");
//! edits.remove_key(envelope.span(Field::Arguments).unwrap(), "y");
//! edits.insert_key(envelope.span(Field::Params).unwrap(), "_meta", b"{}");
//! let mut out = Vec::new();
//! edits.apply(message, &mut out).unwrap();
//! assert_eq!(
//!     out,
//!     br#"{ "id": 77, "method": "tools/call", "params": {"_meta":{},"name": "a", "arguments": {"x": 1e400}} }"#
//! );
//! ```
//!
//! All spans are those of the original message, in any order. Edits of one object are put together before anything is
//! written, so that the commas are right whatever is removed and inserted. Edits that touch the same bytes are
//! refused.

use std::fmt;
use std::ops::Range;

use crate::envelope::Span;
use crate::text;

/// Why a list of edits does not fit a message. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpliceError {
    /// A span ends before it begins or beyond the message.
    OutOfRange,
    /// Two edits touch the same bytes.
    Overlap,
    /// The span of an object does not hold one JSON object.
    NotAnObject,
}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpliceError::OutOfRange => "an edit reaches beyond the message",
            SpliceError::Overlap => "two edits touch the same bytes",
            SpliceError::NotAnObject => "a key can only be edited in an object",
        })
    }
}

impl std::error::Error for SpliceError {}

#[derive(Clone, Debug)]
enum Edit {
    /// The bytes are in `text`.
    Replace(Span, Range<usize>),
    /// The key is in `text`.
    Remove(Span, Range<usize>),
    /// `"key":value` is in `text`.
    Insert(Span, Range<usize>),
}

impl Edit {
    fn object(&self) -> Option<Span> {
        match self {
            Edit::Replace(..) => None,
            Edit::Remove(object, _) | Edit::Insert(object, _) => Some(*object),
        }
    }
}

/// A list of edits of one message. Can be cleared and used again.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    edits: Vec<Edit>,
    text: Vec<u8>,
}

/// One replacement in the end: these bytes of the message by those of the list.
struct Cut {
    from: usize,
    to: usize,
    with: Range<usize>,
    /// A comma follows the inserted bytes.
    comma: bool,
}

impl Edits {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all edits and keeps the buffers.
    pub fn clear(&mut self) {
        self.edits.clear();
        self.text.clear();
    }

    /// Whether there are no edits.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Puts `bytes` in the place of a span. An empty span is a place between two bytes; several replacements of the
    /// same place stand in the order of the calls.
    pub fn replace(&mut self, span: Span, bytes: &[u8]) {
        let text = self.keep(|text| text.extend_from_slice(bytes));
        self.edits.push(Edit::Replace(span, text));
    }

    /// Removes every member of an object whose key says `key`, with the comma that is then too many. A key that is not
    /// there is no error.
    pub fn remove_key(&mut self, object: Span, key: &str) {
        let text = self.keep(|text| text.extend_from_slice(key.as_bytes()));
        self.edits.push(Edit::Remove(object, text));
    }

    /// Puts a member before the others of an object; several stand in the order of the calls. `value` is JSON and is
    /// written as it is. A member of the same key that is there already stays, unless it is removed too.
    pub fn insert_key(&mut self, object: Span, key: &str, value: &[u8]) {
        let text = self.keep(|text| {
            text::encode(key, text);
            text.push(b':');
            text.extend_from_slice(value);
        });
        self.edits.push(Edit::Insert(object, text));
    }

    fn keep(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let start = self.text.len();
        write(&mut self.text);
        start..self.text.len()
    }

    /// Appends the edited message to `out`.
    ///
    /// # Errors
    ///
    /// When a span does not fit the message or another edit; `out` is as it was then.
    pub fn apply(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), SpliceError> {
        let cuts = self.cuts(message)?;
        let mut done = 0;
        for cut in &cuts {
            if cut.from < done {
                return Err(SpliceError::Overlap);
            }
            done = cut.to;
        }
        let mut from = 0;
        for cut in cuts {
            out.extend_from_slice(&message[from..cut.from]);
            out.extend_from_slice(&self.text[cut.with]);
            if cut.comma {
                out.push(b',');
            }
            from = cut.to;
        }
        out.extend_from_slice(&message[from..]);
        Ok(())
    }

    /// All replacements in the order of the message, each within it.
    fn cuts(&self, message: &[u8]) -> Result<Vec<Cut>, SpliceError> {
        let mut cuts = Vec::with_capacity(self.edits.len() + 1);
        for (n, edit) in self.edits.iter().enumerate() {
            match edit {
                Edit::Replace(span, with) => {
                    let Range { start: from, end: to } = within(*span, message)?;
                    cuts.push(Cut { from, to, with: with.clone(), comma: false });
                }
                Edit::Remove(object, _) | Edit::Insert(object, _) => {
                    // The first edit of an object does the work of all.
                    if self.edits[..n].iter().all(|earlier| earlier.object() != Some(*object)) {
                        self.edit_object(message, *object, &mut cuts)?;
                    }
                }
            }
        }
        // Stable: what stands in the same place keeps its order.
        cuts.sort_by_key(|cut| (cut.from, cut.to));
        Ok(cuts)
    }

    fn edit_object(&self, message: &[u8], object: Span, cuts: &mut Vec<Cut>) -> Result<(), SpliceError> {
        let range = within(object, message)?;
        let inside = range.start + 1;
        let members = members(message, range).ok_or(SpliceError::NotAnObject)?;
        let edits = || self.edits.iter().filter(|edit| edit.object() == Some(object));
        let removed = |member: &Member| {
            edits().any(|edit| match edit {
                Edit::Remove(_, key) => str::from_utf8(&self.text[key.clone()])
                    .is_ok_and(|key| text::is(&message[member.key.clone()], key)),
                _ => false,
            })
        };

        let mut kept = false;
        for (n, member) in members.iter().enumerate() {
            if !removed(member) {
                kept = true;
                continue;
            }
            let next_comma = members.get(n + 1).map(|next| next.comma + 1);
            let (from, to) = match (kept, next_comma) {
                (true, _) => (member.comma, member.end),
                (false, Some(comma)) => (member.key.start, comma),
                (false, None) => (member.key.start, member.end),
            };
            cuts.push(Cut { from, to, with: 0..0, comma: false });
        }
        let mut inserts = edits()
            .filter_map(|edit| match edit {
                Edit::Insert(_, with) => Some(with.clone()),
                _ => None,
            })
            .peekable();
        while let Some(with) = inserts.next() {
            let comma = kept || inserts.peek().is_some();
            cuts.push(Cut { from: inside, to: inside, with, comma });
        }
        Ok(())
    }
}

fn within(span: Span, message: &[u8]) -> Result<Range<usize>, SpliceError> {
    match (usize::try_from(span.start), usize::try_from(span.end)) {
        (Ok(start), Ok(end)) if start <= end && end <= message.len() => Ok(start..end),
        _ => Err(SpliceError::OutOfRange),
    }
}

/// The value of the last member of an object whose key says `key`; `None` when there is none, or it is no object.
#[must_use]
pub fn member(message: &[u8], object: Span, key: &str) -> Option<Span> {
    let members = members(message, within(object, message).ok()?)?;
    let found = members.into_iter().rfind(|member| text::is(&message[member.key.clone()], key))?;
    Some(Span { start: found.value as u64, end: found.end as u64 })
}

/// The elements of an array; `None` when it is none.
#[must_use]
pub fn elements(message: &[u8], array: Span) -> Option<Vec<Span>> {
    let range = within(array, message).ok()?;
    let (offset, array) = (range.start, message.get(range)?);
    if array.first() != Some(&b'[') {
        return None;
    }
    let mut elements = Vec::new();
    let mut i = space(array, 1);
    while array.get(i) != Some(&b']') || !elements.is_empty() {
        let end = value(array, i)?;
        elements.push(Span { start: (offset + i) as u64, end: (offset + end) as u64 });
        i = space(array, end);
        match array.get(i)? {
            b',' => i = space(array, i + 1),
            b']' => break,
            _ => return None,
        }
    }
    (i + 1 == array.len()).then_some(elements)
}

/// One member of an object, in positions of the message.
struct Member {
    /// Where the comma before it stands; for the first member, where the object begins.
    comma: usize,
    /// Its key, with quotes.
    key: Range<usize>,
    /// The first byte of its value.
    value: usize,
    /// The byte after its value.
    end: usize,
}

/// The members of the object that fills `range`; `None` when there is none, or its brackets and quotes do not match.
fn members(message: &[u8], range: Range<usize>) -> Option<Vec<Member>> {
    let object = message.get(range.clone())?;
    let offset = range.start;
    let mut members = Vec::new();
    let mut i = space(object, 1);
    if object.first() != Some(&b'{') {
        return None;
    }
    let mut comma = 0;
    if object.get(i) != Some(&b'}') {
        loop {
            let key = i..string(object, i)?;
            i = space(object, key.end);
            if object.get(i) != Some(&b':') {
                return None;
            }
            let begin = space(object, i + 1);
            let end = value(object, begin)?;
            members.push(Member {
                comma: offset + comma,
                key: offset + key.start..offset + key.end,
                value: offset + begin,
                end: offset + end,
            });
            i = space(object, end);
            match object.get(i)? {
                b',' => {
                    comma = i;
                    i = space(object, i + 1);
                }
                b'}' => break,
                _ => return None,
            }
        }
    }
    (i + 1 == object.len()).then_some(members)
}

fn space(bytes: &[u8], mut i: usize) -> usize {
    while matches!(bytes.get(i), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        i += 1;
    }
    i
}

/// The byte after the string that begins at `i`.
fn string(bytes: &[u8], i: usize) -> Option<usize> {
    if bytes.get(i) != Some(&b'"') {
        return None;
    }
    let mut i = i + 1;
    loop {
        i += memchr::memchr2(b'"', b'\\', bytes.get(i..)?)?;
        if bytes[i] == b'"' {
            return Some(i + 1);
        }
        i += 2;
    }
}

/// The byte after the value that begins at `i`.
fn value(bytes: &[u8], mut i: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match bytes.get(i)? {
            b'"' => i = string(bytes, i)?,
            b'{' | b'[' => {
                depth += 1;
                i += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                i += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth > 0 => {
                i += 1;
                continue;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => return None,
            _ => {
                while !matches!(
                    bytes.get(i),
                    None | Some(b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                ) {
                    i += 1;
                }
            }
        }
        if depth == 0 {
            return Some(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize) -> Span {
        Span { start: start as u64, end: end as u64 }
    }

    fn edited(message: &str, edit: impl FnOnce(&mut Edits, Span)) -> Result<String, SpliceError> {
        let mut edits = Edits::new();
        edit(&mut edits, span(0, message.len()));
        let mut out = b"kept".to_vec();
        let done = edits.apply(message.as_bytes(), &mut out);
        assert!(out.starts_with(b"kept") && (done.is_ok() || out.len() == 4));
        done.map(|()| String::from_utf8_lossy(&out[4..]).into_owned())
    }

    #[test]
    fn removing() {
        for (message, keys, expected) in [
            (r#"{"a":1}"#, &["a"][..], "{}"),
            (r#"{ "a" : 1 }"#, &["a"], "{  }"),
            (r#"{"a":1,"b":2,"c":3}"#, &["a"], r#"{"b":2,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["b"], r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["c"], r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["a", "b"], r#"{"c":3}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["c", "a"], r#"{"b":2}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["b", "c"], r#"{"a":1}"#),
            (r#"{"a":1,"b":2,"c":3}"#, &["a", "b", "c"], "{}"),
            (r#"{"a":1,"b":2,"a":{"a":3},"a":4}"#, &["a", "a"], r#"{"b":2}"#),
            (r#"{"x":{"a":1},"\u0061":"}\"]","A":0}"#, &["a"], r#"{"x":{"a":1},"A":0}"#),
            ("{ \"a\" : [ 1 , {} ] ,\n \"b\" : 2 }", &["b"], "{ \"a\" : [ 1 , {} ]  }"),
            ("{ \"a\" : [ 1 , {} ] ,\n \"b\" : 2 }", &["a"], "{ \n \"b\" : 2 }"),
            (r#"{"a":1}"#, &["z"], r#"{"a":1}"#),
        ] {
            let got =
                edited(message, |edits, object| keys.iter().for_each(|key| edits.remove_key(object, key)));
            assert_eq!(got.as_deref(), Ok(expected), "{message} without {keys:?}");
        }
    }

    #[test]
    fn inserting() {
        for (message, expected) in [
            ("{}", r#"{"k\"":[1]}"#),
            ("{ }", r#"{"k\"":[1] }"#),
            (r#"{"a":1}"#, r#"{"k\"":[1],"a":1}"#),
            (r#"{ "a":1 }"#, r#"{"k\"":[1], "a":1 }"#),
        ] {
            assert_eq!(edited(message, |e, o| e.insert_key(o, "k\"", b"[1]")).as_deref(), Ok(expected));
        }
        let both = |message| {
            edited(message, |e, o| {
                e.remove_key(o, "a");
                e.insert_key(o, "a", b"2");
                e.insert_key(o, "b", b"3");
            })
        };
        assert_eq!(both(r#"{"a":1}"#).as_deref(), Ok(r#"{"a":2,"b":3}"#));
        assert_eq!(both(r#"{"a":1,"c":4}"#).as_deref(), Ok(r#"{"a":2,"b":3,"c":4}"#));
        assert_eq!(both("{}").as_deref(), Ok(r#"{"a":2,"b":3}"#));
    }

    #[test]
    fn looking_into_values() {
        let shown = |message: &str, found: Option<Span>| {
            found.map(|span| message[span.start as usize..span.end as usize].to_owned())
        };
        for (message, expected) in [
            (r#"{"a":1}"#, Some("1")),
            (r#"{ "b" : [] , "\u0061" : {"a":2} }"#, Some(r#"{"a":2}"#)),
            (r#"{"a":1,"a":"x"}"#, Some(r#""x""#)),
            (r#"{"b":{"a":1}}"#, None),
            ("[]", None),
            (r#"{"a":1"#, None),
        ] {
            let found = member(message.as_bytes(), span(0, message.len()), "a");
            assert_eq!(shown(message, found).as_deref(), expected, "{message}");
        }
        for (message, expected) in [
            ("[]", Some(vec![])),
            ("[ ]", Some(vec![])),
            (r#"[1, {"a":[2]} ,"]"]"#, Some(vec!["1", r#"{"a":[2]}"#, r#""]""#])),
            ("[1,]", None),
            ("[,1]", None),
            ("[1", None),
            ("[1]]", None),
            ("{}", None),
            ("", None),
        ] {
            let found = elements(message.as_bytes(), span(0, message.len()));
            let found = found
                .map(|all| all.into_iter().filter_map(|one| shown(message, Some(one))).collect::<Vec<_>>());
            let expected: Option<Vec<String>> =
                expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn edits_of_nested_objects_in_any_order() {
        let message = r#"{"id":1,"params":{"name":"x","arguments":{"a":1,"b":2}}}"#;
        let got = edited(message, |edits, _| {
            edits.remove_key(span(41, 54), "a");
            edits.insert_key(span(17, 55), "_meta", b"{}");
            edits.replace(span(6, 7), b"\"new\"");
            edits.replace(span(56, 56), b"\n");
        });
        assert_eq!(
            got.as_deref(),
            Ok("{\"id\":\"new\",\"params\":{\"_meta\":{},\"name\":\"x\",\"arguments\":{\"b\":2}}}\n")
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let overlap = edited(r#"{"a":{"b":1}}"#, |e, o| {
            e.remove_key(o, "a");
            e.replace(span(10, 11), b"2");
        });
        assert_eq!(overlap, Err(SpliceError::Overlap));
        assert_eq!(edited("{}", |e, _| e.replace(span(1, 3), b"")), Err(SpliceError::OutOfRange));
        assert_eq!(edited("{}", |e, _| e.replace(span(2, 1), b"")), Err(SpliceError::OutOfRange));
        assert_eq!(edited("{}", |e, _| e.remove_key(span(0, 9), "a")), Err(SpliceError::OutOfRange));
        for no_object in [
            "",
            "[]",
            "1",
            "{",
            "{}}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a",
            "{\"a\":\"\\",
            " {}",
            "{\"a\":]}",
        ] {
            assert_eq!(
                edited(no_object, |e, o| e.remove_key(o, "a")),
                Err(SpliceError::NotAnObject),
                "{no_object}"
            );
        }
    }
}
