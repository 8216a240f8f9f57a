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
use bir_model::Tier;
use jiff::tz::TimeZone;

/// Letters of a prompt that are shown where no terminal says how many there is room for.
const PROMPT: usize = 120;

/// Lists runs.
pub(crate) async fn run(home: &Home, args: &ListArgs) -> Result<(), CommandError> {
    let query = args.filter.query()?;
    let mut client = home.swept().await?;
    let runs = api::runs(&mut client, &query, args.most.limit).await?;
    if args.json {
        return Ok(out::json(&runs)?);
    }
    let runs = runs.iter().map(read::<Summary>).collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        let none = || format!("no run is recorded yet; {}", home.how_to_begin());
        say(if args.filter.is_empty() {
            home.none_but_waiting().unwrap_or_else(none)
        } else {
            "no run matches".into()
        });
        return Ok(());
    }
    Ok(out::print(&table(&runs, time::now_ms(), &TimeZone::system()).render(out::columns()))?)
}

fn table(runs: &[Summary], now: u64, zone: &TimeZone) -> Table {
    let mut columns = vec![
        ("RUN", Column::Left),
        ("WHEN", Column::Left),
        ("HOST", Column::Left),
        ("WHAT", Column::Flexible),
        ("CALLS", Column::Right),
        ("FAILED", Column::Right),
        ("TOOK", Column::Right),
    ];
    // Where every run is standalone a column would say nothing.
    let tiers = runs.iter().any(|run| run.tier == Tier::Bound);
    if tiers {
        columns.insert(3, ("TIER", Column::Left));
    }
    if runs.iter().any(|run| run.lossy) {
        columns.push(("LOST", Column::Left));
    }
    let mut table = Table::new(&columns);
    let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    for (run, id) in runs.iter().zip(short(&ids)) {
        let failed =
            if run.failed_calls > 0 { paint::bad(&run.failed_calls.to_string()) } else { paint::dim("0") };
        let took = run.took(now).replace("at least ", "≥ ");
        let mut row = vec![
            paint::name(&id),
            time::minute(run.started_at, zone),
            host(run),
            what(run),
            run.calls.to_string(),
            failed,
            if run.ended_at.is_some() { took } else { paint::warn(&format!("{took} …")) },
            if run.lossy { paint::bad("some") } else { String::new() },
        ];
        if tiers {
            row.insert(3, if run.tier == Tier::Bound { "bound".into() } else { paint::dim("alone") });
        }
        table.row(row);
    }
    table
}

/// The host, as it names itself.
pub(crate) fn host(run: &Summary) -> String {
    run.host.as_ref().map_or_else(|| paint::dim("–"), |host| safe::line(&host.app).into_owned())
}

/// The prompt, where there is one; else the servers that took part.
fn what(run: &Summary) -> String {
    if let Some(prompt) = run.input.as_deref().filter(|prompt| !prompt.trim().is_empty()) {
        let head: String = prompt.chars().take(PROMPT).collect();
        return safe::line(&head.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    }
    if run.servers.is_empty() {
        return paint::dim("–");
    }
    run.servers.iter().map(|server| safe::line(&server.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_is_one_line_whatever_is_in_it() {
        let runs = [
            json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "bound", "lossy": true,
                "servers": [{"name": "air\nline \u{1b}[2J"}], "host": {"app": "claude-code\u{202e}"}, "startedAt": 0, "endedAt": 1250,
                "lastAt": 1250, "calls": 3, "failedCalls": 1}),
            json!({"id": "run_01970001-0000-7000-8000-000000000001", "tier": "standalone", "servers": [{"name": "fs"}, {"name": "git"}],
                "startedAt": 1000, "lastAt": 1000, "calls": 12}),
            json!({"id": "run_01970002-0000-7000-8000-000000000001", "tier": "bound", "servers": [{"name": "fs"}], "input": "fix\nthe \u{1b} bug",
                "startedAt": 1000, "endedAt": 1000, "lastAt": 1000, "calls": 1}),
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
                "RUN WHEN HOST TIER WHAT CALLS FAILED TOOK LOST",
                "019700000000 1970-01-01 00:00 claude-code\\u{202e} bound air␊line ␛[2J 3 1 1.25 s some",
                "019700010000 1970-01-01 00:00 – alone fs, git 12 0 2.00 s …",
                "019700020000 1970-01-01 00:00 – bound fix the ␛ bug 1 0 0 µs",
            ]
        );
    }

    #[test]
    fn a_list_fits_into_80_columns() {
        let run = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "standalone", "host": {"app": "claude-code"},
            "servers": [{"name": "everything-else"}], "startedAt": 0, "endedAt": 125_000, "endReason": "abandoned", "lastAt": 125_000, "calls": 12_345,
            "failedCalls": 123_456});
        let text = table(&[read(&run).unwrap()], 3000, &TimeZone::UTC).render(Some(80));
        let plain = console::strip_ansi_codes(&text).into_owned();
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        assert!(plain.contains("everyth…") && plain.ends_with("≥ 2 m 05 s\n"), "{plain}");
    }

    #[test]
    fn of_a_run_that_was_cut_off_only_the_least_is_known() {
        let run = |last: u64| {
            let run = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "standalone", "startedAt": 1000,
                "endedAt": last, "endReason": "abandoned", "lastAt": last, "calls": 1});
            read::<Summary>(&run).unwrap()
        };
        assert_eq!(run(1000).took(9_000), "–");
        assert_eq!(run(3500).took(9_000), "at least 2.50 s");
        let text = table(&[run(3500)], 9_000, &TimeZone::UTC).render(None);
        assert!(console::strip_ansi_codes(&text).contains("≥ 2.50 s"), "{text}");
    }
}
