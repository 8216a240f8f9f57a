//! One run: its header, its timeline, its end.

use super::call::{DOWNGRADE, Entry, Part, Payloads};
use super::runs::{NAME_SHOWN, host_name, last_part, lossy};
use super::{Keys, Shell, print};
use crate::json;
use crate::text::{Html, plain, text, text_up_to};
use crate::timeline::{Frame, Item, Timeline, last_heard, run_duration, run_path};
use crate::units::{When, count, duration, grouped};
use crate::view::RunView;
use askama::Template;
use bir_model::control::Join;
use bir_model::record::EndReason;
use bir_model::{Tier, TurnTokens};

/// A prompt or answer up to this length is shown at once, a longer one behind its beginning.
const SHORT_TEXT: usize = 600;

/// A heading is not longer.
const HEADING: usize = 120;

/// A text that may be long.
struct LongText {
    start: Html,
    /// The whole, when the start is not.
    whole: Option<Html>,
}

impl LongText {
    fn new(raw: &str) -> Self {
        if raw.chars().nth(SHORT_TEXT).is_none() {
            Self { start: text(raw), whole: None }
        } else {
            Self { start: text_up_to(raw, SHORT_TEXT / 2), whole: Some(text(raw)) }
        }
    }
}

/// What of a prompt the heading does not say: nothing, the lines after the first, or all of it where the first is too long.
fn beyond_heading(prompt: &str) -> Option<&str> {
    let (first, rest) = prompt.split_once('\n').unwrap_or((prompt, ""));
    let beyond = if first.chars().nth(HEADING).is_some() { prompt } else { rest.trim() };
    (!beyond.is_empty()).then_some(beyond)
}

struct Server {
    name: Html,
    about: Option<Html>,
}

/// What the header shows.
struct Head {
    id: String,
    heading: Html,
    prompt: Option<LongText>,
    going_on: bool,
    end: &'static str,
    tier: &'static str,
    tier_about: &'static str,
    host: Option<Html>,
    project: Option<(Html, String)>,
    servers: Vec<Server>,
    began: When,
    duration: String,
    calls: String,
    failed: Option<String>,
    lossy: Option<String>,
    tokens: Option<(String, String)>,
    join: Option<&'static str>,
    session: Option<Html>,
    metadata: Option<Html>,
    metrics: Option<Html>,
    version: String,
}

impl Head {
    fn new(view: &RunView) -> Self {
        let run = &view.run;
        let prompt = run.input.as_deref().map(str::trim).filter(|p| !p.is_empty());
        let servers: Vec<&str> = run.servers.iter().map(|s| s.name.as_str()).collect();
        let heading = match prompt {
            Some(prompt) => text_up_to(prompt.lines().next().unwrap_or(prompt), HEADING),
            None if run.tier == Tier::Bound => text("Run without a prompt"),
            None if servers.is_empty() => text("Standalone run"),
            None => text_up_to(&format!("Standalone run with {}", servers.join(", ")), HEADING),
        };
        Self {
            id: run.id.to_string(),
            heading,
            prompt: prompt.and_then(beyond_heading).map(LongText::new),
            going_on: run.ended_at.is_none(),
            end: match run.end_reason {
                _ if run.ended_at.is_none() => "going on",
                Some(EndReason::Idle) => "finished: no call for a while",
                Some(EndReason::Abandoned) => "abandoned: its recorder was killed before it ended",
                Some(EndReason::Closed) | None => "finished",
            },
            tier: run.tier.as_str(),
            tier_about: match run.tier {
                Tier::Bound => "seen by the host's hooks and by proxies",
                Tier::Standalone => "seen by one proxy alone: no prompt, no final answer",
            },
            host: run.host.as_ref().map(|h| host_name(&h.app, h.version.as_deref())),
            project: run.project.as_deref().map(|p| (text_up_to(last_part(p), NAME_SHOWN), plain(p))),
            servers: run.servers.iter().map(server).collect(),
            began: When::new(run.started_at, view.now),
            duration: duration(run_duration(run, view.now)),
            calls: grouped(run.calls.into()),
            failed: (run.failed_calls > 0).then(|| format!("{} failed", grouped(run.failed_calls.into()))),
            lossy: lossy(run)
                .map(|said| if view.is_downgrade() { "lossy: a downgrade".into() } else { said }),
            tokens: read(&view.metrics).and_then(|metrics| tokens(&metrics)),
            join: read(&view.metadata).and_then(|metadata| Join::of_run(&metadata)).map(Join::about),
            session: view.session_id.as_deref().map(text),
            metadata: view.metadata.as_deref().map(json::html),
            metrics: view.metrics.as_deref().map(json::html),
            version: format!(
                "{}-{}-{}-{}-{}",
                run.last_at,
                run.ended_at.unwrap_or(0),
                run.calls,
                run.failed_calls,
                run.lost_calls
            ),
        }
    }
}

impl RunView {
    /// Whether nothing is known to be lost: a proxy went on alone, and the run says so.
    fn is_downgrade(&self) -> bool {
        let all = self.losses.iter().all(|lost| lost.calls == 0 && lost.reason == DOWNGRADE);
        all && !self.losses.is_empty()
    }
}

