//! What the plain path allocates: nothing, once the buffers have their size; and what a scanner holds at most.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a counting allocator is an unsafe trait; it only counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bir_wire::sse::{Decoder, Part};
use bir_wire::{Field, Kind, Limits, Scanner, split};

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // The thread may be going away, and then nobody counts.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    let _ = BYTES.try_with(|total| total.set(total.get() + bytes as u64));
}

// SAFETY: every call goes to the system allocator with the arguments as they came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the pointer came from `System` with this layout, the size is the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often and how much this thread allocated meanwhile.
fn allocated(work: impl FnOnce()) -> (u64, u64) {
    let before = (CALLS.get(), BYTES.get());
    work();
    (CALLS.get() - before.0, BYTES.get() - before.1)
}

const MESSAGES: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":[[1]]},\
     \"_meta\":{\"claudecode/toolUseId\":\"toolu_1\",\"progressToken\":\"p\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":\"a-long-id-0123456789\",\"result\":{\"content\":[{\"text\":\"é \\n\"}],\"isError\":false}}\r\n",
    "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":17}}\n",
    "{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
    "[{\"id\":1,\"method\":\"a\"},{\"method\":\"b\"}]\n",
    "\n",
    "no JSON at all\n",
];

fn read_all(scanner: &mut Scanner, chunk: &[u8], cut: usize) -> u64 {
    let mut seen = 0;
    for piece in split(chunk) {
        let (first, last) = piece.bytes.split_at(cut.min(piece.bytes.len()));
        if !first.is_empty() {
            scanner.push(first);
        }
        assert!(piece.end);
        let message = scanner.finish_whole(last);
        let envelope = message.envelope();
        seen += u64::from(message.kind() == Kind::Request && envelope.text_is(Field::Method, "tools/call"));
        seen += envelope.text(Field::ToolName).map_or(0, |name| name.len() as u64);
        seen += envelope.raw(Field::Id).map_or(0, |id| id.len() as u64);
        scanner.reset();
    }
    seen
}

#[test]
fn nothing_is_allocated_per_message_once_warm() {
    let chunk = MESSAGES.concat().into_bytes();
    let mut scanner = Scanner::default();
    for cut in 0..40 {
        read_all(&mut scanner, &chunk, cut);
    }
    let mut seen = 0;
    let (calls, _) = allocated(|| {
        for round in 0..1000 {
            seen += read_all(&mut scanner, &chunk, round % 40);
        }
    });
    assert_eq!(seen, 1000 * (1 + 3 + 1 + 22 + 1));
    assert_eq!(calls, 0);
}

#[test]
fn the_counter_counts() {
    let (calls, bytes) = allocated(|| drop(std::hint::black_box(vec![0u8; 1000])));
    assert_eq!((calls, bytes), (1, 1000));
}

#[test]
fn events_allocate_nothing_once_warm() {
    let stream = b": ping\nid: 12\nevent: message\nretry: 100\ndata: {\"id\":1}\r\ndata: x\n\n".repeat(50);
    let mut decoder = Decoder::new();
    let read = |decoder: &mut Decoder| {
        let mut events = 0;
        for chunk in stream.chunks(7) {
            let mut rest = chunk;
            while let Some(part) = decoder.next(&mut rest) {
                events += usize::from(matches!(part, Part::End(end) if end.data_len == 10));
            }
        }
        events
    };
    assert_eq!(read(&mut decoder), 50);
    let (calls, _) = allocated(|| assert_eq!(read(&mut decoder), 50));
    assert_eq!(calls, 0);
}

#[test]
fn a_64_mib_message_passes_in_bounded_memory() {
    let block = "c29tZSBiYXNlNjQgdGV4dA/+".repeat(64 << 10 >> 3).into_bytes();
    let mut scanner = Scanner::default();
    let (_, bytes) = allocated(|| {
        scanner
            .push(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"content\":[{\"type\":\"image\",\"data\":\"");
        while scanner.len() < 64 << 20 {
            for chunk in block.chunks(64 << 10) {
                scanner.push(chunk);
            }
        }
        scanner.push(b"\"}],\"isError\":false}}\n");
        let message = scanner.finish();
        assert_eq!(message.kind(), Kind::Response);
        assert_eq!(message.envelope().raw(Field::IsError), Some(&b"false"[..]));
        assert!(message.len() > 64 << 20);
        assert_eq!(message.head().len(), Limits::default().keep);
    });
    // The head doubles up to its 64 KiB; nothing else grows.
    assert!(bytes < 200 << 10, "{bytes}");
    assert!(scanner.capacity() < 70 << 10, "{}", scanner.capacity());
}

/// Messages made to be expensive: long scalars everywhere, keys that repeat, deep nesting, many elements.
#[test]
fn hostile_messages_stay_within_the_limits() {
    let long = "x".repeat(60 << 10);
    let fields = format!(
        "\"id\":\"{long}\",\"method\":\"{long}\",\"params\":{{\"name\":\"{long}\",\"uri\":\"{long}\",\
         \"requestState\":\"{long}\",\"_meta\":{{\"callId\":\"{long}\",\"progressToken\":\"{long}\"}}}}"
    );
    let batch = format!("[{}]", vec![format!("{{{fields}}}"); 50].join(","));
    let repeated = format!("{{{}}}", vec![&*fields; 50].join(","));
    let key = format!("{{\"{}\":1}}", "k".repeat(4 << 20));
    let deep = format!("{}1{}", "[".repeat(99_999), "]".repeat(99_999));
    let many = format!("[{}]", vec!["{}"; 100_000].join(","));
    let spaces = " ".repeat(4 << 20);
    let mut scanner = Scanner::default();
    for (name, text) in [
        ("batch", batch),
        ("repeated", repeated),
        ("key", key),
        ("deep", deep),
        ("many", many),
        ("spaces", spaces),
    ] {
        for chunk in text.as_bytes().chunks(10_000) {
            scanner.push(chunk);
        }
        assert!(!matches!(scanner.finish().kind(), Kind::NotJson(_)), "{name}");
        assert!(scanner.capacity() < 4 << 20, "{name}: {}", scanner.capacity());
        scanner.reset();
        assert!(scanner.capacity() < 512 << 10, "{name} after the reset: {}", scanner.capacity());
    }
}
