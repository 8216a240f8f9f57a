//! What a proxy has left in the spool of its state directory, read as anybody could.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use bir_model::record::{Finish, Lost, Record, RunStart, Step, StepType, ToolsSeen};
use std::collections::BTreeMap;
use std::path::Path;

/// One run as it stands in the spool.
#[derive(Debug)]
pub struct Run {
    pub start: RunStart,
    pub steps: Vec<Step>,
    pub lost: Vec<Lost>,
    /// Which tools its servers declared.
    pub tools: Vec<ToolsSeen>,
    pub finish: Option<Finish>,
    /// Bytes behind the last whole line.
    pub torn: usize,
}

impl Run {
    /// The rows of the n-th call: its beginning, and its end where there is one.
    pub fn call(&self, n: u32) -> (&Step, Option<&Step>) {
        let row = |index| self.steps.iter().find(|step| step.step_index == index);
        (row(2 * n).unwrap_or_else(|| panic!("no call {n} in {self:#?}")), row(2 * n + 1))
    }

    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| step.step_type == StepType::ToolSelected).count()
    }

    /// Outcomes in the order of the calls; `-` for none.
    pub fn outcomes(&self) -> Vec<&'static str> {
        let outcome =
            |n| self.call(n).1.and_then(|step| step.outcome).map_or("-", |outcome| outcome.as_str());
        (0..self.calls() as u32).map(outcome).collect()
    }
}

/// Every run of a state directory, oldest first. Each line but a torn last one must be whole.
pub fn runs(home: &Path) -> Vec<Run> {
    let mut files: Vec<_> = match std::fs::read_dir(home.join("spool")) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => return Vec::new(),
    };
    files.retain(|path| path.extension().is_some_and(|e| e == "spool"));
    files.sort();
    let mut runs: BTreeMap<String, Run> = BTreeMap::new();
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        if whole == 0 {
            // Its writer was killed before the first line was whole.
            continue;
        }
        let mut lines = bytes[..whole].split_inclusive(|&b| b == b'\n').map(record);
        let Some(Record::Run(start)) = lines.next() else {
            panic!("{} begins without its run", path.display())
        };
        let id = start.id.to_string();
        let run = runs.entry(id).or_insert_with(|| Run {
            start,
            steps: Vec::new(),
            lost: Vec::new(),
            tools: Vec::new(),
            finish: None,
            torn: 0,
        });
        run.torn = bytes.len() - whole;
        for record in lines {
            match record {
                Record::Step(step) => run.steps.push(step),
                Record::Lost(lost) => run.lost.push(lost),
                Record::Tools(tools) => run.tools.push(tools),
                Record::Finish(finish) => assert!(run.finish.replace(finish).is_none(), "a run ends once"),
                Record::Run(_) | Record::Final(_) => panic!("{record:?}"),
            }
        }
    }
    runs.into_values().collect()
}

/// The only run.
pub fn run(home: &Path) -> Run {
    let mut runs = runs(home);
    assert_eq!(runs.len(), 1, "{runs:#?}");
    runs.remove(0)
}

fn record(line: &[u8]) -> Record {
    let (sum, json) = (&line[..8], line[9..].strip_suffix(b"\n").unwrap());
    let sum = u32::from_str_radix(std::str::from_utf8(sum).unwrap(), 16).unwrap();
    assert_eq!(sum, crc32fast::hash(json), "{}", String::from_utf8_lossy(json));
    serde_json::from_slice(json).unwrap()
}

/// Every file below a directory.
pub fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path.display().to_string()) }
    }
    found
}
