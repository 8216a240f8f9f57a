//! One direction of a stdio relay: from chunks of bytes to whole messages and back to bytes.
//!
//! ```text
//!             ┌ a complete line ───────────────────────────▶ shown to the sink, forwarded
//!   chunk ────┤ the head of a line, up to HOLD bytes ──────▶ held until the rest comes
//!             │ a line longer than HOLD ───────────────────▶ streams, scanned as it passes
//!             └ (from the upstream) a line that is no frame ▶ noise
//! ```
//!
//! Short messages reach the other side in one piece, so that a message of our own never lands inside one and half a
//! message of an upstream that died is never sent. Lines that follow each other in a chunk leave in one write, in the
//! bytes in which they came.

use bir_wire::{Limits, Message, Scanner, lines};
use std::io;
use std::ops::Range;

/// Longest line that is held back until it is complete; longer ones stream. The size of a pipe on Linux: a writer of more
/// than that is writing in pieces itself.
pub(crate) const HOLD: usize = 64 * 1024;

/// White space at a line's beginning that is looked through to tell noise from a frame.
const LEADING_SPACE: usize = 4 * 1024;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on as it came.
    Forward,
    /// It goes on as it came, and what waits to leave with it does not: that was for a child that is gone, and is answered.
    ForwardAlone,
    /// It ends here.
    Swallow,
}

/// What becomes of a message that is too long to be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Long {
    /// It streams.
    Stream,
    /// It is held all the same, since a verdict on it is needed.
    Hold,
    /// It is left out; only its envelope is looked at. [`Sink::oversized`] hears of its end.
    Leave,
}

