//! Transcripts that real hosts wrote: what the tail and the facts make of them.
#![allow(clippy::unwrap_used)]

use bir_control::transcript::{RawFacts, Tail, Transcripts, facts};
use bir_model::Outcome::{self, Cancelled, Denied, Ok, RpcError, Timeout, ToolError};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(name)
}

/// The sessions of a folder, sorted by name.
fn sessions(name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(name)).unwrap();
    let mut found: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    found.sort();
    assert!(!found.is_empty(), "{name}");
    found
}

/// The prompt ids of a session, in order, each once.
fn prompts(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ids: Vec<_> = rows.filter_map(|row| Some(row.get("promptId")?.as_str()?.to_owned())).collect();
    ids.dedup();
    ids
}

fn ask(path: &Path, turns: &[String], open: &[&str]) -> RawFacts {
    let open: Vec<_> = open.iter().map(|id| (*id).to_owned()).collect();
    facts(&[path.to_path_buf()], turns, 0, &open)
}

/// Input, output, cache read, cache creation, requests.
fn totals(facts: &RawFacts) -> [u64; 5] {
    let Some(usage) = &facts.usage else { return [0; 5] };
    ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "requests"]
        .map(|name| usage["totals"][name].as_u64().unwrap())
}

fn follow(path: &Path) -> Tail {
    let mut tail = Tail::new(path.to_path_buf());
    while tail.step().unwrap() {}
    tail
}

#[test]
fn outcomes_by_what_happened() {
    let table: [(&str, &[(&str, Outcome)]); 6] = [
        (
            "denied",
            &[
                ("toolu_0_0_2", Denied),
                ("toolu_0_0_3", Denied),
                ("toolu_0_0_4", Denied),
                ("toolu_0_0_5", ToolError),
            ],
        ),
        ("deny_rule", &[("toolu_0_0_0", ToolError), ("toolu_0_0_2", Denied)]),
        ("intbash", &[("toolu_0_0_1", Cancelled), ("toolu_0_0_2", Cancelled)]),
        (
            "timeout",
            &[
                ("toolu_0_0_0", Timeout),
                ("toolu_0_1_0", Timeout),
                ("toolu_0_2_0", ToolError),
                ("toolu_0_2_1", ToolError),
                ("toolu_0_2_2", ToolError),
                ("toolu_0_2_3", ToolError),
            ],
        ),
        ("failures", &[("toolu_0_2_0", Timeout), ("toolu_0_3_0", ToolError), ("toolu_0_4_0", Ok)]),
        ("apierror", &[("toolu_0_0_0", Ok)]),
    ];
    for (name, expected) in table {
        let path = &sessions(&format!("claude-code/{name}"))[0];
        let mut open: Vec<_> = expected.iter().map(|(id, _)| *id).collect();
        open.push("toolu_nobody");
        let found = ask(path, &prompts(path), &open).outcomes;
        let found: Vec<_> = found.iter().map(|(id, outcome)| (id.as_str(), *outcome)).collect();
        assert_eq!(found, expected, "{name}");
        let mut tail = follow(path);
        for (id, outcome) in expected {
            assert_eq!(tail.outcome_of(id), Some(*outcome), "{name} {id}");
            assert_eq!(tail.outcome_of(id), None, "what was asked for is forgotten");
        }
    }
}

#[test]
fn what_the_model_said_before_its_calls() {
    let mut tail = follow(&sessions("claude-code/denied")[0]);
    let before = |tail: &mut Tail, call| tail.context_before(call);
    assert_eq!(before(&mut tail, "toolu_0_0_2").as_deref(), Some("I think about it\n\nFirst I list."));
    assert_eq!(before(&mut tail, "toolu_0_0_5"), None, "it stands before the first call of its message");
    assert_eq!(before(&mut tail, "toolu_0_0_2"), None);
    let mut tail = follow(&sessions("claude-code/timeout")[0]);
    assert_eq!(tail.context_before("toolu_0_0_0"), None, "it said nothing");
}

#[test]
fn a_sub_agents_calls_are_found_from_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("s.jsonl");
    let agents = dir.path().join("s/subagents");
    std::fs::create_dir_all(&agents).unwrap();
    let message = |call: &str| {
        let block = json!([{"type": "text", "text": call}, {"type": "tool_use", "id": call, "name": "x", "input": {}}]);
        format!("{}\n", json!({"type": "assistant", "message": {"id": call, "model": "m", "content": block}}))
    };
    std::fs::write(&session, message("main")).unwrap();
    let mut all = Transcripts::new();
    assert_eq!(all.context_before(&session, "inner"), None);
    std::fs::write(agents.join("agent-1.jsonl"), message("inner")).unwrap();
    assert_eq!(all.context_before(&session, "inner").as_deref(), Some("inner"));
    assert_eq!(all.context_before(&session, "main").as_deref(), Some("main"));
    all.forget(std::slice::from_ref(&session));
    assert_eq!(
        all.context_before(&session, "main").as_deref(),
        Some("main"),
        "followed from the beginning again"
    );
    assert_eq!(all.context_before(&dir.path().join("none"), "main"), None);
}

