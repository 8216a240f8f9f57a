//! What is known about the upstream: its session, its era, how it is reached.

use std::sync::Arc;

use bir_net::Target;
use bir_wire::{Edits, Field, Message, Span};
use bytes::Bytes;
use http::HeaderValue;
use tokio::task::AbortHandle;

use super::legacy_sse::Link;
use super::outgoing::{Era, Facts};
use super::protocol_headers::SessionHeaders;

/// The id under which a forgotten session is initialised again. Ids of ours begin with `bir:`.
pub(crate) const REINIT_ID: &[u8] = br#""bir:reinit-1""#;

/// The longest `initialize` message that is kept for initialising again.
const MAX_INITIALIZE: usize = 1024 * 1024;

/// State of one upstream. Locked for moments, never while waiting.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) session: SessionHeaders,
    /// The host's own `initialize`, and where its id stands.
    initialize: Option<(Bytes, Span)>,
    /// Counts sessions, so that a rejection can be told from one of an earlier session.
    pub(crate) generation: u64,
    /// How often initialising again failed, and why it did the last time.
    pub(crate) failed_again: (u64, String),
    /// Whether the host finished a legacy handshake.
    pub(crate) initialized: bool,
    /// The version of the last modern message.
    modern: Option<Option<HeaderValue>>,
    /// The task that keeps the standalone stream.
    pub(crate) listening: Option<AbortHandle>,
    /// Where the last redirect within the origin led.
    pub(crate) moved_to: Option<Target>,
    /// Set once the upstream turned out to speak HTTP+SSE.
    pub(crate) link: Option<Arc<Link>>,
}

impl State {
    /// The era of a message, by what it says itself, else by what came before.
    pub(crate) fn era(&mut self, facts: &Facts) -> Era {
        if facts.version.is_some() || facts.method_is("server/discover") {
            self.modern = Some(facts.version.clone());
            return Era::Modern(facts.version.clone());
        }
        if facts.method_is("initialize") || self.initialize.is_some() {
            return Era::Legacy;
        }
        match &self.modern {
            Some(version) => Era::Modern(version.clone()),
            None => Era::Legacy,
        }
    }

    /// The era that a message whose `_meta` was not read yet must have, if that can be told.
    pub(crate) fn settled_era(&self) -> Option<Era> {
        match (&self.modern, &self.initialize) {
            (_, Some(_)) => Some(Era::Legacy),
            (Some(version), None) => Some(Era::Modern(version.clone())),
            (None, None) => None,
        }
    }

    /// The host begins a legacy session. An earlier one is over, and returned.
    pub(crate) fn begin(&mut self, bytes: &Bytes, message: &Message<'_>) -> SessionHeaders {
        let former = std::mem::take(&mut self.session);
        self.initialized = false;
        self.generation += 1;
        self.initialize = match message.envelope().span(Field::Id) {
            Some(span) if bytes.len() <= MAX_INITIALIZE => Some((bytes.clone(), span)),
            _ => None,
        };
        self.stop_listening();
        former
    }

    pub(crate) fn stop_listening(&mut self) {
        if let Some(task) = self.listening.take() {
            task.abort();
        }
    }

    /// The host's `initialize` under an id of ours.
    pub(crate) fn initialize_again(&self) -> Option<Bytes> {
        let (bytes, id) = self.initialize.as_ref()?;
        let mut edits = Edits::new();
        edits.replace(*id, REINIT_ID);
        let mut again = Vec::with_capacity(bytes.len() + REINIT_ID.len());
        edits.apply(bytes, &mut again).ok()?;
        Some(again.into())
    }

    /// Keeps the version that an answer to `initialize` settles on.
    pub(crate) fn agreed(&mut self, message: &Message<'_>) {
        if let Some(version) = message.envelope().text(Field::ResultProtocolVersion) {
            self.session.version = HeaderValue::from_str(&version).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_wire::Scanner;

    fn with_message<T>(text: &str, f: impl FnOnce(Bytes, &Message<'_>) -> T) -> T {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(&bytes);
        f(bytes.clone(), &message)
    }

    #[test]
    fn initialize_is_repeated_byte_for_byte_but_for_its_id() {
        let mut state = State::default();
        with_message(
            r#"{ "jsonrpc":"2.0", "method":"initialize", "params":{"x":1e400}, "id" : "id" }"#,
            |bytes, message| drop(state.begin(&bytes, message)),
        );
        assert_eq!(
            state.initialize_again().unwrap(),
            r#"{ "jsonrpc":"2.0", "method":"initialize", "params":{"x":1e400}, "id" : "bir:reinit-1" }"#
        );
    }

    #[test]
    fn eras_follow_the_host() {
        let mut state = State::default();
        let mut era = |text: &str| with_message(text, |_, message| state.era(&Facts::of(message)));
        let modern = r#"{"id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(era(r#"{"method":"ping","id":1}"#), Era::Legacy);
        assert_eq!(era(modern), Era::Modern(Some(HeaderValue::from_static("2026-07-28"))));
        assert_eq!(
            era(r#"{"method":"y","id":1}"#),
            Era::Modern(Some(HeaderValue::from_static("2026-07-28")))
        );
        assert_eq!(era(r#"{"method":"initialize","id":1}"#), Era::Legacy);
    }
}
