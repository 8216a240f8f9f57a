//! `bir runs import`: JSON Lines into the hub, in parts of whole lines and in order. Records that are there already count as
//! duplicates, so an import that broke off is repeated whole.

use super::args::ImportArgs;
use crate::error::CommandError;
use crate::home::Home;
use crate::out::{self, progress, safe, size};
use crate::say;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// A part is sent when it has so many lines or bytes.
const PART: (usize, usize) = (2_000, 4 * 1024 * 1024);
/// The longest line in bytes; the hub refuses longer ones than it takes by itself, this one bounds the memory here.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// Refusals that are told one by one.
const TOLD: usize = 10;

/// What the hub says of a part.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Booked {
    booked: u64,
    duplicates: u64,
    refused: Refused,
    /// Where the list does not name all.
    refused_total: Option<u64>,
}

/// Refusals one by one, or their number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Refused {
    List(Vec<Refusal>),
    Number(u64),
}

impl Default for Refused {
    fn default() -> Self {
        Self::Number(0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    line: u64,
    code: String,
    detail: String,
}

/// Imports.
pub(crate) async fn run(home: &Home, args: &ImportArgs) -> Result<(), CommandError> {
    let unreadable = |e: io::Error| CommandError::failed(format!("cannot read {}: {e}", args.file.display()));
    let (mut input, length): (Box<dyn BufRead>, _) = if args.file.as_os_str() == "-" {
        (Box::new(BufReader::new(io::stdin())), None)
    } else {
        let file = File::open(&args.file).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        (Box::new(BufReader::new(file)), Some(length))
    };
    let mut client = home.client()?;
    let bar = progress::bytes(length, "imported");
    let (mut booked, mut duplicates, mut refused, mut line_number) = (0, 0, 0, 0);
    let mut told = Vec::new();
    loop {
        let part = part(&mut input).map_err(unreadable)?;
        if part.lines == 0 {
            break;
        }
        let bytes = part.bytes.len() as u64;
        let answer = client.post_lines("/recordings/import", Bytes::from(part.bytes)).await;
        let answer: Booked = answer.and_then(|answer| answer.json()).map_err(|e| {
            bar.finish_and_clear();
            CommandError::failed(format!(
                "{}; {line_number} lines were sent before, and importing the file again books none of them twice",
                CommandError::from(e)
            ))
        })?;
        booked += answer.booked;
        duplicates += answer.duplicates;
        match answer.refused {
            Refused::Number(n) => refused += n,
            Refused::List(list) => {
                refused += answer.refused_total.unwrap_or(list.len() as u64);
                told.extend(list.into_iter().take(TOLD.saturating_sub(told.len())).map(|refusal| {
                    let detail = if refusal.detail.is_empty() { &refusal.code } else { &refusal.detail };
                    format!("line {}: {}", line_number + refusal.line, safe::line(detail))
                }));
            }
        }
        line_number += part.lines as u64;
        bar.inc(bytes);
    }
    bar.finish_and_clear();
    if args.json {
        out::json(
            &json!({"lines": line_number, "booked": booked, "duplicates": duplicates, "refused": refused}),
        )?;
    } else {
        say(format_args!("{} booked, {duplicates} were there already", size::count(booked, "record")));
    }
    if refused == 0 {
        return Ok(());
    }
    told.iter().for_each(say);
    Err(CommandError::failed(format!("the hub refused {}", size::count(refused, "line"))))
}

struct Part {
    bytes: Vec<u8>,
    lines: usize,
}

/// The next whole lines.
fn part(input: &mut dyn BufRead) -> io::Result<Part> {
    let mut part = Part { bytes: Vec::new(), lines: 0 };
    while part.lines < PART.0 && part.bytes.len() < PART.1 {
        let before = part.bytes.len();
        let read = io::Read::take(&mut *input, LONGEST_LINE).read_until(b'\n', &mut part.bytes)?;
        if read == 0 {
            break;
        }
        if part.bytes.last() != Some(&b'\n') {
            if read as u64 == LONGEST_LINE {
                return Err(io::Error::other(format!(
                    "a line of more than {LONGEST_LINE} bytes; this is no export"
                )));
            }
            part.bytes.push(b'\n');
        }
        debug_assert!(part.bytes.len() > before);
        part.lines += 1;
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines_in_order() {
        let text: Vec<u8> = (0..PART.0 + 5).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let mut input = BufReader::with_capacity(7, &text[..text.len() - 1]);
        let (first, second, third) =
            (part(&mut input).unwrap(), part(&mut input).unwrap(), part(&mut input).unwrap());
        assert_eq!((first.lines, second.lines, third.lines), (PART.0, 5, 0));
        assert_eq!([first.bytes, second.bytes].concat(), text);
    }

    #[test]
    fn refusals_come_as_a_list_or_a_number() {
        let list: Booked =
            serde_json::from_value(json!({"booked": 1, "refused": [{"line": 2, "code": "invalid"}]}))
                .unwrap();
        assert!(matches!(list.refused, Refused::List(l) if l[0].line == 2));
        let number: Booked =
            serde_json::from_value(json!({"booked": 1, "duplicates": 2, "refused": 3})).unwrap();
        assert!(matches!((number.refused, number.duplicates), (Refused::Number(3), 2)));
    }
}
