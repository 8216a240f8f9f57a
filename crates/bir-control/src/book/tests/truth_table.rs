//! facts/claude-code.md "Which events a tool call gets", row by row, for a built-in tool, a server without and with a proxy.

use super::*;
use bir_model::record::Source;

/// What a host and a proxy tell of a call, in its order.
#[derive(Clone, Copy, Debug)]
enum Tell {
    Pre,
    Ask,
    Began,
    Ended(Outcome),
    Post(Outcome),
    Batch(Option<Outcome>),
    Denied,
    /// The next prompt of the session.
    Next,
    Wait(u64),
}
use Tell::{Ask, Batch, Began, Denied, Ended, Next, Post, Pre, Wait};

/// What becomes of it: outcome, sources, bypassed, and where the result is from.
type Row = (Outcome, &'static [Source], bool, Option<&'static str>);

const HOOK: &[Source] = &[Source::Hook];
const BOTH: &[Source] = &[Source::Hook, Source::Proxy];

fn play(call: &HookCall<SafeTold>, proxy: bool, tells: &[Tell], facts: TranscriptFacts) -> (World, RunId) {
    let mut world = World::new();
    world.facts = facts;
    let by = teller("s", "t");
    if proxy {
        world.register("p", "s1", 100);
    }
    let run = world.prompt(&by, "do it");
    for tell in tells {
        match tell {
            Pre => drop(world.pre(&by, call)),
            Ask => drop(world.tell(&by, HookWhat::PermissionRequest { call: unnamed(call.clone()) })),
            Began => world.began("p", 0, call, true),
            Ended(outcome) => world.ended("p", 0, call, true, *outcome),
            Post(outcome) => world.post(&by, call, *outcome),
            Batch(verdict) => world.batch(&by, call, *verdict),
            Denied => drop(world.tell(&by, HookWhat::PermissionDenied { call: call.clone(), reason: None })),
            Next => drop(world.prompt(&teller("s", "next"), "go on")),
            Wait(ms) => world.wait(*ms),
        }
    }
    world.tell(&by, HookWhat::SessionEnd { reason: "other".into() });
    world.wait(60_000);
    world.check();
    (world, run)
}

fn check(call: &HookCall<SafeTold>, proxy: bool, table: &[(&[Tell], Row)]) {
    for (tells, (outcome, sources, bypassed, result)) in table {
        let (world, run) = play(call, proxy, tells, TranscriptFacts::default());
        let end = world.only(run);
        let shown = end.tool_output.or(end.tool_error);
        let got = (end.outcome.unwrap(), end.sources, end.bypassed, shown);
        let result = result.map(|text| format!("\"{text}\""));
        assert_eq!(got, (*outcome, sources.to_vec(), *bypassed, result), "{tells:?}");
    }
}

const FROM_HOOK: Option<&str> = Some("from the hook");
const HOOK_ERROR: Option<&str> = Some("the hook's error");
const SHOWN: Option<&str> = Some("shown");

#[test]
fn a_built_in_tool() {
    let table: &[(&[Tell], Row)] = &[
        (&[Pre, Post(Outcome::Ok), Batch(None)], (Outcome::Ok, HOOK, false, FROM_HOOK)),
        (&[Pre, Ask, Post(Outcome::Ok), Batch(None)], (Outcome::Ok, HOOK, false, FROM_HOOK)),
        (&[Pre, Post(Outcome::ToolError), Batch(None)], (Outcome::ToolError, HOOK, false, HOOK_ERROR)),
        (&[Pre, Post(Outcome::Timeout), Batch(None)], (Outcome::Timeout, HOOK, false, HOOK_ERROR)),
        (&[Pre, Batch(None)], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Pre, Batch(Some(Outcome::Denied))], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Pre, Ask, Batch(None)], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Pre, Batch(None), Post(Outcome::Ok)], (Outcome::Ok, HOOK, false, FROM_HOOK)),
        (&[Pre, Denied, Batch(None)], (Outcome::Denied, HOOK, false, None)),
        (&[Batch(None)], (Outcome::Unknown, HOOK, false, SHOWN)),
        (&[Batch(Some(Outcome::Denied))], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Post(Outcome::Ok)], (Outcome::Ok, HOOK, false, FROM_HOOK)),
        (&[Pre], (Outcome::Unknown, HOOK, false, None)),
        (&[Pre, Next], (Outcome::Unknown, HOOK, false, None)),
    ];
    check(&builtin("c"), false, table);
}

#[test]
fn a_server_without_a_proxy() {
    let table: &[(&[Tell], Row)] = &[
        (&[Pre, Post(Outcome::Ok), Batch(None)], (Outcome::Ok, HOOK, true, FROM_HOOK)),
        (&[Pre, Post(Outcome::ToolError), Batch(None)], (Outcome::ToolError, HOOK, true, HOOK_ERROR)),
        (&[Pre, Batch(Some(Outcome::Denied))], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Batch(None)], (Outcome::Unknown, HOOK, false, SHOWN)),
        (&[Pre], (Outcome::Unknown, HOOK, false, None)),
    ];
    check(&mcp("c"), false, table);
}

