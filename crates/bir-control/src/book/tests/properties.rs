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
    /// To requests and the hooks of beginnings, over MCP alone: Copilot CLI.
    Beginnings,
    /// To hooks alone: opencode.
    Hooks,
    /// None: Gemini CLI.
    None,
}

const ALL_IDS: [Ids; 4] = [Ids::Both, Ids::Beginnings, Ids::Hooks, Ids::None];

impl Ids {
    fn teller(self, session: usize, turn: usize) -> Teller {
        let (name, named) = (format!("s{session}"), teller(&format!("s{session}"), &format!("t{turn}")));
        match self {
            Self::Both => named,
            Self::Beginnings => copilot(&name),
            Self::Hooks => Teller { app: "opencode", via: "opencode", join: Join::Fingerprint, ..named },
            Self::None => gemini(&name),
        }
    }

    /// A call as the hook of its beginning, that of its end, and its request have it.
    fn calls(self, call: HookCall<SafeTold>) -> [HookCall<SafeTold>; 3] {
        let none = unnamed(call.clone());
        match self {
            Self::Both => [call.clone(), call.clone(), call],
            Self::Beginnings if call.server.is_some() => [call.clone(), none, call],
            Self::Hooks => [call.clone(), call, none],
            Self::Beginnings | Self::None => [none.clone(), none.clone(), none],
        }
    }
}

/// How a play goes.
#[derive(Debug, Clone, Copy)]
struct Manner {
    ids: Ids,
    /// Prompts come after so many things that are told of calls: they waited in the inbox.
    prompts_after: usize,
    /// Each turn is told by another process in the same terminal.
    resumes: bool,
    /// What passes between two things that are told, ms; the halves of one call come within ten seconds.
    pause: u64,
}

impl From<Ids> for Manner {
    fn from(ids: Ids) -> Self {
        Self { ids, prompts_after: 0, resumes: false, pause: 0 }
    }
}

/// The terminal of all sessions, and what is above it.
const TERMINAL: [u32; 2] = [50, 40];

/// A session of the play: which calls go over MCP, and which of equal arguments they have.
type Calls = Vec<(bool, u8)>;

