//! A recorded run as calculation reads it: its calls in the order in which they began, each with what it was given and
//! what it gave.
//!
//! Only calls that ran and gave a result are in it. Others stand [apart](Recorded::apart): one that was refused or
//! failed is not done again, and
//! where nobody knows whether a write was carried out, nothing can be concluded from the run. Placeholders of redaction
//! and marks of
//! truncation stay what they are; `bir-infer` takes none of them for a witness.

use bir_entity::Clock;
use bir_model::record::{RunStart, Step, StepType};
use bir_model::{CallRows, Outcome, RunId, own_calls};
use bir_plan::effect::{Effect, Judged, judge};
use bir_plan::result;
use bir_plan::trace::{Call, Output, Trace};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A run, read.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The run.
    pub run: RunId,
    /// What is calculated with.
    pub trace: Trace,
    /// For each call of the trace what else is known of it.
    pub calls: Vec<CallFacts>,
    /// Calls that are not in the trace.
    pub apart: Vec<Apart>,
    /// Where the time zone comes from.
    pub zone: Zone,
    /// The working directory, where it is known.
    pub cwd: Option<String>,
    /// The project.
    pub project: Option<String>,
}

/// What is known of a call beside its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFacts {
    /// The index of the row that begins it.
    pub row: u32,
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The model's words before it.
    pub context: Option<String>,
    /// What it does to the world, and why that is believed.
    pub judged: Judged,
    /// Names the schema of its input, where that is known.
    pub fingerprint: Option<String>,
}

/// A call that is not in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// The index of its first row.
    pub row: u32,
    /// The server's key.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// Why.
    pub why: Why,
    /// What it does to the world.
    pub effect: Effect,
}

/// Why a call is not in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is none of the agent's work on the task: the host's housekeeping, or `bir` itself.
    Own,
    /// A user or a policy refused it.
    Refused,
    /// It gave an error.
    Failed,
    /// Nothing says how it ended.
    Abandoned,
}

/// Where the time zone of a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// The record names it.
    Recorded,
    /// The record names none, or none that is known here: it is UTC.
    Assumed,
}

/// What a server says of its tools, where somebody knows it.
pub type Tools = HashMap<(Option<String>, String), Tool>;

/// What a server says of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// The JSON Schema of its input.
    pub schema: Option<Value>,
    /// Its hints (`readOnlyHint` …).
    pub annotations: Option<Value>,
    /// Names the schema: equal for equal ones, another for others.
    pub fingerprint: Option<String>,
    /// The owner of the run trusts the server.
    pub trusted: bool,
}

/// Members of a run's metadata that may name its time zone (`Europe/Berlin`).
const ZONES: [&str; 3] = ["timeZone", "timezone", "tz"];

impl Recorded {
    /// Reads a run: its beginning, its rows in any order, its final answer. Rows of other runs and a row that repeats
    /// an index are left out.
    #[must_use]
    pub fn read(start: &RunStart, rows: &[Step], answer: Option<&str>, tools: &Tools) -> Self {
        let (clock, zone) = clock(start);
        let mut out = Self {
            run: start.id,
            trace: Trace {
                prompt: start.input.clone().unwrap_or_default(),
                clock,
                calls: Vec::new(),
                answer: answer.map(str::to_owned),
            },
            calls: Vec::new(),
            apart: Vec::new(),
            zone,
            cwd: start.metadata.get("cwd").and_then(Value::as_str).map(str::to_owned),
            project: start.project.clone(),
        };
        // A call takes two indexes; what else its rows say of who they are, equal call ids for one, does not pair them.
        let mut pairs: BTreeMap<u32, CallRows<'_>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.run_id == start.id) {
            let pair = pairs.entry(row.step_index / 2).or_default();
            let slot = match row.step_type {
                StepType::ToolSelected => &mut pair.begin,
                StepType::ToolResponse => &mut pair.end,
            };
            slot.get_or_insert(row);
        }
        for (pair, rows) in pairs {
            out.add(pair.saturating_mul(2), rows, tools);
        }
        out
    }

    /// Whether its calls had the same input schemas as those of another run, call by call. What is not known of either does
    /// not contradict.
    #[must_use]
    pub fn fits(&self, other: &Self) -> bool {
        let pairs = self.calls.iter().zip(&other.calls);
        pairs
            .filter_map(|(a, b)| Some((a.fingerprint.as_ref()?, b.fingerprint.as_ref()?)))
            .all(|(a, b)| a == b)
    }

    fn add(&mut self, row: u32, rows: CallRows<'_>, tools: &Tools) {
        let Some(name) = rows.name() else { return };
        let (server, tool) = (name.server.map(str::to_owned), name.tool.to_owned());
        let known = tools.get(&(server.clone(), tool.clone())).cloned().unwrap_or_default();
        let judged = judge(server.as_deref(), &tool, known.annotations.as_ref(), known.trusted);
        let does = judged.effect;
        let mut apart = |why| {
            self.apart.push(Apart { row, server: server.clone(), tool: tool.clone(), why, effect: does })
        };
        let rendered = rendered(rows, server.as_deref(), &tool);
        if !own_calls::is_step(&rendered, server.as_deref(), Some(&tool), rows.input()) {
            return apart(Why::Own);
        }
        let output = match rows.end.map(|end| end.outcome.unwrap_or(Outcome::Unknown)) {
            Some(Outcome::Ok) => {
                match rows.end.and_then(|end| end.tool_output.as_deref().map(|text| (end, text))) {
                    // Which answer belongs to which call was guessed: nothing is concluded from it.
                    Some(_) if rows.ambiguous() => Output::Text { text: String::new(), truncated: true },
                    Some((end, text)) => result::output(text, end.truncated),
                    None => Output::Text { text: String::new(), truncated: true },
                }
            }
            Some(Outcome::Denied) => return apart(Why::Refused),
            Some(Outcome::ToolError | Outcome::RpcError) => return apart(Why::Failed),
            Some(Outcome::Timeout | Outcome::Cancelled | Outcome::Unknown) | None => {
                return apart(Why::Abandoned);
            }
        };
        if output == Output::Failed {
            return apart(Why::Failed);
        }
        let (context, fingerprint) = (rows.context().map(str::to_owned), known.fingerprint);
        self.calls.push(CallFacts { row, tool_name: rendered, context, judged, fingerprint });
        self.trace.calls.push(Call {
            server,
            tool,
            schema: known.schema,
            annotations: known.annotations,
            input: input(rows),
            output,
        });
    }
}

