//! Whether the emitted bodies give with the values of the recording what the plan gives.

use crate::calculate::{Code, Unusable, unusable};
use crate::compare::{differences, same};
use crate::logic::{Failure, Logic};
use crate::play::{Now, Player};
use crate::stored::Stored;
use bir_plan::emit::NOW;
use bir_plan::expr::{EvalError, Scope, eval};
use bir_plan::sandbox::Kind;
use bir_plan::template::Template;
use serde_json::{Map, Value};

/// An emitted body with the values of the recording.
struct Case {
    kind: Kind,
    body: String,
    arguments: Vec<Value>,
    /// What the plan gives.
    native: Value,
    /// Whose body it is.
    what: String,
}

/// So many bodies are evaluated in one go: a call of the sandbox costs about as much as twenty short bodies.
const TOGETHER: usize = 32;

/// Evaluates and compares them, many in one go. Where they do not all agree, each by itself says which one does not.
pub(crate) fn agrees(stored: &Stored, logic: Logic<'_>) -> Result<(), Unusable> {
    let Some(clock) = stored.clock() else {
        return Err(unusable(Code::EmissionDiffers, "the time of the recording cannot be read again"));
    };
    let player = Player::new(stored, Some(logic), &clock);
    for cases in cases(stored, &player, &Now::of(&clock))?.chunks(TOGETHER) {
        if !agree_together(&player, cases) {
            cases.iter().try_for_each(|case| agrees_alone(&player, case))?;
        }
    }
    Ok(())
}

fn agree_together(player: &Player<'_>, cases: &[Case]) -> bool {
    let mut body = String::from("const given = params;\nreturn {\n");
    for (n, case) in cases.iter().enumerate() {
        let names = case.kind.arguments().join(", ");
        body.push_str(&format!("  \"{n}\": (function ({names}) {{\n{}\n}})(...given[{n}]),\n", case.body));
    }
    body.push_str("};\n");
    let given: Vec<Value> = cases.iter().map(|case| case.arguments.clone().into()).collect();
    let native = cases.iter().enumerate().map(|(n, case)| (n.to_string(), case.native.clone()));
    let native: Map<String, Value> = native.collect();
    player.run(Kind::Params, &body, vec![given.into()]).is_ok_and(|made| same(&native.into(), &made))
}

fn agrees_alone(player: &Player<'_>, case: &Case) -> Result<(), Unusable> {
    let what = &case.what;
    let made =
        player.run(case.kind, &case.body, case.arguments.clone()).map_err(|failure| match &failure {
            Failure::Budget => unusable(Code::Budget, "the calculation took longer than it may"),
            Failure::Body(error) if failure.told().0 == "unavailable" => {
                unusable(Code::SandboxUnavailable, error.to_string())
            }
            Failure::Body(error) => {
                unusable(Code::EmissionDiffers, format!("the emitted body of {what} fails: {error}"))
            }
        })?;
    match differences(&case.native, &made).first() {
        None => Ok(()),
        Some(at) => Err(unusable(
            Code::EmissionDiffers,
            format!("the emitted body of {what} gives another `{}` than the plan does", at.path),
        )),
    }
}

/// All bodies of a scenario, and what the plan gives in their place.
fn cases(stored: &Stored, player: &Player<'_>, now: &Now) -> Result<Vec<Case>, Unusable> {
    let (params, mut kept) = (stored.samples(), Map::new());
    let seen = player.with_now(&params);
    let mut named = params.clone();
    let body = stored.params_logic();
    if body.contains(NOW) {
        named.insert(NOW.to_owned(), now.text.clone().into());
    }
    let what = "the parameters".to_owned();
    let mut out =
        vec![Case { kind: Kind::Params, body, arguments: vec![seen.clone()], native: named.into(), what }];
    for (n, (step, recorded)) in stored.plan.steps.iter().zip(&stored.steps).enumerate() {
        let step_of = |what: &str| format!("the {what} of step {n}");
        let unlike = |what: &str, error: EvalError| {
            unusable(Code::DoesNotReproduce, format!("{}: {error}", step_of(what)))
        };
        let scope = Scope { params: &params, kept: &kept, result: None, item: None, now: &now.text };
        out.push(Case {
            kind: Kind::ToolInput,
            body: step.input_logic(),
            arguments: vec![seen.clone(), kept.clone().into()],
            native: own_value(&step.input, &scope).map_err(|error| unlike("input", error))?,
            what: step_of("input"),
        });
        if step.keeps.is_empty() {
            continue;
        }
        let before = kept.clone();
        step.keep(&recorded.recorded_output, &params, &mut kept, &now.text)
            .map_err(|error| unlike("output", error))?;
        let added =
            step.keeps.iter().filter_map(|keep| Some((keep.key.clone(), kept.get(&keep.key)?.clone())));
        out.push(Case {
            kind: Kind::ToolOutput,
            body: step.output_logic(),
            arguments: vec![recorded.recorded_output.clone(), seen.clone(), before.into()],
            native: added.collect::<Map<_, _>>().into(),
            what: step_of("output"),
        });
    }
    out.push(Case {
        kind: Kind::ResponseParams,
        body: stored.response_params_logic(),
        arguments: vec![seen, kept.clone().into()],
        native: kept.into(),
        what: "what the answer is made of".to_owned(),
    });
    Ok(out)
}

/// The value that an input's body makes: that of each leaf's own explanation, also where others would have to agree,
/// or nothing explains it.
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
