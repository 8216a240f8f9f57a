//! A thousand secrets through the boundary that the recorder uses, into the bytes of the spool: nothing of them is left, and a thousand
//! look-alikes keep every byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_model::record::{Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, Tier};
use bir_record::redact::{RedactionKey, Redactor, Rules};
use bir_record::spool::{DEFAULT_LIMIT, Spool};
use bir_record::{Raw, SafePayload, SafeRecord};
use bir_testkit::secrets::{self, Place};
use std::collections::BTreeMap;
use std::path::Path;

/// A recognisable part of a secret, in characters.
const PART: usize = 8;
const COUNT: usize = 1000;

fn redactor() -> Redactor {
    let (redactor, warnings) = Redactor::new(RedactionKey::of(&[3; 32]), Rules::default());
    assert!(warnings.is_empty(), "{warnings:?}");
    redactor
}

/// The row that holds a value where it stood.
fn row(redactor: &Redactor, run_id: RunId, n: usize, place: Place, json: &str) -> SafeRecord {
    let kept = Some(redactor.payload(Raw { head: json.as_bytes(), len: json.len() as u64 }));
    let payload = match place {
        Place::Arguments => SafePayload { input: kept, ..SafePayload::default() },
        Place::Result => SafePayload { output: kept, ..SafePayload::default() },
        Place::Error => SafePayload { error: kept, ..SafePayload::default() },
    };
    let begins = place == Place::Arguments;
    let step = Step {
        id: StepId::new(),
        run_id,
        step_index: u32::try_from(n).unwrap(),
        step_type: if begins { StepType::ToolSelected } else { StepType::ToolResponse },
        tool_name: "t".into(),
        server: None,
        tool: None,
        call_id: None,
        agent_id: None,
        sources: Vec::new(),
        tool_input: None,
        model_input: None,
        context: None,
        tool_output: None,
        tool_error: None,
        outcome: (!begins).then_some(Outcome::Ok),
        at: 1,
        duration_us: None,
        original_bytes: None,
        truncated: false,
        ambiguous: false,
        bypassed: false,
        replayed: false,
        legs: Vec::new(),
    };
    SafeRecord::step(step, payload)
}

fn payload_of(record: &SafeRecord) -> &str {
    let Record::Step(step) = record.record() else { panic!("no row") };
    [&step.tool_input, &step.tool_output, &step.tool_error].into_iter().flatten().next().unwrap()
}

/// Writes records into a spool and gives the bytes of its files.
fn spooled(records: &[SafeRecord], run: RunId) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let start = RunStart {
        id: run,
        tier: Tier::Standalone,
        framework: None,
        input: None,
        started_at: 1,
        project: None,
        host: None,
        servers: Vec::new(),
        session_id: None,
        metadata: BTreeMap::new(),
    };
    let mut writer = Spool::new(dir.path(), DEFAULT_LIMIT).begin(&SafeRecord::run(start, None)).unwrap();
    records.chunks(50).for_each(|some| writer.append(some));
    assert_eq!(writer.missed(), (0, 0));
    let files = std::fs::read_dir(dir.path().join("spool")).unwrap().map(|e| e.unwrap().path());
    let spooled: Vec<_> =
        files.filter(|p: &std::path::PathBuf| p.extension() == Some("spool".as_ref())).collect();
    assert!(!spooled.is_empty());
    spooled.iter().flat_map(|path: &std::path::PathBuf| std::fs::read(Path::new(path)).unwrap()).collect()
}

/// The text of a spool without what is drawn anew in each run of this test: ids, and the checksums over them. Eight of so many hexadecimal
/// digits are now and then eight of a secret.
fn without_chance(spooled: &str, records: &[SafeRecord], run: RunId) -> String {
    let mut text: String = spooled
        .lines()
        .map(|line| {
            let (checksum, json) = line.split_once(' ').unwrap();
            assert!(checksum.len() == 8 && u32::from_str_radix(checksum, 16).is_ok(), "{line:.40}");
            format!("{json}\n")
        })
        .collect();
    text = text.replace(&run.to_string(), "");
    for record in records {
        let Record::Step(step) = record.record() else { panic!("no row") };
        let id = step.id.to_string();
        assert!(text.contains(&id), "the row is in the spool");
        text = text.replace(&id, "");
    }
    text
}

#[test]
fn of_a_thousand_secrets_nothing_reaches_the_spool() {
    let redactor = redactor();
    for seed in [1, 2, 3] {
        let run = RunId::new();
        let hidden = secrets::hidden(seed, COUNT);
        let records: Vec<SafeRecord> = hidden
            .iter()
            .enumerate()
            .map(|(n, sample)| row(&redactor, run, n, sample.place, &sample.json))
            .collect();
        let mut failures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (sample, record) in hidden.iter().zip(&records) {
            let kept = payload_of(record);
            serde_json::from_str::<serde_json::Value>(kept).unwrap();
            let texts = secrets::levels(kept);
            for part in sample.secrets.iter().flat_map(|s| secrets::parts(s, PART)) {
                if texts.iter().any(|text| text.contains(&part)) {
                    failures
                        .entry(sample.kind)
                        .or_default()
                        .push(format!("{part} of {}\n     -> {kept}", sample.json));
                    break;
                }
            }
            if !kept.contains("[redacted:") {
                failures.entry(sample.kind).or_default().push(format!("no placeholder: {kept}"));
            }
        }
        let shown: String = failures
            .iter()
            .map(|(kind, all)| format!("{kind} ({} times)\n     {:.1500}\n", all.len(), all[0]))
            .collect();
        assert!(failures.is_empty(), "seed {seed}: {} kinds\n{shown}", failures.len());

        // The same once more with the bytes of the files, where all of them lie together.
        let text = without_chance(&String::from_utf8(spooled(&records, run)).unwrap(), &records, run);
        let texts = secrets::levels(&text);
        let known: std::collections::HashSet<&[u8]> =
            texts.iter().flat_map(|text| text.as_bytes().windows(PART)).collect();
        for sample in &hidden {
            for part in sample.secrets.iter().flat_map(|s| secrets::parts(s, PART)) {
                let left = match part.len() {
                    PART => known.contains(part.as_bytes()),
                    _ => texts.iter().any(|text| text.contains(&part)),
                };
                assert!(!left, "seed {seed}: {part} of {}: {}", sample.kind, sample.json);
            }
        }
    }
}

#[test]
fn a_thousand_look_alikes_keep_every_byte() {
    let redactor = redactor();
    for seed in [1, 2, 3] {
        let run = RunId::new();
        let mut failures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut records = Vec::new();
        let alikes = secrets::alikes(seed, COUNT);
        for (n, alike) in alikes.iter().enumerate() {
            let record = row(&redactor, run, n, alike.place, &alike.json);
            let kept = payload_of(&record);
            if kept != alike.json {
                failures.entry(alike.kind).or_default().push(format!("{}\n     -> {kept}", alike.json));
            }
            records.push(record);
        }
        let shown: String = failures
            .iter()
            .map(|(kind, all)| format!("{kind} ({} times)\n     {:.1500}\n", all.len(), all[0]))
            .collect();
        assert!(failures.is_empty(), "seed {seed}: {} kinds\n{shown}", failures.len());
        let bytes = String::from_utf8(spooled(&records, run)).unwrap();
        for alike in &alikes {
            let written = serde_json::to_string(&alike.json).unwrap();
            assert!(bytes.contains(&written), "{}: {}", alike.kind, alike.json);
        }
    }
}
