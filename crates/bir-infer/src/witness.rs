//! What may explain a value of an input: backward from the value to everything that gives it.
//!
//! Each explanation costs what it takes to say it, in bits: how far the name of the argument is from the name of what explains it, which
//! element of which list, which transformation; and how easily it would be a coincidence.

use crate::index::{Index, Place};
use crate::leaves::is_redacted;
use crate::names;
use crate::prompt::Prompt;
use crate::select::{Way, ways};
use bir_entity::{Entity, Kind};
use bir_plan::expr::{At, Case, Expr, Path, Scope, TimeForm, Type, Unit, as_number, eval, shown, view};
use bir_plan::template::Origin;
use bir_plan::trace::{Call, Output, Trace};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// So many calls of a run are explained; a run with more of them is no task that is done again.
pub(crate) const MOST_CALLS: usize = 200;
/// So many places of a value are looked at, those with the likest names first.
const MOST_PLACES: usize = 16;
/// A value of fewer bits than this stands somewhere by coincidence.
pub(crate) const COINCIDENCE: f64 = 12.0;
/// What a further place of the same value in the same result costs, in bits.
const ECHO: f64 = 0.3;
/// So many explanations of one value are kept.
pub(crate) const MOST: usize = 64;

/// An explanation.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) expr: Expr,
    pub(crate) cost: f64,
    pub(crate) origin: Origin,
    /// The place of the result that it reads, without indexes of lists.
    pub(crate) place: Option<Place>,
}

/// A recorded run, prepared.
pub(crate) struct Run<'t> {
    pub(crate) calls: &'t [Call],
    pub(crate) prompt: Prompt<'t>,
    pub(crate) index: Index<'t>,
    /// `2026-11-30T08:00`.
    pub(crate) today: String,
    /// Its results, by [`result_key`].
    pub(crate) results: Map<String, Value>,
}

impl<'t> Run<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let calls = &trace.calls[..trace.calls.len().min(MOST_CALLS)];
        let results = calls.iter().enumerate().filter_map(|(n, call)| match &call.output {
            Output::Value { value, .. } => Some((result_key(n), value.clone())),
            _ => None,
        });
        Self {
            calls,
            prompt: Prompt::new(trace),
            index: Index::new(calls),
            today: today(trace),
            results: results.collect(),
        }
    }
}

/// The clock of a trace as expressions see it.
pub(crate) fn today(trace: &Trace) -> String {
    trace.clock.now.strftime("%Y-%m-%dT%H:%M").to_string()
}

/// A value that is to be explained.
pub(crate) struct Wanted<'a> {
    pub(crate) call: usize,
    pub(crate) path: &'a [At],
    pub(crate) value: &'a Value,
    /// The schema lists it.
    pub(crate) listed: bool,
}

/// The key under which the result of a call is while expressions are found.
pub(crate) fn result_key(call: usize) -> String {
    format!("#{call}")
}

/// All explanations, the cheapest first.
pub(crate) fn candidates(run: &Run<'_>, wanted: &Wanted<'_>) -> Vec<Candidate> {
    let key = wanted.path.iter().rev().find_map(|step| match step {
        At::Key(key) => Some(names::words(key)),
        At::Index(_) => None,
    });
    let search = Search { run, wanted, words: key.unwrap_or_default() };
    let mut out = Vec::new();
    if matches!(wanted.value, Value::String(text) if is_redacted(text)) {
        return out;
    }
    search.results(wanted.value, &mut out);
    search.prompt(wanted.value, &mut out);
    if let Value::String(text) = wanted.value {
        search.times(text, &mut out);
        if !out.iter().any(|found| found.cost < 8.0) {
            search.parts(text, &mut out);
            search.cut(text, &mut out);
        }
    }
    out.push(Candidate {
        expr: Expr::Const(wanted.value.clone()),
        cost: 4.0 + surprise(wanted.value, wanted.listed),
        origin: Origin::Constant,
        place: None,
    });
    out.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut known: Vec<Candidate> = Vec::new();
    for candidate in out {
        if known.len() < MOST && !known.iter().any(|other| other.expr == candidate.expr) {
            known.push(candidate);
        }
    }
    known
}

