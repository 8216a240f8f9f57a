//! What to do with the entry, on stderr: stdout is the entry alone.

use super::Entry;
use crate::cli::Format;
use serde_json::{Map, json};
use std::path::Path;

/// What stands for a value of the environment.
const VALUE: &str = "…";

/// The next steps. No value of the environment is in them: it may be a secret, and stands in the entry already.
pub(crate) fn steps(entry: &Entry, format: Format) -> Vec<String> {
    let mut steps = match format {
        Format::Json if entry.env.is_empty() => vec![add(entry, "")],
        Format::Json => vec![
            // The project's file is shared, and what may be secret belongs into one's own.
            add(entry, " -s local"),
            format!(
                "      with the values of the entry above in place of {VALUE}; it goes into ~/.claude.json, which is yours alone"
            ),
        ],
        Format::Opencode => {
            vec!["next: for opencode, put the entry into ~/.config/opencode/opencode.json, or opencode.json of the project".into()]
        }
        Format::Toml => vec!["next: for Codex, put the entry into ~/.codex/config.toml".into()],
        Format::Yaml => vec!["next: put the entry into the client's configuration".into()],
    };
    let other = "      for Codex, take --format toml, and put the entry into ~/.codex/config.toml; for opencode, --format opencode";
    if format == Format::Json {
        steps.push(format!(
            "      an entry of that name has to go first: keep the old one, then claude mcp remove {}",
            quoted(&entry.name)
        ));
        steps.push(other.into());
    }
    steps.push("      then restart the client, and see its calls with `bir runs follow`".into());
    steps
}

/// The command with which Claude Code takes the entry.
fn add(entry: &Entry, scope: &str) -> String {
    let mut server = json!({ "type": "stdio", "command": entry.command, "args": entry.args });
    if !entry.env.is_empty() {
        let names: Map<_, _> = entry.env.iter().map(|(name, _)| (name.clone(), VALUE.into())).collect();
        server["env"] = names.into();
    }
    let (name, server) = (quoted(&entry.name), quoted(&server.to_string()));
    format!("next: for Claude Code, claude mcp add-json {name} {server}{scope}")
}

/// A warning where a program that a configuration names lies in a directory that cargo writes and cleans.
pub(crate) fn warning(program: &Path) -> Option<String> {
    let of_cargo = |dir: &&Path| dir.ends_with("target") || dir.join(".rustc_info.json").is_file();
    let dir = program.ancestors().skip(1).find(of_cargo)?;
    Some(format!(
        "warning: {} lies in {}, a directory of cargo; moving or cleaning it breaks the entry, so install bir elsewhere for lasting use",
        program.file_name().unwrap_or_default().display(),
        dir.display()
    ))
}

/// A word of a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, env: &[(&str, &str)]) -> Entry {
        Entry {
            name: name.into(),
            command: "/opt/bir/bir-proxy".into(),
            args: vec!["--".into(), "it's".into()],
            env: env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        }
    }

    #[test]
    fn each_client_has_its_next_step() {
        assert_eq!(
            steps(&entry("my server", &[]), Format::Json)[0],
            r#"next: for Claude Code, claude mcp add-json 'my server' '{"type":"stdio","command":"/opt/bir/bir-proxy","args":["--","it'\''s"]}'"#
        );
        let secret = entry("x", &[("KEY", "hunter2")]);
        // A secret is not led into a file that everybody reads.
        assert!(!steps(&secret, Format::Json).concat().contains(".mcp.json"));
        for (format, part) in [
            (Format::Json, r#""env":{"KEY":"…"}}' -s local"#),
            (Format::Json, "~/.claude.json, which is yours alone"),
            (Format::Json, "claude mcp remove x\n"),
            (Format::Opencode, "opencode.json"),
            (Format::Toml, "~/.codex/config.toml"),
            (Format::Yaml, "client"),
        ] {
            let all = steps(&secret, format).join("\n");
            assert!(
                all.contains(part) && all.ends_with("`bir runs follow`") && !all.contains("hunter2"),
                "{all}"
            );
        }
    }

    #[test]
    fn a_proxy_that_cargo_may_clean_away_is_told() {
        assert!(
            warning(Path::new("/src/bir/target/release/bir-proxy")).unwrap().contains("/src/bir/target,")
        );
        assert_eq!(warning(Path::new("/opt/bir/bin/bir-proxy")), None);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".rustc_info.json"), "{}").unwrap();
        assert!(warning(&dir.path().join("debug/bir-proxy")).is_some());
    }
}
