//! What an operator decides, and the limits.

use std::net::SocketAddr;
use std::time::Duration;

/// Sizes, times and rates. Each is a constant of the service unless a test says otherwise.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one batch: 8 MiB.
    pub batch_bytes: usize,
    /// Lines of one batch: 2,000.
    pub batch_lines: usize,
    /// Bytes of any other body: 1 MiB.
    pub body_bytes: usize,
    /// Bytes of one line of an import: 1 MiB.
    pub line_bytes: usize,
    /// Until the next bytes of a body: 15 s.
    pub body_idle: Duration,
    /// The whole of a request that is no stream: 30 s.
    pub request: Duration,
    /// Requests under way at once, streams not counted: 256.
    pub concurrent: usize,
    /// Live streams at once: 256.
    pub streams: usize,
    /// Requests a second that one token may make to record, and twice as many in a burst: 500.
    pub record_rate: u32,
    /// The same for everything else: 100.
    pub api_rate: u32,
    /// Attempts to sign in to one account, then one every 10 s: 10.
    pub login_account: u32,
    /// Attempts to sign in from one address, then one every second: 60.
    pub login_address: u32,
    /// Passwords that are hashed at once, 19 MiB and a core each: 2.
    pub hashing: usize,
    /// How long a principal is believed without asking the store: 5 s.
    pub principal_cache: Duration,
    /// Until a live stream looks again whether its token still holds, and between heartbeats a third of it: 5 s.
    pub stream_check: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batch_bytes: 8 << 20,
            batch_lines: 2_000,
            body_bytes: 1 << 20,
            line_bytes: 1 << 20,
            body_idle: Duration::from_secs(15),
            request: Duration::from_secs(30),
            concurrent: 256,
            streams: 256,
            record_rate: 500,
            api_rate: 100,
            login_account: 10,
            login_address: 60,
            hashing: 2,
            principal_cache: Duration::from_secs(5),
            stream_check: Duration::from_secs(5),
        }
    }
}

/// What an operator decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; its port is part of the names that loopback callers may use.
    pub listen: SocketAddr,
    /// How it is reached from outside, without a slash at the end.
    pub public_url: Option<String>,
    /// The version that `/health` tells.
    pub version: String,
    /// Names this process; random.
    pub instance: String,
    /// The store is the user's own file, and the service on their machine alone.
    pub embedded: bool,
    /// Life of an access token: 1 h.
    pub access_life: Duration,
    /// Life of a refresh token: 30 days.
    pub refresh_life: Duration,
    /// Life of a browser's session: 7 days.
    pub session_life: Duration,
    /// Life of a sign-in ticket: 60 s, embedded 10 min.
    pub ticket_life: Duration,
    /// Memory of one password hash in KiB; 19 MiB unless a test is in a hurry.
    pub password_kib: u32,
    /// Limits.
    pub limits: Limits,
}

impl Settings {
    /// The defaults for a service that listens there.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            public_url: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: uuid::Uuid::now_v7().simple().to_string(),
            embedded: false,
            access_life: Duration::from_secs(3600),
            refresh_life: Duration::from_secs(30 * 86_400),
            session_life: Duration::from_secs(7 * 86_400),
            ticket_life: Duration::from_secs(60),
            password_kib: argon2::Params::DEFAULT_M_COST,
            limits: Limits::default(),
        }
    }

    /// The address for people and browsers, without a slash at the end.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }

    /// Whether browsers reach it by TLS, so that cookies may insist on it.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}
