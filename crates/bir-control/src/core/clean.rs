//! What comes in, made safe: payloads go through the redactor again, names too, and everything has a longest form.

use bir_model::control::{
    BatchCall, Compared, HookCall, HookEvent, HookWhat, ProxyReport, ProxyWhat, Registration, StepReports,
    Told,
};
use bir_model::record::HostInfo;
use bir_record::SafeTold;
use bir_record::redact::Redactor;
use bir_record::tools::SafeTools;
use std::path::PathBuf;

/// Bytes of a name, an id or a path.
const LONGEST_NAME: usize = 4096;
/// Ancestors of a hook.
const MOST_PIDS: usize = 64;
/// Calls of one message of the model.
const MOST_CALLS: usize = 1024;
/// Rounds of one call.
const MOST_LEGS: usize = 64;

/// Cleans names and payloads.
pub(super) struct Cleaner<'a>(pub(super) &'a Redactor);

impl Cleaner<'_> {
    /// A hook event.
    pub(super) fn event(&self, mut event: HookEvent) -> HookEvent<SafeTold> {
        self.names([&mut event.id, &mut event.via, &mut event.session_id]);
        self.maybe([&mut event.turn_id, &mut event.agent_id, &mut event.permission_mode]);
        self.host(&mut event.host);
        path(&mut event.cwd);
        event.transcript.iter_mut().for_each(path);
        event.host_pids.truncate(MOST_PIDS);
        match &mut event.what {
            HookWhat::SessionStart { source: name }
            | HookWhat::SessionEnd { reason: name }
            | HookWhat::Note { name } => self.name(name),
            HookWhat::Pre { call }
            | HookWhat::Post { call, .. }
            | HookWhat::PermissionRequest { call }
            | HookWhat::PermissionDenied { call, .. } => self.call(call),
            HookWhat::Batch { calls } => {
                calls.truncate(MOST_CALLS);
                calls.iter_mut().for_each(|BatchCall { call, .. }| self.call(call));
            }
            HookWhat::Stop { error, .. } => {
                if let Some(error) = error {
                    *error = self.0.text(error).as_str().to_owned();
                    cut(error);
                }
            }
            HookWhat::AgentStop { transcript } => transcript.iter_mut().for_each(path),
            HookWhat::Prompt { .. } | HookWhat::AgentStart => {}
        }
        event.map(&mut |kind, told: Told| self.0.again(kind, told))
    }

    /// A registration.
    pub(super) fn registration(&self, registration: &mut Registration) {
        let server = &mut registration.server;
        self.names([&mut registration.version, &mut registration.proxy_id, &mut server.name]);
        self.maybe([&mut server.title, &mut server.version, &mut registration.host_session]);
        path(&mut registration.cwd);
        registration.host.iter_mut().for_each(|host| self.host(host));
        // What it says of its tools' name counts only where the tools were left before.
        let server = &mut registration.server;
        server.tools = server
            .tools
            .take()
            .filter(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(tools) = registration.tools.take() {
            let (set, hash) = SafeTools::of(*tools, self.0).into_parts();
            (registration.tools, server.tools) = (Some(Box::new(set)), Some(hash));
        }
    }

    /// The name under which a proxy is known.
    pub(super) fn proxy(&self, reports: &mut StepReports) {
        self.name(&mut reports.proxy_id);
    }

    /// A report.
    pub(super) fn report(&self, mut report: ProxyReport) -> ProxyReport<SafeTold> {
        self.name(&mut report.tool);
        self.maybe([&mut report.call_id]);
        compared(&mut report.fingerprint);
        match &mut report.what {
            ProxyWhat::Lost { reason, .. } => self.name(reason),
            ProxyWhat::Ended { legs, .. } => legs.truncate(MOST_LEGS),
            ProxyWhat::Began { .. } => {}
        }
        report.map(&mut |kind, told: Told| self.0.again(kind, told))
    }

    fn call(&self, call: &mut HookCall) {
        self.name(&mut call.tool_name);
        self.maybe([&mut call.call_id, &mut call.server, &mut call.tool]);
        compared(&mut call.fingerprint);
    }

    fn host(&self, host: &mut HostInfo) {
        self.name(&mut host.app);
        self.maybe([&mut host.version]);
    }

    /// A name that comes from elsewhere, in one line.
    pub(super) fn named(&self, name: String) -> String {
        let mut name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.name(&mut name);
        name
    }

    fn name(&self, name: &mut String) {
        cut(name);
        *name = self.0.name(name);
        cut(name);
    }

    fn names<const N: usize>(&self, names: [&mut String; N]) {
        names.into_iter().for_each(|name| self.name(name));
    }

    fn maybe<const N: usize>(&self, names: [&mut Option<String>; N]) {
        names.into_iter().flatten().for_each(|name| self.name(name));
    }
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(LONGEST_NAME));
}

/// A path that is too long is none of this machine's.
fn path(path: &mut PathBuf) {
    if path.as_os_str().len() > LONGEST_NAME {
        *path = PathBuf::new();
    }
}

/// A keyed hash in hexadecimal digits; anything else is nothing that one of our programs makes.
fn compared(hash: &mut Option<Compared>) {
    let is_hash = |Compared(text): &Compared| {
        (1..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:=+/".contains(&b))
    };
    if hash.as_ref().is_some_and(|hash| !is_hash(hash)) {
        *hash = None;
    }
}
