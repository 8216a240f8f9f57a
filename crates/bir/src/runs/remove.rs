//! `bir runs rm`: asks, then deletes.

use super::args::{RmArgs, project_of};
use super::wire::{Summary, read};
use super::{api, find, show};
use crate::ask;
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, safe, size, time};
use crate::say;
use bir_record::hub::HubClient;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// What is deleted.
enum What {
    Runs(Vec<Summary>),
    Project(String),
    Mine(String),
}

/// Deletes.
pub(crate) async fn run(home: &Home, args: &RmArgs) -> Result<(), CommandError> {
    if args.ids.is_empty() && args.project.is_none() && !args.all_mine {
        return Err(CommandError::usage("which runs? name them, or give --project DIR or --all-mine"));
    }
    if !args.yes && !ask::can() {
        return Err(CommandError::usage(
            "deleting asks first, and there is no terminal to ask on; give --yes",
        ));
    }
    let mut client = home.swept().await?;
    let (what, question) = what(home, &mut client, args).await?;
    if !args.yes && !ask::yes(&question)? {
        return Err(CommandError::failed("nothing was deleted"));
    }
    let (runs, steps) = delete(&mut client, &what).await?;
    if args.json {
        return Ok(out::json(&json!({ "runs": runs, "steps": steps }))?);
    }
    say(format_args!("{} deleted", size::count(runs, "run")));
    Ok(())
}

async fn what(home: &Home, client: &mut HubClient, args: &RmArgs) -> Result<(What, String), CommandError> {
    if let Some(dir) = &args.project {
        let project = project_of(dir);
        let runs = counted(client, &[("project", project.clone())]).await?;
        let question = format!("Delete {runs} of {}?", safe::line(&project));
        return Ok((What::Project(project), question));
    }
    if args.all_mine {
        let me: Value = client.get("/me").await?.json()?;
        let user = me["user"]["id"].as_str().unwrap_or_default().to_owned();
        let name = me["user"]["email"].as_str().or(me["user"]["name"].as_str()).unwrap_or("you").to_owned();
        let url = client.destination().shown();
        let question = format!("Delete every run that {} recorded, at {url}?", safe::line(&name));
        return Ok((What::Mine(user), question));
    }
    let mut runs: Vec<Summary> = Vec::new();
    for text in &args.ids {
        let id = find::find(home, client, text).await?;
        let whole = client.get(&api::path(&format!("/recordings/runs/{id}"), &[("limit", "1".into())])).await;
        let whole: Value = whole.map_err(|e| show::missing(e.into(), id))?.json()?;
        if runs.iter().all(|run| run.id != id) {
            runs.push(read(&whole["run"])?);
        }
    }
    let zone = TimeZone::system();
    let question = match runs.as_slice() {
        [run] => format!(
            "Delete run {} of {} with {}?",
            find::short_one(run.id),
            time::instant(run.started_at, &zone),
            size::count(run.calls.into(), "call")
        ),
        several => format!(
            "Delete {} with {}?",
            size::count(several.len() as u64, "run"),
            size::count(several.iter().map(|run| u64::from(run.calls)).sum(), "call")
        ),
    };
    Ok((What::Runs(runs), question))
}

/// How many runs there are, as far as it matters.
async fn counted(client: &mut HubClient, query: &[api::Pair]) -> Result<String, CommandError> {
    const MANY: u32 = 1_000;
    let n = api::runs(client, query, MANY).await?.len();
    Ok(if n >= MANY as usize { format!("{MANY} or more runs") } else { size::count(n as u64, "run") })
}

async fn delete(client: &mut HubClient, what: &What) -> Result<(u64, Option<u64>), CommandError> {
    let query = match what {
        What::Runs(runs) => {
            for run in runs {
                let done = client.delete(&format!("/recordings/runs/{}", run.id)).await;
                done.map_err(|e| show::missing(e.into(), run.id))?;
            }
            return Ok((runs.len() as u64, None));
        }
        What::Project(project) => vec![("project", project.clone())],
        What::Mine(user) => vec![("user", user.clone())],
    };
    let done: Value = client.delete(&api::path("/recordings/runs", &query)).await?.json()?;
    Ok((done["runs"].as_u64().unwrap_or_default(), done["steps"].as_u64()))
}
