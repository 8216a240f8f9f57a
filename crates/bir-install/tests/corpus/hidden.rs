//! No value of a configuration is carried anywhere: canaries of every spelling stand in random places of files of all formats, and are looked
//! for in all that is shown, kept, or given to the proxy.

use crate::home::{Asked, Home, shown};
use bir_hosts::config::{Found, FoundFile, any};
use bir_model::{Edit, Format, Place};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// So many canaries stand in a configuration at most.
const MOST: usize = 64;

/// Tokens as services spell them: with digits or without, of one case, with signs, short.
fn canary() -> impl Strategy<Value = String> {
    prop_oneof![
        "cnry[a-z]{8}",
        "CNRY[A-Z0-9]{10}",
        "cnry[A-Za-z0-9_-]{12}",
        "cnry[a-f0-9]{6}",
        "cnry[a-z]{3}@[a-z]{3}",
        "cnry[A-Za-z0-9+/]{10}==",
    ]
}

/// An argument that carries one, in a place of its own.
fn argument() -> impl Strategy<Value = (u8, String)> {
    (0..10u8, canary())
}

fn spelled((how, canary): &(u8, String)) -> Vec<String> {
    match how {
        0 => vec![canary.clone()],
        1 => vec!["-p".into(), canary.clone()],
        2 => vec![format!("-u{canary}")],
        3 => vec![format!("-uUSER:{canary}")],
        4 => vec!["--pat".into(), canary.clone()],
        5 => vec![format!("--license={canary}")],
        6 => vec![format!("X={canary}")],
        7 => vec![format!("https://host.example.com/s/{canary}/mcp")],
        8 => vec![format!("{{\"deep\": \"{canary}\"}}")],
        _ => vec!["-H".into(), format!("X-Any: {canary}")],
    }
}

/// What a configuration is made of.
#[derive(Debug)]
struct Drawn {
    args: Vec<(u8, String)>,
    values: Vec<String>,
    front: usize,
    in_path: bool,
    /// Keys that have the shape of a credential.
    keys: Vec<String>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let key = prop_oneof!["ghp_[A-Za-z0-9]{36}", "AKIA[A-Z0-9]{16}", "xoxb-[0-9]{12}-[a-zA-Z0-9]{12}"];
    let keys = prop::collection::vec(key, 4);
    (
        prop::collection::vec(argument(), 0..6),
        prop::collection::vec(canary(), 16),
        0..4usize,
        any::<bool>(),
        keys,
    )
        .prop_map(|(args, values, front, in_path, keys)| Drawn { args, values, front, in_path, keys })
}

impl Drawn {
    fn value(&self, at: usize) -> &str {
        &self.values[at]
    }

    /// Servers by a command, and one by an address; one of them is switched off, and so not touched.
    fn servers(&self, env: &str, url: &str, headers: &str) -> Map<String, Value> {
        let fronts: [(&str, &[&str]); 4] = [
            ("npx", &["-y", "@scope/server"]),
            ("/opt/own/server", &[]),
            ("python3", &["-m", "some.module"]),
            ("docker", &["run", "-i", "--rm", "ghcr.io/some/image:1"]),
        ];
        let (program, front) = fronts[self.front];
        let mut args: Vec<String> = front.iter().map(|word| (*word).to_owned()).collect();
        args.extend(self.args.iter().flat_map(spelled));
        let command = json!({
            "command": program, "args": args, env: {"PLAIN": self.value(0), self.keys[0].as_str(): "x", "OTHER": format!("a={}", self.value(1))},
            "unknown": {"deep": [self.value(2), {"more": self.value(3), self.keys[3].as_str(): 1}]}, "cwd": format!("/home/{}", self.value(4)),
        });
        let path = if self.in_path {
            format!("s/{}/mcp", self.value(5))
        } else {
            format!("mcp?k={}", self.value(5))
        };
        let remote = json!({
            url: format!("https://host.example.com/{path}"),
            headers: {"X-Any": self.value(6), "Authorization": format!("Bearer {}", self.value(7))},
            "note": self.value(8),
        });
        let mut off = command.clone();
        off["disabled"] = true.into();
        off["enabled"] = false.into();
        let mut all = Map::new();
        // These are left alone.
        all.insert(self.keys[1].clone(), command.clone());
        let mut named = remote.clone();
        named[headers] = json!({ format!("X-{}", self.keys[2]): "x" });
        all.insert("named".into(), named);
        all.insert("cmd".into(), command);
        all.insert("web".into(), remote);
        all.insert("off".into(), off);
        all
    }

    fn canaries(&self) -> Vec<&str> {
        let all =
            self.args.iter().map(|(_, canary)| canary.as_str()).chain(self.values.iter().map(String::as_str));
        let all = all.chain(self.keys.iter().map(String::as_str));
        all.take(MOST).collect()
    }
}

/// An object as a file of a format.
fn written(value: &Value, format: Format) -> String {
    let mut document = bir_edit::Document::parse(b"", format).unwrap();
    for (key, value) in value.as_object().unwrap() {
        document.edit(&Edit::Set { at: Place::keys([key.as_str()]), value: value.clone() }).unwrap();
    }
    String::from_utf8(document.bytes()).unwrap()
}