/// Where a flow leads. Errors of `forward` end the flow.
pub(crate) trait Sink {
    /// A message is complete; none of its held bytes, or not the last of its streamed bytes, has gone on yet.
    /// A verdict on a message that streamed comes too late and is ignored.
    fn message(&mut self, message: &Message<'_>) -> Verdict;
    /// What goes on in place of the message of which the verdict was just given; `None`: it goes on as it came.
    fn edited(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// Whether a line of so many bytes and more is held all the same, since it may have to be edited.
    fn holds(&self, _length: usize) -> bool {
        false
    }
    /// A message that is too long to be held has come so far; asked again with each further piece of one that is held.
    fn long(&mut self, so_far: &[u8]) -> Long;
    /// Bytes for the other side.
    fn forward(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Part of an upstream line that is no frame; `end` with its last part.
    fn noise(&mut self, bytes: &[u8], end: bool);
    /// A message beyond the operator's limit was left out; only its envelope is known.
    fn oversized(&mut self, message: &Message<'_>);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a line, or in its held head.
    Held,
    Streaming,
    Noise,
    /// Beyond the operator's limit; scanned for its envelope and dropped.
    Oversized,
}

/// The rules of one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Lines that do not begin with `{` or `[` are noise.
    pub(crate) frames_only: bool,
    /// `BIR_UPSTREAM_MAX_MESSAGE_BYTES`.
    pub(crate) max_message: Option<usize>,
    /// Bytes of the head of a message that streams that are kept for whoever observes it.
    pub(crate) keep: usize,
}

pub(crate) struct Flow {
    rules: Rules,
    scanner: Scanner,
    held: Vec<u8>,
    state: State,
}

impl Flow {
    pub(crate) fn new(rules: Rules) -> Self {
        let scanner = Scanner::new(Limits { keep: rules.keep, ..Limits::default() });
        Self { rules, scanner, held: Vec::new(), state: State::Held }
    }

    /// Takes the next chunk.
    pub(crate) fn feed(&mut self, chunk: &[u8], sink: &mut impl Sink) -> io::Result<()> {
        let mut run = 0..0; // bytes of the chunk that are forwarded in one write
        let mut at = 0;
        for piece in lines::split(chunk) {
            let here = at..at + piece.bytes.len();
            at = here.end;
            if self.state == State::Held && self.held.is_empty() && piece.end {
                self.whole_line(chunk, here, &mut run, sink)?;
            } else {
                flush(chunk, &mut run, sink)?;
                self.part(piece.bytes, piece.end, sink)?;
            }
        }
        flush(chunk, &mut run, sink)
    }

    /// The source has ended. A complete message without a newline is forwarded as it is; half a message is noise.
    pub(crate) fn end(&mut self, sink: &mut impl Sink) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Held if held.is_empty() => return Ok(()),
            State::Held => {
                self.scanner.reset();
                let message = self.scanner.finish_whole(&held);
                if matches!(message.kind(), bir_wire::Kind::NotJson(_)) && self.rules.frames_only {
                    sink.noise(&held, true);
                } else if sink.message(&message) != Verdict::Swallow {
                    let edited = sink.edited();
                    sink.forward(edited.as_deref().unwrap_or(&held))?;
                }
            }
            State::Streaming => {
                sink.message(&self.scanner.finish());
            }
            State::Noise => sink.noise(b"", true),
            State::Oversized => sink.oversized(&self.scanner.finish()),
        }
        self.state = State::Held;
        Ok(())
    }

    fn whole_line(
        &mut self,
        chunk: &[u8],
        here: Range<usize>,
        run: &mut Range<usize>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let line = &chunk[here.clone()];
        if self.rules.frames_only && is_noise(line) == Some(true) {
            flush(chunk, run, sink)?;
            sink.noise(line, true);
            return Ok(());
        }
        self.scanner.reset();
        let message = self.scanner.finish_whole(line);
        if self.rules.max_message.is_some_and(|max| content_len(line) > max) {
            flush(chunk, run, sink)?;
            sink.oversized(&message);
            return Ok(());
        }
        let verdict = sink.message(&message);
        if verdict != Verdict::Swallow
            && let Some(edited) = sink.edited()
        {
            if verdict == Verdict::ForwardAlone {
                *run = 0..0;
            }
            flush(chunk, run, sink)?;
            return sink.forward(&edited);
        }
        match verdict {
            Verdict::ForwardAlone => *run = here,
            Verdict::Forward if run.start == run.end => *run = here,
            Verdict::Forward => run.end = here.end,
            Verdict::Swallow => flush(chunk, run, sink)?,
        }
        Ok(())
    }

    fn part(&mut self, bytes: &[u8], end: bool, sink: &mut impl Sink) -> io::Result<()> {
        match self.state {
            State::Held => self.hold(bytes, end, sink),
            State::Streaming => {
                if end {
                    sink.message(&self.scanner.finish_whole(bytes));
                    self.state = State::Held;
                } else {
                    self.scanner.push(bytes);
                }
                sink.forward(bytes)
            }
            State::Noise => {
                sink.noise(bytes, end);
                self.line_over(end);
                Ok(())
            }
            State::Oversized => {
                self.scanner.push(bytes);
                if end {
                    sink.oversized(&self.scanner.finish());
                }
                self.line_over(end);
                Ok(())
            }
        }
    }

    fn line_over(&mut self, end: bool) {
        if end {
            self.state = State::Held;
        }
    }

    /// The line so far is held; `bytes` come next.
    fn hold(&mut self, bytes: &[u8], end: bool, sink: &mut impl Sink) -> io::Result<()> {
        self.held.extend_from_slice(bytes);
        if self.rules.frames_only && is_noise(&self.held) == Some(true) {
            sink.noise(&self.held, end);
            self.held.clear();
            self.state = if end { State::Held } else { State::Noise };
            return Ok(());
        }
        let too_long = content_len(&self.held) > self.rules.max_message.unwrap_or(HOLD);
        if end && !(too_long && self.rules.max_message.is_some()) {
            self.scanner.reset();
            let verdict = sink.message(&self.scanner.finish_whole(&self.held));
            let edited = sink.edited();
            let line = edited.as_deref().unwrap_or(&self.held);
            let forwarded = if verdict != Verdict::Swallow { sink.forward(line) } else { Ok(()) };
            // Worth keeping for the next split line, unless one long line made it large.
            self.held.clear();
            self.held.shrink_to(HOLD);
            return forwarded;
        }
        let is_held = self.rules.max_message.is_none() && sink.holds(self.held.len());
        if !too_long || is_held {
            return Ok(());
        }
        let long = if self.rules.max_message.is_some() { Long::Leave } else { sink.long(&self.held) };
        if long == Long::Hold { Ok(()) } else { self.release(end, long, sink) }
    }

    /// The held head has become too long: stream it, or leave it out.
    fn release(&mut self, end: bool, long: Long, sink: &mut impl Sink) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.scanner.reset();
        self.scanner.push(&held);
        if long == Long::Leave {
            self.state = if end { State::Held } else { State::Oversized };
            if end {
                sink.oversized(&self.scanner.finish());
            }
            return Ok(());
        }
        self.state = State::Streaming;
        let forwarded = sink.forward(&held);
        // The buffer is worth keeping for the next split line, unless one huge line made it large.
        self.held = held;
        self.held.clear();
        self.held.shrink_to(HOLD);
        forwarded
    }
}

