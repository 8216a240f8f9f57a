//! Texts that say a day, a time of a day, or both.

use jiff::civil::Date;

/// What a text says, as far as it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<'t> {
    pub(crate) text: &'t str,
    day: Option<Date>,
    /// Since midnight.
    minute: Option<i64>,
}

impl<'t> Moment<'t> {
    pub(crate) fn read(text: &'t str) -> Self {
        let day = text.get(..10).and_then(|day| day.parse().ok());
        let time = if text.len() > 10 { text.get(11..) } else { Some(text) };
        Self { text, day, minute: time.and_then(minute) }
    }

    /// Days from this one to another.
    pub(crate) fn days_to(&self, other: &Moment<'_>) -> Option<i64> {
        self.day?.until(other.day?).ok().map(|span| i64::from(span.get_days()))
    }

    /// Minutes from the time of the day in this one to that in another; no way around midnight.
    pub(crate) fn minutes_to(&self, other: &Moment<'_>) -> Option<i64> {
        Some(other.minute? - self.minute?)
    }
}

/// `08:30` and what may stand behind it.
fn minute(text: &str) -> Option<i64> {
    let hour: i64 = text.get(..2)?.parse().ok()?;
    let minute: i64 = text.get(3..5)?.parse().ok()?;
    (hour < 24 && minute < 60 && text.as_bytes().get(2) == Some(&b':')).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_minutes_are_counted_where_both_say_them() {
        let (a, b) = (Moment::read("2026-11-30T23:15:00"), Moment::read("2026-12-02"));
        assert_eq!((a.days_to(&b), a.minutes_to(&b)), (Some(2), None));
        assert_eq!(a.minutes_to(&Moment::read("23:45")), Some(30));
        assert_eq!(Moment::read("99:99").minutes_to(&a), None);
    }
}
