//! What stands between two brackets, with commas between: arrays and inline tables of TOML, flow collections of YAML.
//!
//! ```text
//!  [ "a", "b" ]            one line: `, item` behind the last one
//!  [                       a line each: a line of its own, at the indentation of the last one,
//!    "a",  # why           with a comma behind it where the last one has one
//!    "b",
//!  ]
//! ```

use std::ops::Range;

use crate::splice::{Splice, blank, indentation, line_end, line_start, next_line};

/// A collection, by its bytes.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What stands between the brackets.
    pub(crate) inside: Range<usize>,
    /// The items, in order.
    pub(crate) items: Vec<Range<usize>>,
}

impl Flow {
    /// Whether each item has a line of its own; told by the last one.
    fn is_tall(&self, text: &str) -> bool {
        match self.items.last() {
            Some(last) => self.begins_line(text, last),
            None => text.get(self.inside.clone()).is_some_and(|inside| inside.contains('\n')),
        }
    }

    /// Whether a comma stands behind the last item.
    fn has_last_comma(&self, text: &str) -> bool {
        self.comma(text, self.items.len().wrapping_sub(1)).is_some()
    }

    /// Adds an item behind the last one. `pad` stands on its sides where it is the only one.
    pub(crate) fn push(&self, text: &str, item: &str, pad: &str) -> Vec<Splice> {
        let Some(last) = self.items.last() else {
            return vec![self.first(text, item, pad)];
        };
        let comma = self.comma(text, self.items.len() - 1);
        if !self.is_tall(text) {
            return match comma {
                Some(comma) => vec![Splice::insert(comma + 1, format!(" {item},"))],
                None => vec![Splice::insert(last.end, format!(", {item}"))],
            };
        }
        let indentation = indentation(text, last.start);
        let behind = comma.map_or(last.end, |comma| comma + 1);
        let end = line_end(text, behind);
        let at = if end < self.inside.end { end } else { behind };
        match comma {
            Some(_) => vec![Splice::insert(at, format!("\n{indentation}{item},"))],
            None => vec![Splice::insert(last.end, ","), Splice::insert(at, format!("\n{indentation}{item}"))],
        }
    }

    /// Puts items before one that is there, each on a line where that begins one; else behind the last one.
    pub(crate) fn insert(&self, text: &str, at: usize, items: &[String]) -> Vec<Splice> {
        let Some(next) = self.items.get(at).filter(|_| !items.is_empty()) else {
            return if items.is_empty() { Vec::new() } else { self.push(text, &items.join(", "), "") };
        };
        let between = match self.begins_line(text, next) {
            true => format!(",\n{}", indentation(text, next.start)),
            false => ", ".to_owned(),
        };
        vec![Splice::insert(
            next.start,
            items.iter().map(|item| format!("{item}{between}")).collect::<String>(),
        )]
    }

    /// Takes items away up to where the one behind them begins. None: none stands behind them, or a comment stands between.
    pub(crate) fn cut(&self, text: &str, at: usize, count: usize) -> Option<Splice> {
        let run = self.items.get(at..=at.checked_add(count)?)?;
        let plain = run.windows(2).all(|pair| blank_but_commas(text, pair[0].end..pair[1].start));
        plain.then(|| Splice::cut(run[0].start..run[count].start))
    }

    /// Other items in the place of all, a line for each as it was; nothing where they stand on one line.
    pub(crate) fn rewritten(&self, text: &str, items: &[String]) -> Option<String> {
        let first = self.items.first().filter(|_| self.is_tall(text) && !items.is_empty())?;
        let close = indentation(text, self.inside.end);
        let indentation = match blank(text, line_start(text, first.start)..first.start) {
            true => indentation(text, first.start).to_owned(),
            false => format!("{}  ", indentation(text, self.inside.start)),
        };
        let comma = if self.has_last_comma(text) { "," } else { "" };
        Some(format!("\n{indentation}{}{comma}\n{close}", items.join(&format!(",\n{indentation}"))))
    }

    fn first(&self, text: &str, item: &str, pad: &str) -> Splice {
        if !self.is_tall(text) {
            return Splice::replace(self.inside.clone(), format!("{pad}{item}{pad}"));
        }
        let at = line_start(text, self.inside.end);
        Splice::insert(at, format!("{}  {item}\n", indentation(text, at)))
    }

    /// Takes an item away, with its comma and, where it has a line of its own, that line.
    pub(crate) fn remove(&self, text: &str, index: usize) -> Vec<Splice> {
        let Some(item) = self.items.get(index) else { return Vec::new() };
        let comma = self.comma(text, index);
        let behind = comma.map_or(item.end, |comma| comma + 1);
        let end = line_end(text, behind);
        let alone = self.begins_line(text, item) && end < self.inside.end && ends_line(text, behind, end);
        let before = index.checked_sub(1).and_then(|before| self.items.get(before));
        // A last item without a comma leaves the one before it without one too.
        let orphan = match (before, comma) {
            (Some(_), None) => self.comma(text, index - 1),
            _ => None,
        };
        if alone {
            let mut splices = vec![Splice::cut(line_start(text, item.start)..next_line(text, behind))];
            splices.extend(orphan.map(|comma| Splice::cut(comma..comma + 1)));
            return splices;
        }
        match (before, self.items.get(index + 1)) {
            (_, Some(next)) => vec![Splice::cut(item.start..next.start)],
            (Some(before), None) if blank_but_commas(text, before.end..item.start) => {
                vec![Splice::cut(before.end..item.end)]
            }
            (Some(_), None) => {
                let mut splices = vec![Splice::cut(item.start..behind)];
                splices.extend(orphan.map(|comma| Splice::cut(comma..comma + 1)));
                splices
            }
            (None, None)
                if blank(text, self.inside.start..item.start) && blank(text, behind..self.inside.end) =>
            {
                vec![Splice::cut(self.inside.clone())]
            }
            (None, None) => vec![Splice::cut(item.start..behind)],
        }
    }

