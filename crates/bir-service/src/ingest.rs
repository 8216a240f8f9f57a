//! From lines to booked records.
//!
//! ```text
//! bytes ─▶ lines ─▶ parse (once, straight into the record's own type) ─▶ check sizes ─▶ store.append (one transaction)
//!                      │ no JSON, wrong type                               │ too large        │ refused
//!                      └────────────▶ refusal with its line ◀──────────────┴──────────────────┘
//!                                                                   then: metrics, live, otel
//! ```
//!
//! A refused line keeps no other line out. Sending it again would change nothing, so the sender may forget it.

use crate::json::expectation;
use crate::problem::Problem;
use crate::state::State;
use bir_model::record::{FinalAnswer, Finish, Lost, Record, RunStart, Step, ToolsSeen};
use bir_model::tools::{LONGEST_SET, MOST_TOOLS};
use bir_store::model::{Appended, StepChange, View};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Bytes of one payload: 64 KiB after redaction and cutting, and some room for the mark of the cut.
const PAYLOAD: usize = (64 << 10) + (8 << 10);
/// Bytes of a name.
const NAME: usize = 512;
/// Bytes of a path.
const PATH: usize = 4096;
/// Bytes of `metadata` and of `metrics`, as JSON.
const METADATA: usize = 64 << 10;
/// Bytes of a set around its tools.
const SET_FRAME: usize = 1 << 10;
/// Servers of one run.
const SERVERS: usize = 256;
/// Rounds of one call.
const LEGS: usize = 64;
/// The largest index of a row; databases have signed numbers.
const MAX_INDEX: u32 = i32::MAX as u32;

/// A line that was not booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Refusal {
    /// Counted from 1.
    pub(crate) line: u64,
    /// Stable.
    pub(crate) code: String,
    /// For people.
    pub(crate) detail: String,
}

/// Why one record is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) code: &'static str,
    pub(crate) detail: String,
}

fn unfit(code: &'static str, detail: impl Into<String>) -> Unfit {
    Unfit { code, detail: detail.into() }
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
}

