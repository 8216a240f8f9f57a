//! Ids of calls that come in the arguments (`--call-id`), for hosts that name a call in no other way.
//!
//! ```text
//!   upstream ── tools/list ──▶ declared in every tool's schema ──▶ host
//!   host ── tools/call, with the id in the arguments ──▶ taken out ──▶ upstream      the recorder has the id
//! ```
//!
//! Both are splices: every other byte stays as it came. What is not understood passes as it is, and so does a message that is
//! longer than what is held whole ([`MOST_HELD`]). An id is taken out whether or not it is declared: a host may remember the
//! schemas of an earlier session.

use bir_wire::splice::{elements, member};
use bir_wire::{Edits, Envelope, Field, Kind, Message, Scanner, Span, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The argument.
const NAME: &str = "__bir_call_id__";
/// How it is declared.
const DECLARED: &[u8] = br#"{"type":"string","description":"Reserved. Leave unset."}"#;

/// Bytes of a message that are held for an edit: 1 MiB.
pub(crate) const MOST_HELD: usize = 1 << 20;

/// What the relay does about ids in arguments.
#[derive(Debug, Clone)]
pub(crate) struct CallIds {
    /// Somebody may put an id into the arguments. Kept up to date by the recorder; `None`: there is no recorder.
    may_come: Option<Arc<AtomicBool>>,
    /// Whether the recorder is switched off, which it learns of with the next call alone.
    is_off: fn() -> bool,
}

/// A message without ids in its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stripped {
    pub(crate) line: Vec<u8>,
    /// One for each `tools/call` of the message, in their order.
    pub(crate) ids: Vec<Option<String>>,
}

impl CallIds {
    pub(crate) fn new(may_come: Option<Arc<AtomicBool>>, is_off: fn() -> bool) -> Self {
        Self { may_come, is_off }
    }

    /// A message of the host without ids in its arguments; `None` when there are none.
    pub(crate) fn strip(&self, message: &Message<'_>) -> Option<Stripped> {
        if !message.is_whole() {
            return None;
        }
        let (line, mut edits, mut ids) = (message.head(), Edits::new(), Vec::new());
        let envelopes = match message.kind() {
            Kind::Request | Kind::Notification => std::slice::from_ref(message.envelope()),
            Kind::Batch => message.batch(),
            _ => return None,
        };
        for envelope in envelopes.iter().filter(|envelope| envelope.text_is(Field::Method, "tools/call")) {
            let found = find(line, envelope);
            if let Some((arguments, _)) = found {
                edits.remove_key(arguments, NAME);
            }
            // The recorder counts requests alone.
            if envelope.has(Field::Id) {
                ids.push(found.and_then(|(_, value)| id(line, value)));
            }
        }
        (!edits.is_empty()).then_some(())?;
        let mut stripped = Vec::with_capacity(line.len());
        edits.apply(line, &mut stripped).ok()?;
        Some(Stripped { line: stripped, ids })
    }

    /// The answer to `tools/list` with the id declared in every tool; `None` when it passes as it came.
    pub(crate) fn declare(&self, line: &[u8]) -> Option<Vec<u8>> {
        if !self.may_come.as_ref()?.load(Ordering::Relaxed) || (self.is_off)() {
            return None;
        }
        let mut scanner = Scanner::default();
        let result = scanner.finish_whole(line).envelope().span(Field::Result)?;
        let tools = elements(line, member(line, result, "tools")?)?;
        let mut edits = Edits::new();
        tools.into_iter().filter_map(|tool| member(line, tool, "inputSchema")).for_each(
            |schema| match member(line, schema, "properties") {
                Some(properties)
                    if !is_object(line, properties) || member(line, properties, NAME).is_some() => {}
                Some(properties) => edits.insert_key(properties, NAME, DECLARED),
                None if is_object(line, schema) => {
                    let only = [b"{\"", NAME.as_bytes(), b"\":", DECLARED, b"}"].concat();
                    edits.insert_key(schema, "properties", &only);
                }
                None => {}
            },
        );
        (!edits.is_empty()).then_some(())?;
        let mut declared = Vec::with_capacity(line.len() + 128);
        edits.apply(line, &mut declared).ok()?;
        Some(declared)
    }
}

/// The arguments of a call and the id in them.
fn find(line: &[u8], envelope: &Envelope) -> Option<(Span, Span)> {
    let arguments = envelope.span(Field::Arguments)?;
    Some((arguments, member(line, arguments, NAME)?))
}

/// What an id says, where it is one.
fn id(line: &[u8], value: Span) -> Option<String> {
    let text = text::decode(bytes(line, value)?)?;
    (!text.is_empty()).then(|| text.into_owned())
}

