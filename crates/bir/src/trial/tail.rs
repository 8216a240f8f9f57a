//! The last lines of a stream, within bounds.

use std::collections::VecDeque;

/// Lines kept.
const LINES: usize = 20;
/// Characters kept of a line.
const WIDTH: usize = 400;

#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    pub(crate) fn push(&mut self, line: &[u8]) {
        if self.0.len() == LINES {
            self.0.pop_front();
        }
        self.0.push_back(printable(&String::from_utf8_lossy(line)));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

/// Text of a stranger for a terminal: one line, bounded, and nothing that moves the cursor.
pub(crate) fn printable(s: &str) -> String {
    let one = s.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut out: String = one.take(WIDTH + 1).collect();
    if out.chars().count() > WIDTH {
        out.pop();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_stay_and_cannot_move_the_cursor() {
        let mut t = Tail::default();
        (0..50).for_each(|i| t.push(format!("line {i}\r\n").as_bytes()));
        t.push(b"\x1b[2Jred\xff");
        let l = t.lines();
        assert_eq!((l.len(), l[0].as_str()), (LINES, "line 31"));
        assert_eq!(l[LINES - 1], " [2Jred\u{fffd}");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), WIDTH + 1);
    }
}
