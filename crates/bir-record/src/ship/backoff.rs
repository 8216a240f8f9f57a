use std::time::Duration;

/// The first cool-down.
pub(super) const FIRST: Duration = Duration::from_secs(5);

/// The longest cool-down, whatever the hub asks for.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// Cool-down after failures: 5 s, doubling to 60 s.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The next cool-down. `random` of 0 to 255 spreads the recorders of many machines over a quarter of it; what the hub
    /// asks for is a lower bound.
    pub(super) fn next(&mut self, random: u8, asked: Option<Duration>) -> Duration {
        let plain = FIRST.saturating_mul(1 << self.failures.min(8)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let spread = plain.mul_f64(1.0 - f64::from(random) / 255.0 / 4.0);
        spread.max(asked.unwrap_or_default()).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_to_a_minute_and_begins_again() {
        let mut backoff = Backoff::default();
        let seconds: Vec<u64> = (0..7).map(|_| backoff.next(0, None).as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 60, 60, 60]);
        backoff.reset();
        assert_eq!(backoff.next(0, Some(Duration::from_secs(9))).as_secs(), 9);
        assert_eq!(backoff.next(255, None), Duration::from_millis(7500));
        assert_eq!(backoff.next(0, Some(Duration::from_secs(900))), LONGEST);
    }
}
