//! `config.toml` of the state directory: what a person decided about recording.
//!
//! A file that cannot be read or understood never stops a recorder: the defaults apply, and a warning says where it is broken.
//! An unknown key is a warning too.

use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::redact::Rules;
use crate::spool::DEFAULT_LIMIT;

/// Name of the file.
pub const FILE: &str = "config.toml";

/// What is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `[record]`.
    pub record: RecordConfig,
    /// `[redact]`.
    pub redact: Rules,
    /// `[hub] url`: where records are shipped.
    pub hub: Option<String>,
}

/// What is recorded, and how much of it may wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordConfig {
    /// What is not recorded.
    pub exclude: Vec<Exclude>,
    /// Bytes that the spool may hold.
    pub spool_limit: u64,
}

impl Default for Config {
    fn default() -> Self {
        let record = RecordConfig { exclude: Vec::new(), spool_limit: DEFAULT_LIMIT };
        Self { record, redact: Rules::default(), hub: None }
    }
}

/// One thing that is not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclude {
    /// `server:NAME`: every call of a server; `*` stands for anything.
    Server(String),
    /// `tool:SERVER/TOOL`: a tool; `*` stands for anything.
    Tool(String, String),
    /// `dir:/absolute`: every call while the working directory is there or below.
    Dir(PathBuf),
    /// `path:GLOB`: a call that has such a path among its arguments; `*` is anything but `/`, `**` is anything.
    Path(String),
}

impl Exclude {
    fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').ok_or("it is `server:…`, `tool:…`, `dir:…` or `path:…`")?;
        let rest = rest.trim();
        match kind.trim() {
            _ if rest.is_empty() => Err(format!("nothing follows `{kind}:`")),
            "server" => Ok(Self::Server(rest.into())),
            "tool" => rest
                .split_once('/')
                .map(|(server, tool)| Self::Tool(server.into(), tool.into()))
                .ok_or_else(|| "it is `tool:SERVER/TOOL`".into()),
            "dir" if Path::new(rest).is_absolute() => Ok(Self::Dir(rest.into())),
            "dir" => Err("the directory has to be absolute".into()),
            "path" => Ok(Self::Path(rest.into())),
            _ => Err(format!("`{kind}` is none of server, tool, dir, path")),
        }
    }

    /// Whether it covers a call of `tool` of `server` in the directory `here`, whose arguments hold the strings `texts`.
    #[must_use]
    pub fn covers(&self, server: &str, tool: &str, here: &Path, texts: &[String]) -> bool {
        match self {
            Self::Server(pattern) => glob(pattern, server, false),
            Self::Tool(of, pattern) => glob(of, server, false) && glob(pattern, tool, false),
            Self::Dir(dir) => here.starts_with(dir),
            Self::Path(pattern) => texts.iter().any(|text| glob(pattern, text, true)),
        }
    }
}

/// Whether the whole of `text` is of the pattern. In a path a single star stops at a slash.
fn glob(pattern: &str, text: &str, path: bool) -> bool {
    // `**/` in front may be no directory at all.
    let anywhere = pattern.strip_prefix("**/").filter(|_| path);
    anywhere.is_some_and(|rest| is_of(rest, text, path)) || is_of(pattern, text, path)
}

fn is_of(pattern: &str, text: &str, path: bool) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    // Where the last star stands, what it has taken so far, and whether it may take slashes.
    let mut stars: Vec<(usize, usize, bool)> = Vec::new();
    let (mut i, mut j) = (0, 0);
    // Each step moves on in the text or gives one more byte to a star: so many steps at most.
    let mut steps = (p.len() + 1).saturating_mul(t.len() + 1).saturating_mul(2);
    loop {
        steps = steps.saturating_sub(1);
        if steps == 0 {
            return false;
        }
        if p.get(i) == Some(&b'*') {
            let double = p.get(i + 1) == Some(&b'*');
            i += if double { 2 } else { 1 };
            stars.push((i, j, double || !path));
            continue;
        }
        match (p.get(i), t.get(j)) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || (*a == b'?' && *b != b'/') => {
                i += 1;
                j += 1;
                continue;
            }
            _ => {}
        }
        // Give the last star that can take it one byte more.
        loop {
            let Some((after, taken, slashes)) = stars.pop() else { return false };
            if t.get(taken).is_some_and(|b| slashes || *b != b'/') {
                stars.push((after, taken + 1, slashes));
                (i, j) = (after, taken + 1);
                break;
            }
        }
    }
}

