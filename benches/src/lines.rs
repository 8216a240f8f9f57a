use crate::Fail;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Smallest and largest room offered to one read, in bytes: the reads grow with the line.
const READ: (usize, usize) = (1 << 16, 1 << 20);

/// Newline-delimited reader over a descriptor, with a deadline per line.
#[derive(Debug)]
pub struct Lines {
    fd: OwnedFd,
    buf: Vec<u8>,
    /// Where the line under way begins.
    start: usize,
    /// How far the search for its end has come.
    scanned: usize,
    /// When the last line was complete.
    pub at: Instant,
}

impl Lines {
    /// Reads from `fd`, which is closed with this reader.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Self {
        Self { fd, buf: Vec::with_capacity(READ.0), start: 0, scanned: 0, at: Instant::now() }
    }

    /// The next line without its newline. Without a `limit` it waits for ever.
    ///
    /// # Errors
    /// [`Fail::Timeout`] when no line is complete within `limit`, [`Fail::Closed`] at the end of input.
    pub fn next(&mut self, limit: Option<Duration>) -> Result<Vec<u8>, Fail> {
        let deadline = limit.map(|t| Instant::now() + t);
        loop {
            if let Some(i) = memchr::memchr(b'\n', &self.buf[self.scanned..]) {
                self.at = Instant::now();
                return Ok(self.take(self.scanned + i));
            }
            self.scanned = self.buf.len();
            if self.start > 0 {
                self.buf.drain(..self.start);
                self.scanned -= self.start;
                self.start = 0;
            }
            if let Some(d) = deadline
                && !self.readable(d)?
            {
                continue;
            }
            self.buf.reserve(self.buf.len().clamp(READ.0, READ.1));
            match read(&self.fd, spare_capacity(&mut self.buf)) {
                Ok(0) => return Err(Fail::Closed),
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return Err(Fail::Closed),
            }
        }
    }

    /// Cuts the line that ends at `end` out of the buffer; a long one takes the buffer with it instead of a copy.
    fn take(&mut self, end: usize) -> Vec<u8> {
        if self.start == 0 && end > READ.0 {
            let rest = self.buf.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.buf, rest);
            line.truncate(end);
            self.scanned = 0;
            return line;
        }
        let line = self.buf[self.start..end].to_vec();
        self.start = end + 1;
        self.scanned = self.start;
        line
    }

    /// Waits for input until `deadline`; false when a signal interrupted the wait.
    fn readable(&self, deadline: Instant) -> Result<bool, Fail> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => Err(Fail::Timeout),
            Ok(_) => Ok(true),
            Err(Errno::INTR) => Ok(false),
            Err(e) => Err(Fail::Other(e.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_of_every_length_come_whole_and_in_order() {
        let (rx, mut tx) = std::io::pipe().unwrap();
        let long = vec![b'x'; 3 << 20];
        let sent = [b"a".to_vec(), vec![], long, b"tail".to_vec()];
        let copy = sent.clone();
        let writer = std::thread::spawn(move || {
            copy.iter().for_each(|l| tx.write_all(&[l, &b"\n"[..]].concat()).unwrap())
        });
        let mut lines = Lines::new(rx.into());
        for l in sent {
            assert_eq!(lines.next(Some(Duration::from_secs(10))), Ok(l));
        }
        writer.join().unwrap();
        assert_eq!(lines.next(None), Err(Fail::Closed));
    }

    #[test]
    fn an_incomplete_line_times_out() {
        let (rx, mut tx) = std::io::pipe().unwrap();
        tx.write_all(b"no end").unwrap();
        assert_eq!(Lines::new(rx.into()).next(Some(Duration::from_millis(10))), Err(Fail::Timeout));
    }
}
