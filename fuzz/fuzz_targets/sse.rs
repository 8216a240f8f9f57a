//! Any stream in any chunks against a decoder that reads whole lines.

#![no_main]

use bir_wire::sse::{Decoder, encode_event};
use libfuzzer_sys::fuzz_target;

mod chunks;
#[path = "../../crates/bir-wire/tests/reference/mod.rs"]
mod reference;

use reference::decode;

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
