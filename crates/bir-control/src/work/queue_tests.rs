use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn polls(proxy: &str, poll: PollId, takes: bool, until: u64) -> Event {
    Event::Polls { proxy: proxy.into(), poll, takes, until }
}

fn submit(order: &str, candidates: &[&str], until: u64) -> Event {
    let candidates = candidates.iter().map(|&id| id.into()).collect();
    Event::Submit { order: order.into(), candidates, until }
}

fn reports(proxy: &str, order: &str) -> Event {
    Event::Reports { proxy: proxy.into(), order: order.into() }
}

fn withdraw(order: &str) -> Event {
    Event::Withdraw { order: order.into() }
}

/// Actions in short: `w>p@1` is given, `@1` released, `@1-w` released with a withdrawal, `w=How` ended.
fn said(actions: &[Action]) -> String {
    let one = |action: &Action| match action {
        Action::Give { order, proxy, poll } => format!("{order}>{proxy}@{poll}"),
        Action::Release { poll, withdrawn } if withdrawn.is_empty() => format!("@{poll}"),
        Action::Release { poll, withdrawn } => format!("@{poll}-{}", withdrawn.join(",")),
        Action::End { order, end } => format!("{order}={end:?}"),
    };
    actions.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn table(steps: &[(u64, Option<Event>, &str)]) {
    let mut queue = Queue::default();
    for (n, (now, event, expected)) in steps.iter().enumerate() {
        let actions = match event {
            Some(event) => queue.hear(*now, event.clone()),
            None => queue.tick(*now),
        };
        assert_eq!(said(&actions), *expected, "step {n} at {now}: {event:?}");
    }
}

#[test]
fn an_order_goes_to_whoever_asks_and_ends_with_the_report() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (1, Some(submit("w", &["p"], 60_000)), "w>p@1"),
        (2, Some(reports("q", "w")), ""),
        (3, Some(reports("p", "w")), "w=Reported"),
        (4, Some(reports("p", "w")), ""),
        (5, Some(withdraw("w")), ""),
    ]);
}

#[test]
fn between_two_polls_an_order_is_held_and_given_with_the_next_one() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (1, Some(submit("a", &["p"], 60_000)), "a>p@1"),
        (2, Some(submit("b", &["p"], 60_000)), ""),
        (2, Some(submit("c", &["p"], 60_000)), ""),
        (3, Some(reports("p", "a")), "a=Reported"),
        (4, Some(polls("p", 2, true, 25_000)), "b>p@2"),
        (5, Some(polls("p", 3, true, 25_000)), "c>p@3"),
    ]);
}

#[test]
fn who_takes_none_is_held_for_what_is_withdrawn() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (1, Some(submit("a", &["p"], 60_000)), "a>p@1"),
        (2, Some(polls("p", 2, false, 25_000)), ""),
        (3, Some(submit("b", &["p"], 60_000)), ""),
        (4, Some(withdraw("a")), "@2-a a=Withdrawn { given: true }"),
        (5, Some(polls("p", 3, true, 25_000)), "b>p@3"),
        // Nobody polls: it hears of it with its next poll.
        (6, Some(withdraw("b")), "b=Withdrawn { given: true }"),
        (7, Some(polls("p", 4, true, 25_000)), "@4-b"),
        (8, Some(polls("p", 5, true, 25_000)), ""),
    ]);
}

#[test]
fn the_likeliest_candidate_that_is_ready_has_it() {
    table(&[
        (0, Some(polls("q", 1, true, 25_000)), ""),
        (0, Some(polls("p", 2, true, 25_000)), ""),
        (1, Some(submit("a", &["p", "q"], 60_000)), "a>p@2"),
        (2, Some(submit("b", &["p", "q"], 60_000)), "b>q@1"),
        (3, Some(submit("c", &["r"], 60_000)), "c=NoProxy"),
        (4, Some(submit("c", &[], 60_000)), "c=NoProxy"),
        (5, Some(submit("a", &["p"], 60_000)), "a=Crowded"),
    ]);
}

#[test]
fn every_time_is_over_once() {
    table(&[
        (0, Some(polls("p", 1, true, 100)), ""),
        (100, None, "@1"),
        (100, Some(submit("a", &["p"], 150)), ""),
        (150, None, "a=TimedOut { given: false }"),
        (160, Some(submit("a", &["p"], 160)), "a=TimedOut { given: false }"),
        (160, Some(polls("p", 2, true, 25_000)), ""),
        (161, Some(submit("b", &["p"], 200)), "b>p@2"),
        (162, Some(polls("p", 3, true, 25_000)), ""),
        (200, None, "@3-b b=TimedOut { given: true }"),
        (201, Some(reports("p", "b")), ""),
    ]);
}