/// How unlikely a value is to be there by coincidence, in bits.
pub(crate) fn surprise(value: &Value, listed: bool) -> f64 {
    if listed {
        return 2.0;
    }
    match value {
        Value::Null | Value::Bool(_) => 1.0,
        Value::Number(number) => {
            let size = number.as_f64().unwrap_or(0.0);
            if size.fract() == 0.0 { (size.abs() + 2.0).log2() * 2.0 } else { 30.0 }
        }
        Value::String(text) => {
            let letter = |c: char| if c.is_ascii_digit() { 3.0 } else { 1.5 };
            1.0 + text.chars().take(64).map(letter).sum::<f64>()
        }
        Value::Array(_) | Value::Object(_) => 2.0,
    }
}

/// Whether a value may be always the same: a switch, a small number, a word that classifies. Names, days and ids are none.
pub(crate) fn may_be_constant(value: &Value, listed: bool) -> bool {
    match value {
        Value::String(text) => {
            listed
                || (text.len() <= 40
                    && !text.is_empty()
                    && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
                    && (text.len() <= 3
                        || text.chars().all(|c| !c.is_ascii_uppercase())
                        || text.chars().all(|c| !c.is_ascii_lowercase())))
        }
        Value::Number(number) => {
            number.as_f64().is_some_and(|size| size.fract() == 0.0 && size.abs() <= 1_000.0)
        }
        _ => true,
    }
}

struct Search<'r> {
    run: &'r Run<'r>,
    wanted: &'r Wanted<'r>,
    words: Vec<String>,
}