impl Config {
    /// Reads the file of a state directory. What is wrong with it comes back as warnings, one line each.
    #[must_use]
    pub fn load(state_dir: &Path) -> (Self, Vec<String>) {
        let path = state_dir.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self::parse("", ""),
            Err(e) => {
                let (config, mut warnings) = Self::parse("", "");
                warnings.push(format!("{} cannot be read ({e}); the defaults apply", path.display()));
                (config, warnings)
            }
        }
    }

    /// Reads the text of the file; `place` names it in warnings. `BIR_REDACT_LEGACY_KEYS` and `BIR_SPOOL_LIMIT_MB` win.
    fn parse(text: &str, place: &str) -> (Self, Vec<String>) {
        let variable = |name: &str| std::env::var(name).ok();
        Self::from_parts(text, place, &variable)
    }

    fn from_parts(text: &str, place: &str, variable: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let file: File = toml::from_str(text).unwrap_or_else(|e| {
            let at = e.span().map(|span| place_of(text, span.start)).unwrap_or_default();
            let what = e.message().lines().next().unwrap_or_default().to_owned();
            warnings.push(format!("{place}{at}: {what}; the defaults apply"));
            File::default()
        });
        for key in file.unknown() {
            warnings.push(format!("{place}: unknown key `{key}`; it changes nothing"));
        }
        let mut config = Self::default();
        for text in &file.record.exclude {
            match Exclude::parse(text) {
                Ok(exclude) => config.record.exclude.push(exclude),
                Err(why) => {
                    warnings.push(format!("{place}: `{text}` in record.exclude excludes nothing: {why}"))
                }
            }
        }
        let limit = match variable("BIR_SPOOL_LIMIT_MB").filter(|v| !v.is_empty()) {
            None => file.record.spool_limit_mb,
            Some(value) => value.parse().ok().or_else(|| {
                warnings.push(format!("BIR_SPOOL_LIMIT_MB is `{value}`; it takes a number of MiB"));
                file.record.spool_limit_mb
            }),
        };
        match limit {
            Some(mib) if mib > 0 => config.record.spool_limit = mib.saturating_mul(1024 * 1024),
            Some(_) => warnings
                .push(format!("{place}: the limit of the spool cannot be 0; {DEFAULT_LIMIT} bytes apply")),
            None => {}
        }
        config.redact.keys = file.redact.keys;
        config.redact.keep = file.redact.keep;
        config.redact.patterns = file.redact.patterns;
        config.redact.legacy_keys =
            variable("BIR_REDACT_LEGACY_KEYS").is_some_and(|v| v == "1" || v == "true");
        config.hub = file.hub.url;
        (config, warnings)
    }
}

/// ` line N, column M`, counted from 1.
fn place_of(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(" line {line}, column {column}")
}

type Rest = std::collections::BTreeMap<String, toml::Value>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    record: RecordTable,
    redact: RedactTable,
    hub: HubTable,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecordTable {
    exclude: Vec<String>,
    spool_limit_mb: Option<u64>,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RedactTable {
    keys: Vec<String>,
    keep: Vec<String>,
    patterns: Vec<String>,
    #[serde(flatten)]
    rest: Rest,
}

/// The hub reads more of this table than a recorder does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HubTable {
    url: Option<String>,
}

impl File {
    fn unknown(&self) -> Vec<String> {
        let tables = [("", &self.rest), ("record.", &self.record.rest), ("redact.", &self.redact.rest)];
        tables.iter().flat_map(|(table, rest)| rest.keys().map(move |key| format!("{table}{key}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Config, Vec<String>) {
        Config::from_parts(text, "config.toml", &|_| None)
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        assert_eq!(parse(""), (Config::default(), Vec::new()));
    }

    #[test]
    fn what_is_said_is_taken() {
        let (config, warnings) = parse(
            "[record]\nexclude = ['server:github', 'tool:git*/delete_*', 'dir:/home/a', 'path:**/.env']\nspool_limit_mb = 1\n\
             [redact]\nkeys = ['ssn']\nkeep = ['x']\npatterns = ['E\\d']\n[hub]\nurl = 'https://h'\nlisten = 'x'\n",
        );
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(config.record.exclude.len(), 4);
        assert_eq!(config.record.spool_limit, 1024 * 1024);
        assert_eq!((config.redact.keys, config.redact.patterns), (vec!["ssn".into()], vec!["E\\d".into()]));
        assert_eq!(config.hub.as_deref(), Some("https://h"));
    }

    #[test]
    fn what_is_wrong_is_told_and_stops_nothing() {
        for (text, told) in [
            ("[record\n", "line 1"),
            ("[record]\nexclude = 7\n", "line 2"),
            ("[recrod]\n", "`recrod`"),
            ("[record]\nexlude = []\n", "`record.exlude`"),
            ("[record]\nexclude = ['github']\n", "`github`"),
            ("[record]\nexclude = ['dir:here']\n", "absolute"),
            ("[record]\nspool_limit_mb = 0\n", "cannot be 0"),
        ] {
            let (config, warnings) = parse(text);
            assert_eq!(config, Config::default(), "{text}");
            assert!(warnings.len() == 1 && warnings[0].contains(told), "{text}: {warnings:?}");
        }
    }

    #[test]
    fn variables_win() {
        let variables = |name: &str| match name {
            "BIR_SPOOL_LIMIT_MB" => Some("2".into()),
            "BIR_REDACT_LEGACY_KEYS" => Some("1".into()),
            _ => None,
        };
        let (config, _) = Config::from_parts("[record]\nspool_limit_mb = 1\n", "", &variables);
        assert_eq!((config.record.spool_limit, config.redact.legacy_keys), (2 * 1024 * 1024, true));
    }

    #[test]
    fn patterns_cover_what_they_say() {
        for (pattern, text, covers) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("*.env", "x.env", true),
            ("**/.env", "/a/b/.env", true),
            ("**/.env", ".env", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/b/c", false),
            ("/a/**/c", "/a/b/b/c", true),
            ("**/.env", "x.env", false),
            ("?b", "ab", true),
            ("a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(glob(pattern, text, true), covers, "{pattern} {text}");
        }
        assert!(glob("a*", "a/b", false));
    }

    #[test]
    fn a_call_is_covered_by_server_tool_directory_or_path() {
        let texts = vec!["/home/a/.env".to_owned()];
        let covers = |text: &str| {
            Exclude::parse(text).unwrap().covers("github", "delete_repo", Path::new("/home/a/x"), &texts)
        };
        for (text, yes) in [
            ("server:github", true),
            ("server:git", false),
            ("tool:github/delete_*", true),
            ("tool:other/delete_*", false),
            ("dir:/home/a", true),
            ("dir:/home/ab", false),
            ("path:**/.env", true),
            ("path:*.env", false),
        ] {
            assert_eq!(covers(text), yes, "{text}");
        }
    }
}
