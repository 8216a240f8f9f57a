//! Columns that line up. Widths are those of the screen, so colours and wide letters do not push.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// To the left.
    Left,
    /// To the right: numbers.
    Right,
    /// To the left, and cut where the line would be too long. One of these at most.
    Flexible,
}

/// Rows of cells.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Between two columns.
const GAP: usize = 2;
/// A flexible column is not cut to less.
const LEAST: usize = 8;

impl Table {
    pub(crate) fn new(columns: &[(&str, Column)]) -> Self {
        let head = columns.iter().map(|(name, _)| super::paint::dim(name)).collect();
        Self { columns: columns.iter().map(|(_, column)| *column).collect(), rows: vec![head] }
    }

    /// Cells hold text that is harmless already.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines; `width`: the columns of the terminal, None where nothing need be cut.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let cell = |row: &Vec<String>, i: usize| row.get(i).map_or(0, |text| measure_text_width(text));
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|i| self.rows.iter().map(|row| cell(row, i)).max().unwrap_or_default())
            .collect();
        if let (Some(width), Some(flexible)) =
            (width, self.columns.iter().position(|c| *c == Column::Flexible))
        {
            let others: usize =
                widths.iter().enumerate().filter(|(i, _)| *i != flexible).map(|(_, w)| w + GAP).sum();
            widths[flexible] = widths[flexible].min(width.saturating_sub(others).max(LEAST));
        }
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (i, (column, width)) in self.columns.iter().zip(&widths).enumerate() {
                let text = row.get(i).map_or("", String::as_str);
                let text = truncate_str(text, *width, "…");
                let side = if *column == Column::Right { Alignment::Right } else { Alignment::Left };
                line.push_str(&pad_str(&text, *width, side, None));
                line.push_str(&" ".repeat(GAP));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_flexible_one_is_cut() {
        let mut table = Table::new(&[("a", Column::Left), ("n", Column::Right), ("text", Column::Flexible)]);
        table.row(vec!["日本".into(), "7".into(), "a long text that goes on".into()]);
        table.row(vec![super::super::paint::bad("x"), "1234".into(), "short".into()]);
        let plain = |width| console::strip_ansi_codes(&table.render(width)).into_owned();
        assert_eq!(
            plain(None),
            "a        n  text\n日本     7  a long text that goes on\nx     1234  short\n"
        );
        assert_eq!(plain(Some(26)), "a        n  text\n日本     7  a long text t…\nx     1234  short\n");
        assert_eq!(plain(Some(5)), "a        n  text\n日本     7  a long …\nx     1234  short\n");
    }
}
