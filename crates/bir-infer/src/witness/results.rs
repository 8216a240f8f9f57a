//! Leaves of earlier results.

use super::{
    COINCIDENCE, Candidate, ECHO, MOST_PLACES, Search, case_of, may_be_constant, rarity, result_key,
    surprise, typed,
};
use crate::index::Place;
use crate::names;
use crate::select::{Way, ways};
use bir_plan::expr::{Case, Expr};
use bir_plan::template::Origin;
use bir_plan::trace::Output;
use serde_json::Value;
use std::collections::HashMap;

impl Search<'_> {
    /// Leaves of earlier results with this value.
    pub(super) fn results(&self, value: &Value, out: &mut Vec<Candidate>) {
        if !matches!(value, Value::String(_) | Value::Number(_)) {
            return;
        }
        let equal = self.run.index.equal(value);
        let equal: Vec<_> = equal
            .into_iter()
            .map(|at| self.run.index.place(at))
            .filter(|place| place.call < self.wanted.call)
            .collect();
        let many = rarity(equal.len());
        // Of equals in one result the first is the original.
        let mut before: HashMap<usize, u8> = HashMap::new();
        let mut near: Vec<(&Place, f64)> = Vec::new();
        for place in equal {
            let rank = before.entry(place.call).or_default();
            near.push((place, self.distance(place) + ECHO * f64::from(*rank)));
            *rank = rank.saturating_add(1).min(10);
        }
        // A small number or a short word is linked by its name alone.
        if surprise(value, self.wanted.listed) < COINCIDENCE && may_be_constant(value, self.wanted.listed) {
            near.retain(|(_, distance)| *distance < 6.5);
        }
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        near.truncate(MOST_PLACES);
        for (place, distance) in near {
            for Way { expr, cost } in self.reach(place) {
                let Some(expr) = self.as_type(expr, place, value) else { continue };
                let cost = 4.0 + cost + many + distance;
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
            let place = self.run.index.place(*at);
            let Some(Value::String(found)) = self.leaf(place) else { continue };
            if place.call >= self.wanted.call || found == text {
                continue;
            }
            for to in [Case::Trimmed, Case::Lower, Case::Upper, Case::Title] {
                if case_of(found, to).as_deref() == Some(text.as_str()) {
                    for Way { expr, cost } in self.reach(place) {
                        out.push(Candidate {
                            expr: Expr::Case { of: Box::new(expr), to },
                            cost: 7.0 + cost + self.distance(place),
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
        ways(value, &Expr::Kept(result_key(place.call)), &place.path, !truncated, &said)
    }

    /// How far the name of the argument is from that of a place, and how deep the place is.
    pub(super) fn distance(&self, place: &Place) -> f64 {
        let likeness = names::likeness(&self.words, &self.run.index.words(&place.path));
        #[expect(clippy::cast_precision_loss, reason = "paths are short, and so are runs")]
        let (deep, ago) = (place.path.len() as f64, (self.wanted.call - place.call) as f64);
        10.0 * (1.0 - likeness) + 0.1 * deep + 0.1 * ago
    }

    /// An expression whose value has the type that is wanted, and exactly that value.
    pub(super) fn as_type(&self, expr: Expr, place: &Place, wanted: &Value) -> Option<Expr> {
        typed(expr, self.leaf(place)?, wanted)
    }
}
