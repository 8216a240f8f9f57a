//! The few peers that want a configuration file get one written for the run.

use super::Place;
use crate::Fail;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes the files and returns their folder.
pub(super) fn write(place: &Place, upstream: &Path, port: u16) -> Result<PathBuf, Fail> {
    let dir = place.out.join("configs");
    std::fs::create_dir_all(dir.join("home"))?;
    let up = upstream.to_string_lossy();
    let save = |name: &str, text: String| std::fs::write(dir.join(name), text);
    save("mcp.json", json!({ "mcpServers": { "up": { "command": up, "args": [] } } }).to_string())?;
    let kept = json!({ "command": up, "args": [], "lifecycle": "keep-alive" });
    save("mcporter.json", json!({ "mcpServers": { "up": kept }, "imports": [] }).to_string())?;
    let command = json!(up).to_string(); // a JSON string is a TOML string here
    save(
        "mcp-proxy.toml",
        format!(
            "[proxy]\nname = \"p\"\nseparator = \"_\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[backends]]\nname = \"up\"\ntransport = \"stdio\"\ncommand = {command}\nargs = []\n"
        ),
    )?;
    Ok(dir)
}

/// Fills the placeholders of a command's words.
pub(super) fn fill(command: &[String], with: &BTreeMap<&str, String>) -> Vec<String> {
    let word = |w: &String| with.iter().fold(w.clone(), |w, (k, v)| w.replace(&format!("{{{k}}}"), v));
    command.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_with_spaces_stays_one_word() {
        let with = BTreeMap::from([("UP", "/a b/up".to_string()), ("PORT", "7".to_string())]);
        let words = ["x", "{UP}", "h:{PORT}/{UP}"].map(String::from);
        assert_eq!(fill(&words, &with), ["x", "/a b/up", "h:7//a b/up"]);
    }
}
