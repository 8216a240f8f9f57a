//! Start, latency, throughput and CPU of several ways at once. All are connected all the time and take turns, block by
//! block and with a rotating first, so that a slow moment of a shared machine falls on all.

use crate::Fail;
use crate::arms::{Arm, others};
use crate::conn::{Conn, echo_line};
use crate::procs;
use crate::stats::{median, quantile};
use std::time::{Duration, Instant};

/// One small call may take this long before it counts as a hang.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Starts per way.
    pub(crate) starts: usize,
    /// Blocks per way and round.
    pub(crate) blocks: usize,
    /// Sequential calls per block.
    pub(crate) calls: usize,
    /// Calls before the first block: Node compiles its hot paths within the first thousands.
    pub(crate) warm: usize,
    /// Turns per way of the concurrent part.
    pub(crate) turns: usize,
    /// Length of such a turn.
    pub(crate) span: Duration,
}

/// Latencies in µs: one value a block, per arm. A block that failed is missing.
#[derive(Debug)]
pub(crate) struct Latency {
    pub(crate) p50: Vec<Vec<f64>>,
    pub(crate) p99: Vec<Vec<f64>>,
    /// Every call's own time, per arm.
    pub(crate) all: Vec<Vec<f64>>,
    /// CPU milliseconds of the proxy's processes for 10,000 calls, per arm.
    pub(crate) cpu: Vec<f64>,
}

/// Answered calls a second, one value a turn, per arm, and CPU as in [`Latency`].
#[derive(Debug)]
pub(crate) struct Throughput {
    pub(crate) per_s: Vec<Vec<f64>>,
    pub(crate) cpu: Vec<f64>,
}

/// What a way costs beside its base, block by block.
pub(crate) fn differences(way: &[f64], base: &[f64]) -> Vec<f64> {
    way.iter().zip(base).map(|(a, b)| a - b).collect()
}

pub(crate) fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// `calls` sequential calls: the time of each in µs.
pub(crate) fn block(c: &mut Conn, calls: usize) -> Result<Vec<f64>, Fail> {
    let name = c.tool("echo");
    let mut out = Vec::with_capacity(calls);
    for i in 0..calls as u64 {
        let id = 1_000_000_000 + i;
        let line = echo_line(&name, id);
        let t0 = Instant::now();
        let r = c.exchange(&line, id.to_string().as_bytes(), CALL_LIMIT)?;
        out.push((r.at - t0).as_nanos() as f64 / 1000.0);
    }
    Ok(out)
}

/// Milliseconds from spawn to the complete `initialize` answer, per arm and start.
pub(crate) fn starts(arms: &[Arm], plan: &Plan) -> Vec<Result<Vec<f64>, Fail>> {
    let mut out: Vec<Result<Vec<f64>, Fail>> = arms.iter().map(|_| Ok(vec![])).collect();
    for _ in 0..plan.starts {
        for (a, times) in arms.iter().zip(&mut out) {
            if let Ok(t) = times {
                match Conn::open(&a.target) {
                    Ok(c) => t.push(c.startup.as_secs_f64() * 1000.0),
                    Err(e) => *times = Err(e),
                }
            }
        }
    }
    out
}

/// Runs `f` for every living session in turn; a session that fails is ended and keeps its failure.
fn each(
    conns: &mut [Result<Conn, Fail>],
    turn: usize,
    mut f: impl FnMut(usize, &mut Conn) -> Result<(), Fail>,
) {
    let n = conns.len();
    for i in (0..n).map(|j| (turn + j) % n) {
        if let Ok(c) = &mut conns[i]
            && let Err(e) = f(i, c)
        {
            conns[i] = Err(e);
        }
    }
}

fn cpu_of_each(conns: &[Result<Conn, Fail>], also: &[i32]) -> Vec<f64> {
    (0..conns.len()).map(|i| procs::cpu_s(&others(conns, i, also))).collect()
}

/// CPU seconds over calls as milliseconds for 10,000 calls.
fn per_10k(after: &[f64], before: &[f64], calls: &[u64]) -> Vec<f64> {
    after.iter().zip(before).zip(calls).map(|((a, b), n)| (a - b) * 1e7 / *n as f64).collect()
}

pub(crate) fn warm_up(conns: &mut [Result<Conn, Fail>], plan: &Plan) {
    each(conns, 0, |_, c| block(c, plan.warm).map(|_| ()));
}

/// `also` are the pids of processes that belong to no arm.
pub(crate) fn latency(conns: &mut [Result<Conn, Fail>], plan: &Plan, also: &[i32]) -> Latency {
    let empty = || vec![vec![]; conns.len()];
    let (mut p50, mut p99, mut all) = (empty(), empty(), empty());
    let before = cpu_of_each(conns, also);
    for b in 0..plan.blocks {
        each(conns, b, |i, c| {
            let times = block(c, plan.calls)?;
            p50[i].push(median(&times));
            p99[i].push(quantile(&times, 0.99));
            all[i].extend(times);
            Ok(())
        });
    }
    let calls: Vec<u64> = all.iter().map(|a| a.len() as u64).collect();
    let cpu = per_10k(&cpu_of_each(conns, also), &before, &calls);
    Latency { p50, p99, all, cpu }
}

pub(crate) fn throughput(
    conns: &mut [Result<Conn, Fail>],
    plan: &Plan,
    k: usize,
    also: &[i32],
) -> Throughput {
    let (mut per_s, mut calls) = (vec![vec![]; conns.len()], vec![0; conns.len()]);
    let before = cpu_of_each(conns, also);
    for t in 0..plan.turns {
        each(conns, t, |i, c| {
            let (n, s) = c.blast(k, plan.span)?;
            per_s[i].push(n as f64 / s);
            calls[i] += n;
            Ok(())
        });
    }
    let cpu = per_10k(&cpu_of_each(conns, also), &before, &calls);
    Throughput { per_s, cpu }
}
