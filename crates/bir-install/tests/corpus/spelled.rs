//! What is written in a way of its own comes back in that way; and comments that a change would take away stay, and are kept nowhere else.

use crate::home::{Asked, Home};
use bir_hosts::Host;

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
