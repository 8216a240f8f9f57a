//! Markdown tables of the last results.

use super::parts::{CONCURRENCIES, SIZES};
use super::{Part, Peer, Place, read};
use crate::table::{number, table};
use crate::{Fail, ending, fidelity};
use serde_json::Value;

struct Result {
    peer: Peer,
    speed: Option<Value>,
    size: Option<Value>,
    fidelity: Option<Value>,
}

fn load(place: &Place) -> std::result::Result<Vec<Result>, Fail> {
    let part = |p: &Peer, part| {
        let text = std::fs::read_to_string(place.result(&p.name, part)).ok()?;
        serde_json::from_str(&text).ok()
    };
    Ok(read(place)?
        .into_iter()
        .map(|p| Result {
            speed: part(&p, Part::Speed),
            size: part(&p, Part::Size),
            fidelity: part(&p, Part::Fidelity),
            peer: p,
        })
        .filter(|r| r.speed.is_some() || r.size.is_some() || r.fidelity.is_some())
        .collect())
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(String::from).to_vec()
}

fn mib(v: &Value) -> String {
    number(v.as_f64().map(|kib| kib / 1024.0), 1)
}

/// All tables, the short one first.
pub(crate) fn tables(place: &Place) -> std::result::Result<String, Fail> {
    let results = load(place)?;
    Ok([summary(&results), speed(&results), sizes(&results), memory(&results), checks(&results)].concat())
}

/// One line a peer.
fn summary(results: &[Result]) -> String {
    let null = Value::Null;
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|r| {
            let (s, z) = (r.speed.as_ref().unwrap_or(&null), r.size.as_ref().unwrap_or(&null));
            let big = |key: &str| {
                let v = &z[key]["64"];
                v["ms"]
                    .as_f64()
                    .map_or_else(|| v["fail"].as_str().map_or("–".into(), short), |ms| number(ms, 0))
            };
            vec![
                r.peer.name.clone(),
                r.peer.shape.show().into(),
                number(s["startup_ms"].as_f64(), 1),
                number(s["latency"]["added_p50_us"].as_f64(), 1),
                number(s["thr16"]["ratio"].as_f64(), 3),
                number(s["latency"]["cpu_ms_per_10k"].as_f64(), 0),
                format!("{} / {}", mib(&z["rss_idle_kib"]), mib(&z["rss_peak_kib"])),
                format!("{} / {}", big("big_result"), big("big_request")),
                r.fidelity.as_ref().map_or("–".into(), |f| fidelity::score(f).0.to_string()),
                ending::show(&z["exit_stubborn"]),
            ]
        })
        .collect();
    let head = [
        "proxy",
        "shape",
        "start, ms",
        "added p50, µs",
        "calls/s, 16 in flight, of direct",
        "CPU ms for 10,000 calls",
        "MiB idle / peak",
        "64 MiB result / request, ms",
        "checks of 74 with every byte kept",
        "upstream ignores EOF and SIGTERM: gone after",
    ];
    table("Summary", &strings(head), &rows)
}

fn short(s: &str) -> String {
    s.split([':', ';', '{']).next().unwrap_or(s).trim().chars().take(34).collect()
}

fn speed(results: &[Result]) -> String {
    let mut rows = vec![];
    for r in results {
        let Some(s) = &r.speed else { continue };
        let l = &s["latency"];
        let n = |v: &Value, places| number(v.as_f64(), places);
        let mut row = vec![r.peer.name.clone(), r.peer.shape.show().into()];
        if let Some(e) = s["fail"].as_str().or(l["fail"].as_str()) {
            row.push(e.into());
            row.resize(12, "–".into());
            rows.push(row);
            continue;
        }
        let quiet = l["quiet_p99_us"].as_f64().zip(l["base_quiet_p99_us"].as_f64()).map(|(a, b)| a - b);
        row.extend([
            n(&s["startup_ms"], 1),
            n(&l["us"][0], 1),
            n(&l["added_p50_us"], 1),
            format!("{} / {}", n(&l["us"][2], 0), n(&l["base_us"][2], 0)),
            number(quiet, 0),
        ]);
        for k in CONCURRENCIES {
            let t = &s[format!("thr{k}")];
            row.push(
                t["fail"]
                    .as_str()
                    .map_or_else(|| format!("{} ({})", n(&t["per_s"], 0), n(&t["ratio"], 3)), short),
            );
        }
        row.push(format!("{} / {}", n(&l["cpu_ms_per_10k"], 0), n(&s["thr16"]["cpu_ms_per_10k"], 0)));
        let seen = s["notify"]["fail"].as_str().map_or_else(|| s["notify"]["seen"].to_string(), String::from);
        row.push(format!("{} ({seen})", n(&s["notify"]["ms"], 0)));
        rows.push(row);
    }
    let head = [
        "proxy",
        "shape",
        "start, ms",
        "p50, µs",
        "added p50, µs",
        "p99, µs, proxy / base",
        "added p99, µs, quiet blocks",
        "calls/s k=1 (ratio)",
        "k=16",
        "k=64",
        "CPU ms for 10,000 calls, k=1 / k=16",
        "2,000 notifications, ms (seen)",
    ];
    table(
        "Speed, all on one core (base: direct in the same host shape; ratio: median of paired blocks)",
        &strings(head),
        &rows,
    )
}

