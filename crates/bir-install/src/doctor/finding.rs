//! One finding.

use super::Code;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is not recorded, or a host is hindered.
    Fault,
    /// It works, and may not for long, or not as one thinks.
    Warning,
    /// Something to know.
    Note,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is: one sentence without a full stop, without a secret.
    pub what: String,
    /// Why that is so, or what follows from it; without a full stop.
    pub why: String,
    /// The command that mends it, or what else a person does.
    pub mend: Option<String>,
    /// `bir doctor --fix` may do it unasked.
    pub safe: bool,
    /// The host's name.
    pub host: Option<String>,
    /// The server's key.
    pub server: Option<String>,
    /// The file, or directory.
    pub file: Option<PathBuf>,
}

impl Finding {
    /// A finding that nothing in particular mends.
    pub(super) fn new(
        severity: Severity,
        code: Code,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            what: what.into(),
            why: why.into(),
            mend: None,
            safe: false,
            host: None,
            server: None,
            file: None,
        }
    }

    /// Not as it should be.
    pub(super) fn fault(code: Code, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Severity::Fault, code, what, why)
    }

    /// It may not be as one thinks.
    pub(super) fn warning(code: Code, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, what, why)
    }

    /// Something to know.
    pub(super) fn note(code: Code, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, what, why)
    }

    /// What mends it.
    pub(super) fn mend(self, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..self }
    }

    /// What mends it, and may be done unasked.
    pub(super) fn safe(self, mend: impl Into<String>) -> Self {
        Self { safe: true, ..self.mend(mend) }
    }

    pub(super) fn host(self, host: &str) -> Self {
        Self { host: Some(host.to_owned()), ..self }
    }

    pub(super) fn server(self, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..self }
    }

    pub(super) fn file(self, file: &Path) -> Self {
        Self { file: Some(file.to_path_buf()), ..self }
    }
}

/// Faults first, then warnings, then notes; each in the order of the codes, and nothing twice.
#[must_use]
pub fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.severity, finding.code);
        key(a).cmp(&key(b)).then_with(|| a.file.cmp(&b.file)).then_with(|| a.what.cmp(&b.what))
    });
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_first_and_nothing_twice() {
        let note = Finding::note(Code::ReplayOn, "n", "");
        let warning = Finding::warning(Code::LongName, "w", "");
        let fault = Finding::fault(Code::ClockSkew, "f", "").safe("bir up").host("codex").server("s");
        let all = vec![note.clone(), warning.clone(), fault.clone(), warning.clone()];
        assert_eq!(sorted(all), [fault, warning, note]);
    }
}
