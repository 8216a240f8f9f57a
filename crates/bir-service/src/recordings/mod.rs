//! Routes under `/recordings`.

pub(crate) mod batch;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod single;
pub(crate) mod stream;
pub(crate) mod transfer;

use crate::problem::Problem;
use bir_model::RunId;

/// The run that a path names. A text that is no id names no run.
pub(crate) fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse().map_err(|_| Problem::not_found("run"))
}
