//! One file out of a wheel, which is a zip archive.

use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// Why a file cannot be read.
#[derive(Debug, Error)]
pub(crate) enum WheelError {
    /// It cannot be opened.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no archive, or of a kind that is not read (zip64, encrypted, another compression).
    #[error("the archive is not of the kind that is read here: {0}")]
    Archive(&'static str),
    /// The file is not in it.
    #[error("there is no `{0}` in the archive")]
    Absent(String),
}

/// A file, or a member of the archive that the file is.
pub(crate) fn read(path: &Path, member: &str) -> Result<Vec<u8>, WheelError> {
    let bytes =
        std::fs::read(path).map_err(|source| WheelError::Io { path: path.display().to_string(), source })?;
    if bytes.starts_with(b"PK\x03\x04") { extract(&bytes, member) } else { Ok(bytes) }
}

fn extract(bytes: &[u8], member: &str) -> Result<Vec<u8>, WheelError> {
    let short = WheelError::Archive("it ends too early");
    let u16_at = |at: usize| bytes.get(at..at + 2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])));
    let u32_at = |at: usize| {
        bytes.get(at..at + 4).and_then(|b| usize::try_from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])).ok())
    };
    let from = bytes.len().saturating_sub(66_000);
    let end = bytes[from..]
        .windows(4)
        .rposition(|w| w == b"PK\x05\x06")
        .map(|at| from + at)
        .ok_or(WheelError::Archive("no directory"))?;
    let find = || -> Option<Option<(usize, usize, usize)>> {
        let (count, mut at) = (u16_at(end + 10)?, u32_at(end + 16)?);
        for _ in 0..count {
            let (method, packed, name, extra, comment, local) = (
                u16_at(at + 10)?,
                u32_at(at + 20)?,
                u16_at(at + 28)?,
                u16_at(at + 30)?,
                u16_at(at + 32)?,
                u32_at(at + 42)?,
            );
            if bytes.get(at + 46..at + 46 + name)? == member.as_bytes() {
                let data = local + 30 + u16_at(local + 26)? + u16_at(local + 28)?;
                return Some(Some((method, data, packed)));
            }
            at += 46 + name + extra + comment;
        }
        Some(None)
    };
    let (method, data, packed) = find().ok_or(short)?.ok_or_else(|| WheelError::Absent(member.into()))?;
    let data = bytes.get(data..data + packed).ok_or(WheelError::Archive("it ends too early"))?;
    match method {
        0 => Ok(data.to_vec()),
        8 => {
            let mut out = Vec::new();
            flate2::read::DeflateDecoder::new(data)
                .read_to_end(&mut out)
                .map_err(|_| WheelError::Archive("its data is damaged"))?;
            Ok(out)
        }
        _ => Err(WheelError::Archive("another compression")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_archive_is_said() {
        assert!(matches!(extract(b"PK\x03\x04 and nothing", "a"), Err(WheelError::Archive("no directory"))));
        let mut cut = b"PK\x03\x04PK\x05\x06".to_vec();
        cut.extend([0; 18]);
        assert!(matches!(extract(&cut, "a"), Err(WheelError::Absent(_))));
        cut[14] = 9;
        assert!(matches!(extract(&cut, "a"), Err(WheelError::Archive(_))));
    }
}
