//! `bir scenario edits`: what was changed by hand, newest first.

use super::args::EditsArgs;
use super::{api, find, refusal, report, values};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, time};
use crate::runs::wire::read;
use crate::say;
use bir_model::EditId;
use bir_model::scenario::{EditEntry, StepEdits};
use jiff::tz::TimeZone;
use std::collections::HashSet;
use std::fmt::Write;

/// Lists changes.
pub(super) async fn run(home: &Home, args: &EditsArgs) -> Result<(), CommandError> {
    let written = find::written(&args.of.id)?;
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let edits = api::edits(&mut client, id).await.map_err(|e| refusal::again(e, id))?;
    if args.json {
        return Ok(out::json(&edits)?);
    }
    let edits = edits.iter().map(read::<EditEntry>).collect::<Result<Vec<_>, _>>()?;
    if edits.is_empty() {
        say("nothing was changed by hand");
        return Ok(());
    }
    Ok(out::print(&page(&edits, &TimeZone::system(), out::fold()))?)
}

/// Those that are in force: no change that is in force takes them back. `edits`: newest first.
pub(super) fn in_force(edits: &[EditEntry]) -> HashSet<EditId> {
    let (mut active, mut taken) = (HashSet::new(), HashSet::new());
    for edit in edits {
        if !taken.contains(&edit.edit_id) {
            active.insert(edit.edit_id);
            taken.extend(edit.takes_back);
        }
    }
    active
}

fn page(edits: &[EditEntry], zone: &TimeZone, width: usize) -> String {
    let active = in_force(edits);
    let mut page = String::new();
    for edit in edits {
        let by = edit.by.as_deref().map(|by| format!(" by {}", safe::line(by))).unwrap_or_default();
        let _ = writeln!(
            page,
            "{}  {}{by}  step {}  revision {}",
            paint::name(&edit.edit_id.to_string()),
            time::instant(edit.at, zone),
            edit.step_index,
            edit.revision
        );
        let mut line = |text: String| {
            let _ = writeln!(page, "    {text}");
        };
        match edit.takes_back {
            Some(back) if active.contains(&edit.edit_id) => line(format!("takes back {back}")),
            Some(back) => line(paint::dim(&format!("took back {back}, and is taken back itself"))),
            None if active.contains(&edit.edit_id) => {}
            None => line(paint::dim("taken back")),
        }
        for change in changes(&edit.before, &edit.after) {
            line(change);
        }
        if edit.forced {
            line(paint::warn("saved in spite of what the check said"));
        }
        if let Some(note) = &edit.note {
            line(format!("note: {}", values::line(note, width.saturating_sub(10))));
        }
    }
    page
}

/// What became another.
fn changes(before: &StepEdits, after: &StepEdits) -> Vec<String> {
    let body = |name: &str, before: &Option<String>, after: &Option<String>| match (before, after) {
        (a, b) if a == b => None,
        (_, None) => Some(format!("{name}: the calculated one again")),
        (None, Some(_)) => Some(format!("{name}: edited")),
        (Some(_), Some(_)) => Some(format!("{name}: edited again")),
    };
    let mark = match (before.mark, after.mark) {
        (a, b) if a == b => None,
        (_, None) => Some("no longer frozen".into()),
        (_, Some(mark)) => Some(report::frozen_by(mark).into()),
    };
    [
        body("input logic", &before.input_logic, &after.input_logic),
        body("output logic", &before.output_logic, &after.output_logic),
        mark,
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use serde_json::json;

    /// The id of the n-th change.
    pub(crate) fn id(n: u32) -> EditId {
        format!("sedit_01970000-0000-7000-8000-00000000000{n}").parse().unwrap()
    }

    /// The n-th change, of a step, which may take back another one.
    pub(crate) fn edit(n: u32, step: u32, takes_back: Option<u32>) -> EditEntry {
        let after = if takes_back.is_none() { json!({"inputLogic": "return {}"}) } else { json!({}) };
        let before = if takes_back.is_none() { json!({}) } else { json!({"inputLogic": "return {}"}) };
        serde_json::from_value(json!({"editId": id(n), "stepIndex": step, "at": 0, "by": "ada\u{1b}", "before": before, "after": after,
            "revision": n + 1, "takesBack": takes_back.map(id)}))
        .unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{edit, id};
    use super::*;

    #[test]
    fn a_change_is_in_force_until_one_in_force_takes_it_back() {
        let of = |edits: &[EditEntry]| {
            let mut active: Vec<_> = in_force(edits).into_iter().collect();
            active.sort();
            active
        };
        assert_eq!(of(&[edit(2, 0, None), edit(1, 0, None)]), [id(1), id(2)]);
        assert_eq!(of(&[edit(2, 0, Some(1)), edit(1, 0, None)]), [id(2)]);
        // The third takes back the taking back.
        assert_eq!(of(&[edit(3, 0, Some(2)), edit(2, 0, Some(1)), edit(1, 0, None)]), [id(1), id(3)]);
    }

    #[test]
    fn a_history_says_what_became_another_and_what_is_in_force() {
        let mut forced = edit(3, 2, None);
        (forced.forced, forced.note) = (true, Some("the site\nhas moved".into()));
        let edits = [forced, edit(2, 1, Some(1)), edit(1, 1, None)];
        let text = console::strip_ansi_codes(&page(&edits, &TimeZone::UTC, 80)).into_owned();
        let expected = "\
sedit_01970000-0000-7000-8000-000000000003  1970-01-01 00:00:00 by ada␛  step 2  revision 4
    input logic: edited
    saved in spite of what the check said
    note: the site has moved
sedit_01970000-0000-7000-8000-000000000002  1970-01-01 00:00:00 by ada␛  step 1  revision 3
    takes back sedit_01970000-0000-7000-8000-000000000001
    input logic: the calculated one again
sedit_01970000-0000-7000-8000-000000000001  1970-01-01 00:00:00 by ada␛  step 1  revision 2
    taken back
    input logic: edited
";
        assert_eq!(text, expected);
    }
}
