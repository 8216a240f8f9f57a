//! The trust of Codex in our hooks, once the plan that speaks of it was accepted.

use super::ground::Ground;
use crate::out::safe;
use crate::programs;
use bir_install::codex_trust::{self, Wanted};
use bir_install::undo::ByEntries;

/// The program that keeps the trust.
const CODEX: &str = "codex";

/// Whether there is somebody to be told.
pub(super) fn is_possible() -> bool {
    programs::on_path(CODEX).is_some()
}

/// What a plan says of it.
pub(super) fn note() -> String {
    match programs::on_path(CODEX) {
        Some(_) => "codex: it skips hooks that nobody trusts; with this plan you trust ours, which `codex app-server` is then told".into(),
        None => "codex: it skips hooks that nobody trusts, and no `codex` is on PATH to be told; once it is, run `bir install --host codex` again".into(),
    }
}

/// Has it given, and noted: how many hooks are trusted now that were not. An error is a sentence.
pub(super) fn give(ground: &Ground, wanted: &Wanted) -> Result<usize, String> {
    let program = programs::on_path(CODEX).ok_or_else(|| {
        "no `codex` is on PATH, so nobody was told that our hooks are trusted; once it is, run `bir install --host codex` again"
            .to_owned()
    })?;
    let given = codex_trust::give(&ground.home.dir, &program, wanted, ground.now()).map_err(|e| {
        format!(
            "Codex {}; until it trusts them it skips our hooks: run `bir install --host codex` again",
            safe::line(&e.to_string())
        )
    })?;
    let count = given.count();
    codex_trust::record(&ground.home.dir, wanted, given, ground.now(), &ByEntries(&ground.modules)).map_err(
        |e| format!("Codex trusts our hooks, but that could not be noted for `bir uninstall`: {e}"),
    )?;
    Ok(count)
}
