//! Markdown tables and numbers for people.

/// A Markdown table with a title.
pub(crate) fn table(title: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = format!("\n### {title}\n\n{}|{}\n", line(head), "---|".repeat(head.len()));
    rows.iter().for_each(|r| out += &line(r));
    out
}

/// A number with `places` decimals and separated thousands; a dash for none.
pub(crate) fn number(x: impl Into<Option<f64>>, places: usize) -> String {
    let Some(x) = x.into().filter(|x| x.is_finite()) else { return "–".into() };
    let s = format!("{:.places$}", x.abs());
    let (whole, rest) = s.split_once('.').map_or((s.as_str(), ""), |(w, r)| (w, r));
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    let sign = if x < 0.0 && s.bytes().any(|b| (b'1'..=b'9').contains(&b)) { "-" } else { "" };
    if rest.is_empty() { format!("{sign}{out}") } else { format!("{sign}{out}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_signed() {
        let cases = [
            (1234567.0, 0, "1,234,567"),
            (-0.04, 1, "0.0"),
            (-12.25, 1, "-12.2"),
            (999.96, 1, "1,000.0"),
            (f64::NAN, 1, "–"),
        ];
        for (x, places, shown) in cases {
            assert_eq!(number(x, places), shown);
        }
        assert_eq!(number(None, 0), "–");
    }

    #[test]
    fn cells_cannot_break_a_table() {
        let t = table("T", &["a".into()], &[vec!["x|y\nz".into()]]);
        assert_eq!(t, "\n### T\n\n| a |\n|---|\n| x\\|y z |\n");
    }
}
