//! `bir runs diff`: two runs beside each other, aligned by tool and order.
//!
//! ```text
//!  a b b c     a ─ a
//!  a b c d     b ─ b   changed arguments, result, outcome
//!              b ─     only in A
//!              c ─ c
//!                ─ d   only in B
//! ```

use super::args::DiffArgs;
use super::call::{Call, calls};
use super::json_diff::{Change, diff_texts};
use super::wire::{Detail, read};
use super::{api, find};
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, paint, safe, time};
use console::truncate_str;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// Calls of a run beyond what is the same at both ends, up to which the best alignment is calculated. Longer ones are paired in order.
const ALIGNED: usize = 2_000;
/// Changes of one call that are shown.
const SHOWN: usize = 12;

/// A call of either run, or of both.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Pair {
    a: Option<usize>,
    b: Option<usize>,
}

/// Compares two runs.
pub(crate) async fn run(home: &Home, args: &DiffArgs) -> Result<(), CommandError> {
    let mut client = home.swept().await?;
    let mut sides = Vec::new();
    for text in [&args.a, &args.b] {
        let id = find::find(home, &mut client, text).await?;
        let whole = api::run(&mut client, id).await.map_err(|e| super::show::missing(e, id))?;
        sides.push((read::<Detail>(&whole.run)?, calls(&whole.steps)?));
    }
    let [(run_a, a), (run_b, b)] = sides.as_slice() else { return Ok(()) };
    let pairs = align(a, b);
    if args.json {
        let list: Vec<Value> = pairs.iter().map(|pair| as_json(*pair, a, b)).collect();
        return Ok(out::json(&list)?);
    }
    let mut page = head(run_a, run_b, &TimeZone::system(), time::now_ms(), out::fold());
    page.push_str(&render(&pairs, a, b, out::fold()));
    page.push_str(&answers(run_a, run_b, out::fold()));
    Ok(out::print(&page)?)
}

/// Both runs with what was asked.
fn head(a: &Detail, b: &Detail, zone: &TimeZone, now: u64, width: usize) -> String {
    let mut page = String::new();
    let short = find::short(&[a.summary.id, b.summary.id]);
    for ((mark, run), id) in [(paint::bad("-"), a), (paint::good("+"), b)].into_iter().zip(short) {
        let run = &run.summary;
        let (when, took) = (time::instant(run.started_at, zone), run.took(now));
        page.push_str(&format!("{mark} {}  {when}  {took}  {} calls\n", paint::name(&id), run.calls));
        if let Some(prompt) = &run.input {
            page.push_str(&format!("  {}\n", one_line(prompt, width.saturating_sub(2))));
        }
    }
    page.push('\n');
    page
}

/// The final answers, where they differ.
fn answers(a: &Detail, b: &Detail, width: usize) -> String {
    let (a, b) = (a.final_output.as_deref(), b.final_output.as_deref());
    if a == b {
        return String::new();
    }
    let mut page = format!("\n{} answer\n", paint::warn("~"));
    for (answer, mark) in [(a, paint::bad("-")), (b, paint::good("+"))] {
        if let Some(answer) = answer {
            page.push_str(&format!("    {mark} {}\n", one_line(answer, width.saturating_sub(6))));
        }
    }
    page
}

fn one_line(text: &str, width: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_str(&safe::line(&folded), width.max(20), "…").into_owned()
}

