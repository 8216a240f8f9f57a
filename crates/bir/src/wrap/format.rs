//! The entry in the formats of the hosts' configurations.

use super::Entry;
use crate::cli::Format;
use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, Item, Table};

/// What to change for hosts whose YAML has another shape (their documentation of 2026).
pub(crate) const OTHER_YAML: [&str; 2] = [
    "note: for Continue, mcpServers is a list: write `- name: NAME` instead of `NAME:`; command, args and env stay",
    "note: for Goose, write extensions instead of mcpServers, cmd instead of command, envs instead of env, and add \
     `type: stdio`, `name: NAME`, `enabled: true` and `timeout: 300` to the entry",
];

/// The entry as text that ends with a newline.
pub(crate) fn render(entry: &Entry, format: Format) -> String {
    match format {
        Format::Json => json_text(entry),
        Format::Toml => toml_text(entry),
        Format::Yaml => yaml_text(entry),
        Format::Opencode => opencode_text(entry),
    }
}

fn json_text(e: &Entry) -> String {
    let mut server = json!({ "command": e.command, "args": e.args });
    if !e.env.is_empty() {
        server["env"] = env(e);
    }
    let mut servers = Map::new();
    servers.insert(e.name.clone(), server);
    format!("{:#}\n", json!({ "mcpServers": servers }))
}

/// A remote server is local as well: the proxy is the command, and the address one of its arguments.
fn opencode_text(e: &Entry) -> String {
    let command: Vec<&String> = std::iter::once(&e.command).chain(&e.args).collect();
    let mut server = json!({ "type": "local", "command": command, "enabled": true });
    if !e.env.is_empty() {
        server["environment"] = env(e);
    }
    let mut servers = Map::new();
    servers.insert(e.name.clone(), server);
    format!("{:#}\n", json!({ "mcp": servers }))
}

fn env(e: &Entry) -> Value {
    e.env.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect::<Map<_, Value>>().into()
}

fn toml_text(e: &Entry) -> String {
    let mut server = Table::new();
    server["command"] = toml_edit::value(&e.command);
    server["args"] = toml_edit::value(e.args.iter().collect::<Array>());
    if !e.env.is_empty() {
        let mut env = Table::new();
        for (k, v) in &e.env {
            env.insert(k, toml_edit::value(v));
        }
        server.insert("env", Item::Table(env));
    }
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(&e.name, Item::Table(server));
    let mut document = DocumentMut::new();
    document.insert("mcp_servers", Item::Table(servers));
    document.to_string()
}

/// Every scalar is a JSON string, which YAML 1.1 and 1.2 both read as that string: no word that one of them takes for a
/// boolean, a number or a date is left bare.
fn yaml_text(e: &Entry) -> String {
    let mut out = format!("mcpServers:\n  {}:\n    command: {}\n", scalar(&e.name), scalar(&e.command));
    out += if e.args.is_empty() { "    args: []\n" } else { "    args:\n" };
    for a in &e.args {
        out += &format!("      - {}\n", scalar(a));
    }
    if !e.env.is_empty() {
        out += "    env:\n";
        for (k, v) in &e.env {
            out += &format!("      {}: {}\n", scalar(k), scalar(v));
        }
    }
    out
}

