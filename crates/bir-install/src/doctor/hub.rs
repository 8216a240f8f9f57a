//! The hub: is it there, does it accept the token, and what time does it think it is?

use super::{Code, Finding};

/// The clocks may differ by so much, seconds.
pub const SKEW: u64 = 60;

/// Where the hub is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `BIR_HUB_URL`.
    Environment,
    /// `bir login`.
    Login,
    /// `bir up`, on this machine.
    Embedded,
}

/// How it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// As it should.
    Well,
    /// Not at all, or not as a hub does; why.
    Not(String),
    /// It does not accept the token; what it says.
    Refused(String),
}

/// What is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hub {
    /// None is known.
    None {
        /// Runs that wait for one.
        waiting: u64,
    },
    /// What signing in has left cannot be read; why.
    Broken(String),
    /// One is known.
    Known {
        /// Its address, without a secret.
        url: String,
        /// From where.
        origin: Origin,
        /// How it answers.
        answer: Answer,
        /// Its clock minus ours, in seconds, where it tells.
        ahead: Option<i64>,
    },
}

/// Looks at it.
#[must_use]
pub fn findings(hub: &Hub) -> Vec<Finding> {
    match hub {
        Hub::None { waiting: 0 } => Vec::new(),
        Hub::None { waiting } => {
            let (runs, wait) = if *waiting == 1 { ("1 run", "waits") } else { ("runs", "wait") };
            let runs = if *waiting == 1 { runs.to_owned() } else { format!("{waiting} {runs}") };
            vec![
                Finding::note(
                    Code::HubNone,
                    format!("no hub is known, and {runs} {wait} for one"),
                    "what is recorded is kept on this disk, and can be looked at once a hub has it",
                )
                .mend("bir up"),
            ]
        }
        Hub::Broken(why) => vec![
            Finding::fault(
                Code::TokenRefused,
                format!("what bir login has left cannot be used: {why}"),
                "nothing reaches the hub; runs wait on this disk",
            )
            .mend("bir login"),
        ],
        Hub::Known { url, origin, answer, ahead } => {
            let skew = ahead.filter(|ahead| ahead.unsigned_abs() > SKEW).map(|ahead| skewed(url, ahead));
            let fault = match answer {
                Answer::Well => None,
                Answer::Not(why) => Some(unreachable(url, *origin, why)),
                Answer::Refused(says) => Some(refused(url, *origin, says)),
            };
            fault.into_iter().chain(skew).collect()
        }
    }
}

fn unreachable(url: &str, origin: Origin, why: &str) -> Finding {
    let mend = match origin {
        Origin::Embedded => "bir up".to_owned(),
        Origin::Login => {
            "check the network and the address; or use the hub of this machine: bir logout, then bir up"
                .to_owned()
        }
        Origin::Environment => "check BIR_HUB_URL, or unset it".to_owned(),
    };
    Finding::fault(
        Code::HubUnreachable,
        format!("the hub at {url} does not answer: {why}"),
        "runs wait on this disk until it does, and the oldest go when the spool is full",
    )
    .mend(mend)
}

fn refused(url: &str, origin: Origin, says: &str) -> Finding {
    let mend = match origin {
        Origin::Embedded => "bir down, then bir up".to_owned(),
        Origin::Login => format!("bir login --server {url}"),
        Origin::Environment => "set BIR_HUB_TOKEN to a token that counts".to_owned(),
    };
    Finding::fault(
        Code::TokenRefused,
        format!("the hub at {url} does not accept the token: {says}"),
        "it has expired or was taken back; runs wait on this disk",
    )
    .mend(mend)
}

fn skewed(url: &str, ahead: i64) -> Finding {
    let by = ahead.unsigned_abs();
    let than = if ahead > 0 { "behind" } else { "ahead of" };
    Finding::warning(
        Code::ClockSkew,
        format!("the clock of this machine is {by} s {than} that of the hub at {url}"),
        "runs are sorted by time, and tokens end at a time: both go by clocks that agree",
    )
    .mend("set the clock, on Linux with timedatectl set-ntp true")
}

/// Seconds since the Unix epoch of a `Date` header (RFC 9110 §5.6.7, the form that is sent today).
#[must_use]
pub fn seconds_of(date: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let rest = date.split_once(", ")?.1.strip_suffix(" GMT")?;
    let mut parts = rest.split(' ');
    let day: i64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    let year: i64 = parts.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock =
        parts.next()?.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days since the epoch, counted from March, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    (1..=31).contains(&day).then_some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(origin: Origin, answer: Answer, ahead: Option<i64>) -> Hub {
        Hub::Known { url: "http://h".into(), origin, answer, ahead }
    }

    #[test]
    fn each_trouble_comes_with_its_way_out() {
        let gone = || Answer::Not("refused".into());
        let expired = || Answer::Refused("token_expired".into());
        for (hub, expected) in [
            (Hub::None { waiting: 0 }, vec![]),
            (Hub::None { waiting: 1 }, vec![(Code::HubNone, "bir up")]),
            (Hub::Broken("line 1".into()), vec![(Code::TokenRefused, "bir login")]),
            (known(Origin::Login, Answer::Well, Some(-60)), vec![]),
            (known(Origin::Login, Answer::Well, Some(61)), vec![(Code::ClockSkew, "timedatectl")]),
            (known(Origin::Embedded, gone(), None), vec![(Code::HubUnreachable, "bir up")]),
            (known(Origin::Login, gone(), None), vec![(Code::HubUnreachable, "bir logout")]),
            (known(Origin::Environment, gone(), None), vec![(Code::HubUnreachable, "BIR_HUB_URL")]),
            (
                known(Origin::Login, expired(), None),
                vec![(Code::TokenRefused, "bir login --server http://h")],
            ),
            (known(Origin::Environment, expired(), None), vec![(Code::TokenRefused, "BIR_HUB_TOKEN")]),
            (
                known(Origin::Embedded, expired(), Some(-7_200)),
                vec![(Code::TokenRefused, "bir down"), (Code::ClockSkew, "timedatectl")],
            ),
        ] {
            let found = findings(&hub);
            assert_eq!(found.len(), expected.len(), "{hub:?}");
            for (finding, (code, mend)) in found.iter().zip(expected) {
                assert_eq!(finding.code, code);
                assert!(finding.mend.as_ref().is_some_and(|m| m.contains(mend)), "{finding:?}");
            }
        }
        let behind = findings(&known(Origin::Login, Answer::Well, Some(90))).remove(0);
        assert!(behind.what.contains("90 s behind"), "{}", behind.what);
    }

    #[test]
    fn a_date_is_read() {
        for (date, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("", None),
        ] {
            assert_eq!(seconds_of(date), seconds, "{date}");
        }
    }
}
