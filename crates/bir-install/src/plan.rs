//! What is to change, what is not, and why.

use crate::operation::Operation;
use bir_hosts::Host;
use bir_hosts::config::{Refusal, Scope, Wrapping};
use std::path::PathBuf;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The project: absolute, resolved.
    pub project: PathBuf,
    /// Only these hosts; empty: all that are there.
    pub hosts: Vec<Host>,
    /// Only these servers; empty: all that may be wrapped.
    pub servers: Vec<String>,
    /// Files that no host module knows (`--config`).
    pub config_files: Vec<PathBuf>,
    /// With hooks.
    pub hooks: bool,
    /// Hooks for every project of the user (`--user`).
    pub user: bool,
    /// With what entries are wrapped; `named` is set for each server by itself.
    pub wrapping: Wrapping,
    /// The absolute path of `bir-hooks`.
    pub hooks_program: String,
}

/// What becomes of one server.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is wrapped now.
    Wrapped,
    /// It was wrapped, and stays so.
    Already,
    /// It was wrapped with another path or other options, and is wrapped anew.
    Renewed,
    /// It is as it was before it was wrapped.
    Restored,
    /// Nothing is done, and why.
    Left(Refusal),
}

/// A server in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLine {
    /// The host's name, or `file`.
    pub host: String,
    /// Its key.
    pub server: String,
    /// For whom its entry counts.
    pub scope: Scope,
    /// The file that changes, or that its entry stands in.
    pub file: PathBuf,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// Hooks in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct HookLine {
    /// The host's name.
    pub host: String,
    /// The file.
    pub file: PathBuf,
    /// What becomes of them.
    pub outcome: Outcome,
}

/// A plan: what a person is shown, and what is then carried out.
#[derive(Debug)]
pub struct Plan {
    /// Every server that was found.
    pub servers: Vec<ServerLine>,
    /// Every host's hooks.
    pub hooks: Vec<HookLine>,
    /// Files that are left alone, and why: one sentence each.
    pub untouched: Vec<(PathBuf, String)>,
    /// What else a person should know: restart hints, trust that is to be given.
    pub notes: Vec<String>,
    /// What is carried out; without a change nothing is to be done.
    pub operation: Operation,
}
