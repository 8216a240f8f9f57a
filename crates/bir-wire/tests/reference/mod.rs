//! Slow and obvious implementations to compare with. Used by the integration tests here and by the fuzz targets.

#![allow(dead_code, unreachable_pub, reason = "each user of this module needs a part of it")]
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::borrow::Cow;
use std::ops::Range;

use bir_wire::Field;
use bir_wire::sse::{Decoder, Part};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order, with repeated keys.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

/// A key that is borrowed where it can be.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text).map(Key)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Whether the bytes are one JSON text, with white space around it and a byte order mark before it.
pub fn is_json(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// A field with where its value stands.
pub type Found = Vec<(Field, Range<u64>)>;

/// The tracked fields of an object that is a part of `whole`, last occurrence first to count, and whether one of them
/// is repeated. `None` where serde_json cannot say, because a key holds half a surrogate pair.
pub fn fields(whole: &str, object: &str) -> Option<(Found, bool)> {
    let mut found = Vec::new();
    let mut repeated = false;
    walk(whole, object, "", &mut found, &mut repeated)?;
    found.sort_by_key(|(field, _)| *field as u8);
    Some((found, repeated))
}

fn walk(whole: &str, object: &str, path: &str, found: &mut Found, repeated: &mut bool) -> Option<()> {
    if !object.trim_start().starts_with('{') {
        return Some(());
    }
    let Members(members) = serde_json::from_str(object).ok()?;
    for (n, (key, value)) in members.iter().enumerate() {
        let path = format!("{path}/{key}");
        let Some(field) = field(&path) else { continue };
        let last = !members[n + 1..].iter().any(|(later, _)| later == key);
        let start = (value.get().as_ptr() as usize - whole.as_ptr() as usize) as u64;
        let mut inner = Vec::new();
        if matches!(field, Field::Params | Field::Meta | Field::Result | Field::Error) {
            walk(whole, value.get(), &path, &mut inner, repeated)?;
        }
        if last {
            found.push((field, start..start + value.get().len() as u64));
            found.append(&mut inner);
        } else {
            *repeated = true;
        }
    }
    Some(())
}

fn field(path: &str) -> Option<Field> {
    Some(match path {
        "/id" => Field::Id,
        "/method" => Field::Method,
        "/params" => Field::Params,
        "/result" => Field::Result,
        "/error" => Field::Error,
        "/params/name" => Field::ToolName,
        "/params/arguments" => Field::Arguments,
        "/params/_meta" => Field::Meta,
        "/params/uri" => Field::Uri,
        "/params/requestId" => Field::RequestId,
        "/params/requestState" => Field::ParamsRequestState,
        "/params/inputResponses" => Field::InputResponses,
        "/params/protocolVersion" => Field::InitProtocolVersion,
        "/params/clientInfo" => Field::InitClientInfo,
        "/params/_meta/progressToken" => Field::ProgressToken,
        "/params/_meta/bir/callId" => Field::BirCallId,
        "/params/_meta/callId" => Field::CallId,
        "/params/_meta/claudecode/toolUseId" => Field::ToolUseId,
        "/params/_meta/io.modelcontextprotocol/protocolVersion" => Field::ProtocolVersion,
        "/params/_meta/io.modelcontextprotocol/clientInfo" => Field::ClientInfo,
        "/result/isError" => Field::IsError,
        "/result/resultType" => Field::ResultType,
        "/result/requestState" => Field::ResultRequestState,
        "/result/protocolVersion" => Field::ResultProtocolVersion,
        "/error/code" => Field::ErrorCode,
        _ => return None,
    })
}

/// One complete event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: Option<Vec<u8>>,
    pub event: Option<Vec<u8>>,
    pub retry: Option<u64>,
    pub data: Option<Vec<u8>>,
}

/// What a stream held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    pub events: Vec<Event>,
    pub comments: usize,
    pub last_id: Option<Vec<u8>>,
    pub retry: Option<u64>,
    /// Data of an event that was not finished.
    pub unfinished: bool,
}

/// Splits a whole stream into lines first and reads them one by one. Values longer than the limit are ignored.
pub fn sse(bytes: &[u8]) -> Stream {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i..].starts_with(b"\r\n") {
            lines.push(Vec::new());
            i += 2;
        } else if bytes[i] == b'\r' || bytes[i] == b'\n' {
            lines.push(Vec::new());
            i += 1;
        } else {
            lines.last_mut().unwrap().push(bytes[i]);
            i += 1;
        }
    }
    // What stands after the last line end is no line; it still says that data has begun.
    let tail = lines.pop().unwrap();

    let mut stream = Stream::default();
    let blank = Event { id: None, event: None, retry: None, data: None };
    let mut event = blank.clone();
    let mut oversized = false;
    for line in lines {
        if line.is_empty() {
            if event != blank || oversized {
                if event.id.is_some() {
                    stream.last_id = event.id.clone();
                }
                stream.events.push(event);
            }
            event = blank.clone();
            oversized = false;
            continue;
        }
        if line[0] == b':' {
            stream.comments += 1;
            continue;
        }
        let colon = line.iter().position(|b| *b == b':');
        let (name, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let long = value.len() > bir_wire::sse::LONGEST_VALUE;
        match name {
            b"data" => match &mut event.data {
                None => event.data = Some(value.to_vec()),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"id" | b"event" if long => oversized = true,
            b"id" if !value.contains(&0) => event.id = Some(value.to_vec()),
            b"event" => event.event = Some(value.to_vec()),
            b"retry" if !value.is_empty() && !long && value.iter().all(u8::is_ascii_digit) => {
                let text = str::from_utf8(value).unwrap();
                event.retry = Some(text.parse().unwrap_or(u64::MAX));
                stream.retry = event.retry;
            }
            _ => {}
        }
    }
    stream.unfinished = event.data.is_some() || tail.starts_with(b"data:");
    stream.comments += usize::from(tail.starts_with(b":"));
    stream
}

/// What a decoder makes of the chunks of one body.
pub fn decode(decoder: &mut Decoder, chunks: &[&[u8]]) -> Stream {
    let mut stream = Stream::default();
    let mut data: Option<Vec<u8>> = None;
    for chunk in chunks {
        let mut rest = *chunk;
        while let Some(part) = decoder.next(&mut rest) {
            match part {
                Part::KeepAlive => stream.comments += 1,
                Part::Data(bytes) => {
                    assert!(!bytes.is_empty() && !bytes.iter().any(|b| matches!(b, b'\r' | b'\n')));
                    data.get_or_insert_default().extend_from_slice(bytes);
                }
                Part::DataNewline => data.get_or_insert_default().push(b'\n'),
                Part::End(end) => {
                    let data = data.take();
                    assert_eq!(data.as_ref().map_or(0, Vec::len) as u64, end.data_len);
                    stream.events.push(Event {
                        id: end.id.map(<[u8]>::to_vec),
                        event: end.event.map(<[u8]>::to_vec),
                        retry: end.retry,
                        data: end.had_data.then(|| data.unwrap_or_default()),
                    });
                }
            }
        }
        assert!(rest.is_empty());
    }
    stream.last_id = decoder.last_event_id().map(<[u8]>::to_vec);
    stream.retry = decoder.retry();
    stream.unfinished = decoder.finish();
    stream
}
