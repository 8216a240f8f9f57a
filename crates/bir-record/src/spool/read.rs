//! Reading a segment, whatever happened to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use super::line::{self, LONGEST_LINE};

/// What stands at a place of a segment; `end` is the place behind it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A record's JSON.
    Record { json: Vec<u8>, end: u64 },
    /// A line that is not what was written.
    Damaged { end: u64 },
}

/// Reads on from a place. Holds one line at a time, and of a line that is too long to be one nothing.
pub(crate) struct SegmentReader {
    file: BufReader<File>,
    at: u64,
}

impl SegmentReader {
    pub(crate) fn open(path: &Path, from: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(Self { file: BufReader::with_capacity(64 * 1024, file), at: from })
    }

    /// The next item. None: no further line is complete; what stands behind the last one may still grow.
    pub(crate) fn next(&mut self) -> io::Result<Option<Item>> {
        let mut held = Vec::new();
        let mut length = 0_usize;
        loop {
            let buffer = self.file.fill_buf()?;
            if buffer.is_empty() {
                // Whoever reads on begins at the line again.
                self.file.seek(SeekFrom::Start(self.at))?;
                return Ok(None);
            }
            let end = memchr(buffer);
            let taken = end.map_or(buffer.len(), |at| at + 1);
            length = length.saturating_add(taken);
            if length <= LONGEST_LINE {
                held.extend_from_slice(&buffer[..end.unwrap_or(taken)]);
            } else {
                held = Vec::new();
            }
            self.file.consume(taken);
            if end.is_some() {
                self.at += length as u64;
                let end = self.at;
                let json =
                    (length <= LONGEST_LINE).then(|| line::decode(&held)).flatten().map(<[u8]>::to_vec);
                return Ok(Some(json.map_or(Item::Damaged { end }, |json| Item::Record { json, end })));
            }
        }
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n')
}
