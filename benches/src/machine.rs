//! Where and when a run was made, and the pinning of everything to one core.

use crate::Fail;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};
use std::fs::read_to_string;

/// Pins this process, and so all that it starts, to `cpu`, or to the first that it may use.
pub(crate) fn pin(cpu: Option<usize>) -> Result<usize, Fail> {
    let os = |e: rustix::io::Errno| Fail::Other(format!("failed to pin to one core: {e}"));
    let allowed = sched_getaffinity(None).map_err(os)?;
    let cpu = match cpu {
        Some(c) if c < CpuSet::MAX_CPU && allowed.is_set(c) => c,
        Some(c) => return Err(Fail::Other(format!("core {c} is not among those that this process may use"))),
        None => {
            (0..CpuSet::MAX_CPU).find(|&c| allowed.is_set(c)).ok_or(Fail::Other("no core to use".into()))?
        }
    };
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).map_err(os)?;
    Ok(cpu)
}

/// Gives this process, and all that it starts, another priority (below 0 only as root).
pub(crate) fn renice(nice: i32) -> Result<(), Fail> {
    rustix::process::setpriority_process(None, nice)
        .map_err(|e| Fail::Other(format!("failed to set the priority: {e}")))
}

fn first_line(path: &str) -> String {
    read_to_string(path).unwrap_or_default().lines().next().unwrap_or("").into()
}

/// The three load averages.
pub(crate) fn load() -> String {
    first_line("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn version(program: &str) -> Value {
    let out = std::process::Command::new(program).arg("--version").output().ok();
    out.and_then(|o| Some(String::from_utf8_lossy(&o.stdout).lines().next()?.trim().to_string())).into()
}

pub(crate) fn describe() -> Value {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, m)| m.to_string()));
    json!({
        "cpu": model,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "node": version("node"),
        "load": load(),
    })
}

/// The machine for people, in one line.
pub(crate) fn show(m: &Value) -> String {
    let s = |k: &str| m[k].as_str().unwrap_or("?").to_string();
    format!(
        "{} cores {}, Linux {}, Node {}",
        m["cores"],
        s("cpu"),
        s("kernel"),
        s("node").trim_start_matches('v')
    )
}