fn call_of(session: usize, number: usize, (over_mcp, arguments): (bool, u8)) -> HookCall<SafeTold> {
    let id = format!("{session}-{number}");
    let call = if over_mcp { mcp(&id) } else { builtin(&id) };
    with_arguments(call, &format!(r#"{{"n":{arguments}}}"#))
}

/// Plays all sessions side by side. Each choice is the lane that speaks next, and whether it says it twice.
fn play(sessions: &[Calls], choices: &[(u16, bool)], manner: Manner) -> (World, Vec<RunId>) {
    let mut world = World::new();
    let runs = turn(&mut world, sessions, &mut choices.iter().cycle(), manner, 0);
    world.wait(60_000);
    (world, runs)
}

/// A turn of each session.
fn turn<'a>(
    world: &mut World,
    sessions: &[Calls],
    choices: &mut impl Iterator<Item = &'a (u16, bool)>,
    manner: Manner,
    turn: usize,
) -> Vec<RunId> {
    let ids = manner.ids;
    let process = if manner.resumes { turn } else { 0 };
    let pid = |n: usize| (100 + 10 * process + n) as u32;
    let proxy = |n: usize| format!("p{n}-{process}");
    let by = |n: usize| Teller { pid: pid(n), above: TERMINAL.to_vec(), ..ids.teller(n, turn) };
    // Not all hosts say that they go on with a session.
    let begins = turn == 0 || turn.is_multiple_of(2) && manner.resumes;
    // Nothing of a turn without a name is told before its prompt, but where all that was told before is forgotten; and of the calls
    // of a process of which nobody has told, it is a guess whose they are.
    let is_known = begins || !manner.resumes;
    let late = if is_known && (by(0).turn.is_some() || turn == 0) { manner.prompts_after } else { 0 };
    let mut prompts = Vec::new();
    let mut lanes: Vec<(usize, usize, Lane, u8)> = Vec::new();
    for (n, calls) in sessions.iter().enumerate() {
        if begins {
            world.tell(&by(n), HookWhat::SessionStart { source: "startup".into() });
        }
        if turn == 0 || manner.resumes {
            world.register(&proxy(n), "s1", pid(n));
        }
        let prompt = HookWhat::Prompt { prompt: told_text(&format!("do it {turn}")), notification: false };
        prompts.push(Box::new(world.event(&by(n), prompt)));
        for (number, (over_mcp, _)) in calls.iter().enumerate() {
            lanes.push((n, number, Lane::Hook, 0));
            if *over_mcp {
                lanes.push((n, number, Lane::Proxy, 0));
            }
        }
    }
    let mut told = 0;
    let mut runs = Vec::new();
    loop {
        if told == late || lanes.is_empty() {
            runs.extend(prompts.drain(..).map(|prompt| world.send(prompt).run_id.unwrap()));
        }
        if lanes.is_empty() {
            break;
        }
        told += 1;
        let Some((choice, twice)) = choices.next() else { break };
        let at = usize::from(*choice) % lanes.len();
        let (n, number, lane, step) = lanes[at];
        let number = turn * 100 + number;
        let [begins, ends, request] = ids.calls(call_of(n, number, sessions[n][number % 100]));
        world.wait(manner.pause);
        match lane {
            Lane::Hook => {
                let what = if step == 0 { HookWhat::Pre { call: begins } } else { post(&ends, Outcome::Ok) };
                let event = Box::new(world.event(&by(n), what));
                for _ in 0..=usize::from(*twice) {
                    world.send(event.clone());
                }
            }
            Lane::Proxy => {
                for _ in 0..=usize::from(*twice) {
                    match step {
                        0 => world.began(&proxy(n), number as u64, &request, true),
                        _ => world.ended(&proxy(n), number as u64, &request, true, Outcome::Ok),
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

fn manner() -> impl Strategy<Value = Manner> {
    let (ids, pause) = (prop::sample::select(ALL_IDS.to_vec()), prop::sample::select(vec![0u64, 0, 100]));
    (ids, 0..6usize, pause).prop_map(|(ids, prompts_after, pause)| Manner {
        ids,
        prompts_after,
        resumes: false,
        pause,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_call_is_in_its_run_once_with_both_sources(sessions in sessions(), choices in choices()) {
        let (world, runs) = play(&sessions, &choices, Ids::Both.into());
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
    fn each_call_is_there_once_whichever_ids_its_host_gives(
        sessions in sessions(),
        choices in choices(),
        manner in manner(),
    ) {
        let (world, runs) = play(&sessions, &choices, manner);
        world.check();
        prop_assert_eq!(world.runs().len(), sessions.len());
        for (n, calls) in sessions.iter().enumerate() {
            let ends = world.ends(runs[n]);
            prop_assert_eq!(ends.len(), calls.len());
            let over_mcp = calls.iter().filter(|(over_mcp, _)| *over_mcp).count();
            // One whose hook comes much later was written as its proxy told it.
            if manner.pause == 0 {
                let both = ends.iter().filter(|end| end.sources.len() == 2).count();
                prop_assert_eq!(both, over_mcp, "{:#?}", ends);
            }
            prop_assert!(ends.iter().all(|end| end.outcome == Some(Outcome::Ok)));
            let own = format!("{n}-");
            prop_assert!(ends.iter().filter_map(|end| end.call_id.as_ref()).all(|id| id.starts_with(&own)));
        }
        for run in world.runs() {
            prop_assert_eq!(run.input.as_deref(), Some("do it 0"));
        }
        replays(&world);
    }

    #[test]
    fn each_call_is_in_its_turn_though_each_is_told_by_another_process_of_one_terminal(
        sessions in sessions(),
        choices in choices(),
        ids in prop::sample::select(ALL_IDS.to_vec()),
        prompts_after in 0..6usize,
    ) {
        let manner = Manner { ids, prompts_after, resumes: true, pause: 0 };
        let mut world = World::new();
        let mut choices = choices.iter().cycle();
        for number in 0..4 {
            let runs = turn(&mut world, &sessions, &mut choices, manner, number);
            world.wait(60_000);
            for (n, calls) in sessions.iter().enumerate() {
                let ends = world.ends(runs[n]);
                prop_assert_eq!(ends.len(), calls.len(), "turn {}", number);
                let both = ends.iter().filter(|end| end.sources.len() == 2).count();
                prop_assert_eq!(both, calls.iter().filter(|(over_mcp, _)| *over_mcp).count(), "turn {}", number);
            }
            prop_assert_eq!(world.runs().len(), sessions.len() * (number + 1));
        }
        world.check();
        replays(&world);
    }

    #[test]
    fn a_book_that_was_lost_goes_on_from_its_journal_as_if_nothing_were(
        sessions in sessions(),
        choices in choices(),
        manner in manner(),
        resumes in any::<bool>(),
        pauses in prop::collection::vec(prop::sample::select(vec![0u64, 1000, 2000, 60_000]), 3),
        crash in 1..200usize,
    ) {
        let play = |crash_at: Option<usize>| {
            let mut world = World::new();
            world.crash_at = crash_at;
            let mut choices = choices.iter().cycle();
            for (n, pause) in pauses.iter().enumerate() {
                turn(&mut world, &sessions, &mut choices, Manner { resumes, ..manner }, n);
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
    let above = [TERMINAL.to_vec(), Vec::new(), vec![100, 40]][turn].clone();
    let by = Teller { pid, above, agent: (turn == 2).then(|| "a".to_owned()), ..by };
    let call = call_of(session, number, (number > 1, number as u8));
    let call = if session == 2 { unnamed(call) } else { call };
    let proxy = format!("p{session}");
    match what {
        0 => drop(world.tell(&by, HookWhat::SessionStart { source: "resume".into() })),
        1 | 2 => drop(world.tell(&by, HookWhat::Prompt { prompt: told_text("x"), notification: what == 2 })),
        3..=5 => drop(world.pre(&by, &call)),
        6 | 7 => world.post(
            &by,
            &if what == 7 { unnamed(call) } else { call },
            if exact { Outcome::Ok } else { Outcome::ToolError },
        ),
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
