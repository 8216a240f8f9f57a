//! An entry with the proxy in front of its server, by the host's shape.

use super::address::Address;
use super::entry::{Said, Wrapped, has_headers, program_name};
use super::placeholder::Moved;
use super::shape::{CommandAs, Shape};
use super::{ConfigFile, Memo, Recall, Refusal, Scope, Server, State, Was, Wrap, Wrapping};
use bir_model::{Edit, Place, ServerName, is_reserved_header};
use serde_json::{Map, Value};

/// The option of the proxy for a variable that holds the address.
pub(super) const URL_ENV: &str = "--url-env";
/// The option for a header whose value a variable holds.
pub(super) const HEADER_ENV: &str = "--header-env";
/// The option for the variable of a bearer token.
pub(super) const BEARER_ENV: &str = "--bearer-env";
/// The variable of an address that does not go into argv.
const URL: &str = "BIR_UPSTREAM_URL";
/// The variable of headers, a JSON object.
pub(super) const HEADERS: &str = "BIR_UPSTREAM_HEADERS";
/// The variables of single headers, with a number from 1.
const HEADER: &str = "BIR_UPSTREAM_HEADER_";

/// Programs that a host takes for a shell.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "powershell", "pwsh", "env"];

/// Whether a variable of an entry is one of those that wrapping puts there.
pub(super) fn is_our_variable(name: &str) -> bool {
    name == URL
        || name == HEADERS
        || name.strip_prefix(HEADER).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty())
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
        if entry.get(*member).is_some_and(|value| !value.is_null()) {
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
    let mut change =
        Change { entry, at: &server.place, edits: Vec::new(), was: Vec::new(), added: Vec::new() };
    match Said::read(shape, &server.entry) {
        Said::Other(what) => return Err(refused(what)),
        Said::Command { program, .. } if shape.judges_shells && SHELLS.contains(&program_name(&program)) => {
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

/// What becomes of an address and its headers.
#[derive(Default)]
struct Remote {
    options: Vec<String>,
    env: Map<String, Value>,
    header_names: Vec<String>,
    pass_on: Vec<String>,
}

fn remote(
    shape: &Shape,
    server: &Server,
    member: &str,
    url: &str,
    transport: Option<&'static str>,
    with: &Wrapping,
) -> Result<Remote, Refusal> {
    let mut made = Remote::default();
    let unknown = |what: String| {
        Refusal::new(
            "variable",
            format!("{what} holds a variable, and it is not known how the host fills it in"),
        )
    };
    let (address, moved) = match shape.filled.moved(url) {
        Moved::Unknown => return Err(unknown(format!("its `{member}`"))),
        Moved::Filled => (None, true),
        Moved::Same => {
            let address = Address::read(url)?;
            let secret = address.secret;
            (Some(address), secret)
        }
    };
    let explicit = shape
        .signs_in
        .iter()
        .any(|member| !matches!(server.entry.get(member), None | Some(Value::Null | Value::Bool(false))));
    let bare = !has_headers(shape, &server.entry)
        && address.as_ref().is_none_or(|address| !address.loopback && !address.userinfo);
    if (explicit || bare) && !with.named {
        let why = "the host may sign in to it (OAuth), and a proxy cannot; if it needs no sign-in, name it with `--server`";
        return Err(Refusal::new("oauth", why));
    }
    if moved {
        made.options.extend([URL_ENV.to_owned(), URL.to_owned()]);
        made.env.insert(URL.into(), url.into());
    } else {
        made.options.extend(["--url".to_owned(), url.to_owned()]);
    }
    if let Some(transport) = transport {
        made.options.extend(["--transport".to_owned(), transport.to_owned()]);
    }
    headers(shape, &server.entry, &mut made)?;
    by_name(shape, &server.entry, &mut made)?;
    Ok(made)
}

/// Headers with their values: those that the host fills in get a variable each, the others one for all.
fn headers(shape: &Shape, entry: &Value, made: &mut Remote) -> Result<(), Refusal> {
    let headers = match entry.get(shape.headers) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err(Refusal::new("shape", format!("its `{}` is no object", shape.headers))),
    };
    let mut literal = Map::new();
    let mut filled = 0;
    for (name, value) in headers {
        check_header(shape, name)?;
        let Some(text) = value.as_str() else {
            return Err(Refusal::new("shape", format!("its header `{name}` is no text")));
        };
        if text.chars().any(|c| c.is_control() && c != '\t') {
            return Err(Refusal::new("shape", format!("its header `{name}` holds control characters")));
        }
        match shape.filled.moved(text) {
            Moved::Same => {
                literal.insert(name.clone(), value.clone());
            }
            Moved::Filled => {
                filled += 1;
                let variable = format!("{HEADER}{filled}");
                made.options.extend([HEADER_ENV.to_owned(), format!("{name}: {variable}")]);
                made.env.insert(variable, value.clone());
            }
            Moved::Unknown => {
                let why = format!(
                    "its header `{name}` holds a variable, and it is not known how the host fills it in"
                );
                return Err(Refusal::new("variable", why));
            }
        }
        made.header_names.push(name.clone());
    }
    if !literal.is_empty() {
        made.env.insert(HEADERS.into(), Value::Object(literal).to_string().into());
    }
    Ok(())
}

fn check_header(shape: &Shape, name: &str) -> Result<(), Refusal> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) || shape.filled.changes(name) {
        // It may be a whole header, and so hold a secret.
        return Err(Refusal::new("shape", "a name among its headers is none that HTTP allows"));
    }
    if is_reserved_header(name) {
        return Err(Refusal::new("shape", format!("its header `{name}` is one that the proxy sets itself")));
    }
    Ok(())
}

