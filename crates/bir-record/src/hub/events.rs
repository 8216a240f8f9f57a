//! Reading server-sent events of a hub.

use bir_net::Response;
use std::collections::VecDeque;

use super::HubError;

/// Longest event that is read in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubEvent {
    /// `run`, `step`, `end` …
    pub name: String,
    /// Where to go on from after a break.
    pub id: Option<String>,
    /// JSON.
    pub data: String,
}

/// A stream of events.
pub struct EventStream {
    response: Response,
    url: String,
    parser: Parser,
}

#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    event: HubEvent,
    ready: VecDeque<HubEvent>,
}

impl EventStream {
    pub(super) fn new(response: Response, url: String) -> Self {
        Self { response, url, parser: Parser::default() }
    }

    /// The next event. None: the hub has ended the stream.
    ///
    /// # Errors
    ///
    /// The connection is lost, or the stream is none.
    pub async fn next(&mut self) -> Result<Option<HubEvent>, HubError> {
        loop {
            if let Some(event) = self.parser.ready.pop_front() {
                return Ok(Some(event));
            }
            let failed = |why: String| HubError::Unreachable { url: self.url.clone(), why };
            match self.response.chunk().await.map_err(|e| failed(e.to_string()))? {
                None => return Ok(None),
                Some(bytes) => {
                    self.parser
                        .feed(&bytes)
                        .map_err(|why| HubError::Answer { url: self.url.clone(), why })?;
                }
            }
        }
    }
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.line(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            } else if self.line.len() + self.event.data.len() < LONGEST {
                self.line.push(byte);
            } else {
                return Err(format!("an event of more than {LONGEST} bytes"));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if !event.data.is_empty() || !event.name.is_empty() {
                self.ready.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.into(),
            "id" => self.event.id = Some(value.into()),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text =
            ": heartbeat\n\nevent: step\nid: 3\ndata: {\"a\":\ndata: 1}\n\nevent: end\ndata: {}\r\n\r\n";
        for size in 1..text.len() {
            let mut parser = Parser::default();
            for piece in text.as_bytes().chunks(size) {
                parser.feed(piece).unwrap();
            }
            let names: Vec<&str> = parser.ready.iter().map(|e| e.name.as_str()).collect();
            assert_eq!(names, ["step", "end"]);
            assert_eq!(parser.ready[0].data, "{\"a\":\n1}");
            assert_eq!(parser.ready[0].id.as_deref(), Some("3"));
        }
    }
}
