//! Where the upstream's messages go, and cutting what is written into chosen pieces.

use std::io::{self, Write};
use std::time::Duration;

use crate::script::Answer;
use crate::step::{Chunking, Reply};

/// Bytes of a filled message that are made at a time.
const FILL_BLOCK: usize = 64 * 1024;

/// A message, or one that is made while it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    Whole(&'a [u8]),
    /// `fill` times the letter `x` between head and tail; never held as a whole.
    Filled {
        head: &'a [u8],
        fill: u64,
        tail: &'a [u8],
    },
}

impl Body<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Filled { head, fill, tail } => (head.len() + tail.len()) as u64 + fill,
        }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Whole(bytes) => out.write_all(bytes),
            Self::Filled { head, fill, tail } => {
                out.write_all(head)?;
                write_fill(out, *fill)?;
                out.write_all(tail)
            }
        }
    }
}

/// Writes so many `x`.
pub(crate) fn write_fill(out: &mut dyn Write, mut left: u64) -> io::Result<()> {
    let block = [b'x'; FILL_BLOCK];
    while left > 0 {
        let n = left.min(FILL_BLOCK as u64) as usize;
        out.write_all(&block[..n])?;
        left -= n as u64;
    }
    Ok(())
}

/// The way from the engine to the host for one request, or for a session's own messages.
///
/// The methods that concern HTTP do nothing on stdio. Errors of writing mean that the other side is gone.
pub(crate) trait Outlet: Send + Sync {
    /// A whole message; `last` marks the answer to the request at hand.
    fn message(&self, body: Body<'_>, last: bool, cut: &Chunking) -> io::Result<()>;

    /// Bytes without a frame.
    fn bytes(&self, bytes: Body<'_>, cut: &Chunking) -> io::Result<()>;

    /// The shape of the answer, before anything was written.
    fn shape(&self, _answer: &Answer) {}

    /// A complete answer.
    fn reply(&self, _reply: &Reply) -> io::Result<()> {
        Ok(())
    }

    /// Bytes on the connection instead of an answer.
    fn connection(&self, _bytes: &[u8], _cut: &Chunking) -> io::Result<()> {
        Ok(())
    }

    /// Closes the connection.
    fn close(&self) {}

    /// Ends the open event stream, keeping what follows for a replay.
    fn cut(&self, _properly: bool) -> io::Result<()> {
        Ok(())
    }

    /// Whether the other side has gone away.
    fn gone(&self) -> bool {
        false
    }
}

/// Takes messages and forgets them (for notifications over HTTP).
pub(crate) struct Nowhere;

impl Outlet for Nowhere {
    fn message(&self, _: Body<'_>, _: bool, _: &Chunking) -> io::Result<()> {
        Ok(())
    }

    fn bytes(&self, _: Body<'_>, _: &Chunking) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that begins a new write at chosen offsets, flushes after each and pauses between them.
pub(crate) struct CutWriter<'a, W: Write> {
    out: W,
    cut: &'a Chunking,
    offset: usize,
}

impl<'a, W: Write> CutWriter<'a, W> {
    pub(crate) fn new(out: W, cut: &'a Chunking) -> Self {
        Self { out, cut, offset: 0 }
    }

    /// Bytes until the next cut; `usize::MAX` when there is none.
    fn room(&self) -> usize {
        let listed = self.cut.at.iter().filter(|at| **at > self.offset).min().map(|at| at - self.offset);
        let regular = (self.cut.every > 0).then(|| self.cut.every - self.offset % self.cut.every);
        listed.into_iter().chain(regular).min().unwrap_or(usize::MAX)
    }

    fn at_cut(&self) -> bool {
        self.offset > 0
            && (self.cut.at.contains(&self.offset)
                || (self.cut.every > 0 && self.offset.is_multiple_of(self.cut.every)))
    }
}

impl<W: Write> Write for CutWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.at_cut() && self.cut.pause_ms > 0 {
            std::thread::sleep(Duration::from_millis(self.cut.pause_ms));
        }
        let n = bytes.len().min(self.room());
        self.out.write_all(&bytes[..n])?;
        self.out.flush()?;
        self.offset += n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for &mut Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn pieces(cut: &Chunking, parts: &[&str]) -> Vec<String> {
        let mut writes = Writes::default();
        let mut out = CutWriter::new(&mut writes, cut);
        for part in parts {
            out.write_all(part.as_bytes()).unwrap();
        }
        writes.0.into_iter().map(|w| String::from_utf8(w).unwrap()).collect()
    }

    #[test]
    fn writes_begin_at_the_chosen_offsets() {
        let cut = Chunking { at: vec![4, 1], ..Chunking::default() };
        assert_eq!(pieces(&cut, &["abcdef", "gh"]), ["a", "bcd", "ef", "gh"]);
        let cut = Chunking { every: 2, ..Chunking::default() };
        assert_eq!(pieces(&cut, &["abc", "de"]), ["ab", "c", "d", "e"]);
        assert_eq!(pieces(&Chunking::default(), &["abc"]), ["abc"]);
    }

    #[test]
    fn a_filled_body_has_its_length() {
        let body = Body::Filled { head: b"<", fill: FILL_BLOCK as u64 * 2 + 3, tail: b">" };
        let mut out = Vec::new();
        body.write(&mut out).unwrap();
        assert_eq!(out.len() as u64, body.len());
        assert!(out.starts_with(b"<x") && out.ends_with(b"x>"));
    }
}
