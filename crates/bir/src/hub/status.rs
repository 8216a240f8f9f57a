//! `bir status`: the hub, what waits for it, the control server, whether anything is recorded.

use super::up::elsewhere;
use super::wrapped::Wrapped;
use super::{Embedded, embedded, ticket};
use crate::control::report::Bound;
use crate::error::CommandError;
use crate::home::{Home, NOT_RUNNING, block_on};
use crate::out::{self, paint, safe, size, time};
use crate::runs::wire::{Summary, read};
use crate::runs::{api, short_id};
use bir_home::off::{self, Reach};
use bir_record::hub::{HubClient, HubError, Origin};
use bir_record::spool::SpoolStats;
use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// How long the hub may take to answer here.
const ANSWER: Duration = Duration::from_secs(5);

/// How a program reads that `bir off` was said.
const BY_FILE: &str = "the file off";

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// Print an object.
    #[arg(long)]
    json: bool,
}

/// The hub that is in use.
#[derive(Default)]
struct Hub {
    /// `embedded`, `login`, `environment`; None: none is known.
    kind: Option<&'static str>,
    url: Option<String>,
    pid: Option<u32>,
    version: Option<String>,
    store: Option<String>,
    /// None: it answers, and accepts the token.
    trouble: Option<String>,
    last: Option<Value>,
}

/// The off switch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Off {
    No,
    /// Everywhere, and by what.
    Everywhere(&'static str),
    /// In these directories and below.
    In(Vec<String>),
    /// Everywhere, since the configuration is not understood, and why.
    Unclear(String),
}

/// Says how things are.
pub(crate) fn run(args: &StatusArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    let (hub, bound) = block_on(async { Ok(tokio::join!(look(&home), Bound::look(&home.dir))) })?;
    let hub = hub?;
    // What a crash has left is mended by whoever comes next; without a state directory there is nothing to be left.
    let wrapped = Wrapped::look(&home);
    let spool = home.spool().stats();
    let off = match (switch(&home.dir), &home.unclear) {
        (by @ Off::Everywhere(_), _) => by,
        (_, Some(why)) => Off::Unclear(why.clone()),
        (off, None) => off,
    };
    if args.json {
        return Ok(out::json(&as_json(&home, &hub, &spool, &off, &bound, &wrapped))?);
    }
    let (zone, here) = (TimeZone::system(), off::is_off());
    let mut page = page(&hub, &spool, &off, here, home.has_runs(), home.how_to_begin(), &zone);
    bound.lines(&zone, &wrapped.names()).into_iter().for_each(|(name, value)| field(&mut page, name, &value));
    wrapped.lines().into_iter().for_each(|(name, value)| field(&mut page, name, &value));
    let dir = crate::project::here()?;
    if wrapped.is_everywhere() && bound.leaves_out(&dir.canonicalize().unwrap_or(dir)) {
        let text = "no project is set up here, so that each server's calls become a run of their own; `bir install` sets it up";
        field(&mut page, "here", &paint::warn(text));
    }
    Ok(out::print(&page)?)
}

async fn look(home: &Home) -> Result<Hub, CommandError> {
    let mut hub = Hub::default();
    let client = match elsewhere(home)? {
        Some(client) => {
            hub.kind =
                Some(if client.destination().origin == Origin::Login { "login" } else { "environment" });
            Some(client)
        }
        None => match embedded(&home.dir).await {
            Embedded::None => None,
            Embedded::Runs(found, _) => {
                (hub.kind, hub.pid) = (Some("embedded"), Some(found.pid));
                Some(super::client(&home.dir, &found))
            }
            Embedded::Silent(found) => {
                (hub.kind, hub.url) = (Some("embedded"), Some(found.url));
                hub.trouble = Some(
                    "it does not answer; it was ended without a word, or hangs: start it with `bir up`"
                        .into(),
                );
                None
            }
            Embedded::Other(found) => {
                (hub.kind, hub.url) = (Some("embedded"), Some(found.url));
                hub.trouble = Some("another program answers there; start the hub with `bir up`".into());
                None
            }
        },
    };
    if let Some(mut client) = client {
        hub.url = Some(client.destination().shown());
        let asked = tokio::time::timeout(ANSWER, ask(&mut client, &mut hub)).await;
        hub.trouble = match asked {
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(e.to_string()),
            Err(_) => Some(format!("it does not answer within {} s", ANSWER.as_secs())),
        };
    }
    Ok(hub)
}

