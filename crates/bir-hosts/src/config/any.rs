//! A file that no host module knows (`--config FILE`). Where its servers stand tells in which shape they are.
//!
//! Nothing is known of what its host fills in: an entry whose headers or address name a variable is left alone.

use super::{
    ByName, CommandAs, ConfigFile, Filled, Found, Kinds, Memo, Off, Refusal, Scope, Server, Shape, Wrap,
    Wrapping, of_file, table, unwrap, wrap,
};
use bir_model::{Edit, Format, Place, Step};
use serde_json::Value;
use std::path::Path;

/// Every word for an address that any host has.
const URLS: &[(&str, Option<&str>)] = &[("serverUrl", None), ("httpUrl", Some("http")), ("url", None)];

const COMMON: Shape = Shape {
    urls: URLS,
    off: &[Off::If("disabled"), Off::Unless("enabled")],
    by_name: ByName {
        bearer: Some("bearer_token_env_var"),
        headers: Some("env_http_headers"),
        pass_on: None,
    },
    ..Shape::COMMON
};

/// The shapes, by their roots. Those of a root with two forms (an object, a list) stand behind each other.
const SHAPES: [Shape; 9] = [
    COMMON,
    Shape { named_by: Some("name"), filled: NOTHING, ..super::continue_dev::SHAPE },
    Shape { filled: NOTHING, ..super::vs_code::SHAPE },
    // Codex.
    Shape {
        roots: &[&["mcp_servers"]],
        headers: "http_headers",
        unproxied: &[(
            "http_headers_helper",
            "makes headers by a command of its own, which a proxy cannot ask",
        )],
        by_name: ByName { pass_on: Some("env_vars"), ..COMMON.by_name },
        ..COMMON
    },
    super::zed::SHAPE,
    Shape { roots: &[&["mcp", "servers"]], ..OPENCODE },
    Shape { roots: &[&["mcp"]], ..OPENCODE },
    Shape { filled: NOTHING, ..super::goose::SHAPE },
    super::amp::SHAPE,
];

/// `mcp_servers` elsewhere than in TOML.
const HERMES: &Shape = &Shape { filled: NOTHING, ..super::hermes::SHAPE };

const NOTHING: Filled = Filled { env: &[], remote: &[] };

const OPENCODE: Shape = Shape {
    command: CommandAs::Vector("command"),
    env: "environment",
    kinds: Some(Kinds { local: Some("local"), needed: true, ..Kinds::COMMON }),
    ..COMMON
};

/// How a file is written, by its name, else by what stands in it.
#[must_use]
pub fn format(path: &Path, text: &str) -> Format {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "toml" => return Format::Toml,
        "yaml" | "yml" => return Format::Yaml,
        "jsonc" | "json5" => return Format::Jsonc,
        _ => {}
    }
    let text = text.trim_start_matches('\u{feff}');
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Format::Json;
    }
    if extension.eq_ignore_ascii_case("json") {
        return Format::Jsonc;
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match lines().next() {
        Some(line) if line.starts_with(['{', '/']) => Format::Jsonc,
        // A table's head, or a key before `=`, which no YAML has in front of a colon.
        Some(line) if line.starts_with('[') || key_ends_with(line, '=') => Format::Toml,
        Some(_) => Format::Yaml,
        None => Format::Jsonc,
    }
}

fn key_ends_with(line: &str, mark: char) -> bool {
    line.find(['=', ':']).is_some_and(|at| line[at..].starts_with(mark))
}

/// The file, for whom it counts by where it stands: one in the project is everybody's who works there.
#[must_use]
pub fn file(path: &Path, project: &Path, text: &str) -> ConfigFile {
    let scope = if path.starts_with(project) { Scope::Project } else { Scope::User };
    ConfigFile::servers(path, scope, format(path, text))
}

