//! From one run: for every leaf of every input its explanations, ranked.

use crate::leaves::leaves;
use crate::probe::Probe;
use crate::witness::{Candidate, Run, TimeKind, Wanted, candidates, gives, time_kind};
use bir_plan::expr::{At, Expr, Path, TimeForm};
use serde_json::Value;
use std::collections::HashMap;

/// What leaves of one call share with each other makes each of them likelier, so much, in bits.
const COHERENCE: f64 = 1.5;

/// A leaf of an input and its explanations, the cheapest first.
#[derive(Debug, Clone)]
pub(crate) struct Explained {
    pub(crate) call: usize,
    pub(crate) path: Path,
    pub(crate) value: Value,
    /// The schema lists it.
    pub(crate) listed: bool,
    pub(crate) candidates: Vec<Candidate>,
    /// The same, prepared to be asked in other runs.
    pub(crate) probes: Vec<Probe>,
    /// A run says something else: what is left is what most runs bear out.
    pub(crate) contradicted: bool,
}

/// All leaves of a run.
pub(crate) fn explain(run: &Run<'_>) -> Vec<Explained> {
    let mut out = Vec::new();
    for (call, made) in run.calls.iter().enumerate() {
        let from = out.len();
        for (path, value) in leaves(&made.input) {
            let listed = is_listed(made.schema.as_ref(), &path, value);
            let wanted = Wanted { call, path: &path, value, listed };
            let candidates = candidates(run, &wanted);
            let (path, value) = (path.clone(), value.clone());
            out.push(Explained {
                call,
                path,
                value,
                listed,
                candidates,
                probes: Vec::new(),
                contradicted: false,
            });
        }
        pair(run, &mut out[from..]);
        cohere(&mut out[from..]);
    }
    for leaf in &mut out {
        leaf.probes = leaf.candidates.iter().map(|candidate| Probe::new(&candidate.expr)).collect();
    }
    out
}

/// So many explanations of a time are tried for the day beside it.
const MOST_PAIRED: usize = 16;
/// What it costs, in bits, that a day is that of the time beside it: more than the time, and so much more than the likeliest day at most.
const PAIRED: f64 = 1.0;
const PAIRED_MOST: f64 = 6.0;

/// A day and a time of one call may be those of one moment: behind midnight the day is another one.
fn pair(run: &Run<'_>, leaves: &mut [Explained]) {
    let moments: Vec<Candidate> = leaves
        .iter()
        .filter(|leaf| leaf.value.as_str().is_some_and(|text| time_kind(text) == Some(TimeKind::Time)))
        .flat_map(|leaf| {
            let moments = leaf.candidates.iter();
            moments
                .filter(|candidate| matches!(candidate.expr, Expr::Time { form: TimeForm::Time, .. }))
                .take(MOST_PAIRED)
        })
        .cloned()
        .collect();
    for leaf in leaves {
        if !leaf.value.as_str().is_some_and(|text| time_kind(text) == Some(TimeKind::Date)) {
            continue;
        }
        let most = leaf.candidates.first().map_or(f64::MAX, |best| best.cost + PAIRED_MOST);
        for moment in &moments {
            let Expr::Time { of, .. } = &moment.expr else { continue };
            let expr = Expr::Time { of: of.clone(), form: TimeForm::Date };
            let known = leaf.candidates.iter().any(|candidate| candidate.expr == expr);
            if !known && gives(run, &expr, &leaf.value) {
                let cost = (moment.cost + PAIRED).min(most);
                leaf.candidates.push(Candidate { expr, cost, ..moment.clone() });
            }
        }
    }
}

/// Leaves of a call that may come from the same record probably do.
fn cohere(leaves: &mut [Explained]) {
    let record = |candidate: &Candidate| {
        let place = candidate.place.as_ref()?;
        let (_, above) = place.path.split_last()?;
        Some((place.call, above.to_vec()))
    };
    let mut shared: HashMap<(usize, Path), usize> = HashMap::new();
    for leaf in leaves.iter() {
        let mut own: Vec<_> = leaf.candidates.iter().filter_map(record).collect();
        own.sort();
        own.dedup();
        for record in own {
            *shared.entry(record).or_default() += 1;
        }
    }
    for leaf in leaves {
        for candidate in &mut leaf.candidates {
            let others = record(candidate).and_then(|record| shared.get(&record)).map_or(0, |n| n - 1);
            #[expect(clippy::cast_precision_loss, reason = "at most 3")]
            let others = others.min(3) as f64;
            candidate.cost -= COHERENCE * others;
        }
        leaf.candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    }
}

/// Whether the schema of an input lists a value there.
fn is_listed(schema: Option<&Value>, path: &[At], value: &Value) -> bool {
    let place = path.iter().try_fold(schema, |schema, step| {
        let schema = schema?;
        Some(match step {
            At::Key(key) => schema.get("properties").and_then(|members| members.get(key)),
            At::Index(_) => schema.get("items"),
        })
    });
    let Some(Some(place)) = place else { return false };
    place.get("enum").and_then(Value::as_array).is_some_and(|words| words.contains(value))
        || place.get("const") == Some(value)
        || place.get("default") == Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_lists_words_at_places() {
        let schema =
            json!({"properties": {"sort": {"enum": ["price", "name"]}, "l": {"items": {"default": 5}}}});
        let key = |name: &str| At::Key(name.into());
        assert!(is_listed(Some(&schema), &[key("sort")], &json!("price")));
        assert!(!is_listed(Some(&schema), &[key("sort")], &json!("x")));
        assert!(is_listed(Some(&schema), &[key("l"), At::Index(3)], &json!(5)));
        assert!(!is_listed(Some(&schema), &[key("y")], &json!(5)));
        assert!(!is_listed(None, &[key("y")], &json!(5)));
    }
}
