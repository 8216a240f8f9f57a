//! When and where something is asked: the clock that "tomorrow" counts from.

use crate::problem::{Code, Problem};
use bir_calc::trace::{Recorded, Tools};
use bir_entity::Clock;
use bir_model::record::RunStart;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The clock of a run: its beginning, in the zone that it names, else in UTC.
pub(crate) fn of_run(run: &RunStart) -> Clock {
    Recorded::read(run, &[], None, &Tools::default()).trace.clock
}

/// A time, in ms since the Unix epoch, in a zone.
pub(crate) fn at(ms: u64, zone: Option<&str>) -> Result<Clock, Problem> {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let at = at.ok_or_else(|| {
        Problem::new(Code::BadType, "`now`: expected milliseconds since 1970, before the year 10000")
    })?;
    let zone = match zone {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| {
            Problem::new(Code::BadType, "`timeZone`: expected the name of a time zone, such as Europe/Berlin")
        })?,
    };
    Ok(Clock { now: jiff::ZonedDateTime::new(at, zone) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_or_a_problem() {
        let clock = at(1_796_032_800_000, Some("Europe/Berlin")).unwrap();
        assert_eq!(clock.now.strftime("%Y-%m-%d %H:%M").to_string(), "2026-11-30 11:00");
        assert_eq!(at(0, None).unwrap().now.year(), 1970);
        for (ms, zone, part) in [(u64::MAX, None, "`now`"), (1, Some("Mars/Olympus"), "`timeZone`")] {
            assert!(at(ms, zone).unwrap_err().detail.contains(part));
        }
    }
}