/// The servers of the files that were found.
#[must_use]
pub fn servers(found: &Found) -> Vec<Server> {
    let of = |file| SHAPES.iter().flat_map(move |shape| of_file(shape, file));
    let mut all: Vec<Server> = found.files.iter().flat_map(of).collect();
    // `mcp.servers` is no server of `mcp`.
    let inner = Place::keys(["mcp", "servers"]);
    if all.iter().any(|server| server.place != inner && server.place.0.starts_with(&inner.0)) {
        all.retain(|server| server.place != inner);
    }
    all
}

/// How a server is wrapped.
///
/// # Errors
///
/// It is not to be wrapped, or cannot be.
pub fn wrap_in(found: &Found, server: &Server, with: &Wrapping) -> Result<Wrap, Refusal> {
    let file = table::file_of(found, server)?;
    let by_place = shape(&server.place)?;
    // Codex and Hermes have the same root, and headers of different names.
    let is_hermes = by_place.roots == HERMES.roots && file.format != Format::Toml;
    wrap(if is_hermes { HERMES } else { by_place }, file, server, server.scope, with)
}

/// The edits that undo it.
///
/// # Errors
///
/// The entry is not wrapped any more, or its memo does not fit it.
pub fn unwrap_in(entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
    unwrap(shape(place)?, entry, place, memo)
}

/// The shape of a server, by where it stands.
fn shape(place: &Place) -> Result<&'static Shape, Refusal> {
    const ALL: &[Shape; 9] = &SHAPES;
    let (last, above) = place.0.split_last().ok_or_else(|| Refusal::new("shape", "it stands nowhere"))?;
    let is_list = matches!(last, Step::Index(_));
    let fits = |shape: &&Shape| {
        shape.named_by.is_some() == is_list
            && shape.roots.iter().any(|root| Place::keys(root.iter().copied()).0 == above)
    };
    ALL.iter()
        .find(fits)
        .ok_or_else(|| Refusal::new("shape", "its file has servers in no form that is known"))
}

/// What a person does for a host that is not known.
pub const RESTART_HINT: &str = "restart the program that reads the file";

#[cfg(test)]
mod tests {
    use super::super::check::plain;
    use super::super::{FoundFile, Role, carry_out};
    use super::*;
    use serde_json::json;

    #[test]
    fn formats_are_told_by_name_and_content() {
        for (name, text, expected) in [
            ("a.json", "{}", Format::Json),
            ("a.json", "\u{feff}{\"a\": 1}", Format::Json),
            ("a.json", "{ // x\n}", Format::Jsonc),
            ("a.json", "{\"a\": 1,}", Format::Jsonc),
            ("a.JSONC", "{}", Format::Jsonc),
            ("a.toml", "{}", Format::Toml),
            ("a.yml", "{}", Format::Yaml),
            ("a.YAML", "", Format::Yaml),
            ("conf", "{}", Format::Json),
            ("conf", "// x\n{}", Format::Jsonc),
            ("conf", "# x\n\n[mcp_servers.a]\n", Format::Toml),
            ("conf", "model = \"a: b\"\n", Format::Toml),
            ("conf", "# x\nextensions:\n  a: 1\n", Format::Yaml),
            ("conf", "url: http://a/?b=c\n", Format::Yaml),
            ("conf", "", Format::Jsonc),
        ] {
            assert_eq!(format(Path::new(name), text), expected, "{name} {text}");
        }
    }

    #[test]
    fn a_file_of_the_project_is_everybodys() {
        let scope = |path: &str| file(Path::new(path), Path::new("/p"), "{}").scope;
        assert_eq!((scope("/p/a.json"), scope("/p2/a.json")), (Scope::Project, Scope::User));
    }

    /// `name: the wrapped entry`, or `name: ! code`, once it has come back.
    fn becomes(value: &Value) -> Vec<String> {
        written(value, Format::Toml)
    }

