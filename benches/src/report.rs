//! The table of budgets: each way's figures, and whether bir-proxy meets what was set.

use crate::budgets::{DIRECT, DIRECT_HTTP, Figures, NODE, PROXY, PROXY_HTTP, PUMP, RECORDED, Run};
use crate::fidelity;
use crate::stats::Spread;
use crate::table::{number, table};
use serde_json::{Value, json};

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
enum Budget {
    AtMost(f64),
    AtLeast(f64),
    /// Any value at all.
    Some,
}

impl Budget {
    fn met(self, x: f64) -> bool {
        match self {
            Self::AtMost(b) => x <= b,
            Self::AtLeast(b) => x >= b,
            Self::Some => true,
        }
    }

    fn show(self) -> String {
        match self {
            Self::AtMost(b) => format!("≤ {b}"),
            Self::AtLeast(b) => format!("≥ {b}"),
            Self::Some => "ended".into(),
        }
    }
}

struct Row {
    what: &'static str,
    key: &'static str,
    places: usize,
    budget: Option<Budget>,
    /// Show the spread over the rounds.
    spread: bool,
}

const fn row(what: &'static str, key: &'static str, places: usize) -> Row {
    Row { what, key, places, budget: None, spread: false }
}

const fn judged(what: &'static str, key: &'static str, places: usize, budget: Budget, spread: bool) -> Row {
    Row { what, key, places, budget: Some(budget), spread }
}

const ROWS: [Row; 21] = [
    row("small call, p50, µs", "p50_us", 1),
    row("added p50, µs", "added_p50_us", 1),
    judged("added p50 / the pump's", "added_p50_ratio", 2, Budget::AtMost(1.5), true),
    row("added p99, µs", "added_p99_us", 1),
    judged("added p99 / the pump's", "added_p99_ratio", 2, Budget::AtMost(2.0), true),
    judged("recording adds to p50, µs", "recording_us", 1, Budget::AtMost(10.0), true),
    row("CPU for 10,000 calls, one at a time, ms", "cpu_1_ms", 0),
    judged("CPU, one at a time / the pump's", "cpu_1_ratio", 2, Budget::AtMost(2.0), true),
    row("CPU for 10,000 calls, 16 in flight, ms", "cpu_16_ms", 0),
    row("CPU, 16 in flight / the pump's", "cpu_16_ratio", 2),
    row("calls a second, 16 in flight", "per_s_16", 0),
    judged("calls a second, 16 in flight / direct", "per_s_16_ratio", 2, Budget::AtLeast(0.6), true),
    judged("start to complete `initialize` answer, ms", "start_ms", 1, Budget::AtMost(5.0), true),
    judged("memory idle, MiB", "idle_mib", 1, Budget::AtMost(5.0), false),
    row("memory after calls, MiB", "after_calls_mib", 1),
    judged("peak while 64 MiB pass either way, MiB", "peak_mib", 1, Budget::AtMost(16.0), false),
    row("memory at the end, MiB", "end_mib", 1),
    row("64 MiB result, ms", "result_ms", 0),
    row("64 MiB request, ms", "request_ms", 0),
    judged(
        "checks of 74 that keep every byte",
        "fidelity_same",
        0,
        Budget::AtLeast(fidelity::EXACT as f64),
        false,
    ),
    judged("upstream that ignores EOF and SIGTERM gone after, ms", "stubborn_ms", 0, Budget::Some, false),
];

/// Ways in the order of the table's columns.
const COLUMNS: [usize; 7] = [DIRECT, PUMP, NODE, PROXY, RECORDED, DIRECT_HTTP, PROXY_HTTP];

/// What the way that records is judged by; the relay alone is judged by everything else.
const RECORDED_ROWS: [&str; 3] = ["recording_us", "idle_mib", "peak_mib"];

fn cell(f: &Figures, r: &Row) -> String {
    let Some(v) = f.values.get(r.key) else { return "–".into() };
    let s = Spread::of(v);
    let n = |x| number(x, r.places);
    if r.spread && v.len() > 1 {
        format!("{} ({}–{})", n(s.median), n(s.min), n(s.max))
    } else {
        n(s.median)
    }
}

/// Was this row measured, whatever came of it?
fn has(f: &Figures, r: &Row) -> bool {
    f.values.contains_key(r.key) || (r.key == "stubborn_ms" && !f.stubborn.is_null())
}

/// Rows whose budget is for copying between two pipes. An HTTP exchange is other work than that: its ratio is shown and
/// not judged. Its upstream is no child either.
const PIPES_ONLY: [&str; 5] =
    ["added_p50_ratio", "added_p99_ratio", "cpu_1_ratio", "per_s_16_ratio", "stubborn_ms"];

/// Met or missed, where the row has a budget and the way a reason to be judged by it.
fn verdict(f: &Figures, r: &Row, measured: bool, http: bool) -> Option<bool> {
    let budget = r.budget.filter(|_| measured && !(http && PIPES_ONLY.contains(&r.key)))?;
    Some(f.values.get(r.key).is_some_and(|v| budget.met(Spread::of(v).median)))
}

