//! The off switch: `BIR_OFF=1`, or the file `off` in the state directory.
//!
//! An empty file switches everything off. Otherwise each line names a directory, absolute, in which and below which the
//! recorder is off; lines that begin with `#` are comments.

use std::path::{Path, PathBuf};

/// The state directory: `BIR_HOME`, else `~/.baseinstrunner`. Found from HOME, since hosts drop other variables.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("BIR_HOME").or_else(|| {
        set(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(|h| h.join(".baseinstrunner"))
    })
}

/// Whether the switch is off here and now. A switch that cannot be read is on: recording is not to stop by accident.
pub(crate) fn is_off() -> bool {
    if std::env::var_os("BIR_OFF").is_some_and(|v| v == "1" || v == "true") {
        return true;
    }
    let Some(Ok(list)) = state_dir().map(|dir| std::fs::read_to_string(dir.join("off"))) else {
        return false;
    };
    std::env::current_dir().is_ok_and(|here| covers(&list, &here))
}

fn covers(list: &str, here: &Path) -> bool {
    let mut lines = list.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).peekable();
    lines.peek().is_none() || lines.any(|dir| Path::new(dir).is_absolute() && here.starts_with(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_covers_everything_and_lines_cover_their_directories() {
        let here = Path::new("/home/a/project/sub");
        for (list, off) in [
            ("", true),
            ("# why\n", true),
            ("/home/a/project\n", true),
            ("/home/b\n/home/a/project/sub\n", true),
            ("/home/a/proj\n", false),
            ("project\n", false),
        ] {
            assert_eq!(covers(list, here), off, "{list:?}");
        }
    }
}