/// The files: each with its place and text; comments hold canaries where the format has some.
fn files(drawn: &Drawn) -> Vec<(&'static str, String)> {
    let common = drawn.servers("env", "url", "headers");
    let claude =
        json!({"oauthAccount": {"x": drawn.value(9)}, "mcpServers": common, "tail": [drawn.value(10)]});
    let jsonc =
        serde_json::to_string_pretty(&json!({"mcpServers": common, "other": drawn.value(11)})).unwrap();
    // In front, behind, and beside a member of an entry.
    let mut commented = format!("// {}\n{jsonc}\n/* {} */\n", drawn.value(12), drawn.value(13));
    commented = commented.replacen("\"args\": [\n", &format!("\"args\": [ // {}\n", drawn.value(14)), 1);
    let codex = json!({"top": drawn.value(9), "mcp_servers": drawn.servers("env", "url", "http_headers")});
    let toml = written(&codex, Format::Toml);
    let toml = toml.replacen("command =", &format!("# {}\ncommand =", drawn.value(15)), 1);
    let mut goose = drawn.servers("envs", "uri", "headers");
    for (name, entry) in &mut goose {
        let is_remote = entry.get("uri").is_some();
        entry["name"] = name.as_str().into();
        entry["type"] = if is_remote { "streamable_http" } else { "stdio" }.into();
        if let Some(command) = entry.get("command").cloned() {
            entry["cmd"] = command;
            entry.as_object_mut().unwrap().shift_remove("command");
        }
        if entry.get("enabled").is_none() {
            entry["enabled"] = true.into();
        }
    }
    let yaml = written(&json!({"TOP": drawn.value(9), "extensions": goose}), Format::Yaml);
    let yaml = format!("# {}\n{yaml}# {}\n", drawn.value(12), drawn.value(13));
    vec![
        ("~/.claude.json", serde_json::to_string_pretty(&claude).unwrap()),
        ("~/.kiro/settings/mcp.json", serde_json::to_string(&json!({"mcpServers": common})).unwrap()),
        ("~/.config/amp/settings.jsonc", commented.replace("\"mcpServers\"", "\"amp.mcpServers\"")),
        ("~/.codex/config.toml", toml),
        ("~/.config/goose/config.yaml", yaml),
    ]
}

/// The options of the proxy in the wrapped entries of a document, as every user of the machine sees them.
fn options(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let program = ["command", "cmd"].iter().find_map(|key| members.get(*key)?.as_str());
            if program == Some(crate::home::PROXY) {
                let args = members.get("args").and_then(Value::as_array).into_iter().flatten();
                let own = args.filter_map(Value::as_str).take_while(|word| *word != "--");
                found.extend(own.map(ToOwned::to_owned));
            }
            members.values().for_each(|value| options(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| options(item, found)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_value_is_carried_anywhere(drawn in drawn()) {
        let home = Home::new();
        let files = files(&drawn);
        for (at, text) in &files {
            home.put(at, text.as_bytes());
        }
        let clean = |what: &str, text: &str| {
            let found = drawn.canaries().into_iter().find(|canary| text.contains(*canary));
            prop_assert!(found.is_none(), "{what} holds {found:?}: {text}");
            Ok(())
        };
        let asked = Asked { everywhere: true, hooks: true, ..Asked::default() };
        let plan = home.plan(&asked);
        // Claude Code does not ask whether one is switched off.
        let wrapped = plan.servers.iter().filter(|line| line.server != "off" && line.outcome.stands()).count();
        prop_assert_eq!(wrapped, 2 * files.len(), "{:?}", plan.servers);
        clean("the plan", &shown(&plan))?;
        home.carry_out(&plan).unwrap();
        clean("the state directory", &home.kept())?;
        let mut argv = Vec::new();
        for (at, _) in &files {
            let text = std::fs::read_to_string(home.place(at)).unwrap();
            let file = any::file(&home.place(at), &home.project, &text);
            let format = if at.ends_with(".jsonc") { Format::Jsonc } else { file.format };
            let document = bir_edit::Document::parse(text.as_bytes(), format).unwrap();
            let found = Found { files: vec![FoundFile { file, value: document.value().clone() }], project: home.project.clone() };
            found.files.iter().for_each(|file| options(&file.value, &mut argv));
        }
        prop_assert!(argv.len() >= 4 * files.len(), "{argv:?}");
        clean("the argv of a proxy", &argv.join("\n"))?;
        // Once more with another option, so that all of it is written anew; and out, once as it is and once after somebody has written.
        let again = home.plan(&Asked { hooks: false, ..asked });
        clean("the second plan", &shown(&again))?;
        let out = home.out(true);
        clean("the plan of an uninstall", &shown(&out))?;
        std::fs::OpenOptions::new().append(true).open(home.place("~/.codex/config.toml"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"\n[more]\nx = 1\n")).unwrap();
        let out = home.out(true);
        clean("the plan of an uninstall by entries", &shown(&out))?;
        home.carry_out(&out).unwrap();
        clean("the state directory afterwards", &home.kept())?;
        // Where the rules took too much for a secret there was no way back byte by byte, so what it says is compared.
        for (at, text) in files.iter().filter(|(at, _)| !at.ends_with(".toml")) {
            let now = std::fs::read_to_string(home.place(at)).unwrap();
            let format = if at.ends_with(".yaml") { Format::Yaml } else { Format::Jsonc };
            let says = |text: &str| bir_edit::Document::parse(text.as_bytes(), format).unwrap().value().clone();
            prop_assert_eq!(says(&now), says(text), "{}", at);
        }
    }
}
