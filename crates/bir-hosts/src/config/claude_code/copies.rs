//! Wrapped copies in the local scope, of servers of the project's or the user's.
//!
//! A copy counts instead of its original in this project, and Claude Code asks nobody about it. It is ours whole: it has no memo, and goes
//! whole. When the original changes, the copy has to follow; [`is_copy_of`] tells whether it still says the same.

use super::super::{
    ConfigFile, Found, Machine, Refusal, Role, Scope, Server, State, Wrap, Wrapping, wrapped_copy,
};
use super::{SHAPE, key, paths};
use bir_model::{Edit, Format, Place};
use serde_json::Value;

/// A wrapped copy of a server in the local scope.
pub(super) fn copy(
    machine: &Machine<'_>,
    found: &Found,
    server: &Server,
    with: &Wrapping,
) -> Result<Wrap, Refusal> {
    let value = wrapped_copy(&SHAPE, server, Scope::Local, with)?;
    let path = paths::main(machine);
    let document = found.at(&path).map(|file| &file.value);
    let key = key::to_write(document, &found.project, machine.system).ok_or_else(|| {
        Refusal::new("path", "the project's path is no text that a configuration can hold; rename it")
    })?;
    let place = Place::keys(["projects", &key, "mcpServers", &server.name]);
    if document.and_then(|document| place.of(document)).is_some() {
        // The original would be shadowed by it; something else has been written meanwhile.
        return Err(Refusal::new(
            "shadowed",
            "an entry of its name stands in the project's own scope already",
        ));
    }
    Ok(Wrap {
        file: ConfigFile { path, scope: Scope::Local, format: Format::Json, role: Role::Servers },
        edits: vec![Edit::Set { at: place.clone(), value }],
        place,
        memo: None,
    })
}

/// Whether a wrapped server of the local scope is a copy of one that it shadows, and says what that one says now. False: it is no copy, or
/// an old one. With which proxy it is wrapped, and whether with `--no-correlation`, does not matter.
#[must_use]
pub fn is_copy_of(copy: &Server, original: &Server) -> bool {
    let Some(proxy) = copy.wrapped.clone() else { return false };
    let options = copy.entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let mut options = options.take_while(|arg| *arg != "--");
    let with = Wrapping {
        proxy,
        no_correlation: options.any(|arg| arg == "--no-correlation"),
        mcp_json: false,
        everywhere: false,
        host_named: false,
        // It was wrapped, whatever had to be asked for then.
        named: true,
    };
    let original = Server { state: State::Active, ..original.clone() };
    copy.scope == Scope::Local
        && matches!(original.scope, Scope::Project | Scope::User)
        && copy.name == original.name
        && wrapped_copy(&SHAPE, &original, Scope::Local, &with).is_ok_and(|value| value == copy.entry)
}
