//! The parts of one peer's measurement, each beside the direct way in the same host shape.

use super::{Part, Peer, Place, Shape, configs};
use crate::arms::{Arm, open_all, others};
use crate::conn::{Conn, Target};
use crate::large::{self, Way};
use crate::paired::{self, Plan, differences, ratios};
use crate::stats::{median, quantile, round};
use crate::upstream::HttpUpstream;
use crate::{Fail, ending, fidelity, locked, procs};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const BASE: usize = 0;
const PEER: usize = 1;

/// Sizes of the large messages, in MiB.
pub(super) const SIZES: [usize; 3] = [1, 10, 64];
/// Calls in flight.
pub(super) const CONCURRENCIES: [usize; 3] = [1, 16, 64];
/// Notifications during one call.
const NOTIFICATIONS: usize = 2000;

fn plan(quick: bool) -> Plan {
    Plan {
        starts: if quick { 3 } else { 5 },
        blocks: if quick { 8 } else { 16 },
        calls: if quick { 100 } else { 200 },
        warm: if quick { 400 } else { 800 },
        turns: 5,
        span: Duration::from_millis(if quick { 150 } else { 400 }),
    }
}

/// A port that nobody listens on.
fn free_port() -> Result<u16, Fail> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The direct way and the peer, and the HTTP upstream if there is one.
fn arms(place: &Place, p: &Peer) -> Result<(Vec<Arm>, Option<HttpUpstream>), Fail> {
    let upstream = place.ours.join(procs::UPSTREAM);
    let http = if p.shape == Shape::StdioToStdio { None } else { Some(HttpUpstream::start(&upstream)?) };
    let port = free_port()?;
    let s = |p: &std::path::Path| p.to_string_lossy().into_owned();
    let mut with = BTreeMap::from([
        ("UP", s(&upstream)),
        ("PORT", port.to_string()),
        ("P", s(&place.installed)),
        ("B", s(&place.ours)),
        ("HERE", s(&place.here)),
        ("PROXY", s(&place.proxy)),
        ("CFG", s(&configs::write(place, &upstream, port)?)),
    ]);
    if let Some(h) = &http {
        with.insert("URL", h.url.clone());
        with.insert("ORIGIN", h.origin().into());
    }
    let base = match &http {
        None => Target { url: None, cmd: vec![s(&upstream)] },
        Some(h) => Target { url: Some(h.url.clone()), cmd: vec![] },
    };
    let url = match p.shape {
        Shape::HttpToStdio(path) => Some(format!("http://127.0.0.1:{port}{path}")),
        _ => None,
    };
    let peer = Target { url, cmd: configs::fill(&p.command, &with) };
    let arm = |name: &str, target| Arm { name: name.into(), target, base: BASE };
    Ok((vec![arm("base", base), arm(&p.name, peer)], http))
}

pub(super) fn run(place: &Place, p: &Peer, part: Part, quick: bool) -> Result<Value, Fail> {
    let (arms, http) = arms(place, p)?;
    let also: Vec<i32> = http.iter().map(HttpUpstream::pid).collect();
    Ok(match part {
        Part::Speed => speed(&arms, &plan(quick), &also),
        Part::Size => size(&arms, quick, &also),
        Part::Fidelity => fidelity::run(&arms[PEER].target),
    })
}

/// Opens again what failed, so that the next measurement has a chance; says how it failed.
fn renew(conns: &mut [Result<Conn, Fail>], arms: &[Arm]) -> Option<Value> {
    let mut failed = None;
    for (c, a) in conns.iter_mut().zip(arms) {
        if let Err(e) = c {
            failed = Some(json!({ "fail": e.to_string() }));
            *c = Conn::open(&a.target);
        }
    }
    failed
}

