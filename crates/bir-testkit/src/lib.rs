//! Test upstreams, a test host and a pipe (development only, Linux only).
//!
//! | for | take |
//! |---|---|
//! | an MCP server that does anything, on command | [`Script`] with [`TestUpstream`] (binary) or [`InsideUpstream`] (HTTP, a thread) |
//! | what it saw, byte for byte | [`TestUpstream::lines`], [`TestUpstream::events`], [`log::Event`] |
//! | a host on stdio that leaves no process | [`HostCommand`], [`StdioHost`] |
//! | the same session twice | [`Act`], [`Transcript`] |
//! | an HTTP client with raw bytes | [`client`] |
//! | processes as `/proc` shows them | [`procs`] |
//! | programs of this workspace | [`bins`] |
//! | a private PostgreSQL | [`postgres`] |
//! | ids and values as they are written | [`raw`] |
//! | secrets in their places, and look-alikes | [`secrets`] |
//!
//! ```no_run
//! use std::time::Duration;
//! use bir_testkit::{On, Script, Step, TestUpstream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::new().on(On::tool("slow").nth(2), [Step::Progress(3), Step::result(r#"{"n" : 1.0}"#)]);
//! let upstream = TestUpstream::new(script)?;
//! let mut host = upstream.host()?; // or: HostCommand::new("proxy").arg("--").wrap(&upstream.command()).start()?
//! let answer = host.ask(r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, Duration::from_secs(5))?;
//! assert_eq!(answer, br#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#);
//! assert_eq!(host.finish(Duration::from_secs(5))?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! The script format is described in the crate's `README.md`. Two programs come with it: `bir-test-upstream` (the upstream
//! as a process) and `bir-test-pipe` (an HTTP face for any stdio server).
#![cfg(target_os = "linux")]

pub mod bins;
pub mod client;
mod host;
mod http1;
pub mod log;
mod pipe;
pub mod postgres;
pub mod procs;
pub mod raw;
mod script;
pub mod secrets;
mod serve;
mod step;
mod sync;
mod text;
mod transcript;
mod upstream;

pub use host::{HostCommand, HostError, MARK, StdioHost};
pub use pipe::pipe_main;
pub use script::{Allow, Answer, Eras, Format, Framing, Http, Moment, On, Rule, Script, Server};
pub use serve::command_line::upstream_main;
pub use serve::inside::InsideUpstream;
pub use step::{Chunking, Reply, Step};
pub use text::Text;
pub use transcript::{Act, Transcript};
pub use upstream::{HttpUpstream, TestUpstream, UpstreamError};
