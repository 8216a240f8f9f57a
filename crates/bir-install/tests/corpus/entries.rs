//! Where each host's servers stand, and whether an entry is the other one behind a proxy: told from the hosts' documentation, without a line of
//! the modules under test.

use crate::home::PROXY;
use crate::tree::Tree;

/// Where a host has its servers in a file of its own shape; the first path that is there counts.
pub(crate) fn places(host: &str) -> &'static [&'static [&'static str]] {
    match host {
        "codex" | "hermes" => &[&["mcp_servers"]],
        "vs-code" => &[&["servers"]],
        "opencode" => &[&["mcp", "servers"], &["mcp"]],
        "zed" => &[&["context_servers"]],
        "goose" => &[&["extensions"]],
        "amp" => &[&["amp.mcpServers"]],
        "file" => &[&["mcpServers"], &["servers"]],
        _ => &[&["mcpServers"]],
    }
}

/// The object or list of a file's servers.
pub(crate) fn servers<'t>(host: &str, document: &'t Tree) -> Option<&'t Tree> {
    places(host).iter().find_map(|path| document.at(path))
}

/// A server by its name: a member, or an element that says its name.
pub(crate) fn find<'t>(servers: &'t Tree, name: &str) -> Option<&'t Tree> {
    servers
        .list()
        .iter()
        .find(|entry| entry.get("name").and_then(Tree::as_text) == Some(name))
        .or_else(|| servers.get(name))
}

/// Program and arguments of an entry, whatever they are called.
fn argv(entry: &Tree) -> Option<Vec<String>> {
    let texts = |tree: Option<&Tree>| {
        let list = tree.map(Tree::list).unwrap_or_default();
        list.iter().map(|arg| arg.as_text().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let command = entry.get("command").or_else(|| entry.get("cmd"))?;
    match command {
        Tree::Text(program) => {
            let mut argv = vec![program.clone()];
            argv.extend(texts(entry.get("args"))?);
            Some(argv)
        }
        Tree::List(_) => texts(Some(command)),
        Tree::Map(_) => {
            let mut argv = vec![command.get("path")?.as_text()?.to_owned()];
            argv.extend(texts(command.get("args"))?);
            Some(argv)
        }
        _ => None,
    }
}

/// The variables of an entry.
fn variables(entry: &Tree) -> &[(String, Tree)] {
    ["env", "environment", "envs"]
        .iter()
        .find_map(|key| entry.get(key))
        .map(Tree::members)
        .unwrap_or_default()
}

/// Equal; of a number that was copied its value counts, not how it is written.
fn alike(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Number(a), Tree::Number(b)) => a == b || a.parse::<f64>().ok() == b.parse().ok(),
        _ => a == b,
    }
}

const ADDRESSES: [&str; 5] = ["url", "httpUrl", "serverUrl", "uri", "endpoint"];
/// What a wrapped entry says in another way than the original did.
const SAID_OTHERWISE: [&str; 18] = [
    "command",
    "cmd",
    "args",
    "url",
    "httpUrl",
    "serverUrl",
    "uri",
    "type",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "env",
    "environment",
    "envs",
    "env_vars",
    "requestOptions",
    "oauth",
];

/// Whether an entry starts our proxy.
pub(crate) fn is_wrapped(entry: &Tree) -> bool {
    argv(entry).is_some_and(|argv| argv.first().is_some_and(|program| program == PROXY))
}

/// What is wrong with a wrapped entry as the other side of the original. None: nothing.
pub(crate) fn wrong(name: &str, original: &Tree, wrapped: &Tree) -> Option<String> {
    let said = |what: &str| Some(format!("{name}: {what}"));
    let Some(now) = argv(wrapped) else { return said("it has no command") };
    if now.first().map(String::as_str) != Some(PROXY) {
        return said("its program is not the proxy");
    }
    let after = |flag: &str| now.iter().position(|arg| arg == flag).and_then(|at| now.get(at + 1));
    if after("--server-name").map(String::as_str) != Some(name) {
        return said("--server-name does not name it");
    }
    if after("--scope").is_none() {
        return said("--scope is not there");
    }
    // Whatever else the entry said stays as it was.
    for (key, value) in original.members() {
        if !SAID_OTHERWISE.contains(&key.as_str()) && !wrapped.get(key).is_some_and(|now| alike(now, value)) {
            return said(&format!("{key} is not as it was"));
        }
    }
    for (key, value) in variables(original) {
        if !variables(wrapped).iter().any(|(name, now)| name == key && now == value) {
            return said(&format!("the variable {key} is not as it was"));
        }
    }
    match argv(original) {
        Some(then) => {
            let behind = now.iter().position(|arg| arg == "--").map(|at| &now[at + 1..]);
            if behind != Some(&then[..]) {
                return said("what stands behind -- is not its command");
            }
        }
        None => {
            let Some(url) = ADDRESSES.iter().find_map(|key| original.get(key)?.as_text()) else {
                return said("it had neither a command nor an address");
            };
            let in_env = after("--url-env")
                .and_then(|variable| variables(wrapped).iter().find(|(name, _)| name == variable))
                .and_then(|(_, value)| value.as_text());
            if after("--url").map(String::as_str).or(in_env) != Some(url) {
                return said("its address is neither behind --url nor in the variable of --url-env");
            }
            if let Some(why) = headers_wrong(original, wrapped, &now) {
                return said(&why);
            }
        }
    }
    None
}

/// Each header of the original is in `BIR_UPSTREAM_HEADERS`, or in a variable that `--header-env` names.
fn headers_wrong(original: &Tree, wrapped: &Tree, argv: &[String]) -> Option<String> {
    let headers = ["headers", "http_headers"].iter().find_map(|key| original.get(key));
    let headers = headers
        .or_else(|| original.at(&["requestOptions", "headers"]))
        .map(Tree::members)
        .unwrap_or_default();
    let given = variables(wrapped).iter().find(|(name, _)| name == "BIR_UPSTREAM_HEADERS");
    let given: serde_json::Value = given
        .and_then(|(_, value)| value.as_text())
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    for (name, value) in headers {
        let named = format!("{name}: ");
        let variable = argv
            .iter()
            .enumerate()
            .filter(|(at, _)| *at > 0 && argv[at - 1] == "--header-env")
            .find_map(|(_, arg)| arg.strip_prefix(&named));
        let in_variable =
            variable.and_then(|variable| variables(wrapped).iter().find(|(name, _)| name == variable));
        let is_there = given.get(name).and_then(serde_json::Value::as_str) == value.as_text();
        if !is_there && in_variable.map(|(_, value)| value) != Some(value) {
            return Some(format!("the header {name} is nowhere"));
        }
        if !is_there && argv.iter().any(|arg| Some(arg.as_str()) == value.as_text()) {
            return Some(format!("the header {name} is in the arguments"));
        }
    }
    None
}