fn speed(arms: &[Arm], plan: &Plan, also: &[i32]) -> Value {
    let mut out = json!({});
    let mut starts = vec![];
    for r in paired::starts(arms, plan) {
        match r {
            Ok(ms) => starts.push(round(median(&ms))),
            Err(e) => return json!({ "fail": format!("does not start: {e}") }),
        }
    }
    out["base_startup_ms"] = json!(starts[BASE]);
    out["startup_ms"] = json!(starts[PEER]);
    let mut conns = open_all(arms);
    paired::warm_up(&mut conns, plan);
    let l = paired::latency(&mut conns, plan, also);
    out["latency"] = renew(&mut conns, arms).unwrap_or_else(|| {
        let q = |i: usize| json!([0.5, 0.9, 0.99].map(|q| round(quantile(&l.all[i], q))));
        // p99 within the quieter quarter of the blocks: what other work on the machine spoils least.
        let quiet = |i: usize| round(quantile(&l.p99[i], 0.25));
        json!({
            "base_us": q(BASE), "us": q(PEER),
            "added_p50_us": round(median(&differences(&l.p50[PEER], &l.p50[BASE]))),
            "quiet_p99_us": quiet(PEER), "base_quiet_p99_us": quiet(BASE), "cpu_ms_per_10k": round(l.cpu[PEER]),
        })
    });
    for k in CONCURRENCIES {
        let t = paired::throughput(&mut conns, plan, k, also);
        out[format!("thr{k}")] = renew(&mut conns, arms).unwrap_or_else(|| {
            json!({
                "per_s": median(&t.per_s[PEER]).round(), "base_per_s": median(&t.per_s[BASE]).round(),
                "ratio": round(median(&ratios(&t.per_s[PEER], &t.per_s[BASE]))), "cpu_ms_per_10k": round(t.cpu[PEER]),
            })
        });
    }
    if let Ok(c) = &mut conns[PEER] {
        out["notify"] = notify(c);
    }
    out
}

fn notify(c: &mut Conn) -> Value {
    let before = locked(&c.seen).len();
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\",\
         \"arguments\":{{\"n\":{NOTIFICATIONS}}},\"_meta\":{{\"progressToken\":\"tok\"}}}}}}",
        c.tool("notify")
    );
    let t0 = Instant::now();
    match c.exchange(line.as_bytes(), b"77", Duration::from_secs(20)) {
        Ok(r) => {
            json!({ "ms": round((r.at - t0).as_secs_f64() * 1000.0), "seen": locked(&c.seen).len() - before })
        }
        Err(e) => json!({ "fail": e.to_string() }),
    }
}

fn size(arms: &[Arm], quick: bool, also: &[i32]) -> Value {
    let (base, peer) = match (Conn::open(&arms[BASE].target), Conn::open(&arms[PEER].target)) {
        (Ok(b), Ok(p)) => (b, p),
        (Err(e), _) | (_, Err(e)) => return json!({ "fail": format!("does not start: {e}") }),
    };
    let mut conns = [Ok(base), Ok(peer)];
    let not = others(&conns, PEER, also);
    let (plan, mut out) = (plan(quick), json!({}));
    std::thread::sleep(Duration::from_millis(300));
    out["procs"] = json!(procs::tree(&not).iter().map(|p| p.comm.clone()).collect::<Vec<_>>());
    out["rss_idle_kib"] = json!(procs::rss_kib(&not).0);
    if let [Ok(base), Ok(peer)] = &mut conns {
        let _ = paired::block(peer, plan.calls).and_then(|_| peer.blast(16, plan.span * 5));
        out["rss_load_kib"] = json!(procs::rss_kib(&not).0);
        let mut peak = procs::rss_kib(&not).1;
        for (key, way) in [("big_result", Way::Result), ("big_request", Way::Request)] {
            out[key] = large_messages(base, peer, arms, way, quick, &mut peak, also);
        }
        out["rss_peak_kib"] = json!(peak);
        let not: Vec<i32> = also.iter().copied().chain(Some(base.pid()).filter(|&p| p > 0)).collect();
        out["rss_end_kib"] = json!(procs::rss_kib(&not).0);
        out["zombies"] = json!(procs::zombies(&not));
        out["exit"] = ending::end(peer, &arms[PEER].target, &not);
        out["exit_stubborn"] = ending::end_stubborn(&arms[PEER].target, &not);
    }
    out
}

fn large_messages(
    base: &mut Conn,
    peer: &mut Conn,
    arms: &[Arm],
    way: Way,
    quick: bool,
    peak: &mut u64,
    also: &[i32],
) -> Value {
    let mut out = Map::new();
    for mib in SIZES {
        let (mut ms, mut base_ms, mut fail) = (vec![], vec![], None);
        for _ in 0..if mib > 16 && quick { 1 } else { 3 } {
            base_ms.extend(large::pass(base, &arms[BASE].target, mib, way, &mut 0, &[]));
            let not: Vec<i32> = also.iter().copied().chain(Some(base.pid()).filter(|&p| p > 0)).collect();
            match large::pass(peer, &arms[PEER].target, mib, way, peak, &not) {
                Ok(x) => ms.push(x),
                Err(e) => {
                    fail = Some(e.to_string());
                    break;
                }
            }
        }
        let v = match fail {
            Some(f) => json!({ "fail": f }),
            None => json!({ "ms": round(median(&ms)), "base_ms": round(median(&base_ms)) }),
        };
        out.insert(mib.to_string(), v);
    }
    out.into()
}
