//! Calls that the relay makes itself, for a plan: the tap is told of them in their place among the host's, and nothing that
//! follows the host's requests knows of them. So they delay no end of a session, and are never answered to the host.

use crate::conversation::outcome;
use crate::{CallKey, Clock, Conversation, Event, Payload};
use bir_wire::{Field, Message};

impl<C: Clock> Conversation<C> {
    /// A call of our own is about to be sent. `id` is the id that it has on the wire, decoded.
    pub fn replay_began(&mut self, id: &str, request: &Message<'_>) -> CallKey {
        let call = CallKey(self.next_call);
        self.next_call += 1;
        let envelope = request.envelope();
        let tool = envelope.text(Field::ToolName).unwrap_or_default();
        let arguments = envelope.span(Field::Arguments).map(|span| Payload::of(request, span));
        let host_call_id = Some(id.into());
        self.tell(|at| Event::Began {
            call,
            tool,
            host_call_id,
            arguments,
            client: None,
            replayed: true,
            at,
        });
        call
    }

    /// The upstream has answered it. An answer that asks for input is a leg; the call is then withdrawn, or lost.
    pub fn replay_answered(&mut self, call: CallKey, answer: &Message<'_>) {
        let envelope = answer.envelope();
        let failed = envelope.has(Field::Error) && !envelope.has(Field::Result);
        let Some(span) = envelope.span(if failed { Field::Error } else { Field::Result }) else {
            return self.replay_lost(call);
        };
        let (value, outcome) = (Payload::of(answer, span), outcome(envelope, failed));
        if !failed && envelope.text_is(Field::ResultType, "input_required") {
            self.tell(|at| Event::LegEnded { call, leg: 1, result: value, at });
            return self.replay_cancelled(call);
        }
        self.tell(|at| Event::Ended { call, outcome, answer: value, ambiguous: false, at });
    }

    /// It was withdrawn before it was answered.
    pub fn replay_cancelled(&mut self, call: CallKey) {
        self.tell(|at| Event::Cancelled { call, at });
    }

    /// What became of it is not known.
    pub fn replay_lost(&mut self, call: CallKey) {
        self.tell(|at| Event::Lost { call, at });
    }
}
