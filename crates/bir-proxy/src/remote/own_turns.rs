//! Calls of our own to a remote server: they leave between the host's messages, on the same thread.

use super::desk::Desk;
use crate::replay::{Line, Sendable};
use bir_tap::{Conversation, SystemClock};
use bir_upstream::http::HttpUpstream;
use bir_wire::Scanner;
use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Lines of ours that wait for their turn. They are few: a proxy runs few orders at a time.
pub(super) struct OwnTurns(UnboundedReceiver<Sendable>);

struct OwnLine {
    desk: Desk,
    turns: UnboundedSender<Sendable>,
}

impl OwnTurns {
    pub(super) fn connect(desk: &Desk) -> Self {
        let (turns, come) = unbounded_channel();
        if let Some(own) = desk.own() {
            own.connect(Box::new(OwnLine { desk: desk.clone(), turns }));
        }
        Self(come)
    }

    /// Sends what comes. Does not end.
    pub(super) async fn send(mut self, upstream: &HttpUpstream<Desk>, desk: &Desk) {
        while let Some(Sendable { line, begins }) = self.0.recv().await {
            if let (Some(number), Some(own)) = (begins, desk.own())
                && !own.leaves(number, &line, &mut desk.conversation())
            {
                continue;
            }
            let bytes = Bytes::from(line);
            let mut scanner = Scanner::default();
            upstream.send(bytes.clone(), &scanner.finish_whole(&bytes)).await;
        }
        std::future::pending().await
    }
}

impl Line for OwnLine {
    fn send(&self, line: Sendable) -> bool {
        self.turns.send(line).is_ok()
    }

    fn conversation(&self, see: &mut dyn FnMut(&mut Conversation<SystemClock>)) {
        see(&mut self.desk.conversation());
    }
}
