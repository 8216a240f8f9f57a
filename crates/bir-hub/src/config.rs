//! Configuration: a flag, else the environment, else the file, else the default.
//!
//! | key | flag | environment | file, table `[hub]` | default |
//! |---|---|---|---|---|
//! | store | `--store` | `BIR_HUB_STORE` | `store` | embedded |
//! | listen | `--listen` | `BIR_HUB_LISTEN` | `listen` | `127.0.0.1:7411` |
//! | public URL | `--public-url` | `BIR_HUB_PUBLIC_URL` | `public_url` | – |
//! | log format | `--log-format` | `BIR_HUB_LOG_FORMAT` | `log_format` | `text` |
//! | log filter | `--log` | `BIR_HUB_LOG` | `log` | `info` |
//! | retention | `--retention-days` | `BIR_HUB_RETENTION_DAYS` | `retention_days` | 0: for ever |
//! | the file itself | `--config` | `BIR_HUB_CONFIG` | – | embedded: `config.toml` of the state directory |
//!
//! An empty variable is none. Whatever is wrong is named with its key, its problem and where it came from. A store's address
//! may hold a password and is never repeated.

use crate::args;
use crate::fault::Fault;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where it listens when nobody says.
const DEFAULT_LISTEN: &str = "127.0.0.1:7411";
/// Bytes of a configuration file at most.
const FILE_LIMIT: u64 = 1 << 20;
/// Keys of the table `[hub]`; `url` is where the recorder ships to, and not ours.
const KEYS: [&str; 7] = ["store", "listen", "public_url", "log_format", "log", "retention_days", "url"];

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// None: embedded.
    pub(crate) store: Option<String>,
    pub(crate) listen: SocketAddr,
    /// Somebody asked for that address; then no other is taken in its place.
    pub(crate) listen_asked: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) log_format: LogFormat,
    pub(crate) log: String,
    /// 0: for ever.
    pub(crate) retention_days: u32,
    /// What a person should know, and nothing fails over.
    pub(crate) warnings: Vec<String>,
}

/// A value and where it came from.
struct Found {
    text: String,
    source: String,
}

struct Sources<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    file: Option<(PathBuf, toml::Table)>,
}

impl Sources<'_> {
    fn variable(&self, name: &str) -> Option<Found> {
        let text = (self.environment)(name).filter(|v| !v.is_empty())?;
        Some(Found { text, source: format!("the variable {name}") })
    }

    fn find(&self, flag: Option<&str>, key: &str) -> Result<Option<Found>, Fault> {
        if let Some(text) = flag {
            let source = format!("the flag --{}", key.replace('_', "-"));
            return Ok(Some(Found { text: text.to_owned(), source }));
        }
        if let Some(found) = self.variable(&format!("BIR_HUB_{}", key.to_uppercase())) {
            return Ok(Some(found));
        }
        let Some((path, table)) = &self.file else { return Ok(None) };
        let source = format!("[hub] {key} in {}", path.display());
        let text = match table.get(key) {
            None => return Ok(None),
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Integer(number)) if key == "retention_days" => number.to_string(),
            Some(_) => return Err(Fault::new(format!("{source}: expected a text"))),
        };
        Ok(Some(Found { text, source }))
    }
}

fn wrong(found: &Found, key: &str, expected: &str) -> Fault {
    let line = format!("{key} is wrong: expected {expected} (from {})", found.source);
    if found.source.starts_with("the flag") { Fault::usage(line) } else { Fault::new(line) }
}

/// Reads the table `[hub]`. A file that was named must be there.
fn read(path: &Path, named: bool, warnings: &mut Vec<String>) -> Result<Option<toml::Table>, Fault> {
    let failed =
        |why: String| Fault::new(format!("the configuration {} cannot be read: {why}", path.display()));
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !named => return Ok(None),
        Err(e) => return Err(failed(e.to_string())),
        Ok(meta) if meta.len() > FILE_LIMIT => return Err(failed("it is larger than 1 MiB".to_owned())),
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    let mut whole: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        failed(format!("line {line}: {}", e.message()))
    })?;
    let table = match whole.remove("hub") {
        None => toml::Table::new(),
        Some(toml::Value::Table(table)) => table,
        Some(_) => return Err(failed("`hub` is no table".to_owned())),
    };
    for key in table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        warnings.push(format!("[hub] {key} in {} is no key that is known", path.display()));
    }
    Ok(Some(table))
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.trim_end_matches('/');
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
    })
}