/// Which call stands beside which.
fn align(a: &[Call], b: &[Call]) -> Vec<Pair> {
    let (keys_a, keys_b): (Vec<_>, Vec<_>) =
        (a.iter().map(Call::key).collect(), b.iter().map(Call::key).collect());
    let same = |i: usize, j: usize| keys_a[i] == keys_b[j];
    let equal = |i: usize, j: usize| same(i, j) && a[i].input() == b[j].input();
    let head = (0..a.len().min(b.len())).take_while(|i| equal(*i, *i)).count();
    let most = a.len().min(b.len()) - head;
    let tail = (0..most).take_while(|k| equal(a.len() - 1 - k, b.len() - 1 - k)).count();
    let (n, m) = (a.len() - head - tail, b.len() - head - tail);

    let mut pairs: Vec<Pair> = (0..head).map(|i| Pair { a: Some(i), b: Some(i) }).collect();
    if n > ALIGNED || m > ALIGNED {
        for i in 0..n.max(m) {
            let (x, y) = ((i < n).then_some(head + i), (i < m).then_some(head + i));
            match (x, y) {
                (Some(x), Some(y)) if !same(x, y) => {
                    pairs.push(Pair { a: Some(x), b: None });
                    pairs.push(Pair { a: None, b: Some(y) });
                }
                (a, b) => pairs.push(Pair { a, b }),
            }
        }
    } else {
        // The best score of what follows: two points for the same tool, one more for the same arguments.
        let score = |i: usize, j: usize| match (same(i, j), equal(i, j)) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 3,
        };
        let mut best = vec![vec![0u32; m + 1]; n + 1];
        for i in (0..n).rev() {
            for j in (0..m).rev() {
                let points = score(head + i, head + j);
                let both = if points > 0 { best[i + 1][j + 1] + points } else { 0 };
                best[i][j] = both.max(best[i + 1][j]).max(best[i][j + 1]);
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < n || j < m {
            let points = if i < n && j < m { score(head + i, head + j) } else { 0 };
            if points > 0 && best[i][j] == best[i + 1][j + 1] + points {
                pairs.push(Pair { a: Some(head + i), b: Some(head + j) });
                (i, j) = (i + 1, j + 1);
            } else if i < n && (j == m || best[i][j] == best[i + 1][j]) {
                pairs.push(Pair { a: Some(head + i), b: None });
                i += 1;
            } else {
                pairs.push(Pair { a: None, b: Some(head + j) });
                j += 1;
            }
        }
    }
    pairs.extend((0..tail).rev().map(|k| Pair { a: Some(a.len() - 1 - k), b: Some(b.len() - 1 - k) }));
    pairs
}

/// What changed of a call that is in both.
fn changes(a: &Call, b: &Call) -> Vec<(&'static str, Change)> {
    let mut all = Vec::new();
    all.extend(diff_texts(a.input(), b.input()).into_iter().map(|change| ("arguments", change)));
    let outcome = |call: &Call| Some(json!(call.outcome().map_or("running", bir_model::Outcome::as_str)));
    if a.outcome() != b.outcome() {
        all.push(("outcome", Change { path: String::new(), before: outcome(a), after: outcome(b) }));
    }
    all.extend(diff_texts(a.output(), b.output()).into_iter().map(|change| ("result", change)));
    all
}

fn as_json(pair: Pair, a: &[Call], b: &[Call]) -> Value {
    let (a, b) = (pair.a.and_then(|i| a.get(i)), pair.b.and_then(|j| b.get(j)));
    let name = a.or(b).map(Call::key).unwrap_or_default();
    let (kind, list) = match (a, b) {
        (Some(a), Some(b)) => {
            let changes = changes(a, b);
            (if changes.is_empty() { "same" } else { "changed" }, changes)
        }
        (Some(_), None) => ("missing", Vec::new()),
        _ => ("added", Vec::new()),
    };
    let list: Vec<Value> = list
        .into_iter()
        .map(|(of, change)| json!({"of": of, "path": change.path, "before": change.before, "after": change.after}))
        .collect();
    json!({"call": name, "is": kind, "a": pair.a, "b": pair.b, "changes": list})
}

fn render(pairs: &[Pair], a: &[Call], b: &[Call], width: usize) -> String {
    let mut page = String::new();
    let (mut same, mut changed, mut missing, mut added) = (0, 0, 0, 0);
    for pair in pairs {
        match (pair.a.and_then(|i| a.get(i)), pair.b.and_then(|j| b.get(j))) {
            (Some(x), Some(y)) => {
                let list = changes(x, y);
                if list.is_empty() {
                    same += 1;
                    page.push_str(&format!("  {}\n", paint::dim(&x.name())));
                    continue;
                }
                changed += 1;
                page.push_str(&format!("{} {}\n", paint::warn("~"), x.name()));
                for (of, change) in list.iter().take(SHOWN) {
                    page.push_str(&line(of, change, width));
                }
                if list.len() > SHOWN {
                    page.push_str(&format!(
                        "    {}\n",
                        paint::dim(&format!("and {} more", list.len() - SHOWN))
                    ));
                }
            }
            (Some(x), None) => {
                missing += 1;
                page.push_str(&alone(&paint::bad("-"), x, width));
            }
            (None, Some(y)) => {
                added += 1;
                page.push_str(&alone(&paint::good("+"), y, width));
            }
            (None, None) => {}
        }
    }
    page.push_str(&format!(
        "\n{same} the same, {changed} changed, {missing} only in the first, {added} only in the second\n"
    ));
    page
}

fn alone(mark: &str, call: &Call, width: usize) -> String {
    let input = call.input().map(super::payload::folded).unwrap_or_default();
    let line =
        truncate_str(&input, width.saturating_sub(call.name().chars().count() + 4).max(20), "…").into_owned();
    format!("{mark} {}  {}\n", call.name(), paint::dim(&line))
}

fn line(of: &str, change: &Change, width: usize) -> String {
    let path = safe::line(&change.path).into_owned();
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    let half = width.saturating_sub(12 + of.len() + path.chars().count()).max(40) / 2;
    let shown = |value: &Option<Value>| {
        value.as_ref().map(|v| truncate_str(&safe::line(&v.to_string()), half, "…").into_owned())
    };
    let place = paint::dim(&format!("{of}{dot}{path}"));
    match (shown(&change.before), shown(&change.after)) {
        (Some(before), Some(after)) => {
            format!("    {place}  {} → {}\n", paint::bad(&before), paint::good(&after))
        }
        (Some(before), None) => format!("    {place}  {}\n", paint::bad(&format!("- {before}"))),
        (None, after) => {
            format!("    {place}  {}\n", paint::good(&format!("+ {}", after.unwrap_or_default())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::samples;
    use super::*;

    fn calls_of(list: &[(&str, Value, &str)]) -> Vec<Call> {
        let rows: Vec<Value> = list
            .iter()
            .zip(0..)
            .flat_map(|((tool, input, text), n)| {
                samples::rows(n, tool, input.clone(), samples::text(text), "ok")
            })
            .collect();
        calls(&rows).unwrap()
    }

    fn shape(a: &str, b: &str) -> String {
        let of = |text: &str| {
            let list: Vec<_> = text.split(' ').filter(|t| !t.is_empty()).collect();
            let list: Vec<_> = list.iter().map(|t| (&t[..1], json!({"x": &t[1..]}), "r")).collect();
            calls_of(&list)
        };
        let (a, b) = (of(a), of(b));
        let mark = |pair: &Pair| match (pair.a, pair.b) {
            (Some(i), Some(j)) => format!("{}={}", &a[i].key()[2..], &b[j].key()[2..]),
            (Some(i), None) => format!("-{}", &a[i].key()[2..]),
            (_, j) => format!("+{}", &b[j.unwrap()].key()[2..]),
        };
        align(&a, &b).iter().map(mark).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_stand_beside_those_of_the_same_tool() {
        for (a, b, expected) in [
            ("", "", ""),
            ("a", "", "-a"),
            ("", "a", "+a"),
            ("a b c", "a b c", "a=a b=b c=c"),
            ("a b b c", "a b c d", "a=a b=b -b c=c +d"),
            ("a1 b", "a2 b", "a=a b=b"),
            ("a1 a2", "a2", "-a a=a"),
            ("a", "b", "-a +b"),
        ] {
            assert_eq!(shape(a, b), expected, "{a} | {b}");
        }
    }

    #[test]
    fn changes_are_shown_where_they_are() {
        let a = calls_of(&[("echo", json!({"m": "a", "n": 1}), "x"), ("add", json!({"a": 1}), "1")]);
        let b = calls_of(&[
            ("echo", json!({"m": "b", "n": 1}), "y\u{1b}[1m"),
            ("add", json!({"a": 1}), "1"),
            ("new", json!({}), ""),
        ]);
        let pairs = align(&a, &b);
        let page = render(&pairs, &a, &b, 100);
        assert_eq!(
            console::strip_ansi_codes(&page),
            "~ s/echo\n    arguments.m  \"a\" → \"b\"\n    result.content[0].text  \"x\" → \"y\\u001b[1m\"\n  s/add\n+ s/new  {}\n\n\
             1 the same, 1 changed, 0 only in the first, 1 only in the second\n"
        );
        let kinds: Vec<_> = pairs.iter().map(|p| as_json(*p, &a, &b)["is"].clone()).collect();
        assert_eq!(kinds, ["changed", "same", "added"]);
    }

    #[test]
    fn prompts_stand_on_top_and_answers_that_differ_at_the_end() {
        let run = |n: u32, answer: Option<&str>| {
            let run = json!({"id": format!("run_0197000{n}-0000-7000-8000-000000000001"), "tier": "bound", "startedAt": 1_000,
                "endedAt": 2_000, "lastAt": 2_000, "calls": 1, "input": format!("count\n{n}\u{1b}"), "finalOutput": answer});
            read::<Detail>(&run).unwrap()
        };
        let (a, b) = (run(1, Some("one\nword")), run(2, None));
        let plain = |text: String| console::strip_ansi_codes(&text).into_owned();
        assert_eq!(
            plain(head(&a, &b, &TimeZone::UTC, 9_000, 80)),
            "- 019700010000  1970-01-01 00:00:01  1.00 s  1 calls\n  count 1␛\n\
             + 019700020000  1970-01-01 00:00:01  1.00 s  1 calls\n  count 2␛\n\n"
        );
        assert_eq!(plain(answers(&a, &b, 80)), "\n~ answer\n    - one word\n");
        assert_eq!(answers(&b, &b, 80), "");
    }

    #[test]
    fn very_long_runs_are_paired_in_order() {
        let long = |n: usize, tool: &'static str| {
            vec![Call::default(); n]
                .into_iter()
                .map(move |_| {
                    let rows = samples::rows(0, tool, json!({}), json!({}), "ok");
                    calls(&rows).unwrap().remove(0)
                })
                .collect::<Vec<_>>()
        };
        let (a, b) = (long(ALIGNED + 1, "a"), long(3, "b"));
        let pairs = align(&a, &b);
        assert_eq!(pairs.iter().filter(|p| p.a.is_some()).count(), ALIGNED + 1);
        assert_eq!(pairs.iter().filter(|p| p.b.is_some()).count(), 3);
    }
}
