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

/// White space before a line's first character that is looked through to tell noise from a frame.
const LEADING_SPACE: usize = 4 * 1024;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on as it came.
    Forward,
    /// It ends here.
    Swallow,
}

/// Where a flow leads. Errors of `forward` end the flow.
pub(crate) trait Sink {
    /// A message is complete; none of its held bytes, or not the last of its streamed bytes, has gone on yet.
    /// A verdict on a message that streamed comes too late and is ignored.
    fn message(&mut self, message: &Message<'_>) -> Verdict;
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
}

pub(crate) struct Flow {
    rules: Rules,
    scanner: Scanner,
    held: Vec<u8>,
    state: State,
}

impl Flow {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, scanner: Scanner::new(Limits::default()), held: Vec::new(), state: State::Held }
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
                } else if sink.message(&message) == Verdict::Forward {
                    sink.forward(&held)?;
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
        if self.rules.max_message.is_some_and(|max| line.len() > max) {
            flush(chunk, run, sink)?;
            sink.oversized(&message);
            return Ok(());
        }
        match sink.message(&message) {
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
        let hold = self.rules.max_message.unwrap_or(HOLD);
        if end && self.held.len() <= hold {
            self.scanner.reset();
            let verdict = sink.message(&self.scanner.finish_whole(&self.held));
            let forwarded = if verdict == Verdict::Forward { sink.forward(&self.held) } else { Ok(()) };
            self.held.clear();
            return forwarded;
        }
        if self.held.len() > hold {
            return self.release(end, sink);
        }
        Ok(())
    }

    /// The held head has become too long: stream it, or leave it out.
    fn release(&mut self, end: bool, sink: &mut impl Sink) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.scanner.reset();
        self.scanner.push(&held);
        if self.rules.max_message.is_some() {
            self.state = if end { State::Held } else { State::Oversized };
            if end {
                sink.oversized(&self.scanner.finish());
            }
            return Ok(());
        }
        self.state = if end { State::Held } else { State::Streaming };
        if end {
            sink.message(&self.scanner.finish());
        }
        let forwarded = sink.forward(&held);
        // The buffer is worth keeping for the next split line, unless one huge line made it large.
        self.held = held;
        self.held.clear();
        self.held.shrink_to(HOLD);
        forwarded
    }
}

fn flush(chunk: &[u8], run: &mut Range<usize>, sink: &mut impl Sink) -> io::Result<()> {
    let bytes = &chunk[std::mem::replace(run, 0..0)];
    if bytes.is_empty() { Ok(()) } else { sink.forward(bytes) }
}

/// Whether a line is no frame: its first character after white space (and a BOM) is neither `{` nor `[`. `None` while
/// there is nothing but white space. A line of white space alone is not noise: it separates frames.
fn is_noise(line: &[u8]) -> Option<bool> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    match line.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Some(false),
        // A BOM may still be on its way.
        Some(0xef) if line.len() < 3 && b"\xef\xbb".starts_with(line) => None,
        Some(_) => Some(true),
        None if line.len() > LEADING_SPACE => Some(false),
        None => None,
    }
}