#[test]
fn a_turn_counts_each_response_once() {
    let path = &sessions("claude-code/denied")[0];
    let found = ask(path, &prompts(path), &[]);
    assert_eq!(found.final_answer.as_deref(), Some("Done."));
    let tokens = json!({"inputTokens": 23, "outputTokens": 43, "cacheReadTokens": 3, "cacheCreationTokens": 4, "requests": 2});
    let expected = json!({"models": {"claude-sonnet-4-5": tokens}, "totals": tokens, "source": "transcript"});
    assert_eq!(found.usage, Some(expected));
    assert_eq!(ask(path, &["another".into()], &[]), RawFacts::default());
}

#[test]
fn a_prompt_in_the_middle_of_a_turn_begins_none() {
    let path = &sessions("claude-code/steer")[0];
    let turns = prompts(path);
    assert_eq!(turns.len(), 1);
    let found = ask(path, &turns, &[]);
    assert_eq!((totals(&found), found.final_answer.as_deref()), ([30, 15, 0, 0, 3], Some("Done.")));
}

#[test]
fn an_error_of_the_interface_is_no_response_and_no_answer() {
    let path = &sessions("claude-code/apierror")[0];
    let found = ask(path, &prompts(path), &[]);
    assert_eq!((totals(&found), found.final_answer), ([10, 5, 0, 0, 1], None));
}

#[test]
fn an_interrupted_turn_has_no_answer_and_the_next_one_its_own() {
    let path = &sessions("claude-code/intbash")[0];
    let turns = prompts(path);
    let first = ask(path, &turns[..1], &[]);
    assert_eq!((totals(&first), first.final_answer), ([10, 5, 0, 0, 1], None));
    let second = ask(path, &turns[1..], &[]);
    assert_eq!((totals(&second), second.final_answer.as_deref()), ([10, 5, 0, 0, 1], Some("Done.")));
}

#[test]
fn sub_agents_count_where_they_were_begun() {
    let path = &sessions("claude-code/subagent")[0];
    let found = ask(path, &prompts(path), &["toolu_0_0_0"]);
    assert_eq!(totals(&found), [10 + 10 + 7 + 8, 5 + 5 + 70 + 80, 0, 0, 4]);
    assert_eq!(found.final_answer.as_deref(), Some("Done."), "not the sub-agent's");
    assert_eq!(found.outcomes, [("toolu_0_0_0".to_owned(), Ok)]);

    // In the background, under the id of the turn that began it; what follows its end is told apart by the turns asked for.
    let path = &sessions("claude-code/background")[0];
    let turns = prompts(path);
    assert_eq!(turns.len(), 2);
    let alone = ask(path, &turns[..1], &[]);
    assert_eq!(totals(&alone), [20 + 22, 10 + 221, 0, 0, 5]);
    assert_eq!(alone.final_answer.as_deref(), Some("Started."));
    let whole = ask(path, &turns, &[]);
    assert_eq!(totals(&whole), [30 + 22, 15 + 221, 0, 0, 6]);
    assert_eq!(whole.final_answer.as_deref(), Some("All done."));
    // Told twice, read once.
    let agent = path.with_extension("").join("subagents/agent-a0dbd3529f9f704f2.jsonl");
    assert_eq!(facts(&[agent.clone(), path.clone(), agent], &turns, 0, &[]), whole);
}

#[test]
fn a_fork_counts_only_what_it_did_itself() {
    let files = sessions("claude-code/fork");
    let (first, fork) = (&files[0], &files[1]);
    let turns = prompts(first);
    let of = |path, turn: &String| totals(&ask(path, std::slice::from_ref(turn), &[]));
    assert_eq!(
        turns.iter().map(|turn| of(first, turn)).collect::<Vec<_>>(),
        [[3, 3, 0, 0, 2], [7, 7, 0, 0, 2]]
    );
    let turns = prompts(fork);
    assert_eq!(
        turns.iter().map(|turn| of(fork, turn)).collect::<Vec<_>>(),
        [[11, 11, 0, 0, 2], [7, 7, 0, 0, 1]]
    );
    let found = ask(fork, &turns[..1], &[]);
    assert_eq!(found.final_answer.as_deref(), Some("three"));
}

