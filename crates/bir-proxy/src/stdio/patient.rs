//! Descriptors that a host handed over in non-blocking mode.
//!
//! `O_NONBLOCK` belongs to what the descriptor refers to, so whoever shares it may have set it, and unsetting it would
//! change it for them. So a read or write that would block waits and goes on.

use std::fs::File;
use std::io::{self, Read, Write};

/// A file whose reads and writes block, in whichever mode its descriptor is.
pub(super) struct Patient(pub(super) File);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(&self.0, Ready::Read)?,
                read => return read,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(&self.0, Ready::Write)?,
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

enum Ready {
    Read,
    Write,
}

#[cfg(unix)]
fn wait(file: &File, ready: Ready) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let flags = match ready {
        Ready::Read => PollFlags::IN,
        Ready::Write => PollFlags::OUT,
    };
    match poll(&mut [PollFd::new(file, flags)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(unix))]
fn wait(_file: &File, _ready: Ready) -> io::Result<()> {
    std::thread::sleep(std::time::Duration::from_millis(1));
    Ok(())
}
