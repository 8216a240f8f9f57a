//! `bir-hooks hook EVENT`.
//!
//! ```text
//!  stdin ──▶ switched off? ──▶ set up here? ──▶ which host? ──▶ event ──▶ redacted ──▶ control server, else inbox
//!              nothing          nothing                                                   └──▶ answer on stdout
//! ```
//!
//! Where nothing is set up, nothing is loaded: most projects of a machine are such. stdin is read to its end in any case, since
//! a host may take a pipe that breaks for an error of its own.

use crate::args::Asked;
use crate::{input, processes, send, tell};
use bir_control_client::Place;
use bir_hosts::{Context, Host, Payload};
use bir_record::opened::Opened;
use bir_record::redact::UnsyncedKey;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Takes one event from stdin. Whatever happens, nobody hears of it.
pub(crate) fn run(asked: &Asked, at: u64) {
    std::panic::set_hook(Box::new(|_| {}));
    let _ = std::panic::catch_unwind(|| {
        if let Some(text) = input::read() {
            let mut new_key = None;
            if let Some(answer) = take(asked, at, &text, &mut new_key) {
                // Whoever closed stdout does not want it.
                let _ = std::io::stdout().write_all(answer.as_bytes());
            }
            // The first event of an installation makes the key. Nobody waits for the disk.
            if let Some(key) = new_key {
                key.sync();
            }
        }
    });
}

fn take(asked: &Asked, at: u64, text: &str, new_key: &mut Option<UnsyncedKey>) -> Option<String> {
    let payload = Payload::read(text)?;
    let here = std::env::current_dir().unwrap_or_default();
    let cwd = bir_hosts::cwd(&payload).unwrap_or_else(|| here.clone());
    if bir_home::off::is_off_in(&cwd) {
        return None;
    }
    let state_dir = bir_home::state_dir();
    // A session that went elsewhere stays the session of the project in which it began.
    let begun = (asked.via == Host::ClaudeCode)
        .then(|| std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from))
        .flatten();
    let dirs: Vec<&Path> =
        [begun.as_ref(), Some(&cwd), Some(&here)].into_iter().flatten().map(PathBuf::as_path).collect();
    let find = || find(state_dir.as_deref(), &dirs);
    let place = find();
    if place == Place::Nowhere {
        return None;
    }
    let state_dir = state_dir.as_deref()?;
    let host = recognise(asked.via, &payload);
    if is_told_by_its_own_file(host, asked.via) {
        return None;
    }
    let named = bir_hosts::event_name(&asked.event, &payload);
    let claude_pid = || std::env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
    let context = Context {
        id: uuid::Uuid::now_v7().to_string(),
        via: asked.via,
        cwd: cwd.clone(),
        // Another host that Claude Code started has its variable too.
        host_pids: processes::above((host == Host::ClaudeCode).then(claude_pid).flatten()),
        at,
    };
    let event = bir_hosts::event(host, &named, &payload, &context)?;
    let mut opened = Opened::open(state_dir).ok()?;
    *new_key = opened.unsynced_key.take();
    let event = tell::told(event, host, &opened.redactor, &opened.exclude)?;
    let reply = send::tell(event, place, &find, state_dir);
    let inject = reply.and_then(|reply| reply.inject);
    bir_hosts::answer(host, &named, &payload, inject.as_ref())
}

/// Where the control server is, by the first of these directories that anything is set up for. Whether the first is switched off
/// was looked up before.
fn find(state_dir: Option<&Path>, dirs: &[&Path]) -> Place {
    let variable = |name: &str| std::env::var(name).ok();
    let mut nearest = Place::Nowhere;
    for (n, dir) in dirs.iter().enumerate() {
        if dirs[..n].contains(dir) || !dir.is_absolute() || (n > 0 && bir_home::off::is_off_in(dir)) {
            continue;
        }
        nearest = match bir_control_client::find(state_dir, dir, &variable) {
            Ok(place) => place,
            // It is set up, and the next start of a control server mends the file.
            Err(_) => Place::Asleep(dir.to_path_buf()),
        };
        if nearest != Place::Nowhere {
            break;
        }
    }
    nearest
}

fn recognise(via: Host, payload: &Payload<'_>) -> Host {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let prefixed = |prefix: &str| {
        std::env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    bir_hosts::recognise(via, payload, &set, &prefixed)
}

/// Whether a host that runs another host's hook also runs one of its own, which tells the same and more.
fn is_told_by_its_own_file(host: Host, via: Host) -> bool {
    let Some(own) = host.own_file().filter(|_| host != via) else { return false };
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(|home| home.join(own.in_home));
    set(own.variable).or_else(home).is_some_and(|dir| dir.join(own.path).is_file())
}
