//! What all requests share.

use crate::auth::{Devices, Rotations, Tickets};
use crate::clock::{Clock, Random, SystemClock, SystemSource};
use crate::live::Live;
use crate::metrics::Metrics;
use crate::otel::Telemetry;
use crate::password::Passwords;
use crate::principal::Principals;
use crate::scenarios::{Help, Matchers, Sandboxes, Work};
use crate::settings::Settings;
use crate::throttle::Throttle;
use bir_calc::book::Prices;
use bir_store::Store;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// The service's state; clones are the same one.
#[derive(Debug, Clone)]
pub struct State(Arc<Shared>);

/// Its parts.
#[derive(Debug)]
pub struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) live: Live,
    pub(crate) metrics: Metrics,
    pub(crate) telemetry: Option<Telemetry>,
    pub(crate) principals: Principals,
    pub(crate) passwords: Passwords,
    pub(crate) throttle: Throttle,
    pub(crate) tickets: Tickets,
    pub(crate) devices: Devices,
    pub(crate) rotations: Rotations,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) matchers: Matchers,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) work: Work,
    pub(crate) help: Help,
    pub(crate) prices: Prices,
    ending: watch::Sender<bool>,
}

impl std::ops::Deref for State {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl State {
    /// With the machine's clock and randomness, and without telemetry.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, settings: Settings) -> Self {
        Self::with(store, settings, Arc::new(SystemClock), Arc::new(SystemSource), None)
    }

    /// With everything given.
    #[must_use]
    pub fn with(
        store: Arc<dyn Store>,
        settings: Settings,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        telemetry: Option<Telemetry>,
    ) -> Self {
        let limits = &settings.limits;
        Self(Arc::new(Shared {
            live: Live::default(),
            metrics: Metrics::new(),
            telemetry,
            principals: Principals::new(limits.principal_cache),
            passwords: Passwords::new(limits.hashing, settings.password_kib),
            throttle: Throttle::new(limits),
            tickets: Tickets::default(),
            devices: Devices::default(),
            rotations: Rotations::default(),
            requests: Arc::new(Semaphore::new(limits.concurrent)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            matchers: Matchers::new(&limits.scenarios),
            sandboxes: Sandboxes::new(&settings),
            work: Work::default(),
            help: Help::new(&settings),
            prices: settings.prices.clone(),
            ending: watch::Sender::new(false),
            store,
            settings,
            clock,
            random,
        }))
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Ends the live streams, so that the rest of a shutdown can go on.
    pub fn end_streams(&self) {
        self.0.ending.send_replace(true);
    }

    /// Sends what telemetry still waits, within the budget.
    pub async fn close_telemetry(&self, budget: std::time::Duration) {
        if let Some(telemetry) = &self.0.telemetry {
            telemetry.close(budget).await;
        }
    }

    /// Resolves when [`State::end_streams`] was called.
    pub(crate) fn ending(&self) -> watch::Receiver<bool> {
        self.0.ending.subscribe()
    }
}

/// Resolves when the value becomes true, or nobody can tell any more. A function of its own, because what `wait_for` gives
/// holds a lock that must not be kept across another wait.
pub(crate) async fn told(value: &mut watch::Receiver<bool>) {
    let _ = value.wait_for(|value| *value).await;
}
