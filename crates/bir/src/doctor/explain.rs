//! `bir doctor --explain CODE`: what a code means, out of the table of `docs/doctor.md` that this program was built with.

use crate::error::CommandError;
use crate::out::paint;
use std::fmt::Write as _;

const DOC: &str = include_str!("../../../../docs/doctor.md");

/// What the table says of a code.
pub(super) fn explain(code: &str) -> Result<String, CommandError> {
    let (severity, means, mends) = row(code).ok_or_else(|| {
        CommandError::usage(format!(
            "there is no code `{code}`; `bir doctor` shows that of each finding in brackets"
        ))
    })?;
    let mut page = String::new();
    let _ = writeln!(page, "{}  {severity}", paint::name(code));
    let _ = writeln!(page, "  means: {means}");
    let _ = writeln!(page, "  mends: {mends}");
    Ok(page)
}

/// Severity, meaning and mend of a code.
fn row(code: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let rows = DOC.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.filter_map(|row| {
        let mut cells = row.splitn(4, " | ");
        let name = cells.next()?.strip_suffix('`')?;
        let cells = (cells.next()?, cells.next()?, cells.next()?);
        (name == code).then_some(cells)
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_install::doctor::Code;

    #[test]
    fn every_code_is_explained_and_no_other_word() {
        for code in Code::ALL {
            let text = explain(code.as_str()).unwrap();
            assert!(text.lines().count() == 3 && !text.contains(" | "), "{text}");
        }
        let text = console::strip_ansi_codes(&explain("not-ignored").unwrap()).into_owned();
        assert!(text.starts_with("not-ignored  warning\n  means: git would commit"), "{text}");
        assert!(explain("code").is_err() && explain("").is_err());
    }
}
