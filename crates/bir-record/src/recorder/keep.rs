//! What the recorder's logic sees of redactor, spool and shipper.

use crate::tools::Clean;
use crate::{Raw, Redacted, SafeRecord};
use bir_model::control::Compared;
use std::time::Duration;

/// Takes secrets out, and knows what is not to be recorded at all.
pub(super) trait Scrub {
    /// A value of a message.
    fn payload(&self, raw: Raw<'_>) -> Redacted;
    /// A name: of a tool, of a host, of a call.
    fn name(&self, text: &str) -> String;
    /// What stands for a whole JSON value where it is compared with others.
    fn compared(&self, json: &[u8]) -> Option<Compared>;
    /// Whether calls like this one are not to be recorded (`record.exclude`).
    fn excludes(&self, tool: &str, arguments: Option<Raw<'_>>) -> bool;
}

/// What takes secrets out of the tools that a server declares.
pub(super) struct Cleaner<'a, S>(pub(super) &'a S);

impl<S: Scrub> Clean for Cleaner<'_, S> {
    fn value(&self, json: &[u8]) -> Redacted {
        self.0.payload(Raw { head: json, len: json.len() as u64 })
    }

    fn name(&self, text: &str) -> String {
        self.0.name(text)
    }
}

/// Keeps records. It never fails outward: what it could not keep it counts.
pub(super) trait Keep {
    /// A run begins; false when it cannot be kept now.
    fn begin(&mut self, run: SafeRecord) -> bool;
    /// A record of the run that began last.
    fn append(&mut self, record: SafeRecord);
    /// That run is over.
    fn end(&mut self);
    /// What was appended is to be safe from the death of this process when this returns.
    fn flush(&mut self);
    /// Nothing happens at the moment: what was flushed may be brought to the disk itself.
    fn rest(&mut self);
    /// From now on what is kept may leave the machine.
    fn ship(&mut self);
    /// The end: what may leave gets so much time for it.
    fn close(&mut self, budget: Duration);
}

/// Redactor and spool, made when there is something to keep: nothing is created on a disk before.
pub(super) trait Open {
    type Scrub: Scrub;
    type Keep: Keep;

    /// Both, or why there is none (one line), to be tried again later. Warnings go to `warn`.
    fn open(&mut self, warn: &mut dyn FnMut(&str)) -> Result<(Self::Scrub, Self::Keep), String>;
}
