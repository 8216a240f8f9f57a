//! What a file has around its text: a byte order mark, and how its lines end.
//!
//! ```text
//!  bytes ── take ──▶ mark + text with line feeds + the end of each line ── give ──▶ bytes
//! ```

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::splice::line_and_column;
use crate::{EditError, LONGEST};

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a file begins with a byte order mark, and its text as it stands behind it.
///
/// # Errors
///
/// [`EditError::TooLong`], [`EditError::NotUtf8`].
pub(crate) fn take(bytes: &[u8]) -> Result<(bool, &str), EditError> {
    if bytes.len() > LONGEST {
        return Err(EditError::TooLong);
    }
    let (mark, rest) = match bytes.strip_prefix(MARK) {
        Some(rest) => (true, rest),
        None => (false, bytes),
    };
    let text = std::str::from_utf8(rest).map_err(|_| EditError::NotUtf8)?;
    // UTF-16 of ASCII without a mark is valid UTF-8, every other byte of it a zero, which no format allows.
    let zeros = rest.iter().filter(|byte| **byte == 0).count();
    if zeros > 0 && rest.len().is_multiple_of(2) && zeros * 3 >= rest.len() {
        return Err(EditError::NotUtf8);
    }
    if let Some(at) = text.find('\0') {
        let (line, column) = line_and_column(text, at);
        return Err(EditError::Syntax(format!(
            "line {line}, column {column}: a zero byte stands there, which no configuration may hold; take it out"
        )));
    }
    Ok((mark, text))
}

/// The file again.
pub(crate) fn give(mark: bool, text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MARK.len() + text.len());
    if mark {
        bytes.extend_from_slice(MARK);
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The text with line feeds alone. A carriage return that no line feed follows stays where it is.
pub(crate) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Gives the lines of a changed text their ends: those that stand in the old text the ends they had there, new ones that of
/// the line above them, or of the first line.
///
/// `old` is the text with its own line ends, `new` has line feeds alone.
pub(crate) fn with_ends_of(old: &str, new: &str) -> String {
    let total = old.bytes().filter(|&byte| byte == b'\n').count();
    let returns = old.matches("\r\n").count();
    if returns == 0 {
        return new.to_owned();
    }
    if returns == total {
        return new.replace('\n', "\r\n");
    }
    mixed(old, new)
}

fn mixed(old: &str, new: &str) -> String {
    let old_lines: Vec<(&str, bool)> = old
        .split_inclusive('\n')
        .map(|line| match line.strip_suffix("\r\n") {
            Some(line) => (line, true),
            None => (line.strip_suffix('\n').unwrap_or(line), false),
        })
        .collect();
    let before: Vec<&str> = old_lines.iter().map(|(line, _)| *line).collect();
    let after: Vec<&str> = new.split('\n').collect();
    let mut ends: Vec<Option<bool>> = vec![None; after.len()];
    for operation in capture_diff_slices(Algorithm::Myers, &before, &after) {
        if let DiffOp::Equal { old_index, new_index, len } = operation {
            for step in 0..len {
                // The last line of the old text may have had no end at all; then it has nothing to say.
                let ended = old_index + step + 1 < old_lines.len() || old.ends_with('\n');
                if let (true, Some(end), Some(line)) =
                    (ended, ends.get_mut(new_index + step), old_lines.get(old_index + step))
                {
                    *end = Some(line.1);
                }
            }
        }
    }
    let mut last = old_lines.first().is_some_and(|line| line.1);
    let mut out = String::with_capacity(new.len() + ends.len());
    for (index, (line, end)) in after.iter().zip(ends).enumerate() {
        out.push_str(line);
        if index + 1 < after.len() {
            last = end.unwrap_or(last);
            out.push_str(if last { "\r\n" } else { "\n" });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_taken_and_given() {
        for bytes in [b"".as_slice(), b"a\n", b"\xef\xbb\xbf", b"\xef\xbb\xbfa\r\n"] {
            let (mark, text) = take(bytes).unwrap();
            assert_eq!(mark, bytes.starts_with(b"\xef"));
            assert!(!text.starts_with('\u{feff}'));
            assert_eq!(give(mark, text), bytes);
        }
        for bytes in [b"\xff\xfea\0".as_slice(), b"\xfe\xff\0a", b"a\0", b"\xef\xbb", b"a\xe9"] {
            assert_eq!(take(bytes), Err(EditError::NotUtf8), "{bytes:?}");
        }
    }

    #[test]
    fn a_zero_byte_is_told_from_another_encoding() {
        for (bytes, line) in
            [(b"{\"a\":1}\n\0".as_slice(), "line 2, column 1"), (b"a\0b: 1", "line 1, column 2")]
        {
            assert!(matches!(take(bytes), Err(EditError::Syntax(why)) if why.starts_with(line)), "{bytes:?}");
        }
        assert_eq!(take(b"{\0}\0\n\0"), Err(EditError::NotUtf8));
    }

    #[test]
    fn lines_keep_their_ends() {
        for (old, new, expected) in [
            ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n"),
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("a\r\nb", "a\nb\nx\n", "a\r\nb\r\nx\r\n"),
            ("", "x\n", "x\n"),
            ("a", "a\nx\n", "a\nx\n"),
            // Mixed: each line its own, a new one that of the line above.
            ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\r\nb\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\nx\nb\ny\nc\nz\n", "a\r\nx\r\nb\ny\nc\r\nz\r\n"),
            ("a\r\nb\nc\r\n", "b\nc\n", "b\nc\r\n"),
            ("a\nb\r\nc", "a\nb\nc\nd", "a\nb\r\nc\r\nd"),
            ("a\nb\r\nc", "x\nb\nc", "x\nb\r\nc"),
            ("a\r\r\nb\n", "a\r\nb\nx\n", "a\r\r\nb\nx\n"),
        ] {
            let plain = with_line_feeds(old);
            assert_eq!(with_ends_of(old, &plain), old, "{old:?} as it was");
            assert_eq!(with_ends_of(old, new), expected, "{old:?}");
        }
    }
}
