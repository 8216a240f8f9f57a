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
            format!("its environment sets `{taken}`, which the proxy would keep for itself; take it out"),
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
        Said::Command { program, .. } => change.command(shape, &with.proxy, front, program),
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

/// Variables that the proxy takes for its own, and hands on to no server.
fn is_the_proxys(name: &str) -> bool {
    name.starts_with("BIR_")
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

#[cfg(test)]
mod tests {
    use super::super::check::{PROXY, named, plain};
    use super::super::{Filled, Found, FoundFile, Reach, Role, Syntax, servers};
    use super::*;
    use bir_model::Format;
    use serde_json::json;

    const FILLED: Shape = Shape {
        filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
        ..Shape::COMMON
    };

    fn file() -> ConfigFile {
        ConfigFile { path: "/f".into(), scope: Scope::User, format: Format::Json, role: Role::Servers }
    }

    fn server(name: &str, entry: Value) -> Server {
        let value = json!({ "mcpServers": { name: entry } });
        servers(&FILLED, &Found { files: vec![FoundFile { file: file(), value }], project: "/p".into() })
            .swap_remove(0)
    }

    /// The wrapped entry, or a refusal's code.
    fn of(server: &Server, with: &Wrapping) -> Result<Value, &'static str> {
        let copy = wrapped_copy(&FILLED, server, server.scope, with);
        copy.map_err(|refusal| {
            assert!(!refusal.why.contains("s3cret"), "{refusal:?}");
            refusal.code
        })
    }

    #[test]
    fn what_is_not_to_be_wrapped_is_refused() {
        let entry = json!({ "command": "x" });
        let in_state = |state: State| Server { state, ..server("a", entry.clone()) };
        for (state, code, when_named) in [
            (State::Disabled, "disabled", Some("disabled")),
            (State::Pending, "pending", None),
            (State::Rejected, "rejected", Some("rejected")),
            (State::Shadowed("/g".into()), "shadowed", Some("shadowed")),
            (State::Forbidden("no".into()), "policy", Some("policy")),
        ] {
            assert_eq!(of(&in_state(state.clone()), &plain()), Err(code));
            assert_eq!(of(&in_state(state), &named()).err(), when_named);
        }
        let managed = Server { scope: Scope::Managed, ..server("a", entry.clone()) };
        assert_eq!(of(&managed, &named()), Err("policy"));
        let long = "x".repeat(257);
        for (name, code) in
            [("", "name"), (" ", "name"), ("a\nb", "name"), (&long, "name"), ("${x}", "variable")]
        {
            assert_eq!(of(&server(name, entry.clone()), &named()), Err(code), "{name}");
        }
        let strange = Wrapping { proxy: "/opt/${x}/bir-proxy".into(), ..plain() };
        assert_eq!(of(&server("a", entry), &strange), Err("variable"));
    }

    #[test]
    fn what_no_proxy_can_stand_in_front_of_is_refused() {
        let remote = |more: Value| {
            let mut entry = json!({ "url": "http://localhost/" });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            entry
        };
        for (entry, code) in [
            (json!({ "command": "x", "env": { "BIR_UPSTREAM_HEADERS": "s3cret" } }), "variable"),
            (json!({ "command": "x", "env": { "BIR_HOME": "s3cret" } }), "variable"),
            (json!({ "command": "x", "env": "s3cret" }), "shape"),
            (json!({ "command": "x", "headersHelper": "y" }), "shape"),
            (remote(json!({ "env": { "BIR_UPSTREAM_URL": "s3cret" } })), "variable"),
            (remote(json!({ "headers": { "Host": "s3cret" } })), "shape"),
            (remote(json!({ "headers": { "mcp-session-id": "s3cret" } })), "shape"),
            (remote(json!({ "headers": { "Authorization s3cret": "x" } })), "shape"),
            (remote(json!({ "headers": { "": "s3cret" } })), "shape"),
            (remote(json!({ "headers": { "A": "s3cret\nB: c" } })), "shape"),
            (remote(json!({ "headers": { "A": ["s3cret"] } })), "shape"),
            (remote(json!({ "headers": "s3cret" })), "shape"),
            (remote(json!({ "headers": { "A": "{env:s3cret}" } })), "variable"),
            (remote(json!({ "url": "http://localhost/{env:s3cret}" })), "variable"),
            (remote(json!({ "url": "ftp://s3cret" })), "shape"),
        ] {
            assert_eq!(of(&server("a", entry.clone()), &named()), Err(code), "{entry}");
        }
        // What is named is wrapped though its host might sign in; what stays on the machine is in any case.
        for (entry, refused) in [
            (json!({ "url": "https://example.com/" }), Some("oauth")),
            (json!({ "url": "https://example.com/", "headers": {} }), Some("oauth")),
            (json!({ "url": "https://example.com/?key=s3cret" }), Some("oauth")),
            (json!({ "url": "https://${HOST}/" }), Some("oauth")),
            (remote(json!({ "oauth": { "clientId": "x" } })), Some("oauth")),
            (remote(json!({ "oauth": null, "auth": false })), None),
            (json!({ "url": "https://example.com/", "headers": { "A": "b" } }), None),
            (json!({ "url": "https://u:s3cret@example.com/" }), None),
            (json!({ "url": "http://[::1]:1/" }), None),
        ] {
            assert_eq!(of(&server("a", entry.clone()), &plain()).err(), refused, "{entry}");
            assert_eq!(of(&server("a", entry.clone()), &named()).err(), None, "{entry}");
        }
    }

    /// The host fills them in as before: the arguments of the proxy are arguments of the entry, too.
    #[test]
    fn placeholders_of_a_command_stay_where_they_are() {
        let args = ["${VAR}", "--x=${input:y}", "{env:Z}", "$A", "%B%", "${{ secrets.C }}"];
        let entry = json!({ "command": "${workspaceFolder}/x", "args": args, "env": { "K": "${K}" } });
        let wrapped = of(&server("a", entry), &plain()).unwrap();
        let line = ["--server-name", "a", "--scope", "user", "--", "${workspaceFolder}/x"];
        let all: Vec<&str> = line.into_iter().chain(args).collect();
        assert_eq!(wrapped, json!({ "command": PROXY, "args": all, "env": { "K": "${K}" } }));
    }

    #[test]
    fn a_line_in_one_text_stays_one() {
        let wrapped = of(&server("a", json!({ "command": "npx -y files" })), &plain()).unwrap();
        assert_eq!(wrapped["args"], json!(["--server-name", "a", "--scope", "user", "--", "npx -y files"]));
    }

    #[test]
    fn options_and_scopes_are_said_to_the_proxy() {
        let with = Wrapping { no_correlation: true, ..plain() };
        for (scope, word) in [(Scope::User, "user"), (Scope::Project, "project"), (Scope::Local, "local")] {
            let server = Server { scope, ..server("a b", json!({ "command": "x", "args": ["y"] })) };
            let line = json!(["--server-name", "a b", "--scope", word, "--no-correlation", "--", "x", "y"]);
            assert_eq!(of(&server, &with).unwrap()["args"], line);
        }
    }

    #[test]
    fn secrets_of_an_address_go_into_the_environment() {
        let headers = json!({ "Authorization": "Bearer ${T}", "X-Key": "s3cret", "X-Other": "${O}" });
        let entry = json!({ "url": "https://example.com/?key=s3cret", "type": "sse", "headers": headers, "env": { "A": "b" } });
        let server = server("a", entry);
        assert_eq!(
            server.reach,
            Reach::Remote { url: "https://example.com/?key=s3cret".into(), has_headers: true }
        );
        let line = [
            "--server-name",
            "a",
            "--scope",
            "user",
            "--url-env",
            "BIR_UPSTREAM_URL",
            "--transport",
            "sse",
            "--header-env",
            "Authorization: BIR_UPSTREAM_HEADER_1",
            "--header-env",
            "X-Other: BIR_UPSTREAM_HEADER_2",
        ];
        let env = json!({
            "A": "b",
            "BIR_UPSTREAM_URL": "https://example.com/?key=s3cret",
            "BIR_UPSTREAM_HEADER_1": "Bearer ${T}",
            "BIR_UPSTREAM_HEADER_2": "${O}",
            "BIR_UPSTREAM_HEADERS": "{\"X-Key\":\"s3cret\"}",
        });
        let wrapped = of(&server, &plain()).unwrap();
        assert_eq!(wrapped, json!({ "type": "stdio", "env": env, "command": PROXY, "args": line }));
        let memo = wrap(&FILLED, &file(), &server, Scope::User, &plain()).unwrap().memo.unwrap();
        assert_eq!(
            serde_json::to_string(&memo).unwrap(),
            r#"{"was":[["url",{"recall":"url"}],["type",{"value":"sse"}],["headers",{"recall":{"headers":["Authorization","X-Key","X-Other"]}}]],"added":["command","args"]}"#
        );
    }
}
