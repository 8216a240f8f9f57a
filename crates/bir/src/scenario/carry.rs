//! `bir scenario export` and `bir scenario import`: scenarios as JSON Lines, one a line.

use super::args::{ExportArgs, ImportArgs};
use super::{api, find, refusal};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, size};
use crate::runs::args::project_of;
use crate::say;
use bir_model::scenario::View;
use bytes::Bytes;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// The longest line in bytes; the hub takes half of that at most.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// Scenarios of one export, at most.
const MOST: u32 = 10_000;

/// Exports.
pub(super) async fn export(home: &Home, args: &ExportArgs) -> Result<(), CommandError> {
    if args.ids.is_empty() != args.all {
        return Err(CommandError::usage("which scenarios? name them, or --all for those that are ready"));
    }
    let written = args.ids.iter().map(|id| find::written(id)).collect::<Result<Vec<_>, _>>()?;
    let mut client = home.swept().await?;
    let mut ids = Vec::new();
    for one in &written {
        ids.push(find::scenario(home, &mut client, one).await?);
    }
    if args.all {
        let ready = api::list(&mut client, &[("state", "ready".into())], MOST).await?;
        ids.extend(ready.iter().filter_map(api::id));
    }
    let mut lines = Vec::new();
    for id in &ids {
        let answer = client.get(&format!("/scenarios/{id}/export")).await;
        let answer = answer.map_err(|e| refusal::of_scenario(e, *id, None))?;
        lines.extend_from_slice(&answer.body);
        lines.push(b'\n');
    }
    let Some(path) = &args.output else { return Ok(out::raw(&lines)?) };
    whole(path, &lines).map_err(|e| {
        CommandError::failed(format!("cannot write {}: {e}; nothing was exported", path.display()))
    })?;
    say(format_args!("{} in {}", size::count(ids.len() as u64, "scenario"), path.display()));
    Ok(())
}

/// Writes a file that is there whole or not at all.
fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("part");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// Imports.
pub(super) async fn import(home: &Home, args: &ImportArgs) -> Result<(), CommandError> {
    let unreadable = |e: io::Error| CommandError::failed(format!("cannot read {}: {e}", args.file.display()));
    let mut input: Box<dyn BufRead> = match args.file.to_str() {
        Some("-") => Box::new(BufReader::new(io::stdin())),
        _ => Box::new(BufReader::new(File::open(&args.file).map_err(unreadable)?)),
    };
    let project = args.project.as_deref().map(project_of);
    let mut client = home.swept().await?;
    let (mut number, mut new, mut there, mut views) = (0_u64, 0_u64, 0_u64, Vec::new());
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let at = |why: &dyn std::fmt::Display| {
            CommandError::failed(format!(
                "line {number} of {}: {why}; the {} before it are imported, and importing the file again makes none of them twice",
                args.file.display(),
                size::count(new + there, "scenario")
            ))
        };
        let mut scenario: Value = serde_json::from_slice(&line)
            .map_err(|_| at(&"it is no scenario as `bir scenario export` writes it"))?;
        if let (Some(project), Some(members)) = (&project, scenario.as_object_mut()) {
            members.insert("project".into(), json!(project));
            members.remove("cwd");
        }
        let body = ("application/json", Bytes::from(scenario.to_string()));
        let answer = client.request(http::Method::POST, "/scenarios/import", Some(body)).await;
        let answer = answer.map_err(|e| at(&refusal::said(e)))?;
        if answer.status == 201 {
            new += 1
        } else {
            there += 1
        }
        views.push(api::read::<View>(&answer)?);
    }
    if args.json {
        let ids: Vec<_> = views.iter().map(|view| view.scenario_id).collect();
        return Ok(out::json(&json!({"imported": new, "alreadyThere": there, "scenarios": ids}))?);
    }
    for view in &views {
        say(format_args!("{} has level {}", view.scenario_id, view.level));
    }
    say(format_args!(
        "{} imported, {there} were there already; they steer only until runs here agree",
        size::count(new, "scenario")
    ));
    Ok(())
}
