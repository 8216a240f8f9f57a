//! How runs end.

use super::*;
use bir_model::record::EndReason;
use serde_json::json;

fn answer_of(world: &World, run: RunId) -> Vec<(u32, String)> {
    let finals = world.records().into_iter().filter_map(|record| match record {
        Record::Final(answer) if answer.run_id == run => Some((answer.step_index, answer.answer.clone())),
        _ => None,
    });
    finals.collect()
}

fn notification(world: &mut World, by: &Teller) -> RunId {
    let prompt = told_text("<task-notification>");
    world.tell(by, HookWhat::Prompt { prompt, notification: true }).run_id.unwrap()
}

#[test]
fn two_seconds_after_stop_with_answer_and_usage() {
    let mut world = World::new();
    world.facts.usage = Some(json!({"m": {"input_tokens": 3}}));
    world.facts.final_answer = Some(told_text("not this one"));
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.pre(&by, &builtin("c"));
    world.post(&by, &builtin("c"), Outcome::Ok);
    world.stop(&by, "All done.", 0);
    let stopped = world.now;
    world.wait(1999);
    assert_eq!(world.finishes(run), []);
    world.wait(1);
    let finish = &world.finishes(run)[0];
    assert_eq!((finish.at, finish.reason), (stopped, EndReason::Closed));
    assert_eq!(finish.final_output.as_deref(), Some("All done."));
    assert_eq!(finish.metrics, world.facts.usage);
    assert_eq!(answer_of(&world, run), [(2, "All done.".to_owned())]);
    world.check();
}

#[test]
fn a_stop_that_another_hook_refused_is_not_the_end() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.stop(&by, "first", 0);
    world.pre(&by, &builtin("c"));
    world.post(&by, &builtin("c"), Outcome::Ok);
    world.wait(60_000);
    assert_eq!(world.finishes(run), []);
    world.stop(&by, "second", 0);
    world.wait(2000);
    assert_eq!(world.finishes(run)[0].final_output.as_deref(), Some("second"));
    world.check();
}

#[test]
fn the_next_prompt_ends_it_at_once_and_what_comes_late_is_taken() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    let next = world.prompt(&teller("s", "u"), "else");
    assert_eq!(world.finishes(run).len(), 1);
    world.pre(&by, &builtin("late"));
    world.wait(60_000);
    world.post(&by, &builtin("late"), Outcome::Ok);
    assert_eq!(world.only(run).outcome, Some(Outcome::Ok));
    assert_eq!(world.steps(next), []);
    world.stop(&teller("s", "u"), "done", 0);
    world.wait(2000);
    assert_eq!((world.finishes(run).len(), world.finishes(next).len()), (1, 1));
    world.check();
}

#[test]
fn the_end_of_the_session_waits_for_a_half_that_is_outstanding() {
    let mut world = World::new();
    world.register("p", "s1", 100);
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.pre(&by, &mcp("c"));
    world.began("p", 0, &mcp("c"), true);
    world.tell(&by, HookWhat::SessionEnd { reason: "other".into() });
    world.wait(5000);
    assert_eq!(world.finishes(run), []);
    world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
    assert_eq!((world.only(run).outcome, world.finishes(run).len()), (Some(Outcome::Ok), 1));
    world.check();
}

#[test]
fn work_in_the_background_goes_on_after_stop_and_its_notification_is_the_same_run() {
    let mut world = World::new();
    let by = teller("s", "t");
    let agent = Teller { agent: Some("a1".into()), ..by.clone() };
    let run = world.prompt(&by, "do it");
    world.tell(&agent, HookWhat::AgentStart);
    world.pre(&agent, &builtin("one"));
    world.stop(&by, "it runs", 1);
    world.wait(60_000);
    world.post(&agent, &builtin("one"), Outcome::Ok);
    world.wait(60_000);
    // The user asks something else meanwhile.
    let other = world.prompt(&teller("s", "u"), "else");
    world.stop(&teller("s", "u"), "yes", 0);
    world.wait(2000);
    assert_eq!((world.finishes(run).len(), world.finishes(other).len()), (0, 1));
    world.pre(&agent, &builtin("two"));
    world.post(&agent, &builtin("two"), Outcome::Ok);
    world.tell(&agent, HookWhat::AgentStop { transcript: None });
    let tells = teller("s", "v");
    assert_eq!(notification(&mut world, &tells), run);
    world.wait(60_000);
    assert_eq!(world.pre(&tells, &builtin("three")).run_id, Some(run));
    world.post(&tells, &builtin("three"), Outcome::Ok);
    world.stop(&tells, "now it is done", 0);
    world.wait(2000);
    assert_eq!(world.finishes(run)[0].final_output.as_deref(), Some("now it is done"));
    assert_eq!(world.ends(run).len(), 3);
    let turns = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::Ask { turns, .. } => Some(turns.clone()),
        _ => None,
    });
    assert_eq!(turns.unwrap(), ["t", "v"]);
    world.check();
}

