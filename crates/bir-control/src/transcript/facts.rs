//! What transcripts tell of one turn, at its end.
//!
//! Which rows are the turn's: those after a row of the user that carries the turn's id, up to a row with another one. **A fork
//! copies the rows of all turns before it and gives them its own turn's id**, so that of several prompts with one id only the
//! last one, and what follows it, is the turn. Sub-agents have files of their own, whose rows carry the id of the turn that
//! began them, also long after it. Versions without ids on rows are read by time.

use super::claude::{Content, Row};
use super::usage::{Responses, Tokens};
use super::{Format, codex, lines};
use bir_model::Outcome;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Most files that one turn is looked for in.
const MOST_FILES: usize = 1_000;
/// Longest description of a sub-agent, in bytes.
const LONGEST_META: u64 = 64 * 1024;
/// A prompt's row may be a little older than the hook that told of the prompt. In ms.
const SLACK: u64 = 5_000;

/// What transcripts tell of a turn, as the host wrote it: nothing is redacted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawFacts {
    /// Of the calls that were asked for, those that are over, in the order in which they were asked for.
    pub outcomes: Vec<(String, Outcome)>,
    /// The text of the model's last message, where it asked for no tool any more.
    pub final_answer: Option<String>,
    /// `{models: {name: tokens}, totals: tokens, source: "transcript"}`, tokens being `inputTokens` (that no cache had),
    /// `outputTokens`, `cacheReadTokens`, `cacheCreationTokens` and `requests`. With `compaction: true` some requests are in no
    /// transcript, with `incomplete: true` a file could not be read whole.
    pub usage: Option<Value>,
}

/// Reads transcripts for the facts of a turn. `transcripts` are the session's file and those of sub-agents, which are also looked
/// for beside it; `turns` are the ids of the turn and of what belongs to it; `since` is when it began, ms since the Unix epoch.
/// Blocks: 100 MiB took 0.6 s on a busy machine, and of each file the last 256 MiB are read at most.
#[must_use]
pub fn facts(transcripts: &[PathBuf], turns: &[String], since: u64, open_calls: &[String]) -> RawFacts {
    let mut turn = Turn::new(turns, since, open_calls);
    let mut incomplete = false;
    for path in files(transcripts) {
        incomplete |= !turn.read(&path);
    }
    turn.finish(incomplete)
}

/// The files to read: sessions before their sub-agents, each once.
fn files(transcripts: &[PathBuf]) -> Vec<PathBuf> {
    let (agents, mut files): (Vec<_>, Vec<_>) = transcripts.iter().cloned().partition(|path| is_agent(path));
    let mut beside = agents;
    for session in &files {
        let entries = std::fs::read_dir(session.with_extension("").join("subagents"));
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
        found.sort();
        beside.extend(found);
    }
    files.extend(beside);
    let mut seen = HashSet::new();
    files.retain(|path| seen.insert(path.clone()));
    files.truncate(MOST_FILES);
    files
}

fn is_agent(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "subagents")
}

/// What was found of a turn so far.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a [String],
    since: u64,
    open: &'a [String],
    outcomes: Vec<Option<(Outcome, bool)>>,
    pub(super) responses: Responses,
    /// Calls of the turn, to know its sub-agents by.
    calls: HashSet<String>,
    answer: Option<String>,
    compaction: bool,
}

impl<'a> Turn<'a> {
    fn new(turns: &'a [String], since: u64, open: &'a [String]) -> Self {
        Self {
            turns,
            since,
            open,
            outcomes: vec![None; open.len()],
            responses: Responses::default(),
            calls: HashSet::new(),
            answer: None,
            compaction: false,
        }
    }

    pub(super) fn is_ours(&self, id: &str) -> bool {
        self.turns.iter().any(|turn| turn == id)
    }

    /// A call has ended; what is certain counts more than what is not, and the later more than the earlier.
    pub(super) fn ended(&mut self, call: &str, outcome: Outcome, certain: bool) {
        for (known, _) in self.outcomes.iter_mut().zip(self.open).filter(|(_, id)| *id == call) {
            if certain || !matches!(known, Some((_, true))) {
                *known = Some((outcome, certain));
            }
        }
    }

    pub(super) fn answer(&mut self, text: Option<String>) {
        self.answer = text.filter(|text| !text.is_empty());
    }

    /// False: not the whole file was read.
    fn read(&mut self, path: &Path) -> bool {
        let mut format = None;
        let mut claude = ClaudeFile::new(path);
        let mut model = None;
        let read = lines::each(path, &mut |line| {
            if format.is_none() {
                format = Format::of(line);
            }
            match format {
                Some(Format::Claude) => claude.take(line, self),
                Some(Format::Codex) => codex::count(line, self, &mut model),
                None => {}
            }
        });
        claude.finish(self);
        match read {
            Ok(whole) => whole,
            // A session that never wrote anything has no file, and nothing is missing.
            Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        }
    }

    fn finish(self, incomplete: bool) -> RawFacts {
        let mut usage = self.responses.usage(self.compaction);
        if let (Some(usage), true) = (&mut usage, incomplete) {
            usage["incomplete"] = Value::Bool(true);
        }
        let known = self.open.iter().zip(self.outcomes);
        RawFacts {
            outcomes: known.filter_map(|(id, found)| Some((id.clone(), found?.0))).collect(),
            final_answer: self.answer,
            usage,
        }
    }
}

