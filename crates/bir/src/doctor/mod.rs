//! `bir doctor`: what is wrong, why, and the command that mends it.
//!
//! ```text
//!  gather ── hosts' files, programs, control server, hub, state directory ──▶ Report ──▶ page │ JSON ──▶ exit status
//!                                                                              └── --fix ──▶ fix ── gather again
//! ```
//!
//! What is a finding is decided in `bir_install::doctor`, by functions of what was observed. Here it is looked, told, and with
//! `--fix` mended where that is safe.

mod explain;
mod fix;
mod gather;
mod page;

use crate::error::CommandError;
use crate::home::Home;
use crate::out;
use bir_install::doctor::hooks::Hook;
use bir_install::doctor::program::Use;
use bir_install::doctor::{Code, Finding, Severity};
use bir_model::scenario::Derivation;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

use gather::Wrapped;

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Do what is safe to do, say what was done, and look again.
    #[arg(long)]
    fix: bool,
    /// Say what the code of a finding means, and look at nothing.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["fix", "json"])]
    explain: Option<String>,
    /// Print an object.
    #[arg(long)]
    json: bool,
}

/// The release of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What was found.
#[derive(Debug, Default)]
struct Report {
    /// The project that was looked at.
    project: PathBuf,
    /// Faults first.
    findings: Vec<Finding>,
    /// Every server that is wrapped, so that no proxy sits in a path unseen (seed 01 §9).
    wrapped: Vec<Wrapped>,
    /// The recorders that hosts' hooks start.
    hooks: Vec<Hook>,
    /// The programs that entries and hooks start.
    uses: Vec<Use>,
    /// Who asks a model endpoint; none: the hub does not say.
    derivation: Option<Derivation>,
}

/// Looks, and mends what is to be mended.
pub(crate) fn run(args: &DoctorArgs) -> Result<(), CommandError> {
    if let Some(code) = &args.explain {
        return Ok(out::print(&explain::explain(code)?)?);
    }
    let home = Home::find()?;
    let mut report = gather::look(&home)?;
    let mut done = Vec::new();
    if args.fix {
        done = fix::mend(&home, &report);
        if !done.is_empty() {
            report = gather::look(&Home::find()?)?;
        }
    }
    if args.json {
        out::json(&report.json(args.fix.then_some(&done)))?;
    } else {
        out::print(&page::page(&report, args.fix.then_some(&done)))?;
    }
    // What is wrong has been said.
    if report.count(Severity::Fault) > 0 { Err(CommandError::Nothing) } else { Ok(()) }
}

impl Report {
    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// As a program reads it.
    fn json(&self, done: Option<&Vec<fix::Done>>) -> Value {
        let replay: Vec<_> = self.replay().filter_map(|finding| finding.file.as_ref()).collect();
        let mut value = json!({
            "version": VERSION, "project": self.project, "replay": replay,
            "faults": self.count(Severity::Fault), "warnings": self.count(Severity::Warning),
            "notes": self.count(Severity::Note), "findings": self.findings, "wrapped": self.wrapped,
            "derivation": self.derivation,
        });
        if let (Some(done), Some(object)) = (done, value.as_object_mut()) {
            object.insert("done".into(), json!(done));
        }
        value
    }

    /// Where replay was asked for.
    fn replay(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.code == Code::ReplayOn)
    }
}