/// The verdicts of a row: stdio, recording, HTTP. A row that nobody measured is not judged; one that only the proxy failed
/// to give is missed.
fn verdicts(run: &Run) -> Vec<(&'static Row, [Option<bool>; 3])> {
    let f = &run.figures;
    ROWS.iter()
        .map(|r| {
            let measured = run.figures.iter().any(|f| has(f, r));
            let of_recording = r.key == "recording_us";
            let relay = measured && !of_recording;
            let recorded = measured && RECORDED_ROWS.contains(&r.key);
            let ways = [
                verdict(&f[PROXY], r, relay, false),
                verdict(&f[RECORDED], r, recorded, false),
                verdict(&f[PROXY_HTTP], r, relay, true),
            ];
            (r, ways)
        })
        .collect()
}

/// Did bir-proxy meet every budget that was measured?
pub(crate) fn all_met(run: &Run) -> bool {
    verdicts(run).iter().all(|(_, ways)| ways.iter().all(|met| met.unwrap_or(true)))
}

pub(crate) fn markdown(run: &Run, header: &str) -> String {
    let names = COLUMNS.map(|i| run.arms[i].name.clone());
    let head: Vec<String> = [
        vec![String::new()],
        names.to_vec(),
        ["budget", "stdio", "recording", "HTTP"].map(String::from).to_vec(),
    ]
    .concat();
    let word = |v: Option<bool>| v.map_or("", |v| if v { "met" } else { "MISSED" }).to_string();
    let rows: Vec<Vec<String>> = verdicts(run)
        .into_iter()
        .filter(|(r, ..)| run.figures.iter().any(|f| has(f, r)))
        .map(|(r, ways)| {
            let budget = r.budget.map_or(String::new(), Budget::show);
            let cells = COLUMNS.map(|i| cell(&run.figures[i], r));
            [vec![r.what.into()], cells.to_vec(), vec![budget], ways.map(word).to_vec()].concat()
        })
        .collect();
    let mut out = format!("{header}\n");
    out += &table("bir-proxy against its budgets", &head, &rows);
    for i in COLUMNS {
        let (name, f) = (&run.arms[i].name, &run.figures[i]);
        if let Some(e) = &f.fail {
            out += &format!("\n{name}: FAILED: {e}\n");
        }
        if i == PROXY || i == PROXY_HTTP {
            let d = fidelity::deviations(&f.fidelity);
            if !d.is_empty() {
                out += &format!(
                    "\n{name}, checks with another outcome than \"same\":\n\n- {}\n",
                    d.join("\n- ")
                );
            }
        }
        if f.stubborn.get("left_after_end").is_some() {
            out += &format!(
                "\n{name}, upstream that ignores EOF and SIGTERM: {}\n",
                crate::ending::show(&f.stubborn)
            );
        }
    }
    out
}

pub(crate) fn json(run: &Run) -> Value {
    let ways = run
        .arms
        .iter()
        .zip(&run.figures)
        .map(|(a, f)| (a.name.clone(), f.json()))
        .collect::<serde_json::Map<_, _>>();
    let judged: Vec<Value> = verdicts(run)
        .iter()
        .filter(|(_, ways)| ways.iter().any(Option::is_some))
        .map(|(r, [stdio, recording, http])| {
            let budget = r.budget.map(Budget::show);
            json!({ "what": r.what, "key": r.key, "budget": budget, "stdio": stdio, "recording": recording, "http": http })
        })
        .collect();
    json!({ "core": run.core, "load_before": run.loads[0], "load_after": run.loads[1], "ways": ways, "budgets": judged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::Arm;
    use crate::conn::Target;

    fn run_with(key: &'static str, values: [f64; 7]) -> Run {
        let arm = |i: usize| Arm { name: format!("way {i}"), target: Target::default(), base: 0 };
        let figures = values.map(|x| Figures { values: [(key, vec![x])].into(), ..Figures::default() });
        Run { arms: (0..7).map(arm).collect(), figures: figures.into(), core: 0, loads: Default::default() }
    }

    #[test]
    fn a_ratio_over_its_budget_is_missed_and_others_are_not_judged() {
        let run = run_with("added_p50_ratio", [0.0, 1.0, 1.6, 2.0, 0.0, 1.4, 1.9]);
        assert!(!all_met(&run));
        let md = markdown(&run, "");
        assert!(
            md.contains(
                "| added p50 / the pump's | 0.00 | 1.00 | 2.00 | 1.60 | 1.90 | 0.00 | 1.40 | ≤ 1.5 | MISSED |  |  |"
            ),
            "{md}"
        );
        assert!(!md.contains("memory idle"), "rows that nobody measured are left out: {md}");
        assert!(all_met(&run_with("added_p50_ratio", [0.0, 1.0, 1.5, 2.0, 0.0, 1.5, 9.0])));
    }

    #[test]
    fn a_figure_that_only_the_proxy_lacks_is_missed() {
        let mut run = run_with("peak_mib", [2.0; 7]);
        run.figures[PROXY].values.clear();
        assert!(!all_met(&run));
        let mut run = run_with("peak_mib", [2.0; 7]);
        run.figures[PROXY_HTTP].values.insert("peak_mib", vec![17.0]);
        assert!(!all_met(&run));
        let mut run = run_with("recording_us", [0.0; 7]);
        assert!(all_met(&run));
        run.figures[RECORDED].values.insert("recording_us", vec![11.0]);
        assert!(!all_met(&run), "only the way that records is judged by it");
    }
}
