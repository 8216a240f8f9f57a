//! `bir scenario approve`: how far the owner lets a scenario run by itself.

use super::args::ApproveArgs;
use super::{api, find, refusal, show};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::safe;
use crate::say;
use bir_model::scenario::{ApproveAsk, View, WordError};

/// Approves.
pub(super) async fn run(home: &Home, args: &ApproveArgs) -> Result<(), CommandError> {
    let written = find::written(&args.of.id)?;
    let level = args.level.as_deref().map(str::parse).transpose();
    let level = level.map_err(|e: WordError| CommandError::usage(format!("--level: {e}")))?;
    let ask = ApproveAsk { level, revoke: args.revoke };
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let answer = client.post(&format!("/scenarios/{id}/approve"), &ask).await;
    let answer = api::settled(answer, args.json, |e| refusal::of_scenario(e, id, None))?;
    if args.json {
        return api::print(&answer.body);
    }
    let view: View = api::read(&answer)?;
    let approved = if view.approved { "approved" } else { "not approved" };
    let why = view.level_reason.as_deref().filter(|why| !why.is_empty());
    let why = why.map(|why| format!(" ({})", safe::line(why))).unwrap_or_default();
    say(format_args!("{id} is {approved}; it has level {}: {}{why}", view.level, show::means(view.level)));
    Ok(())
}
