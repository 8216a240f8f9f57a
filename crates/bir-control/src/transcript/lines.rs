//! Whole lines of a file that is being appended to, with bounds.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Most bytes that one step of [`Growing`] reads, and the end of a long file at which it begins.
pub(super) const STEP: u64 = 8 * 1024 * 1024;
/// Longest line that is looked at, in bytes; a longer one is passed over.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Most bytes of one file that [`each`] reads: its end, where the file is longer.
const MOST_OF_A_FILE: u64 = 256 * 1024 * 1024;

/// A file that grows, and how far it was read.
#[derive(Debug)]
pub(super) struct Growing {
    path: PathBuf,
    /// Where the next step begins; none before the first.
    offset: Option<u64>,
    /// In the middle of a line that is passed over.
    passing: bool,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// More whole lines may be there already.
    pub(super) more: bool,
    /// The file is shorter than it was: another one, or written anew. It is read from its beginning.
    pub(super) anew: bool,
}

impl Growing {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, offset: None, passing: false }
    }

    /// Reads on, and gives every whole line to `take`, without its end. A file that is not there yet has no lines.
    pub(super) fn step(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<Step> {
        let mut step = Step { more: false, anew: false };
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(step),
            Err(e) => return Err(e),
        };
        let len = file.metadata()?.len();
        let offset = match self.offset {
            Some(offset) if offset <= len => offset,
            Some(_) => {
                step.anew = true;
                self.passing = false;
                0
            }
            // The line in which the end of a long file begins is no whole one.
            None => {
                let begin = len.saturating_sub(STEP);
                self.passing = begin > 0;
                begin
            }
        };
        file.seek(SeekFrom::Start(offset))?;
        let mut data = Vec::new();
        file.by_ref().take(STEP).read_to_end(&mut data)?;
        if !self.passing && !data.contains(&b'\n') && data.len() as u64 == STEP {
            // A line that is longer than a step, and perhaps not longer than a line may be.
            file.take(LONGEST_LINE as u64 + 1 - STEP).read_to_end(&mut data)?;
        }
        let read = self.lines(&data, take);
        self.offset = Some(offset + read as u64);
        step.more = read > 0 && offset + (read as u64) < len;
        Ok(step)
    }

    /// Takes the whole lines out of what was read, and says how many bytes are done with.
    fn lines(&mut self, data: &[u8], take: &mut dyn FnMut(&[u8])) -> usize {
        let mut at = 0;
        while let Some(length) = memchr::memchr(b'\n', &data[at..]) {
            if !std::mem::take(&mut self.passing) {
                take(&data[at..at + length]);
            }
            at += length + 1;
        }
        if self.passing || data.len() - at > LONGEST_LINE {
            self.passing = true;
            return data.len();
        }
        at
    }
}

/// Gives every whole line of a file to `take`; false where the file's beginning was left out, for its length.
pub(super) fn each(path: &Path, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let begin = file.metadata()?.len().saturating_sub(MOST_OF_A_FILE);
    file.seek(SeekFrom::Start(begin))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(MOST_OF_A_FILE));
    if begin > 0 {
        skip_line(&mut reader)?;
    }
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line)?;
        match line.last() {
            None => return Ok(begin == 0),
            Some(b'\n') => take(&line[..line.len() - 1]),
            Some(_) if line.len() > LONGEST_LINE => skip_line(&mut reader)?,
            // The host may be writing it now.
            Some(_) => return Ok(begin == 0),
        }
    }
}

/// Passes over the rest of a line, however long it is.
fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (used, found) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(used);
        if found {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn append(path: &Path, bytes: &[u8]) {
        File::options().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    fn read(growing: &mut Growing) -> (Vec<String>, Step) {
        let mut found = Vec::new();
        let step = growing.step(&mut |line| found.push(String::from_utf8_lossy(line).into_owned())).unwrap();
        (found, step)
    }

    #[test]
    fn half_a_line_waits_and_a_file_that_became_shorter_is_read_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut growing = Growing::new(path.clone());
        assert_eq!(read(&mut growing).0, Vec::<String>::new(), "it is not there yet");
        append(&path, b"one\ntw");
        assert_eq!(read(&mut growing).0, ["one"]);
        append(&path, b"o\n\nthree");
        assert_eq!(read(&mut growing).0, ["two", ""]);
        std::fs::write(&path, b"new\n").unwrap();
        let (lines, step) = read(&mut growing);
        assert_eq!((lines, step.anew), (vec!["new".to_owned()], true));
    }

    #[test]
    fn a_line_too_long_is_passed_over_by_both_readers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        append(&path, b"first\n");
        let mut growing = Growing::new(path.clone());
        assert_eq!(read(&mut growing).0, ["first"]);
        append(&path, &vec![b'x'; LONGEST_LINE + 9]);
        append(&path, b"\nlast\n");
        let mut found = Vec::new();
        for _ in 0..9 {
            let (lines, step) = read(&mut growing);
            found.extend(lines);
            if !step.more {
                break;
            }
        }
        assert_eq!(found, ["last"]);
        let mut all = Vec::new();
        assert!(each(&path, &mut |line| all.push(line.len())).unwrap());
        assert_eq!(all, [5, 4]);
    }

    #[test]
    fn a_line_longer_than_a_step_is_read_and_a_long_file_from_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        append(&path, b"a\n");
        let mut growing = Growing::new(path.clone());
        read(&mut growing);
        let long = usize::try_from(STEP).unwrap() + 10;
        append(&path, &vec![b'y'; long]);
        append(&path, b"\nb\n");
        let mut lengths = Vec::new();
        while growing.step(&mut |line| lengths.push(line.len())).unwrap().more {}
        assert_eq!(lengths, [long, 1]);
        assert_eq!(read(&mut Growing::new(path)).0, ["b"], "only the end of what is long already");
    }
}
