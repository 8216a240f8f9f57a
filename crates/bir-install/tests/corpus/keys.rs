//! Keys in files of all formats: one that has the shape of a credential is carried nowhere, and any other, whatever it says, hides nothing.

use crate::home::{Asked, Home, shown};
use bir_hosts::Host;
use bir_install::plan::{Outcome, Plan};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

const FILES: [(Host, &str, &str); 3] = [
    (Host::Cursor, "~/.cursor/mcp.json", "mcpServers"),
    (Host::Codex, "~/.codex/config.toml", "mcp_servers"),
    (Host::Goose, "~/.config/goose/config.yaml", "extensions"),
];

/// Servers as a host writes them: JSON that is YAML as well, or TOML.
fn written(host: Host, member: &str, servers: &Value) -> String {
    let mut document = bir_edit::Document::parse(
        b"",
        if host == Host::Codex { bir_model::Format::Toml } else { bir_model::Format::Yaml },
    )
    .unwrap();
    if host == Host::Cursor {
        return serde_json::to_string_pretty(&json!({ member: servers })).unwrap();
    }
    let at = bir_model::Place::keys([member]);
    document.edit(&bir_model::Edit::Set { at, value: servers.clone() }).unwrap();
    String::from_utf8(document.bytes()).unwrap()
}

fn command(host: Host) -> Value {
    match host {
        Host::Goose => {
            json!({"type": "stdio", "cmd": "npx", "args": ["-y", "@scope/pkg"], "enabled": true})
        }
        _ => json!({"command": "npx", "args": ["-y", "@scope/pkg"]}),
    }
}

fn remote(host: Host, headers: &Value) -> Value {
    let url = "https://host.example.com/mcp";
    match host {
        Host::Goose => json!({"type": "streamable_http", "uri": url, "headers": headers, "enabled": true}),
        Host::Codex => json!({"url": url, "http_headers": headers}),
        _ => json!({"url": url, "headers": headers}),
    }
}

/// The plan of one file, once it was carried out, shown again, and taken back.
fn planned(host: Host, at: &str, text: &str, secrets: &[&str]) -> Plan {
    let home = Home::new();
    let path = home.put(at, text.as_bytes());
    let asked =
        Asked { host: Some(host), everywhere: true, servers: vec![], hooks: false, ..Asked::default() };
    let plan = home.plan(&asked);
    let clean = |what: &str, text: &str| {
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{host:?}: {what}: {text}");
    };
    let said = |plan: &Plan| format!("{} {:?} {:?}", shown(plan), plan.missed, plan.partly);
    clean("the plan", &said(&plan));
    home.carry_out(&plan).unwrap();
    clean("the ledger", &home.kept());
    let out = home.out(true);
    clean("the plan of an uninstall", &said(&out));
    home.carry_out(&out).unwrap();
    let format = if host == Host::Codex { bir_model::Format::Toml } else { bir_model::Format::Yaml };
    let says = |text: &str| bir_edit::Document::parse(text.as_bytes(), format).unwrap().value().clone();
    assert_eq!(says(&std::fs::read_to_string(path).unwrap()), says(text), "{host:?}");
    plan
}

fn outcomes(plan: &Plan) -> Vec<(&str, &str)> {
    let code = |outcome: &'_ Outcome| match outcome {
        Outcome::Left(refusal) => refusal.code,
        other => other.code(),
    };
    plan.servers.iter().map(|line| (line.server.as_str(), code(&line.outcome))).collect()
}

#[test]
fn a_key_of_the_shape_of_a_credential_is_carried_nowhere() {
    for (host, at, member) in FILES {
        let header = format!("X-{TOKEN}");
        for name in [TOKEN, header.as_str()] {
            // Beside one that is wrapped, so that the file changes.
            let servers = json!({ name: command(host), "b": command(host) });
            let plan = planned(host, at, &written(host, member, &servers), &[TOKEN]);
            assert_eq!(outcomes(&plan), [("[hidden]", "credential"), ("b", "wrapped")], "{host:?}");
            let servers = json!({ "a": remote(host, &json!({ name: "hello" })), "b": command(host) });
            let plan = planned(host, at, &written(host, member, &servers), &[TOKEN, "hello"]);
            assert_eq!(outcomes(&plan), [("a", "credential"), ("b", "wrapped")], "{host:?}");
        }
        let mut a = command(host);
        let env = if host == Host::Goose { "envs" } else { "env" };
        a[env] = json!({ TOKEN: "hello", header: "hello" });
        let plan = planned(host, at, &written(host, member, &json!({ "a": a })), &[TOKEN, "hello"]);
        assert_eq!(outcomes(&plan), [("a", "wrapped")], "{host:?}");
    }
    let (host, at, member) = FILES[1];
    let url = "https://host.example.com/mcp";
    for more in [
        json!({"url": url, "bearer_token_env_var": TOKEN}),
        json!({"url": url, "env_http_headers": {"X-Key": TOKEN}}),
        json!({"url": url, "env_http_headers": {TOKEN: "NAME_OF_VARIABLE"}}),
    ] {
        let servers = json!({ "a": more, "b": command(host) });
        let plan = planned(host, at, &written(host, member, &servers), &[TOKEN]);
        assert_eq!(outcomes(&plan), [("a", "credential"), ("b", "wrapped")], "{more}");
    }
}

