//! Whether replay is on: off, unless somebody has opted in for the project or by `BIR_REPLAY=1`. `BIR_REPLAY=0` is the kill
//! switch: it counts wherever it is set, in the control server's environment or in that of one session.

use crate::projects;
use std::path::Path;

/// The variable.
pub const VARIABLE: &str = "BIR_REPLAY";

/// What the environment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replay {
    /// `BIR_REPLAY=0`: nowhere.
    Never,
    /// Nothing: where a project has opted in.
    #[default]
    ByProject,
    /// `BIR_REPLAY=1`: everywhere.
    Always,
}

impl Replay {
    /// What a value of the variable means. What is neither `0` nor `1` says nothing.
    #[must_use]
    pub fn of(value: Option<&str>) -> Self {
        match value.map(str::trim) {
            Some("0") => Self::Never,
            Some("1") => Self::Always,
            _ => Self::ByProject,
        }
    }

    /// What this process's environment says.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::of(std::env::var(VARIABLE).ok().as_deref())
    }

    /// Whether it is on in a directory. Reads one small file where the environment does not decide.
    #[must_use]
    pub fn is_on(self, state_dir: &Path, dir: &Path) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::ByProject => projects::replays(state_dir, dir),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_off_unless_somebody_says_otherwise_and_zero_is_the_last_word() {
        let home = tempfile::tempdir().unwrap();
        let (state, project) = (home.path().join("state"), home.path().join("p"));
        std::fs::create_dir_all(project.join("sub")).unwrap();
        let on = |replay: Replay| replay.is_on(&state, &project.join("sub"));
        let variants = [None, Some(""), Some("1"), Some(" 0 "), Some("yes")].map(Replay::of);
        assert_eq!(variants.map(on), [false, false, true, false, false]);
        assert!(!projects::set_replay(&state, &project, true).unwrap(), "it is not set up");
        projects::add(&state, &project).unwrap();
        assert_eq!(variants.map(on), [false, false, true, false, false]);
        assert!(projects::set_replay(&state, &project, true).unwrap());
        assert_eq!(variants.map(on), [true, true, true, false, true]);
        projects::add(&state, &project).unwrap();
        assert!(on(Replay::ByProject), "setting it up again changes nothing");
        assert!(projects::set_replay(&state, &project, false).unwrap());
        assert!(!on(Replay::ByProject));
    }
}
