//! From what a person writes to the id of a run: a whole id, the beginning of one, or `last`.
//!
//! The first 12 digits of an id are the ms at which the run began. So the beginning of an id is also a span of time, and
//! the hub is asked for the runs of that span alone.

use super::api;
use super::wire::{Summary, read};
use crate::error::CommandError;
use crate::home::Home;
use bir_model::RunId;
use bir_record::hub::HubClient;

/// Digits of an id that are time.
const TIME_DIGITS: u32 = 12;
/// Digits that are shown at least.
const SHOWN: usize = 12;
/// A run may say that it began a little before or after its id was made.
const SLACK_MS: u64 = 60_000;
/// Runs that are looked through where the time of the id says nothing.
const LOOKED: u32 = 5_000;
/// Candidates that are named where a beginning is not enough.
const NAMED: usize = 4;

/// The digits of an id without the prefix and hyphens.
pub(crate) fn digits(id: RunId) -> String {
    id.uuid().simple().to_string()
}

/// A short form of each id, long enough to tell each from the others.
pub(crate) fn short(ids: &[RunId]) -> Vec<String> {
    short_digits(&ids.iter().map(|id| digits(*id)).collect::<Vec<_>>())
}

/// The same of the digits of ids.
pub(crate) fn short_digits(ids: &[String]) -> Vec<String> {
    let mut sorted = ids.to_vec();
    sorted.sort();
    sorted.dedup();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let shared = sorted.windows(2).map(|pair| common(&pair[0], &pair[1]) + 1).max().unwrap_or_default();
    let length = shared.max(SHOWN);
    ids.iter().map(|digits| digits.chars().take(length).collect()).collect()
}

/// The short form of one id.
pub(crate) fn short_one(id: RunId) -> String {
    short(&[id]).pop().unwrap_or_default()
}

/// What was written, as the digits of an id.
pub(crate) fn beginning(text: &str) -> Option<String> {
    let text = text.strip_prefix(RunId::PREFIX).unwrap_or(text);
    let text: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let fits = (4..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then_some(text)
}

/// The ms that ids with this beginning may have.
fn span(beginning: &str) -> (u64, u64) {
    let head: String = beginning.chars().take(TIME_DIGITS as usize).collect();
    let open = 4 * (TIME_DIGITS - u32::try_from(head.len()).unwrap_or(TIME_DIGITS));
    let first = u64::from_str_radix(&head, 16).unwrap_or_default() << open;
    (first, first | ((1 << open) - 1))
}

/// Finds the run.
///
/// # Errors
///
/// There is none, or more than one.
pub(crate) async fn find(home: &Home, client: &mut HubClient, text: &str) -> Result<RunId, CommandError> {
    if text == "last" {
        let newest = api::runs(client, &[], 1).await?;
        let newest = newest.first().ok_or_else(|| {
            let none = || format!("no run is recorded yet; {}", home.how_to_begin());
            CommandError::failed(home.none_but_waiting().unwrap_or_else(none))
        })?;
        return Ok(read::<Summary>(newest)?.id);
    }
    if let Ok(id) = text.parse::<RunId>() {
        return Ok(id);
    }
    let beginning = beginning(text).ok_or_else(|| {
        CommandError::usage(format!(
            "`{text}` is no run; give `last`, an id, or at least 4 digits of its beginning as `bir runs list` shows it"
        ))
    })?;
    if let Some(uuid) = (beginning.len() == 32).then(|| u128::from_str_radix(&beginning, 16).ok()).flatten() {
        return format!("{}{}", RunId::PREFIX, hyphenated(uuid))
            .parse::<RunId>()
            .map_err(|e| CommandError::usage(format!("{e}")));
    }
    let (first, last) = span(&beginning);
    // Times reach the hub as signed numbers.
    let until = (last + SLACK_MS).min(i64::MAX as u64);
    let narrow = vec![("since", first.saturating_sub(SLACK_MS).to_string()), ("until", until.to_string())];
    for query in [narrow, Vec::new()] {
        let mut found = Vec::new();
        for run in api::runs(client, &query, LOOKED).await? {
            let id = read::<Summary>(&run)?.id;
            if digits(id).starts_with(&beginning) {
                found.push(id);
            }
        }
        match found.as_slice() {
            [] => {}
            [id] => return Ok(*id),
            several => {
                let named = short(several).into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
                let more = if several.len() > NAMED { " …" } else { "" };
                return Err(CommandError::failed(format!(
                    "{} runs begin with `{text}`: {named}{more}; give more digits",
                    several.len()
                )));
            }
        }
    }
    Err(CommandError::failed(format!(
        "no run begins with `{text}`; `bir runs list` shows those that are there"
    )))
}

fn hyphenated(uuid: u128) -> String {
    let digits = format!("{uuid:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RunId {
        format!("run_{text}").parse().unwrap()
    }

    #[test]
    fn short_forms_differ() {
        let a = id("01970000-0000-7000-8000-000000000001");
        let b = id("01970000-0000-7abc-8000-000000000001");
        assert_eq!(short(&[a]), ["019700000000"]);
        assert_eq!(short(&[a, b, a]), ["01970000000070", "0197000000007a", "01970000000070"]);
        assert_eq!(short_one(a), "019700000000");
    }

    #[test]
    fn beginnings_are_read_as_they_are_pasted() {
        for (text, digits) in [
            ("0197", Some("0197")),
            ("run_01970000-00aB", Some("0197000000ab")),
            ("019", None),
            ("xyz0", None),
            ("0197000000000000000000000000000000", None),
            ("", None),
        ] {
            assert_eq!(beginning(text).as_deref(), digits, "{text}");
        }
    }

    #[test]
    fn a_beginning_is_a_span_of_time() {
        assert_eq!(span("0197"), (0x0197_0000_0000, 0x0197_ffff_ffff));
        assert_eq!(span("019712345678"), (0x0197_1234_5678, 0x0197_1234_5678));
        assert_eq!(span("0197123456789abc"), (0x0197_1234_5678, 0x0197_1234_5678));
        assert_eq!(
            hyphenated(0x0197_0000_0000_7000_8000_0000_0000_0001),
            "01970000-0000-7000-8000-000000000001"
        );
    }
}
