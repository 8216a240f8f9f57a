//! The ways that are compared, each with the direct way that it is measured against.

use crate::Fail;
use crate::conn::{Conn, Target};

#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) target: Target,
    /// Index of the direct way in the same host shape; its own index for a direct way.
    pub(crate) base: usize,
}

/// Opens a session for each arm. What does not start stays as its failure, and the others go on.
pub(crate) fn open_all(arms: &[Arm]) -> Vec<Result<Conn, Fail>> {
    arms.iter().map(|a| Conn::open(&a.target)).collect()
}

/// The pids of every session but the `i`th, and of `also`: what is not counted as the `i`th arm's.
pub(crate) fn others(conns: &[Result<Conn, Fail>], i: usize, also: &[i32]) -> Vec<i32> {
    let others =
        conns.iter().enumerate().filter(|(j, _)| *j != i).filter_map(|(_, c)| Some(c.as_ref().ok()?.pid()));
    others.filter(|&p| p > 0).chain(also.iter().copied()).collect()
}