/// Credentials that the host takes from its own environment: the proxy takes them from there.
fn by_name(shape: &Shape, entry: &Value, made: &mut Remote) -> Result<(), Refusal> {
    let variable = |name: &str, member: &str| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if !name.is_empty() && name.bytes().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(name.to_owned());
        }
        // A token itself, instead of its variable's name.
        Err(Refusal::new("shape", format!("its `{member}` names no variable")))
    };
    if let Some(member) = shape.by_name.headers {
        match entry.get(member) {
            None | Some(Value::Null) => {}
            Some(Value::Object(headers)) => {
                for (header, name) in headers {
                    check_header(shape, header)?;
                    let name = variable(name.as_str().unwrap_or_default(), member)?;
                    made.options.extend([HEADER_ENV.to_owned(), format!("{header}: {name}")]);
                    made.pass_on.push(name);
                }
            }
            Some(_) => return Err(Refusal::new("shape", format!("its `{member}` is no object"))),
        }
    }
    if let Some(member) = shape.by_name.bearer
        && let Some(name) = entry.get(member).filter(|value| !value.is_null())
    {
        let name = variable(name.as_str().unwrap_or_default(), member)?;
        made.options.extend([BEARER_ENV.to_owned(), name.clone()]);
        made.pass_on.push(name);
    }
    Ok(())
}

/// The edits of one entry, and how to undo them.
struct Change<'e> {
    entry: &'e Map<String, Value>,
    at: &'e Place,
    edits: Vec<Edit>,
    was: Vec<(String, Was)>,
    added: Vec<String>,
}

impl Change<'_> {
    fn set(&mut self, key: &str, value: Value, was: Was) {
        match self.entry.get(key) {
            None => self.added.push(key.to_owned()),
            Some(Value::Null) => self.was.push((key.to_owned(), Was::Value(Value::Null))),
            Some(_) => self.was.push((key.to_owned(), was)),
        }
        self.edits.push(Edit::Set { at: self.at.key(key), value });
    }

    fn remove(&mut self, key: &str, was: Was) {
        let Some(value) = self.entry.get(key) else { return };
        let was = if value.is_null() { Was::Value(Value::Null) } else { was };
        self.was.push((key.to_owned(), was));
        self.edits.push(Edit::Remove { at: self.at.key(key) });
    }

    /// The proxy's command line. `over`: that of the server itself stands there.
    fn command(&mut self, shape: &Shape, proxy: &str, line: Vec<String>, over: bool) {
        let recalled = |recall| if over { Was::Recall(recall) } else { Was::Value(Value::Null) };
        match shape.command {
            CommandAs::Split { program, args } => {
                self.set(program, proxy.into(), recalled(Recall::Program));
                self.set(args, line.into(), recalled(Recall::Args));
            }
            CommandAs::Vector(member) => {
                let whole: Vec<String> = std::iter::once(proxy.to_owned()).chain(line).collect();
                self.set(member, whole.into(), recalled(Recall::Command));
            }
        }
    }

    fn remote(&mut self, shape: &Shape, url: &str, proxy: &str, line: Vec<String>, remote: Remote) {
        let Remote { env, header_names, .. } = remote;
        self.remove(url, Was::Recall(Recall::Url));
        self.remove(shape.headers, Was::Recall(Recall::Headers(header_names)));
        for member in [shape.by_name.headers, shape.by_name.bearer].into_iter().flatten() {
            let names = self.entry.get(member).cloned().unwrap_or_default();
            self.remove(member, Was::Value(names));
        }
        if let Some(kinds) = shape.kinds
            && (kinds.needed || self.entry.contains_key(kinds.member))
        {
            let was = self.entry.get(kinds.member).cloned().unwrap_or_default();
            self.set(kinds.member, kinds.local.into(), Was::Value(was));
        }
        self.command(shape, proxy, line, false);
        if self.entry.get(shape.env).is_some_and(Value::is_object) {
            let at = self.at.key(shape.env);
            self.edits.extend(env.into_iter().map(|(name, value)| Edit::Set { at: at.key(name), value }));
        } else if !env.is_empty() {
            self.set(shape.env, Value::Object(env), Was::Value(Value::Null));
        }
    }

    /// For a host that hands on no variables but those that an entry names.
    fn pass_on(&mut self, shape: &Shape, names: &[String]) -> Result<(), Refusal> {
        let Some(member) = shape.by_name.pass_on.filter(|_| !names.is_empty()) else { return Ok(()) };
        let was = self.entry.get(member).cloned().unwrap_or_default();
        let mut list = match &was {
            Value::Null => Vec::new(),
            Value::Array(list) => list.clone(),
            _ => return Err(Refusal::new("shape", format!("its `{member}` is no list"))),
        };
        for name in names {
            if !list.iter().any(|one| one == name) {
                list.push(name.as_str().into());
            }
        }
        self.set(member, list.into(), Was::Value(was));
        Ok(())
    }

    fn done(mut self, file: &ConfigFile) -> Wrap {
        let order = |key: &str| self.entry.keys().position(|known| known == key);
        self.was.sort_by_key(|(key, _)| order(key));
        let memo = Memo { was: self.was, added: self.added };
        Wrap { file: file.clone(), edits: self.edits, place: self.at.clone(), memo: Some(memo) }
    }
}

/// Whether an entry is wrapped.
#[must_use]
pub fn is_wrapped(shape: &Shape, entry: &Value) -> bool {
    Wrapped::read(shape, entry).is_some()
}
