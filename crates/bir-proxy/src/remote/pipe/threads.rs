//! stdin by a thread, stdout with blocking writes.

use std::io::{self, Read, Write};

use tokio::sync::mpsc;

use super::READ;

/// Chunks that may wait for the event loop.
const DEPTH: usize = 4;

/// stdin, read by a thread.
pub(crate) struct Source {
    chunks: mpsc::Receiver<Vec<u8>>,
    current: Vec<u8>,
}

impl Source {
    pub(crate) fn stdin() -> Self {
        let (sender, chunks) = mpsc::channel(DEPTH);
        let reader = move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut chunk = vec![0; READ];
                match stdin.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(length) => {
                        chunk.truncate(length);
                        if sender.blocking_send(chunk).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        };
        // Without the thread the channel closes, which reads as the end of input.
        let _ = std::thread::Builder::new().name("stdin".into()).spawn(reader);
        Self { chunks, current: Vec::new() }
    }

    pub(crate) async fn chunk(&mut self) -> Option<&[u8]> {
        self.current = self.chunks.recv().await?;
        Some(&self.current)
    }
}

/// stdout, written where it may block.
pub(crate) struct Sink(io::Stdout);

impl Sink {
    pub(crate) fn stdout() -> Self {
        Self(io::stdout())
    }

    /// Writes all parts, one after the other. Blocks where the host does not read.
    pub(crate) async fn write(&mut self, parts: [&[u8]; 3]) -> io::Result<()> {
        let mut stdout = self.0.lock();
        for part in parts {
            stdout.write_all(part)?;
        }
        stdout.flush()
    }
}
