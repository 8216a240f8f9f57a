//! Newline framing: where a line ends in a chunk, without copying.
//!
//! A stdio transport is a stream of lines, and a chunk that `read` returned may hold the end of one line, several
//! whole ones and the beginning of another. [`split`] cuts a chunk into [`Piece`]s; the newline belongs to the piece
//! that it ends, so the pieces joined are the chunk again. Only `\n` ends a line: a `\r` before it is part of the
//! line, which the scanner tolerates.
//!
//! ```
//! let pieces: Vec<_> = bir_wire::split(b"tail\n{}\r\n{\"id\"").map(|p| (p.bytes, p.end)).collect();
//! assert_eq!(pieces, [(&b"tail\n"[..], true), (&b"{}\r\n"[..], true), (&b"{\"id\""[..], false)]);
//! ```

/// A part of a line, as it stood in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The bytes, never empty, with the newline when there is one.
    pub bytes: &'a [u8],
    /// Whether the line ends with this piece. Only the last piece of a chunk can be open.
    pub end: bool,
}

/// The pieces of one chunk in order; see [`split`].
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
}

/// Cuts a chunk after each newline. An empty chunk has no pieces.
pub fn split(chunk: &[u8]) -> Lines<'_> {
    Lines { rest: chunk }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Piece<'a>;

    #[inline]
    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (bytes, rest, end) = match memchr::memchr(b'\n', self.rest) {
            Some(at) => (&self.rest[..=at], &self.rest[at + 1..], true),
            None => (self.rest, &[][..], false),
        };
        self.rest = rest;
        Some(Piece { bytes, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_joined_are_the_chunk_and_only_the_last_is_open() {
        for chunk in [&b""[..], b"\n", b"a", b"a\n", b"\n\n", b"a\nb", b"\r\n\r\n", b"a\rb\nc\n", b"\na"] {
            let pieces: Vec<_> = split(chunk).collect();
            assert_eq!(pieces.iter().flat_map(|p| p.bytes).copied().collect::<Vec<u8>>(), chunk);
            for (n, piece) in pieces.iter().enumerate() {
                assert!(!piece.bytes.is_empty());
                assert_eq!(piece.end, piece.bytes.last() == Some(&b'\n'));
                assert!(piece.end || n + 1 == pieces.len());
                assert_eq!(piece.bytes.iter().filter(|b| **b == b'\n').count(), usize::from(piece.end));
            }
        }
    }
}