async fn ask(client: &mut HubClient, hub: &mut Hub) -> Result<(), CommandError> {
    let health = client.health().await?;
    (hub.version, hub.store) = (Some(health.version), Some(health.store));
    match api::runs(client, &[], 1).await {
        Ok(runs) => hub.last = runs.into_iter().next(),
        // An operator of the hub sees its health and no runs.
        Err(CommandError::Hub(HubError::Refused { status: 403, .. })) => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

/// The off switch as the proxy reads it: `BIR_OFF`, else the file `off`.
pub(crate) fn switch(dir: &Path) -> Off {
    if off::switch("BIR_OFF") {
        return Off::Everywhere("BIR_OFF");
    }
    match off::reach(dir) {
        Reach::Nowhere => Off::No,
        Reach::Everywhere => Off::Everywhere(BY_FILE),
        Reach::In(lines) => Off::In(lines),
    }
}

fn as_json(home: &Home, hub: &Hub, spool: &SpoolStats, off: &Off, bound: &Bound, wrapped: &Wrapped) -> Value {
    let (everywhere, by, directories) = match off {
        Off::No => (false, None, Vec::new()),
        Off::Everywhere(by) => (true, Some(*by), Vec::new()),
        Off::In(list) => (false, None, list.clone()),
        Off::Unclear(_) => (true, Some(bir_record::config::FILE), Vec::new()),
    };
    let why = if let Off::Unclear(why) = off { Some(why) } else { None };
    json!({
        "stateDir": home.dir,
        "hub": {
            "kind": hub.kind, "url": hub.url, "pid": hub.pid, "reachable": hub.kind.is_some() && hub.trouble.is_none(),
            "version": hub.version, "store": hub.store, "trouble": hub.trouble,
        },
        "console": hub.url.as_ref().map(|url| format!("{url}/")),
        "spool": { "runs": spool.runs, "segments": spool.segments, "bytes": spool.bytes, "oldest": spool.oldest },
        "off": { "everywhere": everywhere, "by": by, "why": why, "directories": directories, "here": everywhere || off::is_off() },
        "bound": bound.json(),
        "installed": wrapped.json(),
        "lastRun": hub.last,
    })
}

fn field(page: &mut String, name: &str, value: &str) {
    let _ = writeln!(page, "{} {value}", paint::dim(&format!("{name:<9}")));
}

fn page(
    hub: &Hub,
    spool: &SpoolStats,
    off: &Off,
    here: bool,
    kept: bool,
    begin: &str,
    zone: &TimeZone,
) -> String {
    let mut page = String::new();
    let mut field = |name: &str, value: String| field(&mut page, name, &value);
    field("hub", if hub.kind.is_none() && kept { NOT_RUNNING.into() } else { hub_line(hub) });
    if let (Some(url), None) = (&hub.url, &hub.trouble) {
        // Nobody has a password for the hub of this machine.
        let how = match hub.kind {
            Some("embedded") => format!("  `bir up` prints a link that signs you in ({})", ticket::LIFE),
            _ => String::new(),
        };
        field("console", format!("{}/{}", safe::line(url), paint::dim(&how)));
    }
    field(
        "waiting",
        match spool.runs {
            0 => "nothing".into(),
            runs => {
                let oldest = spool.oldest.map(|ms| format!(", the oldest since {}", time::instant(ms, zone)));
                format!(
                    "{}, {}{}",
                    size::count(runs, "run"),
                    size::bytes(spool.bytes),
                    oldest.unwrap_or_default()
                )
            }
        },
    );
    field(
        "recording",
        match off {
            Off::No => paint::good("on"),
            Off::Everywhere(BY_FILE) => {
                paint::warn("off, switched off with `bir off`; `bir on` switches it on")
            }
            Off::Everywhere(by) => paint::warn(&format!("off, by the variable {by}")),
            Off::Unclear(why) => paint::warn(&format!("off: {}", safe::line(why))),
            Off::In(list) => in_directories(list, here),
        },
    );
    if let Some(run) = hub.last.as_ref().and_then(|run| read::<Summary>(run).ok()) {
        let calls = size::count(run.calls.into(), "call");
        let failed =
            if run.failed_calls > 0 { format!(", {} failed", run.failed_calls) } else { String::new() };
        let when = time::instant(run.started_at, zone);
        field("last run", format!("{}  {when}  {calls}{failed}", paint::name(&short_id(run.id))));
    } else if hub.kind.is_some() && hub.trouble.is_none() {
        field(
            "last run",
            match spool.runs {
                0 => format!("none yet; {begin}"),
                1 => "none has reached the hub yet; 1 waits in the spool and is sent within seconds".into(),
                n => {
                    format!("none has reached the hub yet; {n} wait in the spool and are sent within seconds")
                }
            },
        );
    }
    page
}

/// Where it is off; `here`: in the working directory as well.
fn in_directories(list: &[String], here: bool) -> String {
    let listed = format!("off in {}", safe::line(&list.join(", ")));
    let listed = if here { paint::warn(&format!("{listed}, so here as well")) } else { listed };
    let mistake = list.iter().any(|line| !Path::new(line).is_absolute());
    let hint = if mistake { "; a line that is no absolute path switches nothing off" } else { "" };
    format!("{listed}{}", paint::warn(hint))
}

fn hub_line(hub: &Hub) -> String {
    let Some(kind) = hub.kind else {
        return format!(
            "{}; start one with `bir up`, or sign in to one with `bir login --server URL`",
            paint::warn("none")
        );
    };
    let kind = match kind {
        "embedded" => "on this machine",
        "login" => "signed in",
        _ => "from BIR_HUB_URL",
    };
    let url = safe::line(hub.url.as_deref().unwrap_or_default()).into_owned();
    match &hub.trouble {
        Some(trouble) => format!("{url}  {kind}  {}", paint::bad(&safe::line(trouble))),
        None => {
            let pid = hub.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
            let version = safe::line(hub.version.as_deref().unwrap_or_default()).into_owned();
            format!("{url}  {kind}  {}  version {version}{pid}", paint::good("answers"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_off_switch_is_read_as_the_proxy_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(switch(dir.path()), Off::No);
        for (text, expected) in [
            ("", Off::Everywhere(BY_FILE)),
            ("# why\n", Off::Everywhere(BY_FILE)),
            ("/a\n# b\n /c \n", Off::In(vec!["/a".into(), "/c".into()])),
        ] {
            std::fs::write(dir.path().join("off"), text).unwrap();
            assert_eq!(switch(dir.path()), expected);
        }
    }

    #[test]
    fn a_status_is_a_few_lines() {
        let last = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "standalone", "startedAt": 1_000, "lastAt": 1, "calls": 3, "failedCalls": 1});
        let hub = Hub {
            kind: Some("embedded"),
            url: Some("http://127.0.0.1:7411".into()),
            pid: Some(7),
            version: Some("0.1\u{1b}[1m".into()),
            last: Some(last),
            ..Hub::default()
        };
        let spool = SpoolStats { runs: 2, segments: 3, bytes: 4096, oldest: Some(2_000) };
        let plain = |hub: &Hub, spool: &SpoolStats, off: &Off| {
            console::strip_ansi_codes(&page(hub, spool, off, false, false, "begin", &TimeZone::UTC))
                .into_owned()
        };
        assert_eq!(
            plain(&hub, &spool, &Off::No),
            "hub       http://127.0.0.1:7411  on this machine  answers  version 0.1␛[1m, process 7\n\
             console   http://127.0.0.1:7411/  `bir up` prints a link that signs you in (once, within 10 minutes)\n\
             waiting   2 runs, 4.0 KiB, the oldest since 1970-01-01 00:00:02\n\
             recording on\n\
             last run  019700000000  1970-01-01 00:00:01  3 calls, 1 failed\n"
        );
        let none = plain(&Hub::default(), &SpoolStats::default(), &Off::Everywhere("BIR_OFF"));
        assert!(
            none.starts_with("hub       none; start one with `bir up`")
                && none.contains("off, by the variable BIR_OFF"),
            "{none}"
        );
        let listed = |here| {
            let list = [String::from("/a"), String::from("b\u{1b}")];
            console::strip_ansi_codes(&in_directories(&list, here)).into_owned()
        };
        assert_eq!(listed(false), "off in /a, b␛; a line that is no absolute path switches nothing off");
        assert!(listed(true).starts_with("off in /a, b␛, so here as well;"));
    }
}
