//! What a step is given: a value with expressions in it, and how much each is trusted.

use crate::emit::Shape;
use crate::expr::{At, EvalError, Expr, Scope, eval};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A value with expressions in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Template {
    /// A single value.
    Leaf(Leaf),
    /// An object; its members in the order of the recording.
    Object(Vec<(String, Template)>),
    /// A list.
    List(Vec<Template>),
}

/// A single value of an input, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaf {
    /// What gives it.
    pub expr: Expr,
    /// What explains the recordings as well. Where one of these gives something else, nobody knows which is meant, and the replay
    /// hands over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Expr>,
    /// Where it comes from.
    pub origin: Origin,
    /// How much it is trusted.
    pub confidence: Confidence,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was always the same.
    Constant,
    /// The prompt says it.
    Prompt,
    /// An earlier result says it.
    Result,
    /// The clock.
    Clock,
    /// Several of these.
    Mixed,
    /// A model endpoint has proposed it, and it stood the same tests; its confidence is low.
    Proposed,
    /// Nothing explains it.
    Unexplained,
}

/// How much an explanation is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Nothing explains it: the step is not carried out.
    None,
    /// One run, and it may be a coincidence: it is a proposal for a model or a person.
    Low,
    /// One run, and a coincidence is unlikely.
    Medium,
    /// Several runs agree, in which it was not always the same.
    High,
}

/// Why a leaf has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeafError {
    /// Nothing explains it.
    #[error("nothing explains this value")]
    Unexplained,
    /// Its explanations do not agree.
    #[error("the explanations of this value do not agree here")]
    Disagree,
    /// It has none here.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

impl Leaf {
    /// The value, if every explanation that has one gives this one.
    ///
    /// # Errors
    ///
    /// [`LeafError`].
    pub fn value(&self, scope: &Scope<'_>) -> Result<Value, LeafError> {
        if self.origin == Origin::Unexplained {
            return Err(LeafError::Unexplained);
        }
        let value = eval(&self.expr, scope)?;
        for other in &self.also {
            // One that has no value here says nothing against another that has one only if it reads what is not always there; that
            // cannot be told apart from one that has been the right one, so it counts.
            if eval(other, scope)? != value {
                return Err(LeafError::Disagree);
            }
        }
        Ok(value)
    }
}

impl Template {
    /// Its value.
    ///
    /// # Errors
    ///
    /// That of its first leaf without a value.
    pub fn value(&self, scope: &Scope<'_>) -> Result<Value, LeafError> {
        Ok(match self {
            Self::Leaf(leaf) => leaf.value(scope)?,
            Self::Object(members) => {
                let mut object = Map::new();
                for (name, member) in members {
                    object.insert(name.clone(), member.value(scope)?);
                }
                object.into()
            }
            Self::List(elements) => {
                elements.iter().map(|element| element.value(scope)).collect::<Result<Vec<_>, _>>()?.into()
            }
        })
    }

    /// The leaf at a place.
    #[must_use]
    pub fn leaf(&self, path: &[At]) -> Option<&Leaf> {
        match (self, path.split_first()) {
            (Self::Leaf(leaf), None) => Some(leaf),
            (Self::Object(members), Some((At::Key(key), rest))) => {
                members.iter().find(|(name, _)| name == key)?.1.leaf(rest)
            }
            (Self::List(elements), Some((At::Index(index), rest))) => elements.get(*index)?.leaf(rest),
            _ => None,
        }
    }

    /// Its leaves, with the way to each as a person reads it (`a.b.0`).
    #[must_use]
    pub fn leaves(&self) -> Vec<(String, &Leaf)> {
        fn walk<'t>(template: &'t Template, at: &str, out: &mut Vec<(String, &'t Leaf)>) {
            let under = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
            match template {
                Template::Leaf(leaf) => out.push((at.to_owned(), leaf)),
                Template::Object(members) => {
                    members.iter().for_each(|(name, member)| walk(member, &under(name), out));
                }
                Template::List(elements) => {
                    elements
                        .iter()
                        .enumerate()
                        .for_each(|(n, element)| walk(element, &under(&n.to_string()), out));
                }
            }
        }
        let mut out = Vec::new();
        walk(self, "", &mut out);
        out
    }

    /// As it is emitted.
    #[must_use]
    pub fn shape(&self) -> Shape<'_> {
        match self {
            Self::Leaf(Leaf { expr: Expr::Const(value), .. }) => Shape::Const(value),
            Self::Leaf(leaf) => Shape::Expr(&leaf.expr),
            Self::Object(members) => {
                Shape::Object(members.iter().map(|(name, member)| (name.as_str(), member.shape())).collect())
            }
            Self::List(elements) => Shape::List(elements.iter().map(Self::shape).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn leaf(expr: Expr, also: Vec<Expr>, origin: Origin) -> Template {
        Template::Leaf(Leaf { expr, also, origin, confidence: Confidence::Medium })
    }

    #[test]
    fn explanations_that_do_not_agree_give_no_value() {
        let params = json!({"a": "x", "b": "x", "c": "y"});
        let kept = Map::new();
        let scope =
            Scope { params: params.as_object().unwrap(), kept: &kept, result: None, item: None, now: "" };
        let param = |name: &str| Expr::Param(name.into());
        let of = |template: Template| template.value(&scope);
        assert_eq!(of(leaf(param("a"), vec![param("b")], Origin::Prompt)), Ok(json!("x")));
        assert_eq!(of(leaf(param("a"), vec![param("c")], Origin::Prompt)), Err(LeafError::Disagree));
        assert!(matches!(of(leaf(param("a"), vec![param("d")], Origin::Prompt)), Err(LeafError::Eval(_))));
        assert_eq!(of(leaf(param("a"), Vec::new(), Origin::Unexplained)), Err(LeafError::Unexplained));
        let object = Template::Object(vec![
            ("q".into(), leaf(param("c"), Vec::new(), Origin::Prompt)),
            ("l".into(), Template::List(vec![leaf(Expr::Const(json!(1)), Vec::new(), Origin::Constant)])),
        ]);
        assert_eq!(object.value(&scope), Ok(json!({"q": "y", "l": [1]})));
        assert_eq!(object.leaves().iter().map(|(at, _)| at.as_str()).collect::<Vec<_>>(), ["q", "l.0"]);
        let stored = serde_json::to_string(&object).unwrap();
        assert_eq!(serde_json::from_str::<Template>(&stored).unwrap(), object);
    }
}
