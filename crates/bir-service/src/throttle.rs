//! How often: per token, and for signing in per account and per address.
//!
//! Each bucket refills steadily. Buckets that are full again are forgotten now and then, so that strangers cannot fill the
//! memory with addresses.

use crate::problem::{Code, Problem};
use crate::settings::Limits;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// After so many checks the buckets that are full are forgotten.
const FORGET_EVERY: u32 = 4096;

/// A set of buckets.
struct Buckets<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    clock: DefaultClock,
    checks: AtomicU32,
}

impl<K: Hash + Eq + Clone> std::fmt::Debug for Buckets<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Buckets")
    }
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn new(quota: Quota) -> Self {
        Self {
            limiter: DefaultKeyedRateLimiter::dashmap(quota),
            clock: DefaultClock::default(),
            checks: AtomicU32::new(0),
        }
    }

    fn check(&self, key: &K, what: &'static str) -> Result<(), Problem> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now()).as_secs_f64().ceil().clamp(1.0, 3600.0);
            Problem::new(Code::RateLimited, what).after(wait as u32)
        })
    }
}

fn at_least_one(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
}

fn per_second(n: u32) -> Quota {
    Quota::per_second(at_least_one(n)).allow_burst(at_least_one(n.saturating_mul(2)))
}

fn every(period: Duration, burst: u32) -> Quota {
    let base = Quota::with_period(period).unwrap_or_else(|| Quota::per_second(NonZeroU32::MIN));
    base.allow_burst(at_least_one(burst))
}

/// Which bucket of a token a request takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Recording: generous.
    Record,
    /// Everything else of somebody who is known.
    Api,
    /// What strangers may do: by address.
    Stranger,
    /// Not counted.
    Free,
}

/// All buckets.
#[derive(Debug)]
pub(crate) struct Throttle {
    record: Buckets<Uuid>,
    api: Buckets<Uuid>,
    account: Buckets<String>,
    address: Buckets<IpAddr>,
}

impl Throttle {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            record: Buckets::new(per_second(limits.record_rate)),
            api: Buckets::new(per_second(limits.api_rate)),
            account: Buckets::new(every(Duration::from_secs(10), limits.login_account)),
            address: Buckets::new(every(Duration::from_secs(1), limits.login_address)),
        }
    }

    /// One request of a token or session.
    pub(crate) fn known(&self, pace: Pace, who: Uuid) -> Result<(), Problem> {
        match pace {
            Pace::Record => {
                self.record.check(&who, "this token sends more requests than it may; send larger batches")
            }
            Pace::Api => self.api.check(&who, "this token sends more requests than it may; ask less often"),
            Pace::Stranger | Pace::Free => Ok(()),
        }
    }

    /// One request of somebody who has not said who they are.
    pub(crate) fn stranger(&self, address: IpAddr) -> Result<(), Problem> {
        self.address.check(&address, "too many attempts from this address; wait a little")
    }

    /// One attempt to sign in to an account, whether it exists or not.
    pub(crate) fn account(&self, email: &str) -> Result<(), Problem> {
        self.account.check(&email.trim().to_lowercase(), "too many attempts for this account; wait a little")
    }
}
