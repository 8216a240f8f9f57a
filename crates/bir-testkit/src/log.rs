//! The log of what a test upstream saw: JSON Lines, one event a line.
//!
//! Every event has `ev` (its name) and `t` (milliseconds since the log was opened). Bytes are in `text`
//! as a JSON string; when they are not UTF-8, `text` is lossy and `base64` has the exact bytes.
//!
//! | `ev` | fields | when |
//! |---|---|---|
//! | `start` | `pid`, `ppid`, `pgid`, `cwd`, `argv`, `env` | process start |
//! | `line` | `text`/`base64`, `session`; `partial: true` when EOF came before the newline | a message was received |
//! | `noise` | `text` | input that is no message in the framing in force |
//! | `http` | `method`, `path`, `headers` (pairs in order), `text`/`base64` (body) | an HTTP request was read |
//! | `http_gone` | `path`, `session` | the client closed before the answer was complete |
//! | `sent` | `text` | a step that ends or breaks the wire was taken (only for those) |
//! | `signal` | `name` | a signal arrived |
//! | `eof` | | stdin ended |
//! | `exit` | `code` or `signal` | the process is about to end by its own will |

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::sync::lock;

/// One event of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event(pub Map<String, Value>);

impl Event {
    /// The event's name (`line`, `http`, `signal` and so on).
    pub fn name(&self) -> &str {
        self.str("ev")
    }

    /// A text field; empty when it is absent or no string.
    pub fn str(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The exact bytes of the event's line or body.
    pub fn bytes(&self) -> Vec<u8> {
        match self.0.get("base64").and_then(Value::as_str) {
            Some(coded) => STANDARD.decode(coded).unwrap_or_default(),
            None => self.str("text").as_bytes().to_vec(),
        }
    }

    /// The value of an HTTP request header (any case), for an `http` event.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.get("headers")?.as_array()?.iter().find_map(|pair| {
            let key = pair.get(0)?.as_str()?;
            key.eq_ignore_ascii_case(name).then(|| pair.get(1)?.as_str()).flatten()
        })
    }
}

/// Reads a log file. Lines that are not complete yet are left out.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Event>> {
    let text = std::fs::read(path)?;
    Ok(text
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .filter_map(|line| serde_json::from_slice(line).ok().map(Event))
        .collect())
}

#[derive(Debug)]
enum Store {
    Nowhere,
    File(File),
    Memory(Vec<Event>),
}

/// Where an upstream writes its events; cheap to clone.
#[derive(Debug, Clone)]
pub struct Log {
    store: Arc<Mutex<Store>>,
    opened: Instant,
}

impl Log {
    fn with(store: Store) -> Self {
        Self { store: Arc::new(Mutex::new(store)), opened: Instant::now() }
    }

    /// A log that forgets.
    pub fn nowhere() -> Self {
        Self::with(Store::Nowhere)
    }

    /// A log held in memory, for an upstream inside the test process.
    pub fn memory() -> Self {
        Self::with(Store::Memory(Vec::new()))
    }

    /// A log appended to a file.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub fn file(path: &Path) -> io::Result<Self> {
        Ok(Self::with(Store::File(OpenOptions::new().create(true).append(true).open(path)?)))
    }

    /// Adds an event. A log that cannot be written is silent: the test then misses the event.
    pub fn put(&self, name: &str, fields: Vec<(&str, Value)>) {
        let mut event = Map::new();
        event.insert("ev".into(), name.into());
        event.insert("t".into(), (self.opened.elapsed().as_millis() as u64).into());
        event.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        match &mut *lock(&self.store) {
            Store::Nowhere => {}
            Store::Memory(events) => events.push(Event(event)),
            Store::File(file) => {
                let mut line = serde_json::to_vec(&event).unwrap_or_default();
                line.push(b'\n');
                // One write per event, so that lines of several processes do not mix.
                let _ = file.write_all(&line);
            }
        }
    }

    /// The events so far; only a log in memory has them.
    pub fn events(&self) -> Vec<Event> {
        match &*lock(&self.store) {
            Store::Memory(events) => events.clone(),
            _ => Vec::new(),
        }
    }
}

/// The fields that carry `bytes` exactly.
pub(crate) fn exact(bytes: &[u8]) -> Vec<(&'static str, Value)> {
    match std::str::from_utf8(bytes) {
        Ok(text) => vec![("text", text.into())],
        Err(_) => {
            vec![("text", String::from_utf8_lossy(bytes).into()), ("base64", STANDARD.encode(bytes).into())]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_exactly_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::file(&path).unwrap();
        for bytes in [&b"plain \"text\" \\ \x01"[..], b"\xff\x00broken", "é😀".as_bytes()] {
            log.put("line", exact(bytes));
            assert_eq!(read(&path).unwrap().last().unwrap().bytes(), bytes);
        }
        assert_eq!(read(&path).unwrap().len(), 3);
    }

    #[test]
    fn headers_are_found_in_any_case() {
        let log = Log::memory();
        log.put("http", vec![("headers", serde_json::json!([["Mcp-Method", "x"]]))]);
        assert_eq!(log.events()[0].header("mcp-method"), Some("x"));
        assert_eq!(log.events()[0].header("other"), None);
    }
}
