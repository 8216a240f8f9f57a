//! Two rows make a call: the one that begins it (index `2n`) and the one that ends it (`2n + 1`). What both say together is
//! [`CallRows`].

use super::wire::read;
use crate::error::CommandError;
use crate::out::safe;
use bir_model::CallRows;
use bir_model::Outcome;
use bir_model::record::{Leg, Source, Step, StepType};
use serde_json::Value;
use std::collections::BTreeMap;

/// A call, as far as its rows are there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) begin: Option<Step>,
    pub(crate) end: Option<Step>,
}

/// The calls of a run in the order in which they began.
pub(crate) fn calls(rows: &[Value]) -> Result<Vec<Call>, CommandError> {
    Ok(of_steps(rows.iter().map(read).collect::<Result<Vec<Step>, _>>()?))
}

/// The same, of rows that are read already.
pub(crate) fn of_steps(steps: impl IntoIterator<Item = Step>) -> Vec<Call> {
    let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
    for step in steps {
        let call = calls.entry(step.step_index / 2).or_default();
        match step.step_type {
            StepType::ToolSelected => call.begin = Some(step),
            StepType::ToolResponse => call.end = Some(step),
        }
    }
    calls.into_values().collect()
}

impl Call {
    /// Both rows.
    pub(crate) fn rows(&self) -> CallRows<'_> {
        CallRows { begin: self.begin.as_ref(), end: self.end.as_ref() }
    }

    /// `server/tool`, or the tool alone where it is built in; untrusted.
    pub(crate) fn key(&self) -> String {
        let name = self.rows().name();
        name.map_or_else(String::new, |name| match name.server {
            Some(server) => format!("{server}/{}", name.tool),
            None => name.tool.to_owned(),
        })
    }

    /// The same, harmless.
    pub(crate) fn name(&self) -> String {
        safe::line(&self.key()).into_owned()
    }

    /// The arguments as they ran.
    pub(crate) fn input(&self) -> Option<&str> {
        self.rows().input()
    }

    /// Who saw it.
    pub(crate) fn seen_by(&self) -> Option<&'static str> {
        match self.rows().sources().as_slice() {
            [] => None,
            [Source::Hook] => Some("seen by hook"),
            [Source::Proxy] => Some("seen by proxy"),
            _ => Some("seen by hook+proxy"),
        }
    }

    /// The result, or the error.
    pub(crate) fn output(&self) -> Option<&str> {
        let end = self.end.as_ref()?;
        end.tool_output.as_deref().or(end.tool_error.as_deref())
    }

    /// How it ended. None: it has not, as far as is known.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.end.as_ref().map(|end| end.outcome.unwrap_or(Outcome::Unknown))
    }

    /// When it began, else when it ended, ms.
    pub(crate) fn at(&self) -> u64 {
        self.begin.as_ref().or(self.end.as_ref()).map_or(0, |step| step.at)
    }

    /// How long it took, µs. None: it has not ended, or nobody saw its answer, so that the time of its end means nothing.
    pub(crate) fn duration(&self) -> Option<u64> {
        let end = self.end.as_ref().filter(|end| end.outcome.is_some_and(|o| o != Outcome::Unknown))?;
        end.duration_us.or_else(|| Some(end.at.saturating_sub(self.begin.as_ref()?.at).saturating_mul(1000)))
    }

    /// The rounds before the last.
    pub(crate) fn legs(&self) -> &[Leg] {
        self.end.as_ref().map_or(&[], |end| &end.legs)
    }

    /// What else is to be known of it.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for (step, what) in [(&self.begin, "arguments"), (&self.end, "result")] {
            if let Some(step) = step.as_ref().filter(|step| step.truncated) {
                let of = step.original_bytes.map(|n| format!(" of {}", crate::out::size::bytes(n)));
                remarks.push(format!("{what}{} cut", of.unwrap_or_default()));
            }
        }
        let rows = self.rows();
        if rows.ambiguous() {
            remarks.push(ambiguity(&rows.sources()).into());
        }
        if rows.bypassed() {
            remarks.push(
                "no proxy saw it: its server is not behind one (`bir wrap`), or the proxy was gone".into(),
            );
        }
        if self.begin.is_none() {
            remarks.push("its beginning was not kept".into());
        }
        if let Some(agent) = rows.agent_id() {
            remarks.push(format!("asked by sub-agent {}", safe::line(agent)));
        }
        remarks
    }
}

