//! Whose a file is. A file is replaced by a new one, which must be the same user's and group's: a host that runs as another user could not
//! write it any more, or somebody could read it who could not before.

use std::fs::Metadata;

/// Why the owner or group of a file could not be kept if it were replaced: one sentence. None: they can, as far as is known.
#[cfg(unix)]
pub(crate) fn lost(meta: &Metadata) -> Option<String> {
    use rustix::process::{getegid, geteuid, getgroups};
    use std::os::unix::fs::MetadataExt;
    // Root may give files away.
    if geteuid().is_root() {
        return None;
    }
    if meta.uid() != geteuid().as_raw() {
        return Some(
            "it belongs to another user, and replacing it would make it yours; run this as that user".into(),
        );
    }
    let is_mine = |gid: u32| {
        getegid().as_raw() == gid || getgroups().is_ok_and(|all| all.iter().any(|one| one.as_raw() == gid))
    };
    (!is_mine(meta.gid())).then(|| {
        format!("it belongs to group {}, which you are not in, so replacing it would take it from that group; `chgrp` it first", meta.gid())
    })
}

#[cfg(not(unix))]
pub(crate) fn lost(_: &Metadata) -> Option<String> {
    None
}
