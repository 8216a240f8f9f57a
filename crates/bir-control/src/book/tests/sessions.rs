//! Sessions beside and after one another: no step lands in a foreign run.

use super::*;

fn run_of(world: &World, id: &str) -> Vec<RunId> {
    let steps = world.records().into_iter().filter_map(|record| match record {
        Record::Step(step) if step.call_id.as_deref() == Some(id) => Some(step.run_id),
        _ => None,
    });
    let mut runs: Vec<RunId> = steps.collect();
    runs.dedup();
    runs
}

#[test]
fn a_run_is_a_turn_and_says_where_it_comes_from() {
    let mut world = World::new();
    world.register("p", "s1", 100);
    let by = teller("s", "t");
    world.tell(&by, HookWhat::SessionStart { source: "startup".into() });
    let run = world.prompt(&by, "do it");
    assert_eq!(world.prompt(&by, "do it"), run, "a repeated prompt is the same turn");
    let start = &world.runs()[0];
    assert_eq!((start.id, start.tier, start.input.as_deref()), (run, bir_model::Tier::Bound, Some("do it")));
    assert_eq!((start.session_id.as_deref(), start.project.as_deref()), (Some("s"), Some("/p")));
    assert_eq!(
        (start.framework.as_deref(), start.host.as_ref().unwrap().app.as_str()),
        (Some("baseinstrunner"), "some-host")
    );
    assert_eq!((start.servers[0].name.as_str(), start.metadata["join"].as_str()), ("s1", Some("call_id")));
    assert_eq!(start.metadata["timeZone"], "Europe/Berlin");
    assert_ne!(world.prompt(&teller("s", "u"), "do it"), run);
}

#[test]
fn a_turn_whose_prompt_nobody_told_is_a_run_without_input() {
    let mut world = World::new();
    let by = teller("s", "t");
    let run = world.pre(&by, &builtin("c")).run_id.unwrap();
    world.post(&by, &builtin("c"), Outcome::Ok);
    world.wait(1900);
    assert_eq!(world.effects, [], "its prompt may come");
    world.wait(100);
    assert_eq!((world.runs()[0].id, world.runs()[0].input.as_deref()), (run, None));
    assert_eq!(world.steps(run).len(), 2);
    assert_eq!(world.pre(&teller("s", "u"), &builtin("d")).step_index, Some(0));
    world.wait(2000);
    assert_eq!(world.finishes(run).len(), 1, "the turn before is over once another one shows");
}

#[test]
fn a_prompt_that_comes_after_the_first_call_is_the_prompt_of_its_run() {
    // Hosts with ids of turns and without; told of first by a hook or by a proxy; ended before the prompt comes or not.
    let turned = || teller("s", "t");
    for (by, by_proxy, stopped) in [
        (turned(), false, false),
        (turned(), false, true),
        (turned(), true, false),
        (gemini("s"), false, false),
        (gemini("s"), false, true),
        (copilot("s"), true, false),
    ] {
        let mut world = World::new();
        world.register("p", "s1", 100);
        let mut before = 0;
        if by.turn.is_some() && !by_proxy {
            let earlier = teller("s", "earlier");
            world.prompt(&earlier, "before");
            world.stop(&earlier, "done", 0);
            world.wait(60_000);
            before = 1;
        } else {
            // Nothing of it has been told to this control server, or all of that was settled.
            world.tell(&by, HookWhat::SessionStart { source: "startup".into() });
        }
        let prompt = HookWhat::Prompt { prompt: told_text("do it"), notification: false };
        let prompt = Box::new(world.event(&by, prompt));
        let known = world.effects.len();
        if by_proxy {
            world.began("p", 0, &unnamed(mcp("")), false);
            world.ended("p", 0, &unnamed(mcp("")), false, Outcome::Ok);
        } else {
            world.pre(&by, &builtin("c"));
            world.post(&by, &builtin("c"), Outcome::Ok);
        }
        if stopped {
            world.stop(&by, "done", 0);
        }
        world.wait(1500);
        assert_eq!(world.effects.len(), known, "nothing is written yet");
        let run = world.send(prompt.clone()).run_id.unwrap();
        assert_eq!(world.send(prompt.clone()).run_id, Some(run));
        world.stop(&by, "done", 0);
        world.wait(60_000);
        world.check();
        let runs = world.runs();
        let start = runs.last().unwrap();
        assert_eq!((runs.len(), start.id), (before + 1, run));
        assert_eq!((start.input.as_deref(), start.started_at), (Some("do it"), prompt.at));
        assert!(start.metadata.contains_key("join"));
        world.only(run);
        assert_eq!(world.finishes(run).len(), 1);
    }
}

