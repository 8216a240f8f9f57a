//! Test upstreams and pipes (development only).
#![cfg(target_os = "linux")]

pub mod bins;
mod call;
pub mod client;
mod defaults;
mod engine;
mod event_stream;
mod headers;
mod host;
mod http1;
mod http_server;
mod inside;
pub mod log;
mod outlet;
mod pipe;
mod post_outlet;
mod process;
pub mod procs;
pub mod raw;
mod script;
mod stdio;
mod step;
mod sync;
mod tasks;
mod text;
mod tools;
mod upstream;
mod upstream_main;

pub use host::{HostCommand, HostError, MARK, StdioHost};
pub use inside::InsideUpstream;
pub use pipe::pipe_main;
pub use script::{Allow, Answer, Eras, Format, Framing, Http, Moment, On, Rule, Script, Server};
pub use step::{Chunking, Reply, Step};
pub use text::Text;
pub use upstream::{HttpUpstream, TestUpstream, UpstreamError};
pub use upstream_main::upstream_main;
