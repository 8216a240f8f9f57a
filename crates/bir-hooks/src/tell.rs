//! From what a host says to what may be told: nothing that its owner keeps out, and nothing unredacted.
//!
//! ```text
//!  RawEvent ── record.exclude ──▶ fingerprints ──▶ payloads redacted ──▶ names redacted ──▶ HookEvent
//! ```

use bir_hosts::{Host, RawEvent, RawPayload};
use bir_model::control::{HookCall, HookEvent, HookWhat, PayloadKind, Told};
use bir_record::Raw;
use bir_record::exclude::{Call, Exclusions};
use bir_record::redact::{MAX_TEXT, Redactor};
use std::path::Path;

/// What may be told of an event. None: its owner keeps it out.
pub(crate) fn told(
    mut event: RawEvent<'_>,
    host: Host,
    redactor: &Redactor,
    exclude: &Exclusions,
) -> Option<HookEvent> {
    if is_kept_out(&event.cwd, exclude) || !is_kept(&mut event, host, exclude) {
        return None;
    }
    for call in calls(&mut event.what) {
        call.fingerprint = call.input.as_ref().and_then(|input| redactor.compared(input.as_str().as_bytes()));
    }
    let mut event = event.map(&mut |kind, raw| payload(redactor, kind, &raw));
    names(redactor, &mut event);
    Some(event)
}

/// Whether nothing is to be kept of what happens in a directory, under the name that the host gives it or the system.
fn is_kept_out(dir: &Path, exclude: &Exclusions) -> bool {
    exclude.covers_dir(dir)
        || (!exclude.is_empty() && dir.canonicalize().is_ok_and(|resolved| exclude.covers_dir(&resolved)))
}

/// Whether anything is left of an event when the calls are out that are kept out.
fn is_kept(event: &mut RawEvent<'_>, host: Host, exclude: &Exclusions) -> bool {
    if exclude.is_empty() {
        return true;
    }
    let RawEvent { cwd, what, .. } = event;
    let covers = |call: &HookCall<RawPayload<'_>>| covers(call, host, cwd, exclude);
    if let HookWhat::Batch { calls } = what {
        let before = calls.len();
        calls.retain(|one| !covers(&one.call));
        return before == 0 || !calls.is_empty();
    }
    !calls(what).into_iter().any(|call| covers(call))
}

fn covers(call: &HookCall<RawPayload<'_>>, host: Host, here: &Path, exclude: &Exclusions) -> bool {
    let tools: Vec<&str> = call.tool.as_deref().into_iter().chain([call.tool_name.as_str()]).collect();
    let arguments = call.input.as_ref().map(|input| raw(input));
    exclude.covers(&Call { server: call.server.as_deref(), tools: &tools, here, arguments })
        || host.rendered_tool().is_some_and(|form| exclude.covers_rendered(form, &call.tool_name))
}

/// The calls of an event.
fn calls<P>(what: &mut HookWhat<P>) -> Vec<&mut HookCall<P>> {
    match what {
        HookWhat::Pre { call }
        | HookWhat::Post { call, .. }
        | HookWhat::PermissionRequest { call }
        | HookWhat::PermissionDenied { call, .. } => vec![call],
        HookWhat::Batch { calls } => calls.iter_mut().map(|one| &mut one.call).collect(),
        _ => Vec::new(),
    }
}

fn raw<'a>(payload: &'a RawPayload<'_>) -> Raw<'a> {
    let head = payload.as_str().as_bytes();
    Raw { head, len: head.len() as u64 }
}

fn payload(redactor: &Redactor, kind: PayloadKind, payload: &RawPayload<'_>) -> Told {
    match kind {
        PayloadKind::Json => redactor.payload(raw(payload)).into(),
        PayloadKind::Text => {
            let text = payload.as_str();
            let told = Told::from(redactor.text(text));
            Told { original_bytes: text.len() as u64, truncated: text.len() > MAX_TEXT, ..told }
        }
    }
}

/// What is no payload and comes from outside all the same.
fn names(redactor: &Redactor, event: &mut HookEvent) {
    let clean = |name: &mut String| *name = redactor.name(name);
    event.permission_mode.as_mut().map(clean);
    match &mut event.what {
        HookWhat::SessionStart { source: name }
        | HookWhat::SessionEnd { reason: name }
        | HookWhat::Note { name }
        | HookWhat::Stop { error: Some(name), .. } => clean(name),
        what => {
            for call in calls(what) {
                clean(&mut call.tool_name);
                call.server.as_mut().map(clean);
                call.tool.as_mut().map(clean);
            }
        }
    }
}