/// A line's length without what ends it.
fn content_len(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

fn flush(chunk: &[u8], run: &mut Range<usize>, sink: &mut impl Sink) -> io::Result<()> {
    let bytes = &chunk[std::mem::replace(run, 0..0)];
    if bytes.is_empty() { Ok(()) } else { sink.forward(bytes) }
}

/// Whether a line is no frame: after white space (and a BOM) it begins neither as an object nor as an array of objects.
/// Log lines do begin with a bracket: `[dotenv@17.2.0] injecting env`, `{ port: 3000 }`. `None` while that is open. A
/// line of white space alone is not noise: it separates frames.
fn is_noise(line: &[u8]) -> Option<bool> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let mut text = line.iter().filter(|b| !b.is_ascii_whitespace());
    match (text.next(), text.next()) {
        (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b']')) => Some(false),
        // A BOM may still be on its way.
        (Some(0xef), _) if line.len() < 3 && b"\xef\xbb".starts_with(line) => None,
        (None | Some(b'{' | b'['), None) => (line.len() > LEADING_SPACE).then_some(false),
        _ => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_wire::Field;

    const KEEP: usize = 64 << 10;
    const FROM_UPSTREAM: Rules = Rules { frames_only: true, max_message: None, keep: KEEP };
    const FROM_HOST: Rules = Rules { frames_only: false, max_message: None, keep: KEEP };

    #[derive(Default)]
    struct Seen {
        forwarded: Vec<u8>,
        writes: usize,
        messages: Vec<(String, u64)>,
        noise: Vec<Vec<u8>>,
        noise_open: bool,
        oversized: Vec<String>,
        swallow: Option<&'static str>,
        holds_all: bool,
        leaves_beyond: Option<usize>,
        alone: Option<&'static str>,
    }

    impl Sink for Seen {
        fn message(&mut self, message: &Message<'_>) -> Verdict {
            let id = message.envelope().raw(Field::Id).unwrap_or_default();
            let id = String::from_utf8_lossy(id).into_owned();
            let verdict =
                if self.swallow.is_some_and(|s| s == id) { Verdict::Swallow } else { Verdict::Forward };
            let verdict = if self.alone.is_some_and(|s| s == id) { Verdict::ForwardAlone } else { verdict };
            self.messages.push((id, message.len()));
            verdict
        }
        fn long(&mut self, so_far: &[u8]) -> Long {
            match self.leaves_beyond {
                Some(most) if so_far.len() > most => Long::Leave,
                Some(_) => Long::Hold,
                None if self.holds_all => Long::Hold,
                None => Long::Stream,
            }
        }
        fn forward(&mut self, bytes: &[u8]) -> io::Result<()> {
            assert!(!bytes.is_empty());
            self.writes += 1;
            self.forwarded.extend_from_slice(bytes);
            Ok(())
        }
        fn noise(&mut self, bytes: &[u8], end: bool) {
            if !self.noise_open {
                self.noise.push(Vec::new());
            }
            self.noise.last_mut().unwrap().extend_from_slice(bytes);
            self.noise_open = !end;
        }
        fn oversized(&mut self, message: &Message<'_>) {
            let id = message.envelope().raw(Field::Id).unwrap_or_default();
            self.oversized.push(String::from_utf8_lossy(id).into_owned());
        }
    }

    fn through(rules: Rules, chunks: &[&[u8]]) -> Seen {
        let (mut flow, mut seen) = (Flow::new(rules), Seen::default());
        for chunk in chunks {
            flow.feed(chunk, &mut seen).unwrap();
        }
        flow.end(&mut seen).unwrap();
        seen
    }

    fn ids(seen: &Seen) -> Vec<&str> {
        seen.messages.iter().map(|(id, _)| id.as_str()).collect()
    }

    const SESSION: &str = "{\"id\":1,\"method\":\"a\"}\n \n{ \"id\" : \"é\\ud800\" , \"result\":1e400}\r\n\u{feff}[{\"id\":3}]\n{\"id\":-0,\"id\":4}\n";

    #[test]
    fn bytes_pass_as_they_came_however_they_are_cut() {
        let whole = SESSION.as_bytes();
        let reference = through(FROM_UPSTREAM, &[whole]);
        assert_eq!(reference.forwarded, whole);
        assert_eq!(reference.writes, 1);
        assert_eq!(reference.messages.len(), 5);
        for rules in [FROM_UPSTREAM, FROM_HOST] {
            for cut in 0..=whole.len() {
                let seen = through(rules, &[&whole[..cut], &whole[cut..]]);
                assert_eq!(seen.forwarded, whole, "cut at {cut}");
                assert_eq!(seen.messages, reference.messages, "cut at {cut}");
            }
            let single: Vec<&[u8]> = whole.chunks(1).collect();
            assert_eq!(through(rules, &single).forwarded, whole);
        }
    }

    #[test]
    fn short_messages_leave_in_one_piece() {
        let (mut flow, mut seen) = (Flow::new(FROM_UPSTREAM), Seen::default());
        flow.feed(b"{\"id\":1}\n{\"id\":2,", &mut seen).unwrap();
        assert_eq!(seen.forwarded, b"{\"id\":1}\n");
        flow.feed(b"\"result\":0}\n", &mut seen).unwrap();
        assert_eq!((seen.writes, seen.forwarded), (2, b"{\"id\":1}\n{\"id\":2,\"result\":0}\n".to_vec()));
    }

    #[test]
    fn long_messages_stream_and_hold_little() {
        let (mut flow, mut seen) = (Flow::new(FROM_UPSTREAM), Seen::default());
        let filler = vec![b'x'; 64 * 1024];
        flow.feed(b"{\"result\":\"", &mut seen).unwrap();
        for _ in 0..1024 {
            flow.feed(&filler, &mut seen).unwrap();
            assert!(flow.held.capacity() <= 4 * HOLD, "{}", flow.held.capacity());
        }
        assert!(seen.forwarded.len() >= 1023 * filler.len());
        flow.feed(b"\",\"id\":9}\n{\"id\":10}\n", &mut seen).unwrap();
        assert_eq!(ids(&seen), ["9", "10"]);
        assert_eq!(seen.messages[0].1, 11 + 64 * 1024 * 1024 + 10);
    }

    #[test]
    fn what_is_left_out_holds_little_and_ends_at_its_line_end() {
        let (mut flow, mut seen) = (Flow::new(FROM_UPSTREAM), Seen::default());
        seen.leaves_beyond = Some(4 * HOLD);
        let filler = vec![b'x'; 64 * 1024];
        flow.feed(b"{\"id\":1}\n{\"id\":9,\"result\":\"", &mut seen).unwrap();
        for _ in 0..256 {
            flow.feed(&filler, &mut seen).unwrap();
            assert!(flow.held.capacity() <= 16 * HOLD, "{}", flow.held.capacity());
        }
        flow.feed(b"\"}\n{\"id\":10}\n", &mut seen).unwrap();
        assert_eq!((ids(&seen), &seen.oversized), (vec!["1", "10"], &vec!["9".to_owned()]));
        assert_eq!(seen.forwarded, b"{\"id\":1}\n{\"id\":10}\n");
    }

    #[test]
    fn what_is_no_frame_is_kept_from_the_host_however_it_is_cut() {
        let session = b"> pkg@1 start\n{\"id\":1}\nContent-Length: 5\r\n\r\n  warn {x}\n\t{\"id\":2}\nbye";
        let clean = b"{\"id\":1}\n\r\n\t{\"id\":2}\n";
        for cut in 0..=session.len() {
            let seen = through(FROM_UPSTREAM, &[&session[..cut], &session[cut..]]);
            assert_eq!(seen.forwarded, clean, "cut at {cut}");
            assert_eq!(seen.noise.len(), 4, "cut at {cut}");
            assert_eq!(seen.noise[0], b"> pkg@1 start\n");
        }
        assert_eq!(through(FROM_HOST, &[session]).forwarded, session);
    }

    #[test]
    fn a_log_line_in_brackets_is_no_frame() {
        let session = b"[dotenv@17.2.0] injecting env\n[1] x\n{ port: 3000 }\n[ {\"id\":1} ]\n[]\n{ }\n{ \t\"id\":2}\n{\n";
        let clean = b"[ {\"id\":1} ]\n[]\n{ }\n{ \t\"id\":2}\n{\n";
        for cut in 0..=session.len() {
            let seen = through(FROM_UPSTREAM, &[&session[..cut], &session[cut..]]);
            assert_eq!(seen.forwarded, clean, "cut at {cut}");
            assert_eq!(seen.noise.len(), 3, "cut at {cut}");
        }
    }

    #[test]
    fn endless_noise_is_not_held() {
        let (mut flow, mut seen) = (Flow::new(FROM_UPSTREAM), Seen::default());
        flow.feed(b"no newline ", &mut seen).unwrap();
        for _ in 0..100 {
            flow.feed(&[b'.'; 1000], &mut seen).unwrap();
            assert!(flow.held.is_empty());
        }
    }

    #[test]
    fn the_end_of_the_source_ends_the_line() {
        assert_eq!(through(FROM_UPSTREAM, &[b"{\"id\":1}"]).forwarded, b"{\"id\":1}");
        let half = through(FROM_UPSTREAM, &[b"{\"id\":1"]);
        assert!(half.forwarded.is_empty());
        assert_eq!(half.noise, [b"{\"id\":1"]);
        // Half a request of the host is the upstream's to refuse.
        assert_eq!(through(FROM_HOST, &[b"{\"id\":1"]).forwarded, b"{\"id\":1");
    }

    #[test]
    fn a_swallowed_message_leaves_its_neighbours() {
        let (mut flow, mut seen) = (Flow::new(FROM_UPSTREAM), Seen { swallow: Some("2"), ..Seen::default() });
        flow.feed(b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":2", &mut seen).unwrap();
        flow.feed(b"}\n", &mut seen).unwrap();
        assert_eq!(seen.forwarded, b"{\"id\":1}\n{\"id\":3}\n");
    }

    #[test]
    fn a_long_message_that_must_not_stream_is_held_for_its_verdict() {
        let long = [b"{\"id\":2,\"result\":\"", &[b'x'; 3 * HOLD][..], b"\"}\n{\"id\":3}\n"].concat();
        for size in [1_000, HOLD, 2 * HOLD + 1, long.len()] {
            let (mut flow, mut seen) =
                (Flow::new(FROM_UPSTREAM), Seen { swallow: Some("2"), ..Seen::default() });
            seen.holds_all = true;
            for chunk in long.chunks(size) {
                flow.feed(chunk, &mut seen).unwrap();
            }
            assert_eq!(seen.forwarded, b"{\"id\":3}\n", "chunks of {size}");
            assert!(flow.held.capacity() <= HOLD);
        }
    }

    #[test]
    fn the_operators_limit_is_on_the_message_without_its_line_end() {
        let rules = Rules { frames_only: true, max_message: Some(8), keep: KEEP };
        for session in [&b"{\"id\":1}\n"[..], b"{\"id\":1}\r\n"] {
            for cut in 0..=session.len() {
                let seen = through(rules, &[&session[..cut], &session[cut..]]);
                assert_eq!((seen.forwarded, seen.oversized.len()), (session.to_vec(), 0), "cut at {cut}");
            }
        }
        let seen = through(rules, &[b"{\"id\":1} \r\n"]);
        assert_eq!((seen.forwarded.len(), seen.oversized.len()), (0, 1));
    }

    #[test]
    fn a_message_that_goes_alone_leaves_behind_what_waits_before_it() {
        let session = b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n";
        let (mut flow, mut seen) = (Flow::new(FROM_HOST), Seen { alone: Some("2"), ..Seen::default() });
        flow.feed(session, &mut seen).unwrap();
        assert_eq!(seen.forwarded, b"{\"id\":2}\n{\"id\":3}\n");
        // Cut into pieces nothing waits.
        let (mut flow, mut seen) = (Flow::new(FROM_HOST), Seen { alone: Some("2"), ..Seen::default() });
        session.chunks(3).for_each(|chunk| flow.feed(chunk, &mut seen).unwrap());
        assert_eq!(seen.forwarded, session);
    }

    #[test]
    fn beyond_the_operators_limit_only_the_envelope_is_read() {
        let rules = Rules { frames_only: true, max_message: Some(20), keep: KEEP };
        let session = b"{\"id\":1}\n{\"result\":\"0123456789\",\"id\":2}\n{\"id\":3,\"r\":12345}\n";
        for cut in 0..=session.len() {
            let seen = through(rules, &[&session[..cut], &session[cut..]]);
            assert_eq!(seen.oversized, ["2"], "cut at {cut}");
            assert_eq!(seen.forwarded, b"{\"id\":1}\n{\"id\":3,\"r\":12345}\n", "cut at {cut}");
        }
    }
}
