//! The lines that a call of our own consists of, and what an answer says. Pure.

use bir_model::Era;
use bir_model::control::{LONGEST_RESULT, WorkEnd};
use bir_wire::splice::member;
use bir_wire::{Field, Kind, Message, text};

/// The members of `_meta` that the modern era wants in every request.
const NEEDED: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
/// Longest value of such a member that is kept, in bytes.
const LONGEST_MEMBER: u64 = 16 * 1024;

/// The `_meta` with which the host speaks in the modern era, as an object of raw JSON: a server is told of the same client and
/// the same capabilities as by the host, and behaves the same. `None`: this is no such message.
pub(super) fn meta(message: &Message<'_>) -> Option<Vec<u8>> {
    let envelope = message.envelope();
    if message.kind() != Kind::Request || !envelope.has(Field::ProtocolVersion) || !message.is_whole() {
        return None;
    }
    let (head, meta) = (message.head(), envelope.span(Field::Meta)?);
    let mut kept = vec![b'{'];
    for name in NEEDED {
        let Some(value) = member(head, meta, name).filter(|value| value.len() <= LONGEST_MEMBER) else {
            continue;
        };
        if kept.len() > 1 {
            kept.push(b',');
        }
        text::encode(name, &mut kept);
        kept.push(b':');
        kept.extend_from_slice(message.slice(value)?);
    }
    kept.push(b'}');
    Some(kept)
}

/// The request, on one line. `meta` is that of the host where the connection is modern.
pub(super) fn call(id: &str, tool: &str, arguments: &str, meta: Option<&[u8]>) -> Vec<u8> {
    let mut line = b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec();
    text::encode(id, &mut line);
    line.extend_from_slice(b",\"method\":\"tools/call\",\"params\":{\"name\":");
    text::encode(tool, &mut line);
    line.extend_from_slice(b",\"arguments\":");
    // Line breaks stand between tokens alone.
    line.extend(arguments.trim().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    close(line, meta)
}

/// Its cancellation.
pub(super) fn cancel(id: &str, reason: &str, meta: Option<&[u8]>) -> Vec<u8> {
    let mut line =
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":".to_vec();
    text::encode(id, &mut line);
    line.extend_from_slice(b",\"reason\":");
    text::encode(reason, &mut line);
    close(line, meta)
}

fn close(mut line: Vec<u8>, meta: Option<&[u8]>) -> Vec<u8> {
    if let Some(meta) = meta {
        line.extend_from_slice(b",\"_meta\":");
        line.extend_from_slice(meta);
    }
    line.extend_from_slice(b"}}\n");
    line
}

/// The `_meta` to send: none in the legacy era.
pub(super) fn meta_for(era: Era, meta: Option<Vec<u8>>) -> Option<Vec<u8>> {
    meta.filter(|_| era == Era::Modern)
}

/// What an answer to a call of ours says. `whole` is the message, where all of it was kept.
pub(super) fn end(message: &Message<'_>, whole: Option<&[u8]>) -> WorkEnd {
    let envelope = message.envelope();
    let failed = envelope.has(Field::Error) && !envelope.has(Field::Result);
    let unclear = |why: &str| WorkEnd::Unknown { why: why.into() };
    if matches!(message.kind(), Kind::NotJson(_)) {
        return unclear("the server's answer is no JSON");
    }
    if !failed && envelope.text_is(Field::ResultType, "input_required") {
        return WorkEnd::InputRequired { asked: "input_required".into() };
    }
    let Some(span) = envelope.span(if failed { Field::Error } else { Field::Result }) else {
        return unclear("the server's answer has neither result nor error");
    };
    if span.len() > LONGEST_RESULT as u64 {
        return WorkEnd::TooLarge { bytes: message.len() };
    }
    let at = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let Some(json) = whole.and_then(|whole| whole.get(at(span.start)..at(span.end))) else {
        return WorkEnd::TooLarge { bytes: message.len() };
    };
    match std::str::from_utf8(json) {
        Ok(json) if failed => WorkEnd::Error { json: json.to_owned() },
        Ok(json) => WorkEnd::Result { json: json.to_owned() },
        Err(_) => unclear("the server's answer is not valid UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_wire::Scanner;

    fn text_of(line: Vec<u8>) -> String {
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_call_is_one_line_with_the_arguments_as_they_are() {
        let line = call("bir:1", "a\"b", " {\n \"n\" : 1e400,\r\n\"t\":\"\\n\" } ", None);
        assert_eq!(
            text_of(line),
            "{\"jsonrpc\":\"2.0\",\"id\":\"bir:1\",\"method\":\"tools/call\",\"params\":{\"name\":\"a\\\"b\",\"arguments\":{  \"n\" : 1e400,  \"t\":\"\\n\" }}}\n"
        );
        assert_eq!(
            text_of(cancel("bir:1", "time", Some(b"{\"v\":1}"))),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"bir:1\",\"reason\":\"time\",\"_meta\":{\"v\":1}}}\n"
        );
    }

    #[test]
    fn the_modern_host_is_spoken_for_in_its_own_words() {
        let mut scanner = Scanner::default();
        let found = |scanner: &mut Scanner, line: &str| {
            scanner.reset();
            meta(&scanner.finish_whole(line.as_bytes())).map(text_of)
        };
        let line = r#"{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":3,"io.modelcontextprotocol/clientCapabilities":{ "a" : 1e400 },"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let expected = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{ "a" : 1e400 }}"#;
        assert_eq!(found(&mut scanner, line).as_deref(), Some(expected));
        assert_eq!(found(&mut scanner, r#"{"id":1,"method":"initialize","params":{}}"#), None);
        assert_eq!(meta_for(Era::Legacy, Some(vec![1])), None);
        assert_eq!(meta_for(Era::Modern, Some(vec![1])), Some(vec![1]));
    }

    #[test]
    fn an_answer_says_how_it_ended() {
        let ends = |line: &[u8], whole: bool| {
            let mut scanner = Scanner::default();
            let message = scanner.finish_whole(line);
            end(&message, whole.then_some(line))
        };
        let result = WorkEnd::Result { json: r#"{ "isError":true,"n":1e400}"#.into() };
        assert_eq!(ends(br#"{"id":"x","result":{ "isError":true,"n":1e400}}"#, true), result);
        assert_eq!(
            ends(br#"{"error":{"code":1},"id":"x"}"#, true),
            WorkEnd::Error { json: r#"{"code":1}"#.into() }
        );
        assert_eq!(
            ends(br#"{"id":"x","result":{"resultType":"input_required","inputRequests":{}}}"#, true),
            WorkEnd::InputRequired { asked: "input_required".into() }
        );
        assert_eq!(ends(br#"{"id":"x","result":{}}"#, false), WorkEnd::TooLarge { bytes: 22 });
        for broken in [
            &b"{\"id\":\"x\"}"[..],
            b"{\"id\":\"x\",\"result\":",
            b"{\"id\":\"x\",\"result\":{\"t\":\"caf\xe9\"}}",
        ] {
            assert!(matches!(ends(broken, true), WorkEnd::Unknown { .. }), "{broken:?}");
        }
    }
}
