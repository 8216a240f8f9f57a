//! The relay's end: copies what passes, and returns.

use super::queue::Queue;
use super::told::{Opening, Told, Value, What};
use bir_model::Era;
use bir_tap::{Event, Tap};
use std::sync::Arc;

/// Longest answer to an opening that is copied, in bytes: names and versions stand at its beginning or it has none for us.
const LONGEST_OPENING: usize = 64 << 10;

/// Is told by the relay what passes. It redacts nothing, formats nothing, reads and writes nothing, and never waits.
pub struct ProxyTap {
    queue: Arc<Queue>,
    /// Starts the thread; used by the first call.
    start: Option<Box<dyn FnOnce() + Send>>,
    /// Somebody was named already.
    opened: bool,
    /// The thread is started as soon as the host asks which tools there are.
    early: bool,
}

impl ProxyTap {
    pub(super) fn new(queue: Arc<Queue>, start: Box<dyn FnOnce() + Send>, early: bool) -> Self {
        Self { queue, start: Some(start), opened: false, early }
    }
}

impl Tap for ProxyTap {
    fn observe(&mut self, event: Event<'_>) {
        let (call, at, what) = match event {
            // A call may come before the answer, and its run names the host all the same.
            Event::Opening { era, client, .. } => {
                self.opened = client.is_some();
                let client = client.map(<[u8]>::to_vec);
                return self.queue.opened(Opening { era, client, result: Vec::new() });
            }
            Event::Connected { era, client, result, .. } => {
                self.opened = true;
                let result = if result.is_complete() && result.head.len() <= LONGEST_OPENING {
                    result.head.to_vec()
                } else {
                    Vec::new()
                };
                return self.queue.opened(Opening { era, client: client.map(<[u8]>::to_vec), result });
            }
            Event::ToolsAsked { .. } => {
                if let Some(start) = self.start.take_if(|_| self.early) {
                    start();
                }
                return;
            }
            _ if self.queue.is_deaf() => return,
            Event::ToolsListed { params, result, .. } => {
                return self.queue.listed(params, result.head, result.is_complete());
            }
            Event::Began { call, tool, host_call_id, arguments, client, replayed, at } => {
                if let Some(client) = client.filter(|_| !self.opened) {
                    self.opened = true;
                    let client = Some(client.to_vec());
                    self.queue.opened(Opening { era: Era::Modern, client, result: Vec::new() });
                }
                let (tool, host_call_id) = (tool.into_owned(), host_call_id.map(|id| id.into_owned()));
                let arguments = arguments.map(Value::of);
                let what = What::Began { tool, host_call_id, arguments, replayed };
                self.queue.push(Told { call, at, what });
                if let Some(start) = self.start.take() {
                    start();
                }
                return;
            }
            Event::LegEnded { call, leg, result, at } => {
                (call, at, What::LegEnded { leg, result: Value::of(result) })
            }
            Event::LegBegan { call, input, at, .. } => {
                (call, at, What::LegBegan { input: input.map(Value::of) })
            }
            Event::Ended { call, outcome, answer, ambiguous, at } => {
                (call, at, What::Ended { outcome, answer: Value::of(answer), ambiguous })
            }
            Event::Cancelled { call, at } => (call, at, What::Cancelled),
            Event::Lost { call, at } => (call, at, What::Lost),
        };
        self.queue.push(Told { call, at, what });
    }
}
