//! One line of a segment: checksum, record.

use bir_model::record::Record;
use std::io;

/// Longest line that is written or read, in bytes: a row with its payloads, each byte of them escaped, and room.
pub const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// Eight hex digits and a space.
pub(crate) const PREFIX: usize = 9;

/// Appends the line of a record.
///
/// # Errors
///
/// The record does not become JSON, or is longer than [`LONGEST_LINE`]. `out` is as it was then.
pub(crate) fn encode(record: &Record, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(b"00000000 ");
    let written = serde_json::to_writer(&mut *out, record).map_err(io::Error::from);
    let length = out.len() - start;
    let written = written.and_then(|()| {
        if length < LONGEST_LINE { Ok(()) } else { Err(io::Error::from(io::ErrorKind::FileTooLarge)) }
    });
    if let Err(e) = written {
        out.truncate(start);
        return Err(e);
    }
    seal(out, start);
    Ok(())
}

/// The line of any JSON text, of any length.
#[must_use]
pub fn framed(json: &str) -> Vec<u8> {
    let mut out = b"00000000 ".to_vec();
    out.extend_from_slice(json.as_bytes());
    seal(&mut out, 0);
    out
}

/// Puts the checksum before what stands behind the prefix, and ends the line.
fn seal(out: &mut Vec<u8>, start: usize) {
    let checksum = crc32fast::hash(&out[start + PREFIX..]);
    for (i, digit) in out[start..start + PREFIX - 1].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(checksum >> (28 - 4 * i)) as usize & 15];
    }
    out.push(b'\n');
}

/// The JSON of a line without its line feed. None: it is damaged.
#[must_use]
pub fn decode(line: &[u8]) -> Option<&[u8]> {
    let (prefix, json) = line.split_at_checked(PREFIX)?;
    let digits = std::str::from_utf8(&prefix[..PREFIX - 1]).ok()?;
    let is_hex = prefix[..PREFIX - 1].iter().all(u8::is_ascii_hexdigit);
    let checksum = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex && prefix[PREFIX - 1] == b' ')?;
    (crc32fast::hash(json) == checksum).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::RunId;
    use bir_model::record::{EndReason, Finish};

    fn finish() -> Record {
        let reason = EndReason::Closed;
        Record::Finish(Finish { run_id: RunId::new(), at: 7, reason, final_output: None, metrics: None })
    }

    #[test]
    fn a_line_is_read_as_it_was_written_and_any_other_byte_spoils_it() {
        let record = finish();
        let mut line = b"before".to_vec();
        encode(&record, &mut line).unwrap();
        let line = &line[6..line.len() - 1];
        let json = decode(line).unwrap();
        assert_eq!(serde_json::from_slice::<Record>(json).unwrap(), record);
        for at in 0..line.len() {
            let mut spoilt = line.to_vec();
            spoilt[at] ^= 0x01;
            assert_eq!(decode(&spoilt), None, "byte {at}");
            assert_eq!(decode(&line[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn what_is_too_long_leaves_nothing_behind() {
        let final_output = Some("x".repeat(LONGEST_LINE));
        let Record::Finish(finish) = finish() else { unreachable!() };
        let mut out = b"before".to_vec();
        assert!(encode(&Record::Finish(Finish { final_output, ..finish }), &mut out).is_err());
        assert_eq!(out, b"before");
    }
}
