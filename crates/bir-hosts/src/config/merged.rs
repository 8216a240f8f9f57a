//! Hosts that put the entries of one name together, member by member, from all of their files.
//!
//! ```text
//!  project  x: { enabled: false }                         an overlay: it only switches x
//!  user     x: { command: …, args: […] }    ──────────▶   x, switched off
//! ```
//!
//! An entry that says nothing of how its server is reached is an overlay, and no server. Where two entries do say it, what the host starts
//! is made of both, and so is what it would start with one of them wrapped: such a server is left alone.

use super::shape::{CommandAs, Off, Shape};
use super::{Found, Reach, Refusal, Server, State, of_file};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// The servers of a host's files, those first that count more.
pub(super) fn servers(shape: &Shape, found: &Found) -> Vec<Server> {
    let all: Vec<Server> = found.files.iter().flat_map(|file| of_file(shape, file)).collect();
    let mut switched: HashMap<String, State> = HashMap::new();
    let mut counts: HashMap<String, PathBuf> = HashMap::new();
    let mut kept = Vec::new();
    for (n, server) in all.iter().enumerate() {
        let below = all.get(n + 1..).unwrap_or_default();
        let state = if is_off(shape, &server.entry) { State::Disabled } else { State::Active };
        if is_overlay(shape, server) && below.iter().any(|other| other.name == server.name) {
            if says_off(shape, &server.entry) {
                switched.entry(server.name.clone()).or_insert(state);
            }
            continue;
        }
        let state = switched.get(&server.name).cloned().unwrap_or(state);
        let state = match counts.get(&server.name) {
            Some(by) => State::Shadowed(by.clone()),
            None => state,
        };
        counts.entry(server.name.clone()).or_insert_with(|| server.file.clone());
        kept.push(Server { state, ..server.clone() });
    }
    kept
}

/// Whether a server is made of one entry alone.
///
/// # Errors
///
/// Another file says something of how it is reached.
pub(super) fn is_whole(shape: &Shape, found: &Found, server: &Server) -> Result<(), Refusal> {
    let others = servers(shape, found).into_iter().filter(|other| other.name == server.name);
    let Some(other) = others.into_iter().find(|other| other.file != server.file) else { return Ok(()) };
    let why = format!(
        "the host puts it together with the entry of its name in {}; leave one of the two",
        other.file.display()
    );
    Err(Refusal::new("merged", why))
}

fn is_overlay(shape: &Shape, server: &Server) -> bool {
    let line = match shape.command {
        CommandAs::Split { program, args } => [Some(program), Some(args)],
        CommandAs::Vector(member) => [Some(member), None],
    };
    let reach =
        line.into_iter().flatten().chain(shape.urls.iter().map(|(member, _)| *member)).chain([shape.headers]);
    let by_name = [shape.by_name.bearer, shape.by_name.headers, shape.by_name.pass_on].into_iter().flatten();
    let mut touched = reach.chain(by_name).chain(shape.kinds.map(|kinds| kinds.member));
    matches!(server.reach, Reach::Other(_))
        && server.entry.is_object()
        && touched.all(|member| server.entry.get(member).is_none())
}

fn says_off(shape: &Shape, entry: &Value) -> bool {
    shape.off.iter().any(|off| match off {
        Off::If(member) | Off::Unless(member) => entry.get(member).is_some_and(Value::is_boolean),
    })
}

fn is_off(shape: &Shape, entry: &Value) -> bool {
    shape.off.iter().any(|off| match off {
        Off::If(member) => entry.get(member) == Some(&Value::Bool(true)),
        Off::Unless(member) => entry.get(member) == Some(&Value::Bool(false)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigFile, FoundFile, Scope};
    use super::*;
    use bir_model::Format;
    use serde_json::json;

    const SHAPE: Shape = Shape { off: &[Off::Unless("enabled")], ..Shape::COMMON };

    fn states(upper: &Value, lower: &Value) -> Vec<String> {
        let file = |path: &str, scope, entry: &Value| FoundFile {
            file: ConfigFile::servers(path, scope, Format::Json),
            value: json!({ "mcpServers": { "x": entry } }),
        };
        let files = vec![file("/p/f", Scope::Project, upper), file("/h/f", Scope::User, lower)];
        let found = Found { files, project: "/p".into() };
        let line = |server: &Server| {
            let whole = if is_whole(&SHAPE, &found, server).is_ok() { "whole" } else { "merged" };
            format!("{:?} {:?} {whole}", server.scope, server.state)
        };
        servers(&SHAPE, &found).iter().map(line).collect()
    }

    #[test]
    fn an_overlay_switches_and_two_entries_are_one_server() {
        let (on, off) = (json!({"command": "x"}), json!({"command": "x", "enabled": false}));
        for (upper, lower, expected) in [
            (json!({"enabled": false}), &on, vec!["User Disabled whole"]),
            (json!({"enabled": true}), &off, vec!["User Active whole"]),
            (json!({"env": {"A": "b"}}), &off, vec!["User Disabled whole"]),
            (json!({"timeout": 5}), &on, vec!["User Active whole"]),
            (json!({"args": ["y"]}), &on, vec!["Project Active merged", r#"User Shadowed("/p/f") merged"#]),
            (
                json!({"url": "http://e/"}),
                &on,
                vec!["Project Active merged", r#"User Shadowed("/p/f") merged"#],
            ),
            (
                on.clone(),
                &json!({"enabled": false}),
                vec!["Project Active merged", r#"User Shadowed("/p/f") merged"#],
            ),
        ] {
            assert_eq!(states(&upper, lower), expected, "{upper}");
        }
    }
}
