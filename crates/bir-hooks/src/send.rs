//! To the control server, or to the inbox where nobody takes it.

use bir_control_client::{BUDGET, Contact, Control, ControlError, Inbox, Place, projects};
use bir_model::control::{Envelope, HookEvent, HookReply};
use std::path::Path;
use std::time::Instant;

/// Tells of an event. `find` says where the control server is, and is asked again where the first answer proves old.
///
/// None: nobody answered. The event waits in the inbox then, unless the control server refused just this one, or nothing is set
/// up in this state directory.
pub(crate) fn tell(
    event: HookEvent,
    place: Place,
    find: &dyn Fn() -> Place,
    state_dir: &Path,
) -> Option<HookReply> {
    let begun = Instant::now();
    let post = |contact: &Contact| {
        let left = BUDGET.saturating_sub(begun.elapsed());
        Control::new(contact)?.post_blocking::<HookReply>(event.what.route(), &event, left)
    };
    let mut place = place;
    // The discovery file may say something else by now: a control server that was started just then.
    for is_last in [false, true] {
        let Place::At(contact) = &place else { break };
        match post(contact) {
            Ok(reply) => {
                if is_older(&reply.version, env!("CARGO_PKG_VERSION")) {
                    let _ = bir_control_client::revive(state_dir);
                }
                return Some(reply);
            }
            Err(e) if is_refused(&e) => return None,
            Err(_) if is_last => break,
            Err(_) => {
                let again = find();
                if again == place {
                    break;
                }
                place = again;
            }
        }
    }
    // The environment named it, and nothing is set up here: nobody would ever read it, and whoever was started would serve nobody.
    let from_file = !matches!(&place, Place::At(contact) if contact.file.is_none());
    if !from_file && projects::list(state_dir).is_empty() {
        return None;
    }
    let inbox = Inbox::new(state_dir);
    // Who ended it wants none until it is up again. Proxies record by themselves meanwhile, and what both kept would be two runs.
    if bir_control_client::stopped_file(state_dir).exists() {
        inbox.drop_one();
        return None;
    }
    // Where even this fails there is nobody left to tell.
    let _ = inbox.put(&[Envelope::Hook(Box::new(event))]);
    let _ = bir_control_client::revive(state_dir);
    None
}

/// Whether a control server is there and does not want this event, and would not want it again. Any other answer may be that of a
/// stranger who has got the port of one that died.
fn is_refused(e: &ControlError) -> bool {
    matches!(e, ControlError::Refused(status) if matches!(status.as_u16(), 403 | 409 | 413 | 422))
}

/// Whether one version is older than another. What is no version is not.
fn is_older(theirs: &str, ours: &str) -> bool {
    match (parts(theirs), parts(ours)) {
        (Some(theirs), Some(ours)) => theirs < ours,
        _ => false,
    }
}

fn parts(version: &str) -> Option<[u64; 3]> {
    let release = version.split(['-', '+']).next()?;
    let mut numbers = release.split('.').map(|part| part.parse().ok());
    let parts = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (theirs, ours, older) in [
            ("0.1.0", "0.1.0", false),
            ("0.1.9", "0.1.10", true),
            ("0.2.0", "0.1.9", false),
            ("0.9.0-rc.1", "0.10.0", true),
            ("", "0.1.0", false),
            ("1.0", "2.0.0", false),
            ("x.y.z", "0.1.0", false),
        ] {
            assert_eq!(is_older(theirs, ours), older, "{theirs} {ours}");
        }
    }
}
