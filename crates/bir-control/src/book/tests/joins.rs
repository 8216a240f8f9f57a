//! How the views of a proxy and of hooks find each other.

use super::*;
use bir_model::record::Source;

const BOTH: [Source; 2] = [Source::Hook, Source::Proxy];

/// Longer than the hook's word of an end is waited for, ms.
const WORD: u64 = 1001;

#[test]
fn arguments_that_another_hook_changed_are_both_kept() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    world.pre(&by, &mcp("a"));
    let ran = with_arguments(mcp("a"), r#"{"message":"changed"}"#);
    world.began("p", 0, &ran, true);
    world.ended("p", 0, &ran, true, Outcome::Ok);
    world.post(&by, &ran, Outcome::Ok);
    world.pre(&by, &builtin("b"));
    world.post(&by, &with_arguments(builtin("b"), r#"{"path":"other"}"#), Outcome::Ok);
    let ends = world.ends(run);
    assert_eq!(ends[0].tool_input.as_deref(), Some(r#"{"message":"changed"}"#));
    assert_eq!(ends[0].model_input.as_deref(), Some(r#"{"message":"x"}"#));
    assert_eq!(ends[1].tool_input.as_deref(), Some(r#"{"path":"other"}"#));
    assert_eq!(ends[1].model_input.as_deref(), Some(r#"{"path":"a"}"#));
    assert_eq!(ends[1].original_bytes, Some("\"from the hook\"".len() as u64), "of the result");
}

#[test]
fn without_ids_equal_calls_side_by_side_are_joined_in_order_and_said_to_be_a_guess() {
    let mut world = World::new();
    let by = gemini("s");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    let (call, other) = (unnamed(mcp("")), with_arguments(unnamed(mcp("")), "{\"message\":\"y\"}"));
    let first = world.pre(&by, &call).step_index;
    let second = world.pre(&by, &call).step_index;
    let third = world.pre(&by, &other).step_index;
    assert_eq!((first, second, third), (Some(0), Some(2), Some(4)));
    for (number, call) in [(0, &other), (1, &call), (2, &call)] {
        world.began("p", number, call, false);
    }
    for (number, call) in [(2, &call), (0, &other), (1, &call)] {
        world.ended("p", number, call, false, Outcome::Ok);
    }
    for call in [&call, &call, &other] {
        world.post(&by, call, Outcome::Ok);
    }
    let mut ends = world.ends(run);
    ends.sort_by_key(|end| end.step_index);
    let got: Vec<_> = ends.iter().map(|end| (end.step_index, end.ambiguous, end.sources.len())).collect();
    assert_eq!(got, [(1, true, 2), (3, false, 2), (5, false, 2)]);
    world.stop(&by, "done", 0);
    world.wait(2000);
    world.check();
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_proxy_that_speaks_before_its_hook_is_of_the_same_call() {
    // How long the hook takes, whether the proxy knows the end before, and whether hooks have ids of calls.
    for late in [0, 1900, 2100] {
        for (ends_first, call) in
            [(false, unnamed(mcp(""))), (true, unnamed(mcp(""))), (false, mcp("c")), (true, mcp("c"))]
        {
            let mut world = World::new();
            let by = gemini("s");
            world.register("p", "s1", 100);
            let run = world.prompt(&by, "do it");
            world.began("p", 0, &call, false);
            if ends_first {
                world.ended("p", 0, &call, false, Outcome::Ok);
            }
            world.wait(late);
            assert_eq!(world.pre(&by, &call).step_index, Some(0));
            world.post(&by, &call, Outcome::Ok);
            if !ends_first {
                world.ended("p", 0, &call, false, Outcome::Ok);
            }
            let end = world.only(run);
            // What was written when the hook came stays so.
            let sources = if ends_first && late > 2000 { 1 } else { 2 };
            assert_eq!((end.outcome, end.sources.len()), (Some(Outcome::Ok), sources));
            assert!(!end.bypassed && !end.ambiguous);
            let more = HookCall { call_id: call.call_id.clone().map(|id| id + "2"), ..call.clone() };
            assert_eq!(world.pre(&by, &more).step_index, Some(2), "one more is one more");
        }
    }
}

#[test]
fn a_call_that_waits_for_its_hook_is_of_the_turn_in_which_it_was_made() {
    let mut world = World::new();
    let by = gemini("s");
    world.register("p", "s1", 100);
    let (first, call) = (world.prompt(&by, "one"), unnamed(mcp("")));
    world.began("p", 0, &call, false);
    world.ended("p", 0, &call, false, Outcome::Ok);
    world.stop(&by, "done", 0);
    let second = world.prompt(&by, "two");
    world.stop(&by, "done", 0);
    world.wait(60_000);
    world.check();
    assert_eq!((world.steps(first).len(), world.steps(second).len()), (2, 0));
    assert_eq!(world.only(first).sources, [Source::Proxy]);
}

#[test]
fn a_proxy_of_a_process_that_no_hook_has_told_of_yet_waits_for_one() {
    // The session goes on in another process, and its first hook is late.
    let mut world = World::new();
    let by = gemini("s");
    world.prompt(&by, "one");
    world.stop(&by, "done", 0);
    world.wait(60_000);
    world.hear(EntryWhat::HostGone { pid: 100 });
    world.register("p", "s1", 200);
    let (by, call) = (Teller { pid: 200, ..by }, unnamed(mcp("")));
    let prompt = HookWhat::Prompt { prompt: told_text("two"), notification: false };
    let prompt = Box::new(world.event(&by, prompt));
    world.began("p", 0, &call, false);
    world.ended("p", 0, &call, false, Outcome::Ok);
    let run = world.send(prompt).run_id.unwrap();
    world.pre(&by, &call);
    world.post(&by, &call, Outcome::Ok);
    assert_eq!(world.only(run).sources, BOTH);
    assert_eq!(world.runs().len(), 2);
}

#[test]
fn an_end_without_an_id_is_that_of_the_call_whose_beginning_had_one() {
    for wire_first in [false, true] {
        let mut world = World::new();
        let by = copilot("s");
        world.register("p", "s1", 100);
        let run = world.prompt(&by, "do it");
        let named = |id: &str| HookCall { tool_name: "s1-echo".into(), tool: Some("echo".into()), ..mcp(id) };
        let unnamed = HookCall { call_id: None, server: None, tool: None, ..named("") };
        // Two equal calls at once, and one more when both are over.
        for (number, id) in [(0, "a"), (1, "b")] {
            world.pre(&by, &named(id));
            world.began("p", number, &named(id), true);
        }
        for (number, id) in [(1, "b"), (0, "a")] {
            if wire_first {
                world.ended("p", number, &named(id), true, Outcome::Ok);
            }
            world.post(&by, &unnamed, Outcome::Ok);
            if !wire_first {
                world.ended("p", number, &named(id), true, Outcome::Ok);
            }
        }
        world.pre(&by, &named("c"));
        world.began("p", 2, &named("c"), true);
        world.ended("p", 2, &named("c"), true, Outcome::ToolError);
        world.post(&by, &unnamed, Outcome::ToolError);
        world.stop(&by, "done", 0);
        world.wait(60_000);
        world.check();
        let ends = world.ends(run);
        assert_eq!(ends.len(), 3, "{ends:#?}");
        assert!(ends.iter().all(|end| end.sources == BOTH && !end.bypassed && end.call_id.is_some()));
    }
}

#[test]
fn an_end_without_an_id_leaves_a_call_alone_that_its_proxy_knows_to_go_on() {
    let mut world = World::new();
    let by = copilot("s");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    for (number, id) in [(0, "long"), (1, "short")] {
        world.pre(&by, &mcp(id));
        world.began("p", number, &mcp(id), true);
    }
    world.ended("p", 1, &mcp("short"), true, Outcome::Ok);
    world.post(&by, &unnamed(mcp("")), Outcome::Ok);
    world.wait(60_000);
    assert_eq!(world.ends(run).len(), 1, "the long one goes on");
    world.ended("p", 0, &mcp("long"), true, Outcome::ToolError);
    world.post(&by, &unnamed(mcp("")), Outcome::ToolError);
    let outcomes: Vec<_> = world.ends(run).iter().map(|end| end.outcome.unwrap()).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::ToolError]);
}

#[test]
fn after_ten_minutes_equal_arguments_are_another_call() {
    let mut world = World::new();
    let by = gemini("s");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    world.pre(&by, &unnamed(mcp("")));
    world.wait(10 * 60 * 1000);
    world.began("p", 0, &unnamed(mcp("")), false);
    world.wait(2000);
    assert_eq!(world.steps(run).len(), 2);
}

#[test]
fn a_proxy_behind_a_launcher_is_found_by_the_ids_of_its_calls() {
    let mut world = World::new();
    let (by, foreign) = (teller("s", "t"), Teller { pid: 200, ..teller("other", "u") });
    world.register("p", "s1", 999);
    let run = world.prompt(&by, "do it");
    world.prompt(&foreign, "else");
    world.pre(&by, &mcp("c"));
    world.began("p", 0, &mcp("c"), true);
    world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
    world.post(&by, &mcp("c"), Outcome::Ok);
    assert_eq!(world.only(run).sources, BOTH);
    assert_eq!(world.book.view().proxies[0].session.as_deref(), Some("s"));
    // From now on its server is known to have a proxy.
    world.pre(&by, &mcp("d"));
    world.post(&by, &mcp("d"), Outcome::Ok);
    assert_eq!(world.ends(run).len(), 1, "the proxy's half is waited for");
}

#[test]
fn the_same_id_in_two_sessions_goes_by_the_process() {
    let mut world = World::new();
    let (a, b) = (teller("a", "t"), Teller { pid: 200, ..teller("b", "u") });
    world.register("pa", "s1", 100);
    world.register("pb", "s1", 200);
    let (run_a, run_b) = (world.prompt(&a, "one"), world.prompt(&b, "two"));
    world.pre(&a, &mcp("c"));
    world.pre(&b, &mcp("c"));
    for (proxy, outcome) in [("pb", Outcome::ToolError), ("pa", Outcome::Ok)] {
        world.began(proxy, 0, &mcp("c"), true);
        world.ended(proxy, 0, &mcp("c"), true, outcome);
    }
    world.wait(WORD);
    assert_eq!(world.only(run_a).outcome, Some(Outcome::Ok));
    assert_eq!(world.only(run_b).outcome, Some(Outcome::ToolError));
}

#[test]
fn what_no_session_claims_is_a_standalone_run_that_proxies_of_one_host_share() {
    let mut world = World::new();
    world.register("p", "s1", 300);
    world.register("q", "s2", 300);
    for (proxy, number) in [("p", 0), ("q", 0)] {
        world.began(proxy, number, &unnamed(mcp("")), false);
        world.ended(proxy, number, &unnamed(mcp("")), false, Outcome::Ok);
    }
    let runs = world.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].tier, runs[0].servers.len()), (bir_model::Tier::Standalone, 2));
    assert_eq!(runs[0].metadata["timeZone"], "Europe/Berlin");
    assert_eq!(world.ends(runs[0].id).len(), 2);
    world.wait(30 * 60 * 1000);
    assert_eq!(world.finishes(runs[0].id)[0].reason, bir_model::record::EndReason::Idle);
    // Hooks of that process appear: what comes now is the session's.
    let by = Teller { pid: 300, ..teller("s", "t") };
    let run = world.prompt(&by, "do it");
    world.began("p", 1, &unnamed(mcp("")), false);
    world.ended("p", 1, &unnamed(mcp("")), false, Outcome::Ok);
    assert_eq!(world.only(run).sources, [Source::Proxy]);
    world.stop(&by, "done", 0);
    world.wait(2000);
    world.check();
}

#[test]
fn an_unknown_proxy_registers_and_what_is_told_twice_counts_once() {
    let mut world = World::new();
    let begin = |at| report(0, &mcp("c"), true, at, ProxyWhat::Began { input: None });
    assert_eq!(world.report("p", begin(START)), Answer::UnknownProxy);
    world.register("p", "s1", 100);
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    let pre = Box::new(world.event(&by, HookWhat::Pre { call: mcp("c") }));
    let reply = world.send(pre.clone());
    assert_eq!(reply, world.send(pre), "the same event has the same answer");
    // Another host has loaded the same hook file.
    let echo = Teller { via: "cursor", ..by.clone() };
    assert_eq!(world.pre(&echo, &mcp("c")).step_index, reply.step_index);
    for _ in 0..2 {
        world.began("p", 0, &mcp("c"), true);
        world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
        world.post(&by, &mcp("c"), Outcome::Ok);
        world.post(&echo, &mcp("c"), Outcome::Ok);
        world.batch(&by, &mcp("c"), None);
    }
    world.only(run);
}

#[test]
fn without_ids_the_same_event_through_another_file_is_the_same() {
    let mut world = World::new();
    let (by, echo) = (gemini("s"), Teller { via: "claude-code", ..gemini("s") });
    let run = world.prompt(&by, "do it");
    assert_eq!(world.prompt(&echo, "do it"), run);
    let call = unnamed(builtin(""));
    for _ in 0..2 {
        world.pre(&by, &call);
    }
    for _ in 0..2 {
        world.pre(&echo, &call);
    }
    for by in [&by, &echo, &echo, &by] {
        world.post(by, &call, Outcome::Ok);
    }
    assert_eq!(world.ends(run).len(), 2);
    world.wait(2001);
    assert_ne!(world.prompt(&echo, "do it"), run, "much later it is another one");
}

#[test]
fn what_is_our_own_is_no_step() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.register("bir", "bir", 100);
    let run = world.prompt(&by, "do it");
    let bash =
        HookCall { tool_name: "Bash".into(), ..with_arguments(builtin("a"), r#"{"command":"bir status"}"#) };
    let own = HookCall { tool_name: "mcp__bir__echo".into(), server: Some("bir".into()), ..mcp("b") };
    let search = HookCall { tool_name: "ToolSearch".into(), ..builtin("c") };
    for call in [bash, own, search] {
        let reply = world.pre(&by, &call);
        assert_eq!((reply.run_id, reply.step_index), (Some(run), None));
        world.post(&by, &call, Outcome::Ok);
        world.batch(&by, &call, None);
    }
    world.began("bir", 0, &mcp("b"), true);
    world.ended("bir", 0, &mcp("b"), true, Outcome::Ok);
    world.wait(60_000);
    assert_eq!(world.steps(run), []);
}

#[test]
fn an_id_is_injected_where_all_that_it_takes_is_there() {
    let chosen = Injection { decision: Decision::Ask, even_where_exact: false };
    let inject = |options: Option<Injection>, by: &Teller, takes: bool, call: HookCall<SafeTold>| {
        let mut world = World::with(options);
        let registration = Registration { takes_call_id: takes, ..registration("p", "s1", 100) };
        world.hear(EntryWhat::Register(Box::new(registration)));
        world.prompt(by, "do it");
        world.pre(by, &call).inject
    };
    let call = || unnamed(mcp(""));
    let by = gemini("s");
    assert_eq!(inject(Some(chosen), &by, true, call()).unwrap().decision, "ask");
    assert_eq!(inject(None, &by, true, call()), None);
    assert_eq!(inject(Some(chosen), &by, false, call()), None);
    assert_eq!(inject(Some(chosen), &by, true, unnamed(builtin(""))), None);
    assert_eq!(inject(Some(chosen), &Teller { mode: Some("plan".into()), ..by.clone() }, true, call()), None);
    let exact = teller("s", "t");
    assert_eq!(inject(Some(chosen), &exact, true, mcp("c")), None);
    let asked = Injection { decision: Decision::Allow, even_where_exact: true };
    assert_eq!(inject(Some(asked), &exact, true, mcp("c")).unwrap().decision, "allow");
}

#[test]
fn an_injected_id_joins_exactly_and_a_server_that_does_not_give_it_back_gets_no_more() {
    let mut world = World::with(Some(Injection { decision: Decision::Allow, even_where_exact: false }));
    let by = gemini("s");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    let call = unnamed(mcp(""));
    let ids = [(); 2].map(|()| world.pre(&by, &call).inject.unwrap().call_id);
    for (number, id) in [(0, &ids[1]), (1, &ids[0])] {
        let echoed = HookCall { call_id: Some(id.clone()), ..call.clone() };
        world.began("p", number, &echoed, true);
        world.ended("p", number, &echoed, true, Outcome::Ok);
    }
    world.wait(WORD);
    let ends = world.ends(run);
    assert_eq!(
        ends.iter().map(|end| (end.step_index, end.ambiguous)).collect::<Vec<_>>(),
        [(3, false), (1, false)]
    );
    assert!(ends.iter().all(|end| end.call_id.is_none()), "the host has no id of it");
    assert!(world.pre(&by, &call).inject.is_some());
    world.began("p", 2, &call, false);
    assert_eq!(world.pre(&by, &call).inject, None);
}

#[test]
fn a_loss_stands_in_the_run_once() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    for _ in 0..2 {
        let lost = ProxyWhat::Lost { calls: 3, reason: "backlog".into() };
        let lost = report(7, &mcp(""), false, world.now, lost);
        world.report("p", lost);
    }
    let losses = world.records().into_iter().filter(|record| matches!(record, Record::Lost(_)));
    let losses: Vec<_> = losses.cloned().collect();
    let [Record::Lost(lost)] = &losses[..] else { panic!("{losses:?}") };
    assert_eq!((lost.run_id, lost.calls, lost.reason.as_str()), (run, 3, "backlog"));
}

#[test]
fn a_server_that_died_and_is_asked_again_tells_the_end() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.pre(&by, &mcp("c"));
    for (proxy, outcome) in [("p", Outcome::Unknown), ("q", Outcome::Ok)] {
        world.register(proxy, "s1", 100);
        world.began(proxy, 0, &mcp("c"), true);
        world.ended(proxy, 0, &mcp("c"), true, outcome);
    }
    world.ended("p", 0, &mcp("c"), true, Outcome::Unknown);
    world.wait(WORD);
    assert_eq!(world.only(run).outcome, Some(Outcome::Ok));
}

#[test]
fn the_models_text_before_a_call_comes_with_the_hooks_word_of_its_end() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    world.pre(&by, &mcp("c"));
    world.began("p", 0, &mcp("c"), true);
    world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
    assert!(world.ends(run).is_empty(), "the hook's word is waited for");
    let post =
        HookWhat::Post { call: mcp("c"), outcome: Outcome::Ok, output: None, error: None, duration_ms: None };
    let event = Box::new(world.event(&by, post));
    world.hear(EntryWhat::Hook { event, context: Some(told_text("I shall ask")) });
    assert_eq!(world.only(run).context.as_deref(), Some("I shall ask"));
}

#[test]
fn a_sub_agents_text_comes_with_the_end_of_its_message() {
    let mut world = World::new();
    let by = teller("s", "t");
    let agent = Teller { agent: Some("a1".into()), app: "claude-code", ..by.clone() };
    let run = world.prompt(&by, "do it");
    for (call, wait) in [(builtin("b"), WORD), (builtin("a"), 0)] {
        world.pre(&agent, &call);
        world.post(&agent, &call, Outcome::Ok);
        world.wait(wait);
    }
    assert_eq!(world.ends(run).len(), 1, "it is not waited for without end");
    let listed =
        BatchCall { call: builtin("a"), shown: None, verdict: None, context: Some(told_text("I shall")) };
    world.tell(&agent, HookWhat::Batch { calls: vec![listed] });
    assert_eq!(world.ends(run)[1].context.as_deref(), Some("I shall"));
    assert_eq!(world.ends(run)[1].outcome, Some(Outcome::Ok));
}

#[test]
fn bypassed_calls_are_counted_by_server() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.prompt(&by, "do it");
    for id in ["a", "b"] {
        world.pre(&by, &mcp(id));
        world.post(&by, &mcp(id), Outcome::Ok);
    }
    assert_eq!(world.book.view().bypassed, [], "its proxy may look for the control server");
    world.wait(10_000);
    assert_eq!(world.book.view().bypassed, [("s1".to_owned(), 2)]);
    // From now on none is expected.
    world.pre(&by, &mcp("c"));
    world.post(&by, &mcp("c"), Outcome::Ok);
    assert_eq!(world.book.view().bypassed, [("s1".to_owned(), 3)]);
    // Where a hook tells no server, the tool stands for it, and both are forgotten once the server has a proxy.
    let bare = |id| HookCall { server: None, ..mcp(id) };
    world.pre(&by, &bare("d"));
    world.post(&by, &bare("d"), Outcome::Ok);
    world.wait(10_000);
    let told = [("mcp__s1__echo".to_owned(), 1), ("s1".to_owned(), 3)];
    assert_eq!(world.book.view().bypassed, told);
    world.register("p2", "s2", 7);
    assert_eq!(world.book.view().bypassed, told);
    world.register("p1", "s1", 7);
    assert_eq!(world.book.view().bypassed, []);
}

#[test]
fn a_proxy_that_is_heard_of_after_the_end_of_its_first_call_is_waited_for() {
    let mut world = World::new();
    let by = copilot("s");
    let run = world.prompt(&by, "do it");
    let named = HookCall { tool_name: "s1-echo".into(), ..mcp("c") };
    world.pre(&by, &named);
    // The end names no server.
    world.post(&by, &HookCall { call_id: None, server: None, ..named }, Outcome::Ok);
    world.stop(&by, "done", 0);
    world.wait(1000);
    world.register("p", "s1", 100);
    world.began("p", 0, &mcp("c"), true);
    world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
    world.wait(60_000);
    world.check();
    let end = world.only(run);
    assert_eq!((end.sources, end.bypassed), (BOTH.to_vec(), false));
}

#[test]
fn a_proxy_that_introduces_itself_after_the_hook_told_the_end_has_seen_the_call() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    world.pre(&by, &mcp("c"));
    world.post(&by, &mcp("c"), Outcome::Ok);
    world.register("p", "s1", 100);
    world.began("p", 0, &mcp("c"), true);
    world.ended("p", 0, &mcp("c"), true, Outcome::Ok);
    let end = world.only(run);
    assert_eq!((end.sources.len(), end.bypassed), (2, false));
}

#[test]
fn a_host_that_names_no_server_has_its_calls_by_the_proxies_of_the_session() {
    let mut world = World::new();
    let by = Teller { app: "codex", ..teller("s", "t") };
    world.register("p", "s1", 100);
    let run = world.prompt(&by, "do it");
    let call = HookCall { server: None, ..mcp("c") };
    world.pre(&by, &call);
    world.post(&by, &call, Outcome::Ok);
    assert_eq!(world.steps(run)[0].server.as_deref(), Some("s1"));
    world.began("p", 0, &call, true);
    world.ended("p", 0, &call, true, Outcome::Ok);
    let end = world.only(run);
    assert_eq!((end.sources.len(), end.tool.as_deref(), end.bypassed), (2, Some("echo"), false));
}

#[test]
fn what_only_the_transcript_or_only_the_wire_has_is_in_the_rows() {
    let mut world = World::new();
    world.register("p", "s1", 100);
    let by = teller("s", "t");
    let run = world.prompt(&by, "do it");
    let event = Box::new(world.event(&by, HookWhat::Pre { call: mcp("c") }));
    world.hear(EntryWhat::Hook { event, context: Some(told_text("I shall ask")) });
    world.began("p", 0, &mcp("c"), true);
    let leg = bir_model::control::ToldLeg {
        leg: 1,
        asked: told("\"which\""),
        asked_at: START,
        answered: Some(told("\"that\"")),
        answered_at: Some(START + 1),
    };
    let what = ProxyWhat::Ended {
        outcome: Outcome::Ok,
        output: Some(told("1")),
        error: None,
        duration_us: Some(5),
        ambiguous: true,
        legs: vec![leg],
    };
    let report = report(0, &mcp("c"), true, world.now, what);
    world.report("p", report);
    world.wait(WORD);
    let [first, last] = &world.steps(run)[..] else { panic!() };
    assert_eq!((first.context.as_deref(), last.context.as_deref()), (Some("I shall ask"), None));
    assert!(last.ambiguous);
    assert_eq!(
        (last.legs[0].asked.as_str(), last.legs[0].answered.as_deref()),
        ("\"which\"", Some("\"that\""))
    );
}

#[test]
fn ten_thousand_calls_through_five_proxies_with_64_in_flight() {
    const CALLS: usize = 10_000;
    const IN_FLIGHT: usize = 64;
    let mut world = World::new();
    let by = teller("s", "t");
    (0..5).for_each(|n| world.register(&format!("p{n}"), &format!("s{n}"), 100));
    let run = world.prompt(&by, "do it");
    let template = mcp("");
    let call = |n: usize| HookCall {
        call_id: Some(format!("c{n}")),
        tool_name: format!("mcp__s{}__echo", n % 5),
        server: Some(format!("s{}", n % 5)),
        ..template.clone()
    };
    for n in 0..CALLS + IN_FLIGHT {
        if n < CALLS {
            world.pre(&by, &call(n));
            world.began(&format!("p{}", n % 5), n as u64, &call(n), true);
        }
        // They end out of their order.
        if let Some(n) = n.checked_sub(IN_FLIGHT).map(|n| n ^ 7) {
            world.post(&by, &call(n), Outcome::Ok);
            world.ended(&format!("p{}", n % 5), n as u64, &call(n), true, Outcome::Ok);
        }
    }
    world.stop(&by, "done", 0);
    world.wait(2000);
    world.check();
    let ends = world.ends(run);
    assert_eq!(ends.len(), CALLS);
    assert!(ends.iter().all(|end| end.sources == BOTH && end.outcome == Some(Outcome::Ok)));
}