#[test]
fn who_leaves_leaves_nothing_open() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (0, Some(polls("q", 2, false, 25_000)), ""),
        (1, Some(submit("a", &["p"], 60_000)), "a>p@1"),
        (1, Some(submit("b", &["p"], 60_000)), ""),
        (1, Some(submit("c", &["p", "q"], 60_000)), ""),
        (2, Some(Event::Left { proxy: "p".into() }), "a=Left { given: true } b=Left { given: false }"),
        (3, Some(polls("q", 3, true, 25_000)), "@2 c>q@3"),
        (3 + AWAY, None, "c=Left { given: true }"),
    ]);
}

#[test]
fn a_lost_connection_is_no_farewell_until_it_lasts() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (5, Some(Event::PollGone { proxy: "p".into(), poll: 1 }), ""),
        (6, Some(submit("a", &["p"], 60_000)), ""),
        (7, Some(polls("p", 2, true, 25_000)), "a>p@2"),
        (8, Some(reports("p", "a")), "a=Reported"),
        (9, Some(polls("p", 3, true, 50_000)), ""),
        (10, Some(Event::PollGone { proxy: "p".into(), poll: 2 }), ""),
        (11, Some(submit("b", &["p"], 60_000)), "b>p@3"),
    ]);
}

#[test]
fn what_cannot_be_written_down_is_not_given() {
    table(&[
        (0, Some(polls("p", 1, true, 25_000)), ""),
        (1, Some(submit("a", &["p"], 60_000)), "a>p@1"),
        (1, Some(Event::NotGiven { order: "a".into() }), "a=NotGiven"),
        (2, Some(reports("p", "a")), ""),
    ]);
}

#[test]
fn there_is_room_for_so_many_and_no_more() {
    let mut queue = Queue::default();
    for n in 0..MOST_PROXIES as u64 {
        assert!(queue.hear(0, polls(&format!("p{n}"), n, false, 25_000)).is_empty());
    }
    assert_eq!(said(&queue.hear(0, polls("more", 900, true, 25_000))), "@900");
    for n in 0..MOST_ORDERS {
        assert!(queue.hear(1, submit(&format!("w{n}"), &["p1"], 60_000)).is_empty());
    }
    assert_eq!(said(&queue.hear(1, submit("more", &["p1"], 60_000))), "more=Crowded");
}