fn read(object: &Option<String>) -> Option<serde_json::Value> {
    serde_json::from_str(object.as_deref()?).ok()
}

/// `12,345 in, 678 out`, and what that is made of.
fn tokens(metrics: &serde_json::Value) -> Option<(String, String)> {
    let turn = TurnTokens::read(metrics)?;
    let all = &turn.totals;
    let least = if turn.at_least() { "at least " } else { "" };
    let short = format!("{least}{} in, {} out", grouped(all.all_input()), grouped(all.output_tokens));
    let models: Vec<String> = turn.models.keys().map(|name| plain(name)).collect();
    let parts = [
        (all.cache_read_tokens > 0).then(|| format!("{} read from a cache", grouped(all.cache_read_tokens))),
        (all.cache_creation_tokens > 0)
            .then(|| format!("{} written to a cache", grouped(all.cache_creation_tokens))),
        (!models.is_empty()).then(|| models.join(", ")),
    ];
    Some((short, parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

/// Name of a server, and what it says of itself: `everything · Everything Server 2.0, modern era`.
fn server(server: &bir_model::record::ServerInfo) -> Server {
    let title = server.title.as_deref().filter(|t| *t != server.name).unwrap_or_default();
    let version = server.version.as_deref().unwrap_or_default();
    let own = format!("{title} {version}");
    let era = server.era.map(|e| format!("{e} era"));
    let about: Vec<&str> =
        [own.trim(), era.as_deref().unwrap_or_default()].into_iter().filter(|p| !p.is_empty()).collect();
    Server {
        name: text_up_to(&server.name, NAME_SHOWN),
        about: (!about.is_empty()).then(|| text_up_to(&about.join(", "), 2 * NAME_SHOWN)),
    }
}

/// What is kept up to date: header, timeline, end.
struct Live {
    head: Head,
    entries: Vec<Entry>,
    from: u32,
    axis: String,
    /// The same for people.
    length: String,
    empty: bool,
    answer: Option<LongText>,
    next: Option<(String, String)>,
}

impl Live {
    fn new(view: &RunView, first: bool) -> Self {
        let run = &view.run;
        let frame = Frame {
            started_at: run.started_at,
            last_at: last_heard(run),
            ended: run.ended_at.is_some(),
            now: view.now,
            first,
            more: view.next.is_some(),
        };
        let timeline = Timeline::new(&view.steps, &view.losses, frame);
        let mut payloads = Payloads::new(run.id);
        let entries: Vec<Entry> = timeline
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Call(call) => Entry::call(call, run, timeline.axis_us, &mut payloads),
                Item::Loss(lost, follows) => Some(Entry::loss(lost, *follows)),
            })
            .collect();
        let next = view.next.map(|from| {
            let lost = match timeline.lost_later {
                0 => String::new(),
                n => format!("{} after this point could not be kept.", count(n, "call", "calls")),
            };
            (run_path(run.id, from), lost)
        });
        Self {
            head: Head::new(view),
            empty: entries.is_empty(),
            entries,
            from: view.from,
            axis: super::call::ms(timeline.axis_us),
            length: duration(timeline.axis_us),
            answer: view
                .final_output
                .as_deref()
                .filter(|a| next.is_none() && !a.trim().is_empty())
                .map(LongText::new),
            next,
        }
    }
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: Shell,
    live: Live,
    /// Where changes are heard of, and where the rows come from.
    stream: Option<String>,
    rows: String,
    first: Option<String>,
}

#[derive(Template)]
#[template(path = "run_live.html")]
struct RunRows {
    live: Live,
}

/// One run with its timeline. While it goes on, its last page keeps itself up to date.
#[must_use]
pub fn run_page(view: &RunView) -> String {
    let id = view.run.id;
    let live = Live::new(view, view.from == 0);
    let title = match view.run.input.as_deref() {
        Some(prompt) => {
            plain(&prompt.trim().lines().next().unwrap_or_default().chars().take(60).collect::<String>())
        }
        None => format!("Run of {}", live.head.began.exact),
    };
    let last_index = view.steps.last().map(|s| s.step_index);
    let follows = view.run.ended_at.is_none() && view.next.is_none();
    print(&RunPage {
        shell: Shell::new(&title, view.viewer.as_ref(), Keys::Run),
        stream: follows.then(|| match last_index {
            Some(index) => format!("/recordings/runs/{id}/stream?after={index}"),
            None => format!("/recordings/runs/{id}/stream"),
        }),
        rows: format!("/runs/{id}/rows"),
        first: (view.from > 0).then(|| run_path(id, 0)),
        live,
    })
}

/// The same run's header, the entries from the index `from` on, and its end: what a page that is open puts in the place of
/// its own. The view's steps are those from that index on.
#[must_use]
pub fn run_rows(view: &RunView, from: u32) -> String {
    let mut live = Live::new(view, from == 0);
    live.from = from;
    print(&RunRows { live })
}
