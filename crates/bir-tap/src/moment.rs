use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One point in time on both clocks: the wall clock for people, the monotonic one for durations.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Milliseconds since the Unix epoch.
    pub epoch_ms: u64,
    /// For durations; unaffected by a clock that jumps.
    pub instant: Instant,
}

impl Moment {
    /// Time from `earlier` to this moment; zero when they are in the wrong order.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Duration {
        self.instant.saturating_duration_since(earlier.instant)
    }
}

/// Where moments come from; passed in, so that tests own the time.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Moment;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { epoch_ms: u64::try_from(epoch.as_millis()).unwrap_or(u64::MAX), instant: Instant::now() }
    }
}
