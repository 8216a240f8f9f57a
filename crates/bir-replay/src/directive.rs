//! What the model is told with its prompt (seed 02 §§6.4, 7).

use crate::budget::SHOWN_MAX;
use crate::gate::Consent;
use crate::note::{BEGIN, name};
use crate::quote::{QUOTE, cut, inline, line};
use serde_json::Value;

/// One step, as it is announced.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced<'a> {
    /// The tool as the host renders it.
    pub tool: &'a str,
    /// Why the call is made: words that the model of the recording wrote.
    pub reasoning: Option<&'a str>,
    /// What it runs with, where that is known.
    pub input: Option<Value>,
}

/// The words of a recorded model are cut to that.
const REASON: usize = 120;
/// The sentence that says what a scenario does is cut to that.
const INTENT: usize = 300;

/// A plan that runs by itself in one call of `run_scenario`.
#[must_use]
pub fn direct(intent: &str, steps: &[Announced<'_>]) -> String {
    format!(
        "{BEGIN} A known-good tool sequence was recorded for this request (intent: {}).\n\nIt runs these tools, in order, and returns their results:\n\n{}\n\nCall mcp__bir__run_scenario once, with no arguments, before any other tool.\nThen answer the user's request from the results it returns.",
        inline(intent, INTENT),
        list(steps, 0, false),
    )
}

/// A plan of which the first `lead` steps run in one call of `run_scenario`, and the others one by one.
#[must_use]
pub fn lead(intent: &str, steps: &[Announced<'_>], lead: usize) -> String {
    let (first, rest) = steps.split_at(lead.min(steps.len()));
    format!(
        "{BEGIN} A known-good tool sequence was recorded for this request (intent: {}).\n\nIts first {} steps run in one call and return their results:\n\n{}\n\nCall mcp__bir__run_scenario once, with no arguments, before any other tool. Its answer says how these go on:\n\n{}",
        inline(intent, INTENT),
        first.len(),
        list(first, 0, false),
        list(rest, first.len(), false),
    )
}

/// A plan through which the model is steered, from step `from` on. `shows`: arguments may be shown.
#[must_use]
pub fn steer(intent: &str, steps: &[Announced<'_>], from: usize, shows: bool) -> String {
    let shown = shows && steps.iter().any(|step| shown(step).is_some());
    let arguments = if shown {
        "The system supplies the exact arguments for each call. Where a step shows its arguments above, they are the ones it runs with: pass them as shown."
    } else {
        "The system supplies the exact arguments for each call — you do not need to compute them."
    };
    format!(
        "{BEGIN} A known-good tool sequence was previously recorded for this request. Call exactly these tools, in order, one at a time:\n\n{}\n\nContext: {}\n\n{arguments}\nDo not call any other tools until this sequence is complete, then answer the user's request from the tool results.",
        list(steps, from, shown),
        inline(intent, INTENT),
    )
}

/// What is added where something ran by itself: that it did, and how its owner takes it back.
#[must_use]
pub fn afterword(scenario: &str, consent: Consent) -> String {
    let asked = match consent {
        Consent::Given => "",
        Consent::Ask => " The user was asked before it ran.",
    };
    format!(
        "Tell the user in one line that a recorded scenario ran for this request, and that `bir scenario approve {scenario} --revoke` stops it from running by itself.{asked}"
    )
}

fn list(steps: &[Announced<'_>], from: usize, shows: bool) -> String {
    let one = |(n, step): (usize, &Announced<'_>)| {
        let reason =
            step.reasoning.map(|reason| format!(" — {}", inline(reason, REASON))).unwrap_or_default();
        let arguments = shown(step)
            .filter(|_| shows)
            .map(|text| {
                // Later ones may be made of results: what they say is quoted.
                let begin = if from > 0 { QUOTE } else { "   " };
                format!("\n{begin}{}", line(&text))
            })
            .unwrap_or_default();
        format!("{}. {}{reason}{arguments}", from + n + 1, name(step.tool))
    };
    steps.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
}

/// Its arguments on one line. A command of several lines is not shown.
fn shown(step: &Announced<'_>) -> Option<String> {
    let input = step.input.as_ref()?;
    if matches!(step.tool, "Bash" | "PowerShell")
        && let Some(command) = input.get("command").and_then(Value::as_str)
    {
        let single = !command.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        return single.then(|| format!("command: {}", cut(command, SHOWN_MAX)));
    }
    Some(format!("arguments: {}", cut(&input.to_string(), SHOWN_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(tool: &'static str, input: Option<Value>) -> Announced<'static> {
        Announced { tool, reasoning: Some("to\nread \"it\""), input }
    }

    #[test]
    fn arguments_are_shown_where_they_are_known() {
        let steps = [
            step("mcp__a__open", Some(json!({"url": "u"}))),
            step("Bash", Some(json!({"command": "git push"}))),
            step("Bash", Some(json!({"command": "a\nb"}))),
            step("Read", None),
        ];
        let text = steer("Do {it}", &steps, 0, true);
        assert!(text.contains("1. mcp__a__open — \"to read 'it'\"\n   arguments: {\"url\":\"u\"}"), "{text}");
        assert!(text.contains(
            "2. Bash — \"to read 'it'\"\n   command: git push\n3. Bash — \"to read 'it'\"\n4. Read"
        ));
        assert!(text.contains("pass them as shown"));
        let hidden = steer("Do", &steps, 4, false);
        assert!(
            hidden.contains("5. mcp__a__open")
                && !hidden.contains("git push")
                && !hidden.contains("as shown")
        );
    }

    #[test]
    fn a_long_argument_is_cut_and_run_scenario_is_named() {
        let steps = [step("mcp__a__open", Some(json!({"url": "x".repeat(900)})))];
        assert!(steer("Do", &steps, 0, true).lines().all(|line| line.chars().count() < 320));
        for text in
            [direct("Do", &steps), lead("Do", &[step("a", None), step("b", None), step("c", None)], 2)]
        {
            assert!(
                text.starts_with(BEGIN)
                    && text.contains("Call mcp__bir__run_scenario once, with no arguments")
            );
        }
        assert!(lead("Do", &[step("a", None), step("b", None), step("c", None)], 2).contains("\n3. c"));
    }
}