#[test]
fn a_server_with_a_proxy() {
    let (wire, is_error, rpc) = (Some("from the wire"), Some("isError"), Some("rpc"));
    let table: &[(&[Tell], Row)] = &[
        (&[Pre, Began, Ended(Outcome::Ok), Post(Outcome::Ok), Batch(None)], (Outcome::Ok, BOTH, false, wire)),
        (&[Pre, Began, Post(Outcome::Ok), Batch(None), Ended(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (&[Pre, Post(Outcome::Ok), Batch(None), Began, Ended(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (&[Began, Ended(Outcome::Ok), Pre, Post(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (&[Began, Pre, Post(Outcome::Ok), Ended(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (&[Batch(None), Began, Ended(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (
            &[Pre, Began, Ended(Outcome::ToolError), Post(Outcome::ToolError)],
            (Outcome::ToolError, BOTH, false, is_error),
        ),
        (
            &[Pre, Began, Ended(Outcome::RpcError), Post(Outcome::ToolError)],
            (Outcome::RpcError, BOTH, false, rpc),
        ),
        (
            &[Pre, Began, Ended(Outcome::Cancelled), Post(Outcome::Timeout)],
            (Outcome::Timeout, BOTH, false, HOOK_ERROR),
        ),
        (
            &[Pre, Began, Post(Outcome::Timeout), Ended(Outcome::Cancelled)],
            (Outcome::Timeout, BOTH, false, HOOK_ERROR),
        ),
        (&[Pre, Began, Ended(Outcome::Cancelled), Post(Outcome::Ok)], (Outcome::Ok, BOTH, false, FROM_HOOK)),
        (
            &[Pre, Began, Ended(Outcome::Unknown), Post(Outcome::ToolError)],
            (Outcome::ToolError, BOTH, false, HOOK_ERROR),
        ),
        (&[Pre, Began, Ended(Outcome::Cancelled)], (Outcome::Cancelled, BOTH, false, None)),
        (&[Pre, Began, Ended(Outcome::Cancelled), Wait(10_000)], (Outcome::Cancelled, BOTH, false, None)),
        (
            &[Pre, Began, Ended(Outcome::Unknown), Wait(10_000), Post(Outcome::Ok)],
            (Outcome::Unknown, BOTH, false, None),
        ),
        (&[Pre, Began], (Outcome::Unknown, BOTH, false, None)),
        (&[Pre, Began, Post(Outcome::Ok), Wait(10_000)], (Outcome::Ok, BOTH, false, FROM_HOOK)),
        (&[Pre, Post(Outcome::Ok), Wait(9_900), Began, Ended(Outcome::Ok)], (Outcome::Ok, BOTH, false, wire)),
        (&[Pre, Post(Outcome::Ok), Wait(10_000)], (Outcome::Ok, HOOK, true, FROM_HOOK)),
        (
            &[Pre, Post(Outcome::Ok), Wait(10_000), Began, Ended(Outcome::Ok)],
            (Outcome::Ok, HOOK, true, FROM_HOOK),
        ),
        (&[Pre, Batch(None)], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Pre, Batch(Some(Outcome::Denied))], (Outcome::Denied, HOOK, false, SHOWN)),
        (&[Pre], (Outcome::Unknown, HOOK, false, None)),
        (&[Pre, Next], (Outcome::Unknown, HOOK, false, None)),
        (&[Pre, Began, Next, Ended(Outcome::Cancelled)], (Outcome::Cancelled, BOTH, false, None)),
    ];
    check(&mcp("c"), true, table);
}

#[test]
fn the_transcript_tells_what_nobody_saw_end() {
    let said =
        |outcome| TranscriptFacts { outcomes: vec![("c".into(), outcome)], ..TranscriptFacts::default() };
    let table: &[(&[Tell], Outcome, Outcome)] = &[
        (&[Pre], Outcome::Cancelled, Outcome::Cancelled),
        (&[Pre, Next], Outcome::ToolError, Outcome::ToolError),
        (&[Pre, Began, Ended(Outcome::Cancelled), Next], Outcome::Timeout, Outcome::Timeout),
        (&[Pre, Began, Ended(Outcome::Cancelled), Next], Outcome::Denied, Outcome::Cancelled),
        (&[Pre, Began, Ended(Outcome::Ok), Next], Outcome::ToolError, Outcome::Ok),
    ];
    for (tells, transcript, outcome) in table {
        let (world, run) = play(&mcp("c"), true, tells, said(*transcript));
        assert_eq!(world.only(run).outcome, Some(*outcome), "{tells:?}");
    }
}

#[test]
fn a_call_of_the_proxy_alone_has_one_source() {
    let (world, run) =
        play(&mcp("c"), true, &[Began, Ended(Outcome::Ok), Wait(2000)], TranscriptFacts::default());
    let end = world.only(run);
    assert_eq!((end.sources, end.outcome), (vec![Source::Proxy], Some(Outcome::Ok)));
    assert_eq!((end.tool_name.as_str(), end.server.as_deref()), ("echo", Some("s1")));
}

#[test]
fn the_rows_of_a_call_say_what_each_side_knows() {
    let (world, run) = play(
        &mcp("c"),
        true,
        &[Pre, Began, Ended(Outcome::Ok), Post(Outcome::Ok)],
        TranscriptFacts::default(),
    );
    let [first, last] = &world.steps(run)[..] else { panic!() };
    assert_eq!(first.sources, HOOK);
    assert_eq!(first.tool_input.as_deref(), Some(r#"{"message":"x"}"#));
    assert_eq!((first.tool_name.as_str(), first.tool.as_deref()), ("mcp__s1__echo", None));
    assert_eq!((last.tool_name.as_str(), last.tool.as_deref()), ("mcp__s1__echo", Some("echo")));
    assert_eq!((last.call_id.as_deref(), last.duration_us), (Some("c"), Some(1234)));
    assert_eq!((last.tool_input.as_deref(), last.model_input.as_deref()), (None, None));
    assert_eq!(last.id, bir_record::response_id(first.id));
}
