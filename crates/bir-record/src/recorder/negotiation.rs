//! Which tier: who owns the run, and may anything be kept at all? Pure: looks are answered and the time is passed in.
//!
//! ```text
//!   --standalone ─────────────────────────────────────────────▶ Alone
//!                     ┌ no sign of an installation ───────────▶ Alone (user scope: after the window Passthrough)
//!   first call ▶ look ┼ a sign ▶ Waiting ── 10 s, `bir down` ─▶ Alone ◀── 15 s, `bir down` ──┐
//!                     │             └─ it answers ─▶ Bound ◀─┐                               │
//!                     └ it answers ─────────────────▶ Bound ─┴─ nobody takes a report ▶ (gone)
//!
//!   Alone and Passthrough look on, every 15 s: Bound when one answers; Passthrough waits where there is a sign
//! ```
//!
//! A run of one's own begins only where nobody will come who wants its calls as part of another run. Where nothing was
//! installed there is nobody to wait for, and who watches the hub sees the first call when it is made. Where a project is set
//! up, what comes waits in memory until a control server answers or the window is over.
//!
//! A user-scope entry is wrapped once and started in every project, so in a project that was never set up nothing of it may
//! be kept: while that is open, nothing reaches a disk, and what waits is dropped if it stays so (seed 01 §0.1).
//!
//! A control server of another major version is said once and recorded beside. While one is gone the stance stays `Bound`:
//! what is reported waits, or lies in the inbox, and the next one has it.

use bir_model::control::API_VERSION;
use std::time::{Duration, Instant};

/// How long after the first call a control server may show up before the proxy is on its own.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// How long a control server that took reports may be gone before the proxy is on its own.
pub(super) const GONE: Duration = Duration::from_secs(15);
/// How often it is looked for within the window, where there is no sign of one.
const LOOK_IN_WINDOW: Duration = Duration::from_millis(2500);
/// How often it is looked for after that.
const LOOK_LATER: Duration = Duration::from_secs(15);
/// The pause between two looks where one is to come: the first, doubled up to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// An answer that was asked for is there by then, or it never comes.
pub(super) const ASKED: Duration = Duration::from_secs(2);

/// Whose entry started the proxy; hosts filter environments, so it comes by argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// An entry that belongs to nobody in particular: it may record.
    #[default]
    Any,
    /// The user's own, for every project: it records only where an installation is.
    User,
    /// The project's.
    Project,
    /// The user's, for this project.
    Local,
}

/// What a look for a control server has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// No sign of an installation.
    Nothing,
    /// The project is set up, and nobody answers.
    Installed,
    /// The project is set up, and somebody was asked who has not answered yet.
    Asked,
    /// The project is set up, and its control server was stopped on purpose: none will come.
    Stopped,
    /// A control server answers.
    Answered {
        /// The version of its API, where it tells.
        api_version: Option<u64>,
    },
}

/// What becomes of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// They wait in memory, and may be nobody's.
    Undecided,
    /// They wait in memory, and will be kept.
    Waiting,
    /// They are reported to the control server.
    Bound,
    /// They are kept as a run of one's own.
    Alone,
    /// They are nobody's.
    Passthrough,
}

/// What a step of the negotiation changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// The stance is now this one.
    Stance(Stance),
    /// The control server is gone: from `Bound` to another stance.
    Downgrade(Stance),
    /// A control server was found that this release cannot report to; said once.
    OtherApi { api_version: Option<u64> },
}

#[derive(Debug)]
pub(super) struct Negotiation {
    standalone: bool,
    scope: Scope,
    stance: Stance,
    window_ends: Instant,
    next_look: Option<Instant>,
    /// The next pause between two looks where one is to come.
    pause: Duration,
    /// Since when the control server takes nothing.
    gone: Option<Instant>,
    /// The control server has answered since it last failed.
    answers: bool,
    told_other: bool,
}

impl Negotiation {
    /// Begins with the first call.
    pub(super) fn new(standalone: bool, scope: Scope, now: Instant) -> Self {
        Self {
            standalone,
            scope,
            stance: if standalone { Stance::Alone } else { Stance::Undecided },
            window_ends: now + WINDOW,
            next_look: (!standalone).then_some(now),
            pause: PAUSES.0,
            gone: None,
            answers: false,
            told_other: false,
        }
    }

    pub(super) fn stance(&self) -> Stance {
        self.stance
    }

    /// Whether a control server is there to be told something.
    pub(super) fn is_answered(&self) -> bool {
        self.stance == Stance::Bound && self.answers
    }