#[test]
fn a_later_prompt_is_not_that_of_a_run_that_began_before_it() {
    let mut world = World::new();
    let by = gemini("s");
    let run = world.pre(&by, &unnamed(builtin(""))).run_id.unwrap();
    world.post(&by, &unnamed(builtin("")), Outcome::Ok);
    let next = world.prompt(&by, "next");
    assert_ne!(run, next);
    world.stop(&by, "done", 0);
    world.wait(60_000);
    world.check();
    let inputs: Vec<_> = world.runs().into_iter().map(|run| (run.id, run.input)).collect();
    assert_eq!(inputs, [(run, None), (next, Some("next".to_owned()))]);
    assert_eq!((world.finishes(run).len(), world.steps(run).len(), world.steps(next).len()), (1, 2, 0));
}

#[test]
fn two_sessions_in_one_directory_and_clear_in_one_process() {
    let mut world = World::new();
    let (a, b) = (teller("a", "ta"), Teller { pid: 200, ..teller("b", "tb") });
    world.register("pa", "s1", 100);
    world.register("pb", "s1", 200);
    let (run_a, run_b) = (world.prompt(&a, "one"), world.prompt(&b, "two"));
    // Neither hook has come yet; only the process tells whose they are.
    world.began("pb", 0, &mcp("in-b"), true);
    world.began("pa", 0, &mcp("in-a"), true);
    world.wait(2000);
    assert_eq!((run_of(&world, "in-a"), run_of(&world, "in-b")), (vec![run_a], vec![run_b]));
    world.ended("pa", 0, &mcp("in-a"), true, Outcome::Ok);
    // `/clear`: the same process and the same proxies, another session.
    world.tell(&a, HookWhat::SessionEnd { reason: "clear".into() });
    let cleared = teller("c", "tc");
    world.tell(&cleared, HookWhat::SessionStart { source: "clear".into() });
    let run_c = world.prompt(&cleared, "three");
    world.began("pa", 1, &unnamed(mcp("")), false);
    assert_eq!(world.steps(run_c).len(), 1);
    world.pre(&cleared, &mcp("in-c"));
    world.began("pa", 2, &mcp("in-c"), true);
    world.ended("pa", 2, &mcp("in-c"), true, Outcome::Ok);
    assert_eq!(run_of(&world, "in-c"), [run_c]);
    let view = world.book.view();
    let sessions: Vec<_> = view.proxies.iter().map(|proxy| proxy.session.clone().unwrap()).collect();
    assert_eq!(sessions, ["c", "b"]);
    assert_eq!(world.book.watched(), [100, 200]);
}

#[test]
fn a_session_that_is_resumed_has_another_process_and_may_count_its_calls_anew() {
    let mut world = World::new();
    let by = teller("s", "t");
    let first = world.prompt(&by, "one");
    world.pre(&by, &builtin("call_0"));
    world.post(&by, &builtin("call_0"), Outcome::Ok);
    world.stop(&by, "done", 0);
    world.tell(&by, HookWhat::SessionEnd { reason: "other".into() });
    let again = Teller { pid: 500, ..teller("s", "u") };
    world.tell(&again, HookWhat::SessionStart { source: "resume".into() });
    world.register("p", "s1", 500);
    let second = world.prompt(&again, "two");
    world.pre(&again, &builtin("call_0"));
    world.post(&again, &builtin("call_0"), Outcome::Ok);
    assert_ne!(first, second);
    assert_eq!((world.steps(first).len(), world.steps(second).len()), (2, 2));
    assert_eq!(world.book.watched(), [500]);
    world.stop(&again, "done", 0);
    world.wait(2000);
    world.check();
}

#[test]
fn a_fork_is_another_session_and_rows_of_sub_agents_name_them() {
    let mut world = World::new();
    let (a, fork) = (teller("s", "t"), Teller { pid: 200, ..teller("fork", "t") });
    let (run, forked) = (world.prompt(&a, "one"), world.prompt(&fork, "one"));
    assert_ne!(run, forked);
    let agent = Teller { agent: Some("a1".into()), ..a.clone() };
    world.tell(&agent, HookWhat::AgentStart);
    world.pre(&agent, &builtin("c"));
    world.post(&agent, &builtin("c"), Outcome::Ok);
    world.tell(&agent, HookWhat::AgentStop { transcript: Some("/t/a1.jsonl".into()) });
    assert!(world.steps(run).iter().all(|step| step.agent_id.as_deref() == Some("a1")));
    assert_eq!(world.steps(forked), []);
    world.stop(&a, "done", 0);
    world.wait(2000);
    let asked = world.effects.iter().find_map(|effect| match effect {
        Effect::Ask { run, transcripts, turns, .. } => Some((*run, transcripts.clone(), turns.clone())),
        _ => None,
    });
    let transcripts = vec!["/t/s.jsonl".into(), "/t/a1.jsonl".into()];
    assert_eq!(asked, Some((run, transcripts, vec!["t".to_owned()])));
}