/// What a call was given. What cannot be read is a mark, which nothing explains.
fn input(rows: CallRows<'_>) -> Value {
    let Some(text) = rows.input() else { return json!({}) };
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(Value::Null) => json!({}),
        _ => json!({"truncated": true, "originalBytes": text.len()}),
    }
}

/// The tool as the host renders it: a row that a proxy wrote has the server's own name of it.
fn rendered(rows: CallRows<'_>, server: Option<&str>, tool: &str) -> String {
    let names = [rows.begin, rows.end].into_iter().flatten().map(|row| row.tool_name.as_str());
    match (names.clone().find(|name| *name != tool), server) {
        (Some(name), _) => name.to_owned(),
        (None, Some(server)) => format!("mcp__{server}__{tool}"),
        (None, None) => tool.to_owned(),
    }
}

fn clock(start: &RunStart) -> (Clock, Zone) {
    let named = ZONES.iter().find_map(|name| start.metadata.get(*name)?.as_str());
    let zone = named.and_then(|name| TimeZone::get(name).ok());
    let at = i64::try_from(start.started_at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let from = if zone.is_some() { Zone::Recorded } else { Zone::Assumed };
    (Clock { now: at.unwrap_or_default().to_zoned_datetime(zone.unwrap_or(TimeZone::UTC)) }, from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const RUN: &str = "run_01970000-0000-7000-8000-000000000001";

    fn start(more: Value) -> RunStart {
        let mut start =
            json!({"id": RUN, "tier": "bound", "input": "Find Rome", "startedAt": 1_796_032_800_000_u64});
        start.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(start).unwrap()
    }

    fn row(index: u32, kind: &str, more: Value) -> Step {
        let mut row = json!({"id": "step_01970000-0000-7000-8000-000000000001", "runId": RUN, "stepIndex": index,
            "stepType": kind, "toolName": "mcp__s__find", "server": "s", "tool": "find", "at": 1});
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(row).unwrap()
    }

    fn call(index: u32, more: Value) -> [Step; 2] {
        let mut ended = json!({"outcome": "ok", "toolOutput": "{\"id\": 7}"});
        ended.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        [
            row(index, "tool_selected", json!({"toolInput": "{\"q\": \"Rome\"}"})),
            row(index + 1, "tool_response", ended),
        ]
    }

    fn read(rows: &[Step]) -> Recorded {
        Recorded::read(&start(json!({})), rows, Some("It is 7."), &Tools::default())
    }

    #[test]
    fn calls_stand_in_the_order_of_starting() {
        let mut rows: Vec<Step> =
            (0..3).flat_map(|n| call(2 * n, json!({"toolOutput": n.to_string()}))).collect();
        rows.reverse();
        let run = read(&rows);
        let texts: Vec<_> =
            run.trace.calls.iter().map(|call| result::as_value(&call.output).unwrap()).collect();
        assert_eq!(texts, ["0", "1", "2"]);
        assert_eq!((run.calls[2].row, run.calls[0].tool_name.as_str()), (4, "mcp__s__find"));
        assert_eq!(run.trace.answer.as_deref(), Some("It is 7."));
        assert_eq!(run.trace.calls[0].input, json!({"q": "Rome"}));
    }

    #[test]
    fn how_a_call_ended_decides_where_it_stands() {
        for (end, why) in [
            (json!({}), None),
            (json!({"outcome": "denied"}), Some(Why::Refused)),
            (json!({"outcome": "tool_error"}), Some(Why::Failed)),
            (json!({"outcome": "rpc_error"}), Some(Why::Failed)),
            (json!({"toolOutput": "{\"content\": [], \"isError\": true}"}), Some(Why::Failed)),
            (json!({"outcome": "timeout"}), Some(Why::Abandoned)),
            (json!({"outcome": "cancelled"}), Some(Why::Abandoned)),
            (json!({"outcome": "unknown"}), Some(Why::Abandoned)),
        ] {
            let run = read(&call(0, end.clone()));
            assert_eq!(run.apart.first().map(|apart| apart.why), why, "{end}");
            assert_eq!(run.trace.calls.len(), usize::from(why.is_none()), "{end}");
        }
        let run = read(&call(0, json!({}))[..1]);
        assert_eq!((run.apart[0].why, run.apart[0].effect), (Why::Abandoned, Effect::Read));
    }

    #[test]
    fn what_is_never_recorded_stays_out() {
        let bash = |command: &str| {
            let input = json!({"command": command}).to_string();
            let name = json!({"toolName": "Bash", "server": null, "tool": null, "toolInput": input});
            let end = json!({"toolName": "Bash", "server": null, "tool": null, "outcome": "ok", "toolOutput": "{}"});
            [row(0, "tool_selected", name), row(1, "tool_response", end)]
        };
        assert_eq!(read(&bash("bir status")).apart[0].why, Why::Own);
        assert_eq!(read(&bash("ls")).trace.calls[0].tool, "Bash");
        let search = json!({"toolName": "ToolSearch", "server": null, "tool": null});
        assert_eq!(read(&[row(0, "tool_selected", search)]).apart[0].why, Why::Own);
    }

    #[test]
    fn marks_and_placeholders_stay_what_they_are() {
        let secret = "{\"key\": \"[redacted:key:0123456789ab]\"}";
        let cut = "{\"a\": {\"truncated\": true, \"originalBytes\": 9}}";
        let mut rows = call(0, json!({"toolOutput": cut, "truncated": true}));
        rows[0].tool_input = Some(secret.into());
        let run = read(&rows);
        assert_eq!(run.trace.calls[0].input["key"], "[redacted:key:0123456789ab]");
        assert!(matches!(&run.trace.calls[0].output, Output::Value { truncated: true, .. }));
        rows[0].tool_input = Some("{\"key\": \"cut of".into());
        assert_eq!(read(&rows).trace.calls[0].input["truncated"], true);
        rows[0].tool_input = None;
        assert_eq!(read(&rows).trace.calls[0].input, json!({}));
        rows[1].ambiguous = true;
        assert_eq!(read(&rows).trace.calls[0].output, Output::Text { text: String::new(), truncated: true });
    }

    #[test]
    fn the_zone_is_the_recorded_one_or_said_to_be_assumed() {
        let run =
            |more: Value| Recorded::read(&start(json!({"metadata": more})), &[], None, &Tools::default());
        let berlin = run(json!({"timeZone": "Europe/Berlin", "cwd": "/p"}));
        assert_eq!((berlin.zone, berlin.cwd.as_deref()), (Zone::Recorded, Some("/p")));
        assert_eq!(berlin.trace.clock.now.strftime("%H:%M").to_string(), "11:00");
        for none in [json!({}), json!({"timeZone": "Nowhere/Else"}), json!({"tz": 3})] {
            let utc = run(none);
            assert_eq!(
                (utc.zone, utc.trace.clock.now.strftime("%H:%M").to_string().as_str()),
                (Zone::Assumed, "10:00")
            );
        }
    }

    #[test]
    fn long_empty_and_odd_runs_are_read() {
        assert!(read(&[]).trace.calls.is_empty());
        let many: Vec<Step> = (0..10_000).flat_map(|n| call(2 * n, json!({"callId": "same"}))).collect();
        let begun = Instant::now();
        let run = read(&many);
        assert_eq!(run.trace.calls.len(), 10_000);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
        let twice = [call(0, json!({})), call(0, json!({"toolOutput": "other"}))].concat();
        assert_eq!(read(&twice).trace.calls.len(), 1);
        let last = [
            row(u32::MAX - 1, "tool_selected", json!({})),
            row(u32::MAX, "tool_response", json!({"outcome": "ok"})),
        ];
        assert_eq!(read(&last).trace.calls.len(), 1);
        let foreign: Vec<Step> =
            call(0, json!({"runId": "run_01970000-0000-7000-8000-00000000000f"}))[1..].to_vec();
        assert!(read(&foreign).trace.calls.is_empty());
    }
}
