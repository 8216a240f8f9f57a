//! `bir runs grep`: calls that hold a text, with what stands around it.

use super::args::GrepArgs;
use super::call::of_steps;
use super::wire::read;
use super::{api, find, payload};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, time};
use crate::say;
use bir_model::RunId;
use bir_model::record::Step;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::collections::HashMap;

/// Letters around a hit.
const AROUND: usize = 40;
/// Hits of one row that are shown.
const HITS: usize = 3;

/// Looks for a text.
pub(crate) async fn run(home: &Home, args: &GrepArgs) -> Result<(), CommandError> {
    if args.text.is_empty() {
        return Err(CommandError::usage("nothing is looked for; give a text"));
    }
    let mut query = args.filter.query()?;
    query.push(("q", args.text.clone()));
    let mut client = home.swept().await?;
    // The hub does not tell upper from lower case, so the limit counts what is left here.
    let keep = |row: &Value| !args.case || texts(row).any(|text| text.contains(&args.text));
    let rows = api::search(&mut client, &query, args.limit, keep).await?;
    if args.json {
        out::json(&rows)?;
    } else if rows.is_empty() {
        say("no call holds this text; prompts and answers are not searched");
    }
    if rows.is_empty() {
        // As grep does.
        return Err(CommandError::Nothing);
    }
    if args.json {
        return Ok(());
    }
    let steps = rows.iter().map(read::<Step>).collect::<Result<Vec<_>, _>>()?;
    Ok(out::print(&page(&steps, &args.text, args.case, &TimeZone::system()))?)
}

/// What of a row is searched.
fn texts(row: &Value) -> impl Iterator<Item = &str> {
    ["toolName", "server", "tool", "toolInput", "modelInput", "toolOutput", "toolError", "context"]
        .into_iter()
        .filter_map(move |key| row[key].as_str())
}

fn page(steps: &[Step], needle: &str, case: bool, zone: &TimeZone) -> String {
    let runs: Vec<RunId> = steps.iter().map(|step| step.run_id).collect();
    let shown: HashMap<RunId, String> = runs.iter().copied().zip(find::short(&runs)).collect();
    let mut out = String::new();
    // The rows of a run stand together.
    for rows in steps.chunk_by(|a, b| a.run_id == b.run_id) {
        let Some(first) = rows.first() else { continue };
        let id = shown.get(&first.run_id).map_or("", String::as_str);
        out.push_str(&format!("{} {}\n", paint::name(id), paint::dim(&time::instant(first.at, zone))));
        for call in of_steps(rows.iter().cloned()) {
            let agent = call.rows().agent_id().map(|id| format!("  sub-agent {}", safe::line(id)));
            let agent = paint::dim(&agent.unwrap_or_default());
            out.push_str(&format!("  {}{agent}\n", marked(&call.name(), needle, case)));
            for step in [&call.begin, &call.end].into_iter().flatten() {
                out.push_str(&places(step, needle, case));
            }
        }
    }
    out
}

/// Where in a row the text stands.
fn places(step: &Step, needle: &str, case: bool) -> String {
    let mut out = String::new();
    for (arrow, text) in [
        ("·", &step.context),
        ("→", &step.tool_input),
        ("→", &step.model_input),
        ("←", &step.tool_output),
        ("←", &step.tool_error),
    ] {
        let Some(text) = text else { continue };
        for excerpt in excerpts(&readable(text, needle, case), needle, case) {
            out.push_str(&format!("    {} {}\n", paint::dim(arrow), marked(&excerpt, needle, case)));
        }
    }
    out
}

/// The form of a payload in which the text is found: what it says, else as it stands.
fn readable(text: &str, needle: &str, case: bool) -> String {
    let folded = payload::folded(text);
    if hits(&folded, needle, case).is_empty() { safe::line(text).into_owned() } else { folded }
}

/// Where the needle stands, in bytes.
fn hits(text: &str, needle: &str, case: bool) -> Vec<(usize, usize)> {
    if needle.is_empty() {
        return Vec::new();
    }
    if case {
        return text.match_indices(needle).map(|(at, found)| (at, at + found.len())).collect();
    }
    let wanted: Vec<char> = needle.chars().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    let mut after = 0;
    for (at, _) in text.char_indices() {
        if at < after {
            continue;
        }
        let mut rest = wanted.iter();
        let mut end = at;
        let mut fits = true;
        for c in text[at..].chars() {
            if rest.as_slice().is_empty() {
                break;
            }
            fits = c.to_lowercase().all(|lower| rest.next() == Some(&lower));
            if !fits {
                break;
            }
            end += c.len_utf8();
        }
        if fits && rest.as_slice().is_empty() {
            found.push((at, end));
            after = end;
        }
    }
    found
}

