//! What an upstream prints to stdout that is no frame, and everything on its stderr: shown on our stderr, line by line,
//! under the server's name.

use std::io::Read;

/// Longest part of a line that is shown; the rest is counted.
const SHOWN: usize = 4 * 1024;

/// Collects parts into lines of bounded length.
pub(super) struct LineLog {
    prefix: String,
    line: Vec<u8>,
    hidden: u64,
}

impl LineLog {
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix, line: Vec::new(), hidden: 0 }
    }

    /// Takes part of a line; `end` with its last part. Returns the line to show, when it is complete and not blank.
    pub(super) fn take(&mut self, bytes: &[u8], end: bool) -> Option<Vec<u8>> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let room = SHOWN.saturating_sub(self.line.len());
        let (shown, hidden) = bytes.split_at(bytes.len().min(room));
        self.line.extend_from_slice(shown);
        self.hidden += hidden.len() as u64;
        if !end {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let hidden = std::mem::take(&mut self.hidden);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if text.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(self.prefix.len() + text.len() + 32);
        out.extend_from_slice(self.prefix.as_bytes());
        out.extend_from_slice(text);
        if hidden > 0 {
            out.extend_from_slice(format!(" ... ({hidden} more bytes)").as_bytes());
        }
        out.push(b'\n');
        Some(out)
    }
}

/// Forwards the upstream's stderr until it ends.
pub(super) fn forward_stderr(mut stderr: impl Read, server_name: &str) {
    let mut log = LineLog::new(format!("[{server_name}] "));
    let mut buffer = [0; 8 * 1024];
    loop {
        match stderr.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                for piece in bir_wire::lines::split(&buffer[..n]) {
                    if let Some(line) = log.take(piece.bytes, piece.end) {
                        crate::log::pass(line);
                    }
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if let Some(line) = log.take(b"", true) {
        crate::log::pass(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_prefixed_and_bounded() {
        let mut log = LineLog::new("[x] ".into());
        assert_eq!(log.take(b"npm ", false), None);
        assert_eq!(log.take(b"notice\r\n", true).unwrap(), b"[x] npm notice\n");
        assert_eq!(log.take(b"\n", true), None);
        assert_eq!(log.take(&[b'a'; 100_000], false), None);
        let line = log.take(b"\n", true).unwrap();
        assert!(line.ends_with(b"aaa ... (95904 more bytes)\n"), "{}", String::from_utf8_lossy(&line));
    }
}
