//! What changes in each file, for people.
//!
//! A file is not compared line by line: many configurations are one line, and others hold an account's tokens beside the servers. What is
//! shown is each member that changes, by its place, and of it the lines that change; every value that is not known to be harmless is
//! hidden ([`veil`](super::veil)) before anything is written out.

use super::layers::both;
use super::secrets::{ENTRY_MEMBERS, Secrets};
use super::shaped;
use super::sheet::{Desk, Sheet};
use super::value_of;
use super::veil::{Own, masked};
use bir_edit::Document;
use bir_model::{Edit, Format, Place, Step};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::path::PathBuf;

/// A shorter credential is a word like any other, and is looked for nowhere but where it stands.
const SHORTEST_KNOWN: usize = 8;

/// A file's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Which.
    pub path: PathBuf,
    /// It is new.
    pub is_new: bool,
    /// It goes.
    pub goes: bool,
    /// Lines as a unified diff has them: `@@ PLACE @@`, `-…`, `+…`.
    pub lines: Vec<String>,
}

/// Those of every file that changes.
pub(super) fn diffs(desk: &Desk, mut own: Own, secrets: &Secrets) -> Vec<FileDiff> {
    desk.changed().map(|sheet| diff(sheet, &mut own, secrets)).collect()
}

fn diff(sheet: &Sheet, own: &mut Own, secrets: &Secrets) -> FileDiff {
    let text = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(|bytes| value_of(bytes, sheet.format));
    let (before, after) = (text(&sheet.before), text(&sheet.now));
    let (before, after) = (before.unwrap_or(Value::Null), after.unwrap_or(Value::Null));
    own.known = known(secrets, &before, &after);
    let mut lines = Vec::new();
    let mut places = Vec::new();
    changed(&before, &after, &Place::default(), &mut places);
    match new_hooks(sheet, &places) {
        Some(line) => lines.push(line),
        None => {
            for place in &places {
                hunk(place, own, &before, &after, sheet.format, &mut lines);
            }
        }
    }
    if places.is_empty() {
        lines.push(whole(sheet));
    }
    FileDiff { path: sheet.path.clone(), is_new: sheet.before.is_none(), goes: sheet.now.is_none(), lines }
}

/// What is not shown where a path, a package or a host says it again.
fn known(secrets: &Secrets, before: &Value, after: &Value) -> Vec<String> {
    both(secrets, before, after).into_iter().filter(|known| known.len() >= SHORTEST_KNOWN).collect()
}

/// A new file that holds our hooks and nothing else is one line: which events, and how large it is.
fn new_hooks(sheet: &Sheet, places: &[Place]) -> Option<String> {
    let is_of_hooks = |place: &Place| place.0.first() == Some(&Step::Key("hooks".into()));
    let now = sheet.now.as_ref().filter(|_| sheet.before.is_none() && places.iter().any(is_of_hooks))?;
    // Beside the hooks a version may stand.
    let is_known = |place: &Place| is_of_hooks(place) || place.0 == [Step::Key("version".into())];
    let events = places.iter().filter(|place| is_of_hooks(place)).filter_map(|place| match place.0.get(1) {
        Some(Step::Key(event)) => Some(event.as_str()),
        _ => None,
    });
    let events: Vec<&str> = events.collect();
    places
        .iter()
        .all(is_known)
        .then(|| format!("@@ a new file of our own, {} bytes: hooks for {} @@", now.len(), events.join(", ")))
}

/// The places that say something else, as deep as they can be told by keys; an entry is one.
fn changed(before: &Value, after: &Value, at: &Place, out: &mut Vec<Place>) {
    if before == after {
        return;
    }
    let is_entry =
        at.0.iter()
            .rev()
            .nth(1)
            .is_some_and(|step| matches!(step, Step::Key(key) if ENTRY_MEMBERS.contains(&key.as_str())));
    let empty = serde_json::Map::new();
    let members = |value: &Value| match value {
        Value::Object(members) => Some(members.clone()),
        Value::Null => Some(empty.clone()),
        _ => None,
    };
    match (members(before), members(after)) {
        (Some(a), Some(b)) if !(is_entry || a.is_empty() && b.is_empty()) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let side = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or(Value::Null);
                changed(&side(&a), &side(&b), &at.key(key.as_str()), out);
            }
        }
        _ => out.push(at.clone()),
    }
}

/// The lines of one place.
fn hunk(place: &Place, own: &Own, before: &Value, after: &Value, format: Format, out: &mut Vec<String>) {
    let shown = shaped::place(place);
    let render = |document: &Value| {
        let value = place.of(document).map(|value| masked(place, &own.shown(place, value)));
        value.map(|value| rendered(&shown, &value, format)).unwrap_or_default()
    };
    let (before, after) = (render(before), render(after));
    let lines: Vec<String> = compared(&before, &after);
    out.push(format!("@@ {} @@", name(&shown)));
    if lines.is_empty() {
        out.push(" what changes of it is not shown".into());
    }
    out.extend(lines);
}

fn compared(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let sign = |tag| match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    };
    let line = |change: similar::Change<&str>| {
        format!("{}{}", sign(change.tag()), change.value().trim_end_matches(['\n', '\r']))
    };
    let lines: Vec<String> = diff.iter_all_changes().map(line).collect();
    let kept = with_enclosing(&lines);
    lines.into_iter().zip(kept).filter_map(|(line, kept)| kept.then_some(line)).collect()
}

