//! Who delivers the results of a plan: the `bir-scenario` processes that said hello.
//!
//! A configured server is not a connected one. A plan that is delivered through `run_scenario` is announced only where a process
//! that lives has said within [`FRESH`] that it lists the tool (seed 02 §6.3).

use crate::process::Process;
use bir_model::control::ScenarioHello;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a hello counts.
const FRESH: Duration = Duration::from_secs(30 * 60);
/// Processes that are remembered.
const MOST: usize = 256;

#[derive(Default)]
pub(crate) struct Deliverers(BTreeMap<u32, Said>);

struct Said {
    at: Instant,
    project: PathBuf,
    process: Option<Process>,
    delivers: bool,
}

impl Deliverers {
    /// Somebody of a project says that it is there.
    pub(crate) fn hello(&mut self, project: &Path, hello: &ScenarioHello, now: Instant) {
        self.0.retain(|_, said| now.duration_since(said.at) < FRESH);
        while self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, said)| said.at).map(|(pid, _)| *pid);
            oldest.map(|oldest| self.0.remove(&oldest));
        }
        let process = Process::of(hello.pid);
        let delivers = hello.tools > 0 && !hello.off;
        self.0.insert(hello.pid, Said { at: now, project: project.to_path_buf(), process, delivers });
    }

    /// Whether somebody of the project can deliver now.
    pub(crate) fn delivers(&self, project: &Path, now: Instant) -> bool {
        self.0.values().any(|said| {
            said.delivers
                && said.project == project
                && now.duration_since(said.at) < FRESH
                && said.process.is_some_and(Process::is_alive)
        })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn only_who_lives_and_lists_the_tool_delivers() {
        let (mut known, now) = (Deliverers::default(), Instant::now());
        let (project, other) = (Path::new("/p"), Path::new("/q"));
        let hello = |pid, tools, off| ScenarioHello { pid, version: "1".into(), tools, off };
        let own = std::process::id();
        assert!(!known.delivers(project, now));
        known.hello(project, &hello(own, 1, false), now);
        assert!(known.delivers(project, now) && !known.delivers(other, now));
        assert!(!known.delivers(project, now + FRESH));
        for (tools, off) in [(0, false), (1, true)] {
            known.hello(project, &hello(own, tools, off), now);
            assert!(!known.delivers(project, now));
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        known.hello(project, &hello(child.id(), 1, false), now);
        assert!(known.delivers(project, now));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!known.delivers(project, now));
    }
}