    /// Whether the control server has failed and has taken nothing since.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.is_some()
    }

    /// Whether it is time to look for a control server.
    pub(super) fn is_look_due(&self, now: Instant) -> bool {
        self.next_look.is_some_and(|at| now >= at)
    }

    /// When something is due next.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let ends = match self.stance {
            Stance::Undecided | Stance::Waiting => Some(self.window_ends),
            Stance::Bound => self.gone.filter(|_| !self.answers).map(|since| since + GONE),
            Stance::Alone | Stance::Passthrough => None,
        };
        [self.next_look, ends].into_iter().flatten().min()
    }

    /// There is reason to look at once.
    pub(super) fn look_now(&mut self, now: Instant) {
        if self.next_look.is_some() {
            self.next_look = Some(now);
        }
    }

    /// A look was made, or what an earlier one asked for was answered.
    pub(super) fn looked(&mut self, found: &Sighting, now: Instant) -> Vec<News> {
        if self.standalone {
            return Vec::new();
        }
        let mut news = Vec::new();
        self.next_look = Some(now + self.pause_after(found, now));
        match found {
            Sighting::Answered { api_version } if *api_version == Some(API_VERSION) => self.binds(&mut news),
            Sighting::Answered { api_version } => {
                if !std::mem::replace(&mut self.told_other, true) {
                    news.push(News::OtherApi { api_version: *api_version });
                }
                self.is_alone(&mut news);
            }
            Sighting::Stopped => self.is_alone(&mut news),
            Sighting::Installed | Sighting::Asked => self.waits(now, &mut news),
            Sighting::Nothing if self.scope != Scope::User => self.is_alone(&mut news),
            Sighting::Nothing => match self.stance {
                // It was taken out of what is set up: nothing more of it may be kept.
                Stance::Bound => self.becomes(Stance::Passthrough, &mut news),
                Stance::Waiting => self.becomes(Stance::Undecided, &mut news),
                Stance::Undecided | Stance::Alone | Stance::Passthrough => {}
            },
        }
        news.extend(self.passed(now));
        news
    }

    /// Time has passed.
    pub(super) fn passed(&mut self, now: Instant) -> Vec<News> {
        let mut news = Vec::new();
        match self.stance {
            Stance::Undecided if now >= self.window_ends => {
                let alone = self.scope != Scope::User;
                self.becomes(if alone { Stance::Alone } else { Stance::Passthrough }, &mut news);
            }
            Stance::Waiting if now >= self.window_ends => self.is_alone(&mut news),
            Stance::Bound if !self.answers && self.gone.is_some_and(|since| now >= since + GONE) => {
                self.is_alone(&mut news);
            }
            _ => {}
        }
        news
    }

    /// The control server took what it was told.
    pub(super) fn took(&mut self) {
        self.gone = None;
        self.pause = PAUSES.0;
    }

    /// The control server did not take what it was told, or nobody was there.
    pub(super) fn failed(&mut self, now: Instant) {
        if self.stance != Stance::Bound {
            return;
        }
        // The first time the discovery file may name its successor already.
        let first = self.gone.is_none();
        self.gone.get_or_insert(now);
        self.answers = false;
        self.next_look = Some(if first { now } else { now + self.next_pause() });
    }

    fn pause_after(&mut self, found: &Sighting, now: Instant) -> Duration {
        let is_to_come = match self.stance {
            Stance::Undecided | Stance::Waiting | Stance::Alone => now < self.window_ends,
            Stance::Bound => true,
            Stance::Passthrough => *found != Sighting::Nothing,
        };
        match found {
            Sighting::Asked => ASKED,
            Sighting::Installed if is_to_come => self.next_pause(),
            Sighting::Nothing if is_to_come => LOOK_IN_WINDOW,
            _ => LOOK_LATER,
        }
    }

    fn next_pause(&mut self) -> Duration {
        let next = (self.pause * 2).min(PAUSES.1);
        std::mem::replace(&mut self.pause, next)
    }

    fn binds(&mut self, news: &mut Vec<News>) {
        self.answers = true;
        self.next_look = None;
        if self.stance != Stance::Bound {
            self.took();
            self.becomes(Stance::Bound, news);
        }
    }

    fn is_alone(&mut self, news: &mut Vec<News>) {
        if self.stance != Stance::Alone {
            self.becomes(Stance::Alone, news);
        }
    }

    /// Somebody may come.
    fn waits(&mut self, now: Instant, news: &mut Vec<News>) {
        match self.stance {
            Stance::Undecided => self.becomes(Stance::Waiting, news),
            Stance::Passthrough => {
                self.window_ends = now + WINDOW;
                self.becomes(Stance::Waiting, news);
            }
            Stance::Waiting | Stance::Bound | Stance::Alone => {}
        }
    }

    fn becomes(&mut self, stance: Stance, news: &mut Vec<News>) {
        let was = std::mem::replace(&mut self.stance, stance);
        if was == Stance::Bound {
            (self.gone, self.answers, self.pause) = (None, false, PAUSES.0);
        }
        news.push(if was == Stance::Bound { News::Downgrade(stance) } else { News::Stance(stance) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Sighting = Sighting::Answered { api_version: Some(API_VERSION) };
    const OTHER: Sighting = Sighting::Answered { api_version: Some(API_VERSION + 1) };
    const MAY_RECORD: [Scope; 3] = [Scope::Any, Scope::Project, Scope::Local];

    /// What is news at which second; `found` says what a look at that second finds, and `takes` whether a control server that
    /// answered takes what it is told then.
    fn story_of(
        scope: Scope,
        seconds: u64,
        found: impl Fn(u64) -> Sighting,
        takes: impl Fn(u64) -> bool,
    ) -> Vec<String> {
        let start = Instant::now();
        let mut negotiation = Negotiation::new(false, scope, start);
        let mut told = Vec::new();
        let mut now = start;
        for _ in 0..10_000 {
            let second = (now - start).as_secs();
            let news = if negotiation.is_look_due(now) {
                negotiation.looked(&found(second), now)
            } else {
                negotiation.passed(now)
            };
            told.extend(news.into_iter().map(|news| match news {
                News::Stance(stance) => format!("{second} {stance:?}"),
                other => format!("{second} {other:?}"),
            }));
            // A bound proxy tells something every second.
            let next = if negotiation.is_answered() {
                if takes(second) {
                    negotiation.took()
                } else {
                    negotiation.failed(now)
                }
                Some(now + Duration::from_secs(1))
            } else {
                None
            };
            match negotiation.due_at().into_iter().chain(next).min() {
                Some(at) if at < start + Duration::from_secs(seconds) => {
                    assert!(at > now || negotiation.is_look_due(now), "nothing may be due again and again");
                    now = at;
                }
                _ => return told,
            }
        }
        panic!("it never ends: {told:?}");
    }

    fn story(scope: Scope, seconds: u64, found: impl Fn(u64) -> Sighting) -> Vec<String> {
        story_of(scope, seconds, found, |_| true)
    }

    #[test]
    fn an_entry_that_may_record_is_alone_from_the_first_call_where_there_is_nobody_to_wait_for() {
        for scope in MAY_RECORD {
            assert_eq!(story(scope, 100, |_| Sighting::Nothing), ["0 Alone"], "{scope:?}");
        }
    }

    #[test]
    fn a_sign_of_an_installation_is_waited_for_within_the_window_and_no_longer_than_it_lasts() {
        let none: &[&str] = &[];
        for scope in [Scope::Any, Scope::Project, Scope::Local, Scope::User] {
            for sign in [Sighting::Installed, Sighting::Asked] {
                let told = story(scope, 100, |_| sign.clone());
                assert_eq!(told, ["0 Waiting", "10 Alone"], "{scope:?}");
            }
            let told = story(scope, 100, |s| if s < 4 { Sighting::Installed } else { OURS });
            assert_eq!(told.len(), 2, "{told:?}");
            assert!(told[1] == "5 Bound" || told[1] == "4 Bound", "{told:?}");
            // `bir down` leaves nobody to wait for.
            assert_eq!(story(scope, 100, |_| Sighting::Stopped), ["0 Alone"], "{scope:?}");
            assert_eq!(story(scope, 0, |_| Sighting::Installed)[1..], *none);
        }
        for scope in MAY_RECORD {
            let told = story(scope, 100, |s| if s < 4 { Sighting::Installed } else { Sighting::Nothing });
            assert_eq!(told[1][1..], *" Alone", "{scope:?}");
        }
        let told = story(Scope::User, 100, |s| if s < 4 { Sighting::Installed } else { Sighting::Nothing });
        assert!(told[1].ends_with("Undecided") && told[2] == "10 Passthrough", "{told:?}");
    }

    #[test]
    fn one_that_answers_binds_at_once_and_is_not_looked_for_while_it_takes_what_it_is_told() {
        for scope in [Scope::Any, Scope::Project, Scope::Local, Scope::User] {
            let looks = std::cell::Cell::new(0);
            let told = story(scope, 100, |_| {
                looks.set(looks.get() + 1);
                OURS
            });
            assert_eq!((told, looks.get()), (vec!["0 Bound".to_owned()], 1), "{scope:?}");
        }
    }

    #[test]
    fn looks_go_on_while_it_is_alone() {
        let looks = std::cell::RefCell::new(Vec::new());
        let told = story(Scope::Any, 50, |s| {
            looks.borrow_mut().push(s);
            if s < 20 { Sighting::Nothing } else { OURS }
        });
        assert_eq!(told, ["0 Alone", "25 Bound"]);
        assert_eq!(looks.into_inner(), [0, 2, 5, 7, 10, 25]);
    }

    #[test]
    fn standalone_asks_nobody() {
        let now = Instant::now();
        for scope in [Scope::Any, Scope::User] {
            let mut negotiation = Negotiation::new(true, scope, now);
            assert_eq!((negotiation.stance(), negotiation.due_at()), (Stance::Alone, None));
            negotiation.look_now(now);
            assert!(!negotiation.is_look_due(now + LOOK_LATER * 9));
            assert_eq!(negotiation.looked(&OURS, now), []);
        }
    }

    #[test]
    fn a_user_scope_entry_passes_through_where_nothing_was_installed() {
        let told = story(Scope::User, 100, |_| Sighting::Nothing);
        assert_eq!(told, ["10 Passthrough"]);
        let told = story(Scope::User, 100, |s| if s < 5 { Sighting::Nothing } else { OURS });
        assert_eq!(told, ["5 Bound"]);
    }

    #[test]
    fn a_late_installation_switches_recording_on() {
        let late = |sign: Sighting| {
            story(Scope::User, 200, move |s| if s < 30 { Sighting::Nothing } else { sign.clone() })
        };
        assert_eq!(late(Sighting::Installed), ["10 Passthrough", "40 Waiting", "50 Alone"]);
        assert_eq!(late(Sighting::Stopped), ["10 Passthrough", "40 Alone"]);
        assert_eq!(late(OURS), ["10 Passthrough", "40 Bound"]);
    }

    #[test]
    fn one_of_another_major_version_is_spoken_of_once_and_recorded_beside() {
        for other in [OTHER, Sighting::Answered { api_version: None }] {
            let Sighting::Answered { api_version } = other else { panic!() };
            for scope in [Scope::Any, Scope::User] {
                let told = story(scope, 200, |_| Sighting::Answered { api_version });
                let said = format!("0 {:?}", News::OtherApi { api_version });
                assert_eq!(told, [said.as_str(), "0 Alone"]);
            }
        }
    }

    #[test]
    fn one_that_is_gone_is_looked_for_and_given_up_after_a_quarter_of_a_minute() {
        let gone = |back: u64, instead: Sighting| {
            let is_there = move |s: u64| !(20..back).contains(&s);
            let found = move |s| if is_there(s) { OURS } else { instead.clone() };
            story_of(Scope::Any, 100, found, is_there)
        };
        assert_eq!(gone(24, Sighting::Installed), ["0 Bound"], "a pause, and nothing else");
        assert_eq!(gone(34, Sighting::Asked), ["0 Bound"]);
        assert_eq!(gone(900, Sighting::Installed), ["0 Bound", "35 Downgrade(Alone)"]);
        let back = gone(60, Sighting::Installed);
        assert_eq!(back[..2], ["0 Bound", "35 Downgrade(Alone)"]);
        assert!(back[2].ends_with("Bound") && back.len() == 3, "{back:?}");
        assert_eq!(gone(900, Sighting::Stopped), ["0 Bound", "20 Downgrade(Alone)"], "stopped on purpose");
        assert_eq!(gone(900, Sighting::Nothing), ["0 Bound", "20 Downgrade(Alone)"]);
        let taken_out =
            story_of(Scope::User, 100, |s| if s < 20 { OURS } else { Sighting::Nothing }, |s| s < 20);
        assert_eq!(taken_out, ["0 Bound", "20 Downgrade(Passthrough)"]);
        let upgraded = gone(900, OTHER);
        let said = format!("20 {:?}", News::OtherApi { api_version: Some(API_VERSION + 1) });
        assert_eq!(upgraded, ["0 Bound", said.as_str(), "20 Downgrade(Alone)"]);
    }

    #[test]
    fn each_absence_counts_by_itself() {
        let is_there = |s: u64| !(20..30).contains(&s) && !(40..50).contains(&s);
        let found = |s| if is_there(s) { OURS } else { Sighting::Installed };
        assert_eq!(story_of(Scope::Any, 100, found, is_there), ["0 Bound"]);
    }

    #[test]
    fn one_that_answers_and_takes_nothing_is_given_up_too() {
        let told = story_of(Scope::Any, 40, |_| OURS, |s| s < 5);
        assert_eq!(told[0], "0 Bound");
        assert!(told[1].ends_with("Downgrade(Alone)"), "{told:?}");
    }
}
