//! Which of its explanations a leaf gets, which others have to agree with it, and how much that is trusted.

use crate::explain::Explained;
use crate::index::Place;
use crate::witness::{COINCIDENCE, Candidate, may_be_constant, surprise};
use bir_plan::expr::{Expr, Selector};
use bir_plan::template::{Confidence, Origin};
use serde_json::Value;

/// Explanations that cost so much more than the best one, in bits, are not asked.
const MARGIN: f64 = 8.0;
const MARGIN_OF_SEVERAL: f64 = 24.0;
const MOST_OF_SEVERAL: usize = 32;
/// So many others have to agree.
const MOST_OTHERS: usize = 12;

/// So many runs show which element of a list is meant.
const ENOUGH: usize = 4;
/// In so many runs the same, and a value is taken for a constant whatever it looks like.
const FIXED: usize = 3;

/// What a run costs, in bits, in which an explanation could not be asked.
const UNASKED: f64 = 2.0;

/// What was chosen for a leaf.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) best: Candidate,
    pub(crate) also: Vec<Expr>,
    /// The places that the others read.
    pub(crate) places: Vec<Place>,
    pub(crate) confidence: Confidence,
}

/// From the explanations that are left. `runs`: in so many runs they hold; `varied`: the value was not the same in all of them.
pub(crate) fn choose(leaf: &Explained, runs: usize, varied: bool) -> Option<Choice> {
    // A name, a day or an id is not always the same, however short it is to say so.
    let constant_like = may_be_constant(&leaf.value, leaf.listed);
    let weak = constant_like && surprise(&leaf.value, leaf.listed) < COINCIDENCE;
    let constant = leaf.candidates.iter().find(|candidate| candidate.origin == Origin::Constant);
    let likely = |candidate: &&Candidate| {
        // A small number or a short word stands everywhere.
        varied || !weak || candidate.origin != Origin::Result || candidate.cost < 10.0
    };
    // What could not be asked in every run is less likely than what was.
    #[expect(clippy::cast_precision_loss, reason = "few runs")]
    let cost = |candidate: &Candidate| candidate.cost + UNASKED * runs.saturating_sub(candidate.held) as f64;
    let fixed = runs >= FIXED || constant_like;
    let best = leaf
        .candidates
        .iter()
        .filter(likely)
        .filter(|candidate| fixed || candidate.origin != Origin::Constant)
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let is_constant = best.origin == Origin::Constant;
    // What further runs have left over is likelier than it was.
    let (margin, most) = if runs > 1 { (MARGIN_OF_SEVERAL, MOST_OF_SEVERAL) } else { (MARGIN, MOST_OTHERS) };
    let others = leaf.candidates.iter().filter(|other| {
        other.expr != best.expr
            && other.cost <= best.cost + margin
            && other.origin != Origin::Constant
            && (!is_constant || other.origin == Origin::Prompt)
            // What could be asked less often counts where it is the simpler one.
            && (other.held >= best.held || other.cost <= best.cost)
    });
    let others: Vec<&Candidate> = others.filter(likely).take(most).collect();
    let places = others.iter().filter_map(|other| other.place.clone()).collect();
    let also = others.iter().map(|other| other.expr.clone()).collect();
    let confidence = match (best.held, varied) {
        _ if leaf.contradicted => Confidence::Low,
        // Words that are the same in several runs that differ otherwise were not made up.
        (held, varied) if is_invented(&best.expr) && !(varied && held >= FIXED) => Confidence::Low,
        (held, _) if held < runs.min(FIXED) => Confidence::Low,
        // A list is chosen from in more ways than a few runs tell apart.
        (2..ENOUGH, _) if is_chancy(&best.expr) => Confidence::Low,
        (2.., true) => Confidence::High,
        (2.., false) => Confidence::Medium,
        _ if is_chancy(&best.expr) || best.cost > constant.map_or(f64::MAX, |constant| constant.cost) => {
            Confidence::Low
        }
        _ => Confidence::Medium,
    };
    Some(Choice { best: best.clone(), also, places, confidence })
}

/// A part of it stands nowhere: it is what a model knew, and nobody knows when it does.
fn is_invented(expr: &Expr) -> bool {
    let mut invented = false;
    crate::walk::each(expr, &mut |part| {
        if let Expr::Concat(parts) = part {
            invented |= parts.iter().any(|part| {
                matches!(part, Expr::Const(Value::String(text)) if text.chars().filter(|c| c.is_alphanumeric()).count() > 1)
            });
        }
    });
    invented
}

/// One run does not show why this element, or why so much later.
fn is_chancy(expr: &Expr) -> bool {
    let mut chancy = false;
    crate::walk::each(expr, &mut |part| {
        chancy |= match part {
            Expr::Pick { by, .. } => match by {
                Selector::Only(test) | Selector::FirstThat(test) => matches!(*test.with, Expr::Const(_)),
                _ => true,
            },
            Expr::Add { .. } | Expr::Cut { .. } => true,
            _ => false,
        };
    });
    chancy
}
