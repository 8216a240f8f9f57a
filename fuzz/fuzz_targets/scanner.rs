//! Any bytes in any chunks: the same answer as in one piece, the same opinion as serde_json, spans that fit.

#![no_main]

use bir_wire::{Envelope, Field, Kind, Limits, Message, Scanner};
use libfuzzer_sys::fuzz_target;

mod chunks;
#[path = "../../crates/bir-wire/tests/reference/mod.rs"]
mod reference;

fn same(one: &Message<'_>, other: &Message<'_>) {
    assert_eq!(one.kind(), other.kind());
    assert_eq!(one.len(), other.len());
    assert_eq!(one.envelope(), other.envelope());
    assert_eq!(one.batch(), other.batch());
    assert_eq!(one.batch_len(), other.batch_len());
}

fn check(envelope: &Envelope, whole: &str, limit: usize) {
    for field in Field::ALL {
        let (raw, span) = (envelope.raw(field), envelope.span(field));
        if let Some(span) = span {
            let text = &whole[span.start as usize..span.end as usize];
            assert!(raw.is_none_or(|raw| raw == text.as_bytes()));
            let scalar = !text.starts_with(['{', '[']);
            assert_eq!(raw.is_some(), scalar && text.len() <= limit);
        }
        if let Some(text) = envelope.text(field) {
            let exact = serde_json::from_slice::<String>(raw.unwrap());
            assert!(exact.as_ref().map_or(text.contains('\u{fffd}'), |exact| *exact == text));
            assert_eq!(envelope.text_is(field, &text), exact.is_ok());
        }
    }
    let element = envelope.span_of_element();
    let element = &whole[element.start as usize..element.end as usize];
    if let Some((found, repeated)) = reference::fields(whole, element) {
        let ours: reference::Found = Field::ALL
            .into_iter()
            .filter_map(|f| envelope.span(f).map(|span| (f, span.start..span.end)))
            .collect();
        assert_eq!(ours, found);
        assert_eq!(envelope.repeated(), repeated);
    }
}

fuzz_target!(|data: &[u8]| {
    let (chunks, input) = chunks::split(data);
    // With limits that small inputs reach, and with none that they can reach.
    for limits in [Limits::default(), Limits { keep: 16, scalar: 8, depth: 6, batch: 2 }] {
        let mut one = Scanner::new(limits);
        let mut other = Scanner::new(limits);
        let whole = one.finish_whole(input);
        let mut pushed = 0;
        for chunk in &chunks {
            other.push(chunk);
            pushed += chunk.len() as u64;
            assert_eq!(other.len(), pushed);
            // Asking after each of thousands of chunks would make the fuzzer slow.
            if chunks.len() > 64 {
                continue;
            }
            let so_far = other.so_far();
            for field in Field::ALL {
                assert!(so_far.span(field).is_none_or(|span| span.start <= span.end && span.end <= pushed));
            }
        }
        let cut = other.finish();
        same(&whole, &cut);
        assert!(cut.head().len() <= limits.keep && input.starts_with(cut.head()));
        if limits.depth == 6 {
            continue;
        }

        let valid = reference::is_json(input);
        match whole.kind() {
            Kind::NotJson(fault) => {
                assert!(!valid, "refused: {fault}");
                assert!(fault.at <= whole.len());
            }
            Kind::Blank => assert!(!valid),
            kind => {
                assert!(valid, "accepted as {kind:?}");
                let text = std::str::from_utf8(input).unwrap();
                if whole.batch_len() == 0 {
                    check(whole.envelope(), text, limits.scalar);
                }
                for element in whole.batch() {
                    check(element, text, limits.scalar);
                }
            }
        }
        one.reset();
        let again = Scanner::new(limits).finish_whole(input).kind();
        assert_eq!(one.finish_whole(input).kind(), again, "after a reset");
    }
});
