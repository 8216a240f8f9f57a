//! Files that are too large to be kept: they are made here. Two thousand servers are a case of `tests/install`, which has a release build.

use crate::home::{Asked, Home};
use bir_hosts::Host;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// How long one way may take, in a build without optimisation, beside other tests: it is to end at all.
const BUDGET: Duration = Duration::from_secs(300);

/// A file of a host, in and out again; how many servers were wrapped.
fn in_and_out(host: Host, at: &str, text: &str) -> usize {
    let home = Home::new();
    let path = home.put(at, text.as_bytes());
    let before = home.picture();
    let start = Instant::now();
    let plan = home.plan(&Asked { host: Some(host), ..Asked::default() });
    let wrapped = plan.servers.iter().filter(|line| line.outcome.changes()).count();
    home.carry_out(&plan).unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), text.as_bytes());
    home.carry_out(&home.out(false)).unwrap();
    assert!(home.picture() == before, "{at} is not as it was");
    assert!(start.elapsed() < BUDGET, "{at} took {:?}", start.elapsed());
    wrapped
}

#[test]
fn five_mebibytes_of_history_beside_one_server() {
    let mut text = String::from("{\n  \"projects\": {\n");
    for number in 0..2_100 {
        let history = "words that somebody once typed ".repeat(80);
        let _ = writeln!(
            text,
            "    \"/home/mila/{number}\": {{\"history\": [{{\"display\": \"{history}\"}}], \"mcpServers\": {{}}}},"
        );
    }
    text.push_str("    \"/last\": {}\n  },\n  \"mcpServers\": {\"memory\": {\"command\": \"node\", \"args\": [\"memory.js\"]}}\n}\n");
    assert!(text.len() > 5 << 20, "{}", text.len());
    assert_eq!(in_and_out(Host::ClaudeCode, "~/.claude.json", &text), 1);
}

#[test]
fn two_hundred_servers() {
    let entry = |n: usize| format!("    \"server-{n}\": {{ \"command\": \"node\", \"args\": [\"{n}.js\"] }}");
    let entries: Vec<String> = (0..200).map(entry).collect();
    let text = format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", entries.join(",\n"));
    assert_eq!(in_and_out(Host::Cursor, "~/.cursor/mcp.json", &text), 200);
}

#[test]
fn a_hundred_tables() {
    let mut text = String::from("# many\n");
    for number in 0..100 {
        let _ = write!(
            text,
            "\n[mcp_servers.s{number}] # {number}\ncommand = \"node\"\nargs = [\"{number}.js\"]\n"
        );
    }
    assert_eq!(in_and_out(Host::Codex, "~/.codex/config.toml", &text), 100);
}

#[test]
fn forty_extensions() {
    let mut text = String::from("extensions:\n");
    for number in 0..40 {
        let _ = write!(
            text,
            "  e{number}: # {number}\n    enabled: true\n    type: stdio\n    name: e{number}\n    cmd: node\n    args:\n      - {number}.js\n"
        );
    }
    assert_eq!(in_and_out(Host::Goose, "~/.config/goose/config.yaml", &text), 40);
}

#[test]
fn a_file_that_is_longer_than_any_configuration_is_left() {
    let home = Home::new();
    let mut text = b"{\"mcpServers\": {\"a\": {\"command\": \"node\"}}}".to_vec();
    text.resize(bir_edit::LONGEST + 1, b' ');
    home.put("~/.cursor/mcp.json", &text);
    let plan = home.plan(&Asked { host: Some(Host::Cursor), ..Asked::default() });
    assert!(plan.operation.changes.is_empty());
    assert!(plan.untouched.iter().any(|(_, why)| why.contains("MiB")), "{:?}", plan.untouched);
}
