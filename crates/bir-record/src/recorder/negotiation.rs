//! Which tier: who owns the run, and may anything be kept at all? Pure: looks are answered and the time is passed in.
//!
//! ```text
//!                     first call
//!   --standalone ────────────────────────────────────────────▶ Recording, shipped at once
//!   any other entry ───▶ Recording ─┬ no sign of an installation ▶ shipped at once too
//!                                   └ a sign ── window over ─────▶ shipped then
//!   user scope ─────┬──▶ Undecided ── window over ───────────▶ Passthrough ─┐ look every 15 s
//!                   └ a sign of an installation ─▶ Recording ◀──────────────┘
//! ```
//!
//! A run waits for the window only where somebody may still come who wants it as part of another one. Where nothing was
//! installed there is nobody to wait for, and who watches the hub sees the first call when it is made.
//!
//! A user-scope entry is wrapped once and started in every project, so in a project that was never set up nothing of it may
//! be kept: while that is open, nothing reaches a disk, and what waits is dropped if it stays so (seed 01 §0.1).
//!
//! This release has no control server. One that is found is of a later release, which [`Negotiation`] says once and records
//! by itself; binding to it is where [`Sighting::Answered`] arrives.

use std::time::{Duration, Instant};

/// How long after the first call a control server may show up before the proxy is on its own.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// How often it is looked for within the window.
pub(super) const LOOK_IN_WINDOW: Duration = Duration::from_millis(2500);
/// How often it is looked for after that.
pub(super) const LOOK_LATER: Duration = Duration::from_secs(15);

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
    /// The project is set up, and nobody has answered (yet).
    Installed,
    /// A control server answers.
    Answered {
        /// The version of its API, where it tells.
        api_version: Option<u64>,
    },
}

/// What becomes of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// They wait in memory.
    Undecided,
    /// They are kept.
    Recording,
    /// They are nobody's.
    Passthrough,
}

/// What a step of the negotiation changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// The stance is now this one.
    Stance(Stance),
    /// What is kept may be shipped from now on.
    Ship,
    /// A control server was found that this release cannot bind to; said once.
    Newer { api_version: Option<u64> },
}

#[derive(Debug)]
pub(super) struct Negotiation {
    standalone: bool,
    scope: Scope,
    stance: Stance,
    window_ends: Instant,
    next_look: Option<Instant>,
    ships: bool,
    told_newer: bool,
}

impl Negotiation {
    /// Begins with the first call.
    pub(super) fn new(standalone: bool, scope: Scope, now: Instant) -> Self {
        let may_record = standalone || scope != Scope::User;
        Self {
            standalone,
            scope,
            stance: if may_record { Stance::Recording } else { Stance::Undecided },
            window_ends: now + WINDOW,
            next_look: (!standalone).then_some(now),
            ships: standalone,
            told_newer: false,
        }
    }

    pub(super) fn stance(&self) -> Stance {
        self.stance
    }

    /// Whether what is kept may be shipped.
    pub(super) fn ships(&self) -> bool {
        self.ships
    }

    /// Whether it is time to look for a control server.
    pub(super) fn is_look_due(&self, now: Instant) -> bool {
        self.next_look.is_some_and(|at| now >= at)
    }

