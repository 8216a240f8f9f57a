use super::*;
use crate::book::{EntryWhat, TranscriptFacts};
use bir_model::control::{HookEvent, PayloadKind, ProxyReport, ProxyWhat, Registration, Told};
use bir_model::record::ServerInfo;
use bir_model::{Outcome, RunId};
use bir_record::redact::{RedactionKey, Redactor, Rules};

fn redactor() -> Redactor {
    Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0
}

fn told(text: &str) -> Told {
    Told { text: text.into(), original_bytes: text.len() as u64, truncated: false }
}

fn entries() -> Vec<(Place, Entry)> {
    let redactor = redactor();
    let mut safe = |kind, told| redactor.again(kind, told);
    let event: HookEvent = serde_json::from_value(serde_json::json!({
        "event": "pre", "id": "e", "host": { "app": "claude-code" }, "via": "claude-code", "sessionId": "s", "turnId": "t",
        "cwd": "/p", "hostPids": [7], "join": "call_id", "at": 1,
        "call": { "callId": "c", "toolName": "mcp__a__b", "server": "a", "tool": "b", "input": told(r#"{"x":1.50}"#) },
    }))
    .unwrap();
    let registration = Registration {
        api_version: 1,
        version: "1".into(),
        proxy_id: "p".into(),
        server: ServerInfo { name: "a".into(), ..ServerInfo::default() },
        pid: 8,
        parent_pid: 7,
        cwd: "/p".into(),
        host: None,
        host_session: None,
        takes_call_id: false,
        tools: None,
    };
    let report = ProxyReport {
        call: 0,
        tool: "b".into(),
        call_id: Some("c".into()),
        fingerprint: None,
        replayed: false,
        at: 2,
        what: ProxyWhat::Began { input: Some(told("[1]")) },
    };
    let facts = TranscriptFacts {
        outcomes: vec![("c".into(), Outcome::Denied)],
        final_answer: Some(safe(PayloadKind::Text, told("done"))),
        usage: Some(serde_json::json!({ "m": 1 })),
    };
    let whats = [
        (Place::proxies_of(7), EntryWhat::Register(Box::new(registration))),
        (
            Place::session("claude-code", "s"),
            EntryWhat::Hook {
                event: Box::new(event.map(&mut safe)),
                context: Some(safe(PayloadKind::Text, told("why"))),
            },
        ),
        (
            Place::proxies_of(7),
            EntryWhat::Report { proxy_id: "p".into(), report: Box::new(report.map(&mut safe)) },
        ),
        (
            Place::session("claude-code", "s"),
            EntryWhat::Transcript { run: RunId::new(), facts: Box::new(facts) },
        ),
        (Place::other(), EntryWhat::HostGone { pid: 7 }),
    ];
    let at = |(n, (place, what))| (place, Entry { taken_at: 100 + n, what });
    (0_u64..).zip(whats).map(at).collect()
}

fn read(journal: &mut Journal) -> (Vec<Entry>, u64) {
    let (mut replay, redactor, mut all) = (journal.replay(), redactor(), Vec::new());
    while let Some(found) = replay.next(&redactor) {
        journal.passed(found.number);
        all.push(found.entry);
    }
    (all, replay.damaged)
}

#[test]
fn what_was_noted_is_read_in_its_order_whichever_file_it_is_in() {
    let home = tempfile::tempdir().unwrap();
    let noted = entries();
    let mut journal = Journal::open(home.path()).unwrap();
    let wanted: Vec<_> = noted.iter().map(|(_, entry)| entry.clone()).collect();
    for (place, entry) in &noted {
        assert_eq!(journal.note(place, entry), Kept::Yes);
    }
    drop(journal);
    let mut journal = Journal::open(home.path()).unwrap();
    assert_eq!(read(&mut journal), (wanted.clone(), 0));
    for (place, entry) in &noted {
        journal.note(place, entry);
    }
    assert_eq!(read(&mut journal).0, [wanted.clone(), wanted].concat());
    #[cfg(unix)]
    for file in files(&journal.dir) {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_line_that_was_cut_off_costs_itself() {
    let home = tempfile::tempdir().unwrap();
    let noted = entries();
    let place = Place::other();
    let mut journal = Journal::open(home.path()).unwrap();
    for (_, entry) in &noted[..2] {
        assert_eq!(journal.note(&place, entry), Kept::Yes);
    }
    drop(journal);
    let path = place.path(&home.path().join("control/journal"));
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    let mut journal = Journal::open(home.path()).unwrap();
    assert_eq!(read(&mut journal), (vec![noted[0].1.clone()], 1));
    journal.note(&place, &noted[4].1);
    assert_eq!(read(&mut journal), (vec![noted[0].1.clone(), noted[4].1.clone()], 1));
}

#[test]
fn a_full_journal_leaves_payloads_out_and_then_everything() {
    let home = tempfile::tempdir().unwrap();
    let (place, entry) = entries().swap_remove(1);
    let mut journal = Journal::open(home.path()).unwrap();
    journal.limits = Limits { full: 2_000, all_full: 1 << 20 };
    assert!(!journal.take_gap());
    while journal.note(&place, &entry) == Kept::Yes {}
    assert!((4_000..5_000).contains(&journal.bytes), "{}", journal.bytes);
    let (all, damaged) = read(&mut journal);
    assert_eq!((&all[0], damaged), (&entry, 0));
    let text = format!("{:?}", all.last().unwrap());
    assert!(text.contains("\"c\"") && !text.contains("1.50") && !text.contains("why"), "{text}");
    let mut next = Journal::open(home.path()).unwrap();
    assert_eq!(
        (next.take_gap(), next.take_gap()),
        (true, false),
        "the next one knows that something is missing"
    );
    let (other, entry) = entries().swap_remove(2);
    assert_eq!(journal.note(&other, &entry), Kept::Yes, "another session's has room");
}

#[test]
fn a_settled_session_leaves_what_is_carried_on() {
    let home = tempfile::tempdir().unwrap();
    let noted = entries();
    let mut journal = Journal::open(home.path()).unwrap();
    for (place, entry) in &noted {
        assert_eq!(journal.note(place, entry), Kept::Yes);
    }
    let (session, proxies) = (Place::session("claude-code", "s"), Place::proxies_of(7));
    journal.settle(&session, &[]).unwrap();
    journal.settle(&proxies, &[noted[0].1.clone()]).unwrap();
    assert_eq!(read(&mut journal).0, [noted[4].1.clone(), noted[0].1.clone()]);
    assert_eq!(files(&journal.dir).len(), 2);
    let bytes: u64 = files(&journal.dir).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    assert_eq!(journal.bytes, bytes);
}
