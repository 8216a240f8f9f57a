//! bir-proxy against the direct way, the byte pump and a plain Node relay: everything that has a budget, in one run.
//!
//! A budget that is a ratio is judged by the ratio of paired blocks, never by the figures of two runs.

use crate::arms::{Arm, open_all, others};
use crate::conn::{Conn, Target};
use crate::large::{self, Way};
use crate::paired::{self, Plan, differences, ratios};
use crate::stats::median;
use crate::upstream::HttpUpstream;
use crate::{Fail, ending, fidelity, machine, procs};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Calls in flight in the concurrent part.
const IN_FLIGHT: usize = 16;
/// Size of the large message, in MiB.
const LARGE: usize = 64;
/// Between the start of a proxy and the look at its idle memory.
const IDLE: Duration = Duration::from_millis(300);

pub(crate) const DIRECT: usize = 0;
pub(crate) const PUMP: usize = 1;
pub(crate) const PROXY: usize = 2;
pub(crate) const NODE: usize = 3;
pub(crate) const DIRECT_HTTP: usize = 4;
pub(crate) const PROXY_HTTP: usize = 5;
pub(crate) const RECORDED: usize = 6;

/// A hub that is not there: what is recorded stays in the spool, which is the recorder's own cost.
const NO_HUB: &str = "BIR_HUB_URL=http://127.0.0.1:9";

/// The parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Added latency and CPU of sequential small calls.
    Latency,
    /// Small calls with 16 in flight.
    Throughput,
    /// From spawn to the complete `initialize` answer.
    Start,
    /// Memory, idle and while 64 MiB pass either way.
    Memory,
    /// The 74 checks, and an upstream that will not go.
    Fidelity,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) proxy: PathBuf,
    /// State directory of the way that records.
    pub(crate) state_dir: PathBuf,
    /// Directory of `pump` and `ref-upstream`.
    pub(crate) ours: PathBuf,
    pub(crate) node_relay: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    /// None means all.
    pub(crate) parts: Vec<Part>,
}

/// What was measured of one way: values by name (one a round), notes, and why it failed.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) values: BTreeMap<&'static str, Vec<f64>>,
    pub(crate) fidelity: Value,
    pub(crate) stubborn: Value,
    pub(crate) fail: Option<String>,
}

impl Figures {
    fn put(&mut self, name: &'static str, value: f64) {
        if value.is_finite() {
            self.values.entry(name).or_default().push(value);
        }
    }

