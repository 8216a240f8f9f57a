//! Whether a scenario fits where the prompt was said: its directory, and its tools.

use super::{Code, Fallen, Place, Tools};
use crate::script::Script;
use bir_plan::template::{Leaf, Origin};
use serde_json::Value;
use std::collections::BTreeSet;

/// Whether a scenario may run in this directory: it is of this project, and none of its constants lies in the recording's directory alone.
pub(super) fn directory(script: &Script, there: Place<'_>, here: Place<'_>) -> Result<(), Fallen> {
    let no = |why: &str| Err((Code::OtherDirectory, why.to_owned()));
    if let (Some(there), Some(here)) = (there.project, here.project)
        && there != here
    {
        return no("it was recorded in another project");
    }
    let (Some(there), Some(here)) = (there.cwd, here.cwd) else { return Ok(()) };
    if there == here {
        return Ok(());
    }
    // A constant that lies in the recording's directory, and not in this one.
    let inside = |text: &str, of: &str| {
        let of = of.trim_end_matches('/');
        !of.is_empty()
            && text.match_indices(of).any(|(at, _)| {
                text.get(at + of.len()..).is_some_and(|rest| {
                    rest.is_empty()
                        || !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                })
            })
    };
    let pinned = |value: &Value| strings(value).iter().any(|text| inside(text, there) && !inside(text, here));
    let leaves = script.plan.steps.iter().flat_map(|step| step.input.leaves());
    let constants = leaves.filter(|(_, leaf)| leaf.origin == Origin::Constant);
    let expr = |leaf: &Leaf| serde_json::to_value(&leaf.expr).unwrap_or_default();
    if constants.into_iter().any(|(_, leaf)| pinned(&expr(leaf))) {
        return no("it names a place of another directory");
    }
    Ok(())
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(elements) => elements.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Whether its tools are those of this session, as far as anybody knows.
pub(super) fn tools(script: &Script, wrapped: &BTreeSet<String>, tools: Tools<'_>) -> Result<(), Fallen> {
    for step in &script.steps {
        let Some(server) = &step.server else { continue };
        let has_server =
            wrapped.contains(server) || tools.servers.is_none_or(|servers| servers.contains(server));
        let tells = |named: &BTreeSet<(String, String)>| named.iter().any(|(of, _)| of == server);
        let has_tool = tools
            .named
            .is_none_or(|named| !tells(named) || named.contains(&(server.clone(), step.tool.clone())));
        if !has_server || !has_tool {
            let name = crate::note::name(&step.tool_name);
            return Err((Code::OtherTools, format!("`{name}` is no tool of this session")));
        }
    }
    Ok(())
}
