//! A transcript that is followed while its session goes on.

use super::lines::Growing;
use super::{Format, claude, codex};
use bir_model::Outcome;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Most bytes of contexts and ids that a tail remembers; the oldest calls are forgotten first.
const MOST_REMEMBERED: usize = 4 * 1024 * 1024;
/// Longest context, in bytes. A longer one is not kept at all: cut text might end in half a secret.
const LONGEST_CONTEXT: usize = 1024 * 1024;
/// What a call costs beside its texts, about.
const CALL_OVERHEAD: usize = 128;

/// Follows one transcript: what the model said before each call, and how calls ended. What was asked for is forgotten.
///
/// A transcript that is long already when the tail begins is read from its last 8 MiB.
#[derive(Debug)]
pub struct Tail {
    file: Growing,
    format: Option<Format>,
    said: Said,
    memory: Memory,
}

/// What the model has said in the message that is being read.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The message; rows of one message may have others between them.
    message: Option<String>,
    text: String,
}

impl Said {
    /// Goes on with a message, or begins another one.
    pub(super) fn of(&mut self, message: Option<&str>) {
        if self.message.as_deref() != message || message.is_none() {
            self.message = message.map(str::to_owned);
            self.text.clear();
        }
    }

    /// Adds a block of text or reasoning. One block beyond the limit is enough to know that the context is too long.
    pub(super) fn say(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.text.len() > LONGEST_CONTEXT {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    calls: HashMap<String, Call>,
    /// In the order in which they were first seen.
    order: VecDeque<String>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Call {
    context: Option<Arc<str>>,
    outcome: Option<Outcome>,
}

impl Memory {
    /// A call that comes after what was said; a further call of the message comes after this one.
    pub(super) fn call(&mut self, id: &str, said: &mut Said) {
        let context = (1..=LONGEST_CONTEXT).contains(&said.text.len()).then(|| Arc::from(said.text.as_str()));
        let call = self.entry(id);
        let before = call.context.as_ref().map_or(0, |text| text.len());
        call.context = context.or(call.context.take());
        let now = call.context.as_ref().map_or(0, |text| text.len());
        said.text.clear();
        self.bytes = self.bytes + now - before;
        self.forget();
    }

    /// A call that has ended.
    pub(super) fn ended(&mut self, id: &str, outcome: Outcome) {
        self.entry(id).outcome = Some(outcome);
        self.forget();
    }

    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.outcome.is_some())
    }

    fn entry(&mut self, id: &str) -> &mut Call {
        if !self.calls.contains_key(id) {
            self.order.push_back(id.to_owned());
            self.bytes += 2 * id.len() + CALL_OVERHEAD;
        }
        self.calls.entry(id.to_owned()).or_default()
    }

    fn forget(&mut self) {
        while self.bytes > MOST_REMEMBERED {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(call) = self.calls.remove(&oldest) {
                let text = call.context.map_or(0, |text| text.len());
                self.bytes = self.bytes.saturating_sub(2 * oldest.len() + CALL_OVERHEAD + text);
            }
        }
    }

    fn take_context(&mut self, id: &str) -> Option<String> {
        let context = self.calls.get_mut(id)?.context.take()?;
        self.bytes = self.bytes.saturating_sub(context.len());
        Some(context.to_string())
    }
}

impl Tail {
    /// Follows a file, which need not be there yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { file: Growing::new(path), format: None, said: Said::default(), memory: Memory::default() }
    }

    /// Reads on, at most 8 MiB (16 where one line is longer). True: there is more to be read at once.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read.
    pub fn step(&mut self) -> io::Result<bool> {
        let Self { file, format, said, memory } = self;
        let step = file.step(&mut |line| take(line, format, said, memory))?;
        Ok(step.more)
    }

    /// The text and the reasoning of the model that come before a call in the same message.
    pub fn context_before(&mut self, call_id: &str) -> Option<String> {
        self.memory.take_context(call_id)
    }

    /// How a call ended, where its result was written down.
    pub fn outcome_of(&mut self, call_id: &str) -> Option<Outcome> {
        self.memory.calls.get_mut(call_id)?.outcome.take()
    }
}

fn take(line: &[u8], format: &mut Option<Format>, said: &mut Said, memory: &mut Memory) {
    if format.is_none() {
        *format = Format::of(line);
    }
    match format {
        Some(Format::Claude) => take_claude(line, said, memory),
        Some(Format::Codex) => codex::follow(line, said, memory),
        None => {}
    }
}

fn take_claude(line: &[u8], said: &mut Said, memory: &mut Memory) {
    let Some(row) = claude::Row::parse(line) else { return };
    if let Some(message) = row.of_model() {
        said.of(message.id.as_deref());
        for block in row.blocks() {
            match (block.kind.as_str(), &block.id) {
                ("tool_use", Some(id)) => memory.call(id, said),
                ("text", _) => said.say(block.text.as_deref().unwrap_or_default()),
                ("thinking", _) => said.say(block.thinking.as_deref().unwrap_or_default()),
                _ => {}
            }
        }
    } else if row.kind == "user"
        && let Some((call, outcome)) = row.result()
    {
        memory.ended(call, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_calls_are_forgotten_and_a_context_too_long_is_none() {
        let mut memory = Memory::default();
        let mut said = Said::default();
        for n in 0..40 {
            said.of(Some(&format!("m{n}")));
            said.say(&"x".repeat(200 * 1024));
            memory.call(&format!("c{n}"), &mut said);
        }
        assert!(memory.bytes <= MOST_REMEMBERED);
        assert_eq!(memory.calls.len(), memory.order.len());
        assert_eq!(memory.take_context("c0"), None);
        assert_eq!(memory.take_context("c39").map(|text| text.len()), Some(200 * 1024));
        assert_eq!(memory.take_context("c39"), None, "what was asked for is forgotten");
        said.of(Some("long"));
        said.say(&"x".repeat(LONGEST_CONTEXT + 1));
        memory.call("long", &mut said);
        assert_eq!(memory.take_context("long"), None);
        for n in 0..100_000 {
            memory.ended(&format!("e{n}"), Outcome::Ok);
        }
        assert!(memory.bytes <= MOST_REMEMBERED && memory.calls.len() < 40_000);
    }
}
