//! `bir runs show`: a run as a timeline.

use super::args::ShowArgs;
use super::call::{Call, calls};
use super::wire::{Detail, Summary, read};
use super::{api, find, payload};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, size, time};
use bir_model::record::EndReason;
use bir_model::{RunId, Tier, TurnTokens};
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
    let id = find::find(home, &mut client, &args.id).await?;
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
        return Ok(out::json(&json!({ "run": whole.run, "steps": whole.steps, "tools": whole.tools }))?);
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
        page.push_str(&block(call, &detail.summary, look));
    }
    if let Some(answer) = &detail.final_output {
        let _ = write!(page, "\n  {}\n", paint::dim("answer"));
        page.push_str(&text(answer.trim_end()));
    }
    page
}

/// A prompt beside a name of twelve columns.
fn prompt(text: &str, look: &Look) -> String {
    if look.full {
        return safe::block(text.trim_end()).replace('\n', "\n           ");
    }
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&safe::line(&folded), look.width.saturating_sub(11).max(20))
}

/// `12,345 in (10,000 from a cache), 678 out`, and the models.
fn tokens(tokens: &TurnTokens) -> String {
    let all = &tokens.totals;
    let least = if tokens.at_least() { "at least " } else { "" };
    let cached = match all.cache_read_tokens {
        0 => String::new(),
        n => format!(" ({} from a cache)", size::grouped(n)),
    };
    let models: Vec<_> = tokens.models.keys().map(|name| safe::line(name).into_owned()).collect();
    let models = if models.is_empty() { String::new() } else { format!(", {}", models.join(", ")) };
    format!(
        "{least}{} in{cached}, {} out{models}",
        size::grouped(all.all_input()),
        size::grouped(all.output_tokens)
    )
}