/// Puts it together. `state_dir` is where the embedded hub's file is looked for.
pub(crate) fn load(
    flags: &args::Serve,
    environment: &dyn Fn(&str) -> Option<String>,
    state_dir: Option<&Path>,
) -> Result<Config, Fault> {
    let mut warnings = Vec::new();
    let mut sources = Sources { environment, file: None };
    let named = flags.config.clone().or_else(|| sources.variable("BIR_HUB_CONFIG").map(|f| f.text.into()));
    let path = named.clone().or_else(|| state_dir.map(|dir| dir.join("config.toml")));
    if let Some(path) = path {
        sources.file = read(&path, named.is_some(), &mut warnings)?.map(|table| (path, table));
    }
    let store = sources.find(flags.store.as_deref(), "store")?.map(|f| f.text);

    let listen = sources.find(flags.listen.as_deref(), "listen")?;
    let listen_asked = listen.is_some();
    let listen =
        listen.unwrap_or(Found { text: DEFAULT_LISTEN.to_owned(), source: "the default".to_owned() });
    let address = listen.text.replace("localhost:", "127.0.0.1:");
    let address: SocketAddr = address
        .parse()
        .map_err(|_| wrong(&listen, "listen", "an address with a port, such as 127.0.0.1:7411"))?;

    let public_url = match sources.find(flags.public_url.as_deref(), "public_url")? {
        None => None,
        Some(found) if is_url(&found.text) => Some(found.text.trim_end_matches('/').to_owned()),
        Some(found) => {
            return Err(wrong(&found, "public_url", "http:// or https:// with a host and no path"));
        }
    };
    let log_format = match sources.find(flags.log_format.as_deref(), "log_format")? {
        None => LogFormat::Text,
        Some(found) => match found.text.as_str() {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            _ => return Err(wrong(&found, "log_format", "text or json")),
        },
    };
    let log = match sources.find(flags.log.as_deref(), "log")? {
        None => "info".to_owned(),
        Some(found) => match found.text.parse::<tracing_subscriber::filter::targets::Targets>() {
            Ok(_) => found.text,
            Err(_) => {
                return Err(wrong(&found, "log", "a level, or levels by target such as `warn,request=info`"));
            }
        },
    };
    let retention_days = match sources.find(flags.retention_days.as_deref(), "retention_days")? {
        None => 0,
        Some(found) => match found.text.parse::<u32>() {
            Ok(days) if days <= 36_500 => days,
            _ => return Err(wrong(&found, "retention_days", "a number of days from 0 to 36500")),
        },
    };
    Ok(Config { store, listen: address, listen_asked, public_url, log_format, log, retention_days, warnings })
}

