//! ATIS, in the forms in which it goes round: lines with tags at their end, three files side by side, a word a line, and JSON.
//!
//! ```text
//!  *.iob, *.txt   BOS from boston EOS <tab> O O B-fromloc.city_name atis_flight
//!  folder         seq.in, seq.out, label: a prompt a line, its tags, its intent
//!  *.conll        a word and its tag a line, an empty line behind a prompt, `# intent: …` before it
//!  *.json         {"rasa_nlu_data": {"common_examples": [{"text", "intent", "entities": [{"start", "end", "entity"}]}]}}
//! ```

use crate::sets::{Prompt, json, text};
use std::path::{Path, PathBuf};

/// The set, from a file or a folder with files of one of the forms.
pub(crate) fn load(path: &Path) -> Result<Vec<Prompt>, String> {
    if path.is_file() {
        return file(path);
    }
    if path.join("seq.in").is_file() {
        return beside(path);
    }
    let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
        .map_err(|e| format!("{}: {e}", path.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| p.join("seq.in").is_file() || is_a_form(p))
        .collect();
    inside.sort();
    let mut prompts = Vec::new();
    for found in &inside {
        prompts.extend(if found.is_dir() { beside(found)? } else { file(found)? });
    }
    if prompts.is_empty() {
        return Err(format!(
            "{}: neither seq.in, seq.out and label nor *.iob, *.txt, *.conll, *.json",
            path.display()
        ));
    }
    Ok(prompts)
}

fn is_a_form(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    path.is_file()
        && [".iob", ".txt", ".conll", ".json"].iter().any(|end| name.ends_with(end))
        && name.starts_with("atis")
}

fn file(path: &Path) -> Result<Vec<Prompt>, String> {
    let text = text(path)?;
    let prompts = if text.trim_start().starts_with('{') {
        rasa(&text)?
    } else if text.lines().any(|l| l.contains("BOS ")) {
        text.lines().filter_map(line).collect()
    } else {
        words(&text)
    };
    if prompts.is_empty() { Err(format!("{}: no prompt in it", path.display())) } else { Ok(prompts) }
}

/// A prompt from its words with their tags (`B-`, `I-`, `O`).
fn tagged<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, intent: &str) -> Prompt {
    let mut prompt = Prompt { text: String::new(), intent: intent.trim().to_owned(), slots: Vec::new() };
    for (word, tag) in pairs {
        if !prompt.text.is_empty() {
            prompt.text.push(' ');
        }
        let from = prompt.text.len();
        prompt.text += word;
        match (tag.split_at_checked(2), prompt.slots.last_mut()) {
            (Some(("I-", kind)), Some(last)) if last.1 == kind && last.0.end + 1 == from => {
                last.0.end = prompt.text.len();
            }
            (Some(("B-" | "I-", kind)), _) => prompt.slots.push((from..prompt.text.len(), kind.to_owned())),
            _ => {}
        }
    }
    prompt
}

fn beside(folder: &Path) -> Result<Vec<Prompt>, String> {
    let read = |name: &str| text(&folder.join(name));
    let (said, tags, intents) = (read("seq.in")?, read("seq.out")?, read("label")?);
    let lines = said.lines().zip(tags.lines()).zip(intents.lines());
    Ok(lines
        .map(|((said, tags), intent)| tagged(said.split_whitespace().zip(tags.split_whitespace()), intent))
        .collect())
}

/// `BOS words EOS`, a tab, and a tag for each but the last, whose place the intent takes.
fn line(line: &str) -> Option<Prompt> {
    let (said, tags) = line.split_once('\t')?;
    let tags: Vec<&str> = tags.split_whitespace().collect();
    let (intent, tags) = tags.split_last()?;
    let pairs =
        said.split_whitespace().zip(tags.iter().copied()).filter(|(word, _)| !matches!(*word, "BOS" | "EOS"));
    Some(tagged(pairs, intent))
}

fn words(text: &str) -> Vec<Prompt> {
    let mut prompts = Vec::new();
    let (mut pairs, mut intent): (Vec<(&str, &str)>, &str) = (Vec::new(), "atis");
    for line in text.lines().chain([""]) {
        let mut parts = line.split_whitespace();
        match (parts.next(), parts.next_back()) {
            (None, _) => {
                if !pairs.is_empty() {
                    prompts.push(tagged(pairs.drain(..), intent));
                }
            }
            (Some("#"), Some(last)) => {
                if line.contains("intent") {
                    intent = last;
                }
            }
            (Some(word), Some(tag)) => pairs.push((word, tag)),
            (Some(_), None) => {}
        }
    }
    prompts
}

fn rasa(text: &str) -> Result<Vec<Prompt>, String> {
    let read = json(text)?;
    let all =
        read["rasa_nlu_data"]["common_examples"].as_array().ok_or("no rasa_nlu_data.common_examples")?;
    let prompt = |one: &serde_json::Value| {
        let text = one["text"].as_str()?.to_owned();
        // Places count letters, not bytes.
        let byte = |at: &serde_json::Value| {
            let at = usize::try_from(at.as_u64()?).ok()?;
            Some(text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte))
        };
        let slot = |e: &serde_json::Value| {
            Some((byte(&e["start"])?..byte(&e["end"])?, e["entity"].as_str()?.to_owned()))
        };
        let mut slots: Vec<_> = one["entities"].as_array().into_iter().flatten().filter_map(slot).collect();
        slots.retain(|(span, _)| span.start < span.end);
        slots.sort_by_key(|(span, _)| span.start);
        Some(Prompt { intent: one["intent"].as_str()?.to_owned(), slots, text })
    };
    Ok(all.iter().filter_map(prompt).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_give_the_same() {
        let expected = |p: &Prompt| {
            assert_eq!((p.text.as_str(), p.intent.as_str()), ("to new york", "atis_flight"));
            assert_eq!(p.slots, [(3..11, "toloc.city_name".to_owned())]);
        };
        expected(&line("BOS to new york EOS\tO O B-toloc.city_name I-toloc.city_name atis_flight").unwrap());
        expected(&words("# intent: atis_flight\nto O\nnew B-toloc.city_name\nyork I-toloc.city_name\n")[0]);
        let rasa = rasa(
            r#"{"rasa_nlu_data":{"common_examples":[{"text":"to new york","intent":"atis_flight",
                "entities":[{"start":3,"end":11,"value":"new york","entity":"toloc.city_name"}]}]}}"#,
        );
        expected(&rasa.unwrap()[0]);
    }
}
