//! What holds whatever comes in whatever order, and however often.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One thing that somebody tells of a call, in its lane: hooks tell in their order, and so do proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Hook,
    Proxy,
}

/// Which ids a host gives its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// The same to hooks and requests: Claude Code.
    Both,
    /// To hooks alone: opencode.
    Hooks,
    /// None: Gemini CLI.
    None,
}

/// A session of the play: which calls go over MCP, and which of equal arguments they have.
type Calls = Vec<(bool, u8)>;

fn call_of(session: usize, number: usize, (over_mcp, arguments): (bool, u8)) -> HookCall<SafeTold> {
    let id = format!("{session}-{number}");
    let call = if over_mcp { mcp(&id) } else { builtin(&id) };
    with_arguments(call, &format!(r#"{{"n":{arguments}}}"#))
}

/// Plays all sessions side by side, and so again in a further turn. Each choice is the lane that speaks next, and whether it
/// says it twice.
fn play(sessions: &[Calls], choices: &[(u16, bool)], ids: Ids) -> (World, Vec<RunId>) {
    let mut world = World::new();
    register(&mut world, sessions);
    let runs = turn(&mut world, sessions, &mut choices.iter().cycle(), ids, 0);
    world.wait(60_000);
    (world, runs)
}

fn register(world: &mut World, sessions: &[Calls]) {
    for n in 0..sessions.len() {
        world.register(&format!("p{n}"), "s1", 100 + n as u32);
    }
}

fn turn<'a>(
    world: &mut World,
    sessions: &[Calls],
    choices: &mut impl Iterator<Item = &'a (u16, bool)>,
    ids: Ids,
    turn: usize,
) -> Vec<RunId> {
    let by = |n: usize| {
        let by = match ids {
            Ids::Both => teller(&format!("s{n}"), &format!("t{turn}")),
            Ids::Hooks | Ids::None => gemini(&format!("s{n}")),
        };
        Teller { pid: 100 + n as u32, ..by }
    };
    let mut runs = Vec::new();
    let mut lanes: Vec<(usize, usize, Lane, u8)> = Vec::new();
    for (n, calls) in sessions.iter().enumerate() {
        runs.push(world.prompt(&by(n), &format!("do it {turn}")));
        for (number, (over_mcp, _)) in calls.iter().enumerate() {
            lanes.push((n, number, Lane::Hook, 0));
            if *over_mcp {
                lanes.push((n, number, Lane::Proxy, 0));
            }
        }
    }
    while !lanes.is_empty() {
        let Some((choice, twice)) = choices.next() else { break };
        let at = usize::from(*choice) % lanes.len();
        let (n, number, lane, step) = lanes[at];
        let number = turn * 100 + number;
        let call = call_of(n, number, sessions[n][number % 100]);
        let call = if ids == Ids::None { unnamed(call) } else { call };
        let exact = ids == Ids::Both;
        let (by, proxy) = (by(n), format!("p{n}"));
        match lane {
            Lane::Hook => {
                let what = if step == 0 { HookWhat::Pre { call } } else { post(&call, Outcome::Ok) };
                let event = Box::new(world.event(&by, what));
                for _ in 0..=usize::from(*twice) {
                    world.send(event.clone());
                }
            }
            Lane::Proxy => {
                for _ in 0..=usize::from(*twice) {
                    match step {
                        0 => world.began(&proxy, number as u64, &call, exact),
                        _ => world.ended(&proxy, number as u64, &call, exact, Outcome::Ok),
                    }
                }
            }
        }
        if step == 0 {
            lanes[at].3 = 1;
        } else {
            lanes.remove(at);
        }
    }
    for n in 0..sessions.len() {
        world.stop(&by(n), "done", 0);
    }
    runs
}

fn rows(effects: &[Effect]) -> Vec<&Effect> {
    effects.iter().filter(|effect| !matches!(effect, Effect::Settled { .. } | Effect::Ask { .. })).collect()
}

/// The same entries to another book: the same effects, whoever ticked when.
fn replays(world: &World) {
    let mut again = Book::new(options(None));
    let mut effects = Vec::new();
    for entry in &world.entries {
        effects.extend(again.hear(entry).1);
    }
    effects.extend(again.tick(world.now));
    assert_eq!(rows(&effects), rows(&world.effects));
}

fn sessions() -> impl Strategy<Value = Vec<Calls>> {
    prop::collection::vec(prop::collection::vec((any::<bool>(), 0..2u8), 0..6), 1..4)
}

fn choices() -> impl Strategy<Value = Vec<(u16, bool)>> {
    prop::collection::vec((any::<u16>(), prop::bool::weighted(0.2)), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_call_is_in_its_run_once_with_both_sources(sessions in sessions(), choices in choices()) {
        let (world, runs) = play(&sessions, &choices, Ids::Both);
        world.check();
        prop_assert_eq!(world.runs().len(), sessions.len());
        for (n, calls) in sessions.iter().enumerate() {
            let ends = world.ends(runs[n]);
            prop_assert_eq!(ends.len(), calls.len());
            let named: BTreeSet<_> = ends.iter().filter_map(|end| end.call_id.clone()).collect();
            let told: BTreeSet<_> = (0..calls.len()).map(|number| format!("{n}-{number}")).collect();
            prop_assert_eq!(named, told);
            for end in ends {
                prop_assert_eq!(end.outcome, Some(Outcome::Ok));
                let over_mcp = end.tool_name != "Read";
                prop_assert_eq!(end.sources.len(), if over_mcp { 2 } else { 1 });
                prop_assert!(!end.bypassed && !end.ambiguous);
            }
        }
        replays(&world);
    }

    #[test]
    fn without_ids_each_call_is_there_once_too(
        sessions in sessions(),
        choices in choices(),
        ids in prop::sample::select(vec![Ids::Hooks, Ids::None]),
    ) {
        let (world, runs) = play(&sessions, &choices, ids);
        world.check();
        prop_assert_eq!(world.runs().len(), sessions.len());
        for (n, calls) in sessions.iter().enumerate() {
            prop_assert_eq!(world.ends(runs[n]).len(), calls.len());
        }
        replays(&world);
    }

    #[test]
    fn a_book_that_was_lost_goes_on_from_its_journal_as_if_nothing_were(
        sessions in sessions(),
        choices in choices(),
        ids in prop::sample::select(vec![Ids::Both, Ids::Hooks, Ids::None]),
        pauses in prop::collection::vec(prop::sample::select(vec![0u64, 1000, 2000, 60_000]), 3),
        crash in 1..200usize,
    ) {
        let play = |crash_at: Option<usize>| {
            let mut world = World::new();
            world.crash_at = crash_at;
            register(&mut world, &sessions);
            let mut choices = choices.iter().cycle();
            for (n, pause) in pauses.iter().enumerate() {
                turn(&mut world, &sessions, &mut choices, ids, n);
                world.wait(*pause);
            }
            world.wait(60_000);
            world.check();
            world.effects
        };
        let (crashed, whole) = (play(Some(crash)), play(None));
        let (crashed, whole) = (rows(&crashed), rows(&whole));
        let differs = crashed.iter().zip(&whole).find(|(crashed, whole)| crashed != whole);
        prop_assert_eq!((differs, crashed.len()), (None, whole.len()));
    }

    #[test]
    fn whatever_is_told_makes_whole_runs_and_the_same_again(
        tells in prop::collection::vec((0..3usize, 0..3usize, 0..20u8, 0..4usize, 0..5u8), 1..60),
    ) {
        let mut world = World::new();
        for (session, turn, what, number, wait) in tells {
            world.wait([0, 1, 900, 2100, 11_000][usize::from(wait)]);
            chaos(&mut world, session, turn, what, number);
        }
        for session in 0..3 {
            let by = teller(&format!("s{session}"), "end");
            world.tell(&by, HookWhat::SessionEnd { reason: "other".into() });
        }
        world.wait(48 * 60 * 60 * 1000);
        world.check();
        prop_assert!(world.book.is_idle());
        for run in world.runs() {
            prop_assert!((1..=2).contains(&world.finishes(run.id).len()));
            let (steps, ends) = (world.steps(run.id).len(), world.ends(run.id).len());
            prop_assert_eq!(steps, 2 * ends, "each call has both rows");
        }
        replays(&world);
    }
}

/// Anything, from anybody, whether it makes sense or not.
fn chaos(world: &mut World, session: usize, turn: usize, what: u8, number: usize) {
    let exact = number.is_multiple_of(2);
    let by = if session == 2 { gemini("s2") } else { teller(&format!("s{session}"), &format!("t{turn}")) };
    let pid = 100 + session as u32;
    let by = Teller { pid, agent: (turn == 2).then(|| "a".to_owned()), ..by };
    let call = call_of(session, number, (number > 1, number as u8));
    let call = if session == 2 { unnamed(call) } else { call };
    let proxy = format!("p{session}");
    match what {
        0 => drop(world.tell(&by, HookWhat::SessionStart { source: "resume".into() })),
        1 | 2 => drop(world.tell(&by, HookWhat::Prompt { prompt: told_text("x"), notification: what == 2 })),
        3..=5 => drop(world.pre(&by, &call)),
        6 | 7 => world.post(&by, &call, if exact { Outcome::Ok } else { Outcome::ToolError }),
        8 => world.batch(&by, &call, exact.then_some(Outcome::Denied)),
        9 => drop(world.tell(&by, HookWhat::PermissionDenied { call, reason: None })),
        10 => drop(world.tell(&by, HookWhat::AgentStart)),
        11 => drop(world.tell(&by, HookWhat::AgentStop { transcript: None })),
        12 => world.stop(&by, "done", u32::from(!exact)),
        13 => drop(world.tell(&by, HookWhat::SessionEnd { reason: "clear".into() })),
        14 => world.register(&proxy, "s1", pid),
        15 | 16 => world.began(&proxy, number as u64, &call, exact),
        17 => world.ended(&proxy, number as u64, &call, exact, Outcome::Ok),
        18 => world.ended(&proxy, number as u64, &call, exact, Outcome::Cancelled),
        _ => drop(world.hear(EntryWhat::HostGone { pid })),
    }
}