/// The store that a command is about, from its flag or the environment.
pub(crate) fn store_of(flag: Option<String>) -> Result<String, Fault> {
    let environment = || std::env::var("BIR_HUB_STORE").ok().filter(|v| !v.is_empty());
    flag.or_else(environment)
        .ok_or_else(|| Fault::usage("which store? name it with --store or BIR_HUB_STORE"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use args::Serve;

    struct Case {
        flag: Option<&'static str>,
        variable: Option<&'static str>,
        file: Option<&'static str>,
        listen: &'static str,
        asked: bool,
    }

    #[test]
    fn a_flag_outranks_the_environment_and_that_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let case = |flag, variable, file, listen, asked| Case { flag, variable, file, listen, asked };
        let cases = [
            case(None, None, None, "127.0.0.1:7411", false),
            case(None, None, Some("127.0.0.1:3"), "127.0.0.1:3", true),
            case(None, Some("127.0.0.1:2"), Some("127.0.0.1:3"), "127.0.0.1:2", true),
            case(None, Some(""), Some("127.0.0.1:3"), "127.0.0.1:3", true),
            case(Some("127.0.0.1:1"), Some("127.0.0.1:2"), Some("127.0.0.1:3"), "127.0.0.1:1", true),
            case(Some("[::1]:1"), None, None, "[::1]:1", true),
            case(Some("localhost:9"), None, None, "127.0.0.1:9", true),
        ];
        for case in cases {
            let text = case
                .file
                .map(|l| format!("[record]\nexclude=[]\n[hub]\nlisten = \"{l}\"\n"))
                .unwrap_or_default();
            std::fs::write(dir.path().join("config.toml"), text).unwrap();
            let flags = Serve { listen: case.flag.map(Into::into), ..Serve::default() };
            let environment =
                |name: &str| case.variable.filter(|_| name == "BIR_HUB_LISTEN").map(str::to_owned);
            let config = load(&flags, &environment, Some(dir.path())).unwrap();
            assert_eq!((config.listen.to_string().as_str(), config.listen_asked), (case.listen, case.asked));
        }
    }

    #[test]
    fn every_key_comes_from_every_source() {
        let dir = tempfile::tempdir().unwrap();
        let file = "[hub]\nstore='sqlite:f'\nlisten='127.0.0.1:3'\npublic_url='https://f.example/'\nlog_format='json'\n\
                    log='debug'\nretention_days=3\nurl='https://x'\ntypo=1\n";
        std::fs::write(dir.path().join("config.toml"), file).unwrap();
        let nothing = |_: &str| None;
        let config = load(&Serve::default(), &nothing, Some(dir.path())).unwrap();
        assert_eq!(config.store.as_deref(), Some("sqlite:f"));
        assert_eq!(config.public_url.as_deref(), Some("https://f.example"));
        assert_eq!(
            (config.log_format, config.log.as_str(), config.retention_days),
            (LogFormat::Json, "debug", 3)
        );
        assert!(config.warnings.len() == 1 && config.warnings[0].contains("typo"), "{:?}", config.warnings);

        let variables = |name: &str| {
            Some(match name {
                "BIR_HUB_STORE" => "sqlite:e".into(),
                "BIR_HUB_PUBLIC_URL" => "http://e.example:80".into(),
                "BIR_HUB_LOG_FORMAT" => "text".into(),
                "BIR_HUB_LOG" => "warn".into(),
                "BIR_HUB_RETENTION_DAYS" => "2".into(),
                _ => return None,
            })
        };
        let config = load(&Serve::default(), &variables, Some(dir.path())).unwrap();
        assert_eq!(
            (config.store.as_deref(), config.log.as_str(), config.retention_days),
            (Some("sqlite:e"), "warn", 2)
        );
        assert_eq!(
            (config.log_format, config.public_url.as_deref()),
            (LogFormat::Text, Some("http://e.example:80"))
        );

        let flags = Serve {
            store: Some("sqlite:a".into()),
            public_url: Some("https://a.example".into()),
            log_format: Some("json".into()),
            log: Some("error".into()),
            retention_days: Some("1".into()),
            ..Serve::default()
        };
        let config = load(&flags, &variables, Some(dir.path())).unwrap();
        assert_eq!(
            (config.store.as_deref(), config.log.as_str(), config.retention_days),
            (Some("sqlite:a"), "error", 1)
        );
        assert_eq!(
            (config.log_format, config.public_url.as_deref()),
            (LogFormat::Json, Some("https://a.example"))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_source_and_no_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hub.toml");
        let cases = [
            ("[hub]\nlisten = '7411'", "listen is wrong: expected an address"),
            ("[hub]\nlisten = 7411", "expected a text"),
            ("[hub]\npublic_url = 'hub.example'", "public_url"),
            ("[hub]\npublic_url = 'https://hub.example/path'", "public_url"),
            ("[hub]\nlog_format = 'xml'", "log_format"),
            ("[hub]\nretention_days = -1", "retention_days"),
            ("[hub]\n\nlisten", "line 3"),
            ("hub = 1", "no table"),
        ];
        for (text, part) in cases {
            std::fs::write(&path, text).unwrap();
            let flags = Serve { config: Some(path.clone()), ..Serve::default() };
            let fault = load(&flags, &|_| None, None).unwrap_err();
            let line = fault.to_string();
            assert!(line.contains(part) && line.contains("hub.toml") && fault.status() == 1, "{line}");
        }
        let flags = Serve { config: Some(dir.path().join("none.toml")), ..Serve::default() };
        assert!(load(&flags, &|_| None, None).unwrap_err().to_string().contains("none.toml"));
        let flags = Serve { listen: Some("x".into()), ..Serve::default() };
        let fault = load(&flags, &|_| None, None).unwrap_err();
        assert!(fault.to_string().contains("the flag --listen") && fault.status() == 2, "{fault}");
    }
}
