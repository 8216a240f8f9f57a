//! The list of runs.

use super::{Keys, Shell, print};
use crate::text::{Html, plain, text_up_to};
use crate::timeline::{run_duration, run_path};
use crate::units::{When, count, duration, grouped};
use crate::view::{Filter, Run, RunsView, Since};
use askama::Template;
use bir_model::{Outcome, Tier};

/// A prompt is shown up to here in the list.
const PROMPT_SHOWN: usize = 240;

/// A name that others chose is shown up to here.
pub(super) const NAME_SHOWN: usize = 48;

/// So many servers are named in a row; of the others only the number.
const SERVERS_SHOWN: usize = 4;

/// What a row shows.
struct Row {
    id: String,
    path: String,
    /// Changes when anything that the row shows does.
    version: String,
    when: When,
    going_on: bool,
    prompt: Option<Html>,
    servers: Vec<Html>,
    more_servers: usize,
    project: Option<(Html, String)>,
    host: Option<Html>,
    calls: String,
    failed: Option<String>,
    duration: String,
    tier: Tier,
    lossy: Option<String>,
}

impl Row {
    fn new(run: &Run, now: u64) -> Self {
        let took = run_duration(run, now);
        Self {
            id: run.id.to_string(),
            path: run_path(run.id, 0),
            version: format!(
                "{}-{}-{}-{}-{}",
                run.last_at,
                run.ended_at.unwrap_or(0),
                run.calls,
                run.failed_calls,
                run.lost_calls
            ),
            when: When::new(run.started_at, now),
            going_on: run.ended_at.is_none(),
            prompt: run
                .input
                .as_deref()
                .filter(|p| !p.trim().is_empty())
                .map(|p| text_up_to(p.trim(), PROMPT_SHOWN)),
            servers: run
                .servers
                .iter()
                .take(SERVERS_SHOWN)
                .map(|s| text_up_to(&s.name, NAME_SHOWN))
                .collect(),
            more_servers: run.servers.len().saturating_sub(SERVERS_SHOWN),
            project: run.project.as_deref().map(|p| (text_up_to(last_part(p), NAME_SHOWN), plain(p))),
            host: run.host.as_ref().map(|h| host_name(h.app.as_str(), h.version.as_deref())),
            calls: grouped(run.calls.into()),
            failed: (run.failed_calls > 0).then(|| format!("{} failed", grouped(run.failed_calls.into()))),
            duration: duration(took),
            tier: run.tier,
            lossy: lossy(run),
        }
    }
}

/// What is said of a run that lost something.
pub(super) fn lossy(run: &Run) -> Option<String> {
    match (run.lossy || run.lost_calls > 0, run.lost_calls) {
        (false, _) => None,
        (true, 0) => Some("lossy".into()),
        (true, n) => Some(format!("lossy, {} lost", count(n, "call", "calls"))),
    }
}

pub(super) fn host_name(app: &str, version: Option<&str>) -> Html {
    text_up_to(&version.map_or_else(|| app.to_owned(), |v| format!("{app} {v}")), NAME_SHOWN)
}

/// The last part of a path of either kind.
pub(super) fn last_part(path: &str) -> &str {
    let trimmed = path.trim_end_matches(['/', '\\']);
    let part = trimmed.rsplit(['/', '\\']).next().unwrap_or(trimmed);
    if part.is_empty() { path } else { part }
}

struct Choice {
    value: &'static str,
    label: String,
    chosen: bool,
}

fn choices<T: PartialEq + Copy>(
    all: &[T],
    chosen: Option<T>,
    show: impl Fn(T) -> (&'static str, String),
) -> Vec<Choice> {
    all.iter()
        .map(|&one| {
            let (value, label) = show(one);
            Choice { value, label, chosen: chosen == Some(one) }
        })
        .collect()
}

/// Every way in which a call ends, in the order of the form.
const OUTCOMES: [Outcome; 7] = [
    Outcome::Ok,
    Outcome::ToolError,
    Outcome::RpcError,
    Outcome::Timeout,
    Outcome::Cancelled,
    Outcome::Denied,
    Outcome::Unknown,
];

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage<'a> {
    shell: Shell,
    rows: Vec<Row>,
    filter: &'a Filter,
    filter_set: bool,
    outcomes: Vec<Choice>,
    tiers: Vec<Choice>,
    spans: Vec<Choice>,
    /// The address of the list's newest page with this filter, for later pages.
    newest: Option<String>,
    next: Option<String>,
    /// Where the rows of this page come from, when they are to be kept up to date.
    live: Option<String>,
    /// Nothing is recorded, so there is nothing to filter.
    nothing: bool,
}

#[derive(Template)]
#[template(path = "runs_rows.html")]
struct RunsRows {
    rows: Vec<Row>,
}

fn rows(view: &RunsView) -> Vec<Row> {
    view.runs.iter().map(|run| Row::new(run, view.now)).collect()
}

/// The list of runs with its filter. Its first page keeps itself up to date.
#[must_use]
pub fn runs_page(view: &RunsView) -> String {
    let filter = &view.filter;
    let first = filter.cursor.is_none();
    print(&RunsPage {
        shell: Shell::new("Runs", view.viewer.as_ref(), Keys::List),
        rows: rows(view),
        filter,
        filter_set: filter.is_set(),
        outcomes: choices(&OUTCOMES, filter.outcome, |o| (o.as_str(), super::call::outcome_label(o).into())),
        tiers: choices(&[Tier::Bound, Tier::Standalone], filter.tier, |t| (t.as_str(), t.as_str().into())),
        spans: choices(&Since::ALL, filter.since, |s| (s.as_str(), s.label().into())),
        newest: (!first).then(|| format!("/runs{}", filter.query(None))),
        next: view.next.as_deref().map(|cursor| format!("/runs{}", filter.query(Some(cursor)))),
        live: first.then(|| format!("/runs/rows{}", filter.query(None))),
        nothing: first && !filter.is_set() && view.runs.is_empty(),
    })
}

/// The rows of the same list alone, as they stand in its table.
#[must_use]
pub fn run_list_rows(view: &RunsView) -> String {
    print(&RunsRows { rows: rows(view) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_path() {
        for (path, part) in [
            ("/home/ada/code/shop", "shop"),
            ("/home/ada/", "ada"),
            ("C:\\work\\shop", "shop"),
            ("/", "/"),
            ("", ""),
            ("shop", "shop"),
        ] {
            assert_eq!(last_part(path), part, "{path}");
        }
    }
}