/// What was guessed.
fn ambiguity(sources: &[Source]) -> &'static str {
    if sources.contains(&Source::Hook) {
        "equal calls ran side by side, so what hook and proxy saw may belong to two of them"
    } else {
        "its id repeated, so this answer may be another call's"
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use serde_json::{Value, json};

    /// The two rows of a call.
    pub(crate) fn rows(n: u32, tool: &str, input: Value, output: Value, outcome: &str) -> [Value; 2] {
        let run = "run_01970000-0000-7000-8000-000000000001";
        let id = |i: u32| format!("step_01970000-0000-7000-8000-{i:012}");
        let at = 1_000 + u64::from(n) * 100;
        let key = if outcome == "rpc_error" { "toolError" } else { "toolOutput" };
        let begin = json!({"id": id(2 * n), "runId": run, "stepIndex": 2 * n, "stepType": "tool_selected", "toolName": tool,
            "server": "s", "tool": tool, "toolInput": input.to_string(), "at": at});
        let end = json!({"id": id(2 * n + 1), "runId": run, "stepIndex": 2 * n + 1, "stepType": "tool_response", "toolName": tool,
            "server": "s", "tool": tool, key: output.to_string(), "outcome": outcome, "at": at + 5, "durationUs": 5_240});
        [begin, end]
    }

    /// A result with one text.
    pub(crate) fn text(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": text}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_in_any_order_become_calls_in_order() {
        let a = samples::rows(0, "a", json!({}), samples::text("1"), "ok");
        let b = samples::rows(1, "b", json!({}), samples::text("2"), "tool_error");
        let found = calls(&[b[1].clone(), a[0].clone(), b[0].clone()]).unwrap();
        let seen: Vec<_> = found.iter().map(|c| (c.name(), c.outcome(), c.duration())).collect();
        assert_eq!(seen, [("s/a".into(), None, None), ("s/b".into(), Some(Outcome::ToolError), Some(5240))]);
        assert!(calls(&[json!({"id": 1})]).is_err());
    }

    #[test]
    fn a_call_without_an_answer_took_nobody_knows_how_long() {
        let mut rows = samples::rows(0, "a", json!({}), samples::text("1"), "unknown");
        rows[1]["durationUs"] = 0.into();
        assert_eq!(calls(&rows).unwrap()[0].duration(), None);
        let line = super::super::show::line(&calls(&rows).unwrap()[0], 1_000, bir_model::Tier::Standalone);
        let words: Vec<_> = line.split_whitespace().collect();
        assert!(words.contains(&"–") && line.contains("unknown"), "{line}");
    }

    #[test]
    fn a_call_that_two_saw_is_one_and_says_what_was_guessed() {
        let mut rows = samples::rows(0, "mcp__s__a", json!({"x": 1}), samples::text("1"), "denied");
        rows[0]["server"] = Value::Null;
        rows[0]["sources"] = json!(["hook"]);
        rows[0]["agentId"] = "agent\u{1b}".into();
        rows[1]["tool"] = "a".into();
        rows[1]["toolInput"] = "{\"x\":2}".into();
        rows[1]["sources"] = json!(["proxy"]);
        rows[1]["ambiguous"] = true.into();
        let call = &calls(&rows).unwrap()[0];
        assert_eq!(
            (call.name().as_str(), call.input(), call.seen_by()),
            ("s/a", Some("{\"x\":2}"), Some("seen by hook+proxy"))
        );
        assert_eq!(
            call.remarks(),
            [
                "equal calls ran side by side, so what hook and proxy saw may belong to two of them",
                "asked by sub-agent agent␛"
            ]
        );
        rows[1]["sources"] = json!([]);
        rows[1]["ambiguous"] = false.into();
        rows[1]["bypassed"] = true.into();
        let call = &calls(&rows).unwrap()[0];
        assert_eq!(call.seen_by(), Some("seen by hook"));
        assert!(call.remarks()[0].starts_with("no proxy saw it"));
    }

    #[test]
    fn an_end_without_a_beginning_says_so() {
        let rows = samples::rows(0, "a", json!({}), samples::text("1"), "ok");
        let found = calls(&rows[1..]).unwrap();
        assert_eq!(
            (found[0].at(), found[0].remarks()),
            (1005, vec!["its beginning was not kept".to_owned()])
        );
    }
}