    /// When something is due next.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let awaits_window = match self.stance {
            Stance::Undecided => true,
            Stance::Recording => !self.ships,
            Stance::Passthrough => false,
        };
        let window = awaits_window.then_some(self.window_ends);
        [self.next_look, window].into_iter().flatten().min()
    }

    /// A look was made.
    pub(super) fn looked(&mut self, found: &Sighting, now: Instant) -> Vec<News> {
        let mut news = Vec::new();
        let every = if now < self.window_ends { LOOK_IN_WINDOW } else { LOOK_LATER };
        self.next_look = (!self.standalone).then_some(now + every);
        if let Sighting::Answered { api_version } = found
            && !std::mem::replace(&mut self.told_newer, true)
        {
            news.push(News::Newer { api_version: *api_version });
        }
        if *found != Sighting::Nothing && self.stance != Stance::Recording {
            self.stance = Stance::Recording;
            news.push(News::Stance(Stance::Recording));
        }
        // Nobody is there who could claim the run: it need not wait.
        let unclaimed = *found == Sighting::Nothing && self.scope != Scope::User;
        if unclaimed && !std::mem::replace(&mut self.ships, true) {
            news.push(News::Ship);
        }
        news.extend(self.passed(now));
        news
    }

    /// Time has passed.
    pub(super) fn passed(&mut self, now: Instant) -> Vec<News> {
        let mut news = Vec::new();
        if now < self.window_ends {
            return news;
        }
        if self.stance == Stance::Undecided {
            debug_assert_eq!(self.scope, Scope::User);
            self.stance = Stance::Passthrough;
            news.push(News::Stance(Stance::Passthrough));
        }
        if self.stance == Stance::Recording && !std::mem::replace(&mut self.ships, true) {
            news.push(News::Ship);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Sighting = Sighting::Answered { api_version: Some(2) };

    /// What is news at which second; `found` says what a look at that second finds.
    fn story(standalone: bool, scope: Scope, seconds: u64, found: impl Fn(u64) -> Sighting) -> Vec<String> {
        let start = Instant::now();
        let mut negotiation = Negotiation::new(standalone, scope, start);
        let mut told = vec![format!("0 {:?}", negotiation.stance())];
        let mut now = start;
        for _ in 0..1000 {
            let second = (now - start).as_secs();
            let news = if negotiation.is_look_due(now) {
                negotiation.looked(&found(second), now)
            } else {
                negotiation.passed(now)
            };
            told.extend(news.into_iter().map(|news| format!("{second} {news:?}")));
            match negotiation.due_at() {
                Some(at) if at < start + Duration::from_secs(seconds) => {
                    assert!(at > now, "nothing may be due again and again");
                    now = at;
                }
                _ => break,
            }
        }
        told
    }

    #[test]
    fn an_entry_that_may_record_ships_from_the_first_call_where_there_is_nobody_to_wait_for() {
        for scope in [Scope::Any, Scope::Project, Scope::Local] {
            let told = story(false, scope, 100, |_| Sighting::Nothing);
            assert_eq!(told, ["0 Recording", "0 Ship"], "{scope:?}");
        }
    }

    #[test]
    fn a_sign_of_an_installation_holds_the_run_back_for_the_window_and_no_longer_than_it_lasts() {
        for scope in [Scope::Any, Scope::Project, Scope::Local] {
            let told = story(false, scope, 100, |_| Sighting::Installed);
            assert_eq!(told, ["0 Recording", "10 Ship"], "{scope:?}");
            let told =
                story(false, scope, 100, |s| if s < 5 { Sighting::Installed } else { Sighting::Nothing });
            assert_eq!(told, ["0 Recording", "5 Ship"], "{scope:?}");
        }
    }

    #[test]
    fn looks_go_on_after_the_run_is_shipped() {
        let looks = std::cell::RefCell::new(Vec::new());
        let told = story(false, Scope::Any, 50, |s| {
            looks.borrow_mut().push(s);
            if s < 20 { Sighting::Nothing } else { ANSWER }
        });
        assert_eq!(told, ["0 Recording", "0 Ship", "25 Newer { api_version: Some(2) }"]);
        assert_eq!(looks.into_inner(), [0, 2, 5, 7, 10, 25, 40]);
    }

    #[test]
    fn standalone_asks_nobody() {
        for scope in [Scope::Any, Scope::User] {
            assert_eq!(story(true, scope, 100, |_| panic!("no look")), ["0 Recording"]);
        }
    }

    #[test]
    fn a_user_scope_entry_passes_through_where_nothing_was_installed() {
        let told = story(false, Scope::User, 100, |_| Sighting::Nothing);
        assert_eq!(told, ["0 Undecided", "10 Stance(Passthrough)"]);
    }

    #[test]
    fn a_user_scope_entry_records_where_an_installation_is() {
        let told = story(false, Scope::User, 100, |_| Sighting::Installed);
        assert_eq!(told, ["0 Undecided", "0 Stance(Recording)", "10 Ship"]);
        let told = story(false, Scope::User, 100, |s| if s < 5 { Sighting::Nothing } else { ANSWER });
        let newer = "5 Newer { api_version: Some(2) }";
        assert_eq!(told, ["0 Undecided", newer, "5 Stance(Recording)", "10 Ship"]);
    }

    #[test]
    fn a_late_installation_switches_recording_on() {
        let told =
            story(false, Scope::User, 200, |s| if s < 30 { Sighting::Nothing } else { Sighting::Installed });
        assert_eq!(told[..2], ["0 Undecided", "10 Stance(Passthrough)"]);
        assert_eq!(told[2..], ["40 Stance(Recording)", "40 Ship"]);
    }

    #[test]
    fn a_newer_control_server_is_spoken_of_once() {
        let told = story(false, Scope::Any, 200, |_| ANSWER);
        assert_eq!(told, ["0 Recording", "0 Newer { api_version: Some(2) }", "10 Ship"]);
    }
}