/// What stands around each hit.
fn excerpts(text: &str, needle: &str, case: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut shown_to = 0;
    for (from, to) in hits(text, needle, case) {
        if out.len() == HITS {
            break;
        }
        if to <= shown_to {
            continue;
        }
        let start = text[..from].char_indices().rev().take(AROUND).last().map_or(from, |(at, _)| at);
        let end = text[to..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| to + at);
        let (head, tail) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        out.push(format!("{head}{}{tail}", &text[start..end]));
        shown_to = end;
    }
    out
}

/// The text with its hits in colour.
fn marked(text: &str, needle: &str, case: bool) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for (from, to) in hits(text, needle, case) {
        out.push_str(&text[done..from]);
        out.push_str(&paint::hit(&text[from..to]));
        done = to;
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::super::call::samples;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn hits_are_found_in_either_case() {
        for (text, needle, case, found) in [
            ("Paris paris", "paris", false, vec![(0, 5), (6, 11)]),
            ("Paris paris", "paris", true, vec![(6, 11)]),
            ("ÜBER über", "über", false, vec![(0, 5), (6, 11)]),
            ("aaa", "aa", false, vec![(0, 2)]),
            ("aab", "ab", false, vec![(1, 3)]),
            ("pari", "paris", false, vec![]),
            ("x", "", false, vec![]),
        ] {
            assert_eq!(hits(text, needle, case), found, "{text} {needle}");
        }
    }

    #[test]
    fn an_excerpt_is_what_stands_around() {
        let text = format!("{}needle{}", "ä".repeat(100), "z".repeat(100));
        assert_eq!(
            excerpts(&text, "needle", true),
            [format!("…{}needle{}…", "ä".repeat(40), "z".repeat(40))]
        );
        assert_eq!(excerpts("a needle", "needle", true), ["a needle"]);
        assert_eq!(excerpts(&"x ".repeat(500), "x", true).len(), HITS);
    }

    #[test]
    fn a_page_names_run_call_and_place() {
        let rows = samples::rows(0, "echo", json!({"m": "Rome\u{1b}[2J"}), samples::text("to rome"), "ok");
        let steps: Vec<Step> = rows.iter().map(|row| read(row).unwrap()).collect();
        let page = page(&steps, "rome", false, &TimeZone::UTC);
        assert_eq!(
            console::strip_ansi_codes(&page),
            "019700000000 1970-01-01 00:00:01\n  s/echo\n    → {\"m\":\"Rome\\u001b[2J\"}\n    ← to rome\n"
        );
    }

    #[test]
    fn a_call_has_one_heading_with_the_names_that_either_row_tells() {
        let call = |n: u32| {
            let mut rows = samples::rows(n, "echo", json!({"m": "Rome"}), samples::text("to rome"), "ok");
            rows[0]["toolName"] = "mcp__s__echo".into();
            (rows[0]["server"], rows[0]["tool"]) = (Value::Null, Value::Null);
            rows
        };
        let (a, b) = (call(0), call(1));
        // Side by side, as the rows of calls at once are.
        let rows = [&a[0], &b[0], &a[1], &b[1]];
        let steps: Vec<Step> = rows.into_iter().map(|row| read(row).unwrap()).collect();
        let page = page(&steps, "rome", false, &TimeZone::UTC);
        let one = "  s/echo\n    → {\"m\":\"Rome\"}\n    ← to rome\n";
        let shown = console::strip_ansi_codes(&page).into_owned();
        assert!(shown.ends_with(&format!("\n{one}{one}")) && shown.matches("echo").count() == 2, "{shown}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>(), needle in any::<String>(), case in any::<bool>()) {
            let _ = excerpts(&text, &needle, case);
            prop_assert_eq!(console::strip_ansi_codes(&marked(&safe::line(&text), &needle, case)).into_owned(), safe::line(&text));
        }
    }
}