/// Reads one line. The tag is read first and the rest straight into its type: the derived reader of a tagged enum would
/// build a tree of every value in between, at several times the cost.
pub(crate) fn parse(line: &[u8]) -> Result<Record, Unfit> {
    let written_by_us: &[(&[u8], &str)] = &[(br#"{"type":"step","#, "step"), (br#"{"type":"run","#, "run")];
    let kind = match written_by_us.iter().find(|(head, _)| line.starts_with(head)) {
        Some((_, kind)) => std::borrow::Cow::Borrowed(*kind),
        None => serde_json::from_slice::<Tag<'_>>(line).map_err(|e| explain::<Tag<'_>>(line, &e))?.kind,
    };
    let mut record = match &*kind {
        "step" => Record::Step(read::<Step>(line)?),
        "run" => Record::Run(read::<RunStart>(line)?),
        "final" => Record::Final(read::<FinalAnswer>(line)?),
        "finish" => Record::Finish(read::<Finish>(line)?),
        "lost" => Record::Lost(read::<Lost>(line)?),
        "tools" => Record::Tools(read::<ToolsSeen>(line)?),
        _ => return Err(unfit("bad_type", "`type`: expected run, step, final, finish, lost or tools")),
    };
    check(&mut record)?;
    Ok(record)
}

fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, Unfit> {
    serde_json::from_slice(line).map_err(|error| explain::<T>(line, &error))
}

/// The slow way, for lines that are wrong: which member it was.
fn explain<'a, T: Deserialize<'a>>(line: &'a [u8], error: &serde_json::Error) -> Unfit {
    if !error.is_data() {
        return unfit("bad_json", format!("no JSON at column {}", error.column()));
    }
    let mut reader = serde_json::Deserializer::from_slice(line);
    let path = serde_path_to_error::deserialize::<_, T>(&mut reader).err().map(|e| e.path().to_string());
    let what = expectation(&error.to_string());
    match path.filter(|p| p != ".") {
        Some(path) => unfit("bad_type", format!("`{path}`: {what}")),
        None => unfit("bad_type", what),
    }
}

/// Looks at the sizes of a record's parts.
struct Check(Result<(), Unfit>);

impl Check {
    fn text(&mut self, name: &str, value: &mut String, max: usize) {
        if self.0.is_ok() && value.len() > max {
            self.0 = Err(unfit(
                "too_large",
                format!("`{name}`: expected at most {max} bytes, not {}", value.len()),
            ));
        }
        // PostgreSQL's text has no place for it, and a whole record would be lost over it.
        if value.as_bytes().contains(&0) {
            *value = value.replace('\0', "\u{fffd}");
        }
    }

    fn maybe(&mut self, name: &str, value: &mut Option<String>, max: usize) {
        if let Some(value) = value {
            self.text(name, value, max);
        }
    }

    fn number(&mut self, name: &str, value: u64) {
        if self.0.is_ok() && i64::try_from(value).is_err() {
            self.0 = Err(unfit("invalid", format!("`{name}`: expected a number below 2^63")));
        }
    }

    fn that(&mut self, holds: bool, code: &'static str, detail: &str) {
        if self.0.is_ok() && !holds {
            self.0 = Err(unfit(code, detail));
        }
    }
}

fn json_size(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Whether the parts have acceptable sizes.
pub(crate) fn check(record: &mut Record) -> Result<(), Unfit> {
    let mut c = Check(Ok(()));
    match record {
        Record::Run(run) => {
            c.maybe("framework", &mut run.framework, NAME);
            c.maybe("input", &mut run.input, PAYLOAD);
            c.maybe("project", &mut run.project, PATH);
            c.maybe("sessionId", &mut run.session_id, NAME);
            if let Some(host) = &mut run.host {
                c.text("host.app", &mut host.app, NAME);
                c.maybe("host.version", &mut host.version, NAME);
            }
            c.that(run.servers.len() <= SERVERS, "too_large", "`servers`: expected at most 256");
            for server in &mut run.servers {
                c.text("servers.name", &mut server.name, NAME);
                c.maybe("servers.title", &mut server.title, NAME);
                c.maybe("servers.version", &mut server.version, NAME);
                c.maybe("servers.tools", &mut server.tools, NAME);
            }
            let size = if run.metadata.is_empty() { 0 } else { json_size(&run.metadata) };
            c.that(size <= METADATA, "too_large", "`metadata`: expected at most 65536 bytes");
            c.number("startedAt", run.started_at);
        }
        Record::Step(step) => check_step(&mut c, step),
        Record::Final(answer) => {
            c.text("answer", &mut answer.answer, PAYLOAD);
            c.number("at", answer.at);
            c.that(answer.step_index <= MAX_INDEX, "invalid", "`stepIndex`: expected a number below 2^31");
        }
        Record::Finish(finish) => {
            c.maybe("finalOutput", &mut finish.final_output, PAYLOAD);
            let size = finish.metrics.as_ref().map_or(0, json_size);
            c.that(size <= METADATA, "too_large", "`metrics`: expected at most 65536 bytes");
            c.number("at", finish.at);
        }
        Record::Tools(seen) => {
            c.text("server", &mut seen.server, NAME);
            c.number("at", seen.at);
            if let Some(set) = &seen.set {
                c.that(set.tools.len() <= MOST_TOOLS, "too_large", "`set.tools`: expected at most 2000");
                c.that(
                    json_size(set) <= LONGEST_SET + SET_FRAME,
                    "too_large",
                    "`set`: expected at most 1000000 bytes",
                );
                // A name stands for one content: others of the owner's runs may have it.
                let is_named = c.0.is_err() || crate::scenarios::tools::hash(set) == seen.hash;
                c.that(is_named, "invalid", "`hash`: expected the SHA-256 of the set's canonical JSON");
            }
        }
        Record::Lost(lost) => {
            c.text("reason", &mut lost.reason, NAME);
            c.number("at", lost.at);
            c.number("calls", lost.calls);
            c.number("records", lost.records);
        }
    }
    c.0
}

/// Whether what is to be put into a row has acceptable sizes.
pub(crate) fn check_change(change: &mut StepChange) -> Result<(), Unfit> {
    let mut c = Check(Ok(()));
    c.maybe("toolInput", &mut change.tool_input, PAYLOAD);
    c.maybe("modelInput", &mut change.model_input, PAYLOAD);
    c.maybe("context", &mut change.context, PAYLOAD);
    c.maybe("toolOutput", &mut change.tool_output, PAYLOAD);
    c.maybe("toolError", &mut change.tool_error, PAYLOAD);
    c.number("durationUs", change.duration_us.unwrap_or(0));
    c.number("originalBytes", change.original_bytes.unwrap_or(0));
    c.0
}

fn check_step(c: &mut Check, step: &mut Step) {
    c.text("toolName", &mut step.tool_name, NAME);
    c.maybe("server", &mut step.server, NAME);
    c.maybe("tool", &mut step.tool, NAME);
    c.maybe("callId", &mut step.call_id, NAME);
    c.maybe("agentId", &mut step.agent_id, NAME);
    c.maybe("toolInput", &mut step.tool_input, PAYLOAD);
    c.maybe("modelInput", &mut step.model_input, PAYLOAD);
    c.maybe("context", &mut step.context, PAYLOAD);
    c.maybe("toolOutput", &mut step.tool_output, PAYLOAD);
    c.maybe("toolError", &mut step.tool_error, PAYLOAD);
    c.number("at", step.at);
    c.number("durationUs", step.duration_us.unwrap_or(0));
    c.number("originalBytes", step.original_bytes.unwrap_or(0));
    c.that(step.step_index <= MAX_INDEX, "invalid", "`stepIndex`: expected a number below 2^31");
    c.that(step.legs.len() <= LEGS, "too_large", "`legs`: expected at most 64");
    for leg in &mut step.legs {
        c.text("legs.asked", &mut leg.asked, PAYLOAD);
        c.maybe("legs.answered", &mut leg.answered, PAYLOAD);
        c.number("legs.askedAt", leg.asked_at);
        c.number("legs.answeredAt", leg.answered_at.unwrap_or(0));
        c.that(leg.leg <= MAX_INDEX, "invalid", "`legs.leg`: expected a number below 2^31");
    }
}

/// Records that are ready to be booked, and lines that are not.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) records: Vec<Record>,
    /// The line of each record.
    pub(crate) numbers: Vec<u64>,
    pub(crate) refused: Vec<Refusal>,
}

impl Lines {
    /// Reads one line; an empty one is nothing.
    pub(crate) fn push(&mut self, number: u64, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match parse(line) {
            Ok(record) => {
                self.records.push(record);
                self.numbers.push(number);
            }
            Err(Unfit { code, detail }) => {
                self.refused.push(Refusal { line: number, code: code.to_owned(), detail });
            }
        }
    }
}

/// What became of a number of lines.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tally {
    pub(crate) booked: u64,
    pub(crate) duplicates: u64,
    pub(crate) refused: Vec<Refusal>,
    /// How many were refused, where not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused_total: Option<u64>,
}

