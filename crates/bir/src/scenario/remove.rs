//! `bir scenario rm`: asks, then deletes.

use super::args::RmArgs;
use super::{find, refusal};
use crate::ask;
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, size};
use crate::say;
use serde_json::json;

/// Deletes.
pub(super) async fn run(home: &Home, args: &RmArgs) -> Result<(), CommandError> {
    let written = args.ids.iter().map(|id| find::written(id)).collect::<Result<Vec<_>, _>>()?;
    if !args.yes && !ask::can() {
        return Err(CommandError::usage(
            "deleting asks first, and there is no terminal to ask on; give --yes",
        ));
    }
    let mut client = home.swept().await?;
    let mut ids = Vec::new();
    for written in &written {
        let id = find::scenario(home, &mut client, written).await?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let question = match ids.as_slice() {
        [id] => format!("Delete {id} with its changes and executions? The runs stay."),
        several => format!(
            "Delete {} with their changes and executions? The runs stay.",
            size::count(several.len() as u64, "scenario")
        ),
    };
    if !args.yes && !ask::yes(&question)? {
        return Err(CommandError::failed("nothing was deleted"));
    }
    for id in &ids {
        let done = client.delete(&format!("/scenarios/{id}")).await;
        done.map_err(|e| refusal::of_scenario(e, *id, None))?;
    }
    if args.json {
        return Ok(out::json(&json!({ "scenarios": ids.len() }))?);
    }
    say(format_args!("{} deleted", size::count(ids.len() as u64, "scenario")));
    Ok(())
}
