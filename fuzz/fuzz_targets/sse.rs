//! Any stream in any chunks against a decoder that reads whole lines.

#![no_main]

use bir_wire::sse::{Decoder, Part, encode_event};
use libfuzzer_sys::fuzz_target;

mod chunks;
#[path = "../../crates/bir-wire/tests/reference/mod.rs"]
mod reference;

fn decode(decoder: &mut Decoder, chunks: &[&[u8]]) -> reference::Stream {
    let mut stream = reference::Stream::default();
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
                    stream.events.push(reference::Event {
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

fuzz_target!(|data: &[u8]| {
    let (chunks, input) = chunks::split(data);
    let expected = reference::sse(input);
    let mut decoder = Decoder::new();
    assert_eq!(decode(&mut decoder, &chunks), expected);
    // The next body of the same stream.
    let again = decode(&mut decoder, &[input]);
    assert_eq!(
        (&again.events, again.comments, again.unfinished),
        (&expected.events, expected.comments, expected.unfinished)
    );

    let mut encoded = Vec::new();
    encode_event(&mut encoded, Some("1"), None, input);
    let stream = decode(&mut Decoder::new(), &[&encoded]);
    assert_eq!(stream.events.len(), 1);
    let text = String::from_utf8_lossy(input).replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(String::from_utf8_lossy(stream.events[0].data.as_deref().unwrap()), text);
});
