//! The programs that entries and hooks start: are they there, and of which release?

use super::{Code, Finding};
use crate::plan::held::names;
use std::path::PathBuf;

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// It is the one of this installation.
    Ours,
    /// It is another one, of this release or where none is told.
    Other,
    /// It is of another release.
    Version(String),
    /// There is none.
    Missing,
    /// It cannot be started.
    NotExecutable,
}

/// A place at which a program is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Its path, as it is written.
    pub path: String,
    /// What is known of it.
    pub program: Program,
    /// The file that names it.
    pub file: PathBuf,
    /// The host of the file.
    pub host: String,
    /// The server whose entry it is; none: a hook.
    pub server: Option<String>,
}

impl Use {
    fn what(&self) -> String {
        match &self.server {
            Some(server) => format!("the wrapped entry of `{server}` ({})", self.host),
            None => format!("the hooks of {}", self.host),
        }
    }

    fn consequence(&self) -> &'static str {
        if self.server.is_some() {
            "the host cannot start this server"
        } else {
            "the host's prompts and built-in tools are not recorded"
        }
    }

    fn about(&self, finding: Finding) -> Finding {
        let finding = finding.host(&self.host).file(&self.file);
        match &self.server {
            Some(server) => finding.server(server),
            None => finding,
        }
    }
}

/// Looks at each use. `version`: the release of this program.
#[must_use]
pub fn findings(uses: &[Use], version: &str) -> Vec<Finding> {
    let one = |used: &Use| {
        let (what, path) = (used.what(), &used.path);
        let finding = match &used.program {
            Program::Ours | Program::Other => return None,
            Program::Missing => Finding::fault(
                Code::DeadPath,
                format!("{what} starts {path}, which is not there"),
                format!("{}; the program was moved, or removed by an upgrade", used.consequence()),
            ),
            Program::NotExecutable => Finding::fault(
                Code::DeadPath,
                format!("{what} starts {path}, which cannot be started"),
                format!("{}; it is no program, or may not be run by you", used.consequence()),
            ),
            Program::Version(other) => Finding::warning(
                Code::OtherVersion,
                format!("{what} starts {path}, which is release {other}, and this is {version}"),
                "programs of two releases work together, and what one of them does not know is not recorded",
            ),
        };
        Some(used.about(finding.safe("bir install --yes")))
    };
    uses.iter().filter_map(one).collect()
}

/// Whether a path names a program of this name, on any system.
#[must_use]
pub fn is_named(path: &str, name: &str) -> bool {
    names(path, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_there_or_of_another_release_is_found() {
        let used = |program, server: Option<&str>| Use {
            path: "/opt/bir-proxy".into(),
            program,
            file: "/f".into(),
            host: "codex".into(),
            server: server.map(ToOwned::to_owned),
        };
        assert_eq!(findings(&[used(Program::Ours, None), used(Program::Other, Some("s"))], "1.0.0"), []);
        let all = [
            used(Program::Missing, Some("fs")),
            used(Program::NotExecutable, None),
            used(Program::Version("0.9.0".into()), Some("fs")),
        ];
        let found = findings(&all, "1.0.0");
        let codes: Vec<_> = found.iter().map(|f| f.code).collect();
        assert_eq!(codes, [Code::DeadPath, Code::DeadPath, Code::OtherVersion]);
        assert!(found.iter().all(|f| f.safe && f.mend.as_deref() == Some("bir install --yes")));
        assert_eq!((found[0].server.as_deref(), found[1].server.as_deref()), (Some("fs"), None));
        assert!(found[2].what.contains("0.9.0") && found[2].what.contains("1.0.0"));
    }

    #[test]
    fn a_program_is_known_by_its_file_name() {
        for (path, named) in [
            ("/a/bir-proxy", true),
            ("bir-proxy", true),
            ("C:\\x\\bir-proxy.exe", true),
            ("/a/bir-proxy/x", false),
            ("/a/my-bir-proxy", false),
            ("", false),
        ] {
            assert_eq!(is_named(path, "bir-proxy"), named, "{path}");
        }
    }
}
