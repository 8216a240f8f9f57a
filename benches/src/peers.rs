//! The peers' table: which proxies there are, how each is started, and what was measured of it.
//!
//! Each part of each peer runs in a driver process of its own, so that what one leaves behind is never counted, or in the
//! way, at the next.

mod configs;
mod parts;
mod tables;

use crate::{Fail, procs};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) use tables::tables;

/// One part of one peer is given up after this time.
const LIMIT: Duration = Duration::from_secs(400);

/// The parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Start, latency, throughput, CPU; pinned to one core.
    Speed,
    /// Memory, large messages, zombies, exit.
    Size,
    /// The 74 checks.
    Fidelity,
}

impl Part {
    pub(crate) const ALL: [Self; 3] = [Self::Speed, Self::Size, Self::Fidelity];

    fn name(self) -> &'static str {
        match self {
            Self::Speed => "speed",
            Self::Size => "size",
            Self::Fidelity => "fidelity",
        }
    }
}

/// Where things are.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// The table of peers.
    #[arg(long)]
    table: PathBuf,
    /// The folder of benches/.
    #[arg(long)]
    here: PathBuf,
    /// Where the peers are installed.
    #[arg(long)]
    installed: PathBuf,
    #[arg(skip)]
    proxy: PathBuf,
    #[arg(skip)]
    ours: PathBuf,
    #[arg(skip)]
    out: PathBuf,
}

impl Place {
    /// The same with absolute paths, which some peers need.
    pub(crate) fn with(&self, proxy: &Path, ours: &Path, out: &Path) -> Result<Self, Fail> {
        let absolute = |p: &Path| std::path::absolute(p);
        Ok(Self {
            table: absolute(&self.table)?,
            here: absolute(&self.here)?,
            installed: absolute(&self.installed)?,
            proxy: absolute(proxy)?,
            ours: absolute(ours)?,
            out: absolute(out)?,
        })
    }

    fn result(&self, peer: &str, part: Part) -> PathBuf {
        self.out.join("peers").join(format!("{peer}.{}.json", part.name()))
    }
}

/// Which side of a proxy speaks what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    StdioToStdio,
    StdioToHttp,
    /// With the path that the gateway serves.
    HttpToStdio(&'static str),
}

impl Shape {
    fn show(self) -> &'static str {
        match self {
            Self::StdioToStdio => "stdio→stdio",
            Self::StdioToHttp => "stdio→HTTP",
            Self::HttpToStdio(_) => "HTTP→stdio",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Peer {
    name: String,
    shape: Shape,
    /// Words with placeholders.
    command: Vec<String>,
}

/// Reads the table: name, shape and command, separated by tabs.
fn parse(table: &str) -> Result<Vec<Peer>, Fail> {
    let lines = table.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines
        .map(|l| {
            let bad = |why: &str| Fail::Other(format!("peers table: {why}: {l}"));
            let mut fields = l.split('\t');
            let (Some(name), Some(shape), Some(command), None) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                return Err(bad("three fields are needed"));
            };
            let shape = match shape {
                "ss" => Shape::StdioToStdio,
                "sh" => Shape::StdioToHttp,
                "hs" => Shape::HttpToStdio("/mcp"),
                "hs/" => Shape::HttpToStdio("/"),
                _ => return Err(bad("no such shape")),
            };
            let command = command.split_whitespace().map(String::from).collect();
            Ok(Peer { name: name.into(), shape, command })
        })
        .collect()
}

fn read(place: &Place) -> Result<Vec<Peer>, Fail> {
    let table = std::fs::read_to_string(&place.table)
        .map_err(|e| Fail::Other(format!("{}: {e}", place.table.display())))?;
    parse(&table)
}

/// Measures `names` (none means all), one after the other.
pub(crate) fn measure(
    place: &Place,
    names: &[String],
    parts: &[Part],
    quick: bool,
    cpu: Option<usize>,
) -> Result<(), Fail> {
    let peers = read(place)?;
    if let Some(n) = names.iter().find(|n| peers.iter().all(|p| p.name != **n)) {
        let known: Vec<&str> = peers.iter().map(|p| p.name.as_str()).collect();
        return Err(Fail::Other(format!("no peer is named {n:?}; there are {}", known.join(", "))));
    }
    std::fs::create_dir_all(place.out.join("peers"))?;
    for p in peers.iter().filter(|p| names.is_empty() || names.contains(&p.name)) {
        for &part in parts {
            eprintln!("{}: {}", p.name, part.name());
            if let Err(e) = in_process(place, p, part, quick, cpu) {
                eprintln!("{}: {}: {e}", p.name, part.name());
            }
        }
    }
    Ok(())
}

/// Runs [`one`] in a process of its own and keeps its result.
fn in_process(place: &Place, p: &Peer, part: Part, quick: bool, cpu: Option<usize>) -> Result<(), Fail> {
    let result = place.result(&p.name, part);
    let new = result.with_extension("new");
    let mut c = Command::new(std::env::current_exe()?);
    c.arg("one").arg(&p.name).args(["--part", part.name()]);
    for (option, path) in [
        ("--table", &place.table),
        ("--here", &place.here),
        ("--installed", &place.installed),
        ("--proxy", &place.proxy),
        ("--out", &place.out),
    ] {
        c.arg(option).arg(path);
    }
    if quick {
        c.arg("--quick");
    }
    if let Some(n) = cpu {
        c.args(["--cpu", &n.to_string()]);
    }
    let mut child = c.stdin(Stdio::null()).stdout(File::create(&new)?).spawn()?;
    let t0 = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(s) => break Some(s),
            None if t0.elapsed() > LIMIT => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    // What it left behind is our descendant now.
    let left = procs::tree(&[]);
    left.iter().for_each(|p| procs::signal(p.pid, Signal::KILL));
    let _ = child.wait();
    procs::reap(&left);
    match status {
        Some(s) if s.success() => Ok(std::fs::rename(&new, &result)?),
        Some(s) => Err(Fail::Other(s.to_string())),
        None => Err(Fail::Timeout),
    }
}

/// Measures one part of one peer in this process.
pub(crate) fn one(
    place: &Place,
    name: &str,
    part: Part,
    quick: bool,
    cpu: Option<usize>,
) -> Result<Value, Fail> {
    let peer = read(place)?.into_iter().find(|p| p.name == name);
    let peer = peer.ok_or_else(|| Fail::Other(format!("no peer is named {name:?}")))?;
    if part == Part::Speed {
        crate::machine::pin(cpu)?;
    }
    parts::run(place, &peer, part, quick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_repository_reads() {
        let peers = parse(include_str!("../peers/peers.tsv")).unwrap();
        assert!(peers.len() > 10);
        let direct = &peers[0];
        assert_eq!((direct.name.as_str(), direct.shape), ("direct", Shape::StdioToStdio));
        assert!(peers.iter().any(|p| p.name == "bir-proxy" && p.shape == Shape::StdioToStdio));
        let names: std::collections::HashSet<_> = peers.iter().map(|p| &p.name).collect();
        assert_eq!(names.len(), peers.len(), "names are unique");
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for bad in ["x\tss", "x\tzz\tcmd", "x\tss\tcmd\tmore"] {
            assert!(matches!(parse(bad), Err(Fail::Other(e)) if e.contains(bad)), "{bad}");
        }
    }
}