#[test]
fn an_agent_that_ends_without_a_word_and_silence_end_it_too() {
    let mut world = World::new();
    let by = teller("s", "t");
    let agent = Teller { agent: Some("a1".into()), ..by.clone() };
    let run = world.prompt(&by, "do it");
    world.tell(&agent, HookWhat::AgentStart);
    world.stop(&by, "it runs", 1);
    world.wait(100_000);
    // Compaction ends agents that never began.
    world.tell(
        &Teller { agent: Some("never".into()), ..by.clone() },
        HookWhat::AgentStop { transcript: None },
    );
    world.wait(100_000);
    assert_eq!(world.finishes(run), []);
    world.tell(&agent, HookWhat::AgentStop { transcript: None });
    world.wait(10_000);
    assert_eq!(world.finishes(run)[0].reason, EndReason::Closed);

    let silent = world.prompt(&teller("s", "u"), "do it");
    world.stop(&teller("s", "u"), "a server runs", 1);
    world.wait(30 * 60 * 1000);
    assert_eq!(world.finishes(silent)[0].reason, EndReason::Idle);
    world.check();
}

#[test]
fn an_error_of_the_model_ends_it_and_says_so() {
    let mut world = World::new();
    for (turn, error, said) in [("t", "rate_limit", "rate_limit"), ("u", "key sk-ant-1 is wrong", "error")] {
        let by = teller("s", turn);
        let run = world.prompt(&by, "do it");
        world.tell(&by, HookWhat::Stop { answer: None, error: Some(error.into()), background: 0 });
        assert_eq!(world.finishes(run)[0].metrics, Some(json!({ "error": said })));
    }
    world.check();
}

#[test]
fn a_host_that_is_gone_leaves_an_abandoned_run_until_somebody_knows_better() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.pre(&by, &builtin("c"));
    world.hear(EntryWhat::HostGone { pid: 100 });
    assert_eq!(world.finishes(run)[0].reason, EndReason::Abandoned);
    assert_eq!(world.only(run).outcome, Some(Outcome::Unknown));
    assert!(world.book.watched().is_empty());
    // The inbox held its last word.
    world.stop(&by, "done", 0);
    world.wait(2000);
    let finishes = world.finishes(run);
    assert_eq!((finishes.len(), finishes[1].reason), (2, EndReason::Closed));
    assert_eq!(answer_of(&world, run), [(2, "done".to_owned())]);
    world.check();
}

#[test]
fn a_transcript_that_does_not_answer_is_not_waited_for() {
    let mut world = World::new();
    world.answers = false;
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.stop(&by, "done", 0);
    world.wait(2000);
    assert!(matches!(world.effects.last(), Some(Effect::Ask { .. })));
    world.wait(4999);
    assert_eq!(world.finishes(run), []);
    world.wait(1);
    assert_eq!(world.finishes(run).len(), 1);
    world.hear(EntryWhat::Transcript { run, facts: Box::default() });
    world.check();
}

#[test]
fn the_transcript_has_the_answer_where_the_host_tells_none() {
    let mut world = World::new();
    world.facts.final_answer = Some(told_text("from the transcript"));
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.tell(&by, HookWhat::Stop { answer: None, error: None, background: 0 });
    world.wait(2000);
    assert_eq!(answer_of(&world, run), [(0, "from the transcript".to_owned())]);
}

#[test]
fn open_calls_are_bounded_and_those_beyond_are_counted() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    let call = builtin("");
    for n in 0..10_003 {
        world.pre(&by, &HookCall { call_id: Some(n.to_string()), ..call.clone() });
    }
    let lost = world.records().into_iter().filter(|record| matches!(record, Record::Lost(_))).count();
    assert_eq!(lost, 3);
    world.tell(&by, HookWhat::SessionEnd { reason: "other".into() });
    assert_eq!(world.ends(run).len(), 10_000);
    world.check();
}
