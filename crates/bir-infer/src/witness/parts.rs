//! Texts that are made of several parts, and parts of texts.

use super::{Candidate, MOST, Search, surprise, time_kind};
use crate::select::Way;
use bir_plan::expr::Expr;
use bir_plan::template::Origin;
use serde_json::Value;

/// Texts of more words are not taken apart.
const MOST_WORDS: usize = 12;
/// So many explanations of a part that is known.
const MOST_AFFIXED: usize = 6;

impl Search<'_> {
    /// A text of several parts, each of which something explains.
    pub(super) fn parts(&self, text: &str, out: &mut Vec<Candidate>) {
        // A day is more than its year.
        if text.len() > 400 || time_kind(text).is_some() {
            return;
        }
        for separator in [", ", ",", " - ", "-", "/", "::", ":", "_"] {
            let pieces: Vec<&str> = text.split(separator).collect();
            if !(2..=4).contains(&pieces.len()) || pieces.iter().any(|piece| piece.is_empty()) {
                continue;
            }
            let (mut parts, mut cost, mut fixed) = (Vec::new(), 3.0, 0);
            let mut origins = Vec::new();
            for (n, piece) in pieces.iter().enumerate() {
                if n > 0 {
                    parts.push(Expr::Const(separator.into()));
                }
                let mut found = Vec::new();
                let value = Value::from(*piece);
                self.prompt(&value, &mut found);
                if piece.len() >= 3 {
                    self.results(&value, &mut found);
                }
                found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
                match found.into_iter().next().filter(|best| best.cost < 14.0) {
                    Some(best) => {
                        cost += best.cost;
                        origins.push(best.origin);
                        parts.push(best.expr);
                    }
                    None => {
                        fixed += 1;
                        cost += 6.0 + surprise(&value, false);
                        parts.push(Expr::Const(value));
                    }
                }
            }
            let Some(first) = origins.first() else { continue };
            if fixed > 1 {
                continue;
            }
            let origin = if origins.iter().all(|origin| origin == first) { *first } else { Origin::Mixed };
            let expr = Expr::Concat(parts);
            if self.gives(&expr, self.wanted.value) {
                out.push(Candidate { expr, cost, origin, place: None, held: 1 });
            }
            if fixed == 0 {
                break;
            }
        }
    }

    /// A text that something explains, and words before or behind it that are always the same.
    pub(super) fn affix(&self, text: &str, out: &mut Vec<Candidate>) {
        if text.len() > 200 {
            return;
        }
        let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).take(MOST_WORDS).collect();
        let mut best = |known: &str, fixed: &str, first: bool| {
            if known.len() < 3 {
                return false;
            }
            let mut found = Vec::new();
            let value = Value::from(known);
            if self.run.prompt.is_whole(known) {
                self.prompt(&value, &mut found);
            }
            self.results(&value, &mut found);
            found.retain(|candidate| candidate.cost < 14.0);
            found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            found.truncate(MOST_AFFIXED);
            let any = !found.is_empty();
            for candidate in found {
                let fixed = Value::from(fixed);
                let more = 6.0 + surprise(&fixed, false);
                let fixed = Expr::Const(fixed);
                let parts = if first { vec![candidate.expr, fixed] } else { vec![fixed, candidate.expr] };
                let cost = candidate.cost + more;
                out.push(Candidate { expr: Expr::Concat(parts), cost, ..candidate });
            }
            any
        };
        // The longest that is known.
        for at in spaces.iter().rev() {
            if best(&text[..*at], &text[*at..], true) {
                break;
            }
        }
        for at in &spaces {
            if best(&text[*at + 1..], &text[..=*at], false) {
                break;
            }
        }
    }

    /// A part of a text of a result, between separators.
    pub(super) fn cut(&self, text: &str, out: &mut Vec<Candidate>) {
        if text.len() < 4 || text.len() > 200 {
            return;
        }
        for (number, whole) in &self.run.index.texts {
            if self.run.index.call(*number) >= self.wanted.call
                || whole.len() <= text.len()
                || whole.len() > 2_000
            {
                continue;
            }
            let Some(at) = whole.find(text) else { continue };
            let (before, behind) = (&whole[..at], &whole[at + text.len()..]);
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            if !edge(before.chars().next_back()) || !edge(behind.chars().next()) {
                continue;
            }
            let after: String = before.chars().next_back().into_iter().collect();
            let until: String = behind.chars().next().into_iter().collect();
            let place = self.run.index.place(*number);
            for Way { expr, cost } in self.reach(&place).into_iter().take(4) {
                let expr = Expr::Cut { of: Box::new(expr), after: after.clone(), before: until.clone() };
                if self.gives(&expr, self.wanted.value) {
                    let cost = 12.0 + cost + self.distance(*number);
                    out.push(Candidate {
                        expr,
                        cost,
                        origin: Origin::Result,
                        place: Some(place.clone()),
                        held: 1,
                    });
                }
            }
            if out.len() > MOST {
                return;
            }
        }
    }
}
