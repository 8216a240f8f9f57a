//! `bir runs show`: a run as a timeline.

use super::args::ShowArgs;
use super::call::{Call, calls};
use super::wire::{Detail, Summary, read};
use super::{api, find, payload};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use bir_model::RunId;
use bir_model::record::EndReason;
use bir_record::hub::HubClient;
use console::truncate_str;
use jiff::tz::TimeZone;
use serde_json::json;
use std::fmt::Write;

/// How it is shown.
pub(crate) struct Look {
    /// Arguments and results whole.
    pub(crate) full: bool,
    /// Columns of a folded line.
    pub(crate) width: usize,
    /// The zone of times.
    pub(crate) zone: TimeZone,
    /// Now, ms.
    pub(crate) now: u64,
}

impl Look {
    /// As the terminal wants it.
    pub(crate) fn here(full: bool) -> Self {
        Self { full, width: out::fold(), zone: TimeZone::system(), now: time::now_ms() }
    }
}

/// Shows a run.
pub(crate) async fn run(home: &Home, args: &ShowArgs) -> Result<(), CommandError> {
    let mut client = home.swept().await?;
    let id = find::find(&mut client, &args.id).await?;
    print(&mut client, id, args.full, args.json).await
}

/// Prints a run.
pub(crate) async fn print(
    client: &mut HubClient,
    id: RunId,
    full: bool,
    json: bool,
) -> Result<(), CommandError> {
    let whole = api::run(client, id).await.map_err(|e| missing(e, id))?;
    if json {
        return Ok(out::json(&json!({ "run": whole.run, "steps": whole.steps }))?);
    }
    let (detail, calls) = (read::<Detail>(&whole.run)?, calls(&whole.steps)?);
    Ok(out::print(&render(&detail, &calls, &Look::here(full)))?)
}

/// `404` in the words of the command line.
pub(crate) fn missing(e: CommandError, id: RunId) -> CommandError {
    match &e {
        CommandError::Hub(hub) if hub.status() == Some(404) => CommandError::failed(format!(
            "the hub has no run {id}; `bir runs list` shows those that are there"
        )),
        _ => e,
    }
}

/// The page.
pub(crate) fn render(detail: &Detail, calls: &[Call], look: &Look) -> String {
    let mut page = head(detail, look);
    for call in calls {
        page.push('\n');
        page.push_str(&block(call, detail.summary.started_at, look));
    }
    if let Some(answer) = &detail.final_output {
        let _ = write!(page, "\n{}\n", paint::dim("answer"));
        page.push_str(&text(answer, look));
    }
    page
}

fn head(detail: &Detail, look: &Look) -> String {
    let run = &detail.summary;
    let mut page = format!("{} {}\n", paint::bold("run"), paint::name(&run.id.to_string()));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<8}")));
    };
    let mut when = format!("{}, {}", time::instant(run.started_at, &look.zone), run.took(look.now));
    when.push_str(match (run.ended_at, run.end_reason) {
        (None, _) => " so far",
        (_, Some(EndReason::Idle)) => ", ended for want of calls",
        (_, Some(EndReason::Abandoned)) => ", bir-proxy was killed before it ended",
        _ => "",
    });
    field("when", when);
    let host = run.host.as_ref();
    let host = host.map(|h| {
        safe::line(&[h.app.as_str(), h.version.as_deref().unwrap_or_default()].join(" ")).trim().to_owned()
    });
    field("host", format!("{}, {}", host.unwrap_or_else(|| "not known".into()), run.tier));
    if !run.servers.is_empty() {
        field("servers", servers(run));
    }
    if let Some(project) = &run.project {
        field("project", safe::line(project).into_owned());
    }
    let failed = match run.failed_calls {
        0 => String::new(),
        n => format!(", {}", paint::bad(&format!("{n} failed"))),
    };
    field("calls", format!("{}{failed}", run.calls));
    if run.lossy {
        field("lost", paint::bad(&losses(detail)));
    }
    if let Some(prompt) = &run.input {
        let folded = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        let width = look.width.saturating_sub(11);
        let shown = if look.full {
            safe::block(prompt).replace('\n', "\n           ")
        } else {
            cut(&safe::line(&folded), width)
        };
        field("prompt", shown);
    }
    page
}

