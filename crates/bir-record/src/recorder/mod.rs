//! Recording beside a relay, and never in its way.
//!
//! ```text
//!   relay ── ProxyTap ──▶ Queue ──▶ recorder thread ─┬─ Bound: Reports ──▶ Link (control server, else inbox)
//!            copies,      bounded,   Negotiation: who  └─ Alone: Runs ─────▶ Keep (spool, shipper)
//!            returns      4 MiB      owns the run?        Scrub: without secrets, before either
//! ```
//!
//! Each call goes one of the two ways with all that is known of it: where its beginning went. So a call that is open when the
//! control server goes or comes is in one run, and in no other.
//!
//! The tap owns nothing but its end of the queue. The thread owns the run; it is started by the first `tools/call`, since
//! hosts start servers for health checks too. It works in groups: after a call it naps for [`NAP`], so that on one core the
//! calls after it are not disturbed one by one. Whatever fails in here stays in here: it is counted, said once, and the
//! relay goes on.
//!
//! | File | Idea |
//! |---|---|
//! | `told` | what the tap was told, owned |
//! | `queue` | the bounded queue, its losses, and when the thread wakes |
//! | `tap` | the relay's end |
//! | `runs` | from calls to rows of a run; pure |
//! | `rows` | how a row looks |
//! | `reports` | from calls to what a control server is told; pure |
//! | `backlog` | reports that nobody has taken yet; pure |
//! | `bound` | telling them, and what becomes of what nobody takes |
//! | `link` | what the thread sees of a control server and the inbox: a trait |
//! | `negotiation` | which tier, from when on, and when to look again; pure |
//! | `worker` | the thread |
//! | `keep` | what the others see of redactor and spool: traits, with fakes in the tests |
//! | `store` | the real ones |

mod backlog;
mod bound;
mod keep;
mod link;
mod negotiation;
mod queue;
mod reports;
mod rows;
mod runs;
mod store;
mod tap;
#[cfg(test)]
mod tests;
mod told;
mod worker;

use bir_model::control::Registration;
use queue::Queue;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use link::{Fate, Heard, Link, Parcel};
pub use negotiation::{Scope, Sighting};
pub use tap::ProxyTap;

/// Bytes of one value that are copied for the recorder: 1 MiB. It is more than what is kept, so that base64 blocks can be
/// taken out before anything is cut.
pub const MAX_COPY: usize = 1 << 20;

/// How long the recorder waits after a call for others to come, so that they are written together.
pub const NAP: Duration = Duration::from_millis(2);

/// How long the end of the relay waits for what is queued to reach the spool, when the host closed the connection.
const DRAIN: Duration = Duration::from_millis(500);
/// The same when a signal ends the relay: the host gives about 100 ms between two of them.
const DRAIN_ON_SIGNAL: Duration = Duration::from_millis(60);
/// How long the end of the relay waits for the hub or the control server.
const LAST_SHIPMENT: Duration = Duration::from_millis(250);

/// How much is said; the caller's log decides whether.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is not recorded that should be.
    Warn,
    /// Tier and run.
    Info,
    /// For whoever looks for a fault.
    Debug,
}

/// What the recorder asks of the program that it runs in. Called from the recorder's thread alone.
pub trait Surroundings: Send {
    /// The project: the git root of the working directory, else that directory, absolute.
    fn project(&mut self) -> Option<PathBuf>;
    /// Whether the recorder is switched off here and now.
    fn is_off(&mut self) -> bool;
}

/// Takes one line for the log; never a payload.
pub type Say = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// What is recorded, and where.
pub struct Options {
    /// The key under which the host knows the server.
    pub server: String,
    /// Record as standalone from the first call on, without a look for a control server.
    pub standalone: bool,
    /// Whose entry started the proxy.
    pub scope: Scope,
    /// The state directory; without one nothing can be kept.
    pub state_dir: Option<PathBuf>,
    /// Who reports to a control server; what the handshake tells and the id are filled in.
    pub registration: Registration,
    /// Where ids may come in the arguments: whether a control server may put one there, so that tools have to declare it. As
    /// it is here counts until more is known; the recorder keeps it up to date, and introduces itself when the host asks
    /// which tools there are.
    pub takes_call_ids: Option<Arc<AtomicBool>>,
    /// The recorder introduces itself when the host asks which tools there are: there may be work for it before any call.
    pub introduces: bool,
    /// The way to a control server.
    pub link: Box<dyn Link>,
    /// The program around it.
    pub surroundings: Box<dyn Surroundings>,
    /// Its log.
    pub say: Say,
}

/// How the relay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// The host closed the connection, or the server ended: there is a moment for the hub.
    Clean,
    /// A signal: what is queued is written, and nothing is waited for.
    Signal,
}

/// The relay's handle on its recorder.
pub struct Recorder(Arc<Queue>);

impl Recorder {
    /// A recorder that has not begun, and the tap that feeds it. Nothing is read, written or started before the first call.
    #[must_use]
    pub fn new(options: Options) -> (Self, ProxyTap) {
        let queue = Arc::new(Queue::new());
        if options.standalone || options.scope != Scope::User {
            queue.is_decided();
        }
        let early = options.takes_call_ids.is_some() || options.introduces;
        let start = {
            let queue = Arc::clone(&queue);
            move || worker::start(queue, options)
        };
        let tap = ProxyTap::new(Arc::clone(&queue), Box::new(start), early);
        (Self(queue), tap)
    }

    /// Ends the recording: what is queued goes to the spool, the run is finished, and on a clean end the hub gets a moment.
    /// Returns within the budget of its [`Farewell`], whatever the disk or the hub does.
    pub fn close(self, farewell: Farewell) {
        self.0.close(farewell);
        let budget = match farewell {
            Farewell::Clean => DRAIN + LAST_SHIPMENT,
            Farewell::Signal => DRAIN_ON_SIGNAL,
        };
        self.0.wait_done(budget);
    }
}