impl Search<'_> {
    /// Leaves of earlier results with this value.
    fn results(&self, value: &Value, out: &mut Vec<Candidate>) {
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
                out.push(Candidate { expr, cost, origin: Origin::Result, place: Some(place.clone()) });
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
                        });
                    }
                    break;
                }
            }
        }
    }

    fn leaf(&self, place: &Place) -> Option<&Value> {
        match &self.run.calls.get(place.call)?.output {
            Output::Value { value, .. } => crate::leaves::at(value, &place.path),
            _ => None,
        }
    }

    /// The ways to a place.
    fn reach(&self, place: &Place) -> Vec<Way> {
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
    fn distance(&self, place: &Place) -> f64 {
        let likeness = names::likeness(&self.words, &self.run.index.words(&place.path));
        #[expect(clippy::cast_precision_loss, reason = "paths are short, and so are runs")]
        let (deep, ago) = (place.path.len() as f64, (self.wanted.call - place.call) as f64);
        10.0 * (1.0 - likeness) + 0.1 * deep + 0.1 * ago
    }

    /// An expression whose value has the type that is wanted, and exactly that value.
    fn as_type(&self, expr: Expr, place: &Place, wanted: &Value) -> Option<Expr> {
        typed(expr, self.leaf(place)?, wanted)
    }

    /// What the prompt says.
    fn prompt(&self, value: &Value, out: &mut Vec<Candidate>) {
        let prompt = &self.run.prompt;
        let mut push = |expr: Expr, cost: f64| {
            out.push(Candidate { expr, cost, origin: Origin::Prompt, place: None });
        };
        if let Value::String(text) = value {
            let short = if text.len() < 4 { 6.0 } else { 0.0 };
            let plain = if text.chars().any(|c| c.is_uppercase() || c.is_ascii_digit()) {
                0.0
            } else if text.contains(' ') {
                3.0
            } else {
                7.0
            };
            if text.len() >= 2
                && let Some(words) = prompt.words(text)
            {
                push(words, 3.0 + short + plain);
            } else if let Some(found) = prompt.folded(text)
                && let Some(words) = prompt.words(found)
            {
                for to in [Case::Lower, Case::Upper, Case::Title] {
                    if case_of(found, to).as_deref() == Some(text.as_str()) {
                        push(Expr::Case { of: Box::new(words.clone()), to }, 6.0 + short + plain);
                        break;
                    }
                }
            }
        }
        if let Value::Number(number) = value
            && surprise(value, false) > COINCIDENCE
            && let Some(words) = number.as_f64().and_then(|number| prompt.words(&shown(number)))
        {
            push(Expr::To { of: Box::new(words), to: Type::Number }, 3.0);
        }
        for entity in &prompt.typed {
            match entity.kind {
                Kind::Date | Kind::Time => {
                    let Value::String(text) = value else { continue };
                    for (form, cost) in FORMS {
                        let expr = Expr::Time { of: Box::new(prompt.entity(entity)), form };
                        if self.gives(&expr, value) {
                            let plain = entity.normal == *value;
                            push(if plain { prompt.entity(entity) } else { expr }, 3.0 + cost);
                            break;
                        }
                    }
                    if let Some((expr, cost)) = self.later(prompt.entity(entity), &entity.normal, text) {
                        push(expr, 7.0 + cost);
                    }
                }
                Kind::Number | Kind::Quantity | Kind::Money => {
                    let plain = entity.kind == Kind::Number;
                    let number = if plain { Some(&entity.normal) } else { entity.normal.get("number") };
                    let Some(number) = number else { continue };
                    let of = number_of(prompt, entity);
                    if let Some(expr) = typed(of, number, value) {
                        let near = self.near(entity.span.end, entity.span.start);
                        let cost = match (near, plain) {
                            (true, _) => 4.0,
                            (false, false) => 7.0,
                            (false, true) => 10.0,
                        };
                        push(expr, cost);
                    } else if let (Some(has), Some(wanted)) = (as_number(number), value.as_f64())
                        && (has - wanted).abs() <= 1.0
                    {
                        let amount = Value::from(if wanted > has { 1 } else { -1 });
                        let amount = Box::new(Expr::Const(amount));
                        let of = Box::new(number_of(prompt, entity));
                        push(Expr::Add { of, amount, unit: Unit::Number }, 13.0);
                    }
                }
                _ => {
                    if entity.normal == *value {
                        push(prompt.entity(entity), 3.0);
                    }
                }
            }
        }
    }

    /// Whether the words around a place of the prompt are like the name of the argument.
    fn near(&self, end: usize, start: usize) -> bool {
        let text = self.run.prompt.text;
        let behind =
            text[end..].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(2);
        let before =
            text[..start].rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(3);
        behind.chain(before).any(|word| {
            let word = word.to_lowercase();
            self.words.iter().any(|own| {
                own.len() >= 3
                    && word.len() >= 3
                    && (own.starts_with(&word) || word.starts_with(own.as_str()))
            })
        })
    }

    /// The lengths of time that the prompt says, in a unit.
    fn lengths(&self, unit: Unit) -> Vec<i64> {
        let typed = self.run.prompt.typed.iter().filter(|entity| entity.kind == Kind::Duration);
        let amounts = typed.filter_map(|entity| {
            let of = Box::new(Expr::Const(entity.normal.clone()));
            let nothing = Map::new();
            let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
            eval(&Expr::Amount { of, unit }, &scope).ok()?.as_i64()
        });
        amounts.collect()
    }

    /// Days and times of the prompt, later by what the prompt says.
    fn later_by(&self, text: &str, out: &mut Vec<Candidate>) {
        let typed = &self.run.prompt.typed;
        let of_kind = |kind: Kind| typed.iter().filter(move |entity| entity.kind == kind).take(6);
        let add = |of: Expr, amount: Expr, unit: Unit| Expr::Add {
            of: Box::new(of),
            amount: Box::new(amount),
            unit,
        };
        let by = |entity: &Entity, unit: Unit| match entity.kind {
            Kind::Number => self.run.prompt.entity(entity),
            _ => Expr::Amount { of: Box::new(self.run.prompt.entity(entity)), unit },
        };
        let mut push = |expr: Expr, cost: f64| {
            if self.gives(&expr, self.wanted.value) {
                out.push(Candidate { expr, cost, origin: Origin::Prompt, place: None });
            }
        };
        let lengths: Vec<&Entity> = of_kind(Kind::Duration).collect();
        let counts: Vec<&Entity> = of_kind(Kind::Number).collect();
        match time_kind(text) {
            Some(TimeKind::Date) => {
                for day in of_kind(Kind::Date) {
                    let from = || self.run.prompt.entity(day);
                    for (n, length) in lengths.iter().enumerate() {
                        push(add(from(), by(length, Unit::Days), Unit::Days), 5.0);
                        for second in &lengths[n + 1..] {
                            let first = add(from(), by(length, Unit::Days), Unit::Days);
                            push(add(first, by(second, Unit::Days), Unit::Days), 8.0);
                        }
                        for time in of_kind(Kind::Time) {
                            let both = Expr::Concat(vec![
                                from(),
                                Expr::Const("T".into()),
                                self.run.prompt.entity(time),
                            ]);
                            let later = add(both, by(length, Unit::Minutes), Unit::Minutes);
                            push(Expr::Time { of: Box::new(later), form: TimeForm::Date }, 7.0);
                        }
                    }
                    for count in &counts {
                        push(add(from(), by(count, Unit::Days), Unit::Days), 9.0);
                        for length in &lengths {
                            let first = add(from(), by(count, Unit::Days), Unit::Days);
                            push(add(first, by(length, Unit::Days), Unit::Days), 11.0);
                        }
                    }
                }
            }
            Some(TimeKind::Time) => {
                for time in of_kind(Kind::Time) {
                    for length in &lengths {
                        push(
                            add(self.run.prompt.entity(time), by(length, Unit::Minutes), Unit::Minutes),
                            6.0,
                        );
                    }
                }
            }
            None => {}
        }
    }

    /// A day of the prompt, or today, some days before or after.
    fn later(&self, of: Expr, from: &Value, wanted: &str) -> Option<(Expr, f64)> {
        let Value::String(from) = from else { return None };
        let days = days_between(from, wanted)?;
        if days == 0 || days.abs() > 31 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 31")]
        let cost = (days.abs() as f64).log2() + if days < 0 { 2.0 } else { 0.0 };
        let amount = Box::new(Expr::Const(days.into()));
        Some((Expr::Add { of: Box::new(of), amount, unit: Unit::Days }, cost))
    }

    /// Days and times of results, in other forms or moved; and the clock.
    fn times(&self, text: &str, out: &mut Vec<Candidate>) {
        let Some(kind) = time_kind(text) else { return };
        self.later_by(text, out);
        let index = &self.run.index;
        let many = rarity(index.times.len());
        let unit = if kind == TimeKind::Date { Unit::Days } else { Unit::Minutes };
        let lengths: Vec<i64> = self.lengths(unit);
        let mut near = Vec::new();
        for (at, found) in &index.times {
            let place = index.place(*at);
            if place.call >= self.wanted.call || *found == text {
                continue;
            }
            let moved: Option<(fn(Expr, i64) -> Expr, i64, f64)> = match kind {
                TimeKind::Date => days_between(found, text)
                    .filter(|days| days.abs() <= 3 || lengths.contains(days))
                    .map(|days| {
                        let cost = if days == 0 { 1.0 } else { 6.0 };
                        (add_days as fn(Expr, i64) -> Expr, days, cost)
                    }),
                TimeKind::Time => minutes_between(found, text)
                    .filter(|minutes| {
                        (minutes.abs() <= 180 && minutes % 15 == 0) || lengths.contains(minutes)
                    })
                    .map(|minutes| {
                        let cost = if minutes == 0 {
                            2.0
                        } else if minutes % 60 == 0 {
                            7.0
                        } else {
                            9.0
                        };
                        (add_minutes as fn(Expr, i64) -> Expr, minutes, cost)
                    }),
            };
            if let Some((make, amount, cost)) = moved {
                near.push((place, make, amount, cost + self.distance(place)));
            }
        }
        near.sort_by(|a, b| a.3.total_cmp(&b.3));
        for (place, make, amount, cost) in near.into_iter().take(MOST_PLACES) {
            let form = if kind == TimeKind::Date { TimeForm::Date } else { TimeForm::Time };
            for Way { expr, cost: way } in self.reach(place) {
                for length in
                    self.run.prompt.typed.iter().filter(|entity| entity.kind == Kind::Duration).take(4)
                {
                    let (unit, sign) =
                        (if kind == TimeKind::Date { Unit::Days } else { Unit::Minutes }, amount.signum());
                    let by = Expr::Amount { of: Box::new(self.run.prompt.entity(length)), unit };
                    if sign <= 0 {
                        continue;
                    }
                    let later = Expr::Add { of: Box::new(expr.clone()), amount: Box::new(by), unit };
                    let expr = Expr::Time { of: Box::new(later), form };
                    if self.gives(&expr, self.wanted.value) {
                        let cost = 4.0 + cost - 4.0 + way + many;
                        out.push(Candidate { expr, cost, origin: Origin::Mixed, place: Some(place.clone()) });
                    }
                }
                let expr = Expr::Time { of: Box::new(make(expr, amount)), form };
                if self.gives(&expr, self.wanted.value) {
                    let cost = 4.0 + cost + way + many;
                    out.push(Candidate { expr, cost, origin: Origin::Result, place: Some(place.clone()) });
                }
            }
        }
        if kind == TimeKind::Date {
            let clock = || Expr::Clock(bir_plan::expr::Clock::Date);
            let today: &str = self.run.today.get(..10).unwrap_or_default();
            if today == text {
                out.push(Candidate { expr: clock(), cost: 8.0, origin: Origin::Clock, place: None });
            } else if let Some((expr, cost)) = self.later(clock(), &today.into(), text) {
                out.push(Candidate { expr, cost: 10.0 + cost, origin: Origin::Clock, place: None });
            }
        }
    }

    /// A text of several parts, each of which something explains.
    fn parts(&self, text: &str, out: &mut Vec<Candidate>) {
        if text.len() > 400 {
            return;
        }
        for separator in [", ", ",", " - ", "-", "/", "::", ":", "_", " "] {
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
                out.push(Candidate { expr, cost, origin, place: None });
            }
            if fixed == 0 {
                break;
            }
        }
    }

    /// A part of a text of a result, between separators.
    fn cut(&self, text: &str, out: &mut Vec<Candidate>) {
        if text.len() < 4 || text.len() > 200 {
            return;
        }
        for (number, whole) in &self.run.index.texts {
            let place = self.run.index.place(*number);
            if place.call >= self.wanted.call || whole.len() <= text.len() || whole.len() > 2_000 {
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
            for Way { expr, cost } in self.reach(place).into_iter().take(4) {
                let expr = Expr::Cut { of: Box::new(expr), after: after.clone(), before: until.clone() };
                if self.gives(&expr, self.wanted.value) {
                    let cost = 12.0 + cost + self.distance(place);
                    out.push(Candidate { expr, cost, origin: Origin::Result, place: Some(place.clone()) });
                }
            }
            if out.len() > MOST {
                return;
            }
        }
    }

    /// Whether an expression gives a value in this run.
    fn gives(&self, expr: &Expr, value: &Value) -> bool {
        gives(self.run, expr, value)
    }
}