    fn written(value: &Value, format: Format) -> Vec<String> {
        let file = ConfigFile { path: "/f".into(), scope: Scope::User, format, role: Role::Servers };
        let found = Found { files: vec![FoundFile { file, value: value.clone() }], project: "/p".into() };
        let line = |server: Server| {
            let wrap = match wrap_in(&found, &server, &plain()) {
                Ok(wrap) => wrap,
                Err(refusal) => return format!("{}: ! {}", server.name, refusal.code),
            };
            let mut document = value.clone();
            wrap.edits.iter().for_each(|edit| assert!(carry_out(&mut document, edit)));
            let entry = wrap.place.of(&document).unwrap().clone();
            for edit in unwrap_in(&entry, &wrap.place, &wrap.memo.unwrap()).unwrap() {
                assert!(carry_out(&mut document, &edit));
            }
            assert_eq!(&document, value);
            format!("{}: {entry}", server.name)
        };
        servers(&found).into_iter().map(line).collect()
    }

    #[test]
    fn servers_are_found_wherever_a_host_has_them() {
        let split = |key: &str| {
            let line = r#""args":["--server-name","a","--scope","user","--","x"]"#;
            vec![format!(r#"a: {{"{key}":"/opt/bir/bir-proxy",{line}}}"#)]
        };
        let vector = |more: &str| {
            let line = r#""command":["/opt/bir/bir-proxy","--server-name","a","--scope","user","--","x"]"#;
            vec![format!("a: {{{more}{line}}}")]
        };
        let list = split("command")[0].replace("{\"command", "{\"name\":\"a\",\"command");
        for (document, lines) in [
            (json!({"mcpServers": {"a": {"command": "x"}}}), split("command")),
            (json!({"mcpServers": [{"name": "a", "command": "x"}]}), vec![list]),
            (json!({"servers": {"a": {"command": "x"}}}), split("command")),
            (json!({"mcp_servers": {"a": {"command": "x"}}}), split("command")),
            (json!({"context_servers": {"a": {"command": "x"}}}), split("command")),
            (json!({"mcp": {"a": {"type": "local", "command": ["x"]}}}), vector(r#""type":"local","#)),
            (json!({"mcp": {"servers": {"a": {"command": ["x"]}}}}), vector("")),
            (json!({"extensions": {"a": {"cmd": "x"}}}), split("cmd")),
            (json!({"amp.mcpServers": {"a": {"command": "x"}}}), split("command")),
            (json!({"other": {"a": {"command": "x"}}}), vec![]),
            (json!({"mcpServers": "text", "servers": null}), vec![]),
            (json!([]), vec![]),
        ] {
            assert_eq!(becomes(&document), lines, "{document}");
        }
    }

    #[test]
    fn nothing_is_known_of_variables() {
        let document = json!({
            "mcpServers": {
                "plain": { "url": "https://example.com/mcp", "headers": { "A": "b" } },
                "filled": { "url": "https://example.com/mcp", "headers": { "A": "${B}" } },
            },
            "mcp_servers": {
                "by name": { "url": "https://example.com/mcp", "bearer_token_env_var": "T", "env_http_headers": { "X": "V" } },
            },
        });
        assert_eq!(
            becomes(&document),
            [
                r#"plain: {"command":"/opt/bir/bir-proxy","args":["--server-name","plain","--scope","user","--url","https://example.com/mcp"],"env":{"BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"}}"#,
                "filled: ! variable",
                r#"by name: {"env_vars":["V","T"],"command":"/opt/bir/bir-proxy","args":["--server-name","by name","--scope","user","--url","https://example.com/mcp","--header-env","X: V","--bearer-env","T"]}"#,
            ]
        );
    }

    #[test]
    fn codex_and_hermes_are_told_apart_by_the_format() {
        let of = |header: &str, format| {
            let entry = json!({ "url": "https://example.com/mcp", header: { "A": "b" } });
            written(&json!({ "mcp_servers": { "a": entry } }), format).swap_remove(0)
        };
        let wrapped = of("http_headers", Format::Toml);
        assert!(wrapped.starts_with("a: {\"command\"") && !wrapped.contains("http_headers"), "{wrapped}");
        assert_eq!(of("headers", Format::Yaml), wrapped);
        // Of an address whose headers are not seen it is not known whether the host signs in.
        assert_eq!(
            (of("headers", Format::Toml).as_str(), of("http_headers", Format::Yaml).as_str()),
            ("a: ! oauth", "a: ! oauth")
        );
    }
}
