//! Calls of the modern era that wait for the host's input between two legs.

use crate::CallKey;
use crate::in_flight::OpenCall;
use std::collections::VecDeque;

/// Most calls that wait at once; a host may drop an `input_required` answer without a word.
const MOST: usize = 256;

#[derive(Debug)]
struct Waiting {
    call: OpenCall,
    /// Hash of the decoded `requestState`; absent when the upstream sent none.
    state: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Parked(VecDeque<Waiting>);

impl Parked {
    /// Keeps a call between its legs. Returns the one that made room, when the limit was reached.
    pub(crate) fn park(&mut self, call: OpenCall, state: Option<u64>) -> Option<CallKey> {
        let evicted = if self.0.len() >= MOST { self.0.pop_front().map(|w| w.call.key) } else { None };
        self.0.push_back(Waiting { call, state });
        evicted
    }

    /// The call that a retry continues: the same tool and the same `requestState`, oldest first.
    pub(crate) fn resume(&mut self, tool_hash: u64, state: Option<u64>) -> Option<OpenCall> {
        let at = self.0.iter().position(|w| w.call.tool_hash == tool_hash && w.state == state)?;
        self.0.remove(at).map(|w| w.call)
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = CallKey> + '_ {
        self.0.drain(..).map(|w| w.call.key)
    }
}
