//! Whether the emitted bodies give with the values of the recording what the plan gives.

use crate::calculate::{Code, Unusable, unusable};
use crate::compare::differences;
use crate::logic::{Failure, Logic};
use crate::play::{Now, Player};
use crate::stored::Stored;
use bir_plan::emit::NOW;
use bir_plan::expr::{EvalError, Scope, eval};
use bir_plan::sandbox::Kind;
use bir_plan::template::Template;
use serde_json::{Map, Value};

/// Evaluates and compares them, one after the other.
pub(crate) fn agrees(stored: &Stored, logic: Logic<'_>) -> Result<(), Unusable> {
    let Some(clock) = stored.clock() else {
        return Err(unusable(Code::EmissionDiffers, "the time of the recording cannot be read again"));
    };
    let (player, now) = (Player::new(stored, Some(logic), &clock), Now::of(&clock));
    let (params, mut kept) = (stored.samples(), Map::new());
    let evaluate =
        |kind: Kind, body: &str, arguments: Vec<Value>, native: &Value, what: &dyn Fn() -> String| {
            let made = player.run(kind, body, arguments).map_err(|failure| match &failure {
                Failure::Budget => unusable(Code::Budget, "the calculation took longer than it may"),
                Failure::Body(error) if failure.told().0 == "unavailable" => {
                    unusable(Code::SandboxUnavailable, error.to_string())
                }
                Failure::Body(error) => {
                    unusable(Code::EmissionDiffers, format!("the emitted body of {} fails: {error}", what()))
                }
            })?;
            match differences(native, &made).first() {
                None => Ok(()),
                Some(at) => Err(unusable(
                    Code::EmissionDiffers,
                    format!("the emitted body of {} gives another `{}` than the plan does", what(), at.path),
                )),
            }
        };
    let mut named = params.clone();
    let params_logic = stored.params_logic();
    if params_logic.contains(NOW) {
        named.insert(NOW.to_owned(), now.text.clone().into());
    }
    evaluate(Kind::Params, &params_logic, vec![player.with_now(&params)], &named.into(), &|| {
        "the parameters".into()
    })?;
    for (n, (step, recorded)) in stored.plan.steps.iter().zip(&stored.steps).enumerate() {
        let step_of = |what: &str| format!("the {what} of step {}", n + 1);
        let scope = Scope { params: &params, kept: &kept, result: None, item: None, now: &now.text };
        let native = own_value(&step.input, &scope)
            .map_err(|error| unusable(Code::DoesNotReproduce, format!("{}: {error}", step_of("input"))))?;
        let arguments = vec![player.with_now(&params), Value::Object(kept.clone())];
        evaluate(Kind::ToolInput, &step.input_logic(), arguments, &native, &|| step_of("input"))?;
        if step.keeps.is_empty() {
            continue;
        }
        let before = kept.clone();
        step.keep(&recorded.recorded_output, &params, &mut kept, &now.text)
            .map_err(|error| unusable(Code::DoesNotReproduce, format!("{}: {error}", step_of("output"))))?;
        let added: Map<String, Value> = step
            .keeps
            .iter()
            .filter_map(|keep| Some((keep.key.clone(), kept.get(&keep.key)?.clone())))
            .collect();
        let arguments =
            vec![recorded.recorded_output.clone(), player.with_now(&params), Value::Object(before)];
        evaluate(Kind::ToolOutput, &step.output_logic(), arguments, &added.into(), &|| step_of("output"))?;
    }
    let arguments = vec![player.with_now(&params), Value::Object(kept.clone())];
    let answer = "what the answer is made of";
    evaluate(Kind::ResponseParams, &stored.response_params_logic(), arguments, &kept.into(), &|| {
        answer.into()
    })
}

/// The value that an input's body makes: that of each leaf's own explanation, also where others would have to agree, or
/// nothing explains
/// it.
fn own_value(template: &Template, scope: &Scope<'_>) -> Result<Value, EvalError> {
    Ok(match template {
        Template::Leaf(leaf) => eval(&leaf.expr, scope)?,
        Template::Object(members) => {
            let mut object = Map::new();
            for (name, member) in members {
                object.insert(name.clone(), own_value(member, scope)?);
            }
            object.into()
        }
        Template::List(elements) => {
            elements.iter().map(|element| own_value(element, scope)).collect::<Result<Vec<_>, _>>()?.into()
        }
    })
}