/// Books records, and tells everybody who wants to know.
pub(crate) async fn book(state: &State, who: &View, records: &[Record]) -> Result<Vec<Appended>, Problem> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let verdicts = state.store.append(who, records).await;
    state.metrics.store("append", began.elapsed());
    let verdicts = verdicts?;
    state.metrics.booked(records, &verdicts);
    crate::scenarios::ended(state, who, records, &verdicts);
    state.live.tell(&*state.store, who, records, &verdicts).await;
    if let Some(telemetry) = &state.telemetry {
        telemetry.booked(&*state.store, who, records, &verdicts).await;
    }
    Ok(verdicts)
}

/// Books lines that were read.
pub(crate) async fn book_lines(state: &State, who: &View, lines: Lines) -> Result<Tally, Problem> {
    let verdicts = book(state, who, &lines.records).await?;
    state.metrics.refused(lines.refused.len() as u64);
    let mut tally = Tally { refused: lines.refused, ..Tally::default() };
    for (verdict, line) in verdicts.into_iter().zip(lines.numbers) {
        match verdict {
            Appended::Booked => tally.booked += 1,
            Appended::Duplicate => tally.duplicates += 1,
            Appended::Refused { code, detail } => tally.refused.push(Refusal { line, code, detail }),
        }
    }
    tally.refused.sort_by_key(|r| r.line);
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::{RunId, StepId};

    fn step(extra: &str) -> String {
        format!(
            r#"{{"type":"step","id":"{}","runId":"{}","stepIndex":0,"stepType":"tool_selected","toolName":"t","at":1{extra}}}"#,
            StepId::new(),
            RunId::new()
        )
    }

    #[test]
    fn what_is_written_is_read_and_the_order_of_members_does_not_matter() {
        let line = step("");
        let record = parse(line.as_bytes()).unwrap();
        assert_eq!(record, serde_json::from_str::<Record>(&line).unwrap());
        let moved = line.replace(r#""type":"step","#, "").replace(r#""at":1"#, r#""at":1,"type":"step""#);
        assert_eq!(parse(moved.as_bytes()).unwrap(), record);
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong_and_repeats_no_value() {
        let big = "x".repeat(PAYLOAD + 1);
        let long = "n".repeat(NAME + 1);
        let cases: Vec<(String, &str, &str)> = vec![
            ("{".into(), "bad_json", "column"),
            ("[]".into(), "bad_type", ""),
            ("{}".into(), "bad_type", "missing field `type`"),
            (r#"{"type":"hunter2"}"#.into(), "bad_type", "`type`: expected run, step"),
            (step("").replace(":0,", r#":"hunter2","#), "bad_type", "`stepIndex`: expected u32"),
            (step("").replace("tool_selected", "hunter2"), "bad_type", "`stepType`"),
            (step("").replace("\"step_", "\"stop_"), "bad_type", "`id`"),
            (step(&format!(r#","toolInput":"{big}""#)), "too_large", "`toolInput`"),
            (step(&format!(r#","server":"{long}""#)), "too_large", "`server`"),
            (step(r#","durationUs":18446744073709551615"#), "invalid", "`durationUs`"),
        ];
        for (line, code, part) in cases {
            let unfit = parse(line.as_bytes()).unwrap_err();
            assert_eq!(unfit.code, code, "{}: {}", &line[..line.len().min(80)], unfit.detail);
            assert!(unfit.detail.contains(part), "{}", unfit.detail);
            assert!(!unfit.detail.contains("hunter2"), "{}", unfit.detail);
        }
    }

    #[test]
    fn a_zero_character_does_not_cost_the_record() {
        let Record::Step(step) = parse(step(r#","context":"a\u0000b""#).as_bytes()).unwrap() else {
            panic!()
        };
        assert_eq!(step.context.as_deref(), Some("a\u{fffd}b"));
    }
}