/// A JSON string with what YAML counts as a line break or does not print escaped as well.
fn scalar(s: &str) -> String {
    let mut out = String::new();
    for c in Value::from(s).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out += &format!("\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(name: &str, args: &[&str], env: &[(&str, &str)]) -> Entry {
        Entry {
            name: name.into(),
            command: "/opt/bir/bir-proxy".into(),
            args: args.iter().map(|s| s.to_string()).collect(),
            env: env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        }
    }

    /// Reads the text with the format's own parser, as the JSON value that a host would see.
    fn read(text: &str, format: Format) -> Value {
        let format = match format {
            Format::Json | Format::Opencode => bir_model::Format::Json,
            Format::Yaml => bir_model::Format::Yaml,
            Format::Toml => bir_model::Format::Toml,
        };
        bir_edit::Document::parse(text.as_bytes(), format).unwrap().value().clone()
    }

    fn comes_back(e: &Entry) {
        for (format, root) in
            [(Format::Json, "mcpServers"), (Format::Toml, "mcp_servers"), (Format::Yaml, "mcpServers")]
        {
            let text = render(e, format);
            let v = read(&text, format);
            let server = &v[root][&e.name];
            assert_eq!(server["command"], json!(e.command), "{text}");
            assert_eq!(server["args"], json!(e.args), "{text}");
            let env: Map<String, Value> = e.env.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
            assert_eq!(server.get("env").cloned().unwrap_or(json!({})), Value::Object(env), "{text}");
            assert_eq!(v[root].as_object().unwrap().len(), 1);
        }
    }

    #[test]
    fn awkward_words_come_back_from_every_format() {
        let words = [
            "",
            " ",
            "yes",
            "on",
            "~",
            "null",
            "1.0",
            "0x1f",
            "12:30:00",
            "2026-11-29",
            "- a",
            "# no comment",
            "a: b",
            "{x}",
            "[y]",
            "&a",
            "*a",
            "!t",
            "%d",
            "@at",
            "`b`",
            "it's",
            "say \"hi\"",
            "C:\\dir\\x",
            "tab\there",
            "line\nbreak\r\n",
            "é中😀",
            "\u{2028}\u{85}\u{7f}\u{feff}",
            "\u{1}",
            "${VAR} $(x)",
            "'''",
            "\"\"\"",
        ];
        let env: Vec<(&str, &str)> = vec![("A", "yes"), ("B.c", "line\nbreak"), ("no", "\u{85}")];
        for name in ["x", "my server", "a.b", "no", "1", "it's \"it\"", "é"] {
            comes_back(&entry(name, &words, &env));
        }
        comes_back(&entry("x", &[], &[]));
    }

    proptest! {
        #[test]
        fn any_text_comes_back(name in "\\PC{1,20}", args in proptest::collection::vec(any::<String>(), 0..4), value in any::<String>()) {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            comes_back(&entry(&name, &args, &[("K", &value)]));
        }
    }

    #[test]
    fn an_entry_of_opencode_is_one_command_with_its_environment() {
        let e = entry("every thing", &["--server-name", "x", "--url", "https://x/"], &[("A", "1")]);
        let server = json!({"type": "local", "command": ["/opt/bir/bir-proxy", "--server-name", "x", "--url", "https://x/"],
            "enabled": true, "environment": {"A": "1"}});
        assert_eq!(
            read(&render(&e, Format::Opencode), Format::Opencode),
            json!({"mcp": {"every thing": server}})
        );
        let bare = read(&render(&entry("x", &[], &[]), Format::Opencode), Format::Opencode);
        assert_eq!(
            bare["mcp"]["x"],
            json!({"type": "local", "command": ["/opt/bir/bir-proxy"], "enabled": true})
        );
    }

    #[test]
    fn the_entry_reads_as_people_write_it() {
        let e = entry("everything", &["--server-name", "everything", "--", "npx", "-y"], &[("A", "1")]);
        let json = r#"{
  "mcpServers": {
    "everything": {
      "command": "/opt/bir/bir-proxy",
      "args": [
        "--server-name",
        "everything",
        "--",
        "npx",
        "-y"
      ],
      "env": {
        "A": "1"
      }
    }
  }
}
"#;
        assert_eq!(render(&e, Format::Json), json);
        let toml = r#"[mcp_servers.everything]
command = "/opt/bir/bir-proxy"
args = ["--server-name", "everything", "--", "npx", "-y"]

[mcp_servers.everything.env]
A = "1"
"#;
        assert_eq!(render(&e, Format::Toml), toml);
        let yaml = r#"mcpServers:
  "everything":
    command: "/opt/bir/bir-proxy"
    args:
      - "--server-name"
      - "everything"
      - "--"
      - "npx"
      - "-y"
    env:
      "A": "1"
"#;
        assert_eq!(render(&e, Format::Yaml), yaml);
    }
}