/// One file of Claude Code: what belongs to the turn since its last prompt.
struct ClaudeFile {
    path: PathBuf,
    agent: bool,
    /// The rows that are read now are the turn's.
    ours: bool,
    /// The id under which they are.
    current: Option<String>,
    responses: Responses,
    calls: HashSet<String>,
    answer: Answer,
    compaction: bool,
}

/// The last message of the model, as far as it is an answer.
#[derive(Default)]
struct Answer {
    message: Option<String>,
    texts: Vec<String>,
    /// It asked for a tool.
    tool: bool,
}

impl ClaudeFile {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            agent: is_agent(path),
            ours: false,
            current: None,
            responses: Responses::default(),
            calls: HashSet::new(),
            answer: Answer::default(),
            compaction: false,
        }
    }

    fn take(&mut self, line: &[u8], turn: &mut Turn<'_>) {
        let Some(row) = Row::parse(line) else { return };
        if row.kind == "user" {
            self.of_user(&row, turn);
        } else if self.ours {
            self.of_model(row);
        }
    }

    fn of_user(&mut self, row: &Row, turn: &mut Turn<'_>) {
        if let Some((call, outcome)) = row.result() {
            turn.ended(call, outcome, true);
        }
        let begins = row.begins_turn();
        match &row.prompt_id {
            Some(id) => {
                self.ours = turn.is_ours(id);
                if self.ours && begins && self.current.as_ref() == Some(id) {
                    // What was read under this id before was a copy.
                    self.forget();
                }
                self.current = Some(id.clone());
            }
            None if begins && self.current.is_none() => self.ours = self.by_time(row, turn),
            None => {}
        }
        self.compaction |= self.ours && row.is_compact_summary == Some(true);
    }

    /// Whether a prompt without an id begins the turn: of a sub-agent by the call that began it, else by its time.
    fn by_time(&self, row: &Row, turn: &Turn<'_>) -> bool {
        if self.agent
            && let Some(call) = began_by(&self.path)
        {
            return turn.calls.contains(&call);
        }
        let at = row.timestamp.as_deref().and_then(milliseconds);
        at.is_some_and(|at| at.saturating_add(SLACK) >= turn.since)
    }

    fn of_model(&mut self, mut row: Row) {
        let Some(message) = row.of_model() else { return };
        let id = message.id.clone().or_else(|| row.request_id.clone()).or_else(|| row.uuid.clone());
        let (Some(id), Some(usage)) = (id, message.usage.clone()) else { return };
        let tokens = Tokens {
            input: usage.input_tokens.unwrap_or(0),
            output: usage.output_tokens.unwrap_or(0),
            cache_read: usage.cache_read_input_tokens.unwrap_or(0),
            cache_creation: usage.cache_creation_input_tokens.unwrap_or(0),
        };
        let model = message.model.clone().unwrap_or_else(|| "unknown".into());
        self.responses.count(id.clone(), model, tokens);
        if self.answer.message.as_ref() != Some(&id) {
            self.answer = Answer { message: Some(id), ..Answer::default() };
        }
        let content = row.message.take().and_then(|message| message.content);
        let blocks = if let Some(Content::Blocks(blocks)) = content { blocks } else { Vec::new() };
        for block in blocks {
            match (block.kind.as_str(), block.id, block.text) {
                ("tool_use", Some(id), _) => {
                    self.answer.tool = true;
                    self.calls.insert(id);
                }
                ("text", _, Some(text)) => self.answer.texts.push(text),
                _ => {}
            }
        }
    }

    /// Begins anew.
    fn forget(&mut self) {
        self.responses.clear();
        self.calls.clear();
        self.answer = Answer::default();
        self.compaction = false;
    }

    fn finish(self, turn: &mut Turn<'_>) {
        turn.responses.extend(self.responses);
        turn.calls.extend(self.calls);
        turn.compaction |= self.compaction;
        if !self.agent && !self.answer.tool && !self.answer.texts.is_empty() {
            turn.answer(Some(self.answer.texts.join("\n\n")));
        }
    }
}

/// The call that began a sub-agent, as its description beside its file says.
fn began_by(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(path.with_extension("meta.json")).ok()?;
    file.take(LONGEST_META).read_to_string(&mut text).ok()?;
    let meta: Value = serde_json::from_str(&text).ok()?;
    meta.get("toolUseId")?.as_str().map(str::to_owned)
}

/// Milliseconds since the Unix epoch of a time as both hosts write it: `2026-11-30T11:34:08.937Z`.
fn milliseconds(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !text.ends_with('Z') || year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from civil, after Howard Hinnant: the year begins in March.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let fraction = number(20, 23).unwrap_or(0);
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(milliseconds("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(milliseconds("2026-11-30T11:34:08.937Z"), Some(1_796_038_448_937));
        assert_eq!(milliseconds("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        for text in [
            "",
            "2026-11-30",
            "1969-12-31T23:59:59Z",
            "2026-13-01T00:00:00Z",
            "2026-11-30T11:34:08+01:00",
            "äöüäöüäöüäöüZ",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