/// The number that an entity of the prompt is.
fn number_of(prompt: &Prompt<'_>, entity: &Entity) -> Expr {
    let of = prompt.entity(entity);
    if entity.kind == Kind::Number {
        of
    } else {
        Expr::Get { of: Box::new(of), path: vec![At::Key("number".into())] }
    }
}

/// Whether an expression gives a value in a run.
pub(crate) fn gives(run: &Run<'_>, expr: &Expr, value: &Value) -> bool {
    let params = run.prompt.samples();
    let scope = Scope { params: &params, kept: &run.results, result: None, item: None, now: &run.today };
    view(expr, &scope).is_ok_and(|given| *given == *value)
}

/// The calls whose results an expression reads.
pub(crate) fn reads(expr: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    crate::walk::each(expr, &mut |part| {
        if let Expr::Kept(key) = part
            && let Some(call) = key.strip_prefix('#').and_then(|call| call.parse().ok())
            && !out.contains(&call)
        {
            out.push(call);
        }
    });
    out
}

fn rarity(places: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few places")]
    let places = places.max(1) as f64;
    0.5 * places.log2()
}

/// An expression whose value has the type that is wanted, and exactly that value.
fn typed(expr: Expr, has: &Value, wanted: &Value) -> Option<Expr> {
    match (has, wanted) {
        (Value::String(has), Value::String(wanted)) => (has == wanted).then_some(expr),
        (Value::Number(has), Value::Number(wanted)) => (has.as_f64() == wanted.as_f64()).then_some(expr),
        (Value::Number(has), Value::String(wanted)) => (has.as_f64().map(shown).as_deref() == Some(wanted))
            .then(|| Expr::To { of: Box::new(expr), to: Type::Text }),
        (Value::String(_), Value::Number(wanted)) => {
            (as_number(has) == wanted.as_f64()).then(|| Expr::To { of: Box::new(expr), to: Type::Number })
        }
        _ => None,
    }
}

