//! `bir runs list`.

use super::api;
use super::args::ListArgs;
use super::find::short;
use super::wire::{Summary, read};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::table::{Column, Table};
use crate::out::{self, paint, safe, time};
use crate::say;
use jiff::tz::TimeZone;

/// Lists runs.
pub(crate) async fn run(home: &Home, args: &ListArgs) -> Result<(), CommandError> {
    let query = args.filter.query()?;
    let mut client = home.swept().await?;
    let runs = api::runs(&mut client, &query, args.limit).await?;
    if args.json {
        return Ok(out::json(&runs)?);
    }
    let runs = runs.iter().map(read::<Summary>).collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        say(if args.filter.is_empty() {
            "no run is recorded yet; put a server behind the recorder with `bir wrap`, or try `bir demo`"
        } else {
            "no run is of this kind"
        });
        return Ok(());
    }
    Ok(out::print(&table(&runs, time::now_ms(), &TimeZone::system()).render(out::columns()))?)
}

fn table(runs: &[Summary], now: u64, zone: &TimeZone) -> Table {
    let mut table = Table::new(&[
        ("RUN", Column::Left),
        ("WHEN", Column::Left),
        ("HOST", Column::Left),
        ("WHAT", Column::Flexible),
        ("CALLS", Column::Right),
        ("FAILED", Column::Right),
        ("TOOK", Column::Right),
        ("SEEN", Column::Left),
    ]);
    let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    for (run, id) in runs.iter().zip(short(&ids)) {
        let failed =
            if run.failed_calls > 0 { paint::bad(&run.failed_calls.to_string()) } else { paint::dim("0") };
        let took = time::span(run.span(now));
        table.row(vec![
            paint::name(&id),
            time::instant(run.started_at, zone),
            host(run),
            what(run),
            run.calls.to_string(),
            failed,
            if run.ended_at.is_some() { took } else { paint::warn(&format!("{took} …")) },
            seen(run),
        ]);
    }
    table
}

/// The host, as it names itself.
pub(crate) fn host(run: &Summary) -> String {
    run.host.as_ref().map_or_else(|| paint::dim("–"), |host| safe::line(&host.app).into_owned())
}

/// The prompt, else the servers.
fn what(run: &Summary) -> String {
    match &run.input {
        Some(prompt) => {
            safe::line(prompt.split_whitespace().collect::<Vec<_>>().join(" ").as_str()).into_owned()
        }
        None => {
            let names: Vec<_> = run.servers.iter().map(|server| safe::line(&server.name)).collect();
            names.join(", ")
        }
    }
}

/// The tier, and whether all of it is there.
fn seen(run: &Summary) -> String {
    let tier = run.tier.as_str();
    if run.lossy { format!("{tier} {}", paint::bad("lossy")) } else { tier.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_is_one_line_whatever_is_in_it() {
        let runs = [
            json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "bound", "lossy": true,
                "input": "book a\nflight \u{1b}[2J", "host": {"app": "claude-code\u{202e}"}, "startedAt": 0, "endedAt": 1250,
                "lastAt": 1250, "calls": 3, "failedCalls": 1}),
            json!({"id": "run_01970001-0000-7000-8000-000000000001", "tier": "standalone", "servers": [{"name": "fs"}, {"name": "git"}],
                "startedAt": 1000, "lastAt": 1000, "calls": 12}),
        ];
        let runs: Vec<Summary> = runs.iter().map(|run| read(run).unwrap()).collect();
        let text = table(&runs, 3000, &TimeZone::UTC).render(None);
        let plain = console::strip_ansi_codes(&text);
        // How columns line up is the table's own test.
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = plain.lines().map(words).collect();
        assert_eq!(
            lines,
            [
                "RUN WHEN HOST WHAT CALLS FAILED TOOK SEEN",
                "019700000000 1970-01-01 00:00:00 claude-code\\u{202e} book a flight ␛[2J 3 1 1.25 s bound lossy",
                "019700010000 1970-01-01 00:00:01 – fs, git 12 0 2.00 s … standalone",
            ]
        );
    }
}
