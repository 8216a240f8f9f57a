//! kill -9 at random points. A program of its own, since it is also the host that is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod common;
#[cfg(target_os = "linux")]
#[path = "kill/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    rounds::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
