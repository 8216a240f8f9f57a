//! Which calls are not to be recorded: `record.exclude`, asked about one call.

use crate::Raw;
use crate::config::{Exclude, glob};
use std::path::Path;

/// What is not to be recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusions(Vec<Exclude>);

/// A call, as far as whoever asks knows it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The server; none for a tool of the host's own, and where the host does not tell it.
    pub server: Option<&'a str>,
    /// Every name under which the tool may be known.
    pub tools: &'a [&'a str],
    /// Where the host works.
    pub here: &'a Path,
    /// The arguments.
    pub arguments: Option<Raw<'a>>,
}

impl Exclusions {
    /// Of the entries of a configuration.
    #[must_use]
    pub fn new(entries: Vec<Exclude>) -> Self {
        Self(entries)
    }

    /// Whether nothing is kept out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them covers a call.
    #[must_use]
    pub fn covers(&self, call: &Call<'_>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let by_path = self.0.iter().any(|exclude| matches!(exclude, Exclude::Path(_)));
        let texts = call.arguments.filter(|_| by_path).map(|raw| strings(raw.head)).unwrap_or_default();
        let covers = |exclude: &Exclude| match (exclude, call.server) {
            // The tools of the host itself are those of no server.
            (Exclude::Server(_), None) => false,
            (_, server) => {
                let server = server.unwrap_or_default();
                call.tools.iter().any(|tool| exclude.covers(server, tool, call.here, &texts))
            }
        };
        self.0.iter().any(covers)
    }

    /// Whether one of them covers a tool of which only the rendered name is known. `form` shows how the host renders it, with
    /// `{server}` and `{tool}`. Characters that hosts change when they render count as equal, so that this covers
    /// too much sooner than too little.
    #[must_use]
    pub fn covers_rendered(&self, form: &str, rendered: &str) -> bool {
        let rendered = plain(rendered);
        self.0.iter().any(|exclude| match exclude {
            Exclude::Server(server) => glob(&of(form, server, "*"), &rendered, false),
            Exclude::Tool(server, tool) => glob(&of(form, server, tool), &rendered, false),
            Exclude::Dir(_) | Exclude::Path(_) => false,
        })
    }

    /// Whether nothing at all is to be kept of what happens in a directory.
    #[must_use]
    pub fn covers_dir(&self, here: &Path) -> bool {
        self.0.iter().any(|exclude| matches!(exclude, Exclude::Dir(dir) if here.starts_with(dir)))
    }
}

/// The pattern of a rendered name.
fn of(form: &str, server: &str, tool: &str) -> String {
    plain(&form.replace("{server}", server).replace("{tool}", tool))
}

/// What every host leaves as it is, and `_` for the rest.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '*' | '?') { c } else { '_' }).collect()
}

/// Every string of a JSON value, names of members too, also where the value is cut off.
fn strings(json: &[u8]) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(begin) = json[at..].iter().position(|&b| b == b'"').map(|n| at + n) {
        let mut end = begin + 1;
        while let Some(&b) = json.get(end).filter(|&&b| b != b'"') {
            end += if b == b'\\' { 2 } else { 1 };
        }
        let Some(token) = json.get(begin..=end) else { break };
        found.extend(serde_json::from_slice::<String>(token).ok());
        at = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclusions(entries: &[&str]) -> Exclusions {
        Exclusions::new(entries.iter().map(|entry| Exclude::parse(entry).unwrap()).collect())
    }

    #[test]
    fn strings_are_found_wherever_they_stand() {
        let json = br#"{"path":"/a/.env","n":[1,"b\"\u0041",{"k":null}],"cut":"/b/.e"#;
        assert_eq!(strings(json), ["path", "/a/.env", "n", "b\"A", "k", "cut"]);
        for broken in [&b"\""[..], b"\"\\", b"", b"{\"a\\", b"\"\xff\"\"x\""] {
            strings(broken);
        }
        assert_eq!(strings(b"\"\xff\"\"x\""), ["x"]);
    }

    #[test]
    fn a_call_is_covered_under_any_of_its_names() {
        let of = |entry: &str, server: Option<&str>, tools: &[&str]| {
            let json = br#"{"p":"/a/.env"}"#;
            let arguments = Some(Raw { head: json, len: json.len() as u64 });
            exclusions(&[entry]).covers(&Call { server, tools, here: Path::new("/w/x"), arguments })
        };
        assert!(of("server:git*", Some("github"), &["x"]));
        assert!(!of("server:*", None, &["Bash"]), "a tool of the host is of no server");
        assert!(of("tool:*/Bash", None, &["Bash"]));
        assert!(of("tool:github/delete_repo", Some("github"), &["mcp__github__delete_repo", "delete_repo"]));
        assert!(of("path:**/.env", None, &["Read"]) && of("dir:/w", None, &["Read"]));
        assert!(!of("dir:/wx", None, &["Read"]));
        assert!(exclusions(&["dir:/w"]).covers_dir(Path::new("/w/x")));
    }

    #[test]
    fn a_rendered_name_is_covered_by_what_it_was_made_of() {
        for (entry, form, rendered, covered) in [
            ("server:every-thing", "mcp__{server}__{tool}", "mcp__every_thing__a_b", true),
            ("tool:every-thing/a.b*", "mcp__{server}__{tool}", "mcp__every_thing__a_b_c", true),
            ("tool:every-thing/a.b", "mcp__{server}__{tool}", "mcp__every_thing__a_b_c", false),
            ("server:git", "{server}-{tool}", "git-log", true),
            ("server:git", "{server}-{tool}", "gitea-log", false),
            ("path:**", "{server}-{tool}", "git-log", false),
        ] {
            assert_eq!(exclusions(&[entry]).covers_rendered(form, rendered), covered, "{entry} {rendered}");
        }
    }
}
