//! An entry with the proxy in front of its server, by the host's shape.

use super::change::Change;
use super::entry::{Said, Wrapped, program_name};
use super::remote::remote;
use super::shape::Shape;
use super::{ConfigFile, Refusal, Scope, Server, State, Wrap, Wrapping};
use bir_model::{Place, ServerName};
use serde_json::{Map, Value};

/// Programs that a host takes for a shell.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "powershell", "pwsh", "env"];

fn is_shell(program: &str) -> bool {
    SHELLS.iter().any(|shell| program_name(program).eq_ignore_ascii_case(shell))
}

/// Wraps an entry in place. `scope`: for the proxy, which records an entry of the user's in projects that are set up alone.
///
/// # Errors
///
/// It is not to be wrapped, or cannot be.
pub fn wrap(
    shape: &Shape,
    file: &ConfigFile,
    server: &Server,
    scope: Scope,
    with: &Wrapping,
) -> Result<Wrap, Refusal> {
    let name = may_be_wrapped(server, with)?;
    let refused = |why: String| Refusal::new("shape", why);
    let entry = server.entry.as_object().ok_or_else(|| refused("it is no object".into()))?;
    for (member, what) in shape.unproxied {
        if !matches!(entry.get(*member), None | Some(Value::Null | Value::Bool(false))) {
            return Err(refused(format!("its `{member}` {what}")));
        }
    }
    let env = match entry.get(shape.env) {
        None | Some(Value::Null) => None,
        Some(Value::Object(env)) => Some(env),
        Some(_) => return Err(refused(format!("its `{}` is no object", shape.env))),
    };
    if let Some(taken) = env.and_then(|env| env.keys().find(|name| is_the_proxys(name))) {
        return Err(Refusal::new(
            "variable",
            format!("its environment sets `{taken}`, which the proxy reads; take it out"),
        ));
    }
    let mut front = vec![
        "--server-name".to_owned(),
        name.as_str().to_owned(),
        "--scope".to_owned(),
        scope_word(scope)?.to_owned(),
    ];
    if with.no_correlation {
        front.push("--no-correlation".into());
    }
    if let Some(text) = [name.as_str(), &with.proxy].into_iter().find(|text| shape.filled.changes(text)) {
        let which = if text == name.as_str() { "its name" } else { "the path of bir-proxy" };
        return Err(Refusal::new("variable", format!("{which} holds what the host takes for a variable")));
    }
    let mut change = Change::of(entry, &server.place);
    match Said::read(shape, &server.entry) {
        Said::Other(what) => return Err(refused(what)),
        Said::Command { program, .. } if shape.judges_shells && is_shell(&program) => {
            let why =
                "the host judges commands that a shell runs, and would not see this one behind the proxy";
            return Err(Refusal::new("policy", why));
        }
        Said::Command { program, args } => {
            front.push("--".into());
            front.push(program);
            front.extend(args);
            change.command(shape, &with.proxy, front, true);
        }
        Said::Remote { member, url, transport } => {
            let mut remote = remote(shape, server, member, &url, transport, with)?;
            front.append(&mut remote.options);
            change.pass_on(shape, &remote.pass_on)?;
            change.remote(shape, member, &with.proxy, front, remote);
        }
    }
    Ok(change.done(file))
}

/// What an entry becomes when it is wrapped, for a copy of it at another place.
///
/// # Errors
///
/// As [`wrap`].
pub fn wrapped_copy(shape: &Shape, server: &Server, scope: Scope, with: &Wrapping) -> Result<Value, Refusal> {
    let file = ConfigFile {
        path: server.file.clone(),
        scope,
        format: bir_model::Format::Json,
        role: super::Role::Servers,
    };
    let at = Place::keys(["entry"]);
    let made = wrap(shape, &file, &Server { place: at.clone(), ..server.clone() }, scope, with)?;
    let mut document = Value::Object(Map::from_iter([("entry".to_owned(), server.entry.clone())]));
    let carried = made.edits.iter().all(|edit| super::carry_out(&mut document, edit));
    let copy = at.of(&document).filter(|_| carried).cloned();
    copy.ok_or_else(|| Refusal::new("shape", "it cannot be copied"))
}

fn scope_word(scope: Scope) -> Result<&'static str, Refusal> {
    match scope {
        Scope::User => Ok("user"),
        Scope::Project => Ok("project"),
        Scope::Local => Ok("local"),
        Scope::Managed => Err(Refusal::new("policy", "the machine's operator set it up")),
    }
}

/// Variables that the proxy itself would take for its own.
fn is_the_proxys(name: &str) -> bool {
    name.starts_with("BIR_UPSTREAM_") || name.starts_with("BIR_PROXY_") || name == "BIR_OFF"
}

/// Whether a server is one that is wrapped at all.
fn may_be_wrapped(server: &Server, with: &Wrapping) -> Result<ServerName, Refusal> {
    let refused = |code, why: &str| Err(Refusal::new(code, why));
    if server.ours {
        return refused("ours", "it is a server of bir itself");
    }
    if server.wrapped.is_some() {
        return refused("wrapped", "it is wrapped already");
    }
    match &server.state {
        State::Active => {}
        State::Disabled => return refused("disabled", "it is switched off; switch it on first"),
        State::Pending if with.named => {}
        State::Pending => {
            return refused(
                "pending",
                "nobody has approved it in the host yet; approve it there, or name it with `--server`",
            );
        }
        State::Rejected => return refused("rejected", "it was rejected in the host"),
        State::Shadowed(by) => {
            let why = format!("the entry of the same name in {} counts instead", by.display());
            return Err(Refusal::new("shadowed", why));
        }
        State::Forbidden(policy) => return Err(Refusal::new("policy", policy.clone())),
    }
    ServerName::new(&server.name).map_err(|error| Refusal::new("name", error.to_string()))
}

/// Whether an entry is wrapped.
#[must_use]
pub fn is_wrapped(shape: &Shape, entry: &Value) -> bool {
    Wrapped::read(shape, entry).is_some()
}
