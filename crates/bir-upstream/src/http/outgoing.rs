//! What a message of the host is: its kind, whom it asks, and which era it speaks.

use bir_wire::{Envelope, Field, Kind, Message};
use bytes::Bytes;
use http::HeaderValue;

use super::members::exact;
use super::protocol_headers;

/// The era of one message and what its headers need from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25.
    Legacy,
    /// 2026-07-28 and later, with the version that the message names.
    Modern(Option<HeaderValue>),
}

/// The parts of a message that the relay must know before it sends it.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    /// The ids that want an answer, as written.
    pub(crate) ids: Vec<Bytes>,
    pub(crate) method: Option<String>,
    /// `params.name` or `params.uri`, for the methods that have an `Mcp-Name`.
    pub(crate) name: Option<String>,
    /// Whether that name holds half a surrogate pair, which no header can say.
    pub(crate) unsayable_name: bool,
    /// `params.requestId` of a cancellation, as written.
    pub(crate) cancels: Option<Bytes>,
    /// The version in `_meta`, which makes a message modern.
    pub(crate) version: Option<HeaderValue>,
}

impl Facts {
    /// Of a complete message.
    pub(crate) fn of(message: &Message<'_>) -> Self {
        let envelope = message.envelope();
        let kind = message.kind();
        if kind == Kind::Batch {
            let ids = message
                .batch()
                .iter()
                .filter(|element| element.kind() == Kind::Request)
                .filter_map(|element| element.raw(Field::Id).map(Bytes::copy_from_slice))
                .collect();
            return Self {
                kind,
                ids,
                method: None,
                name: None,
                unsayable_name: false,
                cancels: None,
                version: None,
            };
        }
        Self::from_envelope(envelope, kind)
    }

    /// Of a message whose beginning was read.
    pub(crate) fn so_far(envelope: &Envelope) -> Self {
        Self::from_envelope(envelope, envelope.kind())
    }

    fn from_envelope(envelope: &Envelope, kind: Kind) -> Self {
        let ids = match kind {
            Kind::Request => envelope.raw(Field::Id).map(Bytes::copy_from_slice).into_iter().collect(),
            _ => Vec::new(),
        };
        let method = envelope.text(Field::Method).map(|text| text.into_owned());
        let raw_name = match method.as_deref() {
            Some("tools/call" | "prompts/get") => envelope.raw(Field::ToolName),
            Some("resources/read") => envelope.raw(Field::Uri),
            _ => None,
        }
        .filter(|raw| raw.starts_with(b"\""));
        let name = raw_name.and_then(exact).map(|text| text.into_owned());
        let cancels = (method.as_deref() == Some("notifications/cancelled"))
            .then(|| envelope.raw(Field::RequestId).map(Bytes::copy_from_slice))
            .flatten();
        Self {
            kind,
            ids,
            unsayable_name: raw_name.is_some() && name.is_none(),
            name,
            method,
            cancels,
            version: envelope.text(Field::ProtocolVersion).map(|text| protocol_headers::encode(&text)),
        }
    }

    pub(crate) fn method_is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Whether the name that a modern header needs is known.
    pub(crate) fn has_needed_name(&self) -> bool {
        self.name.is_some()
            || self.unsayable_name
            || !matches!(self.method.as_deref(), Some("tools/call" | "prompts/get" | "resources/read"))
    }
}
