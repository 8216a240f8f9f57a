//! Bodies that cost a worker too much: they are refused for a while, so that one bad body in a busy place does not cost a deadline each time.

use super::wire::{Job, LogicError, Why};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

/// So long.
const REFUSED: Duration = Duration::from_secs(600);
/// So many are remembered; then the one that is free soonest is forgotten.
const MOST: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Blamed {
    until: HashMap<u64, (Instant, LogicError)>,
}

impl Blamed {
    /// The refusal of a body that was blamed.
    pub(super) fn refusal(&self, job: &Job, now: Instant) -> Option<LogicError> {
        let (until, error) = self.until.get(&key(job))?;
        let left = until.checked_duration_since(now)?;
        let minutes = left.as_secs().div_ceil(60);
        Some(LogicError::new(
            Why::Refused,
            format!("not tried again for {minutes} min, since a short while ago: {}", error.message),
        ))
    }

    /// Remembers a failure that was costly.
    pub(super) fn note(&mut self, job: &Job, error: &LogicError, now: Instant) {
        if !matches!(error.why, Why::Time | Why::Memory | Why::Died) {
            return;
        }
        self.until.retain(|_, (until, _)| *until > now);
        if self.until.len() >= MOST
            && let Some(oldest) = self.until.iter().min_by_key(|(_, (until, _))| *until).map(|(key, _)| *key)
        {
            self.until.remove(&oldest);
        }
        self.until.insert(key(job), (now + REFUSED, error.clone()));
    }
}

fn key(job: &Job) -> u64 {
    let mut hasher = DefaultHasher::new();
    (job.kind, &job.body).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Kind, Limits};
    use super::*;

    fn job(body: &str) -> Job {
        Job {
            kind: Kind::Params,
            body: body.into(),
            arguments: Vec::new(),
            now_ms: None,
            limits: Limits::default(),
        }
    }

    #[test]
    fn a_costly_body_is_refused_for_ten_minutes_and_a_cheap_mistake_is_not() {
        let (mut blamed, now) = (Blamed::default(), Instant::now());
        blamed.note(&job("slow"), &LogicError::new(Why::Time, "it took longer than 1000 ms"), now);
        blamed.note(&job("wrong"), &LogicError::new(Why::Threw, "x is not defined"), now);
        assert!(blamed.refusal(&job("wrong"), now).is_none());
        let refusal = blamed.refusal(&job("slow"), now + Duration::from_secs(599)).unwrap();
        assert_eq!((refusal.why, refusal.message.contains("for 1 min")), (Why::Refused, true), "{refusal}");
        assert!(blamed.refusal(&job("slow"), now + Duration::from_secs(601)).is_none());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut blamed, now) = (Blamed::default(), Instant::now());
        for n in 0..MOST as u64 + 10 {
            let then = now + Duration::from_millis(n);
            blamed.note(&job(&n.to_string()), &LogicError::new(Why::Memory, ""), then);
        }
        assert_eq!(blamed.until.len(), MOST);
        assert!(blamed.refusal(&job("0"), now).is_none());
        assert!(blamed.refusal(&job(&(MOST + 9).to_string()), now).is_some());
    }
}