fn is_object(line: &[u8], value: Span) -> bool {
    bytes(line, value).is_some_and(|value| value.starts_with(b"{"))
}

fn bytes(line: &[u8], span: Span) -> Option<&[u8]> {
    line.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IT: &str = r#""__bir_call_id__":{"type":"string","description":"Reserved. Leave unset."}"#;

    fn stripped(line: &str) -> Option<(String, Vec<Option<String>>)> {
        let mut scanner = Scanner::default();
        let found = CallIds::new(None, || false).strip(&scanner.finish_whole(line.as_bytes()))?;
        Some((String::from_utf8(found.line).unwrap(), found.ids))
    }

    #[test]
    fn an_id_is_taken_out_and_nothing_else_is_touched() {
        let call = |arguments: &str| {
            format!(
                r#"{{ "id" : 1.0,"method":"tools/call","params":{{"arguments":{arguments} ,"name":"\u0061"}}}}"#
            )
        };
        for (arguments, expected, id) in [
            (r#"{"__bir_call_id__":"c1"}"#, "{}", Some("c1")),
            (
                r#"{"b" : 1e400 , "__bir_call_id__" : "c\u0031", "a":[ 1 ]}"#,
                r#"{"b" : 1e400 , "a":[ 1 ]}"#,
                Some("c1"),
            ),
            (r#"{"\u005f_bir_call_id__":"c1","a":1}"#, r#"{"a":1}"#, Some("c1")),
            (r#"{"__bir_call_id__":7,"a":1}"#, r#"{"a":1}"#, None),
            (r#"{"__bir_call_id__":"","a":1}"#, r#"{"a":1}"#, None),
        ] {
            let expected = (call(expected), vec![id.map(str::to_owned)]);
            assert_eq!(stripped(&call(arguments)), Some(expected), "{arguments}");
        }
        for untouched in [
            call(r#"{"a":{"__bir_call_id__":"c1"}}"#),
            call("[]"),
            r#"{"id":1,"method":"tools/call","params":{"__bir_call_id__":"c1"}}"#.into(),
            r#"{"id":1,"method":"prompts/get","params":{"arguments":{"__bir_call_id__":"c1"}}}"#.into(),
            r#"{"id":1,"method":"tools/call""#.into(),
        ] {
            assert_eq!(stripped(&untouched), None, "{untouched}");
        }
        let batch = |first: &str, third: &str| {
            format!("[{},{},{}]\n", call(first), r#"{"id":2,"method":"ping"}"#, call(third))
        };
        let line = batch("{}", r#"{"__bir_call_id__":"c3"}"#);
        assert_eq!(stripped(&line), Some((batch("{}", "{}"), vec![None, Some("c3".into())])));
    }

    #[test]
    fn it_is_declared_in_every_tool_once() {
        let list = |first: &str, second: &str| {
            format!(
                r#"{{"id":1,"result":{{"tools":[ {{"inputSchema":{first},"name":"a"}},{{"name":"b","inputSchema":{second}}} ],"x":1e400}}}}"#
            )
        };
        let declares = CallIds::new(Some(Arc::new(AtomicBool::new(true))), || false);
        let declared =
            |line: &str| declares.declare(line.as_bytes()).map(|line| String::from_utf8(line).unwrap());
        let other = r#"{"type":"object","properties":{ "__bir_call_id__" : {} }}"#;
        let expected = list(&format!(r#"{{"properties":{{{IT}}},"type":"object"}}"#), other);
        assert_eq!(declared(&list(r#"{"type":"object"}"#, other)), Some(expected));
        let with = format!(r#"{{"properties":{{{IT}, "p" : {{}} }} }}"#);
        let expected = list(&with, &format!(r#"{{"properties":{{{IT}}}}}"#));
        assert_eq!(
            declared(&list(r#"{"properties":{ "p" : {} } }"#, r#"{"properties":{}}"#)),
            Some(expected)
        );
        for untouched in [
            list(other, "true"),
            list(r#"{"properties":[]}"#, "[]"),
            r#"{"id":1,"result":{"tools":{}}}"#.into(),
            r#"{"id":1,"result":{"tools":[1]}}"#.into(),
            r#"{"id":1,"error":{"tools":[{"inputSchema":{}}]}}"#.into(),
        ] {
            assert_eq!(declared(&untouched), None, "{untouched}");
        }
        let line = list("{}", "{}");
        let may_come = || Some(Arc::new(AtomicBool::new(true)));
        for off in [
            CallIds::new(None, || false),
            CallIds::new(Some(Arc::default()), || false),
            CallIds::new(may_come(), || true),
        ] {
            assert_eq!(off.declare(line.as_bytes()), None);
        }
    }
}