fn case_of(text: &str, to: Case) -> Option<String> {
    let expr = Expr::Case { of: Box::new(Expr::Const(text.into())), to };
    let nothing = Map::new();
    let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
    match eval(&expr, &scope) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    }
}

const FORMS: [(TimeForm, f64); 13] = [
    (TimeForm::Date, 0.0),
    (TimeForm::Time, 0.0),
    (TimeForm::TimeWithSeconds, 0.5),
    (TimeForm::DateTime, 0.5),
    (TimeForm::DateTimeWithSeconds, 0.5),
    (TimeForm::DateSpaceTime, 0.5),
    (TimeForm::DotDate, 0.5),
    (TimeForm::SlashDateMonthFirst, 0.5),
    (TimeForm::SlashDateDayFirst, 0.5),
    (TimeForm::CompactDate, 0.5),
    (TimeForm::Year, 5.0),
    (TimeForm::Month, 8.0),
    (TimeForm::Day, 8.0),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeKind {
    Date,
    Time,
}

fn time_kind(text: &str) -> Option<TimeKind> {
    let shown = |form| {
        let expr = Expr::Time { of: Box::new(Expr::Const(text.into())), form };
        let nothing = Map::new();
        let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
        eval(&expr, &scope).is_ok_and(|value| value == text)
    };
    if text.len() == 10 && shown(TimeForm::Date) {
        Some(TimeKind::Date)
    } else if text.len() == 5 && shown(TimeForm::Time) {
        Some(TimeKind::Time)
    } else {
        None
    }
}

/// Days from one date (with or without a time) to another.
fn days_between(from: &str, to: &str) -> Option<i64> {
    let day = |text: &str| text.get(..10)?.parse::<jiff::civil::Date>().ok();
    if to.len() != 10 {
        return None;
    }
    let (from, to) = (day(from)?, day(to)?);
    from.until(to).ok().map(|span| i64::from(span.get_days()))
}

/// Minutes from the time of a day in one text to that in another; no way around midnight.
fn minutes_between(from: &str, to: &str) -> Option<i64> {
    let minutes = |text: &str| {
        let hour: i64 = text.get(..2)?.parse().ok()?;
        let minute: i64 = text.get(3..5)?.parse().ok()?;
        (hour < 24 && minute < 60 && text.as_bytes().get(2) == Some(&b':')).then_some(hour * 60 + minute)
    };
    let from = if from.len() > 10 { from.get(11..)? } else { from };
    Some(minutes(to)? - minutes(from)?)
}

fn add_days(of: Expr, days: i64) -> Expr {
    moved(of, days, Unit::Days)
}

fn add_minutes(of: Expr, minutes: i64) -> Expr {
    moved(of, minutes, Unit::Minutes)
}

fn moved(of: Expr, amount: i64, unit: Unit) -> Expr {
    if amount == 0 {
        of
    } else {
        Expr::Add { of: Box::new(of), amount: Box::new(Expr::Const(amount.into())), unit }
    }
}

/// A path without the indexes of lists.
pub(crate) fn keys(path: &Path) -> Vec<&str> {
    path.iter()
        .filter_map(|step| match step {
            At::Key(key) => Some(key.as_str()),
            At::Index(_) => None,
        })
        .collect()
}
