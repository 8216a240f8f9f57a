//! Without threads: a pipe is opened a second time through `/proc/self/fd`, which gives an open file of our own, and a socket
//! is asked per call not to block.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::READ;
use super::threads;

/// An end of a pipe or socket that does not block.
struct Ready {
    fd: AsyncFd<OwnedFd>,
    socket: bool,
}

impl Ready {
    fn open(fd: BorrowedFd<'_>, interest: Interest) -> Option<Self> {
        let socket = match FileType::from_raw_mode(rustix::fs::fstat(fd).ok()?.st_mode) {
            FileType::Fifo => false,
            FileType::Socket => true,
            _ => return None,
        };
        let own = if socket {
            fd.try_clone_to_owned().ok()?
        } else {
            let access = if interest.is_readable() { OFlags::RDONLY } else { OFlags::WRONLY };
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
            let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).ok()?
        };
        #[expect(
            deprecated,
            reason = "its fault concerns types that change their descriptor; an OwnedFd does not"
        )]
        let fd = AsyncFd::with_interest(own, interest).ok()?;
        Some(Self { fd, socket })
    }

    async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.readable().await?;
            let outcome = ready.try_io(|fd| {
                retried(|| {
                    if self.socket {
                        rustix::net::recv(fd, &mut *into, RecvFlags::DONTWAIT).map(|(length, _)| length)
                    } else {
                        rustix::io::read(fd, &mut *into)
                    }
                })
            });
            let Ok(outcome) = outcome else { continue };
            if outcome.as_ref().is_ok_and(|length| *length < into.len()) {
                // Less than asked for: nothing is left, so the next wait needs no failed read first.
                ready.clear_ready();
            }
            return outcome;
        }
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.writable().await?;
            let outcome = ready.try_io(|fd| {
                retried(|| {
                    if self.socket {
                        rustix::net::send(fd, bytes, SendFlags::DONTWAIT)
                    } else {
                        rustix::io::write(fd, bytes)
                    }
                })
            });
            if let Ok(outcome) = outcome {
                return outcome;
            }
        }
    }
}

/// Repeats what a signal interrupted.
fn retried(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return outcome.map_err(Into::into),
        }
    }
}

/// The host's end that we read.
pub(crate) enum Source {
    #[expect(private_interfaces, reason = "only the functions below are used from outside")]
    Ready {
        ready: Ready,
        buffer: Vec<u8>,
    },
    Thread(threads::Source),
}

impl Source {
    pub(crate) fn stdin() -> Self {
        match Ready::open(io::stdin().as_fd(), Interest::READABLE) {
            Some(ready) => Self::Ready { ready, buffer: vec![0; READ] },
            None => Self::Thread(threads::Source::stdin()),
        }
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Option<&[u8]> {
        match self {
            Self::Ready { ready, buffer } => match ready.read(buffer).await {
                Ok(0) | Err(_) => None,
                Ok(length) => buffer.get(..length),
            },
            Self::Thread(thread) => thread.chunk().await,
        }
    }
}

/// The host's end that we write.
pub(crate) enum Sink {
    #[expect(private_interfaces, reason = "only the functions below are used from outside")]
    Ready {
        ready: Ready,
        joined: Vec<u8>,
    },
    Thread(threads::Sink),
}

/// Messages up to this size are joined with their line end, which costs less than a second write.
const JOIN: usize = 64 * 1024;

impl Sink {
    pub(crate) fn stdout() -> Self {
        match Ready::open(io::stdout().as_fd(), Interest::WRITABLE) {
            Some(ready) => Self::Ready { ready, joined: Vec::new() },
            None => Self::Thread(threads::Sink::stdout()),
        }
    }

    /// Writes all parts, one after the other.
    pub(crate) async fn write(&mut self, parts: [&[u8]; 3]) -> io::Result<()> {
        let Self::Ready { ready, joined } = self else {
            let Self::Thread(thread) = self else { return Ok(()) };
            return thread.write(parts).await;
        };
        let filled = parts.iter().filter(|part| !part.is_empty()).count();
        if filled > 1 && parts.iter().map(|part| part.len()).sum::<usize>() <= JOIN {
            joined.clear();
            parts.iter().for_each(|part| joined.extend_from_slice(part));
            return all(ready, joined).await;
        }
        for part in parts {
            all(ready, part).await?;
        }
        Ok(())
    }
}

async fn all(ready: &Ready, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let length = ready.write(bytes).await?;
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}