#[test]
fn a_hook_below_a_shell_of_its_own_tells_the_host_by_what_stays() {
    let mut world = World::new();
    let by = gemini("s");
    for shell in [901, 902] {
        let mut event = world.event(&by, HookWhat::Note { name: "x".into() });
        event.host_pids = vec![shell, 77, 5];
        world.send(Box::new(event));
    }
    assert_eq!(world.book.watched(), [77]);
    world.register("p", "s1", 77);
    assert_eq!(world.book.view().proxies[0].session.as_deref(), Some("s"));
}

/// Says something from below these processes.
fn note(world: &mut World, session: &str, pids: &[u32]) {
    let mut event = world.event(&gemini(session), HookWhat::Note { name: "x".into() });
    event.host_pids = pids.to_vec();
    world.send(Box::new(event));
}

fn session_of(world: &World, proxy: &str) -> Option<String> {
    world.book.session_of(proxy)
}

#[test]
fn a_session_that_goes_on_in_the_same_terminal_has_the_new_process() {
    const TERMINAL: u32 = 5;
    let begins = |world: &mut World, pids: &[u32]| {
        let mut event = world.event(&gemini("s"), HookWhat::SessionStart { source: "resume".into() });
        event.host_pids = pids.to_vec();
        world.send(Box::new(event));
    };
    // With a hook that says so and without, with shells below the host and without.
    for (said, shells) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut world = World::new();
        let below = |host: u32, hook: u32| {
            let shell = shells.then_some(900 + hook);
            shell.into_iter().chain([host, TERMINAL, 4]).collect::<Vec<_>>()
        };
        for (process, host) in [(0, 77), (1, 88), (2, 99)] {
            let proxy = format!("p{host}");
            world.register(&proxy, "s1", host);
            if said {
                begins(&mut world, &below(host, 10 * process));
            }
            note(&mut world, "s", &below(host, 10 * process + 1));
            assert_eq!(session_of(&world, &proxy).as_deref(), Some("s"), "{said} {shells} {process}");
            note(&mut world, "s", &below(host, 10 * process + 2));
            note(&mut world, "s", &below(host, 10 * process + 3));
            assert_eq!(session_of(&world, &proxy).as_deref(), Some("s"));
            assert_eq!(world.book.view().sessions[0].host_pid, Some(host), "{said} {shells} {process}");
        }
        world.register("terminal's", "s1", TERMINAL);
        assert_eq!(session_of(&world, "terminal's"), None, "whoever else was started there is not this host");
    }
}

#[test]
fn a_host_that_another_one_started_does_not_get_its_proxies() {
    for restarted in [false, true] {
        let mut world = World::new();
        world.register("outer", "s1", 10);
        world.register("inner", "s1", 30);
        for hook in 0..2 {
            note(&mut world, "a", &[900 + hook, 10, 5]);
        }
        note(&mut world, "b", &[902, 30, 20, 10, 5]);
        let is_right = |world: &World| {
            assert_eq!(session_of(world, "outer").as_deref(), Some("a"));
            assert_eq!(session_of(world, "inner").as_deref(), Some("b"));
        };
        is_right(&world);
        note(&mut world, "b", &[903, 30, 20, 10, 5]);
        if restarted {
            let kept: Vec<_> = ["a", "b"].iter().flat_map(|session| world.book.essence(session)).collect();
            let watched = world.book.watched();
            world = World::new();
            kept.into_iter().for_each(|entry| drop(world.hear(entry.what)));
            assert_eq!(world.book.watched(), watched);
        }
        is_right(&world);
        // The outer one says no more; what its proxy tells is not of the inner one.
        world.hear(EntryWhat::HostGone { pid: 10 });
        assert_ne!(session_of(&world, "outer").as_deref(), Some("b"));
    }
}

#[test]
fn an_event_that_is_told_twice_tells_nothing_of_processes() {
    let mut world = World::new();
    let event = Box::new(HookEvent {
        host_pids: vec![901, 77, 5],
        ..world.event(&gemini("s"), HookWhat::Note { name: "x".into() })
    });
    world.send(event.clone());
    world.send(event);
    assert_eq!(world.book.watched(), Vec::<u32>::new(), "901 may be a shell");
    note(&mut world, "s", &[902, 77, 5]);
    assert_eq!(world.book.watched(), [77]);
}

