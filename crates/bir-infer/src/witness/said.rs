//! What the prompt says: its words as they stand, and the entities in it.

use super::{COINCIDENCE, Candidate, Search, case_of, surprise, typed};
use crate::prompt::Prompt;
use bir_entity::{Entity, Kind};
use bir_plan::expr::{At, Case, Expr, TimeForm, Type, Unit, as_number, shown};
use bir_plan::template::Origin;
use serde_json::Value;

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

/// What a lone small word costs, in bits, that a tool writes in capitals.
const LONE: f64 = 8.4;

impl Search<'_> {
    /// What the prompt says.
    pub(super) fn prompt(&self, value: &Value, out: &mut Vec<Candidate>) {
        let prompt = &self.run.prompt;
        let mut push = |expr: Expr, cost: f64| {
            out.push(Candidate { expr, cost, origin: Origin::Prompt, place: None, held: 1 });
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
                // A word of a tool in capitals stands in a prompt in small letters by coincidence.
                let lone = !found.contains(|c: char| c.is_uppercase() || c == ' ');
                for to in [Case::Lower, Case::Upper, Case::Title] {
                    if case_of(found, to).as_deref() == Some(text.as_str()) {
                        let more = if lone && to == Case::Upper { LONE } else { 0.0 };
                        push(Expr::Case { of: Box::new(words.clone()), to }, 6.0 + short + plain + more);
                        break;
                    }
                }
            }
        }
        // Words that are a number are read as one.
        let is_read =
            |entity: &Entity| entity.kind == Kind::Number && as_number(&entity.normal) == value.as_f64();
        if let Value::Number(number) = value
            && surprise(value, false) > COINCIDENCE
            && !prompt.typed.iter().any(is_read)
            && let Some(words) = number.as_f64().and_then(|number| prompt.words(&shown(number)))
        {
            push(Expr::To { of: Box::new(words), to: Type::Number }, 3.0);
        }
        for entity in &prompt.typed {
            match entity.kind {
                Kind::Date | Kind::Time => {
                    let Value::String(text) = value else { continue };
                    // The first and the last day of a stretch.
                    if entity.normal.as_str().is_some_and(|normal| normal.contains('/')) {
                        for (after, before) in [("", "/"), ("/", "")] {
                            let of = Box::new(prompt.entity(entity));
                            let expr = Expr::Cut { of, after: after.into(), before: before.into() };
                            if self.gives(&expr, value) {
                                push(expr, 4.0);
                            }
                        }
                        continue;
                    }
                    for (form, cost) in FORMS {
                        let expr = Expr::Time { of: Box::new(prompt.entity(entity)), form };
                        if self.gives(&expr, value) {
                            let plain = entity.normal == *value;
                            push(if plain { prompt.entity(entity) } else { expr }, 3.0 + cost);
                            break;
                        }
                    }
                    for (expr, cost) in self.later(&prompt.entity(entity), &entity.normal, text) {
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
                        let rare = surprise(value, false) > COINCIDENCE;
                        let cost = match (near || rare, plain) {
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
    pub(super) fn near(&self, end: usize, start: usize) -> bool {
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