fn head(detail: &Detail, look: &Look) -> String {
    let run = &detail.summary;
    let mut page = format!("{} {}\n", paint::bold("run"), paint::name(&run.id.to_string()));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {value}", paint::dim(&format!("{name:<8}")));
    };
    if let Some(text) = &run.input {
        field("prompt", prompt(text, look));
    }
    let mut when = format!("{}, {}", time::instant(run.started_at, &look.zone), run.took(look.now));
    when.push_str(match (run.ended_at, run.end_reason) {
        (None, _) => " so far",
        (_, Some(EndReason::Idle)) => ", ended for want of calls",
        (_, Some(EndReason::Abandoned)) => ", its recorder was killed before it ended",
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
    if let Some(used) = detail.tokens() {
        field("tokens", tokens(&used));
    }
    if let Some(session) = detail.session_id.as_ref().filter(|_| look.full) {
        field("session", safe::line(session).into_owned());
    }
    if let Some(join) = detail.join() {
        field("joined", join.into());
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
    let mut reasons: Vec<String> = detail.losses.iter().map(|loss| reason(&loss.reason)).collect();
    reasons.sort();
    reasons.dedup();
    let nothing = detail.losses.iter().all(|loss| loss.reason == DOWNGRADE) && !reasons.is_empty();
    let count = match calls {
        0 if nothing => "nothing that is known of".into(),
        0 => "something of this run".into(),
        n => size::count(n, "call"),
    };
    if reasons.is_empty() { count } else { format!("{count} ({})", reasons.join(", ")) }
}

/// The reason of a run that a proxy began because the control server was gone.
const DOWNGRADE: &str = "downgrade";

fn reason(name: &str) -> String {
    if name == DOWNGRADE {
        return "downgrade: the control server was gone, so what hooks saw stands in another run".into();
    }
    safe::line(name).into_owned()
}

/// One call.
pub(crate) fn block(call: &Call, run: &Summary, look: &Look) -> String {
    let mut page = format!("  {}\n", line(call, run.started_at, run.tier));
    for remark in call.remarks() {
        let _ = writeln!(page, "{INDENT}{}", paint::warn(&remark));
    }
    if let Some(context) = call.rows().context() {
        if look.full {
            let _ = writeln!(page, "{INDENT}{}", paint::dim("the model before it"));
            page.push_str(&text(context));
        } else {
            page.push_str(&said(context, look));
        }
    }
    if let Some(input) = call.rows().model_input() {
        let _ = writeln!(page, "{INDENT}{}", paint::dim("as the model wrote it, and as it ran"));
        page.push_str(&payload_of("→", input, look));
    }
    if let Some(input) = call.input() {
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

/// The line of a call: when, how long, how it ended, what, and in a bound run who saw it. A sub-agent's is set in.
pub(crate) fn line(call: &Call, started_at: u64, tier: Tier) -> String {
    let offset = time::offset(call.at().saturating_sub(started_at));
    let nothing = if call.end.is_none() { "…" } else { "–" };
    let took = call.duration().map_or_else(|| nothing.into(), time::span);
    let outcome = call.outcome();
    let mark = outcome.map_or("running", bir_model::Outcome::as_str);
    let seen = call.seen_by().filter(|_| tier == Tier::Bound).map(|by| format!("  {}", paint::dim(by)));
    format!(
        "{}  {took:>9}  {}  {}{}{}",
        paint::dim(&format!("{offset:>9}")),
        paint::outcome(outcome, &format!("{mark:<10}")),
        if call.rows().agent_id().is_some() { "└ " } else { "" },
        paint::bold(&call.name()),
        seen.unwrap_or_default()
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

/// What the model said before a call, as one line.
fn said(text: &str, look: &Look) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let width = look.width.saturating_sub(INDENT.len() + 2).max(20);
    format!("{INDENT}{} {}\n", paint::dim("·"), cut(&safe::line(&folded), width))
}

/// A text with its line breaks.
fn text(text: &str) -> String {
    format!("{INDENT}{}\n", safe::block(text).replace('\n', &format!("\n{INDENT}")))
}

fn cut(text: &str, width: usize) -> String {
    truncate_str(text, width, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::call::samples;
    use super::*;
    use serde_json::Value;

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
    fn a_bound_run_is_a_turn_from_prompt_to_answer() {
        let detail = json!({"id": "run_01970000-0000-7000-8000-000000000001", "tier": "bound", "lossy": true, "lostCalls": 0,
            "losses": [{"runId": "run_01970000-0000-7000-8000-000000000001", "id": "step_01970000-0000-7000-8000-000000000001", "calls": 0, "records": 0, "reason": "downgrade", "at": 1}],
            "input": "count the\n\u{1b}words", "host": {"app": "claude-code", "version": "2.1"}, "servers": [{"name": "s"}],
            "startedAt": 1_000, "endedAt": 2_500, "endReason": "closed", "lastAt": 2_500, "calls": 2, "failedCalls": 1,
            "finalOutput": "three\nwords", "sessionId": "abc", "metadata": {"join": "call_id"},
            "metrics": {"models": {"m-1": {"inputTokens": 20}}, "totals": {"inputTokens": 20, "outputTokens": 1_234, "cacheReadTokens": 100}, "compaction": true}});
        let mut first = samples::rows(0, "Bash", json!({"command": "wc"}), json!({"stdout": "3"}), "ok");
        for row in &mut first {
            (row["server"], row["sources"]) = (Value::Null, json!(["hook"]));
        }
        first[0]["context"] = "I count them".into();
        let mut second = samples::rows(1, "echo", json!({"m": 1}), samples::text("x"), "denied");
        (second[0]["sources"], second[1]["sources"]) = (json!(["hook"]), json!(["proxy"]));
        second[0]["agentId"] = "a1".into();
        second[1]["toolInput"] = "{\"m\":2}".into();
        let calls = calls(&[first, second].concat()).unwrap();
        let shown = |full| {
            let look = Look { full, width: 60, zone: TimeZone::UTC, now: 9_000 };
            console::strip_ansi_codes(&render(&read(&detail).unwrap(), &calls, &look)).into_owned()
        };
        let expected = "\
run run_01970000-0000-7000-8000-000000000001
  prompt   count the ␛words
  when     1970-01-01 00:00:01, 1.50 s
  host     claude-code 2.1, bound
  servers  s
  calls    2, 1 failed
  lost     nothing that is known of (downgrade: the control server was gone, so what hooks saw stands in another run)
  tokens   at least 120 in (100 from a cache), 1,234 out, m-1
  joined   exact, by the host's id of a call

     +0.000     5.2 ms  ok          Bash  seen by hook
             · I count them
             → {\"command\":\"wc\"}
             ← {\"stdout\":\"3\"}

     +0.100     5.2 ms  denied      └ s/echo  seen by hook+proxy
             asked by sub-agent a1
             as the model wrote it, and as it ran
             → {\"m\":1}
             → {\"m\":2}
             ← x

  answer
             three
             words
";
        assert_eq!(shown(false), expected);
        let full = shown(true);
        for part in [
            "  session  abc\n  joined   exact, by the host's id of a call\n",
            "count the\n           ␛words",
            "the model before it\n",
        ] {
            assert!(full.contains(part), "{part}: {full}");
        }
    }

    #[test]
    fn whole_payloads_keep_their_lines() {
        let shown = format!("{INDENT}→ {{\n{INDENT}    \"message\": \"hi\"\n{INDENT}  }}\n");
        assert!(page(true, false).contains(&shown));
    }
}
