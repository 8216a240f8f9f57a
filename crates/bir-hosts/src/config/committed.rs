//! Files that are often committed: what stands in them is everybody's, and they are not changed unasked.

use super::{ConfigFile, Found, Refusal, Scope, Server, State, Wrapping};

/// Whether a server may be wrapped in the file in which it stands.
pub(super) fn asked(server: &Server, with: &Wrapping) -> Result<(), Refusal> {
    if server.scope != Scope::Project || with.mcp_json {
        return Ok(());
    }
    let why = "it stands in a file of the project, which may be committed and is left as it is; `--mcp-json` wraps it there";
    Err(Refusal::new("committed", why))
}

/// What was found, with the project's files behind all others: those of one that nobody trusts count for nothing as of yet.
pub(super) fn untrusted(found: &Found) -> Found {
    let mut found = found.clone();
    found.files.sort_by_key(|file| file.file.scope == Scope::Project);
    found
}

/// The servers of such a project wait.
pub(super) fn wait(servers: &mut [Server]) {
    let of_project = servers.iter_mut().filter(|server| server.scope == Scope::Project);
    of_project
        .filter(|server| server.state != State::Disabled)
        .for_each(|server| server.state = State::Pending);
}

/// Files without those that another one behind them is: in the home directory, what seems to be a project's file is the user's.
pub(super) fn without_doubles(files: Vec<ConfigFile>) -> Vec<ConfigFile> {
    let is_last = |n: usize| files.iter().skip(n + 1).all(|later| later.path != files[n].path);
    let last: Vec<bool> = (0..files.len()).map(is_last).collect();
    files.into_iter().zip(last).filter_map(|(file, last)| last.then_some(file)).collect()
}
