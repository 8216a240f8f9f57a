//! An explanation that somebody else proposes for a value that calculation left unexplained. It counts for nothing before it stood the
//! tests of a calculated one.

use crate::expr::Expr;
use serde::Deserialize;

/// What explains a value of a step's input.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Proposal {
    /// The step, from 0.
    pub step: usize,
    /// The way to the value in its input, `a.b.0`.
    pub argument: String,
    /// What has to be kept of earlier results for it.
    #[serde(default)]
    pub keeps: Vec<ProposedKeep>,
    /// What gives the value: parameters, the clock, and what is kept, by the keys of [`keeps`](Self::keeps) or of the plan.
    pub expr: Expr,
}

/// What a proposal keeps of a result.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProposedKeep {
    /// Of which step, from 0.
    pub step: usize,
    /// Under which key; the proposal's own.
    pub key: String,
    /// What of it.
    pub expr: Expr,
}
