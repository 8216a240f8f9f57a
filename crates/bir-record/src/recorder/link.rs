//! The way to a control server, as the recorder's thread sees it. Nothing here waits for an answer.

use super::negotiation::Sighting;
use bir_model::control::{ProxyReport, Registration, StepReports};
use std::sync::Arc;

/// What goes to the control server at once: who reports, and what. Without reports it introduces alone.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// Who reports; it is shown to a control server that has not seen it, or has seen another one.
    pub registration: Arc<Registration>,
    /// What was seen, in its order.
    pub reports: Arc<StepReports>,
}

/// What became of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// All of it is safe from the death of the control server.
    Taken,
    /// The control server is there and does not take this.
    Refused,
    /// Nobody took it, as far as is known. It may have been taken all the same, and is told again.
    Gone,
}

/// What is heard from the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// What a look asked for is answered.
    Sighted(Sighting),
    /// The parcel that was sent has met its fate.
    Brought(Fate),
}

/// The way to a control server. Called from the recorder's thread alone, which is unparked when there is something to hear.
pub trait Link: Send {
    /// Looks for a control server. Where somebody is to be asked the answer is heard later. One that is dead is started anew,
    /// unless it was stopped on purpose.
    fn look(&mut self) -> Sighting;
    /// Whether what a look goes by has changed since the last one.
    fn has_moved(&mut self) -> bool;
    /// Sends a parcel to the control server that answered last. There is one on its way at most.
    fn send(&mut self, parcel: Parcel);
    /// What was answered since it was last asked.
    fn heard(&mut self) -> Option<Heard>;
    /// Leaves reports for the next control server. When this returns they survive the death of this process.
    ///
    /// # Errors
    ///
    /// They are nowhere; one line says why.
    fn leave(&mut self, registration: &Registration, reports: Vec<ProxyReport>) -> Result<(), String>;
}