fn servers(run: &Summary) -> String {
    let one = |server: &bir_model::record::ServerInfo| {
        let mut text = safe::line(&server.name).into_owned();
        let title =
            [server.title.as_deref(), server.version.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        if !title.is_empty() {
            let _ = write!(text, " ({})", safe::line(&title.join(" ")));
        }
        if let Some(era) = server.era {
            let _ = write!(text, " {era}");
        }
        text
    };
    run.servers.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn losses(detail: &Detail) -> String {
    let calls = detail.summary.lost_calls;
    let mut reasons: Vec<String> =
        detail.losses.iter().map(|loss| safe::line(&loss.reason).into_owned()).collect();
    reasons.sort();
    reasons.dedup();
    let count = if calls == 0 { "something of this run".into() } else { size::count(calls, "call") };
    if reasons.is_empty() { count } else { format!("{count} ({})", reasons.join(", ")) }
}

/// One call.
pub(crate) fn block(call: &Call, started_at: u64, look: &Look) -> String {
    let mut page = format!("  {}\n", line(call, started_at));
    for remark in call.remarks() {
        let _ = writeln!(page, "{INDENT}{}", paint::warn(&remark));
    }
    if look.full
        && let Some(context) = call.context()
    {
        let _ = writeln!(page, "{INDENT}{}", paint::dim("thought"));
        page.push_str(&text(context, look));
    }
    if let Some(input) = call.input() {
        page.push_str(&payload_of("→", input, look));
    }
    if look.full
        && let Some(input) = call.model_input()
    {
        let _ = writeln!(page, "{INDENT}{}", paint::dim("as the model wrote it"));
        page.push_str(&payload_of("→", input, look));
    }
    for leg in call.legs() {
        let _ = writeln!(page, "{INDENT}{}", paint::dim(&format!("round {}", leg.leg)));
        page.push_str(&payload_of("?", &leg.asked, look));
        match &leg.answered {
            Some(answer) => page.push_str(&payload_of("!", answer, look)),
            None => {
                let _ = writeln!(page, "{INDENT}! {}", paint::warn("never answered"));
            }
        }
    }
    if let Some(output) = call.output() {
        page.push_str(&payload_of("←", output, look));
    }
    page
}

/// Under a call.
const INDENT: &str = "             ";

/// The line of a call: when, how long, how it ended, what.
pub(crate) fn line(call: &Call, started_at: u64) -> String {
    let offset = time::offset(call.at().saturating_sub(started_at));
    let nothing = if call.end.is_none() { "…" } else { "–" };
    let took = call.duration().map_or_else(|| nothing.into(), time::span);
    let outcome = call.outcome();
    let mark = outcome.map_or("running", bir_model::Outcome::as_str);
    format!(
        "{}  {took:>9}  {}  {}",
        paint::dim(&format!("{offset:>9}")),
        paint::outcome(outcome, &format!("{mark:<10}")),
        paint::bold(&call.name())
    )
}

fn payload_of(arrow: &str, payload: &str, look: &Look) -> String {
    let arrow = paint::dim(arrow);
    if look.full {
        let text = payload::whole(payload).replace('\n', &format!("\n{INDENT}  "));
        return format!("{INDENT}{arrow} {text}\n");
    }
    let width = look.width.saturating_sub(INDENT.len() + 2).max(20);
    format!("{INDENT}{arrow} {}\n", cut(&payload::folded(payload), width))
}

fn text(text: &str, look: &Look) -> String {
    if look.full {
        return format!("{INDENT}{}\n", safe::block(text).replace('\n', &format!("\n{INDENT}")));
    }
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{INDENT}{}\n", cut(&safe::line(&folded), look.width.saturating_sub(INDENT.len()).max(20)))
}

fn cut(text: &str, width: usize) -> String {
    truncate_str(text, width, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::call::samples;
    use super::*;

    fn page(full: bool, lossy: bool) -> String {
        let detail = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "standalone", "lossy": lossy, "lostCalls": 2,
            "losses": [{"runId": "run_01970000-0000-7000-8000-000000000001", "id": "step_01970000-0000-7000-8000-000000000001", "calls": 2, "records": 4, "reason": "backlog", "at": 1}],
            "input": null, "project": "/p", "host": {"app": "codex", "version": "1.0"}, "servers": [{"name": "s", "title": "Everything", "version": "2", "era": "legacy"}],
            "startedAt": 1_000, "endedAt": 2_500, "endReason": "closed", "lastAt": 2_500, "calls": 3, "failedCalls": 1});
        let mut rows = Vec::new();
        rows.extend(samples::rows(0, "echo", json!({"message": "hi"}), samples::text("Echo:\nhi"), "ok"));
        rows.extend(samples::rows(
            1,
            "fail\u{1b}[31m",
            json!({}),
            json!({"code": -1, "message": "no"}),
            "rpc_error",
        ));
        let mut third = samples::rows(2, "slow", json!({"n": 1}), samples::text("x"), "ok");
        third[1]["legs"] = json!([{"leg": 1, "asked": "{\"q\":1}", "askedAt": 1}]);
        third[1]["truncated"] = true.into();
        third[1]["originalBytes"] = 70_000.into();
        rows.extend(third);
        let look = Look { full, width: 60, zone: TimeZone::UTC, now: 9_000 };
        let text = render(&read(&detail).unwrap(), &calls(&rows).unwrap(), &look);
        assert_eq!(safe::last_look(&text), text, "nothing hidden is in it");
        console::strip_ansi_codes(&text).into_owned()
    }

    #[test]
    fn a_run_is_a_timeline() {
        let expected = "\
run run_01970000-0000-7000-8000-000000000001
  when     1970-01-01 00:00:01, 1.50 s
  host     codex 1.0, standalone
  servers  s (Everything 2) legacy
  project  /p
  calls    3, 1 failed
  lost     2 calls (backlog)

     +0.000     5.2 ms  ok          s/echo
             → {\"message\":\"hi\"}
             ← Echo: hi

     +0.100     5.2 ms  rpc_error   s/fail␛[31m
             → {}
             ← no (-1)

     +0.200     5.2 ms  ok          s/slow
             result of 68 KiB cut
             → {\"n\":1}
             round 1
             ? {\"q\":1}
             ! never answered
             ← x
";
        assert_eq!(page(false, true), expected);
        assert!(!page(false, false).contains("lost"));
    }

    #[test]
    fn whole_payloads_keep_their_lines() {
        let shown = format!("{INDENT}→ {{\n{INDENT}    \"message\": \"hi\"\n{INDENT}  }}\n");
        assert!(page(true, false).contains(&shown));
    }
}