fn sizes(results: &[Result]) -> String {
    let mut head = strings(["proxy"]);
    for kind in ["result", "request"] {
        head.extend(SIZES.map(|n| format!("{n} MiB {kind}")));
    }
    let rows: Vec<Vec<String>> = results
        .iter()
        .filter_map(|r| {
            let z = r.size.as_ref()?;
            let mut row = vec![r.peer.name.clone()];
            for key in ["big_result", "big_request"] {
                row.extend(SIZES.map(|n| {
                    let v = &z[key][n.to_string()];
                    let times =
                        || format!("{} ({})", number(v["ms"].as_f64(), 0), number(v["base_ms"].as_f64(), 0));
                    v["fail"].as_str().map_or_else(times, |f| f.chars().take(60).collect())
                }));
            }
            Some(row)
        })
        .collect();
    table("Large messages: ms (base ms), or how it fails", &head, &rows)
}

fn memory(results: &[Result]) -> String {
    let rows: Vec<Vec<String>> = results
        .iter()
        .filter_map(|r| {
            let z = r.size.as_ref()?;
            let procs: Vec<&str> =
                z["procs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut row = vec![r.peer.name.clone(), procs.join(", ")];
            row.extend(["idle", "load", "peak", "end"].map(|k| mib(&z[format!("rss_{k}_kib")])));
            row.push(number(z["zombies"].as_f64(), 0));
            row.extend(["exit", "exit_stubborn"].map(|k| ending::show(&z[k])));
            Some(row)
        })
        .collect();
    let head = [
        "proxy",
        "processes",
        "idle",
        "after calls",
        "peak",
        "end",
        "zombies",
        "exit",
        "exit, upstream ignores EOF and SIGTERM",
    ];
    table(
        "Memory and exit (proxy processes only, MiB; exit: after stdin closes, or after DELETE for a gateway's upstream)",
        &strings(head),
        &rows,
    )
}

fn checks(results: &[Result]) -> String {
    let with: Vec<(&Result, &Value)> =
        results.iter().filter_map(|r| Some((r, r.fidelity.as_ref()?))).collect();
    let mut names: Vec<&String> = vec![];
    for (_, f) in &with {
        for k in f.as_object().into_iter().flat_map(|o| o.keys()) {
            if !names.contains(&k) {
                names.push(k);
            }
        }
    }
    let mark = |v: &Value| match v.as_str() {
        Some("same") => "=".to_string(),
        Some(v) if v.starts_with("became") => "≠".into(),
        Some(v) => short(v),
        None => "–".into(),
    };
    let mut head = strings(["check"]);
    head.extend(with.iter().map(|(r, _)| r.peer.name.clone()));
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|k| [vec![k.to_string()], with.iter().map(|(_, f)| mark(&f[k.as_str()])).collect()].concat())
        .collect();
    let scores: Vec<Vec<String>> = with
        .iter()
        .map(|(r, f)| {
            let (same, changed, other) = fidelity::score(f);
            vec![r.peer.name.clone(), same.to_string(), changed.to_string(), other.to_string()]
        })
        .collect();
    table("Fidelity (= unchanged, ≠ changed; up: host to upstream, down: upstream to host)", &head, &rows)
        + &table(
            "Fidelity score",
            &strings(["proxy", "unchanged", "changed", "lost, hang or other"]),
            &scores,
        )
}
