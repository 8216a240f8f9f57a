//! What an operator decides, and the limits.

use bir_calc::book::Prices;
use bir_derive::Setting;
use bir_record::redact::Rules;
use std::net::SocketAddr;
use std::path::PathBuf;
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
    /// Limits of scenarios.
    pub scenarios: ScenarioLimits,
}

/// Sizes and times of scenarios.
#[derive(Debug, Clone)]
pub struct ScenarioLimits {
    /// A calculation of its own thread: 2 s. What takes longer is unusable, with that reason.
    pub calculation: Duration,
    /// Calculations that wait, of all tenants: 10,000. What does not fit in is taken up by the next round.
    pub queue: usize,
    /// Between two rounds that look for runs without a scenario: 10 min.
    pub round: Duration,
    /// A run that something matched is calculated when it is told what became of the execution, else so long after its end: 10 s.
    pub ticket: Duration,
    /// Calls of a run that is calculated: 1,000.
    pub calls: u32,
    /// Bytes of the inputs and outputs of a run that is calculated: 32 MiB.
    pub run_bytes: usize,
    /// Runs that are calculated together: 8, the first and the newest.
    pub together: usize,
    /// Recorded prompts of one person that are matched, the newest: 100,000.
    pub prompts: usize,
    /// People whose prompts are held ready: 256. The one who asked longest ago goes first.
    pub matchers: usize,
    /// Bytes that all of them together take, by estimate: 1 GiB.
    pub matcher_bytes: usize,
    /// Until changes that other processes made are looked for again: 2 s.
    pub matcher_age: Duration,
    /// Questions that are matched at once: 4.
    pub matching: usize,
    /// Bytes of the body of a check or an edit: 256 KiB.
    pub edit_bytes: usize,
}

impl Default for ScenarioLimits {
    fn default() -> Self {
        Self {
            calculation: Duration::from_secs(2),
            queue: 10_000,
            round: Duration::from_secs(600),
            ticket: Duration::from_secs(10),
            calls: 1_000,
            run_bytes: 32 << 20,
            together: 8,
            prompts: 100_000,
            matchers: 256,
            matcher_bytes: 1 << 30,
            matcher_age: Duration::from_secs(2),
            matching: 4,
            edit_bytes: 256 << 10,
        }
    }
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
            scenarios: ScenarioLimits::default(),
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
    /// The answer to a run that begins waits so long for a match: 250 ms (`BIR_MATCH_BUDGET_MS`).
    pub match_budget: Duration,
    /// A body of edited logic may take so long: 1 s (`BIR_LOGIC_TIMEOUT_MS`).
    pub logic_timeout: Duration,
    /// The check of a change may take so long: 5 s (`EDIT_CHECK_BUDGET_MS`).
    pub edit_budget: Duration,
    /// `bir-sandbox`, which evaluates edited logic. None: nothing edited is checked or run here.
    pub sandbox: Option<PathBuf>,
    /// What tokens cost.
    pub prices: Prices,
    /// The endpoint that may be asked for what derivation and calculation cannot tell by themselves.
    pub derive: Setting,
    /// The user's own rules of redaction, for what is sent there.
    pub redact: Rules,
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
            match_budget: Duration::from_millis(250),
            logic_timeout: Duration::from_secs(1),
            edit_budget: Duration::from_secs(5),
            sandbox: None,
            prices: Prices::packaged().unwrap_or_default(),
            password_kib: argon2::Params::DEFAULT_M_COST,
            derive: Setting::Off(bir_derive::config::UNSET),
            redact: Rules::default(),
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
