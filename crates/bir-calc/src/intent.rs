//! What a scenario does, in words: a sentence made from its prompt, and a description of each parameter.

use bir_entity::Kind;
use bir_plan::param::{Param, Reading};
use bir_plan::scenario::Scenario;

/// Longest sentence, characters.
const LONGEST: usize = 200;
/// Words around a parameter that describe it, characters on each side.
const AROUND: usize = 24;

/// The sentence of a prompt that says what is to be done, with `{name}` where a parameter stands.
pub(crate) fn intent(plan: &Scenario) -> String {
    let prompt = plan.prompt.as_str();
    let mut spans: Vec<(usize, usize, &str)> = plan
        .params
        .iter()
        .flat_map(|param| param.spans.iter().map(|span| (span.start, span.end, param.name.as_str())))
        .filter(|(start, end, _)| start < end && prompt.get(*start..*end).is_some())
        .collect();
    spans.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let (mut text, mut at) = (String::new(), 0);
    for (start, end, name) in spans {
        if start < at {
            continue;
        }
        text.push_str(&prompt[at..start]);
        text.push('{');
        text.push_str(name);
        text.push('}');
        at = end;
    }
    text.push_str(&prompt[at..]);
    let sentences = sentences(&text);
    let named = sentences.iter().find(|sentence| sentence.contains('{'));
    let chosen = named.or(sentences.first()).copied().unwrap_or_default();
    if chosen.is_empty() { calls(plan) } else { shortened(chosen) }
}

/// Without a prompt: what is called.
fn calls(plan: &Scenario) -> String {
    let tools: Vec<&str> = plan.steps.iter().map(|step| step.tool.as_str()).collect();
    shortened(&format!("Calls {}", tools.join(", ")))
}

/// The sentences of a text, without what divides them.
fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '\n' => true,
            '.' | '!' | '?' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()) && at > from + 3,
            _ => false,
        };
        if ends {
            out.push(text[from..at].trim());
            from = at + c.len_utf8();
        }
    }
    out.push(text[from..].trim());
    out.retain(|sentence| !sentence.is_empty());
    out
}

fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        None => words,
        Some((end, _)) => {
            let end = words[..end].rfind(' ').unwrap_or(end);
            format!("{} …", &words[..end])
        }
    }
}

/// What a parameter is, for a reader: what kind of thing, where it stood, where it goes.
pub(crate) fn description(plan: &Scenario, param: &Param) -> String {
    let kind = match &param.reading {
        Reading::Text => "words of the prompt",
        Reading::Normal(kind) => match kind {
            Kind::Date => "a day",
            Kind::Time => "a time of day",
            Kind::Duration => "a length of time",
            Kind::Number => "a number",
            Kind::Quantity => "a number with a unit",
            Kind::Money => "an amount of money",
            Kind::Email => "an e-mail address",
            Kind::Url => "an address",
            Kind::Path => "a path",
            Kind::Id => "an identifier",
            Kind::Quoted => "quoted words",
            Kind::Name => "a name",
            Kind::Word => "one of the words that the tool knows",
        },
    };
    let said = param.spans.first().map(|span| around(&plan.prompt, span.start, span.end));
    match said {
        Some(said) if !said.is_empty() => format!("{kind}, as in “{said}”"),
        _ => kind.to_owned(),
    }
}

/// Words of a prompt with some of what stands around them.
fn around(prompt: &str, start: usize, end: usize) -> String {
    let (Some(before), Some(own), Some(after)) =
        (prompt.get(..start), prompt.get(start..end), prompt.get(end..))
    else {
        return String::new();
    };
    let head: String = before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let tail: String = after.chars().take(AROUND).collect();
    let head = if before.chars().count() > AROUND {
        head.split_once(' ').map_or("", |(_, rest)| rest)
    } else {
        &head
    };
    let tail = if after.chars().count() > AROUND {
        tail.rsplit_once(' ').map_or("", |(rest, _)| rest)
    } else {
        &tail
    };
    let own: String = own.chars().take(LONGEST).collect();
    format!("{head}{own}{tail}").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_plan::param::Role;
    use serde_json::Value;

    fn plan(prompt: &str, words: &[(&str, &str)]) -> Scenario {
        let param = |(name, word): &(&str, &str)| {
            let at = prompt.find(word).unwrap();
            Param {
                name: (*name).into(),
                spans: std::iter::once(at..at + word.len()).collect(),
                reading: Reading::Text,
                role: Role::Target,
                sample: Value::from(*word),
            }
        };
        Scenario {
            prompt: prompt.into(),
            params: words.iter().map(param).collect(),
            steps: Vec::new(),
            runs: 1,
        }
    }

    #[test]
    fn the_intent_is_the_sentence_with_its_parameters() {
        for (prompt, words, expected) in [
            ("Find a room in Rome.", &[("city", "Rome")][..], "Find a room in {city}"),
            (
                "Hello there!\nI need a room in São Paulo, please. Thanks",
                &[("city", "São Paulo")],
                "I need a room in {city}, please",
            ),
            ("Show all open tickets", &[], "Show all open tickets"),
            ("Move A.1 to B", &[("from", "A.1"), ("to", "B")], "Move {from} to {to}"),
            ("", &[], "Calls"),
        ] {
            assert_eq!(intent(&plan(prompt, words)).trim(), expected);
        }
        let long = intent(&plan(&"a word ".repeat(200), &[]));
        assert!(long.chars().count() <= LONGEST + 2 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn a_parameter_is_described_by_where_it_stood() {
        let plan = plan(
            "Please find me a cheap room in Rome for the next week or so, if there is any",
            &[("city", "Rome")],
        );
        let said = description(&plan, &plan.params[0]);
        assert_eq!(said, "words of the prompt, as in “me a cheap room in Rome for the next week or”");
    }
}
