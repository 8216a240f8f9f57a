//! Scenarios as the hub's routes speak of them, and as `bir` reads them there: what is asked and answered, and the
//! words for it.
//!
//! ```text
//!  POST  /recordings/runs                      → Begun { id, matched: Matched { scenario: Payload } }
//!  POST  /scenarios/match                        MatchAsk → MatchSaid
//!  GET   /scenarios/{id}                       → View { steps: StepView… }
//!  GET, PUT /derivation                        DerivationAsk → Derivation
//!  POST  /scenarios/{id}/derive                  DeriveAsk → Derived
//!  POST  /scenarios/{id}/replay                  ReplayAsk → Replayed
//!  POST  /scenarios/{id}/executions              ExecutionReport → ExecutionBooked
//!  POST  /scenarios/{id}/steps/{n}/check, PATCH  EditAsk → EditReport, Edited
//!  POST  /recordings/runs/{id}/calculate         CalculateAsk → View
//!  POST  /scenarios/{id}/recalculate             CalculateAsk → View
//!  POST  /scenarios/{id}/approve                 ApproveAsk → View
//!  GET   /scenarios/{id}/edits                 → EditEntry…
//!  POST  /scenarios/{id}/edits/{e}/revert        UndoAsk → Edited
//! ```
//!
//! The plan itself (`bir_plan::Scenario`) and the wording stand here as JSON that nobody on this floor reads.

mod ask;
mod derivation;
mod edit;
mod execution;
mod payload;
mod replay;
mod view;
mod words;

pub use ask::{ApproveAsk, CalculateAsk, Decision, MatchAsk, MatchSaid, Nearest};
pub use derivation::{Derivation, DerivationAsk, Derives};
pub use edit::{EditAsk, EditEntry, EditReport, Edited, Part, Problem, ProblemKind, StepEdits, UndoAsk};
pub use execution::{
    ExecutionBooked, ExecutionReport, Measure, Mode, Outcome, Saving, Stage, StepResult, StepVerdict,
};
pub use payload::{Begun, Matched, ParamRole, ParamSample, Payload, PayloadStep};
pub use replay::{
    DeriveAsk, Derived, Divergence, HandOver, MadeFrom, MadeOf, ReplayAsk, Replayed, ReplayedStep, Source,
};
pub use view::{Act, Effect, LeafView, Level, Mark, ScenarioState, StepView, Trust, View};
pub use words::WordError;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_is_read_as_it_is_written_and_nothing_else_is() {
        fn round<T>(all: &[T], wrong: &str)
        where
            T: std::str::FromStr<Err = WordError> + std::fmt::Display + PartialEq + std::fmt::Debug,
            T: serde::Serialize + serde::de::DeserializeOwned,
        {
            for word in all {
                let text = word.to_string();
                assert_eq!(text.parse::<T>().as_ref(), Ok(word));
                assert_eq!(serde_json::to_value(word).unwrap(), json!(text));
                assert_eq!(&serde_json::from_value::<T>(json!(text)).unwrap(), word);
            }
            assert!(wrong.parse::<T>().unwrap_err().to_string().starts_with("expected one of: "));
        }
        round(ScenarioState::ALL, "Ready");
        round(Level::ALL, "L4");
        round(Outcome::ALL, "");
        round(Mode::ALL, "Direct");
        round(StepVerdict::ALL, "okay");
        round(Stage::ALL, "input");
        round(Mark::ALL, "byHand");
        round(Effect::ALL, "delete");
        round(Trust::ALL, "full");
        round(Act::ALL, "go");
        round(Derives::ALL, "machine");
        round(ProblemKind::ALL, "wrong");
        round(MadeFrom::ALL, "model");
    }

    #[test]
    fn a_report_needs_its_outcome_alone() {
        let report: ExecutionReport =
            serde_json::from_value(json!({"outcome": "steered_full", "more": 1})).unwrap();
        assert!(!report.measured && report.steps.is_empty() && report.outcome > Outcome::Diverged);
        assert!(serde_json::from_value::<ExecutionReport>(json!({"outcome": "perfect"})).is_err());
        let decline: ExecutionReport = serde_json::from_value(json!({"outcome": "not_steered"})).unwrap();
        assert!(report.says_something() && !decline.says_something());
        let step = |n: u32, status: &str| {
            json!({"stepIndex": n, "toolName": "find", "status": status,
            "stage": "output_logic", "error": "no"})
        };
        let mut broken = ExecutionReport {
            steps: serde_json::from_value(json!([step(0, "ok"), step(1, "failed"), step(2, "failed")]))
                .unwrap(),
            error: Some("something else".into()),
            ..decline
        };
        assert!(broken.says_something());
        broken.blame_first_failed_step();
        assert_eq!((broken.error.as_deref(), broken.error_step_index), (Some("no"), Some(1)));
        assert_eq!(
            (broken.error_stage, broken.error_tool_name.as_deref()),
            (Some(Stage::Output), Some("find"))
        );
        assert!(Outcome::Failed.is_baseline() && !Outcome::FellBack.is_baseline());
        let costs = json!({"outcome": "failed", "deriveCostUsd": 0.1, "sessionCostUsd": "0.2"});
        let report: ExecutionReport = serde_json::from_value(costs).unwrap();
        assert_eq!((report.derive_cost_usd + report.session_cost_usd).to_string(), "0.3");
    }
}
