//! Leaves of earlier results.

use super::{
    COINCIDENCE, Candidate, ECHO, Search, case_of, diverse, may_be_constant, rarity, result_key, surprise,
    typed,
};
use crate::index::Place;
use crate::names;
use crate::select::{Way, ways};
use bir_plan::expr::{At, Case, Expr};
use bir_plan::template::Origin;
use bir_plan::trace::Output;
use serde_json::Value;
use std::collections::HashMap;

/// What it costs, in bits, that a value stands in a list of a call that was given it.
const RETURNED: f64 = 8.0;
/// What words cost that a call has confirmed: a little less than the prompt itself.
const KNOWN: f64 = 1.0;
const KNOWN_SHARE: f64 = 0.05;

impl Search<'_> {
    /// Leaves of earlier results with this value.
    pub(super) fn results(&self, value: &Value, out: &mut Vec<Candidate>) {
        if !matches!(value, Value::String(_) | Value::Number(_)) {
            return;
        }
        let index = &self.run.index;
        let mut equal = index.equal(value);
        equal.retain(|at| index.call(*at) < self.wanted.call);
        let many = rarity(equal.len());
        // Of equals in one result the first is the original.
        let mut before: HashMap<usize, u8> = HashMap::new();
        let mut near: Vec<(u32, f64)> = Vec::new();
        let is_given = |at: u32| self.run.was_given(index.call(at), value);
        let is_found = equal.iter().any(|at| !is_given(*at));
        // Words of the prompt that a call was given and gives back are what was meant: what comes later goes on with them.
        let is_known = |at: u32| {
            !is_found
                && is_given(at)
                && value.as_str().is_some_and(|text| text.len() >= 4 && self.run.prompt.words(text).is_some())
        };
        for at in equal {
            let rank = before.entry(index.call(at)).or_default();
            // A list that has what its call was asked for among others; where another call found it, that is where it comes from.
            let is_listed = || index.place(at).path.iter().any(|step| matches!(step, At::Index(_)));
            let returned = if is_found && is_given(at) && is_listed() { RETURNED } else { 0.0 };
            near.push((at, self.distance(at) + ECHO * f64::from(*rank) + returned));
            *rank = rank.saturating_add(1).min(10);
        }
        // A small number or a short word is linked by its name alone.
        if surprise(value, self.wanted.listed) < COINCIDENCE && may_be_constant(value, self.wanted.listed) {
            near.retain(|(_, distance)| *distance < 6.5);
        }
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        let near = diverse(near, |(at, _)| index.shape(*at));
        for (at, distance) in near {
            let place = index.place(at);
            for Way { expr, cost } in self.reach(&place) {
                let Some(expr) = self.as_type(expr, &place, value) else { continue };
                let cost = 4.0 + cost + many + distance;
                let cost = if is_known(at) { KNOWN + KNOWN_SHARE * cost } else { cost };
                out.push(Candidate {
                    expr,
                    cost,
                    origin: Origin::Result,
                    place: Some(place.clone()),
                    held: 1,
                });
            }
        }
        let Value::String(text) = value else { return };
        for at in self.run.index.alike(text).iter().take(16) {
            if index.call(*at) >= self.wanted.call {
                continue;
            }
            let place = index.place(*at);
            let Some(Value::String(found)) = self.leaf(&place) else { continue };
            if found == text {
                continue;
            }
            for to in [Case::Trimmed, Case::Lower, Case::Upper, Case::Title] {
                if case_of(found, to).as_deref() == Some(text.as_str()) {
                    for Way { expr, cost } in self.reach(&place) {
                        out.push(Candidate {
                            expr: Expr::Case { of: Box::new(expr), to },
                            cost: 7.0 + cost + self.distance(*at),
                            origin: Origin::Result,
                            place: Some(place.clone()),
                            held: 1,
                        });
                    }
                    break;
                }
            }
        }
    }

    pub(super) fn leaf(&self, place: &Place) -> Option<&Value> {
        match &self.run.calls.get(place.call)?.output {
            Output::Value { value, .. } => crate::leaves::at(value, &place.path),
            _ => None,
        }
    }

    /// The ways to a place.
    pub(super) fn reach(&self, place: &Place) -> Vec<Way> {
        let Output::Value { value, truncated } = &self.run.calls[place.call].output else {
            return Vec::new();
        };
        let said = |text: &str| {
            (text.len() >= 3)
                .then(|| {
                    self.run
                        .prompt
                        .words(text)
                        .or_else(|| self.run.prompt.words(self.run.prompt.folded(text)?))
                })
                .flatten()
        };
        ways(value, &Expr::Kept(result_key(place.call)), &place.path, !truncated, &said, &self.run.chosen)
    }

    /// How far the name of the argument is from that of a place, and how deep the place is.
    pub(super) fn distance(&self, at: u32) -> f64 {
        let index = &self.run.index;
        let likeness = |shape: u32| names::likeness(&self.words, index.words(shape));
        let shape = index.shape(at);
        let likeness = *self.likeness.borrow_mut().entry(shape).or_insert_with(|| likeness(shape));
        #[expect(clippy::cast_precision_loss, reason = "paths are short, and so are runs")]
        let (deep, ago) = (index.depth(at) as f64, (self.wanted.call - index.call(at)) as f64);
        10.0 * (1.0 - likeness) + 0.1 * deep + 0.1 * ago
    }

    /// An expression whose value has the type that is wanted, and exactly that value.
    pub(super) fn as_type(&self, expr: Expr, place: &Place, wanted: &Value) -> Option<Expr> {
        typed(expr, self.leaf(place)?, wanted)
    }
}