    pub(crate) fn json(&self) -> Value {
        let spread = |v: &Vec<f64>| crate::stats::Spread::of(v).json();
        json!({
            "values": self.values.iter().map(|(k, v)| (k.to_string(), spread(v))).collect::<serde_json::Map<_, _>>(),
            "fidelity": self.fidelity, "stubborn": self.stubborn, "fail": self.fail,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) arms: Vec<Arm>,
    pub(crate) figures: Vec<Figures>,
    pub(crate) core: usize,
    pub(crate) loads: [String; 2],
}

fn plan(quick: bool) -> Plan {
    Plan {
        starts: if quick { 5 } else { 15 },
        blocks: if quick { 12 } else { 40 },
        calls: if quick { 200 } else { 500 },
        warm: if quick { 800 } else { 2000 },
        turns: if quick { 6 } else { 11 },
        span: Duration::from_millis(if quick { 80 } else { 150 }),
    }
}

fn arms(o: &Options, upstream: &Path, url: &str) -> Vec<Arm> {
    let s = |p: &Path| p.to_string_lossy().into_owned();
    let (up, proxy) = (s(upstream), s(&o.proxy));
    let (home, token) = (format!("BIR_HOME={}", s(&o.state_dir)), "BIR_HUB_TOKEN=none");
    let relay = [&proxy, "--server-name", "bench", "--no-record"];
    let recorder = ["env", &home, NO_HUB, token, &proxy, "--server-name", "bench", "--standalone", "--", &up];
    let arm = |name: &str, base, cmd: &[&str]| {
        let cmd = cmd.iter().map(|w| w.to_string()).collect();
        Arm { name: name.into(), target: Target { url: None, cmd }, base }
    };
    vec![
        arm("direct", DIRECT, &[&up]),
        arm("byte pump", DIRECT, &[&s(&o.ours.join("pump")), &up]),
        arm("bir-proxy stdio→stdio", DIRECT, &[&relay[..], &["--", &up]].concat()),
        arm("Node relay", DIRECT, &["node", &s(&o.node_relay), &up]),
        Arm {
            name: "direct HTTP".into(),
            target: Target { url: Some(url.into()), cmd: vec![] },
            base: DIRECT_HTTP,
        },
        arm("bir-proxy stdio→HTTP", DIRECT_HTTP, &[&relay[..], &["--url", url]].concat()),
        arm("bir-proxy, recording", DIRECT, &recorder),
    ]
}

/// Measures everything, pinned to one core; says on stderr where it is.
pub(crate) fn run(o: &Options, cpu: Option<usize>) -> Result<Run, Fail> {
    let core = machine::pin(cpu)?;
    let upstream = o.ours.join(procs::UPSTREAM);
    let http = HttpUpstream::start(&upstream)?;
    let arms = arms(o, &upstream, &http.url);
    let mut run = Run {
        figures: arms.iter().map(|_| Figures::default()).collect(),
        arms,
        core,
        loads: [machine::load(), String::new()],
    };
    let (plan, wants) = (plan(o.quick), |p: Part| o.parts.is_empty() || o.parts.contains(&p));
    if wants(Part::Start) {
        eprintln!("start");
        for (r, f) in paired::starts(&run.arms, &plan).into_iter().zip(&mut run.figures) {
            match r {
                Ok(ms) => ms.into_iter().for_each(|ms| f.put("start_ms", ms)),
                Err(e) => f.fail = Some(format!("does not start: {e}")),
            }
        }
    }
    if wants(Part::Latency) || wants(Part::Throughput) {
        for r in 1..=o.rounds {
            eprintln!("calls, round {r} of {}", o.rounds);
            round(&mut run, &plan, &http, wants(Part::Latency), wants(Part::Throughput));
        }
    }
    if wants(Part::Memory) {
        eprintln!("memory");
        for i in [PUMP, PROXY, NODE, PROXY_HTTP, RECORDED] {
            if let Err(e) = memory(&run.arms[i].target, &plan, http.pid(), o.quick, &mut run.figures[i]) {
                run.figures[i].fail.get_or_insert(format!("{LARGE} MiB: {e}"));
            }
        }
    }
    if wants(Part::Fidelity) {
        for i in [PUMP, PROXY, NODE, PROXY_HTTP] {
            eprintln!("fidelity of {}", run.arms[i].name);
            fidelity_of(&mut run, i, &upstream, &http)?;
        }
    }
    run.loads[1] = machine::load();
    Ok(run)
}

/// One round on fresh sessions.
fn round(run: &mut Run, plan: &Plan, http: &HttpUpstream, latency: bool, throughput: bool) {
    let mut conns = open_all(&run.arms);
    let also = [http.pid()];
    paired::warm_up(&mut conns, plan);
    if latency {
        let l = paired::latency(&mut conns, plan, &also);
        let added = |i: usize, of: &[Vec<f64>]| differences(&of[i], &of[run.arms[i].base]);
        let pump = [added(PUMP, &l.p50), added(PUMP, &l.p99)];
        for (i, f) in run.figures.iter_mut().enumerate() {
            f.put("p50_us", median(&l.p50[i]));
            f.put("p99_us", median(&l.p99[i]));
            if run.arms[i].base == i {
                continue;
            }
            let (p50, p99) = (added(i, &l.p50), added(i, &l.p99));
            f.put("added_p50_us", median(&p50));
            f.put("added_p99_us", median(&p99));
            f.put("added_p50_ratio", median(&ratios(&p50, &pump[0])));
            // A block's p99 is a few calls, and a difference of two may be near nothing: the ratio is one of medians.
            f.put("added_p99_ratio", median(&p99) / median(&pump[1]));
            f.put("cpu_1_ms", l.cpu[i]);
            f.put("cpu_1_ratio", l.cpu[i] / l.cpu[PUMP]);
            if i == RECORDED {
                f.put("recording_us", median(&differences(&l.p50[i], &l.p50[PROXY])));
            }
        }
    }
    if throughput {
        let t = paired::throughput(&mut conns, plan, IN_FLIGHT, &also);
        for (i, f) in run.figures.iter_mut().enumerate() {
            let base = run.arms[i].base;
            f.put("per_s_16", median(&t.per_s[i]));
            if base != i {
                f.put("per_s_16_ratio", median(&ratios(&t.per_s[i], &t.per_s[base])));
                f.put("cpu_16_ms", t.cpu[i]);
                f.put("cpu_16_ratio", t.cpu[i] / t.cpu[PUMP]);
            }
        }
    }
    for (c, f) in conns.iter().zip(&mut run.figures) {
        if let Err(e) = c {
            f.fail.get_or_insert(format!("calls: {e}"));
        }
    }
}

fn memory(t: &Target, plan: &Plan, upstream: i32, quick: bool, f: &mut Figures) -> Result<(), Fail> {
    let mut c = Conn::open(t)?;
    let not = [upstream];
    let mib = |kib: u64| kib as f64 / 1024.0;
    std::thread::sleep(IDLE);
    f.put("idle_mib", mib(procs::rss_kib(&not).0));
    paired::block(&mut c, plan.calls)?;
    c.blast(IN_FLIGHT, plan.span)?;
    f.put("after_calls_mib", mib(procs::rss_kib(&not).0));
    let mut peak = 0;
    for _ in 0..if quick { 1 } else { 3 } {
        f.put("result_ms", large::pass(&mut c, t, LARGE, Way::Result, &mut peak, &not)?);
        f.put("request_ms", large::pass(&mut c, t, LARGE, Way::Request, &mut peak, &not)?);
    }
    f.put("peak_mib", mib(peak));
    f.put("end_mib", mib(procs::rss_kib(&not).0));
    Ok(())
}

/// The checks end with the upstream's death, so an HTTP upstream is one of its own here.
fn fidelity_of(run: &mut Run, i: usize, upstream: &Path, shared: &HttpUpstream) -> Result<(), Fail> {
    let own = HttpUpstream::start(upstream)?;
    let mut target = run.arms[i].target.clone();
    target.cmd.iter_mut().filter(|w| **w == shared.url).for_each(|w| *w = own.url.clone());
    let f = &mut run.figures[i];
    f.fidelity = fidelity::run(&target);
    f.put("fidelity_same", fidelity::score(&f.fidelity).0 as f64);
    if i != PROXY_HTTP {
        f.stubborn = ending::end_stubborn(&target, &others(&[], 0, &[shared.pid(), own.pid()]));
        if f.stubborn.get("left_after_end").is_none()
            && let Some(ms) = f.stubborn["eof_ms"].as_f64()
        {
            f.put("stubborn_ms", ms);
        }
    }
    Ok(())
}
