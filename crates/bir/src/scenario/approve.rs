//! `bir scenario approve`.

use super::args::ApproveArgs;
use super::{api, find, refusal, show};
use crate::error::CommandError;
use crate::home::Home;
use crate::say;
use bir_model::scenario::View;
use serde_json::json;

/// Approves.
pub(super) async fn run(home: &Home, args: &ApproveArgs) -> Result<(), CommandError> {
    let written = find::written(&args.id)?;
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let answer = client.post(&format!("/scenarios/{id}/approve"), &json!({})).await;
    let answer = api::settled(answer, args.json, |e| refusal::of_scenario(e, id, None))?;
    if args.json {
        return api::print(&answer.body);
    }
    let view: View = api::read(&answer)?;
    say(format_args!("{id} is approved; it has level {}: {}", view.level, show::means(view.level)));
    Ok(())
}
