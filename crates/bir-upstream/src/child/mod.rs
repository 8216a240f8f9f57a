//! An upstream that is a child process.
//!
//! ```text
//!   spawn ─▶ running ─▶ exited (seen, not yet reaped) ─▶ reaped
//!               │                ▲
//!               └─ signal_group ─┘   TERM … grace … KILL
//! ```
//!
//! The child leads a process group of its own, so that what it starts can be ended with it, and dies with us when we are
//! killed without a chance to clean up. No shell is involved: the command is looked up in `PATH` and run with its
//! arguments as they are.

mod command;
#[cfg_attr(windows, path = "windows_job.rs")]
mod group;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;
mod signal;

pub use command::{ChildCommand, SpawnError};
pub use group::{ChildUpstream, ExitWatch};
pub use signal::Signal;
