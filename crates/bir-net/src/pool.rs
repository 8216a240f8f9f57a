//! Idle connections, kept per origin.
//!
//! The last used one is taken first. A server's `Keep-Alive: timeout=N` is honoured with a second to spare, because a request that meets the
//! server's own closing on the way is lost without anyone knowing whether it was read.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;

use crate::Target;
use crate::dial::Connection;

/// How long a connection may lie idle when the server names no time. Common load balancers close at 60 s.
const IDLE_LIMIT: Duration = Duration::from_secs(50);
/// Idle connections kept in all. A client talks to few origins, so that a list is faster than a map.
const MAX_IDLE: usize = 32;

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    target: Target,
    connection: Connection,
    until: Instant,
}

impl Pool {
    /// The most recently used idle connection that is not known to be closed or stale.
    pub(crate) fn take(&self, target: &Target, now: Instant) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|idle| idle.until > now && !idle.connection.sender.is_closed());
        let at = idle.iter().rposition(|idle| idle.target.same_origin(target))?;
        Some(idle.remove(at).connection)
    }

    pub(crate) fn put(&self, target: &Target, connection: Connection, limit: Duration, now: Instant) {
        if limit.is_zero() || connection.sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(Idle { target: target.clone(), connection, until: now + limit });
    }
}

/// How long a connection that carried a response with these headers may lie idle.
pub(crate) fn idle_limit(headers: &HeaderMap) -> Duration {
    let named = headers
        .get_all("keep-alive")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))
        .and_then(|(_, seconds)| seconds.trim().parse::<u64>().ok());
    match named {
        Some(seconds) => Duration::from_secs(seconds.saturating_sub(1)).min(IDLE_LIMIT),
        None => IDLE_LIMIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_servers_own_limit_counts_with_a_second_to_spare() {
        let mut headers = HeaderMap::new();
        assert_eq!(idle_limit(&headers), IDLE_LIMIT);
        for (value, seconds) in [
            ("timeout=5", 4),
            ("max=9, Timeout = 30", 29),
            ("timeout=1", 0),
            ("timeout=900", 50),
            ("timeout=x", 50),
        ] {
            headers.insert("keep-alive", HeaderValue::from_static(value));
            assert_eq!(idle_limit(&headers).as_secs(), seconds, "{value}");
        }
    }
}
