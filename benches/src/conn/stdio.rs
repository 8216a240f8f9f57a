//! A session over the proxy's stdin and stdout.

use super::{Reply, Seen, answer};
use crate::lines::Lines;
use crate::raw::get;
use crate::{Fail, locked, procs};
use rustix::process::Signal;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Up to this many bytes a message fits into any pipe, so writing it cannot block on its own answer.
const SMALL: usize = 4096;

#[derive(Debug)]
pub(super) struct Pipes {
    pid: i32,
    tx: Option<Mutex<File>>,
    rx: Lines,
    seen: Seen,
}

impl Pipes {
    pub(super) fn of(child: &mut Child, seen: Seen) -> Result<Self, Fail> {
        let tx = File::from(OwnedFd::from(child.stdin.take().ok_or(Fail::Closed)?));
        let rx = Lines::new(child.stdout.take().ok_or(Fail::Closed)?.into());
        Ok(Self { pid: child.id() as i32, tx: Some(Mutex::new(tx)), rx, seen })
    }

    pub(super) fn close(&mut self) {
        self.tx = None;
    }

    pub(super) fn send(&self, line: &[u8]) -> Result<(), Fail> {
        write_line(self.tx.as_ref().ok_or(Fail::Closed)?, line)
    }

    pub(super) fn exchange(&mut self, line: &[u8], id: &[u8], limit: Duration) -> Result<Reply, Fail> {
        let tx = self.tx.as_ref().ok_or(Fail::Closed)?;
        let (rx, seen, pid) = (&mut self.rx, &self.seen, self.pid);
        if line.len() < SMALL {
            write_line(tx, line)?;
            return await_reply(tx, rx, seen, id, limit);
        }
        // A large request is written beside the reading, or both ends could block.
        std::thread::scope(|s| {
            s.spawn(|| write_line(tx, line));
            let r = await_reply(tx, rx, seen, id, limit);
            if r.is_err() {
                procs::signal(pid, Signal::KILL); // frees a writer that is stuck on a full pipe
            }
            r
        })
    }

    /// See [`super::Conn::blast`]; returns answered calls and the next free id.
    pub(super) fn blast(
        &mut self,
        k: usize,
        until: Instant,
        first: u64,
        line: impl Fn(u64) -> Vec<u8>,
        limit: Duration,
    ) -> Result<(u64, u64), Fail> {
        let tx = self.tx.as_ref().ok_or(Fail::Closed)?;
        let (mut sent, mut done) = (0u64, 0u64);
        while sent < k as u64 {
            write_line(tx, &line(first + sent))?;
            sent += 1;
        }
        while done < sent {
            let raw = self.rx.next(Some(limit))?;
            if get(&raw, "method").is_some() || get(&raw, "result").is_none() {
                continue;
            }
            done += 1;
            if Instant::now() < until {
                write_line(tx, &line(first + sent))?;
                sent += 1;
            }
        }
        Ok((done, first + sent))
    }
}

fn write_line(tx: &Mutex<File>, line: &[u8]) -> Result<(), Fail> {
    let mut tx = locked(tx);
    if line.len() < SMALL {
        tx.write_all(&[line, b"\n"].concat())?;
    } else {
        tx.write_all(line)?;
        tx.write_all(b"\n")?;
    }
    Ok(())
}

fn await_reply(
    tx: &Mutex<File>,
    rx: &mut Lines,
    seen: &Seen,
    id: &[u8],
    limit: Duration,
) -> Result<Reply, Fail> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let raw = rx.next(Some(left))?;
        if get(&raw, "method").is_none() && get(&raw, "id") == Some(id) {
            return Ok(Reply { raw, at: rx.at });
        }
        if let Some(a) = answer(&raw) {
            write_line(tx, &a)?;
        }
        locked(seen).push(raw);
    }
}
