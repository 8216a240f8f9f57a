//! What a session has been told already. A hook that got no answer tells again; hosts load each other's hook files, so that
//! one event may come twice under different names.

use super::ids::digest;
use bir_model::control::{HookCall, HookEvent, HookReply, HookWhat};
use bir_record::SafeTold;
use std::collections::{BTreeMap, VecDeque};

/// Events of a session that are remembered.
const REMEMBERED: usize = 1024;
/// The same event through another host's file comes within so long, in ms.
const ECHO: u64 = 2000;
/// Events that may still echo.
const ECHOES: usize = 256;

/// The memory of one session.
#[derive(Debug, Default)]
pub(super) struct Heard {
    replies: BTreeMap<u128, HookReply>,
    order: VecDeque<u128>,
    echoes: VecDeque<Spoken>,
}

/// An event that may come again through another file.
#[derive(Debug)]
struct Spoken {
    said: u128,
    at: u64,
    /// Each file tells an event once: one more from the same file is one more event.
    by: Vec<String>,
    reply: HookReply,
}

impl Heard {
    /// What was answered when this event came before.
    pub(super) fn before(&mut self, event: &HookEvent<SafeTold>) -> Option<HookReply> {
        if let Some(reply) = self.replies.get(&digest(&[&event.id])) {
            return Some(reply.clone());
        }
        let said = said(event)?;
        let echo = self.echoes.iter_mut().find(|spoken| {
            spoken.said == said && spoken.at.abs_diff(event.at) <= ECHO && !spoken.by.contains(&event.via)
        })?;
        echo.by.push(event.via.clone());
        let reply = echo.reply.clone();
        self.keep(&event.id, &reply);
        Some(reply)
    }

    /// This event came, and was answered so.
    pub(super) fn remember(&mut self, event: &HookEvent<SafeTold>, reply: &HookReply) {
        self.keep(&event.id, reply);
        if let Some(said) = said(event) {
            if self.echoes.len() == ECHOES {
                self.echoes.pop_front();
            }
            let by = vec![event.via.clone()];
            self.echoes.push_back(Spoken { said, at: event.at, by, reply: reply.clone() });
        }
    }

    /// The session has ended; nothing of it echoes any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn keep(&mut self, event: &str, reply: &HookReply) {
        let event = digest(&[event]);
        if self.replies.insert(event, reply.clone()).is_none() {
            self.order.push_back(event);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.replies.remove(&oldest);
        }
    }
}

/// What an event says, where nothing in it names the call or turn: those with a name are recognised by it.
fn said(event: &HookEvent<SafeTold>) -> Option<u128> {
    let unnamed = |kind: &str, call: &HookCall<SafeTold>| {
        let compared = call.fingerprint.as_ref().map_or("", |compared| &compared.0);
        let agent = event.agent_id.as_deref().unwrap_or("");
        call.call_id.is_none().then(|| digest(&[kind, agent, &call.tool_name, compared]))
    };
    let untimed = |kind: &str, text: &str| event.turn_id.is_none().then(|| digest(&[kind, text]));
    match &event.what {
        HookWhat::Pre { call } => unnamed("pre", call),
        HookWhat::Post { call, .. } => unnamed("post", call),
        HookWhat::PermissionDenied { call, .. } => unnamed("denied", call),
        HookWhat::Prompt { prompt, .. } => untimed("prompt", prompt.as_str()),
        HookWhat::Stop { answer, .. } => untimed("stop", answer.as_ref().map_or("", SafeTold::as_str)),
        _ => None,
    }
}
