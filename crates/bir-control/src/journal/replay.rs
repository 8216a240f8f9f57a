//! Reading all journals at once, in the order in which their entries were taken.

use super::line::{self, Numbered};
use bir_record::redact::Redactor;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// Bytes of a line that is read at most. A longer one is none.
const LONGEST_LINE: u64 = 32 * 1024 * 1024;
/// Bytes of a file that are read at once.
const BUFFER: usize = 16 * 1024;
/// Files that are kept open while they are read; of more than these each is opened anew for each entry.
const OPEN: usize = 128;

/// Entries of all journals, of which one of each is held at a time.
pub(crate) struct Replay {
    sources: Vec<Source>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    heads: Vec<Option<Numbered>>,
    started: bool,
    /// Lines that are damaged, or of a release that knows more.
    pub(crate) damaged: u64,
}

struct Source {
    path: PathBuf,
    at: u64,
    keep_open: bool,
    file: Option<BufReader<File>>,
}

impl Replay {
    pub(super) fn of(paths: Vec<PathBuf>) -> Self {
        let keep_open = paths.len() <= OPEN;
        let sources: Vec<_> =
            paths.into_iter().map(|path| Source { path, at: 0, keep_open, file: None }).collect();
        let heads = sources.iter().map(|_| None).collect();
        Self { sources, next: BinaryHeap::new(), heads, started: false, damaged: 0 }
    }

    /// The entry that was taken next.
    pub(crate) fn next(&mut self, redactor: &Redactor) -> Option<Numbered> {
        if !std::mem::replace(&mut self.started, true) {
            (0..self.sources.len()).for_each(|at| self.advance(at, redactor));
        }
        let Reverse((_, at)) = self.next.pop()?;
        let found = self.heads[at].take();
        self.advance(at, redactor);
        found
    }

    fn advance(&mut self, at: usize, redactor: &Redactor) {
        // A file that cannot be read on has ended.
        while let Ok(Some(text)) = self.sources[at].line() {
            match line::read(text.strip_suffix(b"\n").unwrap_or(&text), redactor) {
                Some(found) => {
                    self.next.push(Reverse((found.number, at)));
                    self.heads[at] = Some(found);
                    return;
                }
                None => self.damaged += u64::from(text != b"\n"),
            }
        }
    }
}

impl Source {
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(self.at))?;
                BufReader::with_capacity(BUFFER, file)
            }
        };
        let mut text = Vec::new();
        let read = file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text)?;
        self.at += read as u64;
        if self.keep_open {
            self.file = Some(file);
        }
        Ok((read > 0).then_some(text))
    }
}