    fn begins_line(&self, text: &str, item: &Range<usize>) -> bool {
        let start = line_start(text, item.start);
        start > self.inside.start && blank(text, start..item.start)
    }

    /// The comma behind an item. Nothing but white space and comments stand beside it.
    fn comma(&self, text: &str, index: usize) -> Option<usize> {
        let start = self.items.get(index)?.end;
        let end = self.items.get(index + 1).map_or(self.inside.end, |next| next.start);
        let mut comment = false;
        for (at, c) in text.get(start..end)?.char_indices() {
            match c {
                '\n' => comment = false,
                '#' => comment = true,
                ',' if !comment => return Some(start + at),
                _ => {}
            }
        }
        None
    }
}

fn ends_line(text: &str, from: usize, end: usize) -> bool {
    text.get(from..end).is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

fn blank_but_commas(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_some_and(|part| part.chars().all(|c| c.is_whitespace() || c == ','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splice::spliced;

    /// Items are words; good enough to find them again.
    fn flow(text: &str) -> Flow {
        let inside = text.find('[').unwrap() + 1..text.rfind(']').unwrap();
        let mut items = Vec::new();
        let mut comment = false;
        for (at, c) in text.char_indices().filter(|(at, _)| inside.contains(at)) {
            comment = (comment || c == '#') && c != '\n';
            if c.is_ascii_digit() && !comment {
                items.push(at..at + 1);
            }
        }
        Flow { inside, items }
    }

    fn pushed(text: &str) -> String {
        spliced(text, flow(text).push(text, "9", " ")).unwrap()
    }

    fn removed(text: &str, index: usize) -> String {
        spliced(text, flow(text).remove(text, index)).unwrap()
    }

    #[test]
    fn an_item_is_added_as_its_neighbours_stand_and_leaves_no_trace() {
        for (before, after) in [
            ("[1]", "[1, 9]"),
            ("[1, 2]", "[1, 2, 9]"),
            ("[ 1 ]", "[ 1, 9 ]"),
            ("[1,]", "[1, 9,]"),
            ("[1, # c\n]", "[1, 9, # c\n]"),
            ("[\n  1\n]", "[\n  1,\n  9\n]"),
            ("[\n  1,\n]", "[\n  1,\n  9,\n]"),
            ("[\n\t1, # a, b\n\t2, # c\n\t# d\n]", "[\n\t1, # a, b\n\t2, # c\n\t9,\n\t# d\n]"),
            ("[\n  1, 2,\n  3 # c\n]", "[\n  1, 2,\n  3, # c\n  9\n]"),
            ("[\n  1]", "[\n  1,\n  9]"),
        ] {
            assert_eq!(pushed(before), after);
            assert_eq!(removed(after, flow(after).items.len() - 1), before, "{after}");
        }
        assert_eq!(pushed("[]"), "[ 9 ]");
        assert_eq!(removed("[ 9 ]", 0), "[]");
        assert_eq!(pushed("[\n  # c\n]"), "[\n  # c\n  9\n]");
        assert_eq!(removed("[\n  # c\n  9\n]", 0), "[\n  # c\n]");
    }

    #[test]
    fn items_are_put_before_another_and_cut_again() {
        let new = ["8".to_owned(), "9".to_owned()];
        for (before, at, after) in [
            ("[1]", 0, "[8, 9, 1]"),
            ("[ 1,2 ]", 1, "[ 1,8, 9, 2 ]"),
            ("[1, # a\n  2]", 1, "[1, # a\n  8,\n  9,\n  2]"),
            ("[ # in\n\t1, # a\n\t2\n]", 0, "[ # in\n\t8,\n\t9,\n\t1, # a\n\t2\n]"),
            ("[\n  # of it\n  1]", 0, "[\n  # of it\n  8,\n  9,\n  1]"),
        ] {
            assert_eq!(spliced(before, flow(before).insert(before, at, &new)).unwrap(), after);
            let cut = flow(after).cut(after, at, 2).unwrap();
            assert_eq!(spliced(after, vec![cut]).unwrap(), before, "{after}");
        }
        assert_eq!(spliced("[1]", flow("[1]").insert("[1]", 1, &new)).unwrap(), "[1, 8, 9]");
        assert_eq!(spliced("[]", flow("[]").insert("[]", 0, &new)).unwrap(), "[8, 9]");
        for (text, at, count) in [("[1, 2]", 0, 2), ("[1, # a\n2]", 0, 1), ("[1]", 1, usize::MAX)] {
            assert_eq!(flow(text).cut(text, at, count), None, "{text}");
        }
    }

    #[test]
    fn an_item_is_taken_out_with_its_comma_and_line() {
        for (before, index, after) in [
            ("[1, 2, 3]", 0, "[2, 3]"),
            ("[1, 2, 3]", 1, "[1, 3]"),
            ("[1, 2, 3,]", 2, "[1, 2,]"),
            ("[\n  1, # a\n  2, # b\n]", 0, "[\n  2, # b\n]"),
            ("[\n  1,\n  2 # b\n]", 1, "[\n  1\n]"),
            ("[1, # a\n 2]", 1, "[1 # a\n ]"),
            ("[1, # a\n 2]", 0, "[2]"),
            ("[\n1, 2]", 0, "[\n2]"),
        ] {
            assert_eq!(removed(before, index), after, "{before}");
        }
    }
}
