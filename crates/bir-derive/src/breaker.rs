//! When an endpoint is left alone: after failures for a while that doubles, and after so many questions in a minute.
//!
//! ```text
//!  closed ── three failures in a row, or a refused key ──▶ cooling (30 s, doubling to 10 min) ── over ──▶ one question ── well ──▶ closed
//!     ▲                                                        └──────────────◀── failed ──────────────┘
//! ```

use std::time::{Duration, Instant};

/// Failures in a row.
const FAILURES: u32 = 3;
/// It cools so long at first, and at most.
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(600);
/// Questions of one minute.
pub(crate) const PER_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// What is known of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// Times that it cooled since it last went well.
    cooled: u32,
    until: Option<Instant>,
    /// The beginning of a minute, and the questions in it.
    minute: Option<(Instant, u32)>,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    Failed,
    /// The key, or what it may, is refused: trying again changes nothing.
    Refused,
}

impl Breaker {
    /// Whether one may be asked now; if so, it counts.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        if let Some(left) = self.until.and_then(|until| until.checked_duration_since(now))
            && !left.is_zero()
        {
            return Err(left);
        }
        let (began, asked) = match self.minute {
            Some((began, asked)) if now.duration_since(began) < MINUTE => (began, asked),
            _ => (now, 0),
        };
        if asked >= PER_MINUTE {
            return Err(MINUTE.saturating_sub(now.duration_since(began)));
        }
        self.minute = Some((began, asked + 1));
        if self.until.take().is_some() {
            // One to find out; a failure cools it again at once.
            self.failures = FAILURES - 1;
        }
        Ok(())
    }

    /// Notes how one ended.
    pub(crate) fn ended(&mut self, how: Ended, now: Instant) {
        match how {
            Ended::Well => (self.failures, self.cooled, self.until) = (0, 0, None),
            Ended::Failed => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= FAILURES {
                    let pause = FIRST.saturating_mul(2_u32.saturating_pow(self.cooled.min(10))).min(LONGEST);
                    self.cooled = self.cooled.saturating_add(1);
                    self.until = now.checked_add(pause);
                }
            }
            Ended::Refused => {
                self.failures = FAILURES;
                self.cooled = self.cooled.saturating_add(1);
                self.until = now.checked_add(LONGEST);
            }
        }
    }

    /// How long it cools still.
    pub(crate) fn cools(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_cool_it_longer_each_time_and_one_that_goes_well_ends_that() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        for _ in 0..FAILURES - 1 {
            assert!(breaker.take(now).is_ok());
            breaker.ended(Ended::Failed, now);
        }
        assert_eq!(breaker.cools(now), None);
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            assert!(breaker.take(now).is_ok());
            breaker.ended(Ended::Failed, now);
            assert_eq!(breaker.cools(now), Some(Duration::from_secs(seconds)));
            assert!(breaker.take(now + Duration::from_secs(seconds - 1)).is_err());
            now += Duration::from_secs(seconds);
        }
        assert!(breaker.take(now).is_ok());
        breaker.ended(Ended::Well, now);
        breaker.ended(Ended::Failed, now);
        assert_eq!(breaker.cools(now), None);
        breaker.ended(Ended::Refused, now);
        assert_eq!(breaker.take(now), Err(LONGEST));
    }

    #[test]
    fn a_minute_has_so_many_questions() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..PER_MINUTE {
            assert!(breaker.take(now).is_ok());
            breaker.ended(Ended::Well, now);
        }
        assert_eq!(breaker.take(now), Err(MINUTE));
        assert!(breaker.take(now + MINUTE).is_ok());
    }
}