#[test]
fn a_server_that_was_asked_for_under_such_a_name_is_not_named_in_the_answer() {
    let home = Home::new();
    let (host, at, member) = FILES[0];
    home.put(at, written(host, member, &json!({ TOKEN: command(host) })).as_bytes());
    let other = TOKEN.to_uppercase().replace("GHP_", "ghp_");
    let plan = home.plan(&Asked { servers: vec![TOKEN.into(), other.clone()], ..Asked::default() });
    let text = format!("{} {:?}", shown(&plan), plan.missed);
    assert!(plan.missed.len() == 2 && !text.contains(TOKEN) && !text.contains(&other), "{text}");
}

/// All lines that a plan shows of a file's entry, without the others.
fn lines_of<'p>(plan: &'p Plan, place: &str) -> Vec<&'p str> {
    let lines = plan.diffs.iter().flat_map(|diff| &diff.lines).map(String::as_str);
    let mut lines = lines.skip_while(|line| *line != format!("@@ {place} @@"));
    let first = lines.next();
    first.into_iter().chain(lines.take_while(|line| !line.starts_with("@@ "))).collect()
}

#[test]
fn the_name_of_a_server_hides_nothing_of_others() {
    for (host, at, member) in FILES {
        let plain = json!({ "a": command(host), "b": command(host) });
        let plain = planned(host, at, &written(host, member, &plain), &[]);
        let expected = lines_of(&plain, &format!("{member}.b"));
        assert!(
            expected.len() > 4 && expected.iter().any(|line| line.contains("--server-name")),
            "{plain:?}"
        );
        for name in ["token", "apikey", "secrets", "passwords", "pw", "env", "headers"] {
            let servers = json!({ name: command(host), "b": command(host) });
            let plan = planned(host, at, &written(host, member, &servers), &[]);
            assert_eq!(lines_of(&plan, &format!("{member}.b")), expected, "{host:?}: {name}");
            // The entry itself reads as any other.
            let own = lines_of(&plan, &format!("{member}.{name}")).join("\n");
            let of_a = lines_of(&plain, &format!("{member}.a")).join("\n");
            let named = |text: &str, name: &str| {
                let mut text = text.replace(&format!("{member}.{name}"), "NAME");
                for quoted in [format!("\"{name}\""), format!("- {name}\n"), format!(" {name}:")] {
                    text = text.replace(&quoted, " NAME ");
                }
                text
            };
            assert_eq!(named(&own, name), named(&of_a, "a"), "{host:?}");
        }
    }
}

#[test]
fn words_of_bir_are_shown_whatever_else_is_a_credential() {
    let (host, at, member) = FILES[0];
    let mut a = command(host);
    a["args"] = json!(["-y", "@scope/pkg", "https://user:longpassword@h", "https://--server-name:other@h"]);
    a["env"] = json!({"A": "/opt/bir/bin/bir-proxy", "B": "hidden", "D": "--scope"});
    let web = remote(host, &json!({"X": "characters", "Y": "--transport"}));
    let servers = json!({ "a": a, "web": web });
    let plan = planned(host, at, &written(host, member, &servers), &["longpassword"]);
    let lines = [lines_of(&plan, "mcpServers.a"), lines_of(&plan, "mcpServers.web")].concat().join("\n");
    for word in
        ["\"user\"", "\"--server-name\"", "\"/opt/bir/bin/bir-proxy\"", "\"--scope\"", "…(4 characters)"]
    {
        assert!(lines.contains(word), "{word}: {lines}");
    }
    // What a person has written is shown without a credential that stands elsewhere.
    let mut a = command(host);
    a["args"] = json!(["-y", "@scope/cnrycnrycnry"]);
    a["env"] = json!({"A": "cnrycnrycnry"});
    planned(host, at, &written(host, member, &json!({ "a": a })), &["cnrycnrycnry"]);
}

#[test]
fn what_was_wrapped_under_such_a_name_is_put_back_and_kept_nowhere() {
    let proxy = crate::home::PROXY;
    let line = |name: &str| json!(["--server-name", name, "--scope", "user", "--", "npx", "-y", "pkg"]);
    let header = format!("X-{TOKEN}");
    let remote = json!({"command": proxy, "args": ["--server-name", "web", "--scope", "user", "--url", "https://h/mcp"],
        "env": {"BIR_UPSTREAM_HEADERS": json!({ header: "hello" }).to_string()}});
    let before = json!({"mcpServers": {TOKEN: {"command": proxy, "args": line(TOKEN)}, "web": remote,
        "b": {"command": proxy, "args": line("b")}}});
    let home = Home::new();
    let path = home.put("~/.cursor/mcp.json", before.to_string().as_bytes());
    let plan = home.plan(&Asked { everywhere: true, ..Asked::default() });
    assert_eq!(outcomes(&plan), [("[hidden]", "restored"), ("web", "restored"), ("b", "already")]);
    let text = shown(&plan);
    assert!(!text.contains(TOKEN) && !text.contains("hello"), "{text}");
    home.carry_out(&plan).unwrap();
    let now: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(now["mcpServers"][TOKEN], json!({"command": "npx", "args": ["-y", "pkg"]}));
    assert_eq!(
        now["mcpServers"]["web"],
        json!({"url": "https://h/mcp", "headers": { format!("X-{TOKEN}"): "hello" }})
    );
    assert_eq!(now["mcpServers"]["b"], before["mcpServers"]["b"]);
    assert!(!home.kept().contains(TOKEN), "{}", home.kept());
}
