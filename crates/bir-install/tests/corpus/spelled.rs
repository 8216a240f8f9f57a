//! What is written in a way of its own comes back in that way; and comments that a change would take away stay, and are kept nowhere else.

use crate::home::{Asked, Home};
use bir_hosts::Host;
use proptest::prelude::*;

const CODEX: &str = "~/.codex/config.toml";

fn wrap(home: &Home, servers: usize) {
    let hosts = Asked { host: Some(Host::Codex), servers: vec!["a".into(), "b".into()], ..Asked::default() };
    let plan = home.plan(&hosts);
    assert_eq!(plan.servers.iter().filter(|line| line.outcome.changes()).count(), servers);
    home.carry_out(&plan).unwrap();
}

#[test]
fn credentials_with_escapes_come_back_byte_for_byte() {
    for args in [
        r#"args=["{\"token\":\"abcdef123456zz\"}"]"#,
        r#"args = ['''{"token":"abcdef123456zz"}''']"#,
        "args=['-u', # one\n '''--token=abcdef123456zz''', \"\\u0041\"] # two",
        "args = [\n  \"--header\", \"Authorization: Bearer \\\"abcdef123456zz\\\"\",\n]",
    ] {
        let home = Home::new();
        let text = format!("# top\n[mcp_servers.a]\ncommand = 'npx' # why\n{args}\n");
        let path = home.put(CODEX, text.as_bytes());
        let before = home.picture();
        wrap(&home, 1);
        let wrapped = std::fs::read_to_string(&path).unwrap();
        let (_, rest) = args.split_once('[').unwrap();
        assert!(wrapped.ends_with(&format!("{}\n", rest.trim_start())), "{wrapped}");
        assert!(!home.kept().contains("abcdef123456zz"));
        home.carry_out(&home.out(false)).unwrap();
        assert!(home.picture() == before, "{}", std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn comments_that_would_go_with_an_address_stay_and_are_kept_nowhere_else() {
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let home = Home::new();
    let text = format!(
        "[mcp_servers.a]\nurl = \"http://localhost:1/mcp\" # old key: {token}\n# above\n\
         http_headers = {{ X-Key = \"abcdef123456zz\" }} # Authorization = \"Bearer zzyyxx998877\"\n\n\
         [mcp_servers.b]\ncommand = \"npx\" # why\nargs = [ # in\n  '-u', # key: {token}\n]\n"
    );
    let path = home.put(CODEX, text.as_bytes());
    // The one with the address is left as it is.
    wrap(&home, 1);
    assert!(
        std::fs::read_to_string(&path).unwrap().starts_with(text.split("[mcp_servers.b]").next().unwrap())
    );
    for secret in [token.as_str(), "zzyyxx998877", "abcdef123456zz"] {
        assert!(!home.kept().contains(secret), "{secret}");
    }
    home.carry_out(&home.out(false)).unwrap();
    let back = std::fs::read_to_string(&path).unwrap();
    assert_eq!(back, text);
}

/// Wrapped and taken back, with nothing else having written: how many were wrapped, and that no value is kept.
fn there_and_back(at: &str, host: Host, text: &str, secret: &str) -> (Home, usize) {
    let home = Home::new();
    home.put(at, text.as_bytes());
    let before = home.picture();
    let plan = home.plan(&Asked { host: Some(host), ..Asked::default() });
    let wrapped = plan.servers.iter().filter(|line| line.outcome.changes()).count();
    home.carry_out(&plan).unwrap();
    assert!(!home.kept().contains(secret), "{text}\n{}", home.kept());
    let plan = home.out(false);
    assert_eq!(plan.notes, Vec::<String>::new(), "{text}");
    home.carry_out(&plan).unwrap();
    let back = std::fs::read_to_string(home.place(at)).unwrap();
    assert!(home.picture() == before, "{text}\n{back}");
    (home, wrapped)
}

#[test]
fn escapes_of_every_format_come_back_as_they_were_written() {
    // Two entries, so that the other one's spacing is seen as well.
    let json = |entry: &str| {
        format!("{{ \"mcpServers\":{{\"a\":{{{entry}}},\"b\" : {{\"command\":\"npx\" , \"args\":[ ]}}}}}}")
    };
    for entry in [
        r#""url":"https://h/mcp?a=1\u0026key=abcdef123456zz","headers":{"A":"x"}"#,
        r#""url":"https:\/\/h\/p","headers":{"A":"x"}"#,
        r#""url":"https://h/p","headers":{"X-Key":"abcdef123456zz\u003d\u003D"}"#,
        r#""url":"https://h/p","headers":{"X-Key":"abcdef\"12\\3456zz"}"#,
        r#""url":"https://h/p","headers":{"X-\u0041":"x","B":"\u0041"}"#,
        r#""command":"n\u0070x","args":["\u0041"]"#,
        r#""command":"/home/jos\u00e9/srv""#,
        r#""command":"/home/\uD83D\ude00/srv""#,
        r#""command":"\u002fh","env":{"T":"abcdef\u003123456zz"}"#,
    ] {
        let expected = if entry.contains("uD83D") { 1 } else { 2 };
        let (_, wrapped) = there_and_back("~/.cursor/mcp.json", Host::Cursor, &json(entry), "123456zz");
        assert_eq!(wrapped, expected, "{entry}");
    }
    for entry in [
        "command = \"/caf\\u00e9\"",
        "command = \"/caf\\U000000e9\" # why",
        "url = \"https://h/p?k=abcdef\\u0031123456zz\"\nhttp_headers = { A = 'x' }",
        "url = 'https://h/p'\nhttp_headers = { A = 'q\"abcdef123456zz', B = \"\\u003d\" }",
        "url = 'https://h/p'\n[mcp_servers.a.http_headers]\nA = \"x\\u003dabcdef123456zz\"",
    ] {
        let text = format!("[mcp_servers]\nb={{command='npx',args = [ ]}}\n[mcp_servers.a]\n{entry}\n");
        let (_, wrapped) = there_and_back(CODEX, Host::Codex, &text, "123456zz");
        assert_eq!(wrapped, 2, "{entry}");
    }
    for entry in [
        "cmd: \"n\\x70x\"",
        "cmd: 'it''s'",
        "cmd: \"/caf\\u00e9/\\_x\"",
        "uri: \"https:\\/\\/h/p?k=abcdef\\x31123456zz\"\n    headers: {A: 'it''s', B: \"\\x3d\"}",
    ] {
        let kind = if entry.starts_with("uri") { "streamable_http" } else { "stdio" };
        let text = format!(
            "extensions:\n  b: {{enabled: true,  type: stdio, name: b, cmd: npx}}\n  a:\n    enabled: true\n    name: a\n    type: {kind}\n    {entry}\n"
        );
        let (_, wrapped) = there_and_back("~/.config/goose/config.yaml", Host::Goose, &text, "123456zz");
        assert_eq!(wrapped, 2, "{entry}");
    }
}

#[test]
fn what_cannot_come_back_is_left_and_takes_nothing_else_with_it() {
    let home = Home::new();
    // Digits of both cases have no name.
    let text = r#"{"mcpServers":{"a":{"command":"/h/\u00eF/srv" ,"args":[ ]},"b":{ "command":"n\u0070x" }}}"#;
    let path = home.put("~/.cursor/mcp.json", text.as_bytes());
    let plan = home.plan(&Asked { host: Some(Host::Cursor), ..Asked::default() });
    let codes: Vec<_> = plan
        .servers
        .iter()
        .map(|line| match &line.outcome {
            bir_install::plan::Outcome::Left(refusal) => refusal.code,
            other => other.code(),
        })
        .collect();
    assert_eq!(codes, ["spelling", "wrapped"]);
    home.carry_out(&plan).unwrap();
    home.carry_out(&home.out(false)).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
}

#[test]
fn an_entry_of_a_named_file_is_nobody_elses() {
    let home = Home::new();
    let path = home.put("~/.cursor/mcp.json", br#"{"mcpServers":{"a":{"command":"npx"}}}"#);
    let link = home.place("~/link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let before = home.picture();
    for named in [&path, &link] {
        let plan = home.plan(&Asked { config_files: vec![named.clone()], ..Asked::default() });
        home.carry_out(&plan).unwrap();
        let adopted = home.adopted();
        let plan = home.out_of(&adopted, true);
        let told: Vec<_> =
            plan.servers.iter().map(|line| (line.host.as_str(), line.outcome.code())).collect();
        assert_eq!(told, [("file", "restored")]);
        home.carry_out(&plan).unwrap();
        assert!(home.picture() == before && home.out(true).operation.ledger.is_empty());
    }
}

/// A character, and a way to write it in a text of JSON.
fn written() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            'a',
            'Z',
            '7',
            '/',
            '"',
            '\\',
            '\'',
            '=',
            '&',
            'é',
            '日',
            '\u{1f600}',
            '-',
        ]),
        0..4_u8,
    )
        .prop_map(|(c, how)| {
            let unit = |upper: bool| {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units
                    .iter()
                    .map(|one| if upper { format!("\\u{one:04X}") } else { format!("\\u{one:04x}") })
                    .collect()
            };
            match (how, c) {
                (0, _) => unit(false),
                (1, _) => unit(true),
                (_, '"' | '\\') => format!("\\{c}"),
                (2, '/') => "\\/".into(),
                _ => c.to_string(),
            }
        })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(written(), 1..24).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_escaped_comes_back(command in text(), arg in text(), path in text(), header in text()) {
        let json = format!(
            "{{ \"mcpServers\":{{\"a\":{{\"command\":\"/x/{command}\", \"args\":[\"{arg}\"] }},\"b\":{{\"url\":\"https://h/{path}\",\"headers\" : {{\"A\":\"{header}\"}}}}}}}}"
        );
        there_and_back("~/.cursor/mcp.json", Host::Cursor, &json, "a value that is not there");
        let toml = format!(
            "[mcp_servers.a]\ncommand=\"/x/{}\"\nargs = [ \"x\"]\n[mcp_servers.b]\nurl = 'https://h/p'\nhttp_headers={{A=\"{}\"}}\n",
            command.replace("\\/", "/").replace("\\ud83d\\ude00", "x").replace("\\uD83D\\uDE00", "x"),
            header.replace("\\/", "/").replace("\\ud83d\\ude00", "x").replace("\\uD83D\\uDE00", "x"),
        );
        there_and_back(CODEX, Host::Codex, &toml, "a value that is not there");
    }
}