/// What may happen, in any order.
#[derive(Debug, Clone)]
enum Happens {
    Poll(u8, bool, u16),
    Gone(u8),
    Submit(u8, u8, u16),
    Report(u8, u8),
    Withdraw(u8),
    NotGiven,
    Left(u8),
    Wait(u16),
    Restart,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0..4_u8, any::<bool>(), 0..30_000_u16).prop_map(|(p, t, u)| Happens::Poll(p, t, u)),
        1 => (0..4_u8).prop_map(Happens::Gone),
        4 => (0..12_u8, 0..16_u8, 0..30_000_u16).prop_map(|(w, c, u)| Happens::Submit(w, c, u)),
        4 => (0..4_u8, 0..12_u8).prop_map(|(p, w)| Happens::Report(p, w)),
        1 => (0..12_u8).prop_map(Happens::Withdraw),
        1 => Just(Happens::NotGiven),
        1 => (0..4_u8).prop_map(Happens::Left),
        2 => (0..15_000_u16).prop_map(Happens::Wait),
        1 => Just(Happens::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every order ends exactly once, none is given to two proxies or after its end, a report counts once and from its proxy
    /// alone, every poll is answered once, and after a restart exactly what was given and had not ended is unknown.
    #[test]
    fn every_order_ends_once_whatever_happens(story in proptest::collection::vec(happens(), 1..120)) {
        let (mut queue, mut now, mut poll) = (Queue::default(), 0_u64, 0_u64);
        let mut submitted = BTreeSet::new();
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        let mut ended: BTreeMap<String, u32> = BTreeMap::new();
        let mut held: BTreeMap<u64, String> = BTreeMap::new();
        // What a file says that is written before an order is given and after it has ended.
        let (mut intents, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
        let mut last_given = None;
        for (n, step) in story.into_iter().enumerate() {
            let name = |w: u8| format!("w{w}-{n}");
            let find = |w: u8, submitted: &BTreeSet<String>| {
                submitted.iter().find(|order| order.starts_with(&format!("w{w}-"))).cloned()
            };
            let mut expects_end = None;
            let event = match step {
                Happens::Poll(p, takes, more) => {
                    poll += 1;
                    held.insert(poll, format!("p{p}"));
                    Some(Event::Polls { proxy: format!("p{p}"), poll, takes, until: now + u64::from(more) })
                }
                Happens::Gone(p) => {
                    let id = held.iter().find(|(_, proxy)| **proxy == format!("p{p}")).map(|(id, _)| *id);
                    id.map(|poll| {
                        held.remove(&poll);
                        Event::PollGone { proxy: format!("p{p}"), poll }
                    })
                }
                Happens::Submit(w, mask, more) => {
                    let candidates = (0..4).filter(|p| mask >> p & 1 == 1).map(|p| format!("p{p}")).collect();
                    submitted.insert(name(w));
                    Some(Event::Submit { order: name(w), candidates, until: now + u64::from(more) })
                }
                Happens::Report(p, w) => find(w, &submitted).map(|order| {
                    let is_theirs = given.get(&order) == Some(&format!("p{p}"));
                    let counts = is_theirs && !ended.contains_key(&order);
                    expects_end = Some((order.clone(), counts));
                    Event::Reports { proxy: format!("p{p}"), order }
                }),
                Happens::Withdraw(w) => find(w, &submitted).map(|order| Event::Withdraw { order }),
                Happens::NotGiven => last_given.take().map(|order| Event::NotGiven { order }),
                Happens::Left(p) => Some(Event::Left { proxy: format!("p{p}") }),
                Happens::Wait(ms) => {
                    now += u64::from(ms);
                    None
                }
                Happens::Restart => {
                    queue = Queue::default();
                    held.clear();
                    // Who waits in memory has died with it; what the file says is reported once.
                    let unknown: Vec<String> = intents.difference(&outcomes).cloned().collect();
                    for order in unknown {
                        prop_assert!(given.contains_key(&order) && !ended.contains_key(&order));
                        outcomes.insert(order.clone());
                        *ended.entry(order).or_default() += 1;
                    }
                    submitted.retain(|order| ended.contains_key(order));
                    continue;
                }
            };
            let actions = match event {
                Some(event) => queue.hear(now, event),
                None => queue.tick(now),
            };
            let mut ended_now = Vec::new();
            last_given = None;
            for action in actions {
                match action {
                    Action::Give { order, proxy, poll } => {
                        prop_assert_eq!(held.remove(&poll), Some(proxy.clone()), "the poll is its own, and held");
                        prop_assert!(!ended.contains_key(&order), "{} is over", order);
                        prop_assert!(given.insert(order.clone(), proxy).is_none(), "{} is given twice", order);
                        intents.insert(order.clone());
                        last_given = Some(order);
                    }
                    Action::Release { poll, .. } => {
                        prop_assert!(held.remove(&poll).is_some(), "poll {} is answered twice", poll);
                    }
                    Action::End { order, end } => {
                        let was_given = given.contains_key(&order);
                        let says = match end {
                            End::TimedOut { given } | End::Withdrawn { given } | End::Left { given } => given,
                            End::Reported | End::NotGiven => true,
                            End::NoProxy | End::Crowded => false,
                        };
                        prop_assert_eq!(says, was_given, "{}: {:?}", order, end);
                        if was_given {
                            outcomes.insert(order.clone());
                        }
                        ended_now.push((order.clone(), end));
                        *ended.entry(order).or_default() += 1;
                    }
                }
            }
            if let Some((order, counts)) = expects_end {
                // Its time may have been over just now.
                let by_report = ended_now.contains(&(order.clone(), End::Reported));
                let otherwise = ended_now.iter().any(|(id, end)| *id == order && *end != End::Reported);
                prop_assert!(by_report == counts || (counts && otherwise), "{}: {:?}", order, ended_now);
            }
            prop_assert!(ended.values().all(|times| *times == 1), "{:?}", ended);
            prop_assert!(held.len() <= 4, "one poll each");
        }
        // Whatever is left ends by itself.
        while let Some(due) = queue.due_at() {
            for action in queue.tick(due) {
                match action {
                    Action::End { order, .. } => *ended.entry(order).or_default() += 1,
                    Action::Release { poll, .. } => prop_assert!(held.remove(&poll).is_some()),
                    Action::Give { .. } => prop_assert!(false, "time alone gives nothing"),
                }
            }
        }
        prop_assert!(held.is_empty(), "{:?} are held for ever", held);
        for order in submitted {
            prop_assert_eq!(ended.get(&order), Some(&1), "{}", order);
        }
    }
}
