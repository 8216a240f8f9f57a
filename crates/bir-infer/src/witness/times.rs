//! Days and times that are those of the prompt or of results, in other forms or moved; and the clock.

use super::{Candidate, Search, diverse, rarity};
use crate::moment::Moment;
use crate::select::Way;
use bir_entity::{Entity, Kind};
use bir_plan::expr::{Expr, Scope, TimeForm, Unit, eval};
use bir_plan::template::Origin;
use serde_json::{Map, Value};

/// A day of the prompt is not moved further than this without words that say so.
const MOST_DAYS: i64 = 31;

/// So many ways to a time are tried, the likeliest.
const MOST_WAYS: usize = 12;
/// So many lengths of time of a prompt.
const MOST_LENGTHS: usize = 6;
/// Nor further than so many months.
const MOST_MONTHS: i64 = 12;

/// Makes an expression so much later.
type Move = fn(Expr, i64) -> Expr;

impl Search<'_> {
    /// The lengths of time that the prompt says, with how many of a unit each is.
    fn lengths(&self, unit: Unit) -> Vec<(&Entity, i64)> {
        let typed = self.run.prompt.typed.iter().filter(|entity| entity.kind == Kind::Duration);
        let amounts = typed.filter_map(|entity| {
            let of = Box::new(Expr::Const(entity.normal.clone()));
            let nothing = Map::new();
            let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
            Some((entity, eval(&Expr::Amount { of, unit }, &scope).ok()?.as_i64()?))
        });
        amounts.take(MOST_LENGTHS).collect()
    }

    /// Days and times of the prompt, later by what the prompt says.
    pub(super) fn later_by(&self, text: &str, out: &mut Vec<Candidate>) {
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
                out.push(Candidate { expr, cost, origin: Origin::Prompt, place: None, held: 1 });
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

    /// A day of the prompt, or today, some days or months before or after.
    pub(super) fn later(&self, of: &Expr, from: &Value, wanted: &str) -> Vec<(Expr, f64)> {
        let mut out = Vec::new();
        let Value::String(from) = from else { return out };
        if wanted.len() != 10 {
            return out;
        }
        let days = Moment::read(from).days_to(&Moment::read(wanted)).filter(|days| *days != 0);
        let Some(days) = days else { return out };
        let moved = |amount: i64, unit: Unit| {
            let amount = Box::new(Expr::Const(amount.into()));
            Expr::Add { of: Box::new(of.clone()), amount, unit }
        };
        let back = if days < 0 { 2.0 } else { 0.0 };
        if days.abs() <= MOST_DAYS {
            #[expect(clippy::cast_precision_loss, reason = "at most 31")]
            out.push((moved(days, Unit::Days), (days.abs() as f64).log2() + back));
        }
        for months in 1..=MOST_MONTHS {
            let months = if days < 0 { -months } else { months };
            // It has to be about as long.
            if (days / 30 - months).abs() > 1 {
                continue;
            }
            let expr = moved(months, Unit::Months);
            if self.gives(&expr, &wanted.into()) {
                #[expect(clippy::cast_precision_loss, reason = "at most 12")]
                out.push((expr, 3.0 + (months.abs() as f64).log2() + back));
            }
        }
        out
    }

    /// Days and times of results, in other forms or moved; and the clock.
    pub(super) fn times(&self, text: &str, out: &mut Vec<Candidate>) {
        let Some(kind) = time_kind(text) else { return };
        self.later_by(text, out);
        let index = &self.run.index;
        let many = rarity(index.times.len());
        let unit = if kind == TimeKind::Date { Unit::Days } else { Unit::Minutes };
        let lengths = self.lengths(unit);
        let is_said = |amount: &i64| lengths.iter().any(|(_, long)| long == amount);
        let wanted = Moment::read(text);
        let mut near = Vec::new();
        for (at, found) in &index.times {
            if index.call(*at) >= self.wanted.call || found.text == text {
                continue;
            }
            let moved: Option<(Move, i64, f64)> = match kind {
                TimeKind::Date => {
                    found.days_to(&wanted).filter(|days| days.abs() <= 3 || is_said(days)).map(|days| {
                        let cost = if days == 0 { 1.0 } else { 6.0 };
                        (add_days as Move, days, cost)
                    })
                }
                TimeKind::Time => found
                    .minutes_to(&wanted)
                    .filter(|minutes| (minutes.abs() <= 180 && minutes % 15 == 0) || is_said(minutes))
                    .map(|minutes| {
                        let cost = if minutes == 0 {
                            2.0
                        } else if minutes % 60 == 0 {
                            7.0
                        } else {
                            9.0
                        };
                        (add_minutes as Move, minutes, cost)
                    }),
            };
            if let Some((make, amount, cost)) = moved {
                near.push((*at, make, amount, cost + self.distance(*at)));
            }
        }
        near.sort_by(|a, b| a.3.total_cmp(&b.3));
        for (at, make, amount, cost) in diverse(near, |(at, ..)| index.shape(*at)) {
            let place = index.place(at);
            let form = if kind == TimeKind::Date { TimeForm::Date } else { TimeForm::Time };
            // What does not give the value is left out with the other candidates.
            for Way { expr, cost: way } in self.reach(&place).into_iter().take(MOST_WAYS) {
                for (length, _) in lengths.iter().filter(|(_, long)| amount > 0 && *long == amount) {
                    let by = Expr::Amount { of: Box::new(self.run.prompt.entity(length)), unit };
                    let later = Expr::Add { of: Box::new(expr.clone()), amount: Box::new(by), unit };
                    let expr = Expr::Time { of: Box::new(later), form };
                    let cost = cost + way + many;
                    out.push(Candidate {
                        expr,
                        cost,
                        origin: Origin::Mixed,
                        place: Some(place.clone()),
                        held: 1,
                    });
                }
                let expr = Expr::Time { of: Box::new(make(expr, amount)), form };
                let cost = 4.0 + cost + way + many;
                out.push(Candidate {
                    expr,
                    cost,
                    origin: Origin::Result,
                    place: Some(place.clone()),
                    held: 1,
                });
            }
        }
        if kind == TimeKind::Date {
            let clock = || Expr::Clock(bir_plan::expr::Clock::Date);
            let today: &str = self.run.today.get(..10).unwrap_or_default();
            if today == text {
                out.push(Candidate { expr: clock(), cost: 8.0, origin: Origin::Clock, place: None, held: 1 });
            }
            for (expr, cost) in self.later(&clock(), &today.into(), text) {
                out.push(Candidate { expr, cost: 10.0 + cost, origin: Origin::Clock, place: None, held: 1 });
            }
        }
    }
}

/// What of a moment a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeKind {
    Date,
    Time,
}

pub(crate) fn time_kind(text: &str) -> Option<TimeKind> {
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
