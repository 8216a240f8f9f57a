//! Hooks of ours that no record finds by their value any more: with another timeout or matcher, beside others in one group, twice, under
//! another event.

use super::file::Stacked;
use super::stray::is_ours;
use crate::plan::sheet::Sheet;
use bir_hosts::{Host, OurHook, our_hook};
use bir_model::{Edit, Place};
use serde_json::{Value, json};

/// The hooks of ours in an element of an event's array, by their index among its hooks.
pub(crate) fn within(host: Host, element: &Value) -> Vec<(usize, OurHook)> {
    let all = element.get("hooks").and_then(Value::as_array).into_iter().flatten();
    let each = all.enumerate();
    each.filter_map(|(at, hook)| Some((at, our_hook(host, &json!({ "hooks": [hook] }))?))).collect()
}

/// Takes every hook out that starts a program of ours; a group goes when nothing else is in it. How many there were.
pub(super) fn sweep(sheet: &mut Sheet, stack: &[Stacked<'_>]) -> Result<usize, String> {
    let hooks = |goes: bool| {
        let layers = stack.iter().filter(move |stacked| stacked.goes == goes);
        layers.flat_map(|stacked| stacked.layer.hooks.iter().map(move |hook| (stacked.record, hook)))
    };
    if hooks(false).next().is_some() {
        return Ok(0);
    }
    let Some((record, first)) = hooks(true).next() else { return Ok(0) };
    let Some(host) = Host::named(&record.host) else { return Ok(0) };
    let programs = hooks(true).filter_map(|(_, hook)| our_hook(host, &hook.value));
    let programs: Vec<String> = programs.map(|hook| hook.program).collect();
    let above = Place(first.to.0[..first.to.0.len().saturating_sub(1)].to_vec());
    let Some(Value::Object(events)) = above.of(sheet.value()) else { return Ok(0) };
    let mut edits = Vec::new();
    let mut count = 0;
    for (event, groups) in events {
        let (to, groups) = (above.key(event), groups.as_array().map(Vec::as_slice).unwrap_or_default());
        let mut gone = 0;
        for (at, group) in groups.iter().enumerate().rev() {
            let ours = within(host, group).into_iter().filter(|(_, hook)| is_ours(&programs, &hook.program));
            let ours: Vec<usize> = ours.map(|(inner, _)| inner).collect();
            count += ours.len();
            let all = group.get("hooks").and_then(Value::as_array).map_or(0, Vec::len);
            if !ours.is_empty() && ours.len() == all {
                gone += 1;
                edits.push(Edit::Remove { at: to.index(at) });
            } else {
                let inner = |inner: &usize| Edit::Remove { at: to.index(at).key("hooks").index(*inner) };
                edits.extend(ours.iter().rev().map(inner));
            }
        }
        // An event that somebody has made out of one of ours.
        if gone > 0 && gone == groups.len() && !hooks(true).any(|(_, hook)| hook.to == to) {
            edits.push(Edit::Remove { at: to });
        }
    }
    sheet.edit(&edits)?;
    Ok(count)
}
