//! What an entry says: the kind of server, whether it is wrapped, whether it is ours, whether it is switched off.

use super::shape::{CommandAs, Kind, Off, Shape};
use super::{Found, FoundFile, Reach, Server, State};
use bir_model::Place;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// The proxy's options that take a value.
const WITH_VALUE: [&str; 8] = [
    "--server-name",
    "--scope",
    "--url",
    "--transport",
    "--header",
    super::remote::URL_ENV,
    super::remote::HEADER_ENV,
    super::remote::BEARER_ENV,
];

/// The servers of a host's files, by its shape. Files come with those first that count more: of the same name, the first counts.
#[must_use]
pub fn servers(shape: &Shape, found: &Found) -> Vec<Server> {
    let mut counts: HashMap<String, PathBuf> = HashMap::new();
    let mut all = Vec::new();
    for file in &found.files {
        let mut here = of_file(shape, file);
        for server in &mut here {
            if let Some(other) = counts.get(&server.name) {
                server.state = State::Shadowed(other.clone());
            }
        }
        for server in here {
            counts.entry(server.name.clone()).or_insert_with(|| server.file.clone());
            all.push(server);
        }
    }
    all
}

/// The servers of one file.
#[must_use]
pub fn of_file(shape: &Shape, file: &FoundFile) -> Vec<Server> {
    let mut all = Vec::new();
    for root in shape.roots {
        let place = Place::keys(root.iter().copied());
        let Some(servers) = place.of(&file.value) else { continue };
        // A root may stand inside of another (`mcp.servers` in `mcp`), where a server may have its name.
        let inner = |name: &str| {
            let mut others = shape.roots.iter().filter_map(|other| other.split_last());
            others.any(|(last, above)| *last == name && above == *root)
        };
        let is_inner = |name: &str, value: &Value| inner(name) && !is_entry(shape, value);
        if shape.roots.len() > 1 && is_entry(shape, servers) {
            continue;
        }
        match (shape.named_by, servers) {
            (None, Value::Object(members)) => {
                for (name, entry) in members.iter().filter(|(name, entry)| !is_inner(name, entry)) {
                    all.push(server(shape, file, name, place.key(name), entry));
                }
            }
            (Some(by), Value::Array(elements)) => {
                for (index, entry) in elements.iter().enumerate() {
                    let name = entry.get(by).and_then(Value::as_str).unwrap_or_default();
                    all.push(server(shape, file, name, place.index(index), entry));
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether an object is a server, and no object of servers.
fn is_entry(shape: &Shape, value: &Value) -> bool {
    !matches!(Said::read(shape, value), Said::Other(_))
}

fn server(shape: &Shape, file: &FoundFile, name: &str, place: Place, entry: &Value) -> Server {
    let wrapped = Wrapped::read(shape, entry);
    let said = Said::read(shape, entry);
    let reach = wrapped
        .as_ref()
        .and_then(|wrapped| wrapped.reach(shape, entry))
        .unwrap_or_else(|| said.reach(shape, entry));
    Server {
        name: name.to_owned(),
        scope: file.file.scope,
        file: file.file.path.clone(),
        place,
        entry: entry.clone(),
        ours: matches!(&reach, Reach::Command { program, .. } if ["bir", "bir-scenario"].contains(&program_name(program))),
        reach,
        state: if is_off(shape, entry) { State::Disabled } else { State::Active },
        wrapped: wrapped.map(|wrapped| wrapped.proxy),
    }
}

fn is_off(shape: &Shape, entry: &Value) -> bool {
    shape.off.iter().any(|off| match off {
        Off::If(member) => entry.get(member) == Some(&Value::Bool(true)),
        Off::Unless(member) => entry.get(member) == Some(&Value::Bool(false)),
    })
}

/// A program's name, without its folder and without `.exe`.
pub(super) fn program_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    match name.len().checked_sub(".exe".len()).and_then(|at| name.split_at_checked(at)) {
        Some((stem, end)) if end.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

/// What an entry says of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// A command.
    Command { program: String, args: Vec<String> },
    /// An address.
    Remote { member: &'static str, url: String, transport: Option<&'static str> },
    /// Nothing that a proxy can stand in front of, and what.
    Other(String),
}

impl Said {
    pub(super) fn read(shape: &Shape, entry: &Value) -> Self {
        if !entry.is_object() {
            return Self::Other("it is no object".into());
        }
        let has = |member: &str| entry.get(member).is_some_and(|value| !value.is_null());
        let command = match shape.command {
            CommandAs::Split { program, .. } | CommandAs::Vector(program) => program,
        };
        let kind = match shape
            .kinds
            .and_then(|kinds| Some((kinds, entry.get(kinds.member).filter(|value| !value.is_null())?)))
        {
            None => None,
            Some((kinds, said)) => match kinds.all.iter().find(|(word, _)| said == word) {
                Some((_, kind)) => Some(*kind),
                None => return Self::Other(format!("its `{}` is {}", kinds.member, short(said))),
            },
        };
        let mut addresses = shape.urls.iter().filter(|(member, _)| has(member));
        let address = addresses.next();
        if kind != Some(Kind::Command) && addresses.next().is_some() {
            // One of them would stay, and the host might go there.
            return Self::Other("it has more than one address".into());
        }
        match (kind, has(command), address) {
            (None, true, Some(_)) => Self::Other("it has both a command and an address".into()),
            (Some(Kind::Command) | None, true, _) => Self::command(shape, entry),
            (Some(Kind::Remote(_)), true, Some(_)) => {
                Self::Other("it has both a command and an address".into())
            }
            (Some(Kind::Remote(transport)), _, Some((member, by_member))) => {
                Self::remote(shape, entry, member, transport.or(*by_member))
            }
            (None, false, Some((member, transport))) => Self::remote(shape, entry, member, *transport),
            (Some(Kind::Command), false, _) => Self::Other("it has no command".into()),
            (Some(Kind::Remote(_)), _, None) => Self::Other("it has no address".into()),
            (None, false, None) => Self::Other("it has neither a command nor an address".into()),
        }
    }

    fn remote(shape: &Shape, entry: &Value, member: &'static str, transport: Option<&'static str>) -> Self {
        // An empty list is left behind by programs that write every member.
        let is_left = |args: &Value| !args.is_null() && args.as_array().is_none_or(|args| !args.is_empty());
        if let CommandAs::Split { args, .. } = shape.command
            && entry.get(args).is_some_and(is_left)
        {
            return Self::Other(format!("it has both `{args}` and an address"));
        }
        match entry.get(member) {
            Some(Value::String(url)) => Self::Remote { member, url: url.clone(), transport },
            _ => Self::Other(format!("its `{member}` is no text")),
        }
    }

    fn command(shape: &Shape, entry: &Value) -> Self {
        let other = |member: &str, what: &str| Self::Other(format!("its `{member}` {what}"));
        let texts = |member: &str| match entry.get(member) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        match shape.command {
            CommandAs::Split { program, args } => match (entry.get(program), texts(args)) {
                (Some(Value::String(said)), Some(args)) if !said.is_empty() => {
                    Self::Command { program: said.clone(), args }
                }
                (Some(Value::String(said)), _) if said.is_empty() => other(program, "is empty"),
                (Some(Value::String(_)), None) => other(args, "is no list of texts"),
                _ => other(program, "is no text"),
            },
            CommandAs::Vector(member) => match texts(member) {
                Some(mut all) if all.first().is_some_and(|program| !program.is_empty()) => {
                    let program = all.remove(0);
                    Self::Command { program, args: all }
                }
                Some(_) => other(member, "is empty"),
                None => other(member, "is no list of texts"),
            },
        }
    }

    fn reach(self, shape: &Shape, entry: &Value) -> Reach {
        match self {
            Self::Command { program, args } => Reach::Command { program, args },
            Self::Remote { url, .. } => Reach::Remote { url, has_headers: has_headers(shape, entry) },
            Self::Other(what) => Reach::Other(what),
        }
    }
}

/// Whether an entry brings credentials of its own.
pub(super) fn has_headers(shape: &Shape, entry: &Value) -> bool {
    let filled = |member: &str| match entry.get(member) {
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        _ => false,
    };
    filled(shape.headers) || [shape.by_name.bearer, shape.by_name.headers].into_iter().flatten().any(filled)
}

/// A word for a kind of server as it may be shown: one that some host knows. Anything else is a person's, and may be a credential.
fn short(said: &Value) -> String {
    const KNOWN: [&str; 14] = [
        "stdio",
        "local",
        "http",
        "https",
        "sse",
        "ws",
        "websocket",
        "remote",
        "sdk",
        "builtin",
        "platform",
        "frontend",
        "inline_python",
        "extension",
    ];
    match said.as_str().and_then(|word| KNOWN.into_iter().find(|known| *known == word)) {
        Some(word) => format!("`{word}`"),
        None => "none that is known".into(),
    }
}

/// An entry in which the proxy stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrapped {
    /// The proxy's path.
    pub(super) proxy: String,
    /// Its options.
    pub(super) options: Vec<String>,
    /// The command behind `--`; none: an address is meant.
    pub(super) behind: Option<Vec<String>>,
}

impl Wrapped {
    pub(super) fn read(shape: &Shape, entry: &Value) -> Option<Self> {
        // Whatever else stands in it: what the host starts is the proxy.
        let Said::Command { program, mut args } = Said::command(shape, entry) else { return None };
        if program_name(&program) != "bir-proxy" {
            return None;
        }
        let mut at = 0;
        while let Some(arg) = args.get(at).filter(|arg| *arg != "--") {
            at += if WITH_VALUE.contains(&arg.as_str()) { 2 } else { 1 };
        }
        let behind = (at < args.len()).then(|| args.split_off(at)).map(|mut behind| {
            behind.remove(0);
            behind
        });
        Some(Self { proxy: program, options: args, behind })
    }

    /// The values of an option.
    pub(super) fn options(&self, name: &str) -> impl Iterator<Item = &str> {
        self.options.iter().enumerate().filter_map(move |(at, option)| {
            match option.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                Some(value) => Some(value),
                None if option == name => self.options.get(at + 1).map(String::as_str),
                None => None,
            }
        })
    }

    /// The address, from the options or from the entry's environment.
    pub(super) fn url<'v>(&'v self, shape: &Shape, entry: &'v Value) -> Option<&'v str> {
        self.options("--url").next().or_else(|| {
            let variable = self.options(super::remote::URL_ENV).next()?;
            entry.get(shape.env)?.get(variable)?.as_str()
        })
    }

    /// How what stands behind the proxy is reached.
    fn reach(&self, shape: &Shape, entry: &Value) -> Option<Reach> {
        if let Some((program, args)) = self.behind.as_deref().and_then(<[String]>::split_first) {
            return Some(Reach::Command { program: program.clone(), args: args.to_vec() });
        }
        let names = [super::remote::HEADER_ENV, super::remote::BEARER_ENV];
        let has_headers = names.into_iter().any(|name| self.options(name).next().is_some())
            || entry.get(shape.env).is_some_and(|env| env.get(super::remote::HEADERS).is_some());
        Some(Reach::Remote { url: self.url(shape, entry)?.to_owned(), has_headers })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigFile, Role, Scope};
    use super::*;
    use bir_model::Format;
    use serde_json::json;

    fn found(documents: &[Value]) -> Found {
        let file = |n: usize| ConfigFile {
            path: format!("/{n}").into(),
            scope: Scope::User,
            format: Format::Json,
            role: Role::Servers,
        };
        let files =
            documents.iter().enumerate().map(|(n, value)| FoundFile { file: file(n), value: value.clone() });
        Found { files: files.collect(), project: "/p".into() }
    }

    #[test]
    fn a_root_may_stand_inside_of_another() {
        let shape = Shape { roots: &[&["mcp", "servers"], &["mcp"]], ..Shape::COMMON };
        for (document, names) in [
            (json!({"mcp": {"a": {"command": "x"}}}), vec!["a"]),
            (json!({"mcp": {"timeout": 3, "servers": {"a": {"command": "x"}}}}), vec!["a", "timeout"]),
            (json!({"mcp": {"servers": {"command": "x"}, "a": {"url": "http://h"}}}), vec!["servers", "a"]),
            (json!({"mcp": {}}), vec![]),
        ] {
            let found = found(std::slice::from_ref(&document));
            let read: Vec<_> = servers(&shape, &found).into_iter().map(|server| server.name).collect();
            assert_eq!(read, names, "{document}");
        }
    }

    #[test]
    fn the_first_file_counts() {
        let one = json!({"mcpServers": {"a": {"command": "x", "disabled": true}, "b": {"command": "x"}}});
        let other = json!({"mcpServers": {"a": {"command": "y"}, "c": {"command": "x"}}});
        let states: Vec<_> = servers(&Shape::COMMON, &found(&[one, other]))
            .into_iter()
            .map(|server| (server.name, server.state))
            .collect();
        let state = |name: &str, state| (name.to_owned(), state);
        assert_eq!(
            states,
            [
                state("a", State::Disabled),
                state("b", State::Active),
                state("a", State::Shadowed("/0".into())),
                state("c", State::Active)
            ]
        );
    }

    #[test]
    fn what_is_wrapped_and_what_is_ours_is_told_by_the_program() {
        let of = |entry: Value| {
            let server =
                servers(&Shape::COMMON, &found(&[json!({ "mcpServers": { "a": entry } })])).swap_remove(0);
            let behind = match server.reach {
                Reach::Command { program, args } => format!("{program} {}", args.join(" ")),
                Reach::Remote { url, has_headers } => format!("{url} {has_headers}"),
                Reach::Other(what) => what,
            };
            (server.wrapped.is_some(), server.ours, behind)
        };
        let line = |program: &str, args: &[&str]| of(json!({ "command": program, "args": args }));
        let say = |behind: &str| behind.to_owned();
        for program in ["bir-proxy", "/a b/bir-proxy", r"C:\x\bir-proxy.EXE"] {
            let read = line(program, &["--server-name", "--", "--restart", "--", "npx", "--", "x"]);
            assert_eq!(read, (true, false, say("npx -- x")), "{program}");
        }
        assert_eq!(
            line("bir-proxy", &["--server-name", "a", "--url", "http://h"]),
            (true, false, say("http://h false"))
        );
        assert_eq!(
            line("bir-proxy", &["--server-name=a", "--url=http://h", "--bearer-env", "T"]),
            (true, false, say("http://h true"))
        );
        assert_eq!(line("bir-proxy", &["--", "bir", "mcp", "serve"]), (true, true, say("bir mcp serve")));
        assert_eq!(line("/x/bir", &["mcp", "serve"]), (false, true, say("/x/bir mcp serve")));
        assert_eq!(line("bir-scenario.exe", &[]), (false, true, say("bir-scenario.exe ")));
        assert_eq!(line("birch", &[]), (false, false, say("birch ")));
        assert_eq!(line("my-bir-proxy", &["--", "x"]), (false, false, say("my-bir-proxy -- x")));
        let env = json!({ "BIR_UPSTREAM_URL": "http://h?k", "BIR_UPSTREAM_HEADERS": "{}" });
        let entry = json!({ "command": "bir-proxy", "args": ["--url-env", "BIR_UPSTREAM_URL"], "env": env });
        assert_eq!(of(entry), (true, false, say("http://h?k true")));
    }

    #[test]
    fn what_is_no_server_is_told_without_its_values() {
        let shape = Shape { urls: &[("httpUrl", None), ("url", None)], ..Shape::COMMON };
        let of = |entry: Value| match servers(&shape, &found(&[json!({ "mcpServers": { "a": entry } })]))
            .swap_remove(0)
            .reach
        {
            Reach::Other(what) => what,
            reach => panic!("{reach:?}"),
        };
        for (entry, what) in [
            (json!(null), "it is no object"),
            (json!({}), "it has neither a command nor an address"),
            (json!({"type": "sdk"}), "its `type` is `sdk`"),
            (json!({"type": "s3cret"}), "its `type` is none that is known"),
            (json!({"type": 3, "command": "x"}), "its `type` is none that is known"),
            (json!({"type": "stdio", "url": "x"}), "it has no command"),
            (json!({"type": "http", "command": "x"}), "it has no address"),
            (json!({"command": "x", "url": "x"}), "it has both a command and an address"),
            (json!({"type": "http", "command": "x", "url": "x"}), "it has both a command and an address"),
            (json!({"url": "x", "httpUrl": "y"}), "it has more than one address"),
            (json!({"url": "x", "args": ["y"]}), "it has both `args` and an address"),
            (json!({"command": ["x"]}), "its `command` is no text"),
            (json!({"command": ""}), "its `command` is empty"),
            (json!({"command": "x", "args": "y"}), "its `args` is no list of texts"),
            (json!({"command": "x", "args": ["y", 1]}), "its `args` is no list of texts"),
            (json!({"url": 3}), "its `url` is no text"),
        ] {
            assert_eq!(of(entry.clone()), what, "{entry}");
        }
    }
}
