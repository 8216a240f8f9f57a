//! Whether trust is to be given: what Codex keeps of it, against the hooks as they are to be.

use super::Wanted;
use crate::plan::sheet::{Desk, real};
use crate::plan::{HookLine, Outcome, Wish};
use crate::survey::{Module, read_file};
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, HookChange, Machine, Scope};
use bir_model::{Format, Place, Step};
use serde_json::Value;
use std::path::Path;

/// What is to be trusted. None: nothing, or it is already.
pub(crate) fn wanted(
    config: Module<'_>,
    machine: &Machine<'_>,
    wish: &Wish,
    desk: &Desk,
    lines: &[HookLine],
) -> Option<Wanted> {
    let line = lines.iter().find(|line| line.host == Host::Codex.as_str())?;
    if !line.outcome.stands() {
        return None;
    }
    let change = |user| config.hooks(machine, &wish.project, user, &wish.hooks_program);
    let found = [wish.user, true].into_iter().filter_map(change).find_map(|change| match change {
        HookChange::Appended { file, elements } if file.path == line.file => Some((file, elements)),
        _ => None,
    });
    let (file, elements) = found?;
    let settings = config
        .files(machine, &wish.project)
        .into_iter()
        .find(|file| file.format == Format::Toml && file.scope == Scope::User)?;
    let commands: Vec<String> = elements.iter().flat_map(|(_, value)| commands(value)).collect();
    let known = line.outcome == Outcome::Already && are_known(&settings, &file.path, &elements, desk);
    (!known && !commands.is_empty()).then(|| Wanted {
        hooks_file: file.path.clone(),
        scope: file.scope,
        config: settings.path,
        project: wish.project.clone(),
        commands,
    })
}

/// The commands of a group of hooks.
fn commands(group: &Value) -> Vec<String> {
    let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
    hooks.filter_map(|hook| hook.get("command").and_then(Value::as_str)).map(ToOwned::to_owned).collect()
}

/// Whether Codex keeps a trust for each of them. Whether it is in their text of today, it alone knows.
fn are_known(settings: &ConfigFile, hooks: &Path, elements: &[(Place, Value)], desk: &Desk) -> bool {
    let states = match desk.at(&settings.path) {
        Some(sheet) => sheet.value()["hooks"]["state"].clone(),
        None => match read_file(settings.clone()).document {
            Ok(document) => document.value()["hooks"]["state"].clone(),
            Err(_) => Value::Null,
        },
    };
    let Some(states) = states.as_object() else { return false };
    let there = desk.at(hooks).map(|sheet| sheet.value());
    elements.iter().all(|(to, value)| {
        let position =
            there.and_then(|document| to.of(document)?.as_array()?.iter().rposition(|item| item == value));
        let Some((Step::Key(event), at)) = to.0.last().zip(position) else { return false };
        let tail = format!(":{}:{at}:0", snake(event));
        states
            .keys()
            .filter_map(|key| key.strip_suffix(&tail))
            .any(|path| real(Path::new(path)) == real(hooks))
    })
}

/// `pre_tool_use` of `PreToolUse`.
fn snake(event: &str) -> String {
    let mut out = String::new();
    for c in event.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_commands_are_as_codex_has_them() {
        assert_eq!(snake("PreToolUse"), "pre_tool_use");
        assert_eq!(snake("Stop"), "stop");
        assert_eq!(
            commands(&json!({"hooks": [{"command": "a"}, {"type": "x"}, {"command": "b"}]})),
            ["a", "b"]
        );
    }
}
