//! What reaches the relay from outside: signals, the host's fate, and how many connections it may have.

use tokio::sync::{mpsc, watch};

use crate::watch::{self as fates, HostFate};
use crate::{exit, log};

/// What ends the relay from outside: a signal, or the end of the host's process.
pub(super) struct Outside {
    ends: mpsc::UnboundedReceiver<u8>,
    hung_up: watch::Receiver<bool>,
}

impl Outside {
    pub(super) fn watch() -> Self {
        let (tell, ends) = mpsc::unbounded_channel();
        let (hang_up, hung_up) = watch::channel(false);
        let of_host = tell.clone();
        let signals = fates::signals(move |signal| {
            let _ = tell.send(exit::by(signal));
        });
        let host = fates::host(move |fate| match fate {
            HostFate::Ended => drop(of_host.send(0)),
            HostFate::HungUp => drop(hang_up.send(true)),
        });
        if let Err(e) = signals.and(host) {
            log::warn!("signals or the end of the host may go unnoticed: {e}");
        }
        Self { ends, hung_up }
    }

    /// Waits for the end, and says with which status to exit.
    pub(super) async fn end(&mut self) -> u8 {
        match self.ends.recv().await {
            Some(code) => code,
            None => std::future::pending().await,
        }
    }

    /// Waits until nobody writes to our stdin any more. What was written may still be unread.
    pub(super) fn hang_up(&self) -> impl Future<Output = ()> + use<> {
        let mut hung_up = self.hung_up.clone();
        async move {
            if hung_up.wait_for(|hung_up| *hung_up).await.is_err() {
                std::future::pending().await
            }
        }
    }
}

/// Every request in flight has a connection of its own, and a process may often have no more than a few hundred open
/// files until it asks.
pub(super) fn allow_connections() {
    #[cfg(unix)]
    {
        use bir_upstream::http::MAX_REQUESTS;
        use rustix::process::{Resource, getrlimit, setrlimit};
        let wanted = 2 * MAX_REQUESTS as u64;
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current.is_some_and(|current| current < wanted) {
            limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
            if let Err(e) = setrlimit(Resource::Nofile, limit) {
                log::info!("the limit of open files stays as it is: {e}");
            }
        }
    }
}