/// Which lines are shown: those that change, and those that enclose one, by their indent: the member's name, its brackets.
fn with_enclosing(lines: &[String]) -> Vec<bool> {
    let indent = |line: &str| line[1..].len() - line[1..].trim_start().len();
    let is_changed = |line: &str| !line.starts_with(' ');
    let mut kept: Vec<bool> = lines.iter().map(|line| is_changed(line)).collect();
    let mut mark = |order: &mut dyn Iterator<Item = usize>| {
        // Of lines further in than this one an enclosing line has been met already.
        let mut least = 0;
        for at in order {
            let here = indent(&lines[at]);
            if is_changed(&lines[at]) {
                least = here;
            } else if here < least {
                kept[at] = true;
                least = here;
            }
        }
    };
    mark(&mut (0..lines.len()).rev());
    mark(&mut (0..lines.len()));
    kept
}

/// A file that is ours alone, or of which only the spelling changes. Somebody may have written into ours, so no line of it is shown.
fn whole(sheet: &Sheet) -> String {
    let is_own = sheet.refused().is_none()
        && value_of(sheet.now.as_deref().or(sheet.before.as_deref()).unwrap_or_default(), sheet.format)
            .is_null();
    if !is_own {
        return "@@ spelling alone: white space, comments, the order of members @@".into();
    }
    match (&sheet.before, &sheet.now) {
        (None, Some(now)) => format!("@@ a new file of our own, {} bytes: the hooks @@", now.len()),
        (Some(_), Some(now)) => format!("@@ the whole file, which is our own, anew: {} bytes @@", now.len()),
        _ => "@@ the whole file, which is our own @@".into(),
    }
}

/// `mcpServers.github`.
fn name(place: &Place) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) if key.is_empty() || key.contains('.') => format!("\"{key}\""),
        Step::Key(key) => key.clone(),
        Step::Index(index) => index.to_string(),
    };
    match place.0.is_empty() {
        true => "the whole file".into(),
        false => place.0.iter().map(step).collect::<Vec<_>>().join("."),
    }
}

/// A value as its file would write it.
fn rendered(place: &Place, value: &Value, format: Format) -> String {
    let json = || {
        let key = match place.0.last() {
            Some(Step::Key(key)) => format!("{}: ", Value::from(key.as_str())),
            _ => String::new(),
        };
        match value {
            // Elements of a list (hooks) are one line each: what counts is which there are.
            Value::Array(items) => {
                let lines: String = items.iter().map(|item| format!("  {item}\n")).collect();
                format!("{key}[\n{lines}]\n")
            }
            _ => format!("{key}{value:#}\n"),
        }
    };
    if matches!(format, Format::Json | Format::Jsonc) {
        return json();
    }
    let keys = place.0.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let at = Place::keys(keys);
    let written = Document::parse(b"", format).and_then(|mut document| {
        document.edit(&Edit::Set { at, value: value.clone() })?;
        Ok(document.bytes())
    });
    match written.map(String::from_utf8) {
        Ok(Ok(text)) => text,
        _ => json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(before: Value, after: Value) -> Vec<String> {
        let own = Own { known: known(&Secrets::default(), &before, &after), ..Own::default() };
        let (mut places, mut out) = (Vec::new(), Vec::new());
        changed(&before, &after, &Place::default(), &mut places);
        for place in &places {
            hunk(place, &own, &before, &after, Format::Json, &mut out);
        }
        out
    }

    #[test]
    fn an_entry_is_one_hunk_of_its_changed_lines() {
        let before = json!({"oauthAccount": {"accessToken": "canary"}, "mcpServers": {
            "a": {"command": "npx", "env": {"K": "canary-2"}}, "b": {"command": "x"}}});
        let mut after = before.clone();
        after["mcpServers"]["a"]["command"] = json!("/bin/bir-proxy");
        after["mcpServers"]["a"]["args"] = json!(["--token", "canary-3"]);
        assert_eq!(
            lines(before, after),
            [
                "@@ mcpServers.a @@",
                " \"a\": {",
                "-  \"command\": \"npx\",",
                "+  \"command\": \"/bin/bir-proxy\",",
                "-  }",
                "+  },",
                "+  \"args\": [",
                "+    \"--token\",",
                "+    \"…(8 characters)\"",
                "+  ]",
                " }",
            ]
        );
    }

    #[test]
    fn an_element_of_a_list_is_shown_in_its_brackets() {
        let (before, after) =
            (json!({"hooks": {"Stop": [{"a": 1}]}}), json!({"hooks": {"Stop": [{"a": 1}, {"b": 2}]}}));
        assert_eq!(
            lines(before, after),
            ["@@ hooks.Stop @@", " \"Stop\": [", "+  {\"b\":\"…(1 character)\"}", " ]"]
        );
    }

    #[test]
    fn what_is_new_is_shown_with_its_place_alone() {
        let after = json!({"projects": {"/p.q": {"mcpServers": {"s": {"command": "x"}}}}});
        assert_eq!(
            lines(json!({}), after),
            ["@@ projects.\"/p.q\".mcpServers.s @@", "+\"s\": {", "+  \"command\": \"x\"", "+}"]
        );
    }
}
