//! Files that are often committed: what stands in them is everybody's, and they are not changed unasked.

use super::{Refusal, Scope, Server, Wrapping};

/// Whether a server may be wrapped in the file in which it stands.
pub(super) fn asked(server: &Server, with: &Wrapping) -> Result<(), Refusal> {
    if server.scope != Scope::Project || with.mcp_json {
        return Ok(());
    }
    let why = "it stands in a file of the project, which may be committed and is left as it is; `--mcp-json` wraps it there";
    Err(Refusal::new("committed", why))
}
