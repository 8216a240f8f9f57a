//! The host's ends of a remote relay: stdin and stdout beside an event loop.
//!
//! A blocking read would stop the loop, and `O_NONBLOCK` belongs to the open file, which the host shares. On Linux a pipe or
//! socket is waited for without either (`linux.rs`); what is neither, and everything elsewhere, is read by a thread and
//! written with blocking writes (`threads.rs`).

#[cfg(target_os = "linux")]
mod linux;
mod threads;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Sink, Source};
#[cfg(not(target_os = "linux"))]
pub(crate) use threads::{Sink, Source};

/// Bytes that one read takes: what a Linux pipe holds.
const READ: usize = 64 * 1024;
