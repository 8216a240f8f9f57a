//! What the model reads (seed 02 §6.3). It never is an error: a model calls the tool unasked now and then, and a red error under a
//! tool that nobody asked about helps nobody.

use bir_model::control::{NO_PLAN, RUNNING, ScenarioAnswer};

/// No plan for this call, or nobody who could have one.
pub(crate) const NOTHING: &str = "Nothing to run for this request; continue normally.";
/// The plan is running already.
pub(crate) const ALREADY: &str = "The prepared results for this request are already being produced for an earlier run_scenario call, and they come back there. Do not call run_scenario again, and do not repeat its steps.";
/// Anything else.
pub(crate) const UNAVAILABLE: &str =
    "The prepared results are not available for this request. Do the task normally with your tools.";
const PARTIAL: &str = "(partial: the scenario stopped before all of its steps ran)";

/// How a call went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Went {
    /// Nobody serves this directory.
    Nobody,
    /// The control server has answered.
    Answered(ScenarioAnswer),
    /// It has not, or not so that it could be understood.
    Failed(String),
}

/// What the model reads, and why, for the log.
pub(crate) fn of(went: &Went) -> (String, String) {
    let answer = match went {
        Went::Nobody => return (NOTHING.into(), "no control server serves this directory".into()),
        Went::Failed(why) => return (UNAVAILABLE.into(), why.clone()),
        Went::Answered(answer) => answer,
    };
    match answer {
        ScenarioAnswer { ok: true, text: Some(text), steps, partial, .. } => {
            let text = if *partial { format!("{text}\n\n{PARTIAL}") } else { text.clone() };
            let steps = steps.map_or_else(String::new, |steps| format!(", {steps} steps"));
            (text, format!("results{steps}{}", if *partial { ", partial" } else { "" }))
        }
        ScenarioAnswer { ok: false, why: Some(note), note: true, .. } => {
            (note.clone(), "a hand-over note".into())
        }
        ScenarioAnswer { ok: false, why: Some(why), .. } if why == NO_PLAN => (NOTHING.into(), why.clone()),
        ScenarioAnswer { ok: false, why: Some(why), .. } if why == RUNNING => (ALREADY.into(), why.clone()),
        ScenarioAnswer { why, .. } => {
            (UNAVAILABLE.into(), why.clone().unwrap_or_else(|| "the answer says nothing".into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_situation_has_its_words() {
        let answered = |answer: ScenarioAnswer| of(&Went::Answered(answer)).0;
        let ok = |partial| ScenarioAnswer { ok: true, text: Some("R".into()), partial, ..Default::default() };
        let why = |why: &str, note| ScenarioAnswer { why: Some(why.into()), note, ..Default::default() };
        assert_eq!(answered(ok(false)), "R");
        assert_eq!(answered(ok(true)), format!("R\n\n{PARTIAL}"));
        assert_eq!(
            answered(why("[BaseInstRunner calculated replay] It stopped.", true)),
            "[BaseInstRunner calculated replay] It stopped."
        );
        assert_eq!(answered(ScenarioAnswer::no_plan()), NOTHING);
        assert_eq!(answered(why(RUNNING, false)), ALREADY);
        assert_eq!(answered(why("not_ready", false)), UNAVAILABLE);
        assert_eq!(answered(ScenarioAnswer::default()), UNAVAILABLE);
        assert_eq!(answered(ScenarioAnswer { ok: true, ..Default::default() }), UNAVAILABLE);
        assert_eq!(of(&Went::Nobody).0, NOTHING);
        assert_eq!(of(&Went::Failed("no answer".into())), (UNAVAILABLE.into(), "no answer".into()));
    }
}