#[test]
fn a_compaction_is_told_and_belongs_to_no_other_turn() {
    let files = sessions("claude-code/clear");
    let path = files.iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let turns = prompts(path);
    let found: Vec<_> = turns.iter().map(|turn| ask(path, std::slice::from_ref(turn), &[])).collect();
    assert_eq!(found.iter().map(totals).collect::<Vec<_>>(), [[20, 10, 0, 0, 2], [0; 5], [10, 5, 0, 0, 1]]);
    assert!(
        found.iter().all(|facts| facts.usage.as_ref().is_none_or(|usage| usage.get("compaction").is_none()))
    );
    // A compaction in the middle of a turn has the turn's id.
    let together = ask(path, &turns[..2], &[]);
    assert_eq!(
        (totals(&together), &together.usage.unwrap()["compaction"]),
        ([20, 10, 0, 0, 2], &json!(true))
    );
}

#[test]
fn rows_without_ids_go_by_time_and_by_the_call_that_began_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    let old = |from: &Path, to: &Path| {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let text = std::fs::read_to_string(from).unwrap();
        let mut rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("promptId");
        }
        std::fs::write(to, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    };
    let (here, there) = (&sessions("claude-code/subagent")[0], dir.path().join("s.jsonl"));
    old(here, &there);
    let agent = "subagents/agent-a41e7c0df3fb76e3f";
    old(
        &here.with_extension("").join(format!("{agent}.jsonl")),
        &dir.path().join(format!("s/{agent}.jsonl")),
    );
    let meta = format!("{agent}.meta.json");
    std::fs::copy(here.with_extension("").join(&meta), dir.path().join("s").join(&meta)).unwrap();
    let began = 1_796_038_387_500;
    assert_eq!(totals(&facts(std::slice::from_ref(&there), &[], began, &[])), [35, 160, 0, 0, 4]);
    assert_eq!(facts(&[there], &[], began + 60_000, &[]).usage, None);
}

#[test]
fn codex() {
    let path = &sessions("codex")[0];
    let text = std::fs::read_to_string(path).unwrap();
    let turn = text.lines().find_map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        Some(row["payload"]["turn_id"].as_str()?.to_owned())
    });
    let calls = ["call_0", "call_1", "call_2", "call_3", "call_4", "call_5"];
    let expected = [Ok, ToolError, RpcError, Ok, ToolError, ToolError];
    let found = ask(path, &[turn.unwrap()], &calls);
    assert_eq!(found.outcomes.iter().map(|(_, outcome)| *outcome).collect::<Vec<_>>(), expected);
    assert_eq!((totals(&found), found.final_answer.as_deref()), ([7, 7, 0, 0, 7], Some("All done.")));
    assert!(found.usage.unwrap()["models"].get("fake-model").is_some());
    let mut tail = follow(path);
    assert_eq!(calls.map(|call| tail.outcome_of(call)), expected.map(Some));
    assert_eq!(ask(path, &["another".into()], &[]).usage, None);
}

#[test]
fn codex_tells_what_was_said_before_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rollout.jsonl");
    let item = |payload: Value| format!("{}\n", json!({"type": "response_item", "payload": payload}));
    let rows = [
        item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]})),
        item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"}),
        ),
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}),
        ),
        item(json!({"type": "function_call", "call_id": "a", "name": "x"})),
        item(json!({"type": "function_call_output", "call_id": "a", "output": "1"})),
        item(json!({"type": "function_call", "call_id": "b", "name": "x"})),
    ];
    std::fs::write(&path, rows.concat()).unwrap();
    let mut tail = follow(&path);
    assert_eq!(tail.context_before("a").as_deref(), Some("Hm.\n\nI look."));
    assert_eq!(tail.context_before("b"), None);
}

#[test]
fn a_tail_reads_in_pieces_what_it_reads_at_once() {
    let path = &sessions("claude-code/denied")[0];
    let whole = std::fs::read(path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let growing = dir.path().join("t.jsonl");
    let mut tail = Tail::new(growing.clone());
    assert!(!tail.step().unwrap(), "it is not there yet");
    for end in (0..whole.len()).step_by(997).chain([whole.len()]) {
        std::fs::write(&growing, &whole[..end]).unwrap();
        tail.step().unwrap();
    }
    assert_eq!(tail.outcome_of("toolu_0_0_4"), Some(Denied));
    assert!(tail.context_before("toolu_0_0_2").is_some());
}

fn everything(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let mut tail = follow(&path);
    let _ = (tail.context_before("toolu_0_0_0"), tail.outcome_of("toolu_0_0_0"));
    let turns = ["096fc13f-a713-4830-baa2-aaffa7b6cb81".to_owned()];
    let _ = facts(&[path.clone(), path.join("x")], &turns, 1_796_038_387_500, &["toolu_0_0_0".to_owned()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..4000)) {
        everything(&bytes);
    }

    /// Bytes of real files, cut, changed and put together anew.
    #[test]
    fn damaged_transcripts_are_survived(
        which in 0_usize..3,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let name = ["claude-code/denied", "claude-code/clear", "codex"][which];
        let mut bytes = std::fs::read(&sessions(name)[0]).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let cut = cut.index(bytes.len());
        bytes.rotate_left(cut);
        everything(&bytes);
    }
}
