//! Ids that derive from what a host says, so that the same entries make the same rows again.

use bir_model::{RunId, StepId};
use ring::digest::{Context, SHA256};

/// A run: the time at which it began, so that later runs sort after earlier ones, and a hash of what names it (UUIDv7).
pub(super) fn run(began_at: u64, named_by: &[&str]) -> RunId {
    let hash = hash("run", named_by);
    let mut rest = [0; 10];
    rest.copy_from_slice(&hash[..10]);
    RunId::from_uuid(uuid::Builder::from_unix_timestamp_millis(began_at, &rest).into_uuid())
}

/// A row of a run.
pub(super) fn step(run: RunId, named_by: &[&str]) -> StepId {
    let run = run.to_string();
    let named_by: Vec<&str> = std::iter::once(run.as_str()).chain(named_by.iter().copied()).collect();
    StepId::from_uuid(uuid::Builder::from_custom_bytes(hash("step", &named_by)).into_uuid())
}

/// An id for a call whose host gives none.
pub(super) fn injected(session: &str, event: &str) -> String {
    let bytes = hash("injected", &[session, event]);
    format!("bir-{}", uuid::Builder::from_custom_bytes(bytes).into_uuid().as_simple())
}

/// What stands for a text of any length in a memory of bounded size.
pub(super) fn digest(parts: &[&str]) -> u128 {
    u128::from_be_bytes(hash("digest", parts))
}

/// Each part goes in with its length: `["a", "bc"]` is not `["ab", "c"]`.
fn hash(kind: &str, parts: &[&str]) -> [u8; 16] {
    let mut context = Context::new(&SHA256);
    for part in std::iter::once(&kind).chain(parts) {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&context.finish().as_ref()[..16]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_derive_and_later_runs_sort_after_earlier_ones() {
        let at = 1_790_000_000_000;
        let one = run(at, &["claude-code", "session", "turn"]);
        assert_eq!(one, run(at, &["claude-code", "session", "turn"]));
        assert_ne!(one, run(at, &["claude-code", "sessio", "nturn"]));
        assert!((1..1000).all(|n| run(at + n, &["x"]) > one));
        assert_eq!(one.uuid().get_version_num(), 7);
        assert_eq!(step(one, &["call"]), step(one, &["call"]));
        assert_ne!(step(one, &["call"]), step(run(at + 1, &["x"]), &["call"]));
    }
}
