//! Changes of a text, each by its bytes: what no splice covers stays.

use std::ops::Range;

use crate::EditError;

/// Some bytes of a text replaced; an empty range inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    /// The bytes that go.
    pub(crate) range: Range<usize>,
    /// What stands there afterwards.
    pub(crate) text: String,
}

impl Splice {
    /// Replaces some bytes.
    pub(crate) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Inserts before the byte at `at`.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    /// Takes some bytes away.
    pub(crate) fn cut(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// Carries splices out. Those of one place keep their order.
///
/// # Errors
///
/// [`EditError::Unfaithful`] where two overlap or one does not fit into the text.
pub(crate) fn spliced(text: &str, mut splices: Vec<Splice>) -> Result<String, EditError> {
    splices.sort_by_key(|splice| splice.range.start);
    let mut out = String::with_capacity(text.len() + splices.iter().map(|s| s.text.len()).sum::<usize>());
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.range.start).ok_or(EditError::Unfaithful)?);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(text.get(at..).ok_or(EditError::Unfaithful)?);
    Ok(out)
}

/// Where the line of a byte begins.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Where the line of a byte ends: its line feed, or the end of the text.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |newline| at + newline)
}

/// Where the line after that of a byte begins, or the end of the text.
pub(crate) fn next_line(text: &str, at: usize) -> usize {
    (line_end(text, at) + 1).min(text.len())
}

/// The white space that a line begins with.
pub(crate) fn indentation(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// Whether nothing but white space stands in a range.
pub(crate) fn blank(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_some_and(|part| part.trim().is_empty())
}

/// Line and column of a byte, from 1, for messages.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_splice_covers_stays() {
        let splices = vec![
            Splice::cut(4..5),
            Splice::insert(0, ">"),
            Splice::replace(1..2, "é"),
            Splice::insert(0, ">"),
        ];
        assert_eq!(spliced("abcdef", splices).unwrap(), ">>aécdf");
        let overlapping = vec![Splice::cut(0..3), Splice::cut(2..4)];
        assert_eq!(spliced("abcdef", overlapping), Err(EditError::Unfaithful));
        assert_eq!(spliced("é", vec![Splice::insert(1, "x")]), Err(EditError::Unfaithful));
    }

    #[test]
    fn lines_are_found() {
        let text = "a\n  é b\nc";
        assert_eq!((line_start(text, 6), line_end(text, 6), next_line(text, 6)), (2, 8, 9));
        assert_eq!(indentation(text, 6), "  ");
        assert_eq!(line_and_column(text, 7), (2, 5));
        assert_eq!(next_line(text, 9), 10);
    }
}
