//! A thread that moves the bytes of one direction.

use super::flow::{Flow, Rules, Sink};
use std::io::{self, Read};

/// Size of one read: what a Linux pipe holds.
const CHUNK: usize = 64 * 1024;

/// How a direction ended.
#[derive(Debug)]
pub(super) enum End {
    /// The source has no more.
    Drained,
    /// The destination takes no more.
    Refused(io::Error),
    /// The source failed.
    Broken(io::Error),
}

/// Moves bytes until one side ends. Blocks on both.
pub(super) fn run(mut source: impl Read, rules: Rules, sink: &mut impl Sink) -> End {
    let mut flow = Flow::new(rules);
    let mut chunk = vec![0; CHUNK];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return flow.end(sink).map_or_else(End::Refused, |()| End::Drained),
            Ok(n) => {
                if let Err(e) = flow.feed(&chunk[..n], sink) {
                    return End::Refused(e);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return End::Broken(e),
        }
    }
}
