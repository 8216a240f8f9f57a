//! `config.toml` of the state directory: what a person decided about recording.
//!
//! What is not understood may be a wish not to record: then nothing is recorded until it is mended ([`Loaded::unclear`]), since
//! a call that was not recorded can be made again, and a secret that was cannot be taken back. Only what can hold no such wish (an
//! unknown key without a text, a limit) is a warning.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

use crate::redact::{self, Rules};
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

/// What a state directory's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What is understood of it; the defaults for the rest.
    pub config: Config,
    /// What is wrong with it and matters to nobody's secrets, one line each.
    pub warnings: Vec<String>,
    /// Why nothing may be recorded: where the file is not understood, and why. It names the file without its directory.
    pub unclear: Option<String>,
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
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
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
pub(crate) fn glob(pattern: &str, text: &str, path: bool) -> bool {
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
    /// Reads the file of a state directory.
    #[must_use]
    pub fn load(state_dir: &Path) -> Loaded {
        match std::fs::read_to_string(state_dir.join(FILE)) {
            Ok(text) => Self::parse(&text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self::parse(""),
            Err(e) => Loaded { unclear: Some(format!("{FILE} cannot be read: {e}")), ..Self::parse("") },
        }
    }

    /// Reads the text of the file. `BIR_REDACT_LEGACY_KEYS` and `BIR_SPOOL_LIMIT_MB` win.
    fn parse(text: &str) -> Loaded {
        Self::from_parts(text, &|name| std::env::var(name).ok())
    }

    fn from_parts(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Loaded {
        let (mut warnings, mut unclear) = (Vec::new(), Vec::new());
        let file: File = toml::from_str(text).unwrap_or_else(|e| {
            let at = e.span().map(|span| place_of(text, span.start)).unwrap_or_default();
            unclear.push(format!("{FILE}{at}: {}", e.message().lines().next().unwrap_or_default()));
            File::default()
        });
        for (key, wish) in file.unknown() {
            if wish {
                unclear
                    .push(format!("{FILE}: unknown key `{key}`, which may be meant to keep something out"));
            } else {
                warnings.push(format!("{FILE}: unknown key `{key}`; it changes nothing"));
            }
        }
        let mut config = Self::default();
        for item in &file.record.exclude {
            match Exclude::parse(item.get_ref()) {
                Ok(exclude) => config.record.exclude.push(exclude),
                Err(why) => unclear.push(format!(
                    "{FILE}{}: `{}` in record.exclude is not understood: {why}",
                    place_of(text, item.span().start),
                    item.get_ref()
                )),
            }
        }
        let RedactTable { keys, keep, patterns, .. } = file.redact;
        let wrong = |item: &Spanned<String>, why: String| {
            format!("{FILE}{}: {why}", place_of(text, item.span().start))
        };
        for item in &keys {
            unclear.extend(redact::check_key(item.get_ref()).err().map(|why| wrong(item, why)));
        }
        for item in &patterns {
            unclear.extend(redact::check_pattern(item.get_ref()).err().map(|why| wrong(item, why)));
        }
        let texts = |items: Vec<Spanned<String>>| items.into_iter().map(Spanned::into_inner).collect();
        config.redact.keys = texts(keys);
        config.redact.keep = keep;
        config.redact.patterns = texts(patterns);
        config.redact.legacy_keys =
            variable("BIR_REDACT_LEGACY_KEYS").is_some_and(|v| v == "1" || v == "true");
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
                .push(format!("{FILE}: the limit of the spool cannot be 0; {DEFAULT_LIMIT} bytes apply")),
            None => {}
        }
        config.hub = file.hub.url;
        // One line: whoever mends the first is told of the next.
        let more = unclear.len().saturating_sub(1);
        let unclear = unclear.into_iter().next().map(|first| match more {
            0 => first,
            more => format!("{first} (and {more} more)"),
        });
        Loaded { config, warnings, unclear }
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
    exclude: Vec<Spanned<String>>,
    spool_limit_mb: Option<u64>,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RedactTable {
    keys: Vec<Spanned<String>>,
    keep: Vec<String>,
    patterns: Vec<Spanned<String>>,
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
    /// The keys that nobody knows, and whether each may hold a wish to keep something out.
    fn unknown(&self) -> Vec<(String, bool)> {
        let tables = [("", &self.rest), ("record.", &self.record.rest), ("redact.", &self.redact.rest)];
        let named = |(table, rest): (&'static str, &'_ Rest)| {
            rest.iter().map(|(key, value)| (format!("{table}{key}"), may_wish(value))).collect::<Vec<_>>()
        };
        tables.into_iter().flat_map(named).collect()
    }
}

/// Whether a value could say what is to be kept out: a text or a yes or no, anywhere in it.
fn may_wish(value: &toml::Value) -> bool {
    match value {
        toml::Value::String(_) | toml::Value::Boolean(_) => true,
        toml::Value::Array(items) => items.iter().any(may_wish),
        toml::Value::Table(table) => table.values().any(may_wish),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Datetime(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Loaded {
        Config::from_parts(text, &|_| None)
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let nothing = Loaded { config: Config::default(), warnings: Vec::new(), unclear: None };
        assert_eq!(parse(""), nothing);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::load(dir.path()), nothing, "there is no file");
    }

    #[test]
    fn what_is_said_is_taken() {
        let Loaded { config, warnings, unclear } = parse(
            "[record]\nexclude = ['server:github', 'tool:git*/delete_*', 'dir:/home/a', 'path:**/.env']\nspool_limit_mb = 1\n\
             [redact]\nkeys = ['ssn']\nkeep = ['x']\npatterns = ['E\\d']\n[hub]\nurl = 'https://h'\nlisten = 'x'\n",
        );
        assert_eq!((warnings, unclear), (Vec::new(), None));
        assert_eq!(config.record.exclude.len(), 4);
        assert_eq!(config.record.spool_limit, 1024 * 1024);
        assert_eq!((config.redact.keys, config.redact.patterns), (vec!["ssn".into()], vec!["E\\d".into()]));
        assert_eq!(config.hub.as_deref(), Some("https://h"));
    }

    #[test]
    fn what_may_be_a_wish_and_is_not_understood_records_nothing() {
        for (text, told) in [
            ("[record\n", "config.toml line 1, column"),
            ("[record]\nexclude = 7\n", "config.toml line 2, column 11: "),
            ("[record]\nexclude = 'server:github'\n", "line 2"),
            ("[record]\nspool_limit_mb = -1\n", "line 2"),
            ("record = 1\n", "line 1"),
            ("[redact]\npatterns = [1]\n", "line 2"),
            ("[hub]\nurl = 1\n", "line 2"),
            (
                "[record]\nexclude = [\n  'server:a',\n  'github',\n]\n",
                "config.toml line 4, column 3: `github` in record.exclude is not understood: it is `server:…`",
            ),
            ("[record]\nexclude = ['dir:here']\n", "absolute"),
            ("[record]\nexclude = ['tool:git']\n", "tool:SERVER/TOOL"),
            ("[record]\nexclude = ['server:']\n", "nothing follows"),
            ("[record]\nexclude = ['serve:a']\n", "none of server, tool, dir, path"),
            ("[record]\nexclude = ['a', 'b', 'c']\n", "(and 2 more)"),
            ("[redact]\nkeys = ['ssn', '--']\n", "config.toml line 2, column 16: the name `--` in `keys`"),
            ("\n[redact]\npatterns = ['(']\n", "config.toml line 3, column 13: the redaction pattern `(`"),
            ("[redact]\npatterns = ['x*']\n", "matches the empty text"),
            ("[record]\nexlude = ['server:a']\n", "`record.exlude`"),
            ("[record]\nprompts = false\n", "`record.prompts`"),
            ("[redact]\npattern = 'a'\n", "`redact.pattern`"),
            ("[recrod]\nexclude = ['server:a']\n", "`recrod`"),
            ("exclude = ['server:a']\n", "`exclude`"),
        ] {
            let unclear = parse(text).unclear.unwrap_or_else(|| panic!("{text} is recorded through"));
            assert!(unclear.contains(told) && !unclear.contains('\n'), "{text}: {unclear}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), b"[record]\nexclude = ['server:\xff']\n").unwrap();
        let unclear = Config::load(dir.path()).unclear.unwrap();
        assert!(unclear.starts_with("config.toml cannot be read: "), "{unclear}");
    }

    #[test]
    fn what_can_be_no_wish_is_a_warning() {
        for (text, told) in [
            ("[recrod]\n", "`recrod`"),
            ("[record]\nspool_limit = 7\n", "`record.spool_limit`"),
            ("[record]\nspool_limit_mb = 0\n", "cannot be 0"),
        ] {
            let Loaded { config, warnings, unclear } = parse(text);
            assert_eq!((config, unclear), (Config::default(), None), "{text}");
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
        let config = Config::from_parts("[record]\nspool_limit_mb = 1\n", &variables).config;
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