#[test]
fn sessions_are_bounded_and_those_that_are_settled_go_first() {
    let mut world = World::new();
    let busy = world.prompt(&teller("busy", "t"), "do it");
    for n in 0..1100 {
        let by = teller(&format!("s{n}"), "t");
        world.tell(&by, HookWhat::Note { name: "x".into() });
    }
    assert_eq!(world.book.sessions.len(), 1000);
    assert_eq!(world.pre(&teller("busy", "t"), &builtin("c")).run_id, Some(busy));
}

#[test]
fn what_remains_of_a_settled_session_brings_it_back() {
    let mut world = World::new();
    let by = teller("s", "t");
    world.register("p", "s1", 100);
    world.prompt(&by, "do it");
    world.stop(&by, "done", 0);
    world.wait(2000);
    assert_eq!(world.effects.last(), Some(&Effect::Settled { session: "s".into() }));
    assert!(world.book.is_idle());
    let mut after = World::new();
    after.now = world.now;
    for entry in world.book.essence("s") {
        after.hear(entry.what);
    }
    let prompt = Box::new(
        world.event(&teller("s", "u"), HookWhat::Prompt { prompt: told_text("x"), notification: false }),
    );
    assert_eq!(after.send(prompt.clone()), world.send(prompt), "the same run in both");
    assert_eq!(after.book.watched(), world.book.watched());
    assert_eq!(after.runs()[0], world.runs()[1]);
}

#[test]
fn a_turn_that_waited_in_the_inbox_does_not_end_the_one_that_goes_on() {
    let mut world = World::new();
    let late = Box::new(
        world.event(&teller("s", "old"), HookWhat::Prompt { prompt: told_text("one"), notification: false }),
    );
    let pre = Box::new(world.event(&teller("s", "old"), HookWhat::Pre { call: builtin("a") }));
    let by = teller("s", "new");
    let run = world.prompt(&by, "two");
    let old = world.send(late).run_id.unwrap();
    assert_eq!(world.send(pre).run_id, Some(old));
    world.post(&teller("s", "old"), &builtin("a"), Outcome::Ok);
    world.wait(60_000);
    assert_eq!((world.finishes(old).len(), world.finishes(run).len()), (1, 0));
    assert_eq!(world.pre(&by, &builtin("b")).run_id, Some(run));
    assert!(old < run, "as they began");
}

#[test]
fn a_run_says_the_tools_of_the_servers_that_it_calls_and_a_session_says_a_set_once() {
    let set = |name: &str| -> bir_model::tools::ToolSet {
        serde_json::from_value(serde_json::json!({"tools": [{"name": name}]})).unwrap()
    };
    let with = |world: &mut World, tools: Option<&str>| {
        let mut told = registration("p", "s1", 100);
        told.tools = tools.map(|name| Box::new(set(name)));
        told.server.tools = told.tools.as_ref().map(|set| bir_record::tools::hash(set));
        world.hear(EntryWhat::Register(Box::new(told)));
    };
    let mut world = World::new();
    let (by, next) = (teller("s", "t"), teller("s", "u"));
    with(&mut world, Some("a"));
    let first = world.prompt(&by, "do it");
    let call = |world: &mut World, by: &Teller, number: u64, id: &str| {
        let call = mcp(id);
        world.pre(by, &call);
        world.began("p", number, &call, true);
        world.ended("p", number, &call, true, Outcome::Ok);
        world.post(by, &call, Outcome::Ok);
    };
    call(&mut world, &by, 0, "c0");
    call(&mut world, &by, 1, "c1");
    // It says nothing of its tools, as one that left them before.
    with(&mut world, None);
    let second = world.prompt(&next, "and that");
    call(&mut world, &next, 2, "c2");
    with(&mut world, Some("b"));
    call(&mut world, &next, 3, "c3");
    let told: Vec<_> = world
        .records()
        .into_iter()
        .filter_map(|record| match record {
            Record::Tools(seen) => {
                let name = seen.set.as_ref().map(|set| set.tools[0].name.clone());
                assert_eq!(seen.server, "s1");
                Some((seen.run_id, name, seen.hash.clone()))
            }
            _ => None,
        })
        .collect();
    let hash = |name| bir_record::tools::hash(&set(name));
    assert_eq!(
        told,
        [
            (first, Some("a".into()), hash("a")),
            (second, None, hash("a")),
            (second, Some("b".into()), hash("b"))
        ]
    );
    assert_eq!(world.runs()[1].servers[0].tools, Some(hash("a")), "it is known as the run begins");
}
